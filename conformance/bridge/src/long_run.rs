//! A program that has run for long: its numbers are large.
//!
//! Small worlds have small numbers, and no walk is long enough to see one that is cut off or wraps.
//! So the numbers jump: a node begins with what it has kept of a long run, and all that nodes say
//! to each other is read with its numbers lowered by as much. All else is the same.

use crate::error::Error;
use crate::lockstep::{Outcome, walk};
use crate::mapping::{
    Asked, Durable, EnvironmentEvent, ExpectedFacts, Harmless, Mapping, OnInvalid, Order, Process,
    ProcessView, ProgramInput, ProgramMessage, ProgramTimer, SpecEvent, SpecMessage, SpecTimer,
    Stable, Step,
};
use crate::program::{Limits, Refusal};
use crate::reduce::reduce;
use bellwether_core::protocol::{Input, Members, NodeId, Request, Role};
use bellwether_engine::check;
use bellwether_engine::protocol::{Id, Timers};
use bellwether_engine::world::{Scenario, World};
use std::time::Duration;

/// The world in which nodes with large numbers are compared.
const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

/// Walks a small world with a program that has run for long, if the mapping says [how large its
/// numbers are](Mapping::FROM). Returns what comes of it, with a difference [reduced](reduce).
///
/// # Errors
/// If nothing can be compared.
pub fn long_run<M: Mapping>(mapping: &M, limits: &check::Limits) -> Result<Option<Outcome>, Error> {
    // By a constant, so that no walk is compiled where there is none.
    if const { M::FROM.is_empty() } {
        return Ok(None);
    }
    let Ok(world) = World::new(mapping.own_rules(), WORLD) else { return Ok(None) };
    let late = LongRun(mapping);
    let mut outcome = walk(&world, &late, limits, &mut |_| {})?;
    outcome.divergence = outcome.divergence.map(|found| {
        let mut found = reduce(&late, found);
        found.happened.push_str(", in a run that has lasted long: its numbers are large");
        found
    });
    Ok(Some(outcome))
}

/// The mapping of a program whose numbers are large.
#[derive(Clone, Copy, Debug)]
pub struct LongRun<'a, M>(pub &'a M);

/// By how much numbers of this kind are larger.
fn from<M: Mapping>(kind: usize) -> u64 {
    M::FROM.get(kind).copied().unwrap_or(0)
}

/// The message with its numbers lowered.
fn lowered<M: Mapping>(message: ProgramMessage<M>, sent: bool) -> ProgramMessage<M> {
    let lower = &mut |kind, number: u64| number.saturating_sub(from::<M>(kind));
    (M::COUNTERS.in_message)(message, sent, lower)
}

/// The message with its numbers raised.
fn raised<M: Mapping>(message: ProgramMessage<M>) -> ProgramMessage<M> {
    let raise = &mut |kind, number: u64| number.saturating_add(from::<M>(kind));
    (M::COUNTERS.in_message)(message, false, raise)
}

impl<M: Mapping> Mapping for LongRun<'_, M> {
    type Spec = M::Spec;
    type Program = M::Program;
    type Memory = M::Memory;

    const RULES: M::Spec = M::RULES;
    const LARGEST_EPOCH: u64 = match M::COUNTERS.epochs {
        Some(kind) if kind < M::FROM.len() => M::LARGEST_EPOCH.saturating_add(M::FROM[kind]),
        _ => M::LARGEST_EPOCH,
    };

    fn own_rules(&self) -> M::Spec {
        self.0.own_rules()
    }

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<M>>,
    ) -> Result<M::Program, Refusal> {
        let began = if durable.is_none() { self.0.began(id, members) } else { None };
        self.0.program(id, members, durable.or(began.as_ref()))
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, ProgramInput<M>)> {
        let mut script = self.0.settle(id, members);
        for (_, input) in &mut script {
            if let Input::Receive { message, .. } = input {
                *message = raised::<M>(*message);
            }
        }
        script
    }

    fn to_program(&self, message: SpecMessage<M>) -> Option<ProgramMessage<M>> {
        self.0.to_program(message).map(raised::<M>)
    }

    fn to_model(&self, message: ProgramMessage<M>) -> SpecMessage<M> {
        self.0.to_model(lowered::<M>(message, false))
    }

    fn message_sent(&self, program: &M::Program, message: ProgramMessage<M>) -> SpecMessage<M> {
        self.0.message_sent(program, lowered::<M>(message, true))
    }

    fn reaches(&self, program: &M::Program, message: SpecMessage<M>) -> bool {
        self.0.reaches(program, message)
    }

    fn timer(&self, timer: ProgramTimer<M>) -> SpecTimer<M> {
        self.0.timer(timer)
    }

    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<M>) -> Option<Duration> {
        self.0.period(id, members, timer)
    }

    fn checked_first(&self) -> &'static [SpecTimer<M>] {
        self.0.checked_first()
    }

    fn detects(&self, timer: SpecTimer<M>) -> Option<NodeId> {
        self.0.detects(timer)
    }

    fn asks(&self, timer: SpecTimer<M>) -> Option<Request> {
        self.0.asks(timer)
    }

    fn when_asked(&self, request: Request, process: &Process<M>, armed: Timers) -> Asked<M::Spec> {
        self.0.when_asked(request, process, armed)
    }

    fn environment_event(&self, timer: SpecTimer<M>) -> Option<EnvironmentEvent<M::Program>> {
        self.0.environment_event(timer)
    }

    fn orders(&self, of: &ProcessView<'_, M::Spec>, armed: Timers) -> Vec<Order<M::Spec>> {
        self.0.orders(of, armed)
    }

    fn harmless(&self) -> Vec<Harmless<M::Program>> {
        self.0.harmless()
    }

    fn settling_timers(&self, id: NodeId, members: &Members) -> &'static [SpecTimer<M>] {
        self.0.settling_timers(id, members)
    }

    fn process(&self, program: &M::Program) -> Process<M> {
        self.0.rebase(program, self.0.process(program))
    }

    fn believes(&self, id: Id, process: &Process<M>) -> Option<(Role, Option<Id>)> {
        self.0.believes(id, process)
    }

    fn facts(&self, of: &ProcessView<'_, M::Spec>) -> Option<ExpectedFacts<M::Spec>> {
        let facts = self.0.facts(of)?;
        let by = M::COUNTERS.epochs.map_or(0, from::<M>);
        let raised = |epoch: Option<u64>| epoch.map(|epoch| epoch.saturating_add(by));
        let (epoch, prepares) = (raised(facts.epoch), raised(facts.prepares));
        Some(ExpectedFacts { epoch, prepares, ..facts })
    }

    fn limits(&self, id: NodeId, members: &Members) -> Option<Limits> {
        self.0.limits(id, members)
    }

    fn stable(&self, durable: &Durable<M>) -> Stable<M> {
        let lower = &mut |kind, number: u64| number.saturating_sub(from::<M>(kind));
        self.0.stable(&(M::COUNTERS.in_durable)(durable, lower))
    }

    fn memory(&self, program: &M::Program) -> M::Memory {
        self.0.memory(program)
    }

    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        self.0.ignored_fields()
    }

    fn messages(&self) -> Vec<SpecMessage<M>> {
        self.0.messages()
    }

    fn messages_among(&self, nodes: usize) -> Vec<SpecMessage<M>> {
        self.0.messages_among(nodes)
    }

    fn uncovered(&self) -> &'static [(&'static str, &'static str)] {
        self.0.uncovered()
    }

    /// A message that is like one of the model's is like the one as which it reads here.
    fn invalid_messages(&self, members: &Members) -> Vec<(ProgramMessage<M>, OnInvalid<M::Spec>)> {
        let mut all = self.0.invalid_messages(members);
        for (message, follows) in &mut all {
            if let OnInvalid::Like(like) = follows {
                *like = self.to_model(*message);
            }
        }
        all
    }

    fn reason(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.reason(step)
    }

    fn ignores(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.ignores(step)
    }

    fn rules(&self, happening: &SpecEvent<M::Spec>) -> &'static [&'static str] {
        self.0.rules(happening)
    }
}
