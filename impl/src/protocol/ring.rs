//! What nodes on a ring have in common: whom a node hands messages to, how it learns that they
//! arrived, and how patient it is. Not a protocol: those say what goes round.
//!
//! The members stand in a ring, in the order of their ids; after the highest comes the lowest. A
//! node hands what goes round to the next member and keeps it until that member acknowledges it. A
//! member that is silent for the time-out `hop` is skipped: what it should have taken goes to the
//! one after it. Every message tries the next member first, so one that restarted is back at once.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Event, Ignored, Members, NodeId, Output, Reason, Role, Status, Ticket, Time,
    Timers,
};

/// The configuration of a node on a ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The node itself; one of the members.
    pub id: NodeId,
    /// Everybody in the ring, the node itself included. The same on every node.
    pub members: Members,
    /// How long the node waits for what. Best the same on every node.
    pub timing: Timing,
}

/// How long a node on a ring waits for what.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs to answer one,
/// `hop` must exceed `2·Tm + Tp`, or a node skips members that are alive. Everything else must be
/// longer than it takes to skip all members: a heartbeat that is not is handed to a silent member
/// again and again, and never gets past it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// How long a member may take to acknowledge what it was handed.
    pub hop: Duration,
    /// `T_lap`: how long a node takes part in an election before it holds a new one.
    pub lap: Duration,
    /// How long a follower bears its leader's silence.
    pub watch: Duration,
    /// How often a leader repeats its claim.
    pub heartbeat: Duration,
}

impl Timing {
    /// For a handful of machines on one network.
    pub const DEFAULT: Self = Self {
        hop: Duration::from_millis(20),
        lap: Duration::from_millis(1_000),
        watch: Duration::from_millis(1_000),
        heartbeat: Duration::from_millis(200),
    };

    /// Checks each value, and those that must fit together in a ring of so many members.
    fn validate(&self, members: usize) -> Result<(), ConfigError> {
        let Self { hop, lap, watch, heartbeat } = *self;
        let named = [("hop", hop), ("lap", lap), ("watch", watch), ("heartbeat", heartbeat)];
        for (name, value) in named {
            if value.is_zero() || value > super::Timing::MAX {
                return Err(ConfigError::OutOfRange { name, value });
            }
        }
        let round = hop * u32::try_from(members).unwrap_or(u32::MAX);
        for (name, value) in [("heartbeat", heartbeat), ("lap", lap), ("watch", watch)] {
            if value <= round {
                return Err(ConfigError::ShorterThanALap { name, value, hop, members });
            }
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

/// A message on its way round: what it is for, and who began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lap {
    /// An election.
    Election(NodeId),
    /// The announcement of a leader.
    Coordinator(NodeId),
}

impl Lap {
    /// Who began it.
    #[must_use]
    pub fn origin(self) -> NodeId {
        match self {
            Self::Election(id) | Self::Coordinator(id) => id,
        }
    }
}

/// What a node on a ring waits for. Besides `Hop`, each role but the first has one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// For an acknowledgement.
    Hop,
    /// Whoever takes part in an election: for its end.
    Lap,
    /// Follower: for the leader's next claim.
    Watch,
    /// Leader: until its next claim is due.
    Beat,
}

impl Timer {
    /// Every timer, in the order of definition.
    pub const ALL: [Self; 4] = [Self::Hop, Self::Lap, Self::Watch, Self::Beat];
}

/// A message of a protocol on a ring.
pub(super) trait Carried: Copy {
    /// The lap that it is part of; `None` for an acknowledgement.
    fn lap(&self) -> Option<Lap>;

    /// The acknowledgement of what belongs to `lap`.
    fn ack(lap: Lap) -> Self;

    /// Whether handing it on is of no use once `down` is.
    fn depends_on(&self, down: NodeId) -> bool;
}

/// What became of what a silent member should have acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skipped {
    /// It went to the next member.
    HandedOn,
    /// So it did, except what depended on the silent one: that is gone.
    SomeLost,
    /// There is no next one: all other members are silent.
    Alone,
}

/// A node's part in the ring: its timers, what it keeps, and what it wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place<M> {
    pub(super) config: Config,
    timers: Timers<Timer, 4>,
    /// The deadline that the embedding program was last told.
    announced: Option<Time>,
    sends: VecDeque<(NodeId, M)>,
    events: VecDeque<Event>,
    /// Handed on and not acknowledged, oldest first, and to whom.
    kept: Vec<(NodeId, M)>,
}

impl<M: Carried> Place<M> {
    pub(super) fn new(config: Config) -> Result<Self, ConfigError> {
        config.timing.validate(config.members.iter().count())?;
        if !config.members.contains(config.id) {
            let Config { id: node, members, .. } = config;
            return Err(ConfigError::NotAMember { node, members });
        }
        Ok(Self {
            config,
            timers: Timers::new(Timer::ALL),
            announced: None,
            sends: VecDeque::new(),
            events: VecDeque::new(),
            kept: Vec::new(),
        })
    }

    pub(super) fn id(&self) -> NodeId {
        self.config.id
    }

    /// The member after `id`; after the highest, the lowest.
    fn after(&self, id: NodeId) -> NodeId {
        let members = &self.config.members;
        members.above(id).first().copied().or_else(|| members.iter().next()).unwrap_or(id)
    }

    /// What is not acknowledged, oldest first, and who should do so.
    pub(super) fn kept(&self) -> &[(NodeId, M)] {
        &self.kept
    }

    /// Hands `message` to the next member. A newer message of the same lap takes the place of the
    /// older.
    pub(super) fn hand_on(&mut self, now: Time, message: M) {
        let to = self.after(self.id());
        self.kept.retain(|(_, kept)| kept.lap() != message.lap());
        self.kept.push((to, message));
        self.sends.push_back((to, message));
        self.arm(now, Timer::Hop);
    }

    /// Tells `from` that its message arrived.
    pub(super) fn acknowledge(&mut self, from: NodeId, lap: Lap) {
        self.sends.push_back((from, M::ack(lap)));
    }

    /// What belongs to `lap` has arrived.
    pub(super) fn acknowledged(&mut self, lap: Lap) {
        self.kept.retain(|(_, kept)| kept.lap() != Some(lap));
        if self.kept.is_empty() {
            self.timers.cancel(Timer::Hop);
        }
    }

    /// Nothing that is kept was acknowledged in time: it goes to the members after those that are
    /// silent, as far as it does not depend on them.
    pub(super) fn skip(&mut self, now: Time) -> Skipped {
        if self.kept.iter().any(|&(silent, _)| self.after(silent) == self.id()) {
            self.kept.clear();
            self.timers.cancel(Timer::Hop);
            return Skipped::Alone;
        }
        let before = self.kept.len();
        self.kept.retain(|(silent, kept)| !kept.depends_on(*silent));
        for at in 0..self.kept.len() {
            self.kept[at].0 = self.after(self.kept[at].0);
        }
        self.sends.extend(&self.kept);
        if !self.kept.is_empty() {
            self.arm(now, Timer::Hop);
        }
        if self.kept.len() < before { Skipped::SomeLost } else { Skipped::HandedOn }
    }

    /// The tickets of all timers that are due.
    pub(super) fn due(&self, now: Time) -> impl Iterator<Item = Ticket<Timer>> + use<M> {
        self.timers.due(now)
    }

    pub(super) fn fires(&mut self, ticket: Ticket<Timer>) -> bool {
        self.timers.fires(ticket)
    }

    pub(super) fn arm(&mut self, now: Time, timer: Timer) {
        let timing = &self.config.timing;
        let period = match timer {
            Timer::Hop => timing.hop,
            Timer::Lap => timing.lap,
            Timer::Watch => timing.watch,
            Timer::Beat => timing.heartbeat,
        };
        self.timers.arm(timer, now + period);
    }

    /// A new role waits for nothing of the old one. What is kept is another matter.
    pub(super) fn turn(&mut self, now: Time, to: Role) {
        for timer in [Timer::Lap, Timer::Watch, Timer::Beat] {
            self.timers.cancel(timer);
        }
        match to {
            Role::NotStarted => {}
            Role::Candidate | Role::Waiting => self.arm(now, Timer::Lap),
            Role::Follower => self.arm(now, Timer::Watch),
            Role::Leader => self.arm(now, Timer::Beat),
        }
    }

    /// Tells of a change, if it is one.
    pub(super) fn tell(&mut self, before: Status, now: Status, reason: Reason) {
        if before != now {
            let (from, Status { role: to, leader, .. }) = (before.role, now);
            self.events.push_back(Event::RoleChanged { from, to, leader, reason });
        }
    }

    /// Whether `from` is another member; if not, that is told.
    pub(super) fn admits(&mut self, from: NodeId) -> bool {
        let cause = if from == self.id() {
            Ignored::OwnId
        } else if !self.config.members.contains(from) {
            Ignored::UnknownSender
        } else {
            return true;
        };
        self.ignore(from, cause);
        false
    }

    /// Tells that a message of `from` was ignored.
    pub(super) fn ignore(&mut self, from: NodeId, cause: Ignored) {
        self.events.push_back(Event::Ignored { from, cause });
    }

    pub(super) fn poll(&mut self) -> Option<Output<Infallible, M>> {
        if let Some((to, message)) = self.sends.pop_front() {
            return Some(Output::Send { to, message });
        }
        if let Some(event) = self.events.pop_front() {
            return Some(Output::Event(event));
        }
        let next = self.timers.next_deadline();
        if next == self.announced {
            return None;
        }
        self.announced = next;
        Some(Output::WakeAt(next))
    }

    pub(super) fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.timers.armed()
    }
}

#[cfg(test)]
pub(super) mod stories;
