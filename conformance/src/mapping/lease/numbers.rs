//! Tokens and the numbers of requests, which grow for as long as nodes run.

use super::{LeaseMapping, program, spec};
use crate::mapping::{Counters, Exchange, IdsIn, RequestNumber};
use bellwether_model::protocol::MAX_NODES;

/// Tokens, by which processes ask which is higher, and which is the next.
const TOKEN: usize = 0;
/// How often a client has started.
const STARTED: usize = 1;
/// Which of its requests since then it is.
const REQUEST: usize = 2;
/// The same two, of another's requests, which are only repeated.
const REPEATED: [usize; 2] = [3, 4];

/// How often a client has started in a long run: nearly as often as it can.
pub(super) const STARTS: u32 = u32::MAX - 100;
/// By how much larger the numbers are then. Tokens and requests begin anew: the store forgets its
/// grants when it restarts, and a client counts its requests since its start.
pub(super) const FROM: &[u64] = &[0, STARTS as u64, 0, STARTS as u64, 0];

pub(super) const fn counters<const ASKED: bool>() -> Counters<LeaseMapping<ASKED>> {
    Counters {
        kinds: 5,
        epochs: Some(TOKEN),
        in_message,
        in_durable: |durable, rename| program::Durable {
            started: narrow(rename(STARTED, durable.started.into())),
        },
        lower,
        ids: Some(IdsIn {
            message: |message, name| match message {
                program::Message::Refused(of, holder) => {
                    program::Message::Refused(of, holder.map(name))
                }
                other => other,
            },
            ..IdsIn::NONE
        }),
        members: MAX_NODES,
        exchange,
        ..Counters::NONE
    }
}

/// What is called by a number is a client's own where it asks, and where it is answered.
fn in_message(
    message: program::Message,
    sent: bool,
    rename: &mut dyn FnMut(usize, u64) -> u64,
) -> program::Message {
    use program::Message as P;
    let asks = matches!(message, P::Acquire(_) | P::Renew(..));
    let kinds = if asks == sent { [STARTED, REQUEST] } else { REPEATED };
    match message {
        P::Acquire(of) => P::Acquire(request(of, kinds, rename)),
        P::Renew(of, with) => P::Renew(request(of, kinds, rename), token(with, rename)),
        P::Granted(of, with) => P::Granted(request(of, kinds, rename), token(with, rename)),
        P::Refused(of, holder) => P::Refused(request(of, kinds, rename), holder),
        P::Write(with) => P::Write(token(with, rename)),
        P::Release(with) => P::Release(token(with, rename)),
        P::Available => P::Available,
    }
}

/// What a client asks of the store, and what it is answered. The token is the epoch.
fn exchange(message: program::Message) -> Option<Exchange> {
    use program::Message as P;
    let number = |of: program::Request| -> RequestNumber { (of.started.into(), of.number.into()) };
    match message {
        P::Acquire(of) => Some(Exchange::Request(number(of), None)),
        P::Renew(of, with) => Some(Exchange::Request(number(of), Some(with.get()))),
        P::Granted(of, with) => Some(Exchange::Answer(number(of), Some(with.get()))),
        P::Refused(of, _) => Some(Exchange::Answer(number(of), None)),
        P::Write(_) | P::Release(_) | P::Available => None,
    }
}

fn request(
    of: program::Request,
    [starts, requests]: [usize; 2],
    rename: &mut dyn FnMut(usize, u64) -> u64,
) -> program::Request {
    let started = narrow(rename(starts, of.started.into()));
    program::Request { started, number: narrow(rename(requests, of.number.into())) }
}

fn token(of: program::Token, rename: &mut dyn FnMut(usize, u64) -> u64) -> program::Token {
    program::Token::new(rename(TOKEN, of.get()))
}

fn lower(kind: usize, by: u64, process: &mut spec::Process, stable: &mut spec::Stable) -> u64 {
    let by = u8::try_from(by).unwrap_or(u8::MAX);
    let number = match kind {
        TOKEN => {
            process.token.0 = process.token.0.saturating_sub(by);
            process.written.0 = process.written.0.saturating_sub(by);
            process.token.0
        }
        STARTED => {
            stable.incarnation = stable.incarnation.saturating_sub(by);
            stable.incarnation
        }
        REQUEST => {
            process.requests = process.requests.saturating_sub(by);
            process.requests
        }
        _ => 0,
    };
    number.into()
}

/// A name is smaller than the number that has it.
fn narrow(name: u64) -> u32 {
    u32::try_from(name).unwrap_or(u32::MAX)
}
