//! A process that votes and never leads: the others elect with its vote, and it never runs.

use super::{CRASH, Holds, SAFETY, report, rules, with, world};
use bellwether_model::check::Verdict::Violated;
use bellwether_model::protocol::Id;
use bellwether_model::protocol::quorum::{Quorum, Role};
use bellwether_model::world::{Faults, Heals, Scenario};
use std::collections::{HashSet, VecDeque};

fn witnessed(variant: &str, witness: u8) -> Quorum {
    rules(variant, &[&format!("witness={witness}")])
}

/// Everything that the rules without a witness keep, the highest or the lowest being one.
#[test]
fn a_witness_costs_no_promise() {
    let loss = Faults { losses: 1.into(), ..Faults::NONE };
    for witness in [1, 3] {
        for faults in [CRASH, loss] {
            let report = report(witnessed("recommended", witness), with(faults), &[]);
            for decision in &report.decisions {
                let (name, verdict) = (decision.property.name, decision.verdict);
                let says_nothing = decision.reason.is_some();
                assert!(verdict == Holds || says_nothing, "{name}: {verdict:?}: {faults}");
            }
        }
        let healed = Scenario { heals: Heals::Must, ..with(Faults { cuts: 1, ..Faults::NONE }) };
        let names = ["first-leader-stays", "settles"];
        let report = report(witnessed("recommended", witness), healed, &names);
        assert_eq!(report.verdict(), Holds, "witness {witness}");
    }
}

/// With its vote, one of the other two is enough; alone, it does not lead.
#[test]
fn a_witness_votes_and_is_no_replacement_for_a_leader() {
    let crash = with(Faults { crashes: 1, ..Faults::NONE });
    let names = [&SAFETY[..], &["at-most-one-leader", "settles", "stable-leader"]].concat();
    assert_eq!(report(witnessed("recommended", 3), crash, &names).verdict(), Holds);
    // Process 1 is the leader of two, and the other a witness, whose vote it needs.
    let two = Scenario { nodes: 2, ..crash };
    let rules = witnessed("recommended", 2);
    assert_eq!(report(rules, two, &["settles"]).verdict(), Violated);
    let calm = Scenario { nodes: 2, ..with(Faults { suspicions: 1, ..Faults::NONE }) };
    assert_eq!(report(rules, calm, &["settles"]).verdict(), Holds);
}

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
