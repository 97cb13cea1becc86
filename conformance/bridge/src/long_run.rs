//! A program that has run for long: its numbers are large.
//!
//! Small worlds have small numbers, and no walk is long enough to see one that is cut off or wraps.
//! So the numbers jump: a node begins with what it has kept of a long run, and all that nodes say
//! to each other is read with its numbers lowered by as much. All else is the same.

use crate::error::Error;
use crate::lockstep::{Outcome, walk};
use crate::mapping::{
    Durable, EnvironmentEvent, ExpectedFacts, Harmless, Mapping, OnInvalid, Process, ProcessView,
    ProgramMessage, SpecTimer, Stable,
};
use crate::program::Refusal;
use crate::reduce::reduce;
use crate::wraps::Wraps;
use bellwether_core::protocol::{Members, NodeId};
use bellwether_engine::check;
use bellwether_engine::world::{Scenario, World};

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

impl<M: Mapping> Wraps for LongRun<'_, M> {
    type Inner = M;
    type Program = M::Program;
    type Memory = ();

    /// They are larger already.
    const FROM: &'static [u64] = &[];
    const LARGEST_EPOCH: u64 = match M::COUNTERS.epochs {
        Some(kind) if kind < M::FROM.len() => M::LARGEST_EPOCH.saturating_add(M::FROM[kind]),
        _ => M::LARGEST_EPOCH,
    };

    fn inner(&self) -> &M {
        self.0
    }

    fn inside(program: &M::Program) -> &M::Program {
        program
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

    fn memory(&self, _: &M::Program) {}

    fn given(&self, message: ProgramMessage<M>) -> ProgramMessage<M> {
        raised::<M>(message)
    }

    fn read(&self, message: ProgramMessage<M>, sent: bool) -> ProgramMessage<M> {
        lowered::<M>(message, sent)
    }

    fn environment_event(&self, timer: SpecTimer<M>) -> Option<EnvironmentEvent<M::Program>> {
        self.0.environment_event(timer)
    }

    fn harmless(&self) -> Vec<Harmless<M::Program>> {
        self.0.harmless()
    }

    fn process(&self, program: &M::Program) -> Process<M> {
        self.0.rebase(program, self.0.process(program))
    }

    fn facts(&self, of: &ProcessView<'_, M::Spec>) -> Option<ExpectedFacts<M::Spec>> {
        let facts = self.0.facts(of)?;
        let by = M::COUNTERS.epochs.map_or(0, from::<M>);
        let raised = |epoch: Option<u64>| epoch.map(|epoch| epoch.saturating_add(by));
        let (epoch, prepares) = (raised(facts.epoch), raised(facts.prepares));
        Some(ExpectedFacts { epoch, prepares, ..facts })
    }

    fn stable(&self, durable: &Durable<M>) -> Stable<M> {
        let lower = &mut |kind, number: u64| number.saturating_sub(from::<M>(kind));
        self.0.stable(&(M::COUNTERS.in_durable)(durable, lower))
    }

    /// A message that is like one of the model's is like the one as which it reads here.
    fn invalid_messages(&self, members: &Members) -> Vec<(ProgramMessage<M>, OnInvalid<M::Spec>)> {
        let mut all = self.0.invalid_messages(members);
        for (message, follows) in &mut all {
            if let OnInvalid::Like(like) = follows {
                *like = self.to_model(message.clone());
            }
        }
        all
    }
}
