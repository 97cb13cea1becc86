//! Why a world cannot be, each with what to do about it.

use super::delay::{Delay, MAX_TICKS};
use crate::protocol::{Id, MAX_NODES, Misfit};

/// The reason why a world cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The world has too few or too many processes.
    #[error("--nodes {nodes}: give 2 to {searched} processes; random walks take 2 to {most}")]
    Nodes {
        /// The number of processes that was asked for.
        nodes: usize,
        /// The largest number that an exhaustive search reaches.
        searched: usize,
        /// The largest number that there can be.
        most: usize,
    },
    /// The world has more processes than the protocol has room for.
    #[error(
        "--nodes {nodes}: a world of {protocol} has 2 to {most}, with every engine, because what a \
         process of it keeps has room for no more"
    )]
    NoRoom {
        /// The name of the protocol.
        protocol: &'static str,
        /// The number of processes that was asked for.
        nodes: usize,
        /// The largest number that there can be.
        most: usize,
    },
    /// The world has more processes than an exhaustive search reaches.
    #[error(
        "--nodes {nodes}: an exhaustive search takes 2 to {most}; ask for fewer, or use 'check \
         --engine simulation', which walks at random in worlds of up to {MAX_NODES} and proves \
         nothing"
    )]
    TooLarge {
        /// The number of processes that was asked for.
        nodes: usize,
        /// The largest number that there can be.
        most: usize,
    },
    /// A rule has a value that makes no sense with this number of processes.
    #[error(transparent)]
    Rule(#[from] Misfit),
    /// A process that does not exist, or is none of those that elect, has rules of its own.
    #[error("--rule {id}:RULE=VALUE: only the processes 1 to {nodes} elect; give one of them")]
    NoSuchMember {
        /// The process.
        id: Id,
        /// The number of processes that elect.
        nodes: usize,
    },
    /// A process that does not exist, or never crashes, is down at the beginning.
    #[error("--down {id}: only the processes 1 to {most} can be down; give some of them")]
    NeverDown {
        /// The process.
        id: Id,
        /// The number of processes that may crash.
        most: usize,
    },
    /// A process that does not exist has a duration of its own.
    #[error("--{name} {id}={ticks}: there are only the ids 1 to {processes}; give one of them")]
    NoSuchProcess {
        /// The name of the duration.
        name: String,
        /// The process.
        id: Id,
        /// The number of ticks.
        ticks: u8,
        /// The number of processes.
        processes: usize,
    },
    /// Processes with rules of their own do not agree at the beginning.
    #[error(
        "by these rules the processes do not agree at the beginning, as in a converged start they \
         have; use --start cold"
    )]
    NotConverged,
    /// A missing or slow link is of a process that does not exist.
    #[error("--{flag} '{link}': there are only the ids 1 to {processes}; give two of them")]
    NoSuchLink {
        /// The flag that names the link.
        flag: &'static str,
        /// The link as it was named.
        link: String,
        /// The number of processes.
        processes: usize,
    },
    /// The flag names more links than a scenario can name.
    #[error("--{flag}: {links} links, each direction counted, and there is room for {most}")]
    TooManyLinks {
        /// The flag that names the links.
        flag: &'static str,
        /// The number of links that were named.
        links: usize,
        /// The largest number that there can be.
        most: usize,
    },
    /// Messages are duplicated where duplicates would merge.
    #[error(
        "duplicates cannot be seen on the 'set' network, where identical messages merge; \
         use --network fifo or unordered"
    )]
    DuplicatesMerge,
    /// A budget is set on what happens without bound anyhow.
    #[error(
        "with asynchronous timing any timer may expire at any moment, so false suspicions have no \
         budget; leave --suspicions out, or use --timing perfect"
    )]
    SuspicionsUnbounded,
    /// Processes pause where no clock counts how long that takes.
    #[error(
        "--pauses: with {timing} timing {}; leave it out, or add --timing timed",
        if *timing == "perfect" {
            "no answer is late, so no process stops for longer than time-outs allow"
        } else {
            "every process may take any time for everything, and a pause adds nothing"
        }
    )]
    PausesUntimed {
        /// The timing of the world.
        timing: &'static str,
    },
    /// Clocks jump where there are none.
    #[error("--jumps: only a timed world has clocks that can jump; add --timing timed")]
    JumpsUntimed,
    /// Clocks jump, and it is not said how far.
    #[error("--jumps: how far does a clock jump? give --jump TICKS")]
    NoJump,
    /// Clocks jump so far that they cannot be counted.
    #[error(
        "--jump {jump}: a timer could then have {ticks} ticks left, and a clock counts no more \
         than {}; use larger ticks, or fewer jumps",
        u8::MAX
    )]
    JumpsTooFar {
        /// The number of ticks of a jump.
        jump: u8,
        /// The largest number of ticks that a timer could have left.
        ticks: u32,
    },
    /// The capacity is such that nothing fits on a link.
    #[error("--capacity 0 lets no message be sent; give at least 1")]
    NoCapacity,
    /// Ticks are given where no clock counts them.
    #[error("--{flag} counts ticks, and only a timed world has them; add --timing timed")]
    NotTimed {
        /// The flag that gives the ticks.
        flag: String,
    },
    /// A timed world lacks the time that a message takes.
    #[error(
        "a timed world has to know how long a message may take; \
         give --delay TICKS, or --delay unbounded"
    )]
    NoDelay,
    /// A range of delays, as for a table, is given for one world.
    #[error("--{flag} {from}..{to}: a world has one; a range is for 'tune'")]
    Range {
        /// The flag that gives the range.
        flag: &'static str,
        /// The first value of the range.
        from: u8,
        /// The last value of the range.
        to: u8,
    },
    /// A duration is zero, and nothing takes no time at all.
    #[error("--{flag} 0: it takes at least 1 tick")]
    NoTime {
        /// The flag that gives the duration.
        flag: String,
    },
    /// A slow link is no slower than the others.
    #[error("--slow '{link}': a slow link takes longer than --delay {delay}")]
    NotSlow {
        /// The link and its ticks.
        link: String,
        /// The longest time that a message may be on its way elsewhere.
        delay: Delay,
    },
    /// A duration is longer than any search reaches.
    #[error("--{flag} {ticks}: nothing takes longer than {MAX_TICKS} ticks here; use larger ticks")]
    TooLong {
        /// The flag that gives the duration.
        flag: String,
        /// The number of ticks that was asked for.
        ticks: u8,
    },
    /// A wait is made of several durations, and is longer than a clock counts.
    #[error(
        "a timer of process {id} takes up to {ticks} ticks ({sum}), and a clock counts no more \
         than {}; use larger ticks, so that every duration has fewer",
        u8::MAX
    )]
    Uncountable {
        /// The process that waits.
        id: Id,
        /// The durations that the wait is made of.
        sum: String,
        /// The largest number of ticks that the wait takes.
        ticks: u32,
    },
    /// Any number of messages may be lost where no time-out may be wrong.
    #[error(
        "--losses unbounded: with perfect timing no time-out expires while what it waits for could \
         still come, and {protocol} repeats a message by its {timer} timer: lost again and again, \
         it could still come for ever, no process would notice anything, and the verdict would be \
         empty; give a number of losses, or use --timing timed or asynchronous"
    )]
    LossesNeverNoticed {
        /// The name of the protocol.
        protocol: &'static str,
        /// The timer by which the protocol repeats a message.
        timer: String,
    },
    /// Processing time is given where messages take their time anyhow.
    #[error("with --delay unbounded a message may take any time; leave --processing out")]
    ProcessingUnbounded,
    /// The time of a timer is not given.
    #[error("a timed world has to know how long everything takes; give {}", flags(missing))]
    NoDuration {
        /// The durations that are not given: the name of each, and what it is.
        missing: Vec<(&'static str, &'static str)>,
    },
    /// A duration is given that nothing takes.
    #[error("--{name} has no effect: by these rules no timer of {protocol} takes it; leave it out")]
    UnusedDuration {
        /// The name of the duration.
        name: String,
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// A process has a duration of its own that nothing takes there.
    #[error("--{name} {id}={ticks} has no effect: no timer of process {id} takes it; leave it out")]
    UnusedOwnDuration {
        /// The name of the duration.
        name: String,
        /// The process.
        id: Id,
        /// The number of ticks.
        ticks: u8,
    },
    /// The protocol does not say how its timers measure time.
    #[error(
        "protocol {protocol} does not say how long its timers take; \
         use --timing perfect or asynchronous"
    )]
    Timeless {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The durations cannot be those of a protocol.
    #[error("{0}")]
    Durations(String),
}

/// The flags that say what is missing.
fn flags(missing: &[(&'static str, &'static str)]) -> String {
    let one = |(name, meaning): &(&str, &str)| format!("--{name} TICKS ({meaning})");
    missing.iter().map(one).collect::<Vec<_>>().join(", ")
}
