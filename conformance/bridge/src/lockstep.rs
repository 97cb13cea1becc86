//! The exhaustive comparison: every transition of a bounded world, taken in model and program.
//!
//! The walk is the exact [search](Exact), and what it searches are pairs: a state of the model, and
//! the nodes of the program beside it. In every pair, every action that the model allows is taken
//! in both and compared; transitions that leave the boundary of the search (a link's capacity) are
//! compared too, they are only not followed. The search ends with the level of the first
//! difference, and finds the first shortest execution that leads to one.
//!
//! Nodes that behave alike are one node, which has a number. The step of a node depends on nothing
//! but the node, its process and what happens, as the step of a process does in a
//! [packed world](bellwether_engine::world::packed). The space therefore takes and compares each
//! step when it learns it, and looks it up from then on. A space learns in one thread and in one
//! order. Every node therefore has the same number, and all that is counted and told is the same,
//! with any number of threads.
//!
//! Pairs are told apart by the whole state of the model and by everything in the nodes but absolute
//! times; why that is sound is said in [`crate::node`].

use crate::coverage::{Coverage, Tally};
use crate::divergence::{Difference, Divergence, happening};
use crate::error::Error;
use crate::large_group::LargeGroup;
use crate::mapping::{Mapping, Sides, SpecEvent};
use crate::node::{Group, Key, Node};
use crate::pair;
use crate::probe::{self, ProbeOutcome, WrongAnswer};
use crate::settle;
use crate::step;
use bellwether_engine::check::exact::{Exact, Goal, SearchOptions, parallel};
use bellwether_engine::check::rows::{OUTSIDE, Rows};
use bellwether_engine::check::{Event, Limits, Phase, Progress, Reason};
use bellwether_engine::protocol::{Id, MAX_SEARCHED, Timers};
use bellwether_engine::space::{ActionId, Answers, OUTSIDE_WORD, Scratch, Space, Unlearned};
use bellwether_engine::trace::Trace;
use bellwether_engine::world::packed::Packed;
use bellwether_engine::world::swarm::Kind;
use bellwether_engine::world::{self, Action, State, World};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use serde::Serialize;
use std::array;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

/// After so many pairs, a walk ends: the search numbers no more than twice as many.
const MOST: u64 = 1 << 31;

/// How many nodes are asked together.
const TOGETHER: usize = 64;

/// About how many bytes it takes for each pair to count the states of the model.
const BYTES: u64 = 64;

/// The pairs in which some step has the [result](Pairs::sought) that is looked for.
const SOUGHT: Goal = Goal { question: 1, answer: true };

/// The pairs of a round in which some node has answered a probe wrongly.
const WRONG: Goal = Goal { question: 2, answer: true };

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
        let limits = Limits { states: None, time, ..*limits };
        let mut model = Packed::new(&world.concrete(), Vec::new());
        let exact = search(&mut model, limits, threads, false, on_progress)?;
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

/// Takes every transition of `world` in model and program, and [probes](crate::probe) every node
/// that is met, on so many threads. Programs do not rename, so the world is the
/// [concrete](World::concrete) one. What is found is the same with any number of threads.
///
/// # Errors
/// If the program does not implement the world's rules or refuses its configuration, if there was
/// nothing to compare, or if the system gives no threads.
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
    let most = limits.states.map_or(MOST, |states| states.min(MOST));
    let bounded = Limits { states: Some(most), ..*limits };
    let limits = Limits { states: None, ..*limits };
    let mut pairs = Pairs::new(world, group, nodes, limits, started);
    let exact = search(&mut pairs, bounded, threads, true, on_progress)?;
    let unasked = parallel::pool(threads)?.install(|| pairs.probe());
    // Nodes that have never run are asked too, whether the world has any or not.
    for node in fresh {
        if pairs.wrong.is_none() {
            pairs.note(0, pairs.ask(&node));
        }
    }
    let of_pair = BYTES + 8 * pairs.model.words() as u64;
    let bytes = exact.graph_bytes() + exact.counts().distinct * of_pair;
    let no_room = (!limits.leaves_room_for(bytes)).then_some(Reason::Memory);
    let cut_short = exact.cut_short().filter(|&why| why != Reason::FirstViolation);
    let ended = exact.cut_short().is_none();
    let parted = pairs.execution(&exact);
    let mut summary = pairs.summary(exact, no_room.is_none());
    let divergence = pairs.divergence(world, parted, threads)?;
    summary.cut_short = cut_short.or(no_room).or(unasked);
    summary.seconds = started.elapsed().as_secs_f64();
    summary.whole = ended && divergence.is_none() && summary.cut_short.is_none();
    if summary.whole && summary.transitions == 0 {
        return Err(Error::NothingCompared);
    }
    Ok(Outcome { summary, divergence, large_group: LargeGroup::default() })
}

/// Searches a space, and keeps its transitions if they are asked for. The search of pairs ends with
/// the level in which something is [sought](SOUGHT) and found, or a node answers wrongly.
pub(crate) fn search(
    space: &mut dyn Space,
    limits: Limits,
    threads: usize,
    edges: bool,
    on_progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Exact, Error> {
    let options = SearchOptions {
        limits,
        edges,
        threads,
        violations: &[("lockstep", SOUGHT), ("probe", WRONG)],
        first: true,
        disk: None,
        on_event: &mut |event| {
            if let Event::Progress(progress) = event {
                on_progress(progress);
            }
        },
    };
    Ok(Exact::search(space, options)?)
}

/// The limit that a comparison has reached which began then, if it has reached one.
pub(crate) fn exceeded(limits: &Limits, started: Instant) -> Option<Reason> {
    let (phase, elapsed) = (Phase::Executions, started.elapsed());
    limits.exceeded(&Progress {
        phase,
        distinct: 0,
        generated: 0,
        levels: None,
        frontier: None,
        elapsed,
    })
}

/// The number of a node, in the order in which they were met. The first ones stand beside the
/// initial state.
type NodeRef = u32;

/// The nodes of a pair.
type Nodes = [NodeRef; MAX_SEARCHED];

/// A step: the node, the timers of its process, of which a node does not have all, and what
/// happens.
type Step<T> = (NodeRef, Timers, SpecEvent<<T as Sides>::Spec>);

/// The differences after a step, and the node that reads as one with the node after it and
/// remembers something else, if that is what differs.
struct NodeDivergence {
    differences: Vec<Difference>,
    other: Option<NodeRef>,
}

/// Returns the kind of an action, which is the same for a timer that expires too early.
fn kind(action: &Action) -> Kind {
    match Kind::of(action) {
        Kind::Suspect => Kind::Expire,
        kind => kind,
    }
}

/// The nodes beside the initial state.
fn first() -> Nodes {
    array::from_fn(number)
}

fn number(of: usize) -> NodeRef {
    NodeRef::try_from(of).unwrap_or_else(|_| unreachable!("no memory has room for so many nodes"))
}

/// The pairs of a world. The words of a pair are the numbers of its nodes, two in each, and behind
/// them those of the state of the model.
struct Pairs<'a, T: Sides> {
    group: Group<'a, T>,
    model: Packed,
    nodes: IndexMap<Key<T>, Node<T>, FxBuildHasher>,
    /// The node after each step that was taken, or in what it is not what its process is.
    steps: FxHashMap<Step<T>, Result<NodeRef, NodeDivergence>>,
    /// The result of a step that is looked for: a node, or at first a difference.
    sought: Option<NodeRef>,
    limits: Limits,
    started: Instant,
    tally: Tally<T::Spec>,
    probes: u64,
    /// How many nodes were asked, in the order of their numbers.
    probed: usize,
    /// The first wrong answer, and the node that gave it, or one that begins as that did.
    wrong: Option<(NodeRef, WrongAnswer)>,
}

impl<T: Sides> Space for Pairs<'_, T> {
    fn words(&self) -> usize {
        self.beside() + self.model.words()
    }

    fn bits(&self) -> Vec<u32> {
        [vec![u64::BITS; self.beside()], self.model.bits()].concat()
    }

    fn scratch(&self) -> Scratch {
        self.model.scratch()
    }

    fn initial(&self, width: usize) -> Vec<u64> {
        let mut words = Vec::new();
        self.pack(&first(), &mut words);
        words.extend(self.model.initial(width - words.len()));
        words
    }

    /// In the order of [`World::enabled`]. Nothing follows from a difference.
    fn expand(
        &self,
        from: &[u64],
        scratch: &mut Scratch,
        next: &mut Vec<u64>,
    ) -> Result<Answers, Unlearned> {
        let (nodes, words) = self.unpack(from);
        let state = self.model.decode(words);
        let mut follow = Vec::new();
        let mut answers = self.model.expand(words, scratch, &mut follow)?;
        answers |= Answers::from(self.wrong.is_some() && self.sought.is_none()) << WRONG.question;
        let actions = self.model.world().actions(&state);
        for (action, after) in actions.iter().zip(follow.chunks(words.len())) {
            let (mut nodes, mut ends) = (nodes, after[0] == OUTSIDE_WORD);
            if let Some((id, step)) = self.step_of(&nodes, &state, action) {
                let node = self.after(&step).ok_or(Unlearned)?;
                answers |= Answers::from(node == self.sought) << SOUGHT.question;
                match node {
                    Some(node) => nodes[id.index()] = node,
                    None => ends = true,
                }
            }
            if ends {
                next.resize(next.len() + from.len(), OUTSIDE_WORD);
            } else {
                self.pack(&nodes, next);
                next.extend_from_slice(after);
            }
        }
        Ok(answers)
    }

    fn learn(&mut self, from: &[u64]) {
        let (nodes, words) = self.unpack(from);
        let state = self.model.decode(words);
        if self.model.expand(words, &mut self.model.scratch(), &mut Vec::new()).is_err() {
            self.model.learn(words);
        }
        for action in self.model.world().actions(&state) {
            let step = self.step_of(&nodes, &state, &action);
            let new = step.filter(|(_, step)| !self.steps.contains_key(step));
            let Some((id, step)) = new else { continue };
            let outcome = self.model.world().apply(&state, &action);
            let taken = self.take(id, step, &outcome);
            self.steps.insert(step, taken);
        }
        if self.nodes.len() >= self.probed + TOGETHER {
            self.probe();
        }
    }

    fn needs_relayout(&self) -> bool {
        self.model.needs_relayout()
    }

    fn least_bits(&self) -> u32 {
        self.bits_beside() + self.model.least_bits()
    }

    fn lay_out(&mut self, most_bits: u32) {
        self.model.lay_out(most_bits.saturating_sub(self.bits_beside()));
    }

    fn recode(&self, old: &[u64], width: usize, to: &mut Vec<u64>) {
        let (nodes, model) = old.split_at(self.beside());
        to.extend_from_slice(nodes);
        self.model.recode(model, width - nodes.len(), to);
    }

    fn digest(&self, states: &[u64], width: usize, to: &mut Vec<u64>) {
        for (nodes, model) in states.chunks(width).map(|words| words.split_at(self.beside())) {
            let mut digest = Vec::new();
            self.model.digest(model, model.len(), &mut digest);
            to.push(FxBuildHasher.hash_one((nodes, digest)));
        }
    }

    fn actions(&self, state: &[u64]) -> Vec<ActionId> {
        self.model.actions(self.unpack(state).1)
    }
}

impl<'a, T: Sides> Pairs<'a, T> {
    /// The first pair alone, which has these nodes.
    fn new(
        world: &World,
        group: Group<'a, T>,
        nodes: Vec<Node<T>>,
        limits: Limits,
        started: Instant,
    ) -> Self {
        Pairs {
            nodes: nodes.into_iter().map(|node| (node.key(&group), node)).collect(),
            group,
            model: Packed::new(world, Vec::new()),
            steps: FxHashMap::default(),
            sought: None,
            limits,
            started,
            tally: Tally::new(),
            probes: 0,
            probed: 0,
            wrong: None,
        }
    }

    /// How many words have the numbers of nodes.
    fn beside(&self) -> usize {
        self.group.played.div_ceil(2)
    }

    fn bits_beside(&self) -> u32 {
        u64::BITS * self.beside() as u32
    }

    /// Appends the words of the nodes of a pair.
    fn pack(&self, nodes: &Nodes, to: &mut Vec<u64>) {
        let word = |two: &[NodeRef]| {
            two.iter().rev().fold(0_u64, |word, &node| (word << 32) | u64::from(node))
        };
        to.extend(nodes.chunks(2).take(self.beside()).map(word));
    }

    /// The nodes of a pair, and the words of its state.
    fn unpack<'w>(&self, words: &'w [u64]) -> (Nodes, &'w [u64]) {
        let (beside, model) = words.split_at(self.beside());
        let node =
            |at: usize| beside.get(at / 2).map_or(0, |two| (two >> (32 * (at % 2))) as NodeRef);
        (array::from_fn(node), model)
    }

    /// The node to which an action of a pair happens, if it happens to one, and the step of it.
    fn step_of(&self, nodes: &Nodes, state: &State, action: &Action) -> Option<(Id, Step<T>)> {
        let (id, happening) = happening(action)?;
        let step = (nodes[id.index()], state.timers(id), happening);
        self.group.plays(id).then_some((id, step))
    }

    /// The node after a step that was taken; none if it is not what its process is.
    fn after(&self, step: &Step<T>) -> Option<Option<NodeRef>> {
        self.steps.get(step).map(|taken| taken.as_ref().ok().copied())
    }

    /// Takes a step in the program and compares it with the model's. Returns the node after it.
    fn take(
        &mut self,
        id: Id,
        (before, _, happening): Step<T>,
        outcome: &world::Outcome,
    ) -> Result<NodeRef, NodeDivergence> {
        let (group, before) = (&self.group, &self.nodes[before as usize]);
        let expected = step::after(outcome, id, &happening);
        let node = step::step(group, before, happening, &expected, &mut Vec::new())
            .map_err(|differences| NodeDivergence { differences, other: None })?;
        let key = node.key(group);
        let (known, mut differences) = match self.nodes.get_full(&key) {
            Some((at, _, known)) => (Some(number(at)), node.hides(group, known)),
            None => (None, Vec::new()),
        };
        let other = known.filter(|_| !differences.is_empty());
        if other.is_none() {
            step::bystander(group.mapping, &node, &outcome.state, &mut differences);
        }
        if !differences.is_empty() {
            return Err(NodeDivergence { differences, other });
        }
        Ok(known.unwrap_or_else(|| number(self.nodes.insert_full(key, node).0)))
    }

    /// Asks the nodes that were met and not asked, until one answers wrongly. Returns the limit
    /// that is reached before, if one is.
    fn probe(&mut self) -> Option<Reason> {
        while self.wrong.is_none() && self.probed < self.nodes.len() {
            let exceeded = exceeded(&self.limits, self.started);
            if exceeded.is_some() {
                return exceeded;
            }
            let end = self.nodes.len().min(self.probed + TOGETHER);
            for asked in parallel::map(self.probed..end, |at| self.ask(&self.nodes[at])) {
                self.note(number(self.probed), asked);
                self.probed += 1;
                if self.wrong.is_some() {
                    break;
                }
            }
        }
        None
    }

    fn ask(&self, node: &Node<T>) -> (ProbeOutcome, Tally<T::Spec>) {
        let mut tally = Tally::new();
        (probe::all(&self.group, node, &mut tally), tally)
    }

    fn note(&mut self, node: NodeRef, (asked, tally): (ProbeOutcome, Tally<T::Spec>)) {
        self.tally.add(&tally);
        self.probes += asked.count;
        self.wrong = asked.found.map(|wrong| (node, wrong));
    }

    /// The first shortest execution to a step with the result that is looked for, and that step.
    fn execution(&mut self, exact: &Exact) -> Option<(Vec<Action>, Step<T>)> {
        let path = exact.paths(self, &[SOUGHT]).pop()??;
        let mut path = self.model.named(&path);
        let world = self.model.world();
        let (mut state, mut nodes) = (world.initial(), first());
        for action in &path {
            if let Some((id, step)) = self.step_of(&nodes, &state, action) {
                nodes[id.index()] = self.after(&step)??;
            }
            state = world.apply(&state, action).state;
        }
        let (action, step) = world.actions(&state).into_iter().find_map(|action| {
            let (_, step) = self.step_of(&nodes, &state, &action)?;
            (self.after(&step) == Some(self.sought)).then_some((action, step))
        })?;
        path.push(action);
        Some((path, step))
    }

    /// The first shortest execution after which a node is this one.
    fn way_to(&mut self, node: NodeRef, threads: usize) -> Result<Vec<Action>, Error> {
        if (node as usize) < self.group.played {
            return Ok(Vec::new());
        }
        self.sought = Some(node);
        let exact = search(self, Limits::NONE, threads, true, &mut |_| {})?;
        Ok(self.execution(&exact).map_or_else(Vec::new, |(path, _)| path))
    }

    /// The first difference: of the step with which an execution ends, or of a wrong answer.
    fn divergence(
        &mut self,
        world: &World,
        parted: Option<(Vec<Action>, Step<T>)>,
        threads: usize,
    ) -> Result<Option<Box<Divergence>>, Error> {
        if let Some((path, step)) = parted
            && let Some(Err(NodeDivergence { differences, other })) = self.steps.get(&step)
        {
            let (found, other) = (differences.clone(), *other);
            let mut all = Divergence::new(world, &path, None, found);
            if let Some(other) = other {
                all.other = Some(Trace::record(world, &self.way_to(other, threads)?, None));
            }
            return Ok(Some(Box::new(all)));
        }
        let Some((node, WrongAnswer { words, differences })) = self.wrong.take() else {
            return Ok(None);
        };
        let path = self.way_to(node, threads)?;
        Ok(Some(Box::new(Divergence::new(world, &path, Some(words), differences))))
    }

    /// The summary of the walk. If there is no room to count pair by pair, it has no states and
    /// no kinds, its transitions are those within the bounds, and its coverage is that of probes.
    fn summary(&self, exact: Exact, has_room: bool) -> Summary {
        let (mapping, size) = (self.group.mapping, self.group.size);
        let counts = exact.counts();
        let found = exact.cut_short() == Some(Reason::FirstViolation);
        let unfinished = exact.unfinished().filter(|_| found);
        let mut summary = Summary {
            pairs: counts.distinct,
            nodes: self.nodes.len() as u64,
            probes: self.probes,
            probed: self.probed as u64,
            depth: unfinished.map_or(counts.depth, |at| at.levels),
            ..Summary::default()
        };
        let graph = if has_room { exact.graph(self) } else { None };
        let Some(graph) = graph else {
            // The search counts the first pair as generated.
            let transitions = counts.generated - 1;
            return Summary {
                transitions,
                coverage: self.tally.coverage(mapping, size),
                ..summary
            };
        };
        let (mut tally, mut unplayed, mut states) = (Tally::new(), 0, FxHashSet::default());
        tally.add(&self.tally);
        for pair in 0..graph.len() {
            let words = graph.words(pair);
            let (nodes, model) = self.unpack(&words);
            let is_first = states.insert(model.to_vec());
            let state = self.model.decode(model);
            let actions = self.model.world().actions(&state);
            // A pair that was not expanded has no transitions.
            for (action, &to) in actions.iter().zip(graph.successors(pair)) {
                *summary.kinds.entry(kind(action).name()).or_default() += 1;
                let differs = to == OUTSIDE
                    && (self.step_of(&nodes, &state, action))
                        .is_some_and(|(_, step)| self.after(&step) == Some(None));
                summary.outside += u64::from(to == OUTSIDE && !differs);
                summary.covered += u64::from(is_first && to != OUTSIDE);
                match happening(action) {
                    Some((id, _)) if !self.group.plays(id) => unplayed += 1,
                    Some((_, happening)) => tally.count(&happening, false),
                    None => {}
                }
            }
        }
        let why = mapping.more.variants.unplayed;
        Summary {
            states: states.len() as u64,
            transitions: summary.kinds.values().sum(),
            unplayed: why.map(|why| Unplayed { why, transitions: unplayed }),
            coverage: tally.coverage(mapping, size),
            ..summary
        }
    }
}
