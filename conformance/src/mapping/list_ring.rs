//! The ring with lists: the recommended rules against the production core.

use super::ring::{
    believes, config, known, lap_to_model, lap_to_program, limits, period, process, reason_of,
    rules_of, timer_to_model,
};
use super::{ExpectedFacts, Mapping, OnInvalid, ProcessView, SpecEvent, Step, node_id, strangers};
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_core::protocol::list_ring as program;
use bellwether_core::protocol::ring;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Nothing, Role};
use bellwether_model::protocol::list_ring as spec;
use bellwether_model::protocol::ring::{Lap, Process, Timer};
use bellwether_model::protocol::{Id, MAX_SEARCHED};
use std::time::Duration;

/// How a node of the ring reads as a process of [`spec::ListRing`]; the table stands in
/// [`super::ring`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ListRingMapping;

impl Mapping for ListRingMapping {
    type Spec = spec::ListRing;
    type Program = Node<program::ListRing>;
    type Memory = ();

    const RULES: spec::ListRing = spec::ListRing::RECOMMENDED;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        _: Option<&Nothing>,
    ) -> Result<Self::Program, Refusal> {
        Ok(Node::new(config(id, members), None, 0)?)
    }

    /// It starts and hears from another that the highest leads, and what it hands on arrives.
    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
        use program::{List, Message};
        let Some(leader) = members.iter().max() else { return Vec::new() };
        let Some(other) = members.iter().find(|&other| other != id) else { return Vec::new() };
        let receive = |message| Input::Receive { from: other, message };
        let inputs = [
            Input::Boot,
            receive(Message::Coordinator { leader, passed: List::of(other) }),
            receive(Message::Ack(ring::Lap::Coordinator(other))),
        ];
        inputs.into_iter().map(|input| (Duration::ZERO, input)).collect()
    }

    fn to_program(&self, message: spec::Message) -> Option<program::Message> {
        let list =
            |list: spec::List| program::List::new(&list.ids().map(node_id).collect::<Vec<_>>());
        Some(match message {
            spec::Message::Election(passed) => program::Message::Election(list(passed)?),
            spec::Message::Coordinator { leader, list: passed } => {
                program::Message::Coordinator { leader: node_id(leader), passed: list(passed)? }
            }
            spec::Message::Ack(lap) => program::Message::Ack(lap_to_program(lap)),
        })
    }

    fn to_model(&self, message: program::Message) -> spec::Message {
        to_model(message)
    }

    fn timer(&self, timer: ring::Timer) -> Timer {
        timer_to_model(timer)
    }

    fn period(&self, id: NodeId, members: &Members, timer: Timer) -> Option<Duration> {
        Some(period(id, members, timer))
    }

    fn process(&self, node: &Node<program::ListRing>) -> Process<spec::Message> {
        process(
            node.status(),
            node.core().map_or(&[][..], program::ListRing::unacknowledged),
            to_model,
        )
    }

    fn believes(&self, _: Id, process: &Process<spec::Message>) -> Option<(Role, Option<Id>)> {
        Some(believes(process))
    }

    fn facts(&self, of: &ProcessView<'_, spec::ListRing>) -> Option<ExpectedFacts<spec::ListRing>> {
        Some(ExpectedFacts::among_equals(of.nodes))
    }

    fn limits(&self, id: NodeId, members: &Members) -> Option<Limits> {
        Some(limits(id, members))
    }

    fn stable(&self, durable: &Nothing) {
        match *durable {}
    }

    fn memory(&self, _: &Node<program::ListRing>) {}

    fn messages(&self) -> Vec<spec::Message> {
        self.messages_among(MAX_SEARCHED)
    }

    /// Lists of up to three ids: longer ones differ from those in nothing that a rule asks for.
    fn messages_among(&self, nodes: usize) -> Vec<spec::Message> {
        use spec::Message::{Ack, Coordinator, Election};
        let mut lists: Vec<spec::List> = Id::all(nodes).map(spec::List::of).collect();
        for _ in 0..2 {
            let longer = lists.iter().flat_map(|list| Id::all(nodes).map(|id| list.with(id)));
            lists = lists.iter().copied().chain(longer).collect();
            lists.sort_unstable();
            lists.dedup();
        }
        let elections = lists.iter().map(|&list| Election(list));
        let announced = |leader| lists.iter().map(move |&list| Coordinator { leader, list });
        let laps = Id::all(nodes).flat_map(|id| [Lap::Election(id), Lap::Coordinator(id)]);
        let coordinators = Id::all(nodes).flat_map(announced);
        elections.chain(coordinators).chain(laps.map(Ack)).collect()
    }

    fn invalid_messages(
        &self,
        members: &Members,
    ) -> Vec<(program::Message, OnInvalid<spec::ListRing>)> {
        use program::Message::{Ack, Coordinator, Election};
        let mut all = Vec::new();
        for stranger in strangers(members) {
            let laps = [ring::Lap::Election(stranger), ring::Lap::Coordinator(stranger)];
            all.extend(laps.map(Ack));
            for member in members.iter() {
                let lists = [&[stranger][..], &[member, stranger], &[stranger, member]];
                for list in lists.into_iter().filter_map(program::List::new) {
                    all.extend([Election(list), Coordinator { leader: member, passed: list }]);
                }
                let passed = program::List::of(member);
                all.push(Coordinator { leader: stranger, passed });
            }
        }
        all.into_iter().map(|message| (message, OnInvalid::Ignored("unknown_id"))).collect()
    }

    fn reason(&self, step: &Step<'_, spec::ListRing>) -> Option<&'static str> {
        use spec::Message::{Ack, Coordinator, Election};
        Some(match step.happening {
            SpecEvent::Boot => "booted",
            SpecEvent::Receive { message, .. } => match message {
                Election(_) => "chosen",
                Coordinator { leader, .. } if leader == step.id => "chosen",
                Coordinator { leader, .. } if leader > step.id => "claimed",
                Coordinator { .. } => "lower_claims",
                Ack(_) => return None,
            },
            SpecEvent::Expire(timer) => reason_of(timer, step.after.role),
            SpecEvent::Crash => return None,
        })
    }

    fn ignores(&self, _: &Step<'_, spec::ListRing>) -> Option<&'static str> {
        None // of messages that name members only
    }

    fn rules(&self, happening: &SpecEvent<spec::ListRing>) -> &'static [&'static str] {
        match happening {
            SpecEvent::Boot => &["restart", "watch"],
            SpecEvent::Receive { message, .. } => match message {
                spec::Message::Election(_) => &["skip", "home", "decides"],
                spec::Message::Coordinator { .. } => &["skip", "home", "accept", "watch"],
                spec::Message::Ack(_) => &["skip"],
            },
            SpecEvent::Expire(timer) => rules_of(*timer),
            SpecEvent::Crash => &[],
        }
    }
}

fn to_model(message: program::Message) -> spec::Message {
    let list = |passed: program::List| {
        let first = spec::List::of(known(passed.origin()));
        passed.iter().fold(first, |list, id| list.with(known(id)))
    };
    match message {
        program::Message::Election(passed) => spec::Message::Election(list(passed)),
        program::Message::Coordinator { leader, passed } => {
            spec::Message::Coordinator { leader: known(leader), list: list(passed) }
        }
        program::Message::Ack(lap) => spec::Message::Ack(lap_to_model(lap)),
    }
}
