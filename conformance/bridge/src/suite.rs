//! A suite: few short executions that together take every transition of a bounded world.
//!
//! [`lockstep`](crate::lockstep) merges nodes that behave alike, so it takes each transition after
//! one of the ways that lead to it, as no program is run. An execution of a suite is one that can
//! be run: from the beginning, step by step, each node on its own clock. It can be saved, read, and
//! taken by whatever can be driven. How few steps do is said by the [bound](Summary::bound); see
//! [`cover`](bellwether_engine::check::cover) for why there is none with fewer.

use crate::coverage::about;
use crate::divergence::Divergence;
use crate::error::Error;
use crate::lockstep::{exceeded, search};
use crate::mapping::{Mapping, Sides};
use crate::pair::{self, Pair};
use bellwether_engine::check::cover::{Cover, cover};
use bellwether_engine::check::exact::{Exact, parallel};
use bellwether_engine::check::{Counts, Event, Limits, Phase, Progress, Reason, Watch};
use bellwether_engine::trace::{DOWN, Trace};
use bellwether_engine::world::packed::Packed;
use bellwether_engine::world::swarm::{Kind, concerned};
use bellwether_engine::world::{Action, Outcome, State, World};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// About how many bytes it takes for each transition to find the executions, at most.
const BYTES: u64 = 80;

/// How many executions each thread takes between two looks at the clock.
const BETWEEN_LOOKS: usize = 32;

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

/// Transitions of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Met {
    /// The kind of the action.
    pub action: &'static str,
    /// The kind of the message, or the timer, if the action has one.
    pub of: Option<String>,
    /// The role before the step of the process to which it happens, if it happens to one.
    pub role: Option<&'static str>,
    /// Whether that process then does something, or becomes another than it was.
    pub acts: bool,
    /// The number of transitions.
    pub transitions: u64,
}

/// Transitions of each kind: of the action, the message or the timer, the role, and whether the
/// process acts.
pub(crate) type Kinds<K> = BTreeMap<(K, Option<String>, Option<&'static str>, bool), u64>;

/// The same with the name of each kind of action, in their order.
pub(crate) fn met<K>(kinds: Kinds<K>, name: fn(K) -> &'static str) -> Vec<Met> {
    let met = |((action, of, role, acts), transitions)| Met {
        action: name(action),
        of,
        role,
        acts,
        transitions,
    };
    kinds.into_iter().map(met).collect()
}

/// Finds executions that together take every transition of `world` within its bounds. Programs do
/// not rename, so the world is the [concrete](World::concrete) one. What is found is the same with
/// any number of threads.
///
/// # Errors
/// If the program does not implement the world's rules or refuses its configuration, or if there is
/// no transition.
pub fn find<T: Sides>(
    mapping: &Mapping<T>,
    world: &World,
    threads: usize,
    limits: &Limits,
    on_progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Suite, Error> {
    let world = world.concrete();
    // What cannot be compared is refused before the search.
    pair::group(mapping, &world)?;
    let started = Instant::now();
    let mut space = Packed::new(&world, Vec::new());
    let exact = search(&mut space, *limits, threads, true, on_progress)?;
    let mut suite = Suite::of(world, exact.counts());
    let bytes = exact.graph_bytes() + exact.counts().generated * BYTES;
    let no_room = || (!limits.leaves_room_for(bytes)).then_some(Reason::Memory);
    let built = match exact.cut_short().or_else(no_room) {
        Some(reason) => Err(reason),
        None => {
            let at = exact.progress(Phase::Executions, started.elapsed());
            let mut on_event = |event: Event| {
                if let Event::Progress(progress) = event {
                    on_progress(progress);
                }
            };
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
            let Ok(action) = u32::try_from(action) else {
                unreachable!("there are no more actions than transitions")
            };
            taken.push(action);
            if cover.leads_to(transition).is_some() {
                tally.count(&self.world, &state, action, &enabled[position]);
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

/// Counts transitions, by the number of the action, the role, and whether the process acts.
#[derive(Default)]
struct Tally(FxHashMap<(u32, Option<&'static str>, bool), u64>);

impl Tally {
    /// One more transition: an action, with its number, in a state of this world.
    fn count(&mut self, world: &World, state: &State, number: u32, action: &Action) {
        let role = |id| if state.up(id) { state.process(id).role() } else { DOWN };
        let concerned = concerned(action);
        let acts = concerned.is_some_and(|id| {
            let Outcome { state: after, actor, effects, .. } = world.apply(state, action);
            let does = actor == Some(id) && !effects.is_empty();
            does || after.up(id) != state.up(id) || after.process(id) != state.process(id)
        });
        *self.0.entry((number, concerned.map(role), acts)).or_default() += 1;
    }

    /// What was counted, by kinds, where these are the actions.
    fn met(self, actions: &[Action]) -> Vec<Met> {
        let mut kinds = Kinds::new();
        for ((number, role, acts), count) in self.0 {
            let action = &actions[number as usize];
            *kinds.entry((Kind::of(action), about(action), role, acts)).or_default() += count;
        }
        met(kinds, Kind::name)
    }
}

/// What came of driving the program through a suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ran {
    /// The number of executions that the program has taken without a difference, those before the
    /// first one with a difference.
    pub executions: u64,
    /// The number of steps that were compared in them.
    pub steps: u64,
    /// The number of transitions that were taken in them, each counted once.
    pub transitions: u64,
    /// The number of the execution with a difference, from 1, if there is one.
    pub diverged: Option<usize>,
    /// The time that it took, in seconds.
    pub seconds: f64,
    /// The reason why it ended before all were taken, if it did.
    pub cut_short: Option<Reason>,
    /// The difference: after the fewest steps that lead to the same transition, if it shows there
    /// as well.
    #[serde(skip)]
    pub divergence: Option<Box<Divergence>>,
}

/// Drives the program through every execution of `suite`, several at once, until one shows a
/// difference. What is found is the same with any number of threads. `on_execution` is told of each
/// execution that is done: its number of steps.
///
/// # Errors
/// If the program does not implement the rules of the suite or refuses its configuration, or the
/// system gives no threads.
pub fn run<T: Sides>(
    mapping: &Mapping<T>,
    suite: &Suite,
    threads: usize,
    limits: &Limits,
    on_execution: &(dyn Fn(usize) + Sync),
) -> Result<Ran, Error> {
    let started = Instant::now();
    // The states have all been found, and the most memory has been used for them.
    let before = Duration::from_secs_f64(suite.summary.seconds);
    let time = limits.time.map(|time| time.saturating_sub(before));
    let limits = Limits { states: None, memory: None, time, ..*limits };
    let pool = parallel::pool(threads)?;
    let count = pool.current_num_threads();
    let begun = (0..count).map(|_| Pair::begin(mapping, &suite.world));
    let (mut pairs, mut found) = match begun.collect::<Result<Result<Vec<_>, _>, Error>>()? {
        Ok(pairs) => (pairs, None),
        Err(divergence) => (Vec::new(), Some((0, divergence))),
    };
    let (mut done, mut cut_short) = (0, None);
    while done < suite.len() && found.is_none() {
        cut_short = exceeded(&limits, started);
        if cut_short.is_some() {
            break;
        }
        let end = suite.len().min(done + count * BETWEEN_LOOKS);
        let work = |(first, pair): (usize, &mut Pair<'_, T>)| {
            let mut own = (done + first..end).step_by(count);
            own.find_map(|at| {
                let actions = suite.execution(at);
                pair.restart();
                let taken = pair.take(&actions);
                on_execution(actions.len());
                Some((at, taken.err()?))
            })
        };
        let differ = pool.install(|| parallel::map(pairs.iter_mut().enumerate(), work));
        // The first one counts, whichever thread has taken it.
        found = differ.into_iter().flatten().min_by_key(|&(at, _)| at);
        done = found.as_ref().map_or(end, |&(at, _)| at);
    }
    let mut ran = Ran { cut_short, ..suite.taken_in(done) };
    if let Some((at, divergence)) = found {
        ran.diverged = Some(at + 1);
        let shorter = suite.shortest(at, divergence.step);
        let shorter = shorter.filter(|actions| actions.len() < divergence.step);
        let again = shorter.and_then(|actions| {
            let pair = pairs.first_mut()?;
            pair.restart();
            pair.take(&actions).err()
        });
        ran.divergence = Some(again.unwrap_or(divergence));
    }
    ran.seconds = started.elapsed().as_secs_f64();
    Ok(ran)
}

impl Suite {
    /// What was taken in so many executions, the first ones.
    fn taken_in(&self, done: usize) -> Ran {
        let taken = || self.numbers()[..done].iter().flatten();
        let mut is_taken = vec![false; self.taken.len()];
        taken().for_each(|&transition| is_taken[transition as usize] = true);
        Ran {
            executions: done as u64,
            steps: taken().count() as u64,
            transitions: is_taken.iter().filter(|&&is_taken| is_taken).count() as u64,
            ..Ran::default()
        }
    }
}
