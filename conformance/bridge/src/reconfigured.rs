//! A node that starts again with other durations than before.
//!
//! What it has promised by the earlier ones lasts as long as it did, however short they are now.
//! The nodes of a world have one set of durations. So a small world is walked once more with each
//! [other set](Mapping::RESTARTS), which a node has from its recovery on. Requests are not probed
//! there, and the limits of what surrounds a node are not compared.

use crate::error::Error;
use crate::lockstep::{Outcome, walk};
use crate::mapping::{
    Durable, Mapping, Order, ProcessView, ProgramInput, ProgramMessage, ProgramOutput,
    ProgramTimer, Restart, SpecTimer,
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

/// The world in which a node starts again. It does so once: what a node has before are the
/// durations of the mapping.
const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

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
