//! How good a detector is: the metrics of Chen, Toueg and Aguilera.
//!
//! W. Chen, S. Toueg, M. K. Aguilera, *On the Quality of Service of Failure Detectors*, IEEE
//! Transactions on Computers 51(5), 2002, §2. One number says how fast a crash is noticed, the
//! others how often, and for how long, a live process is suspected. They are measured on when
//! heartbeats arrived, recorded or made up, and computed from the detector's deadlines: exactly,
//! not by asking now and then.

use std::time::Duration;

use super::Detector;
use crate::protocol::Time;

/// The mistakes that a detector made about a process that was up all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// The time for which the process was watched.
    pub watched: Duration,
    /// The number of times that the process was suspected.
    pub mistakes: u64,
    /// The time for which the process was suspected, in sum.
    pub mistaken: Duration,
}

impl Accuracy {
    /// Takes note that the process was up, and silent, until `now`. It is to be called before each
    /// heartbeat, and at the end.
    pub fn observe(&mut self, detector: &dyn Detector, now: Time) {
        self.watched += now.since(detector.heard());
        if detector.deadline() < now {
            self.mistakes += 1;
            self.mistaken += now.since(detector.deadline());
        }
    }

    /// Returns λ_M, the average mistake rate: how often the process is suspected each hour. Zero if
    /// it was not watched.
    #[must_use]
    pub fn mistakes_per_hour(&self) -> f64 {
        ratio(self.mistakes as f64 * 3600.0, self.watched.as_secs_f64())
    }

    /// Returns T_M, how long a mistake lasts on average; `None` if there was none.
    #[must_use]
    pub fn mistake_duration(&self) -> Option<Duration> {
        let seconds = ratio(self.mistaken.as_secs_f64(), self.mistakes as f64);
        (self.mistakes > 0).then(|| Duration::from_secs_f64(seconds))
    }

    /// Returns P_A, the query accuracy probability: that the detector is right at a random moment.
    /// One if the process was not watched.
    #[must_use]
    pub fn query_accuracy(&self) -> f64 {
        1.0 - ratio(self.mistaken.as_secs_f64(), self.watched.as_secs_f64())
    }
}

/// Returns T_D, the detection time: how long after its crash a process is suspected for good.
/// `detector` has taken every heartbeat that it will ever get. Zero if the suspicion began before
/// the crash.
#[must_use]
pub fn detection_time(detector: &dyn Detector, crash: Time) -> Duration {
    detector.deadline().since(crash)
}

fn ratio(dividend: f64, divisor: f64) -> f64 {
    if divisor > 0.0 { dividend / divisor } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::fixed::{Fixed, Settings};

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn mistakes_are_counted_and_timed() {
        let timeout = Duration::from_secs(3);
        let parameters = Settings { timeout }.check().expect("good settings");
        let mut detector = Fixed::watch(&parameters, at(0));
        let mut accuracy = Accuracy::default();
        // Late by 2 s before the heartbeats at 5 and at 20 (7 s of silence: 4), on the dot at 13.
        for heartbeat in [2, 5, 10, 13, 20] {
            accuracy.observe(&detector, at(heartbeat));
            detector.heartbeat(at(heartbeat));
        }
        accuracy.observe(&detector, at(24));
        let mistaken = Duration::from_secs(2 + 4 + 1);
        assert_eq!(accuracy, Accuracy { watched: at(24).since(at(0)), mistakes: 3, mistaken });
        assert_eq!(accuracy.mistakes_per_hour(), 450.0);
        assert_eq!(accuracy.mistake_duration(), Some(mistaken / 3));
        assert!((accuracy.query_accuracy() - 17.0 / 24.0).abs() < 1e-12);
        assert_eq!(detection_time(&detector, at(22)), Duration::from_secs(1));
        assert_eq!(detection_time(&detector, at(30)), Duration::ZERO, "suspected before");
    }

    #[test]
    fn nothing_watched_is_nothing_wrong() {
        let nothing = Accuracy::default();
        assert_eq!((nothing.mistakes_per_hour(), nothing.query_accuracy()), (0.0, 1.0));
        assert_eq!(nothing.mistake_duration(), None);
    }
}
