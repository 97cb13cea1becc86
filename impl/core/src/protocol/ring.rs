//! What nodes on a ring have in common: to which node a node hands messages, how it learns that
//! they arrived, and how long it waits. Not a protocol: those say what goes round.
//!
//! The members stand in a ring, in the order of their ids; after the highest comes the lowest. A
//! node hands what goes round to the next member and keeps it until that member acknowledges it. A
//! member that is silent for the time-out `hop` is skipped: what it should have taken goes to the
//! one after it. Every message tries the next member first, so one that restarted is back at once.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error as ErrorText;

use super::settings::{Durations, Relation, check, inequality};
use super::{Belief, Context, Core, DurationError, MemberError, NodeId, Reason, Role};

/// The configuration of a node on a ring.
pub type Config = super::Config<Timing>;

/// The durations of the waits of a node on a ring.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs to answer one,
/// `hop` must exceed `2·Tm + Tp`, or a node skips members that are alive. Everything else must be
/// longer than it takes to skip all members: a heartbeat that is not is handed to a silent member
/// again and again, and never gets past it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time that a member may take to acknowledge what it was handed.
    pub hop: Duration,
    /// The duration `T_lap`: how long a node takes part in an election before it starts a new one.
    pub lap: Duration,
    /// The time for which a follower hears nothing of its leader before it starts an election.
    pub watch: Duration,
    /// The interval at which a leader repeats its claim.
    pub heartbeat: Duration,
}

impl Timing {
    /// The durations for a handful of machines on one network.
    pub const DEFAULT: Self = Self {
        hop: Duration::from_millis(20),
        lap: Duration::from_millis(1_000),
        watch: Duration::from_millis(1_000),
        heartbeat: Duration::from_millis(200),
    };

    /// Checks each value, and those that must fit together in a ring of so many members.
    fn validate(&self, section: &'static str, members: usize) -> Result<(), Error> {
        let (durations, hop) = (Durations(section), self.hop);
        let (lap, watch) = (("lap", self.lap), ("watch", self.watch));
        let heartbeat = ("heartbeat", self.heartbeat);
        durations.in_range(&[("hop", hop), lap, watch, heartbeat])?;
        let round = hop * u32::try_from(members).unwrap_or(u32::MAX);
        if let Some((name, value)) = [heartbeat, lap, watch].into_iter().find(|n| n.1 <= round) {
            return Err(Error::ShorterThanALap { section, name, value, hop, members });
        }
        Ok(check(vec![self.watched(section)])?)
    }

    fn watched(&self, section: &'static str) -> Relation {
        let (watch, heartbeat) = (("watch", self.watch), ("heartbeat", self.heartbeat));
        let why = "one lost heartbeat would start an election";
        Durations(section).repeated(heartbeat, watch, why)
    }

    /// Returns what must hold of these durations in a ring of this number of members: inequalities,
    /// with the names of the durations and with their values, and why they must hold. `section` is
    /// the name of the protocol.
    #[must_use]
    pub fn explain(&self, section: &'static str, members: usize) -> Vec<String> {
        let round = self.hop * u32::try_from(members).unwrap_or(u32::MAX);
        let all = [("heartbeat", self.heartbeat), ("lap", self.lap), ("watch", self.watch)];
        let laps = all.into_iter().map(|(name, value)| {
            inequality(&format!("{name} > {members} * hop"), value, ">", round)
                + " (a message goes all the way round)"
        });
        laps.chain([self.watched(section).explain()]).collect()
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The problem with the configuration of a node on a ring.
#[derive(Clone, Debug, PartialEq, Eq, ErrorText)]
pub enum Error {
    /// The members are wrong.
    #[error(transparent)]
    Members(#[from] MemberError),
    /// One of the durations is wrong.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// The time-out would expire although every node on the ring did what it should.
    #[error(
        "{section}.{name} ({value:?}) must be longer than {section}.hop ({hop:?}) times the \
         {members} members: a message waits so long on its way round if members are down; try {:?}",
        *hop * u32::try_from(*members + 1).unwrap_or(u32::MAX)
    )]
    ShorterThanALap {
        /// The section, which has the name of the protocol.
        section: &'static str,
        /// The key of the time-out.
        name: &'static str,
        /// The value of the time-out.
        value: Duration,
        /// The time-out of one hop.
        hop: Duration,
        /// The number of members.
        members: usize,
    },
    /// The members are more than one message can list.
    #[error("{members} members are more than the {most} that a list holds: use another protocol")]
    TooManyToList {
        /// The number of members.
        members: usize,
        /// The largest number of members.
        most: usize,
    },
}

impl Config {
    /// Checks everything; `section` is the name of the protocol.
    pub(super) fn validate(&self, section: &'static str) -> Result<(), Error> {
        self.timing.validate(section, self.members.count())?;
        Ok(self.members.require(self.id)?)
    }

    /// How long `timer` waits.
    pub(super) fn period(&self, timer: Timer) -> Duration {
        match timer {
            Timer::Hop => self.timing.hop,
            Timer::Lap => self.timing.lap,
            Timer::Watch => self.timing.watch,
            Timer::Heartbeat => self.timing.heartbeat,
        }
    }

    /// The member after `id`; after the highest, the lowest.
    fn after(&self, id: NodeId) -> NodeId {
        let members = &self.members;
        members.above(id).first().copied().or_else(|| members.iter().next()).unwrap_or(id)
    }
}

/// A message on its way round: what it is for, and the node that began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lap {
    /// The lap is that of an election.
    Election(NodeId),
    /// The lap is that of the announcement of a leader.
    Coordinator(NodeId),
}

impl Lap {
    /// Returns the node that began the lap.
    #[must_use]
    pub fn origin(self) -> NodeId {
        match self {
            Self::Election(id) | Self::Coordinator(id) => id,
        }
    }
}

/// The timers by which a node on a ring waits. Besides `Hop`, each role but the first has one
/// timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer for an acknowledgement.
    Hop,
    /// The timer of a node that takes part in an election, for its end.
    Lap,
    /// The timer of a follower for the leader's next claim.
    Watch,
    /// The timer of a leader, until its next claim is due.
    Heartbeat,
}

impl Timer {
    /// The list of all timers, in the order of definition.
    pub const ALL: &'static [Self] = &[Self::Hop, Self::Lap, Self::Watch, Self::Heartbeat];
}

pub(super) const LOWER_CLAIMS: Reason = Reason::new("lower_claims", "a lower node claims to lead");
const UNANSWERED: Reason = Reason::new("unanswered", "no other member answered in time");
const ORIGINATOR_SILENT: Reason =
    Reason::new("originator_silent", "the node that began what was to be handed on is silent");

/// The message names a node that is not a member.
pub(super) const UNKNOWN_ID: Reason =
    Reason::new("unknown_id", "it names a node that is not a configured member");

/// A message of a protocol on a ring.
pub(super) trait RingMessage: Copy {
    /// The lap that it is part of; `None` for an acknowledgement.
    fn lap(&self) -> Option<Lap>;

    /// Whether to hand it on is of no use once `down` is.
    fn depends_on(&self, down: NodeId) -> bool;
}

/// What a node on a ring is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Follows `leader`, or listens until it hears of one.
    Follower {
        leader: Option<NodeId>,
    },
    Candidate,
    Waiting,
    Leader,
}

/// A node's part in the ring: what it is doing, and what it has handed on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RingState<M> {
    pub(super) state: State,
    /// Handed on and not acknowledged, oldest first, and to which member.
    kept: Vec<(NodeId, M)>,
}

/// A core on a ring.
pub(super) trait RingCore:
    Core<Config = Config, Timer = Timer, Message: RingMessage>
{
    /// The part that all of them have.
    fn ring(&mut self) -> &mut RingState<Self::Message>;

    /// Sends an election round.
    fn start_election(&mut self, cx: &mut Context<'_, Self>, reason: Reason);

    /// The leader's announcement sets out.
    fn claim(&mut self, cx: &mut Context<'_, Self>);

    /// A timer expires. `Hop`: a member is silent and is skipped. `Lap`: the election was lost on
    /// the way. `Watch`: the leader has failed. `Heartbeat`: the claim is repeated.
    fn on_expired(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Hop => self.skip(cx),
            Timer::Lap => self.start_election(cx, Reason::NO_WINNER),
            Timer::Watch => self.start_election(cx, Reason::LEADER_SILENT),
            Timer::Heartbeat => {
                self.claim(cx);
                cx.arm(Timer::Heartbeat);
            }
        }
    }

    /// Nothing that is kept was acknowledged in time: it goes to the members after those that are
    /// silent. If all are, this node is alone and leads. What depends on a silent one is gone, and
    /// there is an election, unless this node has started one.
    fn skip(&mut self, cx: &mut Context<'_, Self>) {
        let (config, ring) = (cx.config(), self.ring());
        if ring.kept.iter().any(|&(silent, _)| config.after(silent) == config.id) {
            ring.kept.clear();
            if ring.state != State::Leader {
                ring.change(cx, State::Leader, UNANSWERED);
            }
            return;
        }
        let before = ring.kept.len();
        ring.kept.retain(|(silent, kept)| !kept.depends_on(*silent));
        for (silent, kept) in &mut ring.kept {
            *silent = config.after(*silent);
            cx.send(*silent, *kept);
        }
        if !ring.kept.is_empty() {
            cx.arm(Timer::Hop);
        }
        if ring.kept.len() < before && ring.state != State::Candidate {
            self.start_election(cx, ORIGINATOR_SILENT);
        }
    }
}

impl<M: RingMessage> RingState<M> {
    /// A node that starts listens for a leader.
    pub(super) fn listening<C: RingCore<Message = M>>(cx: &mut Context<'_, C>) -> Self {
        let state = State::Follower { leader: None };
        let mut ring = Self { state, kept: Vec::new() };
        ring.change(cx, state, Reason::BOOTED);
        ring
    }

    /// What is not acknowledged, oldest first, and the member that should do so.
    pub(super) fn kept(&self) -> &[(NodeId, M)] {
        &self.kept
    }

    /// Hands `message` to the next member. A newer message of the same lap takes the place of the
    /// older.
    pub(super) fn hand_on<C: RingCore<Message = M>>(
        &mut self,
        cx: &mut Context<'_, C>,
        message: M,
    ) {
        let to = cx.config().after(cx.id());
        self.kept.retain(|(_, kept)| kept.lap() != message.lap());
        self.kept.push((to, message));
        cx.send(to, message);
        cx.arm(Timer::Hop);
    }

    /// What belongs to `lap` has arrived.
    pub(super) fn acknowledged<C: RingCore<Message = M>>(
        &mut self,
        cx: &mut Context<'_, C>,
        lap: Lap,
    ) {
        self.kept.retain(|(_, kept)| kept.lap() != Some(lap));
        if self.kept.is_empty() {
            cx.cancel(Timer::Hop);
        }
    }

    /// The only place where the state is written. A new one waits for nothing of the old one. What
    /// is kept is another matter.
    pub(super) fn change<C: RingCore<Message = M>>(
        &mut self,
        cx: &mut Context<'_, C>,
        to: State,
        reason: Reason,
    ) {
        self.state = to;
        cx.because(reason);
        for timer in [Timer::Lap, Timer::Watch, Timer::Heartbeat] {
            cx.cancel(timer);
        }
        cx.arm(match to {
            State::Candidate | State::Waiting => Timer::Lap,
            State::Follower { .. } => Timer::Watch,
            State::Leader => Timer::Heartbeat,
        });
    }

    pub(super) fn belief(&self, config: &Config) -> Belief {
        let (role, leader) = match self.state {
            State::Follower { leader } => (Role::Follower, leader),
            State::Candidate => (Role::Candidate, None),
            State::Waiting => (Role::Waiting, None),
            State::Leader => (Role::Leader, Some(config.id)),
        };
        Belief { role, leader }
    }
}
