//! What a core must be told before it can start, and what can be wrong with it.

use std::time::Duration;

use thiserror::Error;

use super::{Members, NodeId};

/// The configuration of one node: who it is, with whom, and how patient.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// The node itself; one of the members.
    pub id: NodeId,
    /// Everybody who takes part, the node itself included. The same on every node.
    pub members: Members,
    /// How long the node waits for what. Best the same on every node.
    pub timing: Timing,
}

/// How long a node waits for what.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs to answer one,
/// `election` must exceed `2·Tm + Tp`, or a node gives up on peers that are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// `T_elec`: how long a candidate waits for a higher node to answer.
    pub election: Duration,
    /// `T_coord`: how long a node that was answered waits for the winner to announce itself.
    pub coordinator: Duration,
    /// How long a follower bears its leader's silence.
    pub watch: Duration,
    /// How often a leader repeats its claim.
    pub heartbeat: Duration,
}

impl Timing {
    /// For machines on one network: a dead leader is replaced within about a second.
    pub const DEFAULT: Self = Self {
        election: Duration::from_millis(300),
        coordinator: Duration::from_millis(900),
        watch: Duration::from_millis(500),
        heartbeat: Duration::from_millis(100),
    };

    /// The longest that any of the four may be: a day. A longer one is a slip of the keyboard.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { election, coordinator, watch, heartbeat } = *self;
        let named = [
            ("election", election),
            ("coordinator", coordinator),
            ("watch", watch),
            ("heartbeat", heartbeat),
        ];
        for (name, value) in named {
            if value.is_zero() || value > Self::MAX {
                return Err(ConfigError::OutOfRange { name, value });
            }
        }
        if coordinator <= election {
            return Err(ConfigError::CoordinatorTooShort { coordinator, election });
        }
        if heartbeat * 2 >= watch {
            return Err(ConfigError::HeartbeatTooSlow { heartbeat, watch });
        }
        Ok(())
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What is wrong with a configuration, in one sentence, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Not a number between 1 and 65535.
    #[error("`{text}` is not a node id: use a whole number from 1 to 65535")]
    NotAnId {
        /// What was given instead.
        text: String,
    },
    /// Two members have one id.
    #[error("two nodes with one id: {node} is listed twice; give every member its own id")]
    DuplicateId {
        /// The id.
        node: NodeId,
    },
    /// Too few or too many members.
    #[error(
        "{members} member(s) configured: list 2 to 255, the node itself included",
        members = if *members > Members::MAX { "more than 255".into() } else { members.to_string() }
    )]
    Size {
        /// How many there are, counted up to 256.
        members: usize,
    },
    /// The node itself is not listed.
    #[error("node {node} is not among the members ({members}): add it to them, or use another id")]
    NotAMember {
        /// The node.
        node: NodeId,
        /// Those that are listed.
        members: Members,
    },
    /// Every number of an incarnation has been used, which no real node lives to see.
    #[error(
        "node {node} cannot start again: its last incarnation has the highest number there is; \
         what it stored is damaged, so give it another id"
    )]
    NoIncarnationLeft {
        /// The node.
        node: NodeId,
    },
    /// A time-out of zero, or an absurdly long one.
    #[error("timing.{name} is {value:?}: use more than 0s and at most 24h")]
    OutOfRange {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: Duration,
    },
    /// The winner would have to announce itself before it can know that it won.
    #[error(
        "timing.coordinator ({coordinator:?}) must be longer than timing.election ({election:?}): \
         the winner waits that long before it announces itself; try {:?}",
        *election * 3
    )]
    CoordinatorTooShort {
        /// `T_coord`.
        coordinator: Duration,
        /// `T_elec`.
        election: Duration,
    },
    /// An invitation that is passed on would be answered too late.
    #[error(
        "timing.accept ({accept:?}) must be longer than timing.answer ({answer:?}): an invitation \
         is passed on once before it is accepted; try {:?}",
        *answer * 3 / 2
    )]
    AcceptTooShort {
        /// How long acceptances are waited for.
        accept: Duration,
        /// How long answers are waited for.
        answer: Duration,
    },
    /// The holder would count its lease for longer than the store does.
    #[error(
        "durations.hold ({hold:?}) must be shorter than durations.keep ({keep:?}), by more than \
         clocks drift: a client must have stepped down before the store grants the lease to \
         another; try {:?}",
        *keep / 3 * 2
    )]
    HeldTooLong {
        /// How long a client counts a lease.
        hold: Duration,
        /// How long the store keeps it.
        keep: Duration,
    },
    /// One lost renewal would end the lease.
    #[error(
        "durations.renew ({renew:?}) must be at most half of durations.hold ({hold:?}), or one \
         lost message ends the lease; try {:?}",
        *hold / 5
    )]
    RenewedTooLate {
        /// The holder's interval.
        renew: Duration,
        /// How long it counts a lease.
        hold: Duration,
    },
    /// One late heartbeat would start an election.
    #[error(
        "timing.heartbeat ({heartbeat:?}) must be shorter than half of timing.watch ({watch:?}), \
         or one lost heartbeat starts an election; try {:?}",
        *watch / 5
    )]
    HeartbeatTooSlow {
        /// The leader's interval.
        heartbeat: Duration,
        /// The follower's patience.
        watch: Duration,
    },
    /// Something is shorter than what must happen meanwhile.
    #[error(
        "timing.{name} ({value:?}) must be longer than timing.{than} ({limit:?}): {why}; try {:?}",
        *limit * 4
    )]
    TooShort {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: Duration,
        /// What it must be longer than.
        than: &'static str,
        /// How long that is.
        limit: Duration,
        /// What would happen otherwise.
        why: &'static str,
    },
    /// A time-out would expire although everybody on a ring did what it should.
    #[error(
        "timing.{name} ({value:?}) must be longer than timing.hop ({hop:?}) times the {members} \
         members: a message waits so long on its way round if members are down; try {:?}",
        *hop * u32::try_from(*members + 1).unwrap_or(u32::MAX)
    )]
    ShorterThanALap {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: Duration,
        /// The time-out of one hop.
        hop: Duration,
        /// How many members there are.
        members: usize,
    },
    /// More members than one message can list.
    #[error("{members} members are more than the {most} that a list holds: use another protocol")]
    TooManyToList {
        /// How many there are.
        members: usize,
        /// How many there may be.
        most: usize,
    },
}
