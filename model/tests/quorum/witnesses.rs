//! A process that votes and never leads: the others elect with its vote, and it never runs.

use super::{CRASH, rules, with, world};
use bellwether_model::protocol::Id;
use bellwether_model::protocol::quorum::{Quorum, Role};
use bellwether_model::world::Faults;
use std::collections::{HashSet, VecDeque};

/// Whatever happens, and whether it would outrank or is to be next; and it is counted.
#[test]
fn a_witness_is_in_majorities_and_never_runs() {
    let asked = rules("recommended", &["witness=1", "transfer=1"]);
    let eager = rules("recommended", &["witness=3", "preemption=at-once"]);
    for (rules, witness) in [(asked, Id::at(0)), (eager, Id::at(2))] {
        let faults = Faults { suspicions: 1, ..CRASH };
        let world = world(rules, with(faults));
        let mut known = HashSet::from([world.initial()]);
        let mut todo: VecDeque<_> = known.iter().cloned().collect();
        let mut counted = false;
        while let Some(state) = todo.pop_front() {
            assert_eq!(state.process_of::<Quorum>(witness).role, Role::Follower, "{state:?}");
            let counts = |id: Id| state.process_of::<Quorum>(id).granted.contains(witness);
            counted |= state.ids().any(counts);
            let mut actions = Vec::new();
            world.enabled(&state, &mut actions);
            for action in actions {
                let next = world.apply(&state, &action).state;
                if known.len() < 20_000 && known.insert(next.clone()) {
                    todo.push_back(next);
                }
            }
        }
        assert!(counted && known.len() > 900, "{}", known.len());
    }
}
