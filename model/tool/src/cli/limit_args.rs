//! The flags that say how hard to search; the same for every command that searches.

use super::stopped;
use bellwether_engine::check::{Limits, usable_bytes};
use clap::Args;
use std::time::Duration;

/// With how many processors to search, and when to give up. What is not decided by then is not
/// claimed.
#[derive(Clone, Debug, Args)]
pub struct LimitArgs {
    /// With how many threads; what is found is the same with any number [default: one for each
    /// processor]
    #[arg(short, long, value_name = "T", help_heading = "Search",
          value_parser = threads, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub threads: Option<u16>,

    /// Give up after this many states
    #[arg(long, value_name = "COUNT", help_heading = "Limits",
          value_parser = states, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub max_states: Option<u64>,

    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub max_seconds: Option<Duration>,

    /// Give up when this much memory is used, such as 512M or 8G [default: three quarters of what
    /// the machine has available, or of what its control group allows]
    #[arg(long, value_name = "SIZE", help_heading = "Limits", value_parser = size,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    pub memory: Option<u64>,
}

impl LimitArgs {
    /// Returns how many threads search: if not said, as many as there are processors.
    #[must_use]
    pub fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(processors, usize::from)
    }

    /// Returns the limits that the flags set, and what
    /// [`tell_when_stopped`](super::tell_when_stopped) brings. No search takes all the memory of
    /// the machine.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let memory = self.memory.or_else(usable_bytes);
        let cancel = Some(stopped());
        Limits { states: self.max_states, time: self.max_seconds, memory, cancel }
    }

    /// Returns whether no flag sets a limit.
    #[must_use]
    pub fn are_default(&self) -> bool {
        self.max_states.is_none() && self.max_seconds.is_none() && self.memory.is_none()
    }
}

fn threads(text: &str) -> Result<u16, String> {
    let threads = text.parse().ok().filter(|threads| (1..=256).contains(threads));
    threads.ok_or_else(|| "give a whole number from 1 to 256".to_owned())
}

/// Reads a number of states.
///
/// # Errors
/// What to give instead.
pub fn states(text: &str) -> Result<u64, String> {
    let states = text.parse().ok().filter(|&states| states > 0);
    states.ok_or_else(|| "give a whole number of states, at least 1".to_owned())
}

/// Reads a number of seconds.
///
/// # Errors
/// What to give instead.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "give a number of seconds, such as 30 or 0.5".to_owned();
    Duration::try_from_secs_f64(text.parse().map_err(|_| wrong())?).map_err(|_| wrong())
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || {
        "give a number of bytes, with K, M or G behind it for 1024 bytes, 1024K or 1024M".to_owned()
    };
    let (number, shift) = match text.chars().last().map(|c| c.to_ascii_uppercase()) {
        Some('K') => (&text[..text.len() - 1], 10),
        Some('M') => (&text[..text.len() - 1], 20),
        Some('G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}
