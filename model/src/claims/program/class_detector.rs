//! The lesson's class `HeartbeatFailureDetector`, line for line, for one peer. Times are seconds,
//! as the floating-point numbers that Python has.

use super::Account;
use std::collections::VecDeque;

const PHI_THRESHOLD: f64 = 8.0;
const SAMPLE_SIZE: usize = 100;

/// What the class keeps of one peer.
#[derive(Default)]
struct Detector {
    history: VecDeque<f64>,
    last: Option<f64>,
}

impl Detector {
    /// After heartbeats at these times.
    fn after(times: impl IntoIterator<Item = f64>) -> Detector {
        let mut detector = Detector::default();
        for now in times {
            detector.on_heartbeat_received(now);
        }
        detector
    }

    fn on_heartbeat_received(&mut self, now: f64) {
        if let Some(last) = self.last {
            self.history.push_back(now - last);
            if self.history.len() > SAMPLE_SIZE {
                self.history.pop_front();
            }
        }
        self.last = Some(now);
    }

    /// `statistics.mean` and `statistics.stdev` of the intervals.
    fn mean_and_stdev(&self) -> (f64, f64) {
        let count = self.history.len() as f64;
        let mean = self.history.iter().sum::<f64>() / count;
        let squares: f64 = self.history.iter().map(|interval| (interval - mean).powi(2)).sum();
        (mean, (squares / (count - 1.0)).sqrt())
    }

    fn calculate_phi(&self, now: f64) -> f64 {
        let Some(last) = self.last else { return f64::INFINITY };
        if self.history.len() < 2 {
            return 0.0;
        }
        let probability = self.probability(now - last);
        if probability >= 1.0 { f64::INFINITY } else { -(1.0 - probability).log10() }
    }

    /// That a heartbeat comes within this time of the last one.
    fn probability(&self, time_since_last: f64) -> f64 {
        let (mean, mut stdev) = self.mean_and_stdev();
        if stdev == 0.0 {
            stdev = 0.001;
        }
        let z = (time_since_last - mean) / stdev;
        0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2))
    }

    fn is_suspected(&self, now: f64) -> bool {
        self.calculate_phi(now) >= PHI_THRESHOLD
    }
}

/// The error function, to about 15 digits: its series near zero, its continued fraction elsewhere.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    let value = if size < 2.5 {
        let (mut sum, mut term) = (size, size);
        for n in 1..80 {
            term *= -size * size / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else {
        let fraction = (1..120).rev().fold(size, |below, n| size + f64::from(n) / 2.0 / below);
        1.0 - (-size * size).exp() * std::f64::consts::FRAC_2_SQRT_PI / 2.0 / fraction
    };
    value.copysign(x)
}

/// Heartbeats every second, now a tenth early and now a tenth late.
fn uneven() -> Detector {
    Detector::after((0..40).map(|beat| f64::from(beat) + if beat % 2 == 0 { 0.0 } else { 0.1 }))
}

/// Whether the two are the same for each silence, from as long as an interval to twice as long;
/// and where they differ most.
fn same(formula: impl Fn(&Detector, f64) -> f64) -> Account {
    let detector = uneven();
    let last = detector.last.unwrap_or_default();
    let mut worst = (0.0, String::new());
    for step in 0..50 {
        let silence = 1.0 + f64::from(step) / 100.0;
        let (code, said) = (detector.calculate_phi(last + silence), formula(&detector, silence));
        let apart = (code - said).abs() / (1.0 + code.abs());
        if apart > worst.0 {
            worst = (apart, format!("after {silence:.2} s of silence: {code:.2}, and {said:.2}"));
        }
    }
    let (apart, words) = worst;
    Account::of(apart < 1e-3, if apart < 1e-3 { Vec::new() } else { vec![words] })
}

/// The comment above the code: phi is -log10 of the probability that the next heartbeat arrives.
pub(super) fn of_the_next() -> Account {
    same(|detector, silence| -detector.probability(silence).log10())
}

/// The second comment: -log10 of the probability that it comes later, which is integrated here.
pub(super) fn of_a_later() -> Account {
    same(|detector, silence| {
        let (mean, stdev) = detector.mean_and_stdev();
        let density = |x: f64| {
            let z = (x - mean) / stdev;
            (-z * z / 2.0).exp() / (stdev * (2.0 * std::f64::consts::PI).sqrt())
        };
        // By Simpson's rule, up to twelve standard deviations further.
        let (steps, width) = (4_000, 12.0 * stdev);
        let part = |at: u32| {
            let weight = if at == 0 || at == steps { 1.0 } else { f64::from(2 + at % 2 * 2) };
            weight * density(silence + width * f64::from(at) / f64::from(steps))
        };
        let tail = (0..=steps).map(part).sum::<f64>() * width / f64::from(steps) / 3.0;
        -tail.log10()
    })
}

/// Of a peer that was heard so many times, and then no more: it is suspected after a year.
fn is_suspected_in_the_end(heartbeats: u32) -> Account {
    let detector = Detector::after((0..heartbeats).map(f64::from));
    let phi = detector.calculate_phi(365.0 * 86_400.0);
    let story = vec![format!("after {heartbeats} heartbeats and a year of silence, phi is {phi}")];
    Account::of(phi >= PHI_THRESHOLD, story)
}

/// A peer that crashes after two heartbeats is suspected in the end.
pub(super) fn after_two() -> Account {
    is_suspected_in_the_end(2)
}

/// The same after three.
pub(super) fn after_three() -> Account {
    is_suspected_in_the_end(3)
}

/// As long as a peer was heard less than three times, it is not suspected, whatever the time.
pub(super) fn with_few_intervals() -> Account {
    let silent = |heartbeats: u32| {
        let detector = Detector::after((0..heartbeats).map(f64::from));
        (0..100).all(|power| !detector.is_suspected(f64::from(heartbeats) + 1.2_f64.powi(power)))
    };
    Account::of(silent(1) && silent(2), Vec::new())
}

/// A peer that was never heard is suspected at any time.
pub(super) fn never_heard() -> Account {
    let detector = Detector::default();
    Account::of((0..100).all(|now| detector.is_suspected(f64::from(now))), Vec::new())
}

/// Three processes start at the same time, and all are up: no process suspects another.
pub(super) fn at_the_start() -> Account {
    let suspected = |_: &(usize, usize)| Detector::default().is_suspected(0.0);
    let pairs = (1..=3).flat_map(|at| (1..=3).map(move |peer| (at, peer)));
    let wrong: Vec<_> = pairs.filter(|(at, peer)| at != peer).filter(suspected).collect();
    let story = wrong.iter().map(|(at, peer)| format!("{at} suspects {peer}")).collect();
    Account::of(wrong.is_empty(), story)
}

/// After heartbeats every `interval` seconds: one that is this late is not suspected.
fn one_that_is_late(interval: f64, late: f64) -> Account {
    let detector = Detector::after((0..50).map(|beat| interval * f64::from(beat)));
    let phi = detector.calculate_phi(detector.last.unwrap_or_default() + interval + late);
    let (_, stdev) = detector.mean_and_stdev();
    let words = format!("heartbeats every {interval} s, their deviation {stdev:.1e} s");
    let story = vec![words, format!("{} ms late: phi is {phi:.2}", late * 1000.0)];
    Account::of(phi < PHI_THRESHOLD, story)
}

/// Every second: 5 ms late.
pub(super) fn regular_a_little_late() -> Account {
    one_that_is_late(1.0, 0.005)
}

/// Every second: 5.7 ms late.
pub(super) fn regular_late() -> Account {
    one_that_is_late(1.0, 0.005_7)
}

/// Every tenth of a second, which no binary number is exactly: a thousandth of a millisecond late.
pub(super) fn nearly_regular() -> Account {
    one_that_is_late(0.1, 0.000_001)
}

#[cfg(test)]
mod tests {
    use super::{Detector, erf};

    #[test]
    fn the_error_function_has_its_known_values() {
        for (x, known) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (2.6, 0.999_763_965_583_470_6),
            (3.5, 0.999_999_256_901_628),
            (-1.0, -0.842_700_792_949_714_9),
        ] {
            assert!((erf(x) - known).abs() < 1e-14, "{x}: {}", erf(x));
        }
    }

    #[test]
    fn the_window_forgets_what_is_old() {
        let slow_then_fast = (0..10).map(|n| f64::from(n) * 10.0);
        let fast = (1..=200).map(|n| 90.0 + f64::from(n));
        let detector = Detector::after(slow_then_fast.chain(fast));
        assert_eq!(detector.history.len(), 100);
        assert_eq!(detector.mean_and_stdev(), (1.0, 0.0));
    }
}
