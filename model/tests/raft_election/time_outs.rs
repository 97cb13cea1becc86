//! That time-outs are random: what happens for ever if they are not.

use super::{RaftElection, decision, report, variant};
use bellwether_model::protocol::raft_election::{Logs, TimeOuts};
use bellwether_model::world::Scenario;

/// 1's log is stale, so it can never win; 2 and 3 are equals.
const STALE_1: Logs = Logs::ranked([0, 1, 1, 0, 0, 0, 0]);

#[test]
fn if_always_the_same_is_first_it_may_be_one_that_cannot_win() {
    for name in ["paper", "sticky", "recommended"] {
        let rules = RaftElection { timeouts: TimeOuts::Fixed, logs: STALE_1, ..variant(name) };
        let report = report(rules, Scenario::calm(3).with_crashes(1, 0), &["stable-leader"]);
        let lasso = decision(&report, "stable-leader").counterexample.as_ref();
        let cycle = lasso.and_then(|found| found.cycle.as_ref()).expect("it goes on for ever");
        let steps = cycle.iter().map(ToString::to_string);
        let expires: Vec<_> = steps.filter(|step| step.contains("expires")).collect();
        assert!(!expires.is_empty(), "{name}");
        assert!(expires.iter().all(|a| a == "1's election timer expires"), "{name}: {expires:?}");
    }
}
