//! A well-known telling of the φ-accrual detector, in a course lesson on leader election (class
//! `HeartbeatFailureDetector`), has five flaws. Each is shown here, and that ours has it not.

use std::time::Duration;

use bellwether_core::detector::adaptive::{self, Adaptive};
use bellwether_core::detector::fixed::{self, Fixed};
use bellwether_core::detector::phi::{self, Phi};
use bellwether_core::detector::{Bounds, Detector};
use bellwether_core::protocol::Time;

/// The formula of the lesson, retold. Times are in seconds.
#[derive(Default)]
struct Lesson {
    last: Option<f64>,
    intervals: Vec<f64>,
}

impl Lesson {
    const THRESHOLD: f64 = 8.0;

    fn heartbeat(&mut self, now: f64) {
        self.intervals.extend(self.last.map(|last| now - last));
        self.last = Some(now);
    }

    fn phi(&self, now: f64) -> f64 {
        let Some(last) = self.last else { return f64::INFINITY };
        if self.intervals.len() < 2 {
            return 0.0;
        }
        let z = (now - last - self.mean()) / self.deviation();
        let arrived_by_now = 0.5 * (1.0 + libm::erf(z / 2.0_f64.sqrt()));
        if arrived_by_now >= 1.0 { f64::INFINITY } else { -(1.0 - arrived_by_now).log10() }
    }

    fn suspects(&self, now: f64) -> bool {
        self.phi(now) >= Self::THRESHOLD
    }

    fn mean(&self) -> f64 {
        self.intervals.iter().sum::<f64>() / self.intervals.len() as f64
    }

    fn deviation(&self) -> f64 {
        let squares = self.intervals.iter().map(|interval| (interval - self.mean()).powi(2));
        let deviation = (squares.sum::<f64>() / (self.intervals.len() - 1) as f64).sqrt();
        if deviation == 0.0 { 0.001 } else { deviation }
    }
}

/// An eighth of a second: a whole number in binary, so that regular heartbeats are regular.
const INTERVAL: f64 = 0.125;
const A_YEAR: f64 = 365.0 * 24.0 * 3_600.0;

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

fn our_phi() -> Phi {
    let settings = phi::Settings::for_interval(Duration::from_secs_f64(INTERVAL));
    Phi::watch(&settings.check().expect("good settings"), Time::ZERO)
}

fn ours() -> [Box<dyn Detector>; 3] {
    let interval = Duration::from_secs_f64(INTERVAL);
    let fixed = fixed::Settings::for_interval(interval).check().expect("good settings");
    let adaptive = adaptive::Settings::for_interval(interval).check().expect("good settings");
    [
        Box::new(Fixed::watch(&fixed, Time::ZERO)),
        Box::new(Adaptive::watch(&adaptive, Time::ZERO)),
        Box::new(our_phi()),
    ]
}

/// Both have heard a hundred heartbeats, each off by `jitter` now in one direction and now in the
/// other. Returns when the last one came.
fn hear_a_hundred(lesson: &mut Lesson, phi: &mut Phi, jitter: f64) -> f64 {
    let mut now = 0.0;
    for number in 0..100 {
        now = f64::from(number) * INTERVAL + jitter * f64::from(number % 2);
        lesson.heartbeat(now);
        phi.heartbeat(at(now));
    }
    now
}

/// Flaw 1: with fewer than two intervals φ is 0, for ever. Strong completeness fails.
#[test]
fn one_that_dies_after_one_or_two_heartbeats_is_suspected_all_the_same() {
    for heartbeats in [1, 2] {
        let mut lesson = Lesson::default();
        (0..heartbeats).for_each(|number| lesson.heartbeat(f64::from(number) * INTERVAL));
        assert!(!lesson.suspects(A_YEAR), "the lesson waits for ever");
    }
    for heartbeats in [0, 1, 2] {
        for mut detector in ours() {
            (0..heartbeats).for_each(|number| detector.heartbeat(at(f64::from(number) * INTERVAL)));
            let Bounds { longest, .. } = detector.bounds();
            assert!(longest < Duration::from_secs(3));
            assert!(detector.suspects(detector.heard() + longest));
        }
    }
}

/// Flaw 2: one that was never heard has φ = ∞ from the first moment on. When a group boots,
/// every node suspects every other, and starts an election.
#[test]
fn at_boot_nobody_is_suspected_who_had_no_time_to_be_heard() {
    assert!(Lesson::default().suspects(0.0), "the lesson suspects at once");
    for detector in ours() {
        assert!(!detector.suspects(at(0.0)));
        assert!(!detector.suspects(at(2.0 * INTERVAL)));
    }
    assert!(our_phi().phi(at(0.0)) < 0.001);
}

/// Flaw 3: after regular heartbeats the deviation is taken for a millisecond, so that one which is
/// 5.7 ms late makes a failure.
#[test]
fn one_regular_heartbeat_that_is_a_little_late_is_no_failure() {
    let (mut lesson, mut ours) = (Lesson::default(), our_phi());
    let last = hear_a_hundred(&mut lesson, &mut ours, 0.0);
    let late = last + INTERVAL + 0.0057;
    assert!(lesson.suspects(late), "φ is {}", lesson.phi(late));
    assert!(!lesson.suspects(late - 0.0002));
    assert!(!ours.suspects(at(late)));
    assert!(!ours.suspects(at(last + 2.0 * INTERVAL)), "not even when one is lost");
}

/// Flaw 4: the floor is only for a deviation of exactly zero. Ten microseconds of jitter switch it
/// off, and a tenth of a millisecond makes a failure.
#[test]
fn a_little_jitter_does_not_make_it_worse() {
    let (mut lesson, mut ours) = (Lesson::default(), our_phi());
    let last = hear_a_hundred(&mut lesson, &mut ours, 0.00001);
    let late = last + INTERVAL + 0.0001;
    assert!(lesson.suspects(late), "φ is {}", lesson.phi(late));
    assert!(!ours.suspects(at(late)));
}

/// Flaw 5: one minus the distribution function is all rounding errors from 8 deviations on, and
/// then 0. The largest φ but ∞ is 16, and no threshold above that says anything.
#[test]
fn phi_still_tells_more_from_less_far_out() {
    let (mut lesson, mut ours) = (Lesson::default(), our_phi());
    let last = hear_a_hundred(&mut lesson, &mut ours, 0.0);
    let lessons = |deviations: f64| lesson.phi(last + INTERVAL + deviations * 0.001);
    assert!(lessons(8.2).is_finite());
    assert!(lessons(8.4).is_infinite(), "φ is {}", lessons(8.4));

    // Ours counts deviations of at least a tenth of the interval, after a pause of one.
    let ours = |deviations: f64| ours.phi(at(last + (2.0 + 0.1 * deviations) * INTERVAL));
    assert!(15.0 < ours(8.0) && ours(8.0) < 15.3);
    assert!(23.0 < ours(10.0) && ours(10.0) < 23.2);
    assert!(2173.0 < ours(100.0) && ours(100.0) < 2174.5);
}
