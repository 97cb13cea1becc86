//! What a process has yet to send, one message after another.

use super::{Commit, Message, Steps, Timer};
use bellwether_engine::protocol::{Ids, Local};
use serde::Serialize;

/// A message, and the processes to which it is yet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Outgoing {
    /// What is said.
    pub message: Message,
    /// To which processes, the lowest first.
    pub to: Ids,
}

/// Says something to these processes, after what is yet to be sent.
pub(super) fn say<P: Commit>(p: &mut Local<'_, P>, to: Ids, message: Message) {
    send_all(p);
    if !to.is_empty() {
        p.state.outgoing = Some(Outgoing { message, to });
    }
}

/// Sends all that is yet to be sent.
pub(super) fn send_all<P: Commit>(p: &mut Local<'_, P>) {
    if let Some(Outgoing { message, to }) = p.state.outgoing.take() {
        for id in to.iter() {
            p.send(id, message);
        }
    }
    p.cancel(Timer::Send);
}

/// Sends the next message.
pub(super) fn send_next<P: Commit>(p: &mut Local<'_, P>) {
    let Some(Outgoing { message, to }) = p.state.outgoing.take() else { return };
    let Some(next) = to.iter().next() else { return };
    p.send(next, message);
    let rest = to.without(next);
    if !rest.is_empty() {
        p.state.outgoing = Some(Outgoing { message, to: rest });
        p.arm(Timer::Send);
    }
}

/// The rule `steps`: whether something may come between the messages.
pub(super) fn go_on<P: Commit>(steps: Steps, p: &mut Local<'_, P>) {
    match steps {
        Steps::AtOnce => send_all(p),
        Steps::OneByOne if p.state.outgoing.is_some() => p.arm(Timer::Send),
        Steps::OneByOne => {}
    }
}
