//! The probes of what a person, a program or a machine does to a node: requests, each alone and
//! before another thing, and what [shows nowhere](crate::mapping::Events::harmless).

use super::{Probe, ProbeResult, WrongAnswer};
use crate::compare::Expected;
use crate::mapping::{Harmless, ProgramCore, Sides, SpecEvent, SpecTimer, node_request};
use crate::node::Node;
use crate::program::Program as _;
use crate::step::{act, lone_step};
use bellwether_core::protocol::{Core as _, Input, Request as NodeRequest};
use bellwether_engine::protocol::{Id, Protocol as _, Request};
use bellwether_engine::trace::{label, plain};

/// Returns everything that a node can be asked in a group of this size.
fn requests(size: usize) -> Vec<Request> {
    use Request::{Healthy, StepDown, Tell, Transfer, Yield};
    let about = |id| [Yield(Some(id)), Transfer(id), StepDown(Some(id)), Tell(id)];
    let of_none = [Healthy(true), Healthy(false), Yield(None), StepDown(None)];
    of_none.into_iter().chain(Id::all(size).flat_map(about)).collect()
}

impl<T: Sides> Probe<'_, '_, T> {
    /// The node is asked for everything. One that is down, and a program that serves no requests,
    /// does nothing.
    pub(super) fn orders(&mut self) -> ProbeResult {
        let (group, node) = (self.group, self.node);
        let requests = requests(group.size);
        if !node.view.up || !ProgramCore::<T>::REQUESTS {
            for &request in &requests {
                let words = format!("the request {request:?}");
                let input = Input::Request(node_request(request));
                self.quiet(&words, node.next_moment(), input, &[])?;
            }
        } else if T::Spec::REQUESTS && group.mapping.more.restarts.now.is_none() {
            self.asked(&requests)?;
        }
        if node.view.up { self.harmless() } else { Ok(()) }
    }

    /// Each request is made of the node, and then each other thing happens to it, unless the node
    /// is the same as before, or as after an earlier request.
    fn asked(&mut self, requests: &[Request]) -> ProbeResult {
        let node = self.node;
        let mut known = vec![(node.view.process, node.view.timers)];
        for &request in requests {
            let words = format!("{} is asked: {request:?}", node.id);
            let after = self.takes(words.clone(), node, SpecEvent::Asked(request))?;
            let view = (after.view.process, after.view.timers);
            if !known.contains(&view) {
                known.push(view);
                self.goes_on(&words, &after, requests)?;
                self.stays_away_for_less(request, &after)?;
            }
        }
        Ok(())
    }

    /// A node that was asked for something is asked once more, each message arrives at it, and each
    /// of its timers expires.
    fn goes_on(&mut self, asked: &str, node: &Node<T>, requests: &[Request]) -> ProbeResult {
        let group = self.group;
        for &request in requests {
            let words = format!("{asked}, and then: {request:?}");
            let after = self.takes(words.clone(), node, SpecEvent::Asked(request))?;
            // A report that the machine is fit ends no other reason to stay away.
            if request == Request::StepDown(None) {
                let fit = Request::Healthy(true);
                self.takes(format!("{words}, {fit:?}"), &after, SpecEvent::Asked(fit))?;
            }
        }
        for message in (group.mapping.messages)(group.size) {
            if (group.mapping.to_program)(message).is_none() {
                continue;
            }
            for from in Id::all(group.size).filter(|&from| from != node.id) {
                let words = format!("{asked}, and then gets {} from {from}", label(&message));
                self.takes(words, node, SpecEvent::Receive { from, message })?;
            }
        }
        let expires = |&timer: &SpecTimer<T>| (group.mapping.more.events.detects)(timer).is_none();
        for timer in node.view.timers.iter::<T::Spec>().filter(expires) {
            let words = format!("{asked}, and then its {} timer expires", plain(&timer));
            self.takes(words, node, SpecEvent::Expire(timer))?;
        }
        Ok(())
    }

    /// A node that stays away for longer than it was asked is asked once more: the later request
    /// counts, although it is for a shorter time.
    fn stays_away_for_less(&mut self, request: Request, node: &Node<T>) -> ProbeResult {
        let NodeRequest::StepDown(next, time) = node_request(request) else {
            return Ok(());
        };
        let mut longer = node.clone();
        let (now, outputs) = (node.next_moment(), &mut self.outputs);
        let input = Input::Request(NodeRequest::StepDown(next, time * 2));
        outputs.clear();
        longer.run(self.group, now, outputs, |core| core.handle(now, input)).map_err(|found| {
            let words = format!("{} is asked to stay away for longer", node.id);
            WrongAnswer { words, differences: vec![found] }
        })?;
        let words = format!("{} stays away for longer, and is asked: {request:?}", node.id);
        self.takes(words, &longer, SpecEvent::Asked(request)).map(drop)
    }

    /// Takes this step with the node as the specification does, and returns the node then.
    pub(super) fn takes(
        &mut self,
        words: String,
        node: &Node<T>,
        happening: SpecEvent<T::Spec>,
    ) -> Result<Node<T>, WrongAnswer> {
        self.count += 1;
        lone_step(self.group, node, happening, &mut self.outputs)
            .map_err(|differences| WrongAnswer { words, differences })
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
                let expected = Expected::nothing(&node.view);
                let happens = |core: &mut T::Program| (event.act)(core, now);
                let after = act(group, &node, now, &expected, &mut self.outputs, happens);
                node = after.map_err(|differences| {
                    let words = format!("{} {words}{again}", node.id);
                    WrongAnswer { words, differences }
                })?;
            }
        }
        Ok(())
    }
}
