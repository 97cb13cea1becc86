//! What the clock of a timed world owes, and when perfect timing speaks of it.

use bellwether_model::check::{Options, Verdict, check};
use bellwether_model::property::{self, AGREED_WITHIN, PERIODS_ACCURATE, TIMEOUTS_ACCURATE};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::world::World;
use bellwether_model::world::{Delay, Drift, Durations, Scenario, Slow, Start, Timed, Timing};

/// The verdicts on these properties of a protocol's default rules, where a message takes at most a
/// tick and everything else as long as `durations` say.
fn verdicts<const N: usize>(
    protocol: &str,
    scenario: Scenario,
    (durations, within): (&[(&str, u8)], u8),
    names: [&str; N],
) -> [Verdict; N] {
    let durations = Durations::of(durations.iter().copied()).expect("short names");
    let (delay, drift, within) = (Delay::AtMost(1), Drift::NONE, Some(within));
    let timing =
        Timing::Timed(Timed { delay, slow: Slow::NONE, processing: 0, drift, durations, within });
    decided(protocol, Scenario { timing, ..scenario }, names)
}

fn decided<const N: usize>(protocol: &str, scenario: Scenario, names: [&str; N]) -> [Verdict; N] {
    let protocol = REGISTRY.find(protocol).expect("the protocol exists");
    let rules = protocol.rules(None, &[]).expect("it has rules");
    let world = World::of(rules.clone(), scenario).expect("the scenario is possible");
    let asked = property::select(&world, &names.map(str::to_owned)).expect("all exist");
    let report = check(&world, &asked, &Options::default(), &mut |_| {}).expect("it is asked");
    let found: Vec<_> = report.decisions.iter().map(|decision| decision.verdict).collect();
    found.try_into().expect("a verdict for each")
}

/// A process in stage 2 begins its election again every 4 ticks, and with it its detector, which
/// may take 5. No arming of the detector lasts, so no expiry is owed.
#[test]
fn a_detector_that_is_armed_anew_before_it_must_notice_may_never_notice() {
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(2) }.with_crashes(1, 0);
    let names = ["stabilises", AGREED_WITHIN, TIMEOUTS_ACCURATE];
    let with = |ask| verdicts("stoller", cold, (&[("t-detect", 5), ("t-ask", ask)], 100), names);
    assert_eq!(with(4), [Verdict::Violated; 3]);
    assert_eq!(with(5), [Verdict::Violated; 3]);
    // The other may crash a tick after it was asked, and be noticed as late as the time-out.
    assert_eq!(with(6), [Verdict::Holds, Verdict::Holds, Verdict::Violated]);
    // No time-out is due any more.
    assert_eq!(with(7), [Verdict::Holds, Verdict::Holds, Verdict::Unknown]);
}

/// An announcement goes round a ring in more than 4 ticks if a process is down. Repeated every 4,
/// two of them are under way, which perfect timing excludes.
#[test]
fn accurate_time_outs_are_not_all_that_perfect_timing_assumes() {
    let scenario = Scenario::calm(3).with_crashes(1, 1);
    let names = ["follower-bound", TIMEOUTS_ACCURATE, PERIODS_ACCURATE];
    let with = |heartbeat| {
        let durations = [("t-hop", 3), ("t-lap", 20), ("t-detect", 1), ("t-heartbeat", heartbeat)];
        verdicts("chang-roberts", scenario, (&durations, 1), names)
    };
    assert_eq!(with(4), [Verdict::Violated, Verdict::Holds, Verdict::Violated]);
    assert_eq!(decided("chang-roberts", scenario, ["follower-bound"]), [Verdict::Holds]);
    assert_eq!(with(12), [Verdict::Holds; 3]);
}

/// With the durations that a protocol says are enough, perfect timing speaks of its rules.
#[test]
fn what_is_enough_is_what_perfect_timing_assumes() {
    let mut asked = Vec::new();
    for protocol in REGISTRY.iter().filter(|protocol| !protocol.enough().is_empty()) {
        let scenario = Scenario::calm(3).with_crashes(1, 0);
        let names = [TIMEOUTS_ACCURATE, PERIODS_ACCURATE];
        let found = verdicts(protocol.name(), scenario, (&protocol.enough(), 1), names);
        assert!(!found.contains(&Verdict::Violated), "{}: {found:?}", protocol.name());
        asked.push(protocol.name());
    }
    assert!(asked.len() >= 10, "{asked:?}");
}
