//! When a search gives up, and how a long computation finds out that it is to end.

use crate::progress::{Event, Phase, Progress};
use serde::Serialize;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The limits at which a search gives up. What it has not decided by then it does not claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The number of distinct states after which the search gives up.
    pub states: Option<u64>,
    /// The time after which the search gives up.
    pub time: Option<Duration>,
    /// The peak memory of the process, in bytes, at which the search gives up.
    pub memory: Option<u64>,
    /// The flag on which the search gives up.
    pub cancel: Option<Cancel>,
}

/// The flag that ends the searches that have it in their [limits](Limits::cancel), once it is set:
/// by the handler of a signal, or by another thread.
#[derive(Clone, Copy, Debug)]
pub struct Cancel(&'static AtomicBool);

impl Cancel {
    /// Returns the cancellation by this flag. The flag must outlive every search, so it is a
    /// `static`, or leaked.
    #[must_use]
    pub const fn when(flag: &'static AtomicBool) -> Cancel {
        Cancel(flag)
    }

    /// Returns whether the searches are to end.
    #[must_use]
    pub fn is_due(self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Two are equal if they have the same flag.
impl PartialEq for Cancel {
    fn eq(&self, other: &Cancel) -> bool {
        ptr::eq(self.0, other.0)
    }
}

impl Eq for Cancel {}

impl Limits {
    /// The limits of a search that never gives up.
    pub const NONE: Limits = Limits { states: None, time: None, memory: None, cancel: None };

    /// Returns whether `bytes` more keep the process within the limit on memory.
    #[must_use]
    pub fn leaves_room_for(&self, bytes: u64) -> bool {
        let used = || status_bytes("VmRSS:").unwrap_or(0);
        self.memory.is_none_or(|most| used().saturating_add(bytes) <= most)
    }

    /// Returns the limit that `progress` has reached, if any.
    #[must_use]
    pub fn exceeded(&self, progress: &Progress) -> Option<Reason> {
        let over = |limit: Option<u64>, value: u64| limit.is_some_and(|limit| value >= limit);
        if self.cancel.is_some_and(Cancel::is_due) {
            Some(Reason::Interrupted)
        } else if over(self.states, progress.distinct) {
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

/// The reason why a verdict is not known, or known only within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The limit on states was reached.
    States,
    /// The limit on time was reached.
    Time,
    /// The limit on memory was reached.
    Memory,
    /// The disk refused, or what it holds is not what was written.
    Disk,
    /// The search was [cancelled](Cancel): the user, or the system, asked for it.
    Interrupted,
    /// The search was to stop at the first violation, and that has been found.
    FirstViolation,
    /// Executions that exceed a bound of the search were not followed.
    Bounds,
    /// A cover needs a number for each transition, and numbers have 32 bits.
    TooMany,
    /// Liveness needs the transitions, and a dataflow does not keep them.
    NotInDataflow,
    /// Random walks prove nothing.
    Sampled,
    /// No state satisfies the premise of the implication.
    Vacuous,
}

impl Reason {
    /// Returns the reason in words, with the bounds that executions exceeded if it is those.
    #[must_use]
    pub fn within(self, bounds_met: &[String]) -> String {
        match self {
            Reason::Bounds if !bounds_met.is_empty() => {
                format!("{self}: {}", bounds_met.join(" and "))
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::States => "the limit on states was reached",
            Reason::Time => "the limit on time was reached",
            Reason::Memory => "the limit on memory was reached",
            Reason::Disk => "the disk could not be used",
            Reason::Interrupted => "it was interrupted",
            Reason::FirstViolation => "it was to stop at the first violation",
            Reason::Bounds => "executions that exceed the bounds were not followed",
            Reason::TooMany => "a graph of more than 4 billion transitions is not covered",
            Reason::NotInDataflow => "liveness is not decided by the engine dataflow",
            Reason::Sampled => "random walks prove nothing",
            Reason::Vacuous => "no state satisfies its premise, so it says nothing",
        })
    }
}

/// How many steps a computation takes between two looks at the clock.
const BETWEEN_LOOKS: u32 = 1 << 16;

/// The observer of a long computation on states that were searched: tells how far it is, and looks
/// whether it is to end.
pub struct Watch<'a> {
    limits: Limits,
    started: Instant,
    at: Progress,
    on_event: Option<&'a mut (dyn FnMut(Event) + Send)>,
    steps: u32,
}

impl Watch<'static> {
    /// Returns an observer that tells nothing and ends nothing.
    #[must_use]
    pub fn idle() -> Self {
        let at = Progress {
            phase: Phase::States,
            distinct: 0,
            generated: 0,
            levels: None,
            frontier: None,
            elapsed: Duration::ZERO,
        };
        Watch { limits: Limits::NONE, started: Instant::now(), at, on_event: None, steps: 0 }
    }
}

impl<'a> Watch<'a> {
    /// Returns the observer of a search that has come so far and began `at.elapsed` ago.
    pub fn new(limits: Limits, at: Progress, on_event: &'a mut (dyn FnMut(Event) + Send)) -> Self {
        let now = Instant::now();
        let started = now.checked_sub(at.elapsed).unwrap_or(now);
        Watch { limits, started, at, on_event: Some(on_event), steps: 0 }
    }

    /// Begins another phase, and tells of it.
    ///
    /// # Errors
    /// As [`Watch::step`].
    pub fn begin(&mut self, phase: Phase) -> Result<(), Reason> {
        self.at.phase = phase;
        self.now()
    }

    /// Tells that a property is found to be violated.
    pub fn violated(&mut self, property: &'static str, steps: Option<usize>) {
        self.tell(Event::Violated { property, steps });
    }

    fn tell(&mut self, event: Event) {
        if let Some(on_event) = &mut self.on_event {
            on_event(event);
        }
    }

    /// Counts a step of the computation, and is to be called at every one.
    ///
    /// # Errors
    /// The reason, if the computation is to end.
    #[inline]
    pub fn step(&mut self) -> Result<(), Reason> {
        self.steps += 1;
        if self.steps < BETWEEN_LOOKS { Ok(()) } else { self.now() }
    }

    /// To be called before so many bytes are taken together: the system may end a program that
    /// takes more than there are.
    ///
    /// # Errors
    /// If the limits allow less in all.
    pub fn may_take(&self, bytes: u64) -> Result<(), Reason> {
        match self.limits.memory {
            Some(most) if bytes > most => Err(Reason::Memory),
            _ => Ok(()),
        }
    }

    /// The same as a step, whatever was done since the last step takes long.
    pub fn now(&mut self) -> Result<(), Reason> {
        self.steps = 0;
        self.at.elapsed = self.started.elapsed();
        self.tell(Event::Progress(self.at));
        // The states have all been found, and the most memory may have been used for them.
        let limits = Limits { states: None, memory: None, ..self.limits };
        let no_room = || (!self.limits.leaves_room_for(0)).then_some(Reason::Memory);
        limits.exceeded(&self.at).or_else(no_room).map_or(Ok(()), Err)
    }
}

/// Returns the most memory that this process has used so far, in bytes, where the system tells.
#[must_use]
pub fn peak_rss_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// Returns how much memory this process may use without asking for trouble, in bytes, where the
/// system tells: three quarters of what the machine has available now, or of what the process's
/// control group allows, if that is less.
#[must_use]
pub fn usable_bytes() -> Option<u64> {
    let machine = || {
        let info = std::fs::read_to_string("/proc/meminfo").ok()?;
        kib(info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?)
    };
    machine().into_iter().chain(group_bytes()).min().map(|bytes| bytes / 4 * 3)
}

/// The least memory that the process's control group, or one around it, allows.
fn group_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let group = std::path::Path::new("/sys/fs/cgroup").join(group);
    let limits = group.ancestors().take_while(|at| at.starts_with("/sys/fs/cgroup"));
    let limit = |at: &std::path::Path| -> Option<u64> {
        std::fs::read_to_string(at.join("memory.max")).ok()?.trim().parse().ok()
    };
    limits.filter_map(limit).min()
}

fn status_bytes(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    kib(status.lines().find_map(|line| line.strip_prefix(field))?)
}

/// The bytes of a figure such as `1024 kB`.
fn kib(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usable_is_less_than_what_the_machine_has() {
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let all = info.lines().find_map(|line| line.strip_prefix("MemTotal:")).and_then(kib);
        let usable = usable_bytes();
        assert_eq!(all.is_some(), usable.is_some());
        assert!(usable <= all.map(|all| all / 4 * 3), "{usable:?} of {all:?}");
        assert!(usable != Some(0));
    }

    #[test]
    fn there_is_room_up_to_the_limit() {
        let used = status_bytes("VmRSS:").unwrap_or(0);
        let limits = Limits { memory: Some(used + (64 << 20)), ..Limits::NONE };
        assert!(limits.leaves_room_for(1 << 20));
        assert!(!limits.leaves_room_for(1 << 40) || used == 0);
        assert!(Limits::NONE.leaves_room_for(u64::MAX));
    }
}
