//! The exhaustive comparison: every transition of a bounded world, taken in model and program.
//!
//! A breadth-first walk over pairs (a state of the model, the nodes of the program beside it). In
//! every pair, every action that the model allows is taken in both and compared; transitions that
//! leave the boundary of the search (a link's capacity) are compared too, they are only not
//! followed. The first difference is therefore one that needs the fewest steps.
//!
//! The next pairs are shared out among workers, and so are nodes that wait to be probed. Nothing
//! that a worker reads changes meanwhile. The walk then puts together what the workers have found,
//! in the order of the pairs. So every node, state and pair gets the number that one thread would
//! give it, and all that is counted and told is the same with any number of threads.
//!
//! Pairs are told apart by the whole state of the model and by everything in the nodes but absolute
//! times; why that is sound is said in [`crate::node`].

use crate::coverage::{Coverage, Tally};
use crate::divergence::{Difference, Divergence, happening};
use crate::error::Error;
use crate::large_group::LargeGroup;
use crate::mapping::{Mapping, ProgramOutput, Sides};
use crate::node::{Group, Key, Node};
use crate::pair;
use crate::probe::{self, ProbeOutcome};
use crate::settle;
use crate::step;
use bellwether_engine::check::exact::{Exact, SearchOptions, parallel};
use bellwether_engine::check::{Event, Limits, Phase, Progress, Reason};
use bellwether_engine::protocol::MAX_SEARCHED;
use bellwether_engine::trace::Trace;
use bellwether_engine::world::packed::Packed;
use bellwether_engine::world::swarm::Kind;
use bellwether_engine::world::{Action, Outcome as Step, State, World};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How many pairs are expanded between two looks at the clock.
const BETWEEN_LOOKS: usize = 1 << 10;

/// How many workers there are: enough to keep every processor busy, whatever their number.
const WORKERS: usize = 32;

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
    /// The result of a group as large as the program allows, if
    /// [one was started](crate::comparison::Comparison::lockstep).
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
    pub(crate) whole: bool,
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

    /// Counts the world in the model alone, on so many threads, and checks the walk against it:
    /// that every state was met and every transition compared. What the walk has used counts toward
    /// the limits; if one of them ends the count, this is [cut short](Self::cut_short).
    ///
    /// # Errors
    /// If the counts differ, or the system gives no threads. A walk that did not reach its end
    /// claims nothing and is not recounted.
    pub fn recount(
        &mut self,
        world: &World,
        threads: usize,
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
            threads,
            violations: &[],
            first: false,
            disk: None,
            on_event: &mut |event| {
                if let Event::Progress(progress) = event {
                    on_progress(progress);
                }
            },
        };
        let exact = Exact::search(&mut Packed::new(&world.concrete(), Vec::new()), search_options)?;
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
/// it is met, on so many threads. Programs do not rename, so the world is the
/// [concrete](World::concrete) one. What is found is the same with any number of threads.
///
/// # Errors
/// If the program does not implement the world's rules or refuses its configuration, if there was
/// nothing to compare or more than the walk can number, or if the system gives no threads.
pub fn lockstep<T: Sides>(
    world: &World,
    mapping: &Mapping<T>,
    threads: usize,
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
    walk.found.begin(nodes);
    let walked = parallel::pool(threads)?.install(|| walk.run(limits, on_progress, started))?;
    walk.probe_fresh(&fresh);
    let divergence = walked.or_else(|| walk.probe_found.take());
    let mut summary = walk.summary();
    summary.seconds = started.elapsed().as_secs_f64();
    summary.whole = divergence.is_none() && summary.cut_short.is_none();
    if summary.whole && summary.transitions == 0 {
        return Err(Error::NothingCompared);
    }
    Ok(Outcome { summary, divergence, large_group: LargeGroup::default() })
}

/// The number of a node, in the order in which they were met.
type NodeRef = u32;

/// The number of a pair, and the position of the action that is taken there.
type Place = (u32, u32);

/// The place where something was first met; `None` at the beginning.
type Origin = Option<Place>;

/// A node, and how it was met first.
struct PooledNode<T: Sides> {
    node: Node<T>,
    origin: Origin,
}

/// A state of the model and the nodes beside it, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Numbers {
    state: u32,
    nodes: [NodeRef; MAX_SEARCHED],
}

/// The differences after a transition, and how the node was met from which this one differs, if
/// another node does.
struct NodeDivergence {
    differences: Vec<Difference>,
    other: Option<Origin>,
}

impl From<Vec<Difference>> for NodeDivergence {
    fn from(differences: Vec<Difference>) -> Self {
        NodeDivergence { differences, other: None }
    }
}

/// How many transitions were taken.
#[derive(Default)]
struct Counts {
    kinds: BTreeMap<Kind, u64>,
    /// The transitions of services, which were compared with nothing.
    unplayed: u64,
    /// The transitions that leave the bounds.
    outside: u64,
    /// The transitions of distinct states of the model within the bounds.
    covered: u64,
}

impl Counts {
    fn add(&mut self, more: &Counts) {
        for (&kind, count) in &more.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.unplayed += more.unplayed;
        self.outside += more.outside;
        self.covered += more.covered;
    }
}

/// Returns the kind of an action, which is the same for a timer that expires too early.
fn kind(action: &Action) -> Kind {
    match Kind::of(action) {
        Kind::Suspect => Kind::Expire,
        kind => kind,
    }
}

/// All that was met so far. No worker changes it.
struct Found<'a, T: Sides> {
    world: &'a World,
    group: Group<'a, T>,
    nodes: IndexMap<Key<T>, PooledNode<T>, FxBuildHasher>,
    states: IndexSet<State, FxBuildHasher>,
    /// The first pair of each state.
    first: Vec<u32>,
    pairs: IndexSet<Numbers, FxBuildHasher>,
    /// How each pair was first reached.
    origins: Vec<Origin>,
}

impl<T: Sides> Found<'_, T> {
    /// Begins with the first pair, which has these nodes.
    fn begin(&mut self, nodes: Vec<Node<T>>) {
        let mut beside = [0; MAX_SEARCHED];
        for (place, node) in beside.iter_mut().zip(nodes) {
            *place = self.keep(node.key(&self.group), node, None);
        }
        self.reach(self.world.initial(), beside, None);
    }

    fn node(&self, number: NodeRef) -> &Node<T> {
        &self.nodes[number as usize].node
    }

    /// The number of the node that behaves like this one, if there is one; or what the two remember
    /// differently, although they read as one.
    fn known(&self, key: &Key<T>, node: &Node<T>) -> Option<Result<NodeRef, NodeDivergence>> {
        let (at, _, known) = self.nodes.get_full(key)?;
        let differences = node.hides(&self.group, &known.node);
        Some(if differences.is_empty() {
            Ok(number(at))
        } else {
            Err(NodeDivergence { differences, other: Some(known.origin) })
        })
    }

    fn keep(&mut self, key: Key<T>, node: Node<T>, origin: Origin) -> NodeRef {
        let (at, _) = self.nodes.insert_full(key, PooledNode { node, origin });
        number(at)
    }

    fn has_pair(&self, state: &State, nodes: [NodeRef; MAX_SEARCHED]) -> bool {
        let state = self.states.get_index_of(state);
        state.is_some_and(|state| self.pairs.contains(&Numbers { state: number(state), nodes }))
    }

    /// Takes in where a transition has led.
    fn take_in(&mut self, reached: Reached<T>) -> Result<(), NodeDivergence> {
        let Reached { place, state, mut nodes, fresh } = reached;
        if let Some(fresh) = fresh {
            let Fresh { at, key, node } = *fresh;
            nodes[at] = match self.known(&key, &node) {
                Some(known) => known?,
                None => self.keep(key, node, Some(place)),
            };
        }
        if let Some(state) = state {
            self.reach(state, nodes, Some(place));
        }
        Ok(())
    }

    fn reach(&mut self, state: State, nodes: [NodeRef; MAX_SEARCHED], origin: Origin) {
        let (state, new) = self.states.insert_full(state);
        if new {
            // A state that is new is the first part of a pair that is new.
            self.first.push(number(self.pairs.len()));
        }
        if self.pairs.insert(Numbers { state: number(state), nodes }) {
            self.origins.push(origin);
        }
    }

    /// Refuses to go on if the walk could not number all that the next pairs lead to.
    fn has_room(&self) -> Result<(), Error> {
        let met = self.pairs.len().max(self.nodes.len()).max(self.states.len());
        let most = u32::MAX as usize - BETWEEN_LOOKS * (1 << 16);
        if met < most { Ok(()) } else { Err(Error::TooMany { of: "pairs" }) }
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

    fn diverges(&self, place: Place, parting: NodeDivergence) -> Box<Divergence> {
        let path = self.history(Some(place));
        let mut all = Divergence::new(self.world, &path, None, parting.differences);
        all.other =
            parting.other.map(|other| Trace::record(self.world, &self.history(other), None));
        Box::new(all)
    }
}

/// A transition that leads to a pair or a node that was not known when it was taken.
struct Reached<T: Sides> {
    place: Place,
    /// The state after it; `None` beyond the bounds.
    state: Option<State>,
    nodes: [NodeRef; MAX_SEARCHED],
    /// The node that was not known, if there is one: `nodes` has another number in its place.
    fresh: Option<Box<Fresh<T>>>,
}

/// A node that was not known, and where among the nodes of its pair it stands.
struct Fresh<T: Sides> {
    at: usize,
    key: Key<T>,
    node: Node<T>,
}

/// The result of a worker's pairs and nodes.
struct Work<T: Sides> {
    /// The answers of the nodes, up to the first that is wrong.
    asked: Vec<ProbeOutcome>,
    reached: Vec<Reached<T>>,
    /// The first transition that went differently in the program. The worker took none after it.
    diverged: Option<(Place, NodeDivergence)>,
}

/// A worker, which expands pairs and asks nodes, and what it needs for that.
struct Worker<T: Sides> {
    tally: Tally<T::Spec>,
    counts: Counts,
    outputs: Vec<ProgramOutput<T>>,
}

impl<T: Sides> Worker<T> {
    /// Expands these pairs and asks these nodes.
    fn work(&mut self, found: &Found<'_, T>, pairs: Range<usize>, nodes: Range<usize>) -> Work<T> {
        let mut work = Work { asked: Vec::new(), reached: Vec::new(), diverged: None };
        for at in nodes {
            let asked = probe::all(&found.group, &found.nodes[at].node, &mut self.tally);
            let is_wrong = asked.found.is_some();
            work.asked.push(asked);
            if is_wrong {
                break;
            }
        }
        let mut actions = Vec::new();
        for at in pairs {
            if let Err(diverged) = self.expand(found, at, &mut actions, &mut work) {
                work.diverged = Some(diverged);
                break;
            }
        }
        work
    }

    /// Takes every action that is possible in a pair.
    fn expand(
        &mut self,
        found: &Found<'_, T>,
        at: usize,
        actions: &mut Vec<Action>,
        work: &mut Work<T>,
    ) -> Result<(), (Place, NodeDivergence)> {
        let Numbers { state, nodes } = found.pairs[at];
        let is_first = found.first[state as usize] as usize == at;
        let state = &found.states[state as usize];
        actions.clear();
        found.world.enabled(state, actions);
        for (position, action) in actions.iter().enumerate() {
            let outcome = found.world.apply(state, action);
            let place = (number(at), number(position));
            let mut nodes = nodes;
            let fresh = self
                .take(found, &mut nodes, action, &outcome)
                .map_err(|parting| (place, parting))?;
            *self.counts.kinds.entry(kind(action)).or_default() += 1;
            let state = found.world.within_bounds(&outcome.state).then_some(outcome.state);
            match state {
                Some(_) => self.counts.covered += u64::from(is_first),
                None => self.counts.outside += 1,
            }
            let is_reached = state.as_ref().is_some_and(|state| !found.has_pair(state, nodes));
            if fresh.is_some() || is_reached {
                work.reached.push(Reached { place, state, nodes, fresh });
            }
        }
        Ok(())
    }

    /// Takes one transition in the program and compares it with the model's. Afterwards `nodes` has
    /// the numbers of the nodes after it, but for the one that is not known, which is returned.
    fn take(
        &mut self,
        found: &Found<'_, T>,
        nodes: &mut [NodeRef; MAX_SEARCHED],
        action: &Action,
        outcome: &Step,
    ) -> Result<Option<Box<Fresh<T>>>, NodeDivergence> {
        let group = &found.group;
        let mut fresh = None;
        match happening(action) {
            None => {}
            Some((id, _)) if !group.plays(id) => self.counts.unplayed += 1,
            Some((id, happening)) => {
                self.tally.count(&happening, false);
                let (at, expected) = (id.index(), step::after(outcome, id, &happening));
                let before = found.node(nodes[at]);
                let node = step::step(group, before, happening, &expected, &mut self.outputs)?;
                let key = node.key(group);
                match found.known(&key, &node) {
                    Some(known) => nodes[at] = known?,
                    None => fresh = Some(Box::new(Fresh { at, key, node })),
                }
            }
        }
        for (id, &number) in found.world.ids().take(group.played).zip(nodes.iter()) {
            let node = match &fresh {
                Some(fresh) if fresh.at == id.index() => &fresh.node,
                _ => found.node(number),
            };
            let mut differences = Vec::new();
            step::bystander(group.mapping, node, &outcome.state, &mut differences);
            if !differences.is_empty() {
                return Err(differences.into());
            }
        }
        Ok(fresh)
    }
}

struct Walk<'a, T: Sides> {
    found: Found<'a, T>,
    workers: Vec<Worker<T>>,
    /// The first wrong answer to a probe.
    probe_found: Option<Box<Divergence>>,
    summary: Summary,
}

impl<'a, T: Sides> Walk<'a, T> {
    fn new(world: &'a World, group: Group<'a, T>) -> Self {
        let found = Found {
            world,
            group,
            nodes: IndexMap::default(),
            states: IndexSet::default(),
            first: Vec::new(),
            pairs: IndexSet::default(),
            origins: Vec::new(),
        };
        let worker =
            |_| Worker { tally: Tally::new(), counts: Counts::default(), outputs: Vec::new() };
        let workers = (0..WORKERS).map(worker).collect();
        Walk { found, workers, probe_found: None, summary: Summary::default() }
    }

    /// Walks, and returns the first difference of a transition, if there is one.
    fn run(
        &mut self,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(Progress) + Send),
        started: Instant,
    ) -> Result<Option<Box<Divergence>>, Error> {
        let (mut at, mut level_end) = (0_usize, 0);
        let mut last = usize::MAX;
        while at < self.found.pairs.len().min(last) {
            if at == level_end {
                self.summary.depth += 1;
                level_end = self.found.pairs.len();
            }
            let looks = at.is_multiple_of(BETWEEN_LOOKS);
            if looks {
                let progress = Progress {
                    phase: Phase::States,
                    distinct: self.found.pairs.len() as u64,
                    generated: self.workers.iter().flat_map(|one| one.counts.kinds.values()).sum(),
                    levels: Some(self.summary.depth.saturating_sub(1)),
                    frontier: Some((self.found.pairs.len() - at) as u64),
                    elapsed: started.elapsed(),
                };
                self.summary.cut_short = limits.exceeded(&progress);
                if self.summary.cut_short.is_some() {
                    break;
                }
                on_progress(progress);
            }
            let waiting = self.waiting();
            let nodes = if looks || waiting.len() >= WORKERS { waiting } else { 0..0 };
            let next_look = at - at % BETWEEN_LOOKS + BETWEEN_LOOKS;
            let end = next_look.min(level_end).min(last);
            self.found.has_room()?;
            if let Err(found) = self.go_on(&(at..end), &nodes) {
                return Ok(Some(found));
            }
            if self.probe_found.is_some() {
                last = last.min(at.saturating_mul(2).saturating_add(AFTER_A_PROBE));
            }
            at = end;
        }
        let rest = self.waiting();
        Ok(self.go_on(&(at..at), &rest).err())
    }

    /// The nodes that were met and not asked; none any more after one has answered wrongly.
    fn waiting(&self) -> Range<usize> {
        let (met, asked) = (self.found.nodes.len(), self.summary.probed as usize);
        if self.probe_found.is_some() { met..met } else { asked..met }
    }

    /// Has these pairs expanded and these nodes asked, on all threads.
    fn go_on(&mut self, pairs: &Range<usize>, nodes: &Range<usize>) -> Result<(), Box<Divergence>> {
        let found = &self.found;
        let all = parallel::map(self.workers.iter_mut().enumerate(), |(at, worker)| {
            worker.work(found, share(pairs, at), share(nodes, at))
        });
        all.into_iter().try_for_each(|work| self.merge(work))
    }

    /// Takes in what a worker has done, after the workers before it.
    fn merge(&mut self, work: Work<T>) -> Result<(), Box<Divergence>> {
        for asked in work.asked {
            if self.probe_found.is_none() {
                let origin = self.found.nodes[self.summary.probed as usize].origin;
                self.summary.probed += 1;
                self.asked(asked, origin);
            }
        }
        for reached in work.reached {
            let place = reached.place;
            let taken = self.found.take_in(reached);
            taken.map_err(|parting| self.found.diverges(place, parting))?;
        }
        match work.diverged {
            Some((place, parting)) => Err(self.found.diverges(place, parting)),
            None => Ok(()),
        }
    }

    /// Asks the nodes that have never run, whether the world has any or not.
    fn probe_fresh(&mut self, fresh: &[Node<T>]) {
        for node in fresh {
            if self.probe_found.is_none() {
                let tally = &mut self.workers[0].tally;
                let asked = probe::all(&self.found.group, node, tally);
                self.asked(asked, None);
            }
        }
    }

    fn asked(&mut self, asked: ProbeOutcome, origin: Origin) {
        self.summary.probes += asked.count;
        if let Some(probe::WrongAnswer { words, differences }) = asked.found {
            let path = self.found.history(origin);
            let all = Divergence::new(self.found.world, &path, Some(words), differences);
            self.probe_found = Some(Box::new(all));
        }
    }

    fn summary(self) -> Summary {
        let (mut tally, mut counts) = (Tally::new(), Counts::default());
        for worker in &self.workers {
            tally.add(&worker.tally);
            counts.add(&worker.counts);
        }
        let Counts { kinds, unplayed, outside, covered } = counts;
        let (mapping, size) = (self.found.group.mapping, self.found.group.size);
        let why = mapping.more.variants.unplayed;
        Summary {
            pairs: self.found.pairs.len() as u64,
            states: self.found.states.len() as u64,
            nodes: self.found.nodes.len() as u64,
            transitions: kinds.values().sum(),
            outside,
            kinds: kinds.into_iter().map(|(kind, count)| (kind.name(), count)).collect(),
            unplayed: why.map(|why| Unplayed { why, transitions: unplayed }),
            coverage: tally.coverage(mapping, size),
            covered,
            ..self.summary
        }
    }
}

/// The part of a range that the worker with this number gets.
fn share(of: &Range<usize>, worker: usize) -> Range<usize> {
    let from = |worker: usize| of.start + of.len() * worker / WORKERS;
    from(worker)..from(worker + 1)
}

/// The number of something of which there are [not too many](Found::has_room).
fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap_or_else(|_| unreachable!("a walk ends before it has so many"))
}
