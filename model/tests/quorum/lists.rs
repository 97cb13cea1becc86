//! Lists of members that follow each other: one leader at a time, whenever which process restarts
//! with the next one.

use super::{Holds, SAFETY, report, rules, world};
use bellwether_model::check::Verdict::HoldsWithin;
use bellwether_model::protocol::quorum::{Quorum, Role};
use bellwether_model::world::{Delay, Durations, Faults, Scenario, Timed, Timing, World};
use std::collections::{BTreeSet, HashSet, VecDeque};

const TWO_RESTARTS: Faults = Faults { crashes: 2, recoveries: 2, ..Faults::NONE };

fn of(nodes: usize) -> Scenario {
    Scenario { faults: TWO_RESTARTS, ..Scenario::calm(nodes) }
}

/// The lists by which processes come to lead.
fn lists_with_a_leader(world: &World) -> BTreeSet<u8> {
    let mut known = HashSet::from([world.initial()]);
    let mut todo: VecDeque<_> = known.iter().cloned().collect();
    let mut found = BTreeSet::new();
    while let Some(state) = todo.pop_front() {
        let leads = |id: &_| state.process_of::<Quorum>(*id).role == Role::Leader;
        found.extend(state.ids().filter(leads).map(|id| state.process_of::<Quorum>(id).list));
        let mut actions = Vec::new();
        world.enabled(&state, &mut actions);
        for action in actions {
            let next = world.apply(&state, &action).state;
            if known.insert(next.clone()) {
                todo.push_back(next);
            }
        }
    }
    found
}

#[test]
fn a_member_joins_or_leaves_and_there_is_one_leader_at_a_time() {
    for (lists, nodes) in [("joins", 3), ("leaves", 3), ("joins", 4), ("replaces-in-steps", 4)] {
        let rules = rules("recommended", &[&format!("lists={lists}")]);
        let names = [&SAFETY[..], &["at-most-one-leader"]].concat();
        let report = report(rules, of(nodes), &names);
        assert_eq!(report.verdict(), Holds, "{lists} of {nodes}");
    }
}

/// Two lists with one number, which an operator has written by mistake: at most one has a leader.
#[test]
fn of_two_lists_with_one_number_one_has_a_leader() {
    let all = |nodes: u8| Faults { crashes: nodes, recoveries: nodes, ..Faults::NONE };
    for (lists, nodes) in
        [("fork-leaves", 3), ("fork-joins", 3), ("fork-mixed", 3), ("fork-joins", 4)]
    {
        let names = ["at-most-one-leader", "one-leader-per-epoch", "epochs-grow"];
        let scenario = Scenario { faults: all(nodes), ..Scenario::calm(usize::from(nodes)) };
        let report = report(rules("recommended", &[&format!("lists={lists}")]), scenario, &names);
        assert_eq!(report.verdict(), Holds, "{lists} of {nodes}");
    }
    let rules = rules("recommended", &["lists=fork-joins"]);
    let found =
        lists_with_a_leader(&world(rules, Scenario { faults: all(3), ..Scenario::calm(3) }));
    assert!(found.len() > 1, "one of them has: {found:?}");
}

#[test]
fn every_list_can_come_to_have_a_leader() {
    for (lists, nodes, most) in [("joins", 3, 1), ("leaves", 3, 1)] {
        let rules = rules("recommended", &[&format!("lists={lists}")]);
        let found = lists_with_a_leader(&world(rules, of(nodes)));
        assert_eq!(found, (0..=most).collect(), "{lists}");
    }
}

/// The process that joins, and any that restarts with the next list, keep to the leases of those
/// that have not.
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
    let scenario = Scenario { timing: Timing::Timed(timed), ..of(3) };
    let rules = rules("recommended", &["outrank=false", "lists=joins"]);
    let report = report(rules, scenario, &["one-lease-at-a-time", "at-most-one-leader"]);
    assert!(matches!(report.verdict(), Holds | HoldsWithin), "{:?}", report.verdict());
}
