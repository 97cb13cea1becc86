//! The ring with lists: the recommended rules against the production core.

use super::ring::{Messages, Script, lap_to_model, lap_to_program};
use super::{Mapping, known, node_id, ring as common, strangers};
use bellwether_bridge::message_table;
use bellwether_core::protocol::list_ring as program;
use bellwether_core::protocol::ring;
use bellwether_core::protocol::{Input, Members, Node, NodeId};
use bellwether_model::protocol::Id;
use bellwether_model::protocol::list_ring as spec;
use bellwether_model::protocol::ring::Lap;
use std::time::Duration;

/// The specification and the program.
pub type ListRing = (spec::ListRing, Node<program::ListRing>);

/// How a node of the ring reads as a process of [`spec::ListRing`]; the table stands in
/// [`super::ring`].
#[must_use]
pub fn mapping() -> Mapping<ListRing> {
    common::mapping(
        spec::ListRing::RECOMMENDED,
        &Messages {
            settle,
            to_program,
            to_model,
            unacknowledged: program::ListRing::unacknowledged,
            all: messages_among,
            strange,
            rename: None,
        },
    )
}

/// Starts the node, which hears from another that the highest leads, and what it hands on arrives.
fn settle(id: NodeId, members: &Members) -> Script<program::Message> {
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

fn strange(members: &Members) -> Vec<program::Message> {
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
    all
}

fn list(passed: program::List) -> spec::List {
    let first = spec::List::of(known(passed.origin()));
    passed.iter().fold(first, |list, id| list.with(known(id)))
}

fn program_list(list: spec::List) -> Option<program::List> {
    program::List::new(&list.ids().map(node_id).collect::<Vec<_>>())
}
