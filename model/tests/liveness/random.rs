//! Random graphs: the verdict is that of brute force, the counterexample is one, and the numbers
//! of the states do not matter.

use super::drawn::{Drawn, Edge, What};
use super::violation;
use bellwether_model::check::Watch;
use bellwether_model::check::liveness::{self, Lasso};
use bellwether_model::check::rows::{Fairness, Rows};
use bellwether_model::property::Liveness;
use proptest::prelude::*;

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
        Liveness::Eventually(p) => (reached(drawn, first & !p, !p), !p, everything),
        Liveness::AlwaysEventually(p) => (all, !p, everything),
        Liveness::EventuallyAlways(p) => (all, everything, !p),
        Liveness::LeadsTo(p, q) => (reached(drawn, all & p & !q, !q), !q, everything),
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
        Liveness::Eventually(p) => never(p) && !stem.iter().any(|&state| has(p, state)),
        Liveness::AlwaysEventually(p) => never(p),
        Liveness::EventuallyAlways(p) => round.iter().any(|&state| !has(p, state)),
        Liveness::LeadsTo(p, q) => {
            let met = stem.iter().rposition(|&state| has(q, state)).map_or(0, |at| at + 1);
            never(q) && stem[met..].iter().chain(&round).any(|&state| has(p, state))
        }
    };
    fair && bad && round[round.len() - 1] == home
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        (0..2_u8).prop_map(What::Fault),
        (0..3_u8).prop_map(What::Weak),
        (0..3_u8).prop_map(What::Strong),
    ]
}

/// One in seven leads outside.
fn edges() -> impl Strategy<Value = Vec<Edge>> {
    prop::collection::vec((0..STATES, what(), 0..=STATES), 0..18)
}

/// What interrupts what, and where.
fn interrupts() -> impl Strategy<Value = Vec<(u32, What, What)>> {
    let weak = (0..3_u8).prop_map(What::Weak);
    prop::collection::vec((0..STATES, what(), weak), 0..9)
}

fn formula() -> impl Strategy<Value = Liveness<Set>> {
    let set = || 0..64_u8;
    prop_oneof![
        set().prop_map(Liveness::Eventually),
        set().prop_map(Liveness::AlwaysEventually),
        set().prop_map(Liveness::EventuallyAlways),
        (set(), set()).prop_map(|(p, q)| Liveness::LeadsTo(p, q)),
    ]
}

fn decide(drawn: &Drawn, formula: Liveness<Set>) -> Option<Lasso<What>> {
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
        let lasso = decide(&drawn, formula);
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
        let others = Liveness::AlwaysEventually(!wanted);
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
        let renumbered = decide(&drawn(&numbers), formula.map(renumber));
        let drawn = decide(&drawn(&AS_DRAWN), formula);
        prop_assert_eq!(drawn, renumbered);
    }
}
