//! Why a world cannot be, each with what to do about it.

use super::timed::{Delay, MAX_TICKS};
use crate::protocol::{Id, MAX_NODES, Misfit};

/// Why a world cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// Too few or too many processes.
    #[error("--nodes {nodes}: give 2 to {most} processes")]
    Nodes {
        /// What was asked for.
        nodes: usize,
        /// The most there can be.
        most: usize,
    },
    /// More processes than the protocol has room for.
    #[error(
        "--nodes {nodes}: a world of {protocol} has 2 to {most}, with every engine, because what a \
         process of it keeps has room for no more"
    )]
    NoRoom {
        /// The protocol.
        protocol: &'static str,
        /// What was asked for.
        nodes: usize,
        /// The most there can be.
        most: usize,
    },
    /// More processes than an exhaustive search reaches.
    #[error(
        "--nodes {nodes}: an exhaustive search takes 2 to {most}; ask for fewer, or use 'check \
         --engine simulation', which walks at random in worlds of up to {MAX_NODES} and proves \
         nothing"
    )]
    TooLarge {
        /// What was asked for.
        nodes: usize,
        /// The most there can be.
        most: usize,
    },
    /// A rule that makes no sense with so many processes.
    #[error(transparent)]
    Rule(#[from] Misfit),
    /// A missing or slow link of a process that does not exist.
    #[error("--{flag} '{link}': there are only the ids 1 to {processes}; give two of them")]
    NoSuchLink {
        /// The flag.
        flag: &'static str,
        /// The link.
        link: String,
        /// The number of processes.
        processes: usize,
    },
    /// More links than a scenario can name.
    #[error("--{flag}: {links} links, each direction counted, and there is room for {most}")]
    TooManyLinks {
        /// The flag.
        flag: &'static str,
        /// How many were named.
        links: usize,
        /// The most there can be.
        most: usize,
    },
    /// Duplicates where they would merge.
    #[error(
        "duplicates cannot be seen on the 'set' network, where identical messages merge; \
         use --network fifo or unordered"
    )]
    DuplicatesMerge,
    /// A budget on what happens without bound anyhow.
    #[error(
        "with asynchronous timing any timer may expire at any moment, so false suspicions have no \
         budget; leave --suspicions out, or use --timing perfect"
    )]
    SuspicionsUnbounded,
    /// Pauses where no clock counts how long they take.
    #[error(
        "--pauses: with {timing} timing {}; leave it out, or add --timing timed",
        if *timing == "perfect" {
            "no answer is late, so no process stops for longer than time-outs allow"
        } else {
            "every process may take any time for everything, and a pause adds nothing"
        }
    )]
    PausesUntimed {
        /// The timing.
        timing: &'static str,
    },
    /// A link on which nothing fits.
    #[error("--capacity 0 lets no message be sent; give at least 1")]
    NoCapacity,
    /// Ticks where no clock counts them.
    #[error("--{flag} counts ticks, and only a timed world has them; add --timing timed")]
    NotTimed {
        /// The flag.
        flag: String,
    },
    /// A timed world without the time that a message takes.
    #[error(
        "a timed world has to know how long a message may take; \
         give --delay TICKS, or --delay unbounded"
    )]
    NoDelay,
    /// A table's worth of delays for one world.
    #[error("--{flag} {from}..{to}: a world has one; a range is for 'tune'")]
    Range {
        /// The flag.
        flag: &'static str,
        /// The first value.
        from: u8,
        /// The last value.
        to: u8,
    },
    /// Nothing takes no time at all.
    #[error("--{flag} 0: it takes at least 1 tick")]
    NoTime {
        /// The flag.
        flag: String,
    },
    /// A slow link that is not slow.
    #[error("--slow '{link}': a slow link takes longer than --delay {delay}")]
    NotSlow {
        /// The link and its ticks.
        link: String,
        /// How long a message may be on its way elsewhere.
        delay: Delay,
    },
    /// Time that no search reaches.
    #[error("--{flag} {ticks}: nothing takes longer than {MAX_TICKS} ticks here; use larger ticks")]
    TooLong {
        /// The flag.
        flag: String,
        /// What was asked for.
        ticks: u8,
    },
    /// A wait that is made of several durations and is longer than a clock counts.
    #[error(
        "a timer of process {id} takes up to {ticks} ticks ({sum}), and a clock counts no more \
         than {}; use larger ticks, so that every duration has fewer",
        u8::MAX
    )]
    Uncountable {
        /// The process.
        id: Id,
        /// What it is made of.
        sum: String,
        /// How long it takes at most.
        ticks: u32,
    },
    /// Any number of losses where no time-out may be wrong.
    #[error(
        "--losses unbounded: with perfect timing no time-out expires while what it waits for could \
         still come, and {protocol} repeats a message by its {timer} timer: lost again and again, \
         it could still come for ever, no process would notice anything, and the verdict would be \
         empty; give a number of losses, or use --timing timed or asynchronous"
    )]
    LossesNeverNoticed {
        /// The protocol.
        protocol: &'static str,
        /// The timer.
        timer: String,
    },
    /// Processing time where messages take their time anyhow.
    #[error("with --delay unbounded a message may take any time; leave --processing out")]
    ProcessingUnbounded,
    /// A timer whose time is not said.
    #[error("a timed world has to know how long everything takes; give {}", flags(missing))]
    NoDuration {
        /// All that are not said: the name of each, and what it is.
        missing: Vec<(&'static str, &'static str)>,
    },
    /// A duration that nothing takes.
    #[error("--{name} has no effect: by these rules no timer of {protocol} takes it; leave it out")]
    UnusedDuration {
        /// The duration's name.
        name: String,
        /// The protocol.
        protocol: &'static str,
    },
    /// A protocol that does not say how its timers measure time.
    #[error(
        "protocol {protocol} does not say how long its timers take; \
         use --timing perfect or asynchronous"
    )]
    Timeless {
        /// The protocol.
        protocol: &'static str,
    },
    /// Durations that cannot be those of a protocol.
    #[error("{0}")]
    Durations(String),
}

/// The flags that say what is missing.
fn flags(missing: &[(&'static str, &'static str)]) -> String {
    let one = |(name, meaning): &(&str, &str)| format!("--{name} TICKS ({meaning})");
    missing.iter().map(one).collect::<Vec<_>>().join(", ")
}
