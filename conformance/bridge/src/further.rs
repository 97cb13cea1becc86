//! Walks beside that of the world that is asked for: of a program that has run for long, of nodes
//! that start again with other durations, and by other rules that the program implements too.
//!
//! - Small worlds have small numbers, and no walk is long enough to see one that is cut off or
//!   wraps. So the numbers jump in a [long run](long_run): a node begins with what it has kept of
//!   it, and all that nodes say to each other is read with its numbers lowered by as much. All else
//!   is the same.
//! - A node that starts again with [other durations](reconfigured) is bound by what it has promised
//!   by the earlier ones, however short they are now. The nodes of a world have one set of
//!   durations. So a small world is walked once more with each [other set](Mapping::RESTARTS),
//!   which a node has from its recovery on. Requests are not probed there, and the limits of what
//!   surrounds a node are not compared.
//! - The world that is asked for has one configuration. A program may do what no such world leads
//!   to, where the configuration changes: a node joins, an observer becomes a voter. By the rules
//!   for that, the mapping is another [value](Mapping::further) of the same type, so nothing is
//!   compiled a second time. The [walk](further) is breadth-first and is cut short: the mistakes
//!   that it is to find show a few steps from the beginning.

use crate::error::Error;
use crate::lockstep::{Outcome, walk};
use crate::mapping::{
    Durable, EnvironmentEvent, ExpectedFacts, Further, Harmless, Mapping, OnInvalid, Order,
    Process, ProcessView, ProgramInput, ProgramMessage, ProgramOutput, ProgramTimer, Restart,
    SpecTimer, Stable,
};
use crate::node::MOST_OUTPUTS;
use crate::program::{BrokenPromise, Facts, Limits, Program, Refusal, Remembered};
use crate::reduce::reduce;
use crate::wraps::Wraps;
use bellwether_core::protocol::{Epoch, Input, Members, NodeId, Output, Status, Time};
use bellwether_engine::check;
use bellwether_engine::protocol::Timers;
use bellwether_engine::world::{Scenario, World};
use std::collections::VecDeque;
use std::iter;
use std::time::Duration;

/// After so many pairs, the walk of a world ends.
const PAIRS: u64 = 1 << 14;

/// Walks the beginning of each [further](Mapping::further) world, up to the first walk that has a
/// difference or is cut short by `limits`. Returns what comes of the last walk, with a difference
/// [reduced](reduce); `None` if there is no such world.
///
/// # Errors
/// If nothing can be compared.
pub fn further<M: Mapping>(mapping: &M, limits: &check::Limits) -> Result<Option<Outcome>, Error> {
    let mut last = None;
    for Further { mapping, scenario, happens } in mapping.further() {
        let Ok(world) = World::new(mapping.own_rules(), scenario) else { continue };
        let limits = check::Limits { states: Some(PAIRS), ..*limits };
        let mut outcome = walk(&world, &mapping, &limits, &mut |_| {})?;
        outcome.divergence = outcome.divergence.map(|found| {
            let mut found = reduce(&mapping, found);
            found.happened.push_str(", where ");
            found.happened.push_str(happens);
            found
        });
        let summary = &mut outcome.summary;
        summary.cut_short = summary.cut_short.filter(|&reason| reason != check::Reason::States);
        let is_last = outcome.divergence.is_some() || outcome.summary.cut_short.is_some();
        last = Some(outcome);
        if is_last {
            break;
        }
    }
    Ok(last)
}

/// The world in which nodes have large numbers, or start again with other durations. A node starts
/// again once, and had the durations of the mapping before.
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

fn lowered<M: Mapping>(message: ProgramMessage<M>, sent: bool) -> ProgramMessage<M> {
    let lower = &mut |kind, number: u64| number.saturating_sub(from::<M>(kind));
    (M::COUNTERS.in_message)(message, sent, lower)
}

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

/// Walks a small world with each set of durations with which a node may start again, up to the
/// first walk that has a difference or is cut short. Returns what comes of the last walk, with a
/// difference [reduced](reduce); `None` if there are no other durations.
///
/// # Errors
/// If nothing can be compared.
pub fn reconfigured<M: Mapping>(
    mapping: &M,
    limits: &check::Limits,
) -> Result<Option<Outcome>, Error> {
    // Of a mapping without other durations, no walk is compiled.
    if const { M::RESTARTS == 0 } {
        return Ok(None);
    }
    let Ok(world) = World::new(mapping.own_rules(), WORLD) else { return Ok(None) };
    let mut last = None;
    for with in 0..M::RESTARTS {
        let again = Reconfigured(mapping, with);
        let mut outcome = walk(&world, &again, limits, &mut |_| {})?;
        outcome.divergence = outcome.divergence.map(|found| {
            let mut found = reduce(&again, found);
            found.happened.push_str(", where a node starts again with other durations");
            found
        });
        let is_last = outcome.divergence.is_some() || outcome.summary.cut_short.is_some();
        last = Some(outcome);
        if is_last {
            break;
        }
    }
    Ok(last)
}

/// The mapping of a program whose nodes start again with the set of durations of this number.
#[derive(Clone, Copy, Debug)]
pub struct Reconfigured<'a, M>(pub &'a M, pub usize);

/// A node that may have started again with other durations.
pub struct Again<M: Mapping> {
    program: M::Program,
    /// What it has made durable last, if it has started again.
    kept: Option<Durable<M>>,
    /// What it must make durable first when it boots.
    due: Option<Durable<M>>,
    outputs: VecDeque<ProgramOutput<M>>,
    broken: Option<BrokenPromise>,
}

impl<M: Mapping> Clone for Again<M> {
    fn clone(&self) -> Self {
        Again {
            program: self.program.clone(),
            kept: self.kept.clone(),
            due: self.due.clone(),
            outputs: self.outputs.clone(),
            broken: self.broken.clone(),
        }
    }
}

impl<M: Mapping> Again<M> {
    /// It has booted: what it must make durable first is that, and the specification knows nothing
    /// of it.
    fn write_first(&mut self, due: Durable<M>) {
        let first = self.outputs.pop_front();
        if matches!(&first, Some(Output::Persist(written)) if *written == due) {
            self.kept = Some(due);
            return;
        }
        let what = "what is durable first, with other durations";
        let (right, wrong) = (format!("{due:?}"), format!("{first:?}"));
        self.broken = Some(BrokenPromise { what, right, wrong });
        if let Some(first) = first {
            self.outputs.push_front(first);
        }
    }
}

impl<M: Mapping> Program for Again<M> {
    const NAME: &'static str = <M::Program as Program>::NAME;
    const REQUESTS: bool = <M::Program as Program>::REQUESTS;
    type Durable = Durable<M>;
    type Message = ProgramMessage<M>;
    type Timer = ProgramTimer<M>;

    fn handle(&mut self, now: Time, input: ProgramInput<M>) {
        self.broken = None;
        let boots = matches!(input, Input::Boot);
        self.program.handle(now, input);
        self.outputs.extend(iter::from_fn(|| self.program.poll()).take(MOST_OUTPUTS));
        if let Some(due) = self.due.take_if(|_| boots) {
            self.write_first(due);
        }
        if let Some(kept) = &mut self.kept {
            for output in &self.outputs {
                if let Output::Persist(durable) = output {
                    kept.clone_from(durable);
                }
            }
        }
    }

    fn poll(&mut self) -> Option<ProgramOutput<M>> {
        self.outputs.pop_front().or_else(|| self.program.poll())
    }

    fn status(&self) -> Status {
        self.program.status()
    }

    fn remembers(&self) -> impl Remembered {
        self.program.remembers()
    }

    fn armed(&self) -> impl Iterator<Item = (ProgramTimer<M>, Time)> {
        self.program.armed()
    }

    fn bring_forward(&mut self, timer: ProgramTimer<M>, deadline: Time) {
        self.program.bring_forward(timer, deadline);
    }

    fn watched(&self) -> impl Iterator<Item = NodeId> {
        self.program.watched()
    }

    fn broken_promise(&self) -> Option<BrokenPromise> {
        self.broken.clone().or_else(|| self.program.broken_promise())
    }

    fn facts(&self) -> Facts<ProgramTimer<M>> {
        self.program.facts()
    }

    fn leads(&self, now: Time) -> Option<Epoch> {
        self.program.leads(now)
    }

    fn awaits_successor(&self, to: NodeId) -> bool {
        self.program.awaits_successor(to)
    }

    fn may_lead(&self, node: NodeId) -> bool {
        self.program.may_lead(node)
    }

    fn is_witness(&self, node: NodeId) -> bool {
        self.program.is_witness(node)
    }
}

impl<M: Mapping> Wraps for Reconfigured<'_, M> {
    type Inner = M;
    type Program = Again<M>;
    /// What is durable, and what a node knows of it, is not the same by all durations, though it
    /// reads as the same.
    type Memory = String;

    fn inner(&self) -> &M {
        self.0
    }

    fn inside(program: &Again<M>) -> &M::Program {
        &program.program
    }

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<M>>,
    ) -> Result<Again<M>, Refusal> {
        let Restart { program, written } = match durable {
            None => Restart { program: self.0.program(id, members, None)?, written: None },
            Some(durable) => self.0.restart(self.1, id, members, durable)?,
        };
        let (kept, outputs) = (durable.cloned(), VecDeque::new());
        Ok(Again { program, kept, due: written, outputs, broken: None })
    }

    fn memory(&self, program: &Again<M>) -> String {
        format!("{:?} {:?}", program.kept, program.program.remembers())
    }

    fn own_period(
        &self,
        program: &Again<M>,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<M>,
    ) -> Option<Duration> {
        program.kept.as_ref()?;
        self.0.period_again(self.1, id, members, timer)
    }

    fn orders(&self, _: &ProcessView<'_, M::Spec>, _: Timers) -> Vec<Order<M::Spec>> {
        Vec::new()
    }

    fn limits(&self, _: NodeId, _: &Members) -> Option<Limits> {
        None
    }
}
