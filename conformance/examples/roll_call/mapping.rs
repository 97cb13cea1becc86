//! Roll call, the mapping: how a node reads as a process.
//! (In the tree this file is `conformance/src/mapping/roll_call.rs`.)

use crate::{program, spec};
use bellwether::protocol::{
    ConfigError, Input, Members, NodeId, Protocol as _, Role, Settings, Timing,
};
use bellwether_conformance::mapping::{Happening, Mapping, process_id};
use std::convert::Infallible;
use std::time::Duration;

/// How a node of the roll call reads as a process of [`spec::RollCall`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RollCallMapping;

impl Mapping for RollCallMapping {
    type Spec = spec::RollCall;
    type Program = program::RollCall;
    type Memory = ();

    const RULES: spec::RollCall = spec::RollCall { answer: true };

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        _: Option<&Infallible>,
    ) -> Result<program::RollCall, ConfigError> {
        let settings = Settings { id, members: members.clone(), timing: Timing::DEFAULT };
        program::RollCall::new(settings, 0)
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

    fn process(&self, node: &program::RollCall) -> spec::Process {
        let role = match node.status().role {
            Role::NotStarted => return spec::Process::default(),
            Role::Follower => spec::Role::Follower,
            Role::Leader => spec::Role::Leader,
            Role::Candidate | Role::Waiting => spec::Role::Listening,
        };
        spec::Process { role, highest: process_id(node.highest()) }
    }

    fn stable(&self, durable: &Infallible) {
        match *durable {}
    }

    fn memory(&self, _: &program::RollCall) {}

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
