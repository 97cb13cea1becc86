//! Processes that only observe: they follow, and whatever becomes of them changes nothing for those
//! that vote.

use super::{CRASH, Holds, SAFETY, report, rules, with, world};
use bellwether_model::check::Verdict::Violated;
use bellwether_model::protocol::Id;
use bellwether_model::protocol::quorum::{Quorum, Role};
use bellwether_model::world::{Faults, Heals, Scenario};
use std::collections::{HashSet, VecDeque};

fn observed(variant: &str, observer: u8) -> Quorum {
    rules(variant, &[&format!("observer={observer}")])
}

/// Three voters and the lowest or the highest process, which observes.
fn four(faults: Faults) -> Scenario {
    Scenario { nodes: 4, ..with(faults) }
}

#[test]
fn voters_keep_what_they_promise_and_an_observer_follows() {
    let loss = Faults { losses: 1.into(), ..Faults::NONE };
    for observer in [1, 4] {
        for faults in [CRASH, loss] {
            let report = report(observed("recommended", observer), four(faults), &[]);
            for decision in &report.decisions {
                let (name, verdict) = (decision.property.name, decision.verdict);
                let says_nothing = decision.reason.is_some();
                assert!(verdict == Holds || says_nothing, "{name}: {verdict:?}: {faults}");
            }
        }
        let healed = Scenario { heals: Heals::Must, ..four(Faults { cuts: 1, ..Faults::NONE }) };
        let names = ["first-leader-stays", "settles"];
        let report = report(observed("recommended", observer), healed, &names);
        assert_eq!(report.verdict(), Holds, "observer {observer}");
    }
}

/// Of two voters and an observer, both voters are needed.
#[test]
fn an_observer_replaces_no_voter() {
    for observer in [1, 3] {
        let rules = observed("recommended", observer);
        let safe = [&SAFETY[..], &["at-most-one-leader"]].concat();
        assert_eq!(report(rules, with(CRASH), &safe).verdict(), Holds, "observer {observer}");
        let crash = with(Faults { crashes: 1, ..Faults::NONE });
        assert_eq!(report(rules, crash, &["settles"]).verdict(), Violated, "observer {observer}");
        let calm = with(Faults { suspicions: 1, ..Faults::NONE });
        assert_eq!(report(rules, calm, &["settles"]).verdict(), Holds, "observer {observer}");
    }
}

/// Whatever happens, and whether it would outrank or is to be next.
#[test]
fn an_observer_is_in_no_election_and_in_no_majority() {
    let asked = rules("recommended", &["observer=1", "transfer=1"]);
    let eager = rules("recommended", &["observer=3", "preemption=at-once"]);
    for (rules, observer) in [(asked, Id::at(0)), (eager, Id::at(2))] {
        let faults = Faults { suspicions: 1, ..CRASH };
        let world = world(rules, with(faults));
        let mut known = HashSet::from([world.initial()]);
        let mut todo: VecDeque<_> = known.iter().cloned().collect();
        while let Some(state) = todo.pop_front() {
            assert_eq!(state.process_of::<Quorum>(observer).role, Role::Follower, "{state:?}");
            let counted = |id: Id| state.process_of::<Quorum>(id).granted.contains(observer);
            assert!(!state.ids().any(counted), "{state:?}");
            let mut actions = Vec::new();
            world.enabled(&state, &mut actions);
            for action in actions {
                let next = world.apply(&state, &action).state;
                if known.len() < 20_000 && known.insert(next.clone()) {
                    todo.push_back(next);
                }
            }
        }
        assert!(known.len() > 900, "{}", known.len());
    }
}
