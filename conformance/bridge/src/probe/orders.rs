//! What a person, a program or a machine does to a node again and again: requests, each given
//! twice, and what [shows nowhere](crate::mapping::Events::harmless).

use super::{Probe, ProbeResult, WrongAnswer};
use crate::compare::{Expected, compare};
use crate::mapping::{
    Harmless, Order, ProcessView, Reaction, Sides, SpecEvent, SpecTimer, node_id,
};
use crate::node::Node;
use crate::program::Program as _;
use crate::step::ExpectedRun;
use bellwether_core::protocol::{Input, Request};
use bellwether_engine::protocol::{Effect, Id};
use bellwether_engine::trace::{label, plain};
use std::time::Duration;

/// For how long a node is to stay away that serves no request.
const AWAY: Duration = Duration::from_secs(7);

fn requests() -> [Request; 6] {
    let first = node_id(Id::at(0));
    [
        Request::Healthy(true),
        Request::Healthy(false),
        Request::Yield(None),
        Request::Yield(Some(first)),
        Request::Transfer(first),
        Request::StepDown(None, AWAY),
    ]
}

impl<T: Sides> Probe<'_, '_, T> {
    /// The node is asked for everything. One that is down, and a program that serves no requests,
    /// does nothing.
    pub(super) fn orders(&mut self) -> ProbeResult {
        let node = self.node;
        if !node.view.up || !T::Program::REQUESTS {
            for request in requests() {
                let words = format!("the request {request:?}");
                self.quiet(&words, node.next_moment(), Input::Request(request), &[])?;
            }
        }
        if !node.view.up {
            return Ok(());
        }
        let (process, stable) = (&node.view.process, &node.view.stable);
        let of = ProcessView { id: node.id, nodes: self.group.size, process, stable };
        for order in (self.group.mapping.more.requests.orders)(&of, node.view.timers) {
            let Order { request, first, again, then } = order;
            let words = format!("{} is asked: {request:?}", node.id);
            let once = self.asked(words.clone(), node, request.clone(), first)?;
            self.asked(format!("{words}, and then the same again"), &once, request, again)?;
            if let Some(then) = then {
                self.goes_on(&words, &once, then)?;
            }
        }
        self.harmless()
    }

    /// Each message arrives at a node that was asked for something, and each of its timers expires:
    /// what follows is by these rules.
    fn goes_on(&mut self, asked: &str, node: &Node<T>, rules: T::Spec) -> ProbeResult {
        let group = self.group;
        let mut all = Vec::new();
        for message in node.deliverable_messages(group) {
            let senders = Id::all(group.size).filter(|&from| from != node.id);
            if (group.mapping.to_program)(message).is_some() {
                all.extend(senders.map(|from| SpecEvent::<T::Spec>::Receive { from, message }));
            }
        }
        let expires = |&timer: &SpecTimer<T>| (group.mapping.more.events.detects)(timer).is_none();
        let timers = node.view.timers.iter::<T::Spec>().filter(expires);
        all.extend(timers.map(SpecEvent::<T::Spec>::Expire));
        for happening in all {
            let mut run = ExpectedRun::<T>::by(rules, &node.view);
            run.happens(group, node.id, happening);
            self.count += 1;
            let differences = match node.react(group, happening, &mut self.outputs) {
                Ok(after) => compare(group, node, &self.outputs, &after, &run.expected()),
                Err(difference) => vec![difference],
            };
            if !differences.is_empty() {
                let words = match happening {
                    SpecEvent::Receive { from, message } => {
                        format!("{asked}, and then gets {} from {from}", label(&message))
                    }
                    SpecEvent::Expire(timer) => {
                        format!("{asked}, and then its {} timer expires", plain(&timer))
                    }
                    SpecEvent::Boot | SpecEvent::Crash => asked.to_owned(),
                };
                return Err(WrongAnswer { words, differences });
            }
        }
        Ok(())
    }

    /// What the node is then, if it reacts so.
    fn asked(
        &mut self,
        words: String,
        node: &Node<T>,
        request: Request,
        reaction: Reaction<T::Spec>,
    ) -> Result<Node<T>, WrongAnswer> {
        self.count += 1;
        self.outputs.clear();
        let (group, mut after) = (self.group, node.clone());
        let input = Input::Request(request);
        let ran = after.apply_input(group, node.next_moment(), input, &mut self.outputs);
        let differences = match (ran, reaction) {
            (Err(difference), _) => vec![difference],
            (Ok(()), Reaction::Unsaid) => Vec::new(),
            (Ok(()), Reaction::Timers { cancelled, armed }) => {
                let mut expected = Expected::nothing(&node.view);
                for timer in cancelled.iter::<T::Spec>() {
                    expected.timers = expected.timers.without::<T::Spec>(timer);
                }
                if let Some(timer) = armed {
                    expected.timers = expected.timers.with::<T::Spec>(timer);
                    expected.effects.push(Effect::Arm(timer));
                }
                compare(group, node, &self.outputs, &after, &expected)
            }
            (Ok(()), Reaction::Expiry(rules, timer)) => {
                let mut run = ExpectedRun::<T>::by(rules, &node.view);
                run.happens(group, node.id, SpecEvent::Expire(timer));
                compare(group, node, &self.outputs, &after, &run.expected())
            }
        };
        if differences.is_empty() {
            return Ok(after);
        }
        Err(WrongAnswer { words, differences })
    }

    /// What shows nowhere happens twice, unless a deadline passes meanwhile.
    fn harmless(&mut self) -> ProbeResult {
        let group = self.group;
        for Harmless { words, event } in (group.mapping.more.events.harmless)() {
            let mut node = self.node.clone();
            for again in ["", ", and then again"] {
                let now = node.next_moment() + event.takes;
                if node.earliest().is_some_and(|due| due <= now) {
                    break;
                }
                self.count += 1;
                self.outputs.clear();
                let mut after = node.clone();
                let act = |core: &mut T::Program| (event.act)(core, now);
                let differences = match after.run(group, now, &mut self.outputs, act) {
                    Ok(()) => {
                        let expected = Expected::nothing(&node.view);
                        compare(group, &node, &self.outputs, &after, &expected)
                    }
                    Err(difference) => vec![difference],
                };
                if !differences.is_empty() {
                    let words = format!("{} {words}{again}", node.id);
                    return Err(WrongAnswer { words, differences });
                }
                node = after;
            }
        }
        Ok(())
    }
}
