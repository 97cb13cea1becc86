//! How far the clocks of processes may run from the right speed.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

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
