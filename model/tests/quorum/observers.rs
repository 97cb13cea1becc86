//! Processes that only observe: whatever happens, they follow, and no majority counts them.

use super::{CRASH, rules, with, world};
use bellwether_model::protocol::Id;
use bellwether_model::protocol::quorum::{Quorum, Role};
use bellwether_model::world::Faults;
use std::collections::{HashSet, VecDeque};

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
