//! Failure detectors: opinions on whether a process has crashed, formed from when its heartbeats
//! arrive.
//!
//! A detector watches one process. It owns no clock and sends nothing: the program that embeds
//! it says when a heartbeat arrived, and is told how long silence is tolerated.
//!
//! ```
//! use std::time::Duration;
//!
//! use bellwether_core::detector::{Detector, phi};
//! use bellwether_core::protocol::Time;
//!
//! let at = |ms| Time::ZERO + Duration::from_millis(ms);
//! let parameters = phi::Settings::for_interval(Duration::from_millis(100)).check()?;
//! let mut leader = phi::Phi::watch(&parameters, at(0));
//! for heartbeat in 1..=50 {
//!     leader.heartbeat(at(100 * heartbeat));
//! }
//! assert!(!leader.suspects(at(5_100)));
//! let wake_at = leader.deadline();
//! assert!(leader.suspects(wake_at) && wake_at < at(5_300));
//! # Ok::<(), bellwether_core::detector::SettingsError>(())
//! ```
//!
//! Three kinds, from the simplest:
//!
//! - [`fixed`]: silence for longer than a constant is suspicious;
//! - [`adaptive`]: silence for longer than some multiple of the usual interval is;
//! - [`phi`]: silence is, once it would be too great a coincidence if the process were up.
//!
//! [`quality`] measures any of them. How they compare is in `docs/detectors.md`.
//!
//! # What every detector promises
//!
//! *Strong completeness, with a number:* a process that is silent for [`Bounds::longest`] is
//! suspected, and stays so until it is heard. This holds whatever was heard before, and also if
//! nothing ever was: watching begins like a heartbeat, with the time-out that the settings imply.
//!
//! *No accuracy that can be relied on.* No process can tell a crashed process from a slow one in a
//! network without known bounds (T. Chandra, S. Toueg, *Unreliable Failure Detectors for Reliable
//! Distributed Systems*, Journal of the ACM 43(2), 1996). Only this is certain: silence shorter
//! than [`Bounds::shortest`] is never suspected. If the network is calm from some moment on, so
//! that no silence of a live process reaches the time-out, its mistakes end: they are those of an
//! eventually perfect detector, ◇P.
//!
//! # What it leaves to you
//!
//! - After a pause of your own process, take the heartbeats that came in meanwhile before you ask:
//!   a detector cannot know who was asleep.
//! - A detector forgets nothing when it suspects. For another process, or a new incarnation on
//!   another network, begin a new one.
//!
//! # Time
//!
//! Only differences of [`Time`] matter. A time before that of the last heartbeat is taken for the
//! same moment. A heartbeat at the end of [`Time`], 584 years on, is the last one.

pub mod adaptive;
pub mod fixed;
pub mod phi;
pub mod quality;
mod settings;

use std::time::Duration;

use crate::protocol::Time;
pub use settings::{Chosen, Detection, Parameters, Settings, SettingsError};

/// The longest duration that any setting may have: a day. A longer one is a slip of the keyboard.
pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A detector of failures: an opinion on one process. The module says what both sides owe.
pub trait Detector {
    /// Takes note of a heartbeat that arrived at `now`.
    fn heartbeat(&mut self, now: Time);

    /// Returns the time when the process was heard last; when watching began, if it never was.
    fn heard(&self) -> Time;

    /// Returns how much silence, from [`Detector::heard`] on, is borne until the next heartbeat. It
    /// changes only with a heartbeat, and is never zero.
    fn time_out(&self) -> Duration;

    /// Returns the durations between which the time-out always is, whatever happens.
    fn bounds(&self) -> Bounds;

    /// Returns the first moment at which the process is suspected if no heartbeat comes before:
    /// when to wake up and ask.
    fn deadline(&self) -> Time {
        self.heard() + self.time_out()
    }

    /// Returns whether the process is suspected at `now`.
    fn suspects(&self, now: Time) -> bool {
        now >= self.deadline()
    }
}

/// The bounds that a detector's settings promise of its time-out, whatever arrives and whenever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The shortest time-out: silence shorter than this is never suspected. More than zero.
    pub shortest: Duration,
    /// The longest time-out: silence of this length is always suspected.
    pub longest: Duration,
}

impl Bounds {
    /// Returns whether `time_out` keeps the promise.
    #[must_use]
    pub fn contain(&self, time_out: Duration) -> bool {
        (self.shortest..=self.longest).contains(&time_out)
    }
}

/// When a process was heard last, on a clock that never goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heard {
    at: Time,
    /// `false` while `at` is only when watching began.
    ever: bool,
}

impl Heard {
    fn nothing_since(now: Time) -> Self {
        Self { at: now, ever: false }
    }

    fn at(&self) -> Time {
        self.at
    }

    /// A heartbeat arrives. Returns the interval since the one before, if there was one: what
    /// passed between the start of watching and the first heartbeat says nothing of the interval.
    fn heartbeat(&mut self, now: Time) -> Option<Duration> {
        let interval = self.ever.then(|| now.since(self.at));
        *self = Self { at: self.at.max(now), ever: true };
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_between_heartbeats_only_and_never_negative() {
        let at = Time::from_nanos;
        let mut heard = Heard::nothing_since(at(100));
        assert_eq!(heard.heartbeat(at(700)), None, "only one heartbeat so far");
        assert_eq!(heard.heartbeat(at(900)), Some(Duration::from_nanos(200)));
        assert_eq!(heard.heartbeat(at(900)), Some(Duration::ZERO), "a duplicate");
        assert_eq!(heard.heartbeat(at(300)), Some(Duration::ZERO), "the clock went back");
        assert_eq!(heard.at(), at(900));
    }
}
