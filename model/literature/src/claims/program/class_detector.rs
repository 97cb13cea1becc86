//! The lesson's class `HeartbeatFailureDetector`, translated line for line, for one peer. Times are
//! seconds, as the floating-point numbers that Python has.

use super::{Account, Program};
use std::collections::VecDeque;

const FILE: &str = "model/literature/src/claims/program/class_detector.rs";

pub(super) const PROGRAMS: &[Program] = &[
    // The comment above the code: phi is -log10 of the probability that the next heartbeat arrives.
    Program::new("detector-phi-is-of-the-next-heartbeat", FILE, || {
        same(|detector, silence| -detector.probability(silence).log10())
    }),
    Program::new("detector-phi-is-of-a-later-heartbeat", FILE, || same(of_a_later)),
    Program::new("detector-with-few-intervals-suspects-nothing", FILE, with_few_intervals),
    Program::new("detector-finds-a-crash-after-two-heartbeats", FILE, || {
        is_suspected_in_the_end(2)
    }),
    Program::new("detector-finds-a-crash-after-three-heartbeats", FILE, || {
        is_suspected_in_the_end(3)
    }),
    Program::new("detector-suspects-what-was-never-heard", FILE, || {
        let detector = Detector::default();
        Account::of((0..100).all(|now| detector.is_suspected(f64::from(now))), Vec::new())
    }),
    Program::new("detector-suspects-nothing-at-the-start", FILE, at_the_start),
    Program::new("detector-regular-bears-5-ms", FILE, || one_that_is_late(1.0, 0.005)),
    Program::new("detector-regular-bears-5.7-ms", FILE, || one_that_is_late(1.0, 0.005_7)),
    // A tenth of a second is no binary number exactly.
    Program::new("detector-nearly-regular-bears-a-microsecond", FILE, || {
        one_that_is_late(0.1, 0.000_001)
    }),
];

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
        0.5 * (1.0 + libm::erf(z / std::f64::consts::SQRT_2))
    }

    fn is_suspected(&self, now: f64) -> bool {
        self.calculate_phi(now) >= PHI_THRESHOLD
    }
}

/// Heartbeats every second, now a tenth early and now a tenth late.
fn uneven() -> Detector {
    Detector::after((0..40).map(|beat| f64::from(beat) + if beat % 2 == 0 { 0.0 } else { 0.1 }))
}

/// Whether the two are the same for each silence, from as long as an interval to twice as long;
/// and where they differ most.
fn same(formula: fn(&Detector, f64) -> f64) -> Account {
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

/// Returns what the second comment says: -log10 of the probability that the next heartbeat comes
/// later, which is integrated here.
fn of_a_later(detector: &Detector, silence: f64) -> f64 {
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
}

/// Of a peer that was heard so many times, and then no more: it is suspected after a year.
fn is_suspected_in_the_end(heartbeats: u32) -> Account {
    let detector = Detector::after((0..heartbeats).map(f64::from));
    let phi = detector.calculate_phi(365.0 * 86_400.0);
    let story = vec![format!("after {heartbeats} heartbeats and a year of silence, phi is {phi}")];
    Account::of(phi >= PHI_THRESHOLD, story)
}

/// As long as a peer was heard less than three times, it is not suspected, whatever the time.
fn with_few_intervals() -> Account {
    let silent = |heartbeats: u32| {
        let detector = Detector::after((0..heartbeats).map(f64::from));
        (0..100).all(|power| !detector.is_suspected(f64::from(heartbeats) + 1.2_f64.powi(power)))
    };
    Account::of(silent(1) && silent(2), Vec::new())
}

/// Three processes start at the same time, and all are up: no process suspects another.
fn at_the_start() -> Account {
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

#[cfg(test)]
mod tests {
    use super::Detector;

    #[test]
    fn the_window_forgets_what_is_old() {
        let slow_then_fast = (0..10).map(|n| f64::from(n) * 10.0);
        let fast = (1..=200).map(|n| 90.0 + f64::from(n));
        let detector = Detector::after(slow_then_fast.chain(fast));
        assert_eq!(detector.history.len(), 100);
        assert_eq!(detector.mean_and_stdev(), (1.0, 0.0));
    }
}
