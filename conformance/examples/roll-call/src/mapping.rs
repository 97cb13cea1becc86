//! The mapping: how a node of the program reads as a process of the specification.

use super::{program, spec};
use bellwether_bridge::mapping::{Mapping, More, process_id};
use bellwether_bridge::message_table;
use bellwether_bridge::program::Refusal;
use bellwether_core::protocol::bully::{Config, Timing};
use bellwether_core::protocol::{Input, Members, Node, NodeId, Nothing, Role};
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type RollCall = (spec::RollCall, Node<program::RollCall>);

#[must_use]
pub fn mapping() -> Mapping<RollCall> {
    Mapping {
        rules: spec::RollCall { answer: true },
        program: Arc::new(program),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(process),
        stable: Arc::new(stable),
        believes: |_, _| None,
        facts: Arc::new(|_| None),
        messages: Arc::new(|_| messages()),
        more: More::default(),
    }
}

fn program(
    id: NodeId,
    members: &Members,
    _: Option<&Nothing>,
) -> Result<Node<program::RollCall>, Refusal> {
    let config = Config { id, members: members.clone(), timing: Timing::DEFAULT };
    Ok(Node::new(config, None, 0)?)
}

/// It starts, hears the highest, and has listened long enough when the time-out has passed.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
    let highest = members.iter().max().filter(|&highest| highest != id);
    let here = |from| Input::Receive { from, message: program::Message::Here };
    let begin = [Input::Boot].into_iter().chain(highest.map(here));
    let begin = begin.map(|input| (Duration::ZERO, input));
    begin.chain([(Timing::DEFAULT.election, Input::Wake)]).collect()
}

message_table! {
    fn to_program(spec::Message) -> program::Message; fn to_model;
    Here = Here;
}

fn timer(_: program::Timer) -> spec::Timer {
    spec::Timer::Listen
}

fn period(_: NodeId, _: &Members, _: spec::Timer) -> Option<Duration> {
    Some(Timing::DEFAULT.election)
}

fn process(node: &Node<program::RollCall>) -> spec::Process {
    let Some(core) = node.core() else { return spec::Process::default() };
    let role = match node.status().role {
        Role::Follower => spec::Role::Follower,
        Role::Leader => spec::Role::Leader,
        Role::NotStarted | Role::Candidate | Role::Waiting => spec::Role::Listening,
    };
    spec::Process { role, highest: process_id(core.highest) }
}

fn stable(durable: &Nothing) {
    match *durable {}
}

fn messages() -> Vec<spec::Message> {
    vec![spec::Message::Here]
}
