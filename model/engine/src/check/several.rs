//! Several different counterexamples to one property: which kinds of faults violate it, and which
//! kinds of steps.
//!
//! How often each fault has struck is part of a state. So which kinds of faults an execution has
//! needed can be read off its last state, and all is decided on one graph, that of the world as it
//! is: with smaller budgets, other steps would be possible.
//!
//! For safety, executions are followed up to their first violation. What matters of them is the
//! kinds of faults and the kind of the last step. For liveness, each set of kinds of faults is
//! asked for executions that have no others, the smaller sets first. The faults of an execution
//! never become fewer, so it stays among those from some moment on.

use super::exact::Graph;
use super::liveness::{self, Lasso};
use super::rows::{OUTSIDE, Rows};
use super::search::{MOST_QUESTIONS, PropertyQuery, search};
use super::{
    CheckError, Counterexample, Counterexamples, Decision, DistinctCounterexample, Event, Limits,
    Options, Phase, Progress, Reason, Verdict, Watch,
};
use crate::property::{Liveness, Temporal};
use crate::space::Answers;
use crate::words::jumps;
use crate::world::packed::Packed;
use crate::world::{Action, Condition, Faults, Message, Ways, World};
use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::time::Instant;

/// The kinds of faults that have struck, a bit each, in the order of [`Faults::named`].
type Struck = Answers;

fn kinds() -> usize {
    Faults::NONE.named().len()
}

/// How many properties are asked at a time, so that their questions have room: three each at most,
/// besides the kinds of faults.
fn at_a_time() -> usize {
    (MOST_QUESTIONS - kinds()) / 3
}

/// Looks for up to `most` counterexamples to each property that is violated.
pub(super) fn find(
    world: &World,
    decisions: &mut [Decision],
    most: usize,
    options: &Options,
    started: Instant,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<(), CheckError> {
    let shown = |d: &&mut Decision| d.verdict == Verdict::Violated && d.counterexample.is_some();
    let mut violated: Vec<&mut Decision> = decisions.iter_mut().filter(shown).collect();
    let mut on_event = |event: Event| match event {
        Event::Violated { .. } | Event::Grows { .. } => {}
        Event::Progress(progress) if progress.phase == Phase::States => {
            let phase = Phase::Again("for different counterexamples");
            on_event(Event::Progress(Progress { phase, ..progress }));
        }
        event @ Event::Progress(_) => on_event(event),
    };
    for some in violated.chunks_mut(at_a_time()) {
        let time = options.limits.time.map(|time| time.saturating_sub(started.elapsed()));
        let limits = Limits { time, ..options.limits };
        let options = Options { limits, first: false, disk: None, ..options.clone() };
        let found = of_some(world, some, &options, &mut on_event)?;
        for (decision, (listed, incomplete)) in some.iter_mut().zip(found) {
            keep(decision, listed, incomplete, most);
        }
    }
    Ok(())
}

/// Notes what was found, the first of which is the one that is shown if only one is.
fn keep(
    decision: &mut Decision,
    mut listed: Vec<DistinctCounterexample>,
    incomplete: Option<Reason>,
    most: usize,
) {
    listed.sort_by_key(|one| {
        let Counterexample { steps, cycle } = &one.found;
        (steps.len(), cycle.as_ref().map_or(0, Vec::len))
    });
    let known = listed.len();
    listed.truncate(most);
    if let Some(first) = listed.first() {
        decision.counterexample = Some(first.found.clone());
    }
    decision.several = Some(Counterexamples { listed, known, incomplete });
}

/// Counterexamples, and why there may be more.
type Found = (Vec<DistinctCounterexample>, Option<Reason>);

fn of_some(
    world: &World,
    decisions: &[&mut Decision],
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Vec<Found>, CheckError> {
    let properties: Vec<_> = decisions.iter().map(|decision| decision.property.clone()).collect();
    let mut questions: Vec<_> = (0..kinds()).map(Condition::struck).collect();
    let asked: Vec<_> = properties.iter().map(|p| PropertyQuery::new(p, &mut questions)).collect();
    let started = Instant::now();
    let packed = Box::new(Packed::new(world, questions));
    let (exact, space) = search(packed, true, &[], options, None, || Value::Null, on_event)?;
    let no_room = !options.limits.leaves_room_for(exact.graph_bytes());
    let cut_short = exact.cut_short().or(no_room.then_some(Reason::Memory));
    if cut_short.is_some() {
        return Ok(asked.iter().map(|_| (Vec::new(), cut_short)).collect());
    }
    let bounds = exact.leaves_boundary().then_some(Reason::Bounds);
    let progress = exact.progress(Phase::Counterexamples, started.elapsed());
    let mut watch = Watch::new(options.limits, progress, on_event);
    let space: &Packed = &space;
    let Some(graph) = exact.graph(space) else { return Ok(Vec::new()) };
    let differences = Differences { world, space, graph: &graph };
    let of = |asked: &PropertyQuery<'_>| {
        let mut listed = Vec::new();
        let ended = differences.of(asked.temporal, &mut listed, &mut watch);
        (listed, ended.err().or(bounds))
    };
    Ok(asked.iter().map(of).collect())
}

/// The executions of a world, and what makes them different.
struct Differences<'s> {
    world: &'s World,
    space: &'s Packed,
    graph: &'s Graph<'s>,
}

/// A transition: a state, and the position of the action there.
type Move = (u32, usize);

impl Differences<'_> {
    fn of(
        &self,
        temporal: Temporal<u32>,
        listed: &mut Vec<DistinctCounterexample>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Reason> {
        match temporal {
            Temporal::Always(question) => self.safety(question, listed, watch),
            Temporal::Liveness(formula) => self.liveness(formula, listed, watch),
            // That there is no such state is shown by no execution.
            Temporal::Reachable(_) => Ok(()),
        }
    }

    /// The kinds of faults that have struck.
    fn struck(&self, number: u32) -> Struck {
        // Bit 0 of the answers is the world's own.
        self.graph.answers(number) >> 1 & ((1 << kinds()) - 1)
    }

    /// All first violations, breadth-first: of each difference the first.
    fn safety(
        &self,
        question: u32,
        listed: &mut Vec<DistinctCounterexample>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Reason> {
        let graph = self.graph;
        let violates = |number: u32| graph.answers(number) & (1 << question) == 0;
        let Some(&first) = graph.initial().first() else { return Ok(()) };
        if violates(first) {
            listed.push(self.distinct(Vec::new(), None, None));
            return Ok(());
        }
        watch.may_take(u64::from(graph.len()) * 8)?;
        // For each state, 1 + that from which it was reached first.
        let mut came = vec![0; graph.len() as usize];
        came[first as usize] = first + 1;
        let mut queue = VecDeque::from([first]);
        let mut known = HashSet::new();
        let mut firsts: Vec<(Struck, String, Move)> = Vec::new();
        while let Some(from) = queue.pop_front() {
            watch.step()?;
            let mut actions = None;
            for (at, &to) in graph.successors(from).iter().enumerate() {
                if to == OUTSIDE {
                } else if violates(to) {
                    let actions = actions.get_or_insert_with(|| graph.actions(from));
                    let ends = ends(&self.space.action(actions[at]));
                    let struck = self.struck(to);
                    if known.insert((struck, ends.clone())) {
                        firsts.push((struck, ends, (from, at)));
                    }
                } else if came[to as usize] == 0 {
                    came[to as usize] = from + 1;
                    queue.push_back(to);
                }
            }
        }
        let fewer = |(struck, ends, _): &&(Struck, String, Move)| {
            let with_less = |(other, theirs, _): &(Struck, String, Move)| {
                theirs == ends && other != struck && other & struck == *other
            };
            !firsts.iter().any(with_less)
        };
        for (_, ends, last) in firsts.iter().filter(fewer) {
            let steps = self.way(&came, *last);
            listed.push(self.distinct(steps, None, Some(ends.clone())));
        }
        Ok(())
    }

    /// For each smallest set of kinds of faults that suffices, an execution with only those.
    fn liveness(
        &self,
        formula: Liveness<u32>,
        listed: &mut Vec<DistinctCounterexample>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Reason> {
        let met = (0..self.graph.len()).fold(0, |met, number| met | self.struck(number));
        let mut sets: Vec<Struck> = (0..1 << kinds()).filter(|set| set & met == *set).collect();
        sets.sort_by_key(|set| set.count_ones());
        let mut enough: Vec<Struck> = Vec::new();
        for set in sets {
            if enough.iter().any(|smaller| smaller & set == *smaller) {
                continue;
            }
            // An execution with other faults violates nothing.
            let excused = match formula.map(|question| (question, true)) {
                Liveness::LeadsTo((question, _), then) => {
                    Liveness::LeadsTo((question, false), then)
                }
                other => other,
            };
            let holds = |(question, excused): (u32, bool)| {
                move |number: u32| {
                    self.graph.answers(number) & (1 << question) != 0
                        || excused && self.struck(number) & !set != 0
                }
            };
            let lasso = liveness::violation(self.graph, &excused.map(holds), watch)?;
            if let Some(Lasso { stem, cycle }) = lasso {
                let (steps, cycle) = (self.space.named(&stem), self.space.named(&cycle));
                listed.push(self.distinct(steps, Some(cycle), None));
                enough.push(set);
            }
        }
        Ok(())
    }

    fn distinct(
        &self,
        steps: Vec<Action>,
        cycle: Option<Vec<Action>>,
        ends: Option<String>,
    ) -> DistinctCounterexample {
        let found = Counterexample { steps, cycle };
        let first = self.world.initial();
        let last =
            found.actions().iter().fold(first, |at, action| self.world.apply(&at, action).state);
        DistinctCounterexample { found, faults: last.spent(), ends }
    }

    /// The actions on the first way to the end of a transition.
    fn way(&self, came: &[u32], last: Move) -> Vec<Action> {
        let mut way = vec![last];
        let mut to = last.0;
        while came[to as usize] != to + 1 {
            let from = came[to as usize] - 1;
            let mut targets = self.graph.successors(from).iter();
            way.extend(targets.position(|&next| next == to).map(|at| (from, at)));
            to = from;
        }
        let action = |&(from, at): &Move| self.space.action(self.graph.actions(from)[at]);
        way.iter().rev().map(action).collect()
    }
}

/// The kind of a step, in words: what happens, without to which process.
fn ends(action: &Action) -> String {
    let message = |message: Message| {
        let label = message.label();
        label.split('(').next().unwrap_or_default().to_owned()
    };
    match action {
        Action::Deliver(e) => format!("{} arrives", message(e.message)),
        Action::Lose(e) => format!("{} is lost", message(e.message)),
        Action::Duplicate(e) => format!("{} is doubled", message(e.message)),
        Action::Expire { timer, .. } if timer.is_outcome() => {
            format!("a process chooses {}", timer.plain())
        }
        Action::Expire { timer, early: false, .. } => {
            format!("a {} timer expires", timer.plain())
        }
        Action::Expire { timer, early: true, .. } => {
            format!("a {} timer expires too early", timer.plain())
        }
        Action::Crash(_) => "a process crashes".to_owned(),
        Action::Recover(_) => "a process recovers".to_owned(),
        Action::Pause(_) => "a process is paused".to_owned(),
        Action::Resume(_) => "a process goes on".to_owned(),
        Action::Cut(_, _, Ways::Both) => "a link is cut".to_owned(),
        Action::Cut(_, _, Ways::One) => "a link is cut in one direction".to_owned(),
        Action::Heal(_, _, Ways::Both) => "a link heals".to_owned(),
        Action::Heal(_, _, Ways::One) => "a link heals in one direction".to_owned(),
        Action::Jump(_, by) => format!("a clock {}", jumps(*by)),
        Action::Tick => "a tick passes".to_owned(),
    }
}
