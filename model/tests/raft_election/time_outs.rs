//! That time-outs are random: what it is good for, and what it cannot do.

use super::{RaftElection, decision, report, variant, violated};
use bellwether_model::check::Verdict;
use bellwether_model::protocol::raft_election::{Logs, TimeOuts};
use bellwether_model::world::{Faults, Scenario};

/// 1's log is stale, so it can never win; 2 and 3 are equals.
const STALE_1: Logs = Logs::ranked([0, 1, 1, 0, 0, 0, 0]);

#[test]
fn if_always_the_same_is_first_it_may_be_one_that_cannot_win() {
    for name in ["paper", "sticky", "recommended"] {
        let verdict = |timeouts| {
            let rules = RaftElection { timeouts, logs: STALE_1, ..variant(name) };
            let report = report(rules, Scenario::calm(3).with_crashes(1, 0), &["stable-leader"]);
            let decision = decision(&report, "stable-leader");
            let lasso = decision.counterexample.as_ref();
            let cycle = lasso.and_then(|found| found.cycle.clone()).unwrap_or_default();
            let first: Vec<_> = cycle.iter().map(ToString::to_string).collect();
            (decision.verdict, first.into_iter().filter(|a| a.contains("expires")).collect())
        };
        assert_eq!(verdict(TimeOuts::Random), (Verdict::Holds, Vec::new()), "{name}");
        let (fixed, expires): (_, Vec<String>) = verdict(TimeOuts::Fixed);
        assert_eq!(fixed, Verdict::Violated, "{name}");
        assert!(!expires.is_empty(), "{name}");
        assert!(expires.iter().all(|a| a == "1's election timer expires"), "{name}: {expires:?}");
    }
}

/// With accurate time-outs leaders come in the order of their terms. Two that are not are enough to
/// elect a process in a term that is over.
#[test]
fn a_leader_of_an_older_term_can_come_after_that_of_a_newer_one() {
    let order = ["terms-in-order", "election-safety"];
    let crash = Scenario::calm(3).with_crashes(1, 1);
    for name in ["paper", "recommended"] {
        assert_eq!(report(variant(name), crash, &order).verdict(), Verdict::Holds, "{name}");
        let faults = Faults { suspicions: 2, ..Faults::NONE };
        let suspicious = report(variant(name), Scenario { faults, ..Scenario::calm(3) }, &order);
        assert_eq!(violated(&suspicious), ["terms-in-order"], "{name}");
    }
}
