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
use crate::mapping::{Mapping, ProgramOutput};
use crate::node::{Group, Node};
use crate::pair;
use crate::pool::{NodeRef, Pool};
use crate::probe;
use bellwether_engine::check::exact::{Exact, How};
use bellwether_engine::check::{Limits, Progress, Reason};
use bellwether_engine::protocol::{MAX_NODES, Protocol as Specification};
use bellwether_engine::world::packed::Packed;
use bellwether_engine::world::{Action, Outcome as Step, State, World};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// How many pairs are expanded between two looks at the clock.
const BETWEEN_LOOKS: u32 = 1 << 10;

/// What came out of a walk.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was compared.
    pub summary: Summary,
    /// The first difference, if there is one.
    pub divergence: Option<Box<Divergence>>,
}

/// What a walk compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Distinct pairs of a model state and the program's nodes.
    pub pairs: u64,
    /// Distinct states of the model among them.
    pub states: u64,
    /// Distinct program nodes among them.
    pub nodes: u64,
    /// Transitions taken in both and compared.
    pub transitions: u64,
    /// Those of them that leave the boundary of the search; compared, and not followed.
    pub outside: u64,
    /// The transitions by kind of action.
    pub kinds: BTreeMap<&'static str, u64>,
    /// What nodes were asked besides, that no execution of the world does to them.
    pub probes: u64,
    /// What was met of the specification.
    pub coverage: Coverage,
    /// The number of breadth-first levels.
    pub depth: usize,
    /// How long it took.
    pub seconds: f64,
    /// Why it ended before everything was compared, if it did.
    pub cut_short: Option<Reason>,
    /// The transitions of distinct states of the model within the bounds.
    #[serde(skip)]
    covered: u64,
    /// Whether the walk reached its end: it was neither cut short nor stopped by a difference.
    #[serde(skip)]
    whole: bool,
}

impl Summary {
    /// Transitions compared in a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.transitions as f64 / self.seconds.max(1e-9)
    }

    /// Counts the world in the model alone, and holds the walk against it: that every state was
    /// met and every transition compared.
    ///
    /// # Errors
    /// If the counts differ. A walk that did not reach its end claims nothing and is not recounted.
    pub fn recount<P: Specification>(
        &self,
        world: &World<P>,
        look: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), Error> {
        if !self.whole {
            return Ok(());
        }
        let how = How { limits: Limits::NONE, edges: false, threads: 1, look };
        let exact = Exact::search(&mut Packed::new(&world.concrete(), Vec::new()), how)
            .map_err(|error| Error::Threads(error.to_string()))?;
        let counts = exact.counts();
        // The model counts its initial state as generated.
        let (states, transitions) = (counts.distinct, counts.generated - 1);
        if (self.states, self.covered) == (states, transitions) {
            return Ok(());
        }
        Err(Error::Recount { walked: self.covered, met: self.states, transitions, states })
    }
}

/// Takes every transition of `world` in model and program, and then
/// [probes](crate::probe) every node that was met. Programs do not rename, so the world is the
/// [concrete](World::concrete) one.
///
/// # Errors
/// If the program does not implement the world's rules or refuses its configuration, or if there
/// was nothing to compare.
pub fn lockstep<M: Mapping>(
    world: &World<M::Spec>,
    mapping: &M,
    limits: &Limits,
    look: &mut (dyn FnMut(Progress) + Send),
) -> Result<Outcome, Error> {
    let started = Instant::now();
    let world = &world.concrete();
    let group = pair::group(mapping, world)?;
    let nodes = match pair::beginning(&group, world)? {
        Ok(nodes) => nodes,
        Err(found) => {
            let divergence = Divergence::new(mapping, world, &[], None, found);
            let summary = Summary::default();
            return Ok(Outcome { summary, divergence: Some(Box::new(divergence)) });
        }
    };
    let fresh = world.ids().map(|id| group.fresh(id)).collect::<Result<Vec<_>, _>>()?;
    let mut walk = Walk::new(world, group);
    let mut beside = [0; MAX_NODES];
    for (place, node) in beside.iter_mut().zip(nodes) {
        *place = walk.pool.intern(&walk.group, node, 0);
    }
    walk.reach(world.initial(), beside, (0, 0));
    let mut divergence = walk.run(limits, look, started).err();
    if divergence.is_none() && walk.summary.cut_short.is_none() {
        divergence = walk.probe(&fresh).err();
    }
    let mut summary = walk.summary();
    summary.seconds = started.elapsed().as_secs_f64();
    summary.whole = divergence.is_none() && summary.cut_short.is_none();
    if summary.whole && summary.transitions == 0 {
        return Err(Error::NothingCompared);
    }
    Ok(Outcome { summary, divergence })
}

/// A state of the model and the nodes beside it, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Numbers {
    state: u32,
    nodes: [NodeRef; MAX_NODES],
}

struct Walk<'a, M: Mapping> {
    world: &'a World<M::Spec>,
    group: Group<'a, M>,
    pool: Pool<M>,
    tally: Tally<'a, M>,
    states: IndexSet<State<M::Spec>, FxBuildHasher>,
    /// The first pair of each state.
    first: Vec<u32>,
    pairs: IndexSet<Numbers, FxBuildHasher>,
    /// The pair from which each was first reached, and the position of the action there.
    parents: Vec<(u32, u16)>,
    kinds: [u64; KINDS.len()],
    outputs: Vec<ProgramOutput<M>>,
    summary: Summary,
}

const KINDS: [&str; 11] = [
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
];

fn kind<P: Specification>(action: &Action<P>) -> usize {
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
    }
}

impl<'a, M: Mapping> Walk<'a, M> {
    fn new(world: &'a World<M::Spec>, group: Group<'a, M>) -> Self {
        Walk {
            world,
            tally: Tally::new(group.mapping, group.size),
            group,
            pool: Pool::new(),
            states: IndexSet::default(),
            first: Vec::new(),
            pairs: IndexSet::default(),
            parents: Vec::new(),
            kinds: [0; KINDS.len()],
            outputs: Vec::new(),
            summary: Summary::default(),
        }
    }

    fn run(
        &mut self,
        limits: &Limits,
        look: &mut (dyn FnMut(Progress) + Send),
        started: Instant,
    ) -> Result<(), Box<Divergence>> {
        let mut actions = Vec::new();
        let (mut at, mut level_end) = (0, 0);
        while at < number(self.pairs.len()) {
            if at == level_end {
                self.summary.depth += 1;
                level_end = number(self.pairs.len());
            }
            if at % BETWEEN_LOOKS == 0 {
                let progress = Progress {
                    distinct: self.pairs.len() as u64,
                    generated: self.kinds.iter().sum(),
                    frontier: Some((self.pairs.len() - at as usize) as u64),
                    elapsed: started.elapsed(),
                };
                self.summary.cut_short = limits.exceeded(&progress);
                if self.summary.cut_short.is_some() {
                    break;
                }
                look(progress);
            }
            self.expand(at, &mut actions)?;
            at += 1;
        }
        Ok(())
    }

    /// Takes every action that is possible in a pair.
    fn expand(
        &mut self,
        at: u32,
        actions: &mut Vec<Action<M::Spec>>,
    ) -> Result<(), Box<Divergence>> {
        let Numbers { state, nodes } = self.pairs[at as usize];
        let counts = self.first[state as usize] == at;
        let state = self.states[state as usize].clone();
        actions.clear();
        self.world.enabled(&state, actions);
        for (position, action) in actions.iter().enumerate() {
            let outcome = self.world.apply(&state, action);
            let after = self.take(nodes, action, &outcome).map_err(|found| {
                let mut path = self.path(at);
                path.push(*action);
                self.diverges(&path, found)
            })?;
            self.kinds[kind(action)] += 1;
            if self.world.within_bounds(&outcome.state) {
                self.summary.covered += u64::from(counts);
                let position = u16::try_from(position).unwrap_or(u16::MAX);
                self.reach(outcome.state, after, (at, position));
            } else {
                self.summary.outside += 1;
            }
        }
        Ok(())
    }

    /// One transition in the program, compared with the model's.
    fn take(
        &mut self,
        mut nodes: [NodeRef; MAX_NODES],
        action: &Action<M::Spec>,
        outcome: &Step<M::Spec>,
    ) -> Result<[NodeRef; MAX_NODES], Vec<Difference>> {
        if let Some((id, happening)) = happening(action) {
            self.tally.count(&happening, false);
            let before = self.pool.get(nodes[id.index()]);
            let expected = pair::after(outcome, id);
            let after = pair::step(&self.group, before, happening, &expected, &mut self.outputs)?;
            let next = number(self.pairs.len());
            nodes[id.index()] = self.pool.intern(&self.group, after, next);
        }
        for (id, &node) in self.world.ids().zip(&nodes) {
            let node = self.pool.get(node);
            if !pair::stands(&node.face, id, &outcome.state) {
                let mut found = Vec::new();
                pair::bystander(node, &outcome.state, &mut found);
                return Err(found);
            }
        }
        Ok(nodes)
    }

    fn reach(&mut self, state: State<M::Spec>, nodes: [NodeRef; MAX_NODES], parent: (u32, u16)) {
        let (state, new) = self.states.insert_full(state);
        if new {
            // A state that is new is the first part of a pair that is new.
            self.first.push(number(self.pairs.len()));
        }
        if self.pairs.insert(Numbers { state: number(state), nodes }) {
            self.parents.push(parent);
        }
    }

    /// The actions of a shortest path to a pair.
    fn path(&self, pair: u32) -> Vec<Action<M::Spec>> {
        let mut path = Vec::new();
        let mut at = pair;
        // A parent has a smaller number than its child; the beginning is its own.
        while let Some(&(parent, position)) = self.parents.get(at as usize) {
            if parent >= at {
                break;
            }
            let state = &self.states[self.pairs[parent as usize].state as usize];
            let mut actions = Vec::new();
            self.world.enabled(state, &mut actions);
            path.extend(actions.into_iter().nth(usize::from(position)));
            at = parent;
        }
        path.reverse();
        path
    }

    /// Asks every node that was met, in the order in which they were met, and those that have
    /// never run.
    fn probe(&mut self, fresh: &[Node<M>]) -> Result<(), Box<Divergence>> {
        let met = self.pool.iter().map(|met| (&met.node, Some(met.pair)));
        for (node, pair) in met.chain(fresh.iter().map(|node| (node, None))) {
            let rules = self.world.protocol();
            let asked = probe::all(&self.group, rules, node, &mut self.tally);
            self.summary.probes += asked.count;
            if let Some(probe::Found { words, happening, differences }) = asked.found {
                let path = pair.map_or_else(Vec::new, |pair| self.path(pair));
                let probed = Some((words, happening));
                let (mapping, world) = (self.group.mapping, self.world);
                let all = Divergence::new(mapping, world, &path, probed, differences);
                return Err(Box::new(all));
            }
        }
        Ok(())
    }

    fn diverges(&self, path: &[Action<M::Spec>], found: Vec<Difference>) -> Box<Divergence> {
        Box::new(Divergence::new(self.group.mapping, self.world, path, None, found))
    }

    fn summary(self) -> Summary {
        let kinds = KINDS.into_iter().zip(self.kinds).filter(|&(_, count)| count > 0);
        Summary {
            pairs: self.pairs.len() as u64,
            states: self.states.len() as u64,
            nodes: self.pool.len() as u64,
            transitions: self.kinds.iter().sum(),
            kinds: kinds.collect(),
            coverage: self.tally.coverage(),
            ..self.summary
        }
    }
}

fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}
