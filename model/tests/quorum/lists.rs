//! Lists of members that change in place: one leader at a time, one list for each number, and an
//! end to each change.

use super::{Holds, SAFETY, report, rules};
use bellwether_model::check::Verdict::HoldsWithin;
use bellwether_model::world::{Budget, Delay, Durations, Faults, Scenario, Timed, Timing};

const NONE: Faults = Faults { crashes: 0, ..Faults::NONE };

fn of(nodes: usize, faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(nodes) }
}

/// What must hold wherever lists change.
const ALWAYS: [&str; 2] = ["at-most-one-leader", "one-list-per-number"];

#[test]
fn one_leader_and_one_list_for_each_number_whatever_crashes_when() {
    let restart = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };
    for (lists, nodes) in [
        ("joins", 3),
        ("lowest-joins", 3),
        ("leaves", 3),
        ("lowest-leaves", 3),
        ("promotes", 3),
        ("demotes", 3),
        ("replaces", 3),
        ("swaps", 3),
        ("fork-joins", 4),
        ("fork-alone", 3),
    ] {
        let names = [&SAFETY[..], &ALWAYS].concat();
        let rules = rules("recommended", &[&format!("lists={lists}")]);
        let report = report(rules, of(nodes, restart), &names);
        assert!(matches!(report.verdict(), Holds | HoldsWithin), "{lists} of {nodes}");
    }
}

/// Two leaders in a row propose two lists of one number, and the old one is cut off.
#[test]
fn of_two_lists_with_one_number_one_is_decided() {
    let cut = Faults { crashes: 1, recoveries: 1, cuts: 1, ..Faults::NONE };
    let twice = Faults { crashes: 2, recoveries: 2, ..Faults::NONE };
    for faults in [cut, twice] {
        let names = [&ALWAYS[..], &["one-leader-per-epoch", "epochs-grow"]].concat();
        let report = report(rules("recommended", &["lists=fork-alone"]), of(3, faults), &names);
        assert!(matches!(report.verdict(), Holds | HoldsWithin), "{faults:?}");
    }
}

/// While a majority of both lists is up, a change that was proposed is decided or replaced, and a
/// leader has a majority behind it.
#[test]
fn each_change_comes_to_an_end() {
    let crash = Faults { crashes: 1, ..Faults::NONE };
    let worlds = [
        ("leaves", 3, crash),
        ("lowest-leaves", 3, NONE),
        ("promotes", 3, NONE),
        ("demotes", 3, crash),
        ("fork-joins", 4, Faults { losses: Budget::AtMost(1), ..NONE }),
        ("fork-joins", 4, Faults { suspicions: 1, ..NONE }),
    ];
    for (lists, nodes, faults) in worlds {
        let rules = rules("recommended", &[&format!("lists={lists}")]);
        let report = report(rules, of(nodes, faults), &["changes-end"]);
        assert!(matches!(report.verdict(), Holds | HoldsWithin), "{lists} of {nodes}: {faults:?}");
    }
}

#[test]
fn one_process_at_a_time_has_a_lease_while_a_member_joins() {
    let durations = [
        ("t-round", 3),
        ("t-lease", 6),
        ("t-promise", 7),
        ("t-elec", 3),
        ("t-backoff", 3),
        ("t-skew", 1),
    ];
    let timed = Timed::of(Delay::AtMost(1), Durations::of(durations).expect("short names"));
    let crash = Faults { crashes: 1, ..Faults::NONE };
    let scenario = Scenario { timing: Timing::Timed(timed), ..of(3, crash) };
    let rules = rules("recommended", &["outrank=false", "lists=joins"]);
    let report = report(rules, scenario, &["one-lease-at-a-time", "at-most-one-leader"]);
    assert!(matches!(report.verdict(), Holds | HoldsWithin), "{:?}", report.verdict());
}
