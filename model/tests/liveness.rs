//! Liveness on graphs small enough to decide by hand, and against brute force on random ones: the
//! verdict is that of brute force, the counterexample is one, and the numbers of the states do not
//! matter.

use Liveness::{AlwaysEventually, Eventually, EventuallyAlways, LeadsTo};
use What::{Fault, Strong, Weak};
use bellwether_model::check::liveness::{self, Lasso};
use bellwether_model::check::rows::{Fairness, OUTSIDE, Rows};
use bellwether_model::check::{Cancel, Event, Limits, Phase, Progress, Reason, Watch};
use bellwether_model::property::Liveness;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An edge: from, what happens, to.
type Edge = (u32, What, u32);

/// What happens on an edge. Fair actions of one number are one action, wherever they are enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    /// A fault.
    Fault(u8),
    /// Weakly fair.
    Weak(u8),
    /// Strongly fair.
    Strong(u8),
}

/// A graph whose states have any numbers; 0 is drawn first and is the initial state.
#[derive(Clone, Debug)]
struct Drawn {
    actions: Vec<Vec<What>>,
    successors: Vec<Vec<u32>>,
    initial: Vec<u32>,
    /// What an action interrupts in a state.
    interrupts: Vec<(u32, What, What)>,
}

impl Drawn {
    /// The edges, of one state in their order; what is drawn as state `s` has the number
    /// `numbers[s]`, and one that has no number is outside. An action that is drawn twice in one
    /// state counts once.
    fn new(edges: &[Edge], numbers: &[u32]) -> Drawn {
        let mut drawn = Drawn {
            actions: vec![Vec::new(); numbers.len()],
            successors: vec![Vec::new(); numbers.len()],
            initial: vec![numbers[0]],
            interrupts: Vec::new(),
        };
        for &(from, what, to) in edges {
            let from = numbers[from as usize] as usize;
            if !drawn.actions[from].contains(&what) {
                drawn.actions[from].push(what);
                drawn.successors[from].push(numbers.get(to as usize).copied().unwrap_or(OUTSIDE));
            }
        }
        drawn
    }

    /// The same where the actions of some states interrupt others: of each the state, what happens
    /// there, and what it interrupts.
    fn interrupting(self, all: &[(u32, What, What)], numbers: &[u32]) -> Drawn {
        let interrupts =
            all.iter().map(|&(state, what, other)| (numbers[state as usize], what, other));
        Drawn { interrupts: interrupts.collect(), ..self }
    }

    /// Whether `what` interrupts `other` in a state.
    fn interrupts(&self, number: u32, what: What, other: What) -> bool {
        self.interrupts.contains(&(number, what, other))
    }

    /// Where all actions lead.
    fn row(&self, number: u32) -> &[u32] {
        &self.successors[number as usize]
    }

    /// The states to which actions lead.
    fn next(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        self.row(number).iter().copied().filter(|&to| to != OUTSIDE)
    }

    /// Where an action leads, if it is enabled and does not lead outside.
    fn after(&self, number: u32, what: What) -> Option<u32> {
        let number = number as usize;
        let at = self.actions[number].iter().position(|&known| known == what)?;
        Some(self.successors[number][at]).filter(|&to| to != OUTSIDE)
    }
}

impl Rows for Drawn {
    type Action = What;

    fn len(&self) -> u32 {
        u32::try_from(self.actions.len()).expect("it is small")
    }

    fn initial(&self) -> &[u32] {
        &self.initial
    }

    fn successors(&self, number: u32) -> &[u32] {
        self.row(number)
    }

    fn actions(&self, number: u32) -> Vec<What> {
        self.actions[number as usize].clone()
    }

    fn fairness(&self, what: &What) -> Fairness {
        match what {
            Fault(_) => Fairness::None,
            Weak(_) => Fairness::Weak,
            Strong(_) => Fairness::Strong,
        }
    }

    fn interruptible(&self, what: &What) -> bool {
        self.interrupts.iter().any(|(_, _, other)| other == what)
    }

    fn interrupted(&self, number: u32, position: usize) -> Vec<What> {
        let what = self.actions[number as usize][position];
        let here = self.interrupts.iter().filter(|&&(state, by, _)| (state, by) == (number, what));
        here.map(|&(_, _, other)| other).collect()
    }

    fn stutters(&self, number: u32) -> bool {
        self.actions[number as usize].iter().all(|what| matches!(what, Fault(_)))
    }
}

type Formula = Liveness<&'static [u32]>;

/// The verdict of a search that nothing ends early.
fn violation(drawn: &Drawn, formula: &Liveness<impl Fn(u32) -> bool>) -> Option<Lasso<What>> {
    liveness::violation(drawn, formula, &mut Watch::idle()).expect("nothing ends it")
}

/// `formula` on a graph of eight states, of which those listed satisfy its conditions.
fn decide(edges: &[Edge], formula: Formula) -> Option<Lasso<What>> {
    let drawn = Drawn::new(edges, &[0, 1, 2, 3, 4, 5, 6, 7]);
    violation(&drawn, &formula.map(|good| move |number| good.contains(&number)))
}

/// How long the stem and the cycle are, if there are any.
type Lengths = Option<(usize, usize)>;

/// What is asked, and what is found.
type Asked = (Formula, Lengths);

/// Each way to ask for the good states; one of them after others. All have the same answer.
const fn each(after: &'static [u32], good: &'static [u32], found: Lengths) -> [Asked; 4] {
    [
        (EventuallyAlways(good), found),
        (AlwaysEventually(good), found),
        (Eventually(good), found),
        (LeadsTo(after, good), found),
    ]
}

/// Small graphs, and the lengths of what is found there.
const SMALL: &[(&[Edge], &[Asked])] = &[
    // 0 → 1 is a fault, so staying in 0 is fair, whichever way it is asked.
    (&[(0, Fault(0), 1)], &each(&[0], &[1], Some((0, 0)))),
    // If it is owed, 1 is reached, and lasts.
    (&[(0, Weak(0), 1)], &each(&[0], &[1], None)),
    (&[(0, Strong(0), 1)], &each(&[0], &[1], None)),
    // 0 ⇄ 1 starves the strong action of 1, but in 0 nothing is owed.
    (
        &[(0, Fault(0), 1), (1, Weak(0), 0), (1, Strong(0), 2)],
        &[(EventuallyAlways(&[2]), Some((0, 0)))],
    ),
    // 0 ⇄ 1 by faults, but the owed way to 2 is open in both.
    (
        &[(0, Fault(0), 1), (1, Fault(0), 0), (0, Weak(0), 2), (1, Weak(0), 2)],
        &each(&[1], &[2], None),
    ),
    // Where the way to 2 is open in 0 and not in 1, it may be missed under weak fairness only.
    (&[(0, Weak(1), 1), (1, Weak(2), 0), (0, Weak(0), 2)], &each(&[0], &[2], Some((0, 2)))),
    (&[(0, Weak(1), 1), (1, Weak(2), 0), (0, Strong(0), 2)], &each(&[0], &[2], None)),
    // A cycle of owed actions is fair when it takes them all. Only staying away from 1 would
    // violate that it is met again and again.
    (
        &[(0, Weak(1), 1), (1, Weak(2), 0)],
        &[
            (EventuallyAlways(&[1]), Some((0, 2))),
            (EventuallyAlways(&[0, 1]), None),
            (AlwaysEventually(&[1]), None),
        ],
    ),
    // A join that is reached in two ways is judged by where it leads: only one of them owes it
    // something, and what is eventual must be met on both.
    (
        &[(0, Weak(1), 1), (0, Weak(2), 2), (1, Weak(1), 3), (2, Weak(1), 3)],
        &[
            (EventuallyAlways(&[3]), None),
            (EventuallyAlways(&[1, 2]), Some((2, 0))),
            (LeadsTo(&[2], &[3]), None),
            (LeadsTo(&[2], &[5]), Some((2, 0))),
            (Eventually(&[1]), Some((2, 0))),
            (Eventually(&[1, 2]), None),
        ],
    ),
    // A cycle that is reached only through the goal: that was met before, and is owed again.
    (
        &[(0, Weak(1), 1), (1, Weak(1), 2), (2, Weak(1), 2)],
        &[
            (EventuallyAlways(&[0, 1]), Some((2, 1))),
            (AlwaysEventually(&[1]), Some((2, 1))),
            (Eventually(&[1]), None),
            (LeadsTo(&[0], &[1]), None),
            (LeadsTo(&[2], &[1]), Some((2, 1))),
        ],
    ),
];

#[test]
fn small_graphs_are_decided_as_by_hand() {
    for (edges, asked) in SMALL {
        for &(formula, expected) in *asked {
            let found = decide(edges, formula);
            let lengths = found.as_ref().map(|lasso| (lasso.stem.len(), lasso.cycle.len()));
            assert_eq!(lengths, expected, "{formula:?}: {edges:?}: {found:?}");
        }
    }
}

#[test]
fn a_fair_cycle_is_found_inside_a_larger_component() {
    // 1 ⇄ 2 alone would starve the action that is open in both; with 3 it is taken.
    let around = [(0, Weak(1), 1), (1, Fault(0), 2), (2, Fault(0), 1)];
    let edges: Vec<Edge> = [around, [(1, Weak(9), 3), (2, Weak(9), 3), (3, Weak(1), 1)]].concat();
    let lasso = decide(&edges, EventuallyAlways(&[0, 1, 3])).expect("2 recovers for ever");
    assert!(lasso.cycle.contains(&Weak(9)) && lasso.cycle.contains(&Fault(0)), "{lasso:?}");
    // With 3 forbidden, nothing is left.
    assert_eq!(decide(&edges, AlwaysEventually(&[0, 3])), None);
}

#[track_caller]
fn finds(edges: &[Edge], formula: Formula, stem: &[What], cycle: &[What]) {
    let lasso = decide(edges, formula).expect("it is violated");
    assert_eq!((&lasso.stem[..], &lasso.cycle[..]), (stem, cycle));
}

#[test]
fn what_is_found_is_fair_and_shortest() {
    // Of two ways to 3, only the one by 2 owes it something.
    let diamond = [(0, Weak(1), 1), (0, Weak(2), 2), (1, Weak(1), 3), (2, Weak(1), 3)];
    finds(&diamond, LeadsTo(&[2], &[5]), &[Weak(2), Weak(1)], &[]);
    // The shortest cycle, 0 ⇄ 1, enables Strong(1) and does not take it.
    let edges = [
        [(0, Weak(0), 1), (1, Weak(1), 0), (1, Strong(1), 2)],
        [(2, Strong(2), 3), (2, Weak(2), 0), (3, Weak(3), 0)],
    ];
    let edges: Vec<Edge> = edges.concat();
    finds(&edges, AlwaysEventually(&[]), &[], &[Weak(0), Strong(1), Strong(2), Weak(3)]);
    // 1 enables Strong(1), which leaves: without 1, Strong(2) of 3 has lost its only place inside,
    // 2 → 1. Without 3 as well, 4 ⇄ 5 is left, with Strong(3) taken in it, or is not.
    let edges = [
        [(0, Weak(0), 1), (1, Weak(1), 2), (1, Strong(1), 7), (2, Strong(2), 1), (2, Weak(3), 3)],
        [(3, Strong(2), 7), (3, Weak(4), 4), (4, Weak(5), 5), (5, Weak(6), 4), (5, Weak(7), 2)],
    ];
    let mut edges: Vec<Edge> = edges.concat();
    let stem = [Weak(0), Weak(1), Weak(3), Weak(4)];
    finds(&edges, AlwaysEventually(&[7]), &stem, &[Weak(5), Weak(6)]);
    edges.push((4, Strong(2), 7));
    assert_eq!(decide(&edges, AlwaysEventually(&[7])), None);
}

#[test]
fn what_is_interrupted_on_the_way_round_is_not_owed() {
    // The way to 2 is open in 0 and 1; going round, one transition makes it another action.
    let edges = [(0, Fault(0), 1), (1, Fault(0), 0), (0, Weak(0), 2), (1, Weak(0), 2)];
    let numbers = [0, 1, 2];
    let formula = EventuallyAlways(|number| number == 2);
    let with = |all: &[(u32, What, What)]| {
        violation(&Drawn::new(&edges, &numbers).interrupting(all, &numbers), &formula)
    };
    assert_eq!(with(&[]), None);
    let found = with(&[(1, Fault(0), Weak(0))]).expect("going round interrupts it");
    assert_eq!((found.stem.len(), found.cycle.len()), (0, 2));
    // What leaves the cycle interrupts nothing on it.
    assert_eq!(with(&[(1, Weak(0), Weak(0))]), None);
    assert_eq!(with(&[(1, Fault(0), Weak(1))]), None);
}

#[test]
fn a_cycle_goes_where_what_it_owes_is_interrupted() {
    // The shortest cycle, 0 ⇄ 1, owes the way to 4; by 2 and 3 it is interrupted.
    let around = [(0, Fault(0), 1), (1, Fault(0), 0), (1, Fault(1), 2), (2, Fault(0), 3)];
    let owed = [0, 1, 2, 3].map(|from| (from, Weak(0), 4));
    let edges: Vec<Edge> = [&around[..], &[(3, Fault(0), 0)], &owed].concat();
    let numbers = [0, 1, 2, 3, 4];
    let formula = AlwaysEventually(|number| number == 4);
    let drawn = Drawn::new(&edges, &numbers);
    assert_eq!(violation(&drawn, &formula), None);
    let drawn = drawn.interrupting(&[(2, Fault(0), Weak(0))], &numbers);
    let lasso = violation(&drawn, &formula).expect("it goes round by 2 and 3");
    assert_eq!(lasso.cycle, [Fault(0), Fault(1), Fault(0), Fault(0)]);
}

#[test]
fn a_search_for_a_lasso_ends_when_it_is_cancelled() {
    static CANCELLED: AtomicBool = AtomicBool::new(false);
    // One long way, and nothing else: each of its states is looked at several times.
    let edges: Vec<Edge> = (0..50_000).map(|from| (from, Fault(0), from + 1)).collect();
    let numbers: Vec<u32> = (0..=50_000).collect();
    let drawn = Drawn::new(&edges, &numbers);
    let formula = EventuallyAlways(|number| number != 50_000);
    let decide = |looks_before: usize| {
        let mut looks = 0;
        let mut on_event = |event: Event| {
            let Event::Progress(progress) = event else { return };
            assert_eq!(progress.phase, Phase::Liveness("settles"));
            looks += 1;
            CANCELLED.store(looks > looks_before, Ordering::Relaxed);
        };
        let at = Progress {
            phase: Phase::Liveness("settles"),
            distinct: 50_001,
            generated: 50_001,
            levels: None,
            frontier: None,
            elapsed: Duration::ZERO,
        };
        let limits = Limits { cancel: Some(Cancel::when(&CANCELLED)), ..Limits::NONE };
        let found =
            liveness::violation(&drawn, &formula, &mut Watch::new(limits, at, &mut on_event));
        (found, looks)
    };
    let (found, looks) = decide(usize::MAX);
    assert!(matches!(found, Ok(Some(_))) && looks > 1, "{found:?} after {looks} looks");
    for before in 0..looks {
        assert_eq!(decide(before), (Err(Reason::Interrupted), before + 1));
    }
}

const STATES: u32 = 6;
const AS_DRAWN: [u32; 6] = [0, 1, 2, 3, 4, 5];

/// A set of states, one bit for each.
type Set = u8;

fn has(set: Set, state: u32) -> bool {
    set & (1 << state) != 0
}

fn states(set: Set) -> impl Iterator<Item = u32> + Clone {
    (0..STATES).filter(move |&state| has(set, state))
}

/// What is reached from `from`, itself included, by ways inside `inside`.
fn reached(drawn: &Drawn, from: Set, inside: Set) -> Set {
    let mut known = from & inside;
    loop {
        let next = states(known).flat_map(|state| drawn.next(state));
        let more = next.fold(known, |set, to| set | (1 << to)) & inside;
        if more == known {
            return known;
        }
        known = more;
    }
}

/// Whether a fair execution can go through exactly the states of `set` again and again.
fn may_last(drawn: &Drawn, set: Set) -> bool {
    let enabled = |state: u32| drawn.actions(state);
    let inside = |state: u32, what: What| drawn.after(state, what).is_some_and(|to| has(set, to));
    let taken = |what: What| states(set).any(|s| enabled(s).contains(&what) && inside(s, what));
    let everywhere = |what: What| states(set).all(|s| enabled(s).contains(&what));
    let interrupted = |other: What| {
        let by = |state, what| inside(state, what) && drawn.interrupts(state, what, other);
        states(set).any(|state| enabled(state).into_iter().any(|what| by(state, what)))
    };
    let kept = states(set).flat_map(enabled).all(|what| match drawn.fairness(&what) {
        Fairness::None => true,
        Fairness::Weak => !everywhere(what) || taken(what) || interrupted(what),
        Fairness::Strong => taken(what),
    });
    let connected = states(set).all(|state| {
        let next = drawn.next(state).fold(0, |next, to| next | (1 << to));
        reached(drawn, next, set) == set
    });
    let stutters = set.count_ones() == 1 && states(set).all(|state| drawn.stutters(state));
    stutters || (connected && kept)
}

fn brute_force(drawn: &Drawn, formula: Liveness<Set>) -> bool {
    let (everything, first) = (Set::MAX >> 2, 1);
    let all = reached(drawn, first, everything);
    let (reachable, inside, meets) = match formula {
        Eventually(p) => (reached(drawn, first & !p, !p), !p, everything),
        AlwaysEventually(p) => (all, !p, everything),
        EventuallyAlways(p) => (all, everything, !p),
        LeadsTo(p, q) => (reached(drawn, all & p & !q, !q), !q, everything),
    };
    (1..=everything)
        .any(|set| set & !(reachable & inside) == 0 && set & meets != 0 && may_last(drawn, set))
}

/// Whether the lasso is a fair execution of the graph that violates the formula.
fn is_counterexample(drawn: &Drawn, formula: Liveness<Set>, lasso: &Lasso<What>) -> bool {
    let walk = |from: u32, actions: &[What]| {
        let mut way = vec![from];
        for &what in actions {
            way.push(drawn.after(way[way.len() - 1], what)?);
        }
        Some(way)
    };
    let Some(stem) = walk(0, &lasso.stem) else { return false };
    let home = stem[stem.len() - 1];
    let Some(round) = walk(home, &lasso.cycle) else { return false };
    let enabled = |state: &u32, what: &What| drawn.actions(*state).contains(what);
    let interrupted = |other: What| {
        let mut steps = round.iter().zip(&lasso.cycle);
        steps.any(|(&state, &what)| drawn.interrupts(state, what, other))
    };
    let fair = round.iter().flat_map(|&state| drawn.actions(state)).all(|what| {
        let starves = match drawn.fairness(&what) {
            Fairness::None => false,
            Fairness::Weak => round.iter().all(|state| enabled(state, &what)) && !interrupted(what),
            Fairness::Strong => true,
        };
        !starves || lasso.cycle.contains(&what)
    });
    let never = |set: Set| !round.iter().any(|&state| has(set, state));
    let bad = match formula {
        Eventually(p) => never(p) && !stem.iter().any(|&state| has(p, state)),
        AlwaysEventually(p) => never(p),
        EventuallyAlways(p) => round.iter().any(|&state| !has(p, state)),
        LeadsTo(p, q) => {
            let met = stem.iter().rposition(|&state| has(q, state)).map_or(0, |at| at + 1);
            never(q) && stem[met..].iter().chain(&round).any(|&state| has(p, state))
        }
    };
    fair && bad && round[round.len() - 1] == home
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![(0..2_u8).prop_map(Fault), (0..3_u8).prop_map(Weak), (0..3_u8).prop_map(Strong),]
}

/// One in seven leads outside.
fn edges() -> impl Strategy<Value = Vec<Edge>> {
    prop::collection::vec((0..STATES, what(), 0..=STATES), 0..18)
}

/// What interrupts what, and where.
fn interrupts() -> impl Strategy<Value = Vec<(u32, What, What)>> {
    let weak = (0..3_u8).prop_map(Weak);
    prop::collection::vec((0..STATES, what(), weak), 0..9)
}

fn formula() -> impl Strategy<Value = Liveness<Set>> {
    let set = || 0..64_u8;
    prop_oneof![
        set().prop_map(Eventually),
        set().prop_map(AlwaysEventually),
        set().prop_map(EventuallyAlways),
        (set(), set()).prop_map(|(p, q)| LeadsTo(p, q)),
    ]
}

fn decide_set(drawn: &Drawn, formula: Liveness<Set>) -> Option<Lasso<What>> {
    violation(drawn, &formula.map(|set| move |number| has(set, number)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_verdict_is_that_of_brute_force(
        edges in edges(),
        interrupts in interrupts(),
        formula in formula(),
    ) {
        let drawn = Drawn::new(&edges, &AS_DRAWN).interrupting(&interrupts, &AS_DRAWN);
        let lasso = decide_set(&drawn, formula);
        prop_assert_eq!(lasso.is_some(), brute_force(&drawn, formula));
        if let Some(lasso) = lasso {
            prop_assert!(is_counterexample(&drawn, formula, &lasso), "{:?}", lasso);
        }
    }

    /// A fair execution that in the end comes only to some states is one that comes to the others
    /// only so often.
    #[test]
    fn what_can_stay_in_some_states_is_what_brute_force_finds(
        edges in edges(),
        interrupts in interrupts(),
        wanted in 0..64_u8,
    ) {
        let drawn = Drawn::new(&edges, &AS_DRAWN).interrupting(&interrupts, &AS_DRAWN);
        let reachable = reached(&drawn, 1, Set::MAX >> 2);
        let inside = |number| has(wanted & reachable, number);
        let lasts = liveness::some_lasts(&drawn, inside, &mut Watch::idle()).expect("it is not");
        let others = AlwaysEventually(!wanted);
        prop_assert_eq!(lasts, brute_force(&drawn, others));
    }

    #[test]
    fn the_numbers_of_the_states_do_not_matter(
        edges in edges(),
        interrupts in interrupts(),
        formula in formula(),
        numbers in Just(AS_DRAWN.to_vec()).prop_shuffle(),
    ) {
        let renumber = |set: Set| states(set).fold(0, |s, at| s | (1 << numbers[at as usize]));
        let drawn =
            |numbers: &[u32]| Drawn::new(&edges, numbers).interrupting(&interrupts, numbers);
        let renumbered = decide_set(&drawn(&numbers), formula.map(renumber));
        let drawn = decide_set(&drawn(&AS_DRAWN), formula);
        prop_assert_eq!(drawn, renumbered);
    }
}
