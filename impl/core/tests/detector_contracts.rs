//! Whatever arrives, and whenever: the detectors keep what `bellwether_core::detector` promises.

use std::time::Duration;

use bellwether_core::detector::adaptive::{self, Adaptive};
use bellwether_core::detector::fixed::{self, Fixed};
use bellwether_core::detector::phi::{self, Phi};
use bellwether_core::detector::{Detector, LONGEST};
use bellwether_core::protocol::Time;
use proptest::prelude::*;

/// A year after the origin, so that clocks can go back.
const START: Time = Time::from_nanos(365 * 24 * 3_600 * 1_000_000_000);

/// How long after the time before something happens, in nanoseconds; negative if the clock goes
/// back. Duplicates, bursts, ordinary intervals, and gaps of days.
fn gap() -> impl Strategy<Value = i64> {
    const DAY: i64 = 24 * 3_600 * 1_000_000_000;
    prop_oneof![
        2 => Just(0),
        1 => -DAY..0,
        2 => 1..1_000_i64,
        8 => 50_000_000..200_000_000_i64,
        2 => 200_000_000..5_000_000_000_i64,
        1 => 0..10 * DAY,
    ]
}

fn gaps() -> impl Strategy<Value = Vec<i64>> {
    proptest::collection::vec(gap(), 0..60)
}

/// From a nanosecond to a day, every order of magnitude alike.
fn duration() -> impl Strategy<Value = Duration> {
    let longest = LONGEST.as_nanos() as f64;
    (0.0..=1.0_f64).prop_map(move |exponent| Duration::from_nanos(longest.powf(exponent) as u64))
}

/// A shortest, an expected and a longest interval.
fn intervals() -> impl Strategy<Value = [Duration; 3]> {
    [duration(), duration(), duration()].prop_map(|mut intervals| {
        intervals.sort();
        intervals
    })
}

fn fixed_detector() -> impl Strategy<Value = Fixed> {
    duration().prop_map(|timeout| {
        let parameters = fixed::Settings { timeout }.check().expect("good settings");
        Fixed::watch(&parameters, START)
    })
}

fn adaptive_detector() -> impl Strategy<Value = Adaptive> {
    (intervals(), 1.1..=1000.0_f64).prop_map(|([shortest, interval, longest], multiple)| {
        let settings = adaptive::Settings { interval, shortest, longest, multiple };
        Adaptive::watch(&settings.check().expect("good settings"), START)
    })
}

fn phi_settings() -> impl Strategy<Value = phi::Settings> {
    let threshold = prop_oneof![0.5..20.0_f64, 0.5..=1000.0_f64];
    let window = prop_oneof![2..20_usize, 2..=10_000_usize];
    let pause = prop_oneof![Just(Duration::ZERO), duration()];
    (intervals(), threshold, window, duration(), pause).prop_map(
        |([shortest, interval, longest], threshold, window, deviation, pause)| phi::Settings {
            threshold,
            window,
            interval,
            shortest,
            longest,
            deviation,
            pause,
        },
    )
}

fn phi_detector() -> impl Strategy<Value = Phi> {
    phi_settings().prop_map(|settings| Phi::watch(&settings.check().expect("good settings"), START))
}

/// What must hold of a detector that was last given something at `now`.
fn well_behaved(detector: &impl Detector, now: Time) -> Result<(), TestCaseError> {
    let (heard, bounds) = (detector.heard(), detector.bounds());
    prop_assert!(heard >= now, "a heartbeat is heard when it arrives, or on a clock ahead of it");
    prop_assert!(!bounds.shortest.is_zero() && bounds.shortest <= bounds.longest);
    let time_out = detector.time_out();
    prop_assert!(bounds.contain(time_out), "{:?} is not within {:?}", time_out, bounds);
    // Accuracy, as far as it goes; also if the clock goes back after the heartbeat.
    let nanosecond = Duration::from_nanos(1);
    for time in [now, heard, heard + (bounds.shortest - nanosecond)] {
        prop_assert!(!detector.suspects(time), "suspected too soon");
    }
    // Strong completeness: suspected, and for good.
    prop_assert!(!detector.suspects(heard + (time_out - nanosecond)));
    for time in [detector.deadline(), heard + bounds.longest, Time::from_nanos(u64::MAX)] {
        prop_assert!(detector.suspects(time), "not suspected in time");
    }
    Ok(())
}

fn keeps_the_promises(
    detector: &mut (impl Detector + Clone),
    gaps: &[i64],
) -> Result<(), TestCaseError> {
    let bounds = detector.bounds();
    let mut now = START.as_nanos();
    well_behaved(detector, START)?;
    for &gap in gaps {
        now = now.saturating_add_signed(gap);
        let heard = detector.heard();
        detector.heartbeat(Time::from_nanos(now));
        prop_assert_eq!(detector.heard(), heard.max(Time::from_nanos(now)));
        prop_assert_eq!(detector.bounds(), bounds, "the bounds depend on the settings alone");
        well_behaved(detector, Time::from_nanos(now))?;
    }
    // No time-out ends after the end of time, and nothing breaks.
    detector.heartbeat(Time::from_nanos(u64::MAX));
    prop_assert!(bounds.contain(detector.time_out()));
    Ok(())
}

/// The time-out of a copy that lives so many nanoseconds later.
fn time_out_after(mut detector: impl Detector, start: u64, gaps: &[i64]) -> Duration {
    let mut now = start;
    for &gap in gaps {
        now = now.saturating_add_signed(gap);
        detector.heartbeat(Time::from_nanos(now));
    }
    detector.time_out()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn fixed_keeps_the_promises(mut detector in fixed_detector(), gaps in gaps()) {
        keeps_the_promises(&mut detector, &gaps)?;
    }

    #[test]
    fn adaptive_keeps_the_promises(mut detector in adaptive_detector(), gaps in gaps()) {
        keeps_the_promises(&mut detector, &gaps)?;
    }

    #[test]
    fn phi_keeps_the_promises(mut detector in phi_detector(), gaps in gaps()) {
        keeps_the_promises(&mut detector, &gaps)?;
    }

    /// φ never falls while silence lasts, is finite, and reaches the threshold at the deadline:
    /// not before, and not after, but for the nanosecond that the deadline is rounded to.
    #[test]
    fn phi_reaches_the_threshold_at_the_deadline(settings in phi_settings(), gaps in gaps()) {
        let mut detector = Phi::watch(&settings.check().expect("good settings"), START);
        let mut now = START.as_nanos();
        for gap in gaps {
            now = now.saturating_add_signed(gap);
            detector.heartbeat(Time::from_nanos(now));
        }
        let rounding = (detector.time_out() / 1_000_000_000).max(Duration::from_nanos(8));
        let deadline = detector.deadline();
        let before = Time::from_nanos(deadline.as_nanos() - rounding.as_nanos() as u64);
        prop_assert!(detector.phi(before) < settings.threshold);
        prop_assert!(detector.phi(deadline + rounding) >= settings.threshold);
        let times = [START, detector.heard(), before, deadline, deadline + rounding];
        let phis = times.map(|time| detector.phi(time));
        prop_assert!(phis.is_sorted(), "{:?}", phis);
        let at_the_end = detector.phi(Time::from_nanos(u64::MAX));
        prop_assert!(phis[0] >= 0.0 && at_the_end.is_finite());
    }

    #[test]
    fn only_differences_of_times_matter(
        settings in phi_settings(), gaps in gaps(), later in 0..u64::from(u32::MAX),
    ) {
        // No clock goes back beyond the origin, where times are cut off.
        let gaps: Vec<i64> = gaps.into_iter().map(|gap| gap.max(-1_000)).collect();
        let parameters = settings.check().expect("good settings");
        let start = START.as_nanos();
        let moved = Time::from_nanos(start + later);
        prop_assert_eq!(
            time_out_after(Phi::watch(&parameters, START), start, &gaps),
            time_out_after(Phi::watch(&parameters, moved), start + later, &gaps)
        );
    }
}

const INTERVAL: Duration = Duration::from_millis(100);

fn all_with_defaults() -> Vec<Box<dyn Detector>> {
    let fixed = fixed::Settings::for_interval(INTERVAL).check().expect("good settings");
    let adaptive = adaptive::Settings::for_interval(INTERVAL).check().expect("good settings");
    let phi = phi::Settings::for_interval(INTERVAL).check().expect("good settings");
    vec![
        Box::new(Fixed::watch(&fixed, START)),
        Box::new(Adaptive::watch(&adaptive, START)),
        Box::new(Phi::watch(&phi, START)),
    ]
}

/// The two that learn become patient with a process that slows down for good: they make some
/// mistakes, and then none. (The fixed time-out makes one each interval, for ever.) Six times as
/// slow is more than what an interval counts as, and still within what is borne.
#[test]
fn mistakes_end_when_the_process_has_become_slower_for_good() {
    for slow in [INTERVAL * 4, INTERVAL * 6] {
        for mut detector in all_with_defaults().into_iter().skip(1) {
            (0..2000).for_each(|_| detector.heartbeat(detector.heard() + INTERVAL));
            assert!(detector.suspects(detector.heard() + slow), "slow is suspicious at first");
            (0..2000).for_each(|_| detector.heartbeat(detector.heard() + slow));
            assert!(!detector.suspects(detector.heard() + slow));
            assert!(detector.suspects(detector.heard() + slow * 10));
        }
    }
}

/// A thousand duplicates do not turn one missing heartbeat into a failure.
#[test]
fn duplicates_do_not_make_impatient_beyond_measure() {
    for mut detector in all_with_defaults() {
        for _ in 0..1000 {
            detector.heartbeat(START);
        }
        assert!(!detector.suspects(START + INTERVAL), "{:?}", detector.time_out());
    }
}
