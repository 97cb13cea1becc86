//! The ring of Chang and Roberts: the recommended rules against the production core.

use super::ring as common;
use super::ring::{config, known, lap_to_model, lap_to_program, timer_to_model};
use super::{Durations, ExpectedFacts, IdsIn, Logs, Mapping, More, OnInvalid, Probes, ProcessView};
use super::{node_id, strangers};
use bellwether_bridge::message_table;
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_core::protocol::chang_roberts as program;
use bellwether_core::protocol::ring;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Nothing, Role};
use bellwether_model::protocol::Id;
use bellwether_model::protocol::chang_roberts as spec;
use bellwether_model::protocol::ring::{Lap, Process, Timer};
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type ChangRoberts = (spec::ChangRoberts, Node<program::ChangRoberts>);

/// How a node of the ring reads as a process of [`spec::ChangRoberts`]; the table stands in
/// [`super::ring`].
#[must_use]
pub fn mapping() -> Mapping<ChangRoberts> {
    Mapping {
        rules: spec::ChangRoberts::RECOMMENDED,
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
                bounds: common::bounds::<program::ChangRoberts>,
                ..Durations::default()
            },
            probes: Probes { invalid_messages: Arc::new(invalid_messages), ..Probes::default() },
            logs: Logs {
                ids: Some(IdsIn {
                    message: |message, name| match message {
                        program::Message::Election(id) => program::Message::Election(name(id)),
                        program::Message::Coordinator(id) => {
                            program::Message::Coordinator(name(id))
                        }
                        program::Message::Ack(ring::Lap::Election(id)) => {
                            program::Message::Ack(ring::Lap::Election(name(id)))
                        }
                        program::Message::Ack(ring::Lap::Coordinator(id)) => {
                            program::Message::Ack(ring::Lap::Coordinator(name(id)))
                        }
                    },
                    ..IdsIn::default()
                }),
                ..Logs::default()
            },
            ..More::default()
        },
    }
}

fn program(
    id: NodeId,
    members: &Members,
    _: Option<&Nothing>,
) -> Result<Node<program::ChangRoberts>, Refusal> {
    Ok(Node::new(config(id, members), None, 0)?)
}

/// It starts and hears of the highest, and what it hands on arrives. The highest hears of
/// no other for so long that it sends its id round, and that completes the ring.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
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

fn timer(timer: ring::Timer) -> Timer {
    timer_to_model(timer)
}

fn period(id: NodeId, members: &Members, timer: Timer) -> Option<Duration> {
    Some(common::period(id, members, timer))
}

fn process(node: &Node<program::ChangRoberts>) -> Process<spec::Message> {
    common::process(
        node.status(),
        node.core().map_or(&[][..], program::ChangRoberts::unacknowledged),
        to_model,
    )
}

fn believes(_: Id, process: &Process<spec::Message>) -> Option<(Role, Option<Id>)> {
    Some(common::believes(process))
}

fn facts(of: &ProcessView<'_, spec::ChangRoberts>) -> Option<ExpectedFacts<spec::ChangRoberts>> {
    Some(ExpectedFacts::among_equals(of.nodes))
}

fn limits(id: NodeId, members: &Members) -> Option<Limits> {
    Some(common::limits(id, members))
}

fn stable(durable: &Nothing) {
    match *durable {}
}

fn messages_among(nodes: usize) -> Vec<spec::Message> {
    use spec::Message::{Ack, Coordinator, Election};
    let of = |id| {
        let laps = [Lap::Election(id), Lap::Coordinator(id)];
        [Election(id), Coordinator(id), Ack(laps[0]), Ack(laps[1])]
    };
    Id::all(nodes).flat_map(of).collect()
}

fn invalid_messages(members: &Members) -> Vec<(program::Message, OnInvalid<spec::ChangRoberts>)> {
    use program::Message::{Ack, Coordinator, Election};
    let about = |id| {
        let laps = [ring::Lap::Election(id), ring::Lap::Coordinator(id)];
        [Election(id), Coordinator(id), Ack(laps[0]), Ack(laps[1])]
    };
    let all = strangers(members).flat_map(about);
    all.map(|message| (message, OnInvalid::Ignored("unknown_id"))).collect()
}
