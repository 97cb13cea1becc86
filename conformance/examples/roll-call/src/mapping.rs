//! The mapping: how a node of the program reads as a process of the specification.

use super::{program, spec};
use bellwether_bridge::mapping::{Mapping, SpecEvent, Step, process_id};
use bellwether_bridge::program::Refusal;
use bellwether_core::protocol::bully::{Config, Timing};
use bellwether_core::protocol::{Input, Members, Node, NodeId, Nothing, Role};
use std::time::Duration;

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

    fn to_program(&self, _: spec::Message) -> Option<program::Message> {
        Some(program::Message::Here)
    }

    fn to_model(&self, _: program::Message) -> spec::Message {
        spec::Message::Here
    }

    fn timer(&self, _: program::Timer) -> spec::Timer {
        spec::Timer::Listen
    }

    fn period(&self, _: NodeId, _: &Members, _: spec::Timer) -> Option<Duration> {
        Some(Timing::DEFAULT.election)
    }

    fn process(&self, node: &Self::Program) -> spec::Process {
        let Some(core) = node.core() else { return spec::Process::default() };
        let role = match node.status().role {
            Role::Follower => spec::Role::Follower,
            Role::Leader => spec::Role::Leader,
            Role::NotStarted | Role::Candidate | Role::Waiting => spec::Role::Listening,
        };
        spec::Process { role, highest: process_id(core.highest) }
    }

    fn stable(&self, durable: &Nothing) {
        match *durable {}
    }

    fn memory(&self, _: &Self::Program) {}

    fn messages(&self) -> Vec<spec::Message> {
        vec![spec::Message::Here]
    }

    fn rules(&self, happening: &SpecEvent<spec::RollCall>) -> &'static [&'static str] {
        match happening {
            SpecEvent::Receive { .. } => &["answer"],
            SpecEvent::Boot | SpecEvent::Expire(_) | SpecEvent::Crash => &[],
        }
    }

    fn reason(&self, step: &Step<'_, spec::RollCall>) -> Option<&'static str> {
        match step.happening {
            SpecEvent::Boot => Some("booted"),
            SpecEvent::Receive { .. } => Some("called"),
            SpecEvent::Expire(spec::Timer::Listen) => Some("listened"),
            SpecEvent::Crash => None,
        }
    }

    fn ignores(&self, _: &Step<'_, spec::RollCall>) -> Option<&'static str> {
        None
    }
}
