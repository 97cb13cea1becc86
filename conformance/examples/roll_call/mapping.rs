//! Roll call, the mapping: how a node reads as a process.
//! (In the tree this file is `conformance/src/mapping/roll_call.rs`.)

use super::{program, spec};
use bellwether::protocol::bully::{Config, Timing};
use bellwether::protocol::{Input, Members, Node, NodeId, Nothing, Role};
use bellwether_conformance::mapping::{Happening, Mapping, process_id};
use bellwether_conformance::program::Refusal;
use std::time::Duration;

/// How a node of the roll call reads as a process of [`spec::RollCall`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RollCallMapping;

impl Mapping for RollCallMapping {
    type Spec = spec::RollCall;
    type Program = Node<program::RollCall>;
    type Memory = ();

    const RULES: spec::RollCall = spec::RollCall { answer: true };

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        _: Option<&Nothing>,
    ) -> Result<Self::Program, Refusal> {
        let config = Config { id, members: members.clone(), timing: Timing::DEFAULT };
        Ok(Node::new(config, None, 0)?)
    }

    /// It starts, hears the highest, and has listened long enough when the time-out has passed.
    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
        let highest = members.iter().max().filter(|&highest| highest != id);
        let here = |from| Input::Receive { from, message: program::Message::Here };
        let begin = [Input::Boot].into_iter().chain(highest.map(here));
        let begin = begin.map(|input| (Duration::ZERO, input));
        begin.chain([(Timing::DEFAULT.election, Input::Wake)]).collect()
    }

    fn to_program(&self, message: spec::Message) -> Option<program::Message> {
        match message {
            spec::Message::Here => Some(program::Message::Here),
        }
    }

    fn to_model(&self, message: program::Message) -> spec::Message {
        match message {
            program::Message::Here => spec::Message::Here,
        }
    }

    fn timer(&self, timer: program::Timer) -> spec::Timer {
        match timer {
            program::Timer::Listen => spec::Timer::Listen,
        }
    }

    fn process(&self, node: &Self::Program) -> spec::Process {
        let Some(core) = node.core() else { return spec::Process::default() };
        let role = match node.status().role {
            Role::Follower => spec::Role::Follower,
            Role::Leader => spec::Role::Leader,
            Role::NotStarted | Role::Candidate | Role::Waiting => spec::Role::Listening,
        };
        spec::Process { role, highest: process_id(core.highest()) }
    }

    fn stable(&self, durable: &Nothing) {
        match *durable {}
    }

    fn memory(&self, _: &Self::Program) {}

    fn messages(&self) -> Vec<spec::Message> {
        vec![spec::Message::Here]
    }

    fn rules(&self, happening: &Happening<spec::RollCall>) -> &'static [&'static str] {
        match happening {
            Happening::Receive { .. } => &["answer"],
            _ => &[],
        }
    }
}
