//! Walks through all programs: what each must have met, that none raises a false alarm, and what is
//! said of one that is cut short or cannot be begun.

use bellwether_conformance::Error;
use bellwether_conformance::lockstep::{Outcome, lockstep};
use bellwether_conformance::mapping;
use bellwether_conformance::mapping::Comparison;
use bellwether_model::check::{Limits, Reason};
use bellwether_model::protocol::bully::Bully;
use bellwether_model::protocol::specifications;
use bellwether_model::survey::surroundings;
use bellwether_model::world::{Faults, Heals, Network, Scenario, Start, Timing, World};
use std::collections::BTreeSet;

use crate::compared;

/// A mapping conforms in this world, as far as it is walked.
fn walk(mapping: &dyn Comparison, scenario: Scenario, limits: &Limits) -> Outcome {
    let outcome = mapping.lockstep(scenario, 1, limits, &mut |_, _| {});
    let name = mapping.description().protocol;
    let outcome = outcome.unwrap_or_else(|error| panic!("{name}, {scenario}: {error}"));
    if let Some(divergence) = &outcome.divergence {
        panic!("{name}, {scenario}:\n{}", divergence.report());
    }
    outcome
}

/// A script that pins the default world so asks of every timer what happens when it expires.
#[test]
fn the_default_worlds_meet_all_that_there_is() {
    for mapping in mapping::mappings().0 {
        let world = Scenario::calm(3).with_crashes(1, 0);
        let Outcome { summary, large_group, .. } = walk(&**mapping, world, &Limits::NONE);
        let name = mapping.description().protocol;
        // A crash leaves a majority, so no process of the quorum bully fails to find one, and no
        // leader waits for two rounds. In the long run one of two nodes crashes.
        assert_eq!(summary.coverage.missing, [""; 0], "{name}: {:?}", summary.coverage);
        for (what, list) in summary.coverage.lists() {
            assert!(!list.is_empty(), "{name} has no {what}");
        }
        // No node stands beside a store that the specification plays, nor is a member one of many.
        let has_group = mapping.without_services().is_none() && name != "member";
        assert_eq!(large_group.wrong, None, "{name}");
        assert_eq!(large_group.size >= 8, has_group, "{name}: {large_group:?}");
    }
}

/// Not only asked: in the executions of a few worlds each timer expires and each kind of message
/// arrives, whatever the configured durations are.
#[test]
fn all_that_there_is_happens_on_the_way() {
    let limits = Limits { states: Some(20_000), ..Limits::NONE };
    for mapping in mapping::mappings().0 {
        let name = mapping.description().protocol;
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
            let coverage = walk(&**mapping, scenario, &limits).summary.coverage;
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
                vec!["message challenge", "message entrust", "message yield"]
            }
            // Nothing is asked of a leader.
            ("quorum", _) => vec!["message invite"],
            // No holder is asked to give its lease back.
            ("lease", "recommended") => vec!["message available", "message release"],
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

/// Each protocol conforms in these worlds, of which the walks take so many pairs: those with the
/// fewest steps. Long executions are taken in [`crate::random_walks`].
fn conform(worlds: impl Fn(&str) -> Vec<Scenario>) {
    let limits = Limits { states: Some(4_000), ..Limits::NONE };
    for mapping in mapping::mappings().0 {
        for scenario in worlds(mapping.description().protocol) {
            let summary = walk(&**mapping, scenario, &limits).summary;
            assert!(summary.transitions > 0, "{}, {scenario}", mapping.description().protocol);
        }
    }
}

/// As far as so many pairs go, a walk has probed each node that it has met.
#[test]
fn a_walk_that_is_cut_short_has_probed() {
    let short = Limits { states: Some(1), ..Limits::NONE };
    for mapping in mapping::mappings().0 {
        let summary = walk(&**mapping, Scenario::calm(3).with_crashes(1, 0), &short).summary;
        assert_eq!(summary.cut_short, Some(Reason::States), "{}", mapping.description().protocol);
        assert!(summary.probes > 0 && summary.probed > 0, "{summary:?}");
        assert_eq!(summary.probed, summary.nodes, "{summary:?}");
    }
}

#[test]
fn in_the_worlds_of_the_survey() {
    conform(|name| {
        let protocol = specifications().find(name).expect("there is one");
        let worlds = surroundings(3);
        let scenarios = worlds.iter().map(|world| world.scenario(protocol).expect("possible"));
        scenarios.flatten().filter(|scenario| scenario.timing.timed().is_none()).collect()
    });
}

#[test]
fn with_every_fault() {
    let faults = [
        Faults { suspicions: 2, ..Faults::NONE },
        Faults { suspicions: 1, crashes: 1, recoveries: 1, ..Faults::NONE },
        Faults { cuts: 2, ..Faults::NONE },
        Faults { cuts: 1, losses: 1.into(), suspicions: 1, ..Faults::NONE },
        Faults { losses: 2.into(), crashes: 1, ..Faults::NONE },
        Faults { duplicates: 1, suspicions: 1, ..Faults::NONE },
    ];
    conform(|_| {
        let calm = Scenario { capacity: Some(2), ..Scenario::calm(3) };
        let with = faults.map(|faults| Scenario { faults, ..calm });
        let must = Scenario { heals: Heals::Must, ..with[2] };
        with.into_iter().chain([must]).collect()
    });
}

#[test]
fn with_timers_that_may_always_expire() {
    conform(|_| {
        let calm = Scenario {
            timing: Timing::Asynchronous,
            capacity: Some(1),
            ..Scenario::calm(2).with_crashes(1, 1)
        };
        let worlds = [Network::Fifo, Network::Unordered, Network::Set]
            .map(|network| Scenario { network, ..calm });
        let three = Scenario { nodes: 3, ..calm };
        let cold = Scenario { start: Start::Cold, ..three };
        let lossy = Faults { losses: 2.into(), cuts: 1, ..Faults::NONE };
        let faulty = Scenario { faults: lossy, ..three };
        worlds.into_iter().chain([three, cold, faulty]).collect()
    });
}

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

#[test]
fn with_any_number_of_threads_a_walk_counts_the_same() {
    let (timing, capacity) = (Timing::Asynchronous, Some(1));
    let loose = Scenario { timing, capacity, ..CRASH_AND_RECOVERY };
    for (scenario, states) in [(CRASH_AND_RECOVERY, None), (loose, Some(4_000))] {
        let world = World::new(mapping::bully::mapping().rules, scenario).expect("possible");
        let limits = Limits { states, ..Limits::NONE };
        let counted = |threads| {
            let walked =
                lockstep(&world, &mapping::bully::mapping(), threads, &limits, &mut |_| {});
            let mut summary = walked.expect("comparable").summary;
            summary.recount(&world, threads, &limits, &mut |_| {}).expect("it is whole");
            summary.seconds = 0.0;
            summary
        };
        assert_eq!(counted(1), counted(3), "{scenario}");
    }
}

#[test]
fn a_recount_that_is_cut_short_says_so() {
    let mut summary = compared::walk(&mapping::bully::mapping(), CRASH_AND_RECOVERY, &Limits::NONE);
    assert_eq!(summary.cut_short, None);
    let world = World::new(mapping::bully::mapping().rules, CRASH_AND_RECOVERY).expect("possible");
    let little = Limits { memory: Some(1), ..Limits::NONE };
    summary.recount(&world, 1, &little, &mut |_| {}).expect("nothing differs as far as it went");
    assert_eq!(summary.cut_short, Some(Reason::Memory));
}

#[test]
fn rules_that_the_program_does_not_implement_are_refused() {
    let world = World::new(Bully::BASELINE, Scenario::calm(3)).expect("possible");
    let refused = lockstep(&world, &mapping::bully::mapping(), 1, &Limits::NONE, &mut |_| {})
        .expect_err("refused");
    assert!(matches!(refused, Error::Rules { .. }), "{refused}");
    let words = refused.to_string();
    assert!(words.contains("implements 'recommended'") && words.contains("'baseline'"), "{words}");
}

#[test]
fn a_recount_that_differs_is_an_error() {
    let mut summary = compared::walk(&mapping::bully::mapping(), CRASH_AND_RECOVERY, &Limits::NONE);
    let other = World::new(mapping::bully::mapping().rules, Scenario::calm(3)).expect("possible");
    let error = summary.recount(&other, 1, &Limits::NONE, &mut |_| {}).expect_err("another world");
    assert!(matches!(error, Error::Recount { .. }), "{error}");
}
