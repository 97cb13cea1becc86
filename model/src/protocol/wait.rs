//! How long a protocol's timers take where time is measured. Elsewhere nobody asks.

/// A duration that a protocol's timers need in a timed world. How many ticks it has is a dial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration {
    /// The name, as it stands behind `--` on the command line and in the scenario.
    pub name: &'static str,
    /// What takes that long, in half a sentence.
    pub meaning: &'static str,
}

/// How a timer measures time, and the name of the [`Duration`] that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It is armed for exactly that long, as a time-out or a heartbeat is.
    Fixed(&'static str),
    /// It notices what is [may_time_out](super::Protocol::may_time_out), at some moment within that time: a
    /// failure detector, whatever it is made of.
    Detector(&'static str),
}

impl Wait {
    /// The name of the duration.
    #[must_use]
    pub const fn duration(self) -> &'static str {
        match self {
            Wait::Fixed(name) | Wait::Detector(name) => name,
        }
    }
}
