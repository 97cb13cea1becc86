//! Leases against promises, node by node: a leader whose lease lasts as long as the promise of a
//! voter on which it rests, or longer, can be one of two.

use super::{group, report};
use bellwether_model::check::Verdict::{self, Holds, HoldsWithin, Violated};
use bellwether_model::protocol::Id;
use bellwether_model::world::{Delay, Durations, Faults, Scenario, Timed, Timing};

/// What a process has of its own: the duration, the process, and its ticks.
type Own = (&'static str, usize, u8);

/// What is found of two leaders, and of two leases by the clocks of those that have them, where the
/// group has leases of 6 ticks and promises of 7, and some have others. The lease of the first
/// leader rests on one voter, from which it is cut off; the third process asks that voter.
fn verdicts(rules: &[&str], without: &str, own: &[Own]) -> [Verdict; 2] {
    let usual = [
        ("t-round", 3),
        ("t-lease", 6),
        ("t-promise", 7),
        ("t-elec", 3),
        ("t-backoff", 3),
        ("t-skew", 1),
    ];
    let mut durations = Durations::of(usual).expect("short names");
    for &(name, process, ticks) in own {
        durations = durations.with_own(name, Id::at(process - 1), ticks).expect("few enough");
    }
    let timed = Timed::of(Delay::AtMost(1), durations);
    let scenario = Scenario {
        timing: Timing::Timed(timed),
        faults: Faults { cuts: 1, ..Faults::NONE },
        missing: without.parse().expect("a link"),
        ..Scenario::calm(3)
    };
    let rules = [&["outrank=false"][..], rules].concat();
    let names = ["at-most-one-leader", "one-lease-at-a-time"];
    let report = report(group("quorum", "recommended", &rules), scenario, &names);
    [0, 1].map(|at| report.decisions[at].verdict)
}

fn keeps(verdict: Verdict) -> bool {
    matches!(verdict, Holds | HoldsWithin)
}

/// Process 3 votes only, so that the worlds are small: 2 leads at first, and its lease rests on 3.
fn of_two_and_three(own: &[Own]) -> [Verdict; 2] {
    verdicts(&["witness=3"], "1-2", own)
}

#[test]
fn a_lease_and_a_promise_are_compared_across_processes() {
    for lease in 5..=7 {
        for promise in 6..=7 {
            let [one_leader, one_lease] =
                of_two_and_three(&[("t-lease", 2, lease), ("t-promise", 3, promise)]);
            assert_eq!(keeps(one_leader), lease < promise, "{lease} {promise}: {one_leader:?}");
            assert_eq!(keeps(one_lease), lease <= promise, "{lease} {promise}: {one_lease:?}");
        }
    }
}

/// What a process has itself, or one that it does not rest on, does not matter.
#[test]
fn no_other_lease_or_promise_matters() {
    for own in [("t-promise", 2, 6), ("t-promise", 1, 6), ("t-lease", 1, 6), ("t-lease", 3, 8)] {
        let [one_leader, one_lease] = of_two_and_three(&[own]);
        assert!(keeps(one_leader) && keeps(one_lease), "{own:?}: {one_leader:?} {one_lease:?}");
    }
}

/// The same with three that may lead, whichever voter the lease of the first rests on.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: half a minute; cargo test --workspace --features slow"
)]
fn each_pair_of_a_leader_and_a_voter_is_compared() {
    for (voter, without) in [(2, "1-3"), (1, "2-3")] {
        let [one_leader, one_lease] = verdicts(&[], without, &[("t-lease", 3, 7)]);
        assert!(one_leader == Violated && keeps(one_lease), "{voter}: {one_leader:?}");
        // Process 1, which asks the second, takes over a tick later than 2 would.
        let [one_leader, one_lease] = verdicts(&[], without, &[("t-promise", voter, 6)]);
        assert_eq!(keeps(one_leader), voter == 2, "{voter}: {one_leader:?}");
        assert!(keeps(one_lease), "{voter}: {one_lease:?}");
        assert_eq!(verdicts(&[], without, &[("t-promise", voter, 5)])[0], Violated, "{voter}");
        let both = [("t-lease", 3, 8), ("t-promise", voter, 9)];
        assert!(keeps(verdicts(&[], without, &both)[0]), "{both:?}");
    }
}
