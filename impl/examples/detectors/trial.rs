//! One detector on one trace: which detectors are compared, and what each is worth.

use std::time::Duration;

use bellwether_core::detector::adaptive::{self, Adaptive};
use bellwether_core::detector::fixed::{self, Fixed};
use bellwether_core::detector::phi::{self, Phi};
use bellwether_core::detector::quality::{Accuracy, detection_time};
use bellwether_core::detector::{Detector, SettingsError};
use bellwether_core::protocol::Time;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::network::{Heartbeat, INTERVAL, Kind, trace};

/// A kind of detector and its threshold, the one setting that trades speed for mistakes; everything
/// else as for [`INTERVAL`].
#[derive(Clone, Copy)]
pub(crate) enum Choice {
    /// The time-out.
    Fixed(Duration),
    /// The multiple of the usual interval.
    Adaptive(f64),
    /// The φ.
    Phi(f64),
}

impl Choice {
    /// Each kind as the library has it by default.
    pub(crate) fn defaults() -> [Self; 3] {
        let Settings { fixed, adaptive, phi } = Settings::default();
        [Self::Fixed(fixed.timeout), Self::Adaptive(adaptive.multiple), Self::Phi(phi.threshold)]
    }

    /// Each kind from impatient to patient.
    pub(crate) fn sweeps() -> [Vec<Self>; 3] {
        let timeouts = geometric(1.1, 1.1).map(|times| Self::Fixed(INTERVAL.mul_f64(times)));
        let multiples = geometric(1.1, 1.1).map(Self::Adaptive);
        let phis = geometric(0.5, 1.4).map(Self::Phi);
        [timeouts.collect(), multiples.collect(), phis.collect()]
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Adaptive(_) => "adaptive",
            Self::Phi(_) => "phi",
        }
    }

    /// The threshold, for people.
    pub(crate) fn setting(self) -> String {
        match self {
            Self::Fixed(timeout) => format!("time-out {} ms", timeout.as_millis()),
            Self::Adaptive(multiple) => format!("{multiple} times the usual interval"),
            Self::Phi(threshold) => format!("φ = {threshold}"),
        }
    }

    /// A detector that watches from `now` on.
    pub(crate) fn watch(self, now: Time) -> Result<Box<dyn Detector>, SettingsError> {
        let Settings { fixed: _, adaptive, phi } = Settings::default();
        Ok(match self {
            Self::Fixed(timeout) => {
                Box::new(Fixed::watch(&fixed::Settings { timeout }.check()?, now))
            }
            Self::Adaptive(multiple) => {
                let settings = adaptive::Settings { multiple, ..adaptive };
                Box::new(Adaptive::watch(&settings.check()?, now))
            }
            Self::Phi(threshold) => {
                let settings = phi::Settings { threshold, ..phi };
                Box::new(Phi::watch(&settings.check()?, now))
            }
        })
    }
}

/// Each number is the one before times the factor.
fn geometric(first: f64, factor: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(first), move |&last| Some(last * factor)).take(24)
}

struct Settings {
    fixed: fixed::Settings,
    adaptive: adaptive::Settings,
    phi: phi::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fixed: fixed::Settings::for_interval(INTERVAL),
            adaptive: adaptive::Settings::for_interval(INTERVAL),
            phi: phi::Settings::for_interval(INTERVAL),
        }
    }
}

/// What a detector is worth on a trace: of a process that stays up, and of one that crashes.
#[derive(Default)]
pub(crate) struct Outcome {
    /// If the process stays up.
    pub(crate) accuracy: Accuracy,
    /// If it crashes, at one random moment after each heartbeat: when it is suspected for good.
    pub(crate) detection: Detection,
}

/// The detection times of many crashes.
#[derive(Default)]
pub(crate) struct Detection {
    crashes: u32,
    sum: Duration,
    pub(crate) worst: Duration,
}

impl Detection {
    fn add(&mut self, time: Duration) {
        self.crashes += 1;
        self.sum += time;
        self.worst = self.worst.max(time);
    }

    pub(crate) fn mean(&self) -> Duration {
        self.sum / self.crashes.max(1)
    }
}

/// Takes the detector through the trace.
///
/// A process that crashes after a heartbeat was sent and before the next leaves behind what it
/// sent: all of that arrives, and then nothing. So the detector's deadline after each heartbeat is
/// also its last word on every crash before the next one.
pub(crate) fn run(choice: Choice, trace: &[Heartbeat]) -> Result<Outcome, SettingsError> {
    let mut outcome = Outcome::default();
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut detector = choice.watch(Time::ZERO)?;
    for (number, heartbeat) in trace.iter().enumerate() {
        if let Some(arrived) = heartbeat.arrived {
            outcome.accuracy.observe(&*detector, arrived);
            detector.heartbeat(arrived);
        }
        if let Some(next) = trace.get(number + 1) {
            let crash = between(&mut random, heartbeat.sent, next.sent);
            outcome.detection.add(detection_time(&*detector, crash));
        }
    }
    Ok(outcome)
}

/// When a process is suspected that crashes right after its `heartbeats`-th heartbeat was sent, on
/// many networks of the kind.
pub(crate) fn early_crashes(
    choice: Choice,
    kind: Kind,
    heartbeats: u32,
) -> Result<Detection, SettingsError> {
    let mut detection = Detection::default();
    for seed in 0..1000 {
        let mut detector = choice.watch(Time::ZERO)?;
        let mut crash = Time::ZERO;
        let all = trace(kind, INTERVAL * 100, seed);
        for heartbeat in all.into_iter().take(heartbeats as usize) {
            heartbeat.arrived.into_iter().for_each(|arrived| detector.heartbeat(arrived));
            crash = heartbeat.sent;
        }
        detection.add(detection_time(&*detector, crash));
    }
    Ok(detection)
}

fn between(random: &mut ChaCha8Rng, from: Time, to: Time) -> Time {
    let nanoseconds = (to.since(from).as_nanos() as u64).max(1);
    from + Duration::from_nanos(random.next_u64() % nanoseconds)
}
