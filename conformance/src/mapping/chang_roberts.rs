//! The ring of Chang and Roberts: the recommended rules against the production core.

use super::ring::{Messages, Script, config, lap_to_model, lap_to_program};
use super::{Mapping, known, node_id, ring as common, strangers};
use bellwether_bridge::message_table;
use bellwether_core::protocol::chang_roberts as program;
use bellwether_core::protocol::ring;
use bellwether_core::protocol::{Input, Members, Node, NodeId};
use bellwether_model::protocol::Id;
use bellwether_model::protocol::chang_roberts as spec;
use bellwether_model::protocol::ring::Lap;
use std::time::Duration;

/// The specification and the program.
pub type ChangRoberts = (spec::ChangRoberts, Node<program::ChangRoberts>);

/// How a node of the ring reads as a process of [`spec::ChangRoberts`]; the table stands in
/// [`super::ring`].
#[must_use]
pub fn mapping() -> Mapping<ChangRoberts> {
    common::mapping(
        spec::ChangRoberts::RECOMMENDED,
        &Messages {
            settle,
            to_program,
            to_model,
            unacknowledged: program::ChangRoberts::unacknowledged,
            all: messages_among,
            strange,
            rename: Some(|message, _, names| {
                use program::Message as P;
                match message {
                    P::Election(id) => P::Election((names.node)(id)),
                    P::Coordinator(id) => P::Coordinator((names.node)(id)),
                    P::Ack(ring::Lap::Election(id)) => {
                        P::Ack(ring::Lap::Election((names.node)(id)))
                    }
                    P::Ack(ring::Lap::Coordinator(id)) => {
                        P::Ack(ring::Lap::Coordinator((names.node)(id)))
                    }
                }
            }),
        },
    )
}

/// Starts the node, which hears of the highest, and what it hands on arrives. The highest hears of
/// no other for so long that it sends its id round, and that completes the ring.
fn settle(id: NodeId, members: &Members) -> Script<program::Message> {
    use program::Message::{Ack, Coordinator, Election};
    let Some(highest) = members.iter().max() else { return Vec::new() };
    let Some(other) = members.iter().find(|&other| other != id) else { return Vec::new() };
    let receive = |message| Input::Receive { from: other, message };
    let arrived = receive(Ack(ring::Lap::Coordinator(highest)));
    let (listens, then) = match id == highest {
        false => (Duration::ZERO, vec![receive(Coordinator(highest)), arrived]),
        true => {
            let sent = receive(Ack(ring::Lap::Election(id)));
            let silence = config(id, members).timing.watch;
            (silence, vec![Input::Wake, sent, receive(Election(id)), arrived])
        }
    };
    let then = then.into_iter().map(|input| (listens, input));
    [(Duration::ZERO, Input::Boot)].into_iter().chain(then).collect()
}

message_table! {
    fn to_program(spec::Message) -> program::Message; fn to_model;
    Election(id) = Election(id), id: node_id(id) => known(id);
    Coordinator(id) = Coordinator(id), id: node_id(id) => known(id);
    Ack(lap) = Ack(lap), lap: lap_to_program(lap) => lap_to_model(lap);
}

fn messages_among(nodes: usize) -> Vec<spec::Message> {
    use spec::Message::{Ack, Coordinator, Election};
    let of = |id| {
        let laps = [Lap::Election(id), Lap::Coordinator(id)];
        [Election(id), Coordinator(id), Ack(laps[0]), Ack(laps[1])]
    };
    Id::all(nodes).flat_map(of).collect()
}

fn strange(members: &Members) -> Vec<program::Message> {
    use program::Message::{Ack, Coordinator, Election};
    let about = |id| {
        let laps = [ring::Lap::Election(id), ring::Lap::Coordinator(id)];
        [Election(id), Coordinator(id), Ack(laps[0]), Ack(laps[1])]
    };
    strangers(members).flat_map(about).collect()
}
