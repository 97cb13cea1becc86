//! The scenario of a timed world: how long a message, its processing and each wait may take, in
//! ticks, and how far the clocks of processes may run from the right speed. What they mean is in
//! [the clock](super::clock).

use super::{Delay, SlowLinks};
use crate::protocol::Durations;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The times of a timed world: how long everything takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// The delay, `Tm`: how long a message may be on its way.
    pub delay: Delay,
    /// The links on which a message may be longer on its way.
    #[serde(default, skip_serializing_if = "SlowLinks::is_none")]
    pub slow: SlowLinks,
    /// The processing time, `Tp`: how long a process may take before what it sends in answer to a
    /// message leaves.
    #[serde(default)]
    pub processing: u8,
    /// The drift: how far processes' clocks run from the right speed.
    #[serde(default, skip_serializing_if = "Drift::is_none")]
    pub drift: Drift,
    /// The durations of the protocol's timers.
    pub durations: Durations,
    /// The time after the last fault within which every process should agree, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<u8>,
}

impl Timed {
    /// Returns the times in which messages and timers take this long, and nothing else takes any
    /// time: no link is slower, no clock drifts, and nothing is asked of how soon processes agree.
    #[must_use]
    pub fn of(delay: Delay, durations: Durations) -> Timed {
        let (slow, drift) = (SlowLinks::NONE, Drift::NONE);
        Timed { delay, slow, processing: 0, drift, durations, within: None }
    }
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delay {
            Delay::AtMost(ticks) => write!(f, "Tm {ticks}, Tp {}", self.processing)?,
            Delay::Unbounded => f.write_str("Tm unbounded")?,
        }
        for word in self.slow.words() {
            write!(f, ", Tm {word}")?;
        }
        if !self.drift.is_none() {
            write!(f, ", drift {}", self.drift)?;
        }
        for word in self.durations.words() {
            write!(f, ", {word}")?;
        }
        self.within.map_or(Ok(()), |ticks| write!(f, ", within {ticks}"))
    }
}

/// The largest rate error ρ of a clock: while d ticks pass on a process's clock, between d/(1+ρ)
/// and d/(1−ρ) have passed in the world. A ratio of whole numbers in lowest terms, at most 1/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Drift {
    over: u16,
    under: u16,
}

impl Drift {
    /// The drift of perfect clocks.
    pub const NONE: Drift = Drift { over: 0, under: 1 };

    /// Returns the ratio `over` / `under`.
    ///
    /// # Errors
    /// If it is no ratio, or larger than 1/2.
    pub fn of(over: u16, under: u16) -> Result<Drift, String> {
        if under == 0 || u32::from(over) * 2 > u32::from(under) {
            return Err(format!("{over}/{under}: a clock's drift is 0 to 1/2"));
        }
        let common = greatest_common_divisor(over, under);
        Ok(Drift { over: over / common, under: under / common })
    }

    /// Returns whether clocks are perfect.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Drift::NONE
    }

    /// Returns the earliest and the latest tick at which `ticks` may have passed on a process's
    /// clock: rounded outwards, but something that takes time at all takes at least one tick, or a
    /// heartbeat could stop time.
    #[must_use]
    pub fn window(self, ticks: u32) -> (u32, u32) {
        let (over, under) = (u32::from(self.over), u32::from(self.under));
        let earliest = ticks * under / (under + over);
        let latest = (ticks * under).div_ceil(under - over);
        (earliest.max(ticks.min(1)), latest)
    }
}

fn greatest_common_divisor(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl Default for Drift {
    fn default() -> Self {
        Drift::NONE
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() { f.write_str("0") } else { write!(f, "{}/{}", self.over, self.under) }
    }
}

/// A ratio such as `1/10`, a percentage such as `10%`, or `0`.
impl FromStr for Drift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |_| "give a ratio such as 1/10, a percentage such as 10%, or 0".to_owned();
        let whole = |text: &str| text.trim().parse::<u16>().map_err(wrong);
        if let Some(percent) = text.strip_suffix('%') {
            return Drift::of(whole(percent)?, 100);
        }
        match text.split_once('/') {
            Some((over, under)) => Drift::of(whole(over)?, whole(under)?),
            None => Drift::of(whole(text)?, 1),
        }
    }
}

impl From<Drift> for String {
    fn from(drift: Drift) -> String {
        drift.to_string()
    }
}

impl TryFrom<String> for Drift {
    type Error = String;

    fn try_from(text: String) -> Result<Drift, String> {
        text.parse()
    }
}
