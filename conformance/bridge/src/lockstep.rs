//! The exhaustive comparison: every transition of a bounded world, taken in model and program.
//!
//! A breadth-first walk over pairs (a state of the model, the nodes of the program beside it). In
//! every pair, every action that the model allows is taken in both and compared; transitions that
//! leave the boundary of the search (a link's capacity) are compared too, they are only not
//! followed. The first difference is therefore one that needs the fewest steps.
//!
//! Pairs are told apart by the whole state of the model and by everything in the nodes but absolute
//! times; why that is sound is said in [`crate::node`].

use crate::coverage::{Coverage, Tally};
use crate::divergence::{Difference, Divergence, happening};
use crate::error::Error;
use crate::large_group::{LargeGroup, large_group};
use crate::mapping::{Mapping, ProgramOutput, Sides};
use crate::node::{Group, Key, Node};
use crate::pair;
use crate::probe;
use crate::settle;
use crate::step;
use bellwether_engine::check::exact::{Exact, SearchOptions};
use bellwether_engine::check::{Event, Limits, Phase, Progress, Reason};
use bellwether_engine::protocol::MAX_SEARCHED;
use bellwether_engine::trace::Trace;
use bellwether_engine::world::packed::Packed;
use bellwether_engine::world::{Action, Outcome as Step, State, World};
use indexmap::map::Entry;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many pairs are expanded between two looks at the clock.
const BETWEEN_LOOKS: usize = 1 << 10;

/// After a probe has found a difference, the walk goes on for so many pairs, and for as many again
/// as it has expanded: an execution that shows the mistake is worth more than a probe.
const AFTER_A_PROBE: usize = 1 << 14;

/// The outcome of a walk.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The summary: what was compared.
    pub summary: Summary,
    /// The first difference, if there is one.
    pub divergence: Option<Box<Divergence>>,
    /// The result of a group as large as the program allows, after a walk without a difference.
    pub large_group: LargeGroup,
}

/// The summary of a walk: what it compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The number of distinct pairs of a model state and the program's nodes.
    pub pairs: u64,
    /// The number of distinct states of the model among them.
    pub states: u64,
    /// The number of distinct program nodes among them.
    pub nodes: u64,
    /// The number of transitions taken in both and compared.
    pub transitions: u64,
    /// The number of those transitions that leave the boundary of the search; compared, and not
    /// followed.
    pub outside: u64,
    /// The number of transitions by kind of action.
    pub kinds: BTreeMap<&'static str, u64>,
    /// The number of probes: what nodes were asked besides, that no execution of the world does to
    /// them.
    pub probes: u64,
    /// The coverage: what was met of the specification.
    pub coverage: Coverage,
    /// The number of nodes of which all that was asked.
    pub probed: u64,
    /// The number of breadth-first levels.
    pub depth: usize,
    /// The time that the walk took, in seconds.
    pub seconds: f64,
    /// The services, if the specification plays them.
    pub unplayed: Option<Unplayed>,
    /// The reason why the walk ended before everything was compared and counted again, if it did.
    pub cut_short: Option<Reason>,
    /// The transitions of distinct states of the model within the bounds.
    #[serde(skip)]
    covered: u64,
    /// Whether the walk reached its end: it was neither cut short nor stopped by a difference.
    #[serde(skip)]
    whole: bool,
}

/// Services that [the specification plays](crate::mapping::Variants::unplayed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unplayed {
    /// The reason why no node stands beside them.
    pub why: &'static str,
    /// The number of their transitions, which were compared with nothing.
    pub transitions: u64,
}

impl Summary {
    /// Returns the number of transitions compared in a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.transitions as f64 / self.seconds.max(1e-9)
    }

    /// Counts the world in the model alone, and checks the walk against it: that every state was
    /// met and every transition compared. What the walk has used counts toward the limits; if one
    /// of them ends the count, this is [cut short](Self::cut_short).
    ///
    /// # Errors
    /// If the counts differ. A walk that did not reach its end claims nothing and is not recounted.
    pub fn recount(
        &mut self,
        world: &World,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), Error> {
        if !self.whole {
            return Ok(());
        }
        let walked = Duration::from_secs_f64(self.seconds);
        let time = limits.time.map(|limit| limit.saturating_sub(walked));
        let search_options = SearchOptions {
            limits: Limits { states: None, time, ..*limits },
            edges: false,
            threads: 1,
            violations: &[],
            first: false,
            disk: None,
            on_event: &mut |event| {
                if let Event::Progress(progress) = event {
                    on_progress(progress);
                }
            },
        };
        let exact = Exact::search(&mut Packed::new(&world.concrete(), Vec::new()), search_options)
            .map_err(|error| Error::Threads(error.to_string()))?;
        if let Some(reason) = exact.cut_short() {
            self.cut_short = Some(reason);
            return Ok(());
        }
        let counts = exact.counts();
        // The model counts its initial state as generated.
        let (states, transitions) = (counts.distinct, counts.generated - 1);
        if (self.states, self.covered) == (states, transitions) {
            return Ok(());
        }
        Err(Error::Recount { walked: self.covered, met: self.states, transitions, states })
    }
}

/// Takes every transition of `world` in model and program, and [probes](crate::probe) every node as
/// it is met. Programs do not rename, so the world is the [concrete](World::concrete) one.
///
/// # Errors
/// If the program does not implement the world's rules or refuses its configuration, if there was
/// nothing to compare, or more than the walk can number.
pub fn lockstep<T: Sides>(
    world: &World,
    mapping: &Mapping<T>,
    limits: &Limits,
    on_progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Outcome, Error> {
    let mut outcome = walk(world, mapping, limits, on_progress)?;
    if outcome.summary.whole {
        outcome.large_group = large_group(mapping);
    }
    Ok(outcome)
}

/// The same without a large group.
pub(crate) fn walk<T: Sides>(
    world: &World,
    mapping: &Mapping<T>,
    limits: &Limits,
    on_progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Outcome, Error> {
    let started = Instant::now();
    let world = &world.concrete();
    let group = pair::group(mapping, world)?;
    let nodes = match settle::beginning(&group, world)? {
        Ok(nodes) => nodes,
        Err(unsettled) => {
            let divergence = Divergence::before(world, unsettled);
            let (summary, large_group) = (Summary::default(), LargeGroup::default());
            return Ok(Outcome { summary, divergence: Some(Box::new(divergence)), large_group });
        }
    };
    let played = world.ids().take(group.played);
    let fresh = played.map(|id| group.fresh(id)).collect::<Result<Vec<_>, _>>()?;
    let mut walk = Walk::new(world, group);
    let mut beside = [0; MAX_SEARCHED];
    for (place, node) in beside.iter_mut().zip(nodes) {
        (*place, _) = walk.pool.intern(&walk.group, node, None)?;
    }
    walk.reach(world.initial(), beside, None)?;
    let divergence = match walk.run(limits, on_progress, started) {
        Ok(()) => None,
        Err(Stop::Divergence(divergence)) => Some(divergence),
        Err(Stop::Error(error)) => return Err(error),
    };
    walk.probe_fresh(&fresh);
    let divergence = divergence.or_else(|| walk.probe_found.take());
    let mut summary = walk.summary();
    summary.seconds = started.elapsed().as_secs_f64();
    summary.whole = divergence.is_none() && summary.cut_short.is_none();
    if summary.whole && summary.transitions == 0 {
        return Err(Error::NothingCompared);
    }
    Ok(Outcome { summary, divergence, large_group: LargeGroup::default() })
}

/// The number of a node in its pool.
type NodeRef = u32;

/// How something was first met: the number of a pair, and the position of the action that was taken
/// there; `None` at the beginning.
type Origin = Option<(u32, u32)>;

/// Every node met, in the order in which they were met.
struct Pool<T: Sides>(IndexMap<Key<T>, PooledNode<T>, FxBuildHasher>);

/// A node, and how it was met first.
struct PooledNode<T: Sides> {
    node: Node<T>,
    origin: Origin,
}

impl<T: Sides> Pool<T> {
    fn new() -> Self {
        Pool(IndexMap::default())
    }

    /// The number of the node that behaves like this one, which is kept if there is none yet; and
    /// what the two remember differently, although they read as one.
    fn intern(
        &mut self,
        group: &Group<'_, T>,
        node: Node<T>,
        origin: Origin,
    ) -> Result<(NodeRef, Vec<Difference>), Error> {
        let (at, hidden) = match self.0.entry(node.key(group)) {
            Entry::Occupied(known) => (known.index(), node.hides(group, &known.get().node)),
            Entry::Vacant(place) => {
                let at = place.index();
                place.insert(PooledNode { node, origin });
                (at, Vec::new())
            }
        };
        Ok((number(at, "program nodes")?, hidden))
    }

    fn get(&self, number: NodeRef) -> &Node<T> {
        &self.met(number as usize).node
    }

    fn met(&self, at: usize) -> &PooledNode<T> {
        &self.0[at]
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// A state of the model and the nodes beside it, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Numbers {
    state: u32,
    nodes: [NodeRef; MAX_SEARCHED],
}

/// The reason why a walk goes no further.
enum Stop {
    Divergence(Box<Divergence>),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

struct Walk<'a, T: Sides> {
    world: &'a World,
    group: Group<'a, T>,
    pool: Pool<T>,
    tally: Tally<'a, T>,
    states: IndexSet<State, FxBuildHasher>,
    /// The first pair of each state.
    first: Vec<u32>,
    pairs: IndexSet<Numbers, FxBuildHasher>,
    /// How each was first reached.
    origins: Vec<Origin>,
    /// What the first probe found that was answered wrongly.
    probe_found: Option<Box<Divergence>>,
    kinds: [u64; KINDS.len()],
    /// How many transitions of services were compared with nothing.
    unplayed: u64,
    outputs: Vec<ProgramOutput<T>>,
    summary: Summary,
}

const KINDS: [&str; 12] = [
    "deliver",
    "expire",
    "lose",
    "duplicate",
    "crash",
    "recover",
    "cut",
    "heal",
    "tick",
    "pause",
    "resume",
    "jump",
];

fn kind(action: &Action) -> usize {
    match action {
        Action::Deliver(_) => 0,
        Action::Expire { .. } => 1,
        Action::Lose(_) => 2,
        Action::Duplicate(_) => 3,
        Action::Crash(_) => 4,
        Action::Recover(_) => 5,
        Action::Cut(..) => 6,
        Action::Heal(..) => 7,
        Action::Tick => 8,
        Action::Pause(_) => 9,
        Action::Resume(_) => 10,
        Action::Jump(..) => 11,
    }
}

impl<'a, T: Sides> Walk<'a, T> {
    fn new(world: &'a World, group: Group<'a, T>) -> Self {
        Walk {
            world,
            tally: Tally::new(group.mapping, group.size),
            group,
            pool: Pool::new(),
            states: IndexSet::default(),
            first: Vec::new(),
            pairs: IndexSet::default(),
            origins: Vec::new(),
            probe_found: None,
            kinds: [0; KINDS.len()],
            unplayed: 0,
            outputs: Vec::new(),
            summary: Summary::default(),
        }
    }

    fn run(
        &mut self,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(Progress) + Send),
        started: Instant,
    ) -> Result<(), Stop> {
        let mut actions = Vec::new();
        let (mut at, mut level_end) = (0, 0);
        let mut last = usize::MAX;
        while at < self.pairs.len().min(last) {
            if at == level_end {
                self.summary.depth += 1;
                level_end = self.pairs.len();
            }
            if at % BETWEEN_LOOKS == 0 {
                let progress = Progress {
                    phase: Phase::States,
                    distinct: self.pairs.len() as u64,
                    generated: self.kinds.iter().sum(),
                    levels: Some(self.summary.depth - 1),
                    frontier: Some((self.pairs.len() - at) as u64),
                    elapsed: started.elapsed(),
                };
                self.summary.cut_short = limits.exceeded(&progress);
                if self.summary.cut_short.is_some() {
                    break;
                }
                on_progress(progress);
            }
            self.probe();
            if self.probe_found.is_some() {
                last = last.min(2 * at + AFTER_A_PROBE);
            }
            self.expand(at, &mut actions)?;
            at += 1;
        }
        self.probe();
        Ok(())
    }

    /// Takes every action that is possible in a pair.
    fn expand(&mut self, at: usize, actions: &mut Vec<Action>) -> Result<(), Stop> {
        let Numbers { state, nodes } = self.pairs[at];
        let at = number(at, "pairs")?;
        let counts = self.first[state as usize] == at;
        let state = self.states[state as usize].clone();
        actions.clear();
        self.world.enabled(&state, actions);
        for (position, action) in actions.iter().enumerate() {
            let outcome = self.world.apply(&state, action);
            let origin = Some((at, number(position, "actions in one state")?));
            let after = self.take(nodes, action, &outcome, origin)?;
            self.kinds[kind(action)] += 1;
            if self.world.within_bounds(&outcome.state) {
                self.summary.covered += u64::from(counts);
                self.reach(outcome.state, after, origin)?;
            } else {
                self.summary.outside += 1;
            }
        }
        Ok(())
    }

    /// One transition in the program, compared with the model's.
    fn take(
        &mut self,
        mut nodes: [NodeRef; MAX_SEARCHED],
        action: &Action,
        outcome: &Step,
        origin: Origin,
    ) -> Result<[NodeRef; MAX_SEARCHED], Stop> {
        match happening(action) {
            None => {}
            Some((id, _)) if !self.group.plays(id) => self.unplayed += 1,
            Some((id, happening)) => {
                self.tally.count(&happening, false);
                let (group, before) = (&self.group, self.pool.get(nodes[id.index()]));
                let expected = step::after(outcome, id, &happening);
                let after = step::step(group, before, happening, &expected, &mut self.outputs)
                    .map_err(|differences| self.diverges(origin, differences, None))?;
                let (node, hidden) = self.pool.intern(&self.group, after, origin)?;
                if !hidden.is_empty() {
                    let other = self.pool.met(node as usize).origin;
                    return Err(self.diverges(origin, hidden, Some(other)));
                }
                nodes[id.index()] = node;
            }
        }
        for (id, &node) in self.world.ids().take(self.group.played).zip(&nodes) {
            let node = self.pool.get(node);
            if !step::stands(self.group.mapping, &node.view, id, &outcome.state) {
                let mut found = Vec::new();
                step::bystander(self.group.mapping, node, &outcome.state, &mut found);
                return Err(self.diverges(origin, found, None));
            }
        }
        Ok(nodes)
    }

    fn reach(
        &mut self,
        state: State,
        nodes: [NodeRef; MAX_SEARCHED],
        origin: Origin,
    ) -> Result<(), Error> {
        let (state, new) = self.states.insert_full(state);
        if new {
            // A state that is new is the first part of a pair that is new.
            self.first.push(number(self.pairs.len(), "pairs")?);
        }
        if self.pairs.insert(Numbers { state: number(state, "states")?, nodes }) {
            self.origins.push(origin);
        }
        Ok(())
    }

    /// The actions of a shortest path.
    fn history(&self, mut origin: Origin) -> Vec<Action> {
        let mut path = Vec::new();
        while let Some((pair, position)) = origin {
            let state = &self.states[self.pairs[pair as usize].state as usize];
            let mut actions = Vec::new();
            self.world.enabled(state, &mut actions);
            path.extend(actions.into_iter().nth(position as usize));
            origin = self.origins[pair as usize];
        }
        path.reverse();
        path
    }

    /// Asks every node that was met since the last time, until one answers wrongly.
    fn probe(&mut self) {
        while self.probe_found.is_none() && (self.summary.probed as usize) < self.pool.len() {
            let met = self.pool.met(self.summary.probed as usize);
            let origin = met.origin;
            let asked = probe::all(&self.group, &met.node, &mut self.tally);
            self.summary.probed += 1;
            self.asked(asked, origin);
        }
    }

    /// Asks the nodes that have never run, whether the world has any or not.
    fn probe_fresh(&mut self, fresh: &[Node<T>]) {
        for node in fresh {
            if self.probe_found.is_none() {
                let asked = probe::all(&self.group, node, &mut self.tally);
                self.asked(asked, None);
            }
        }
    }

    fn asked(&mut self, asked: probe::ProbeOutcome, origin: Origin) {
        self.summary.probes += asked.count;
        if let Some(probe::WrongAnswer { words, differences }) = asked.found {
            let path = self.history(origin);
            let all = Divergence::new(self.world, &path, Some(words), differences);
            self.probe_found = Some(Box::new(all));
        }
    }

    /// The differences after the transition of `origin`; `other` is how the node was met from which
    /// this one differs, if it is another node.
    fn diverges(
        &self,
        origin: Origin,
        differences: Vec<Difference>,
        other: Option<Origin>,
    ) -> Stop {
        let path = self.history(origin);
        let mut all = Divergence::new(self.world, &path, None, differences);
        all.other = other.map(|other| Trace::record(self.world, &self.history(other), None));
        Stop::Divergence(Box::new(all))
    }

    fn summary(self) -> Summary {
        let transitions = self.unplayed;
        let why = self.group.mapping.more.variants.unplayed;
        Summary {
            pairs: self.pairs.len() as u64,
            states: self.states.len() as u64,
            nodes: self.pool.len() as u64,
            transitions: self.kinds.iter().sum(),
            kinds: counted(self.kinds),
            unplayed: why.map(|why| Unplayed { why, transitions }),
            coverage: self.tally.coverage(),
            ..self.summary
        }
    }
}

/// The kinds that there are of these numbers.
fn counted(kinds: [u64; KINDS.len()]) -> BTreeMap<&'static str, u64> {
    KINDS.into_iter().zip(kinds).filter(|&(_, count)| count > 0).collect()
}

/// The number of something that was met, in the order in which all were, counted from 0.
fn number(place: usize, of: &'static str) -> Result<u32, Error> {
    u32::try_from(place).map_err(|_| Error::TooMany { of })
}
