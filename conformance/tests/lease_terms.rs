//! Which nodes with other durations talk to each other, against the checker: the program lets two
//! talk exactly if no two processes with their durations can have a lease at the same time.

use bellwether_core::protocol::LeaseTerms;
use bellwether_model::check::{Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::{Id, Protocol, quorum::Quorum, variant};
use bellwether_model::world::{Delay, Durations, Faults, Scenario, Timed, Timing, World};
use std::time::Duration;

/// What every other node has.
const LEASE: u8 = 5;
const LONG_PROMISE: u8 = 9;

fn terms(lease: u8, promise: u8) -> LeaseTerms {
    let [lease, promise] = [lease, promise].map(|ticks| Duration::from_secs(ticks.into()));
    LeaseTerms { lease, promise, drift_ppm: 0 }
}

/// Whether no two processes have a lease, where that of 2, which leads at first, rests on 3, which
/// only votes, and 1 asks 3 as well.
fn is_safe(lease_of_2: u8, promise_of_3: u8) -> bool {
    let usual = [
        ("t-round", 3),
        ("t-lease", LEASE),
        ("t-promise", LONG_PROMISE),
        ("t-elec", 3),
        ("t-backoff", 3),
        ("t-skew", 1),
    ];
    let durations = Durations::of(usual)
        .and_then(|all| all.with_own("t-lease", Id::at(1), lease_of_2))
        .and_then(|all| all.with_own("t-promise", Id::at(2), promise_of_3));
    let timed = Timed::of(Delay::AtMost(1), durations.expect("short names"));
    let scenario = Scenario {
        timing: Timing::Timed(timed),
        faults: Faults { cuts: 1, ..Faults::NONE },
        missing: "1-2".parse().expect("a link"),
        ..Scenario::calm(3)
    };
    let rules = [("outrank", "false"), ("witness", "3")];
    let rules = rules.map(|(rule, value)| (rule.to_owned(), value.to_owned()));
    let rules: Quorum = variant(Quorum::VARIANTS[0].name, &rules).expect("there are such rules");
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let asked = property::select(&world, &["one-lease-at-a-time".to_owned()]).expect("it exists");
    let report = check(&world, &asked, &Options::default(), &mut |_| {}).expect("it is asked");
    assert_ne!(report.verdict(), Verdict::Unknown);
    report.verdict() != Verdict::Violated
}

#[test]
fn nodes_talk_exactly_if_no_lease_of_one_outlasts_a_promise_of_the_other() {
    for (lease, promise) in [(5, 5), (6, 5), (6, 6), (7, 6), (5, 6)] {
        let (leads, votes) = (terms(lease, LONG_PROMISE), terms(LEASE, promise));
        assert_eq!(leads.fit(&votes), votes.fit(&leads));
        assert_eq!(leads.fit(&votes), is_safe(lease, promise), "{lease} {promise}");
    }
}
