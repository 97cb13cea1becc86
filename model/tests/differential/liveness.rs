//! Liveness in timed worlds, decided once more. Time goes on for ever, and the clock alone owes
//! what takes time, so an execution goes on fairly in any strongly connected part that it ticks in
//! and that holds up no repair. What is wrong there is wrong for ever, and then no bound holds
//! either: `stabilises` is violated only if `agreed-within` is, whatever the bound.

use super::explore;
use super::scenario::{Case, cases, delays, every_protocol};
use crate::asked::{Steps, graph};
use bellwether_model::check::Verdict;
use bellwether_model::property::{self, AGREED_WITHIN, Liveness, Temporal};
use bellwether_model::world::{
    Action, Condition, Faults, Heals, Recovers, Scenario, Start, State, Timed, Timing, World,
};
use proptest::prelude::*;

/// The most states that are searched.
const MOST: u64 = 3_000;

/// The bounds that are asked for.
const BOUNDS: [u8; 2] = [10, 100];

/// The states of a world, and where each action leads.
struct Graph {
    states: Vec<State>,
    /// Of each state, where it leads, and whether by a tick.
    next: Vec<Vec<(usize, bool)>>,
    /// Whether a cut link is still to heal.
    broken: Vec<bool>,
    /// Whether a process is down that can still recover.
    down: Vec<bool>,
}

impl Graph {
    /// The graph of a world, unless some action leads beyond the bounds.
    fn of(world: &World) -> Option<Graph> {
        let (states, steps) = graph(world);
        let some = |is: fn(&Action) -> bool| {
            steps.iter().map(|all| all.iter().any(|(action, _)| is(action))).collect()
        };
        let broken = some(|action| matches!(action, Action::Heal(..)));
        let down = some(|action| matches!(action, Action::Recover(_)));
        let next = |steps: &Steps| {
            let within = steps.iter().map(|(action, to)| Some(((*to)?, *action == Action::Tick)));
            within.collect::<Option<Vec<_>>>()
        };
        let next = steps.iter().map(next).collect::<Option<_>>()?;
        Some(Graph { states, next, broken, down })
    }

    /// What can be reached from `from`, along these edges.
    fn reached(edges: &[Vec<usize>], from: usize) -> Vec<bool> {
        let mut reached = vec![false; edges.len()];
        let mut todo = vec![from];
        while let Some(at) = todo.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                todo.extend(&edges[at]);
            }
        }
        reached
    }

    /// Whether some execution that ticks for ever is wrong again and again: some tick lies on a way
    /// round through a wrong state. By definition, and so slowly.
    fn is_wrong_for_ever(&self, wrong: impl Fn(&State) -> bool, of: &Scenario) -> bool {
        let must_heal = of.heals == Heals::Must;
        let must_recover = of.recovers == Recovers::Must;
        let allowed = |at: usize| !(must_heal && self.broken[at] || must_recover && self.down[at]);
        let mut forth: Vec<Vec<usize>> = vec![Vec::new(); self.states.len()];
        let mut back = forth.clone();
        for (from, next) in self.next.iter().enumerate().filter(|&(from, _)| allowed(from)) {
            for &(to, _) in next.iter().filter(|&&(to, _)| allowed(to)) {
                forth[from].push(to);
                back[to].push(from);
            }
        }
        let mut judged = vec![false; self.states.len()];
        (0..self.states.len()).filter(|&at| allowed(at) && wrong(&self.states[at])).any(|at| {
            if judged[at] {
                return false;
            }
            let (after, before) = (Graph::reached(&forth, at), Graph::reached(&back, at));
            let around = |other: usize| after[other] && before[other];
            (0..self.states.len()).filter(|&other| around(other)).for_each(|o| judged[o] = true);
            let ticks = |from: usize| self.next[from].iter().any(|&(to, tick)| tick && around(to));
            (0..self.states.len()).any(|other| around(other) && ticks(other))
        })
    }
}

/// What `◇□` asks of a state.
pub(super) fn lasting(world: &World, name: &str) -> Condition {
    let asked = property::select(world, &[name.to_owned()]).expect("it exists");
    match asked[0].temporal.clone() {
        Temporal::Liveness(Liveness::EventuallyAlways(condition)) => condition,
        other => panic!("{name} is {other:?}"),
    }
}

/// Decides the properties twice, and compares them with the bounds.
fn differ((case, more): &(Case, Vec<u8>)) -> Result<bool, String> {
    let known = case.protocol().durations();
    let ticks = |name: &str| 1 + more[known.iter().position(|one| one.name == name).unwrap_or(0)];
    let Some(case) = case.timed(delays(1, 0), ticks) else { return Ok(false) };
    let names = ["stabilises", "settles", "majority-settles"];
    let Some(report) = case.check(&names, MOST) else { return Ok(false) };
    let world = case.world().expect("it was searched");
    let Some(graph) = Graph::of(&world) else { return Ok(false) };
    for decision in &report.decisions {
        let name = decision.property.name;
        let condition = lasting(&world, name);
        let wrong =
            graph.is_wrong_for_ever(|state| !condition.holds(&world, state), &case.scenario);
        if wrong != (decision.verdict == Verdict::Violated) {
            return Err(format!("{name}: {:?}, by definition {wrong}: {case:?}", decision.verdict));
        }
        let elects =
            property::select(&world, &[]).expect("the usual ones").iter().any(|p| p.name == name);
        if wrong && elects {
            bounded(&case, name)?;
        }
    }
    Ok(true)
}

/// What never lasts is not reached within any bound.
fn bounded(case: &Case, name: &str) -> Result<(), String> {
    for within in BOUNDS {
        let Timing::Timed(timed) = case.scenario.timing else { continue };
        let timing = Timing::Timed(Timed { within: Some(within), ..timed });
        let case = case.with(Scenario { timing, ..case.scenario });
        let Some(report) = case.check(&[AGREED_WITHIN], MOST * 40) else { continue };
        if report.verdict() != Verdict::Violated {
            return Err(format!(
                "{name} is violated, {AGREED_WITHIN} {:?}: {case:?}",
                report.verdict()
            ));
        }
    }
    Ok(())
}

#[test]
fn what_lasts_in_timed_worlds_is_what_ticks_and_is_wrong_no_more() {
    let more = prop::collection::vec(0..6_u8, 8);
    explore(40, (cases(&every_protocol()), more), differ);
}

/// Where a timer is armed again and again before it expires: a process that halts another begins
/// again with each question, and with it its detectors.
#[test]
fn a_timer_that_is_armed_anew_for_ever_owes_nothing() {
    let crash = |case: Case| {
        let faults = Faults { crashes: 1, ..Faults::NONE };
        let (start, nodes) = (Start::Cold, 2);
        case.with(Scenario { faults, start, nodes, ..case.scenario })
    };
    let more = prop::collection::vec(0..6_u8, 8);
    explore(40, (cases(&["stoller"]).prop_map(crash), more), differ);
}
