//! The steps of a member's node as a [trace](crate::trace) has them.

use super::Member;
use super::event::Action;
use crate::protocol::{Core, Epoch, NodeStep, Status, Trigger};
use crate::trace::{After, Happened, LeaseUntil, Out, Received, Sent, Step};

impl<C: Core> Member<C> {
    /// Has the steps written that the node has just taken, if it records them. Nothing of what they
    /// put out was looked at yet. If one of them is that a message arrived, it is this one.
    pub(super) fn write_steps(&mut self, mut received: Option<Received<C::Message>>) {
        let mut number = self.unsaved.last_number();
        for taken in self.node.take_steps() {
            let step = step(taken, &mut received, &mut number);
            self.actions.push(Action::Trace(Box::new(step)));
        }
    }
}

/// A step, before which messages had numbers up to this.
fn step<C: Core>(
    taken: NodeStep<C>,
    received: &mut Option<Received<C::Message>>,
    number: &mut u64,
) -> Step<C::Durable, C::Message> {
    let NodeStep { trigger, persists, sends, events, status, epoch, lease, armed, watched } = taken;
    let happened = match trigger {
        Trigger::Boot(durable) => Happened::Boot(durable),
        Trigger::Receive { from, message } => {
            let unnumbered = || Received::unnumbered(from, message);
            Happened::Receive(received.take().unwrap_or_else(unnumbered))
        }
        Trigger::Expire(timer) => Happened::Expire(format!("{timer:?}")),
        Trigger::Suspect(node) => Happened::Suspect(node),
        Trigger::Request(request) => Happened::Request(request),
    };
    let sends = sends.into_iter().map(|(to, message)| {
        *number += 1;
        Out::Send(Sent { to, id: *number, message })
    });
    let out = persists.into_iter().map(Out::Persist).chain(sends);
    let out = out.chain(events.into_iter().map(Out::from)).collect();
    let Status { role, leader, .. } = status;
    let (epoch, lease) = (epoch.map(Epoch::number), lease.map(LeaseUntil::from));
    let armed = armed.into_iter().map(|(timer, at)| (format!("{timer:?}"), at.as_nanos()));
    let after = After { role, leader, epoch, lease, armed: Some(armed.collect()), watched };
    Step { happened, out, after }
}
