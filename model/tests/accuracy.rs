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
    let protocol = REGISTRY.find(protocol).expect("the protocol exists");
    let rules = protocol.rules(None, &[]).expect("it has rules");
    let world = World::of(rules, Scenario { timing, ..scenario }).expect("it is possible");
    let asked = property::select(&world, &names.map(str::to_owned)).expect("all exist");
    let report = check(&world, &asked, &Options::default(), &mut |_| {}).expect("it is asked");
    let found: Vec<_> = report.decisions.iter().map(|decision| decision.verdict).collect();
    found.try_into().expect("a verdict for each")
}

/// A process in stage 2 asks again after 7 ticks, and its detector has noticed by then whether the
/// other is down. So no time-out is due, and nothing is claimed of them.
#[test]
fn where_no_time_out_is_due_none_is_called_accurate() {
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(2) }.with_crashes(1, 0);
    let names = ["stabilises", AGREED_WITHIN, TIMEOUTS_ACCURATE];
    let found = verdicts("stoller", cold, (&[("t-detect", 5), ("t-ask", 7)], 100), names);
    assert_eq!(found, [Verdict::Holds, Verdict::Holds, Verdict::Unknown]);
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
