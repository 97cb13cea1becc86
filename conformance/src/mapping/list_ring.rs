//! The ring with lists: the recommended rules against the production core.

use super::ring as common;
use super::ring::{config, known, lap_to_model, lap_to_program, timer_to_model};
use super::{
    Durations, ExpectedFacts, Mapping, More, OnInvalid, Probes, ProcessView, node_id, strangers,
};
use bellwether_bridge::message_table;
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_core::protocol::list_ring as program;
use bellwether_core::protocol::ring;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Nothing, Role};
use bellwether_model::protocol::Id;
use bellwether_model::protocol::list_ring as spec;
use bellwether_model::protocol::ring::{Lap, Process, Timer};
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type ListRing = (spec::ListRing, Node<program::ListRing>);

/// How a node of the ring reads as a process of [`spec::ListRing`]; the table stands in
/// [`super::ring`].
#[must_use]
pub fn mapping() -> Mapping<ListRing> {
    Mapping {
        rules: spec::ListRing::RECOMMENDED,
        program: Arc::new(program),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(process),
        stable: Arc::new(stable),
        believes,
        facts: Arc::new(facts),
        messages: Arc::new(messages_among),
        more: More {
            durations: Durations {
                limits: Arc::new(limits),
                bounds: common::bounds::<program::ListRing>,
                ..Durations::default()
            },
            probes: Probes { invalid_messages: Arc::new(invalid_messages), ..Probes::default() },
            ..More::default()
        },
    }
}

fn program(
    id: NodeId,
    members: &Members,
    _: Option<&Nothing>,
) -> Result<Node<program::ListRing>, Refusal> {
    Ok(Node::new(config(id, members), None, 0)?)
}

/// It starts and hears from another that the highest leads, and what it hands on arrives.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
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

message_table! {
    fn to_program(spec::Message) -> program::Message; fn to_model;
    Election(passed) = Election(passed), passed: program_list(passed)? => list(passed);
    Coordinator { leader, list: passed } = Coordinator { leader, passed },
        leader: node_id(leader) => known(leader), passed: program_list(passed)? => list(passed);
    Ack(lap) = Ack(lap), lap: lap_to_program(lap) => lap_to_model(lap);
}

fn timer(timer: ring::Timer) -> Timer {
    timer_to_model(timer)
}

fn period(id: NodeId, members: &Members, timer: Timer) -> Option<Duration> {
    Some(common::period(id, members, timer))
}

fn process(node: &Node<program::ListRing>) -> Process<spec::Message> {
    common::process(
        node.status(),
        node.core().map_or(&[][..], program::ListRing::unacknowledged),
        to_model,
    )
}

fn believes(_: Id, process: &Process<spec::Message>) -> Option<(Role, Option<Id>)> {
    Some(common::believes(process))
}

fn facts(of: &ProcessView<'_, spec::ListRing>) -> Option<ExpectedFacts<spec::ListRing>> {
    Some(ExpectedFacts::among_equals(of.nodes))
}

fn limits(id: NodeId, members: &Members) -> Option<Limits> {
    Some(common::limits(id, members))
}

fn stable(durable: &Nothing) {
    match *durable {}
}

/// Lists of up to three ids: longer ones differ from those in nothing that a rule asks for.
fn messages_among(nodes: usize) -> Vec<spec::Message> {
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

fn invalid_messages(members: &Members) -> Vec<(program::Message, OnInvalid<spec::ListRing>)> {
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

fn list(passed: program::List) -> spec::List {
    let first = spec::List::of(known(passed.origin()));
    passed.iter().fold(first, |list, id| list.with(known(id)))
}

fn program_list(list: spec::List) -> Option<program::List> {
    program::List::new(&list.ids().map(node_id).collect::<Vec<_>>())
}
