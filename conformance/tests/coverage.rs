//! What a walk must have met: each timer, each kind of message, each rule.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::{AnyMapping, MAPPINGS};
use bellwether_model::check::Limits;
use bellwether_model::world::{Faults, Scenario, Start, Timing};
use std::collections::BTreeSet;

fn walk(mapping: &dyn AnyMapping, scenario: Scenario, limits: &Limits) -> Summary {
    let outcome = mapping.lockstep(scenario, limits, &mut |_, _| {}).expect("comparable");
    if let Some(divergence) = outcome.divergence {
        panic!("{}", divergence.report(false));
    }
    outcome.summary
}

/// So a script that pins the default world asks of every timer what happens when it expires.
#[test]
fn the_default_worlds_meet_all_that_there_is() {
    for mapping in MAPPINGS.0 {
        let summary = walk(*mapping, Scenario::calm(3).with_crashes(1, 0), &Limits::NONE);
        let name = mapping.name();
        let unmet = match (name, mapping.description().variant.as_str()) {
            // One crash leaves a majority, so no process of the quorum bully fails to find one.
            // Every round has a majority too, and so no second one waits for it.
            ("quorum", "recommended") => &["timer backoff", "timer later"][..],
            // Nor does a process follow a lower one: the highest never recovers.
            ("quorum", _) => &["timer backoff", "timer dwell", "timer later"],
            _ => &[],
        };
        assert_eq!(summary.coverage.missing, unmet, "{name}: {:?}", summary.coverage);
        for (what, list) in summary.coverage.lists() {
            assert!(!list.is_empty(), "{name} has no {what}");
        }
    }
}

/// Not only asked: in the executions of a few worlds each timer expires, each kind of message
/// arrives and each rule decides, whatever the configured durations are.
#[test]
fn all_that_there_is_happens_on_the_way() {
    let limits = Limits { states: Some(20_000), ..Limits::NONE };
    for mapping in MAPPINGS.0 {
        let name = mapping.name();
        let nodes = if name == "lease" { 2 } else { 3 };
        let calm = Scenario::calm(nodes).with_crashes(1, 1);
        let timing = Timing::Asynchronous;
        let worlds = [
            calm,
            Scenario { start: Start::Cold, ..calm },
            Scenario { timing, capacity: Some(1), ..calm },
            Scenario { faults: Faults { suspicions: 2, ..calm.faults }, ..calm },
        ];
        let mut waiting: Option<BTreeSet<String>> = None;
        for scenario in worlds {
            let coverage = walk(*mapping, scenario, &limits).coverage;
            let unmet = coverage.lists().into_iter().flat_map(|(what, list)| {
                let unmet = list.iter().filter(|(_, met)| met.walked == 0);
                unmet.map(move |(name, _)| format!("{what} {name}"))
            });
            let unmet = unmet.filter(|name| !coverage.never.contains_key(name)).collect();
            waiting = Some(match waiting {
                Some(waiting) => waiting.intersection(&unmet).cloned().collect(),
                None => unmet,
            });
        }
        let probed = match (name, mapping.description().variant.as_str()) {
            // No process challenges a leader by these rules, so it is only asked what would follow.
            ("quorum", "recommended") => {
                let met = ["message challenge", "message entrust", "message yield"];
                [&met[..], &["rule handover", "rule heir"]].concat()
            }
            // Nothing is asked of a leader.
            ("quorum", _) => vec!["message invite"],
            // No holder is asked to give its lease back.
            ("lease", "recommended") => {
                vec!["message available", "message release", "rule release"]
            }
            // Nor is what arrives at the store compared, which the specification plays.
            ("lease", store) => {
                let claims = ["redis-setnx", "redlock"].contains(&store);
                let asks = if claims { "message claim" } else { "message acquire" };
                let others = ["message available", "message release", "message renew"];
                [&others[..], &["message write", asks]].concat()
            }
            // Nothing is prepared in two phases.
            ("two-phase-commit", _) => {
                vec!["message precommit", "message preabort"]
            }
            _ => Vec::new(),
        };
        let probed: BTreeSet<_> = probed.iter().map(ToString::to_string).collect();
        assert_eq!(waiting, Some(probed), "{name}");
    }
}
