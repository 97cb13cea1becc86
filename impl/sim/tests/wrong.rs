//! Wrong worlds: with each, the invariant breaks that is there for it. A check that has never failed
//! has shown nothing. Wrong drivers are in `conformance/mutants/simulation.toml`.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use bellwether_sim::Code;
use bellwether_sim::batch::{Limits, batch};
use bellwether_sim::invariant;
use bellwether_sim::run::{run, shrink};
use bellwether_sim::wrong::Wrong;
use clap::ValueEnum as _;

/// Which invariants of the quorum bully each breaks, with these faults.
const BREAKS: &[(Wrong, &str, &[&str])] = &[
    // It may forget lists as well: those by which one was let in that had forgotten its birth.
    (Wrong::Forgets, "crashes+syncs", &["epochs-grow", "lists-grow"]),
    (Wrong::Drift, "clocks+pauses+cuts", &["at-most-one-leader"]),
    (Wrong::Durations, "pauses+cuts+partitions", &["at-most-one-leader"]),
    (Wrong::ClockStops, "pauses", &["at-most-one-leader"]),
    (Wrong::StaleTime, "pauses+crashes", &["lease-before-word", "at-most-one-leader"]),
    (Wrong::FlapsLeader, "flap", &["first-leader-stays"]),
    (Wrong::NeverHeals, "partitions", &["settles"]),
    (Wrong::TalksUnfit, "reloads+cuts+partitions", &["at-most-one-leader"]),
    (Wrong::LosesLists, "members+crashes", &["lists-grow"]),
    (Wrong::TooFar, "distances", &["first-leader-stays"]),
];

/// The first run of the wrong world in which an invariant breaks.
fn failing(wrong: Wrong, faults: &str) -> (Code, &'static str) {
    let code = format!("quorum!{}:5:{faults}:1", wrong.name());
    let code: Code = code.parse().expect("a code");
    let limits = Limits { stop: &AtomicBool::new(false), time: None };
    let summary = batch(&code, 5_000, NonZeroUsize::new(2).expect("two"), limits, &|| {});
    let (code, broken) = summary.failed.unwrap_or_else(|| panic!("{code} breaks nothing"));
    (code, broken.invariant)
}

#[test]
fn each_wrong_world_breaks_the_invariant_that_is_there_for_it() {
    for &(wrong, faults, expected) in BREAKS {
        let (code, broken) = failing(wrong, faults);
        assert!(expected.contains(&broken), "{code} breaks {broken}");
    }
    for wrong in Wrong::value_variants() {
        assert!(BREAKS.iter().any(|row| row.0 == *wrong), "{} is not tried", wrong.name());
    }
}

#[test]
fn a_failing_run_is_repeated_by_its_code_and_by_fewer_faults() {
    let (code, broken) = failing(Wrong::ClockStops, "all");
    let again = run(&code, false).broken.expect("it fails again");
    assert_eq!(again.invariant, broken);
    let shrunk = shrink(&code, 300);
    let kept = shrunk.kept.as_ref().expect("the faults that are kept").len();
    assert!(kept < 10, "{shrunk}");
    assert_eq!(run(&shrunk, false).broken.map(|again| again.invariant), Some(broken));
    assert_eq!(shrunk.to_string().parse(), Ok(shrunk), "it is read as it is written");
}

#[test]
fn names_of_invariants_are_those_that_are_promised() {
    for (wrong, ..) in BREAKS {
        assert_eq!(Wrong::from_str(&wrong.name(), false), Ok(*wrong));
    }
    let names: Vec<_> = invariant::ALL.iter().map(|(name, ..)| *name).collect();
    assert_eq!(invariant::named(&names).len(), names.len());
}
