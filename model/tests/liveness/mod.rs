//! Liveness on graphs small enough to decide by hand, and against brute force on random ones.

mod drawn;
mod random;

use What::{Fault, Strong, Weak};
use bellwether_model::check::liveness::{self, Lasso};
use bellwether_model::check::{Cancel, Event, Limits, Phase, Progress, Reason, Watch};
use bellwether_model::property::Liveness;
use drawn::{Drawn, Edge, What};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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

fn settles(edges: &[Edge], good: &'static [u32]) -> Option<Lasso<What>> {
    decide(edges, Liveness::EventuallyAlways(good))
}

fn lengths(lasso: Option<Lasso<What>>) -> Option<(usize, usize)> {
    lasso.map(|lasso| (lasso.stem.len(), lasso.cycle.len()))
}

#[test]
fn a_state_where_nothing_is_owed_may_last_for_ever() {
    // 0 → 1 is a fault, so staying in 0 is fair, whichever way it is asked.
    let fault = [(0, Fault(0), 1)];
    assert_eq!(lengths(settles(&fault, &[1])), Some((0, 0)));
    assert_eq!(lengths(decide(&fault, Liveness::AlwaysEventually(&[1]))), Some((0, 0)));
    assert_eq!(lengths(decide(&fault, Liveness::Eventually(&[1]))), Some((0, 0)));
    assert_eq!(lengths(decide(&fault, Liveness::LeadsTo(&[0], &[1]))), Some((0, 0)));
    // If it is owed, 1 is reached, and lasts.
    for owed in [[(0, Weak(0), 1)], [(0, Strong(0), 1)]] {
        assert_eq!(settles(&owed, &[1]), None);
        assert_eq!(decide(&owed, Liveness::AlwaysEventually(&[1])), None);
        assert_eq!(decide(&owed, Liveness::Eventually(&[1])), None);
        assert_eq!(decide(&owed, Liveness::LeadsTo(&[0], &[1])), None);
    }
}

#[test]
fn a_state_that_may_last_counts_inside_an_unfair_component_too() {
    // 0 ⇄ 1 starves the strong action of 1, but in 0 nothing is owed.
    let edges = [(0, Fault(0), 1), (1, Weak(0), 0), (1, Strong(0), 2)];
    assert_eq!(lengths(settles(&edges, &[2])), Some((0, 0)));
}

#[test]
fn an_unfair_cycle_does_not_count() {
    // 0 ⇄ 1 by faults, but the owed way to 2 is open in both.
    let edges = [(0, Fault(0), 1), (1, Fault(0), 0), (0, Weak(0), 2), (1, Weak(0), 2)];
    assert_eq!(settles(&edges, &[2]), None);
    assert_eq!(decide(&edges, Liveness::AlwaysEventually(&[2])), None);
    assert_eq!(decide(&edges, Liveness::Eventually(&[2])), None);
    assert_eq!(decide(&edges, Liveness::LeadsTo(&[1], &[2])), None);
}

#[test]
fn what_is_open_again_and_again_may_be_missed_under_weak_fairness_only() {
    // The way to 2 is open in 0 and not in 1.
    let weak = [(0, Weak(1), 1), (1, Weak(2), 0), (0, Weak(0), 2)];
    let strong = [(0, Weak(1), 1), (1, Weak(2), 0), (0, Strong(0), 2)];
    for formula in [
        Liveness::EventuallyAlways(&[2][..]),
        Liveness::AlwaysEventually(&[2]),
        Liveness::Eventually(&[2]),
        Liveness::LeadsTo(&[0], &[2]),
    ] {
        assert_eq!(lengths(decide(&weak, formula)), Some((0, 2)), "{formula:?}");
        assert_eq!(decide(&strong, formula), None, "{formula:?}");
    }
}

#[test]
fn a_cycle_of_owed_actions_is_fair_when_it_takes_them_all() {
    let edges = [(0, Weak(1), 1), (1, Weak(2), 0)];
    assert_eq!(lengths(settles(&edges, &[1])), Some((0, 2)));
    assert_eq!(settles(&edges, &[0, 1]), None);
    // Again and again in 1: only staying away from it would violate that.
    assert_eq!(decide(&edges, Liveness::AlwaysEventually(&[1])), None);
}

#[test]
fn a_fair_cycle_is_found_inside_a_larger_component() {
    // 1 ⇄ 2 alone would starve the action that is open in both; with 3 it is taken.
    let edges = [
        (0, Weak(1), 1),
        (1, Fault(0), 2),
        (2, Fault(0), 1),
        (1, Weak(9), 3),
        (2, Weak(9), 3),
        (3, Weak(1), 1),
    ];
    let lasso = settles(&edges, &[0, 1, 3]).expect("2 recovers for ever");
    assert!(lasso.cycle.contains(&Weak(9)) && lasso.cycle.contains(&Fault(0)), "{lasso:?}");
    // With 3 forbidden, nothing is left.
    assert_eq!(decide(&edges, Liveness::AlwaysEventually(&[0, 3])), None);
}

#[test]
fn a_join_reached_in_two_ways_is_judged_by_where_it_leads() {
    let diamond = [(0, Weak(1), 1), (0, Weak(2), 2), (1, Weak(1), 3), (2, Weak(1), 3)];
    assert_eq!(settles(&diamond, &[3]), None);
    assert!(settles(&diamond, &[1, 2]).is_some());
    // Only one of the ways owes 3 something.
    assert_eq!(lengths(decide(&diamond, Liveness::LeadsTo(&[2], &[5]))), Some((2, 0)));
    let lasso = decide(&diamond, Liveness::LeadsTo(&[2], &[5])).expect("2 was passed");
    assert_eq!(lasso.stem, [Weak(2), Weak(1)]);
    assert_eq!(decide(&diamond, Liveness::LeadsTo(&[2], &[3])), None);
    // What is eventual must be met on both ways.
    assert_eq!(lengths(decide(&diamond, Liveness::Eventually(&[1]))), Some((2, 0)));
    assert_eq!(decide(&diamond, Liveness::Eventually(&[1, 2])), None);
}

#[test]
fn a_cycle_reached_only_through_the_goal() {
    let edges = [(0, Weak(1), 1), (1, Weak(1), 2), (2, Weak(1), 2)];
    assert_eq!(lengths(settles(&edges, &[0, 1])), Some((2, 1)));
    assert_eq!(lengths(decide(&edges, Liveness::AlwaysEventually(&[1]))), Some((2, 1)));
    // The goal was reached before.
    assert_eq!(decide(&edges, Liveness::Eventually(&[1])), None);
    assert_eq!(decide(&edges, Liveness::LeadsTo(&[0], &[1])), None);
    // It is owed again afterwards.
    assert_eq!(lengths(decide(&edges, Liveness::LeadsTo(&[2], &[1]))), Some((2, 1)));
}

#[test]
fn strong_fairness_takes_a_component_apart_in_two_rounds() {
    // 1 enables Strong(1), which leaves: without 1, Strong(2) of 3 has lost its only place inside,
    // 2 → 1. Without 3 as well, 4 ⇄ 5 is left, with Strong(3) taken in it, or is not.
    let mut edges = vec![
        (0, Weak(0), 1),
        (1, Weak(1), 2),
        (1, Strong(1), 7),
        (2, Strong(2), 1),
        (2, Weak(3), 3),
        (3, Strong(2), 7),
        (3, Weak(4), 4),
        (4, Weak(5), 5),
        (5, Weak(6), 4),
        (5, Weak(7), 2),
    ];
    let lasso = decide(&edges, Liveness::AlwaysEventually(&[7])).expect("4 and 5 are left");
    assert_eq!(lasso.cycle, [Weak(5), Weak(6)]);
    assert_eq!(lasso.stem, [Weak(0), Weak(1), Weak(3), Weak(4)]);
    edges.push((4, Strong(2), 7));
    assert_eq!(decide(&edges, Liveness::AlwaysEventually(&[7])), None);
}

#[test]
fn a_cycle_takes_every_strongly_fair_action_that_it_meets() {
    // The shortest cycle, 0 ⇄ 1, enables Strong(1) and does not take it.
    let edges = [
        (0, Weak(0), 1),
        (1, Weak(1), 0),
        (1, Strong(1), 2),
        (2, Strong(2), 3),
        (2, Weak(2), 0),
        (3, Weak(3), 0),
    ];
    let lasso = decide(&edges, Liveness::AlwaysEventually(&[])).expect("it goes on");
    assert_eq!(lasso.cycle, [Weak(0), Strong(1), Strong(2), Weak(3)]);
}

#[test]
fn what_is_interrupted_on_the_way_round_is_not_owed() {
    // The way to 2 is open in 0 and 1; going round, one transition makes it another action.
    let edges = [(0, Fault(0), 1), (1, Fault(0), 0), (0, Weak(0), 2), (1, Weak(0), 2)];
    let numbers = [0, 1, 2];
    let formula = Liveness::EventuallyAlways(|number| number == 2);
    let with = |all: &[(u32, What, What)]| {
        violation(&Drawn::new(&edges, &numbers).interrupting(all, &numbers), &formula)
    };
    assert_eq!(with(&[]), None);
    assert_eq!(lengths(with(&[(1, Fault(0), Weak(0))])), Some((0, 2)));
    // What leaves the cycle interrupts nothing on it.
    assert_eq!(with(&[(1, Weak(0), Weak(0))]), None);
    assert_eq!(with(&[(1, Fault(0), Weak(1))]), None);
}

#[test]
fn a_cycle_goes_where_what_it_owes_is_interrupted() {
    // The shortest cycle, 0 ⇄ 1, owes the way to 4; by 2 and 3 it is interrupted.
    let edges = [
        (0, Fault(0), 1),
        (1, Fault(0), 0),
        (1, Fault(1), 2),
        (2, Fault(0), 3),
        (3, Fault(0), 0),
        (0, Weak(0), 4),
        (1, Weak(0), 4),
        (2, Weak(0), 4),
        (3, Weak(0), 4),
    ];
    let numbers = [0, 1, 2, 3, 4];
    let formula = Liveness::AlwaysEventually(|number| number == 4);
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
    let formula = Liveness::EventuallyAlways(|number| number != 50_000);
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
