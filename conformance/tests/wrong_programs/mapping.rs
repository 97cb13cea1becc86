//! The bully's mapping, for a program with a mistake.

use super::wrong::{Mistake, Wrong};
use bellwether::protocol::bully::{Message, Timer};
use bellwether::protocol::{Input, Members, NodeId, Nothing, Role};
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::{Happening, Mapping, Step};
use bellwether_conformance::program::{Program as _, Refusal};
use bellwether_model::protocol::bully as spec;
use std::time::Duration;

/// The mapping of the bully, for a program with a mistake.
pub(crate) struct WrongMapping(pub(crate) Mistake);

impl Mapping for WrongMapping {
    type Spec = spec::Bully;
    type Program = Wrong;
    type Memory = (Option<(Role, Option<NodeId>)>, Option<Timer>, Option<Timer>, bool);

    const RULES: spec::Bully = BullyMapping::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        _: Option<&Nothing>,
    ) -> Result<Wrong, Refusal> {
        Wrong::new(BullyMapping::config(id, members), self.0)
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<Message>)> {
        BullyMapping.settle(id, members)
    }

    fn to_program(&self, message: spec::Message) -> Option<Message> {
        BullyMapping.to_program(message)
    }

    fn to_model(&self, message: Message) -> spec::Message {
        BullyMapping.to_model(message)
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        BullyMapping.period(id, members, timer)
    }

    fn timer(&self, timer: Timer) -> spec::Timer {
        BullyMapping.timer(timer)
    }

    fn process(&self, program: &Wrong) -> spec::Process {
        BullyMapping::stands_for(program.status())
    }

    fn stable(&self, durable: &Nothing) {
        BullyMapping.stable(durable);
    }

    fn memory(&self, program: &Wrong) -> Self::Memory {
        let believes = program.believes.map(|status| (status.role, status.leader));
        (believes, program.extra.map(|(timer, _)| timer), program.hidden, program.stale.is_some())
    }

    fn messages(&self) -> Vec<spec::Message> {
        BullyMapping.messages()
    }

    fn reason(&self, step: &Step<'_, spec::Bully>) -> Option<&'static str> {
        BullyMapping.reason(step)
    }

    fn ignores(&self, step: &Step<'_, spec::Bully>) -> Option<&'static str> {
        BullyMapping.ignores(step)
    }

    fn rules(&self, happening: &Happening<spec::Bully>) -> &'static [&'static str] {
        BullyMapping.rules(happening)
    }
}
