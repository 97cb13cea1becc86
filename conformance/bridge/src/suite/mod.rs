//! A suite: few short executions that together take every transition of a bounded world.
//!
//! [`lockstep`](crate::lockstep) merges nodes that behave alike, so it takes each transition after
//! one of the ways that lead to it, as no program is run. An execution of a suite is one that can
//! be run: from the beginning, step by step, each node on its own clock. It can be saved, read, and
//! taken by whatever can be driven. How few steps do is said by the [bound](Summary::bound); see
//! [`cover`](bellwether_engine::check::cover) for why there is none with fewer.

mod met;
mod run;

pub use met::Met;
pub use run::{Ran, run};

use crate::error::Error;
use crate::mapping::Mapping;
use crate::pair;
use bellwether_engine::check::cover::{Cover, cover};
use bellwether_engine::check::exact::{Exact, SearchOptions};
use bellwether_engine::check::{Counts, Event, Limits, Phase, Progress, Reason, Watch};
use bellwether_engine::trace::Trace;
use bellwether_engine::world::packed::Packed;
use bellwether_engine::world::{Action, World};
use indexmap::IndexSet;
use met::Tally;
use rustc_hash::FxBuildHasher;
use serde::Serialize;
use std::time::Instant;

/// About how many bytes it takes for each transition to find the executions, at most.
const BYTES: u64 = 80;

/// The executions of a world.
pub struct Suite {
    world: World,
    /// Nothing, if the search was cut short.
    cover: Option<Cover>,
    actions: Vec<Action>,
    /// The action of each transition, by its place in `actions`.
    taken: Vec<u32>,
    summary: Summary,
}

/// The summary of a suite: what it covers, in how many steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The number of states of the model.
    pub states: u64,
    /// The number of transitions within the bounds of the search. Each is taken.
    pub transitions: u64,
    /// The number of transitions that leave the bounds of the search. None is taken.
    pub outside: u64,
    /// The number of executions.
    pub executions: u64,
    /// The number of steps of all executions.
    pub steps: u64,
    /// The number of steps that any executions have at least that take every transition.
    pub bound: u64,
    /// The number of steps of the longest execution.
    pub longest: u64,
    /// The kinds of transitions, each with how many there are.
    pub met: Vec<Met>,
    /// The time that it took to find the executions, in seconds.
    pub seconds: f64,
    /// The reason why there are no executions, if the search ended early.
    pub cut_short: Option<Reason>,
}

impl Summary {
    /// Returns by how much the executions have more steps than the bound; `None` if there is none.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        (self.bound > 0).then(|| self.steps as f64 / self.bound as f64)
    }
}

/// Finds executions that together take every transition of `world` within its bounds. Programs do
/// not rename, so the world is the [concrete](World::concrete) one. What is found is the same with
/// any number of threads.
///
/// # Errors
/// If the program does not implement the world's rules or refuses its configuration, or if there is
/// no transition.
pub fn find<M: Mapping>(
    mapping: &M,
    world: &World,
    threads: usize,
    limits: &Limits,
    on_progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Suite, Error> {
    let world = world.concrete();
    // What cannot be compared is refused before the search.
    pair::group(mapping, &world)?;
    search(world, threads, limits, on_progress)
}

/// The executions of a world that can be compared.
fn search(
    world: World,
    threads: usize,
    limits: &Limits,
    on_progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Suite, Error> {
    let started = Instant::now();
    let mut space = Packed::new(&world, Vec::new());
    let mut on_event = |event: Event| {
        if let Event::Progress(progress) = event {
            on_progress(progress);
        }
    };
    let options = SearchOptions {
        limits: *limits,
        edges: true,
        threads,
        violations: &[],
        first: false,
        disk: None,
        on_event: &mut on_event,
    };
    let exact = Exact::search(&mut space, options);
    let exact = exact.map_err(|error| Error::Threads(error.to_string()))?;
    let mut suite = Suite::of(world, exact.counts());
    let bytes = exact.graph_bytes() + exact.counts().generated * BYTES;
    let no_room = || (!limits.leaves_room_for(bytes)).then_some(Reason::Memory);
    let built = match exact.cut_short().or_else(no_room) {
        Some(reason) => Err(reason),
        None => {
            let at = exact.progress(Phase::Executions, started.elapsed());
            let mut watch = Watch::new(*limits, at, &mut on_event);
            suite.build(exact, &space, &mut watch)
        }
    };
    suite.summary.cut_short = built.err();
    suite.summary.seconds = started.elapsed().as_secs_f64();
    if suite.is_empty() && suite.summary.cut_short.is_none() {
        return Err(Error::NothingCompared);
    }
    Ok(suite)
}

impl Suite {
    /// One without executions.
    fn of(world: World, counts: Counts) -> Suite {
        // The model counts its initial state as generated.
        let transitions = counts.generated.saturating_sub(1);
        let summary = Summary { states: counts.distinct, transitions, ..Summary::default() };
        Suite { world, cover: None, actions: Vec::new(), taken: Vec::new(), summary }
    }

    fn build(&mut self, exact: Exact, space: &Packed, watch: &mut Watch<'_>) -> Result<(), Reason> {
        let Some(graph) = exact.graph(space) else { unreachable!("the transitions were kept") };
        watch.now()?;
        let cover = cover(&graph, watch)?;
        let mut actions = IndexSet::<Action, FxBuildHasher>::default();
        let mut taken = Vec::with_capacity(cover.numbers() as usize);
        let mut tally = Tally::default();
        let mut enabled = Vec::new();
        let mut state = self.world.initial();
        for transition in 0..cover.numbers() {
            watch.step()?;
            let (from, position) = cover.place(transition);
            // Those of one state come one after the other.
            if position == 0 {
                state = space.decode(&graph.words(from));
                enabled.clear();
                self.world.enabled(&state, &mut enabled);
            }
            let (action, _) = actions.insert_full(enabled[position]);
            let action = u32::try_from(action).unwrap_or(u32::MAX);
            taken.push(action);
            if cover.leads_to(transition).is_some() {
                tally.count(&self.world, &state, (action, &enabled[position]));
            }
        }
        let executions = cover.executions();
        self.actions = actions.into_iter().collect();
        self.summary = Summary {
            states: cover.states(),
            transitions: cover.transitions(),
            outside: cover.outside(),
            executions: executions.len() as u64,
            steps: cover.steps(),
            bound: cover.bound(),
            longest: executions.last().map_or(0, |longest| longest.len() as u64),
            met: tally.met(&self.actions),
            ..Summary::default()
        };
        (self.cover, self.taken) = (Some(cover), taken);
        Ok(())
    }

    /// Returns what the suite covers.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the number of executions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers().len()
    }

    /// Returns whether there is no execution.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the actions of an execution. They are ordered by their number of steps: the first
    /// has the fewest.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn execution(&self, at: usize) -> Vec<Action> {
        self.named(&self.numbers()[at])
    }

    /// Returns an execution as a trace.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn trace(&self, at: usize) -> Trace {
        Trace::record(&self.world, &self.execution(at), None)
    }

    /// Returns the first shortest execution that ends with the same transition as the first so many
    /// steps of an execution.
    fn shortest(&self, at: usize, steps: usize) -> Option<Vec<Action>> {
        let last = self.numbers()[at].get(steps.checked_sub(1)?)?;
        let shortest = self.cover.as_ref()?.shortest(*last);
        Some(self.named(&shortest))
    }

    /// The executions, by the numbers of their transitions.
    fn numbers(&self) -> &[Vec<u32>] {
        self.cover.as_ref().map_or(&[], Cover::executions)
    }

    fn named(&self, transitions: &[u32]) -> Vec<Action> {
        let action = |&transition: &u32| self.actions[self.taken[transition as usize] as usize];
        transitions.iter().map(action).collect()
    }
}
