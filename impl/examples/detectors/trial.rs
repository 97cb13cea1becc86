//! One detector on one trace.

use std::time::Duration;

use bellwether::detector::SettingsError;
use bellwether::detector::quality::{Accuracy, detection_time};
use bellwether::protocol::Time;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::choice::Choice;
use crate::network::{Heartbeat, INTERVAL, Kind, trace};

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
