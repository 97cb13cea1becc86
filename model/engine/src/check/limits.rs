//! When a search gives up, and what it tells while it goes on.

use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// When a search gives up. What it has not decided by then it does not claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// After this many distinct states.
    pub states: Option<u64>,
    /// After this long.
    pub time: Option<Duration>,
    /// When the process has used this much memory at its peak, in bytes.
    pub memory: Option<u64>,
}

impl Limits {
    /// Never.
    pub const NONE: Limits = Limits { states: None, time: None, memory: None };

    /// The limit that `progress` has reached, if any.
    #[must_use]
    pub fn exceeded(&self, progress: &Progress) -> Option<Reason> {
        let over = |limit: Option<u64>, value: u64| limit.is_some_and(|limit| value >= limit);
        if over(self.states, progress.distinct) {
            Some(Reason::States)
        } else if self.time.is_some_and(|limit| progress.elapsed >= limit) {
            Some(Reason::Time)
        } else if self.memory.is_some() && over(self.memory, peak_rss_bytes().unwrap_or(0)) {
            Some(Reason::Memory)
        } else {
            None
        }
    }
}

/// Why a verdict is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The limit on states was reached.
    States,
    /// The limit on time was reached.
    Time,
    /// The limit on memory was reached.
    Memory,
    /// Links are bounded, and executions that fill them beyond were not followed.
    Capacity,
    /// Random walks prove nothing.
    Sampled,
    /// No state satisfies the premise of the implication.
    Vacuous,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::States => "the limit on states was reached",
            Reason::Time => "the limit on time was reached",
            Reason::Memory => "the limit on memory was reached",
            Reason::Capacity => {
                "executions that leave the boundary of the search were not followed"
            }
            Reason::Sampled => "random walks prove nothing",
            Reason::Vacuous => "no state satisfies its premise, so it says nothing",
        })
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Distinct states reached.
    pub distinct: u64,
    /// States generated, repeats included.
    pub generated: u64,
    /// States reached and not yet expanded, where the engine tells.
    pub frontier: Option<u64>,
    /// Since the search began.
    pub elapsed: Duration,
}

/// The most memory that this process has used so far, in bytes, where the system tells.
#[must_use]
pub fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}
