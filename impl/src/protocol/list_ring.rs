//! The ring with lists, repaired: a list of all who are up goes round, and the highest in it leads.
//!
//! A node that misses its leader sends a list round the ring, with itself in it; everybody adds
//! itself. When the list has come home, the node that began it announces the highest id in it, in a
//! second lap.
//!
//! Where each rule comes from:
//!
//! - **Collect the ids, announce the highest, skip members that do not answer:** A. Tanenbaum,
//!   M. van Steen, *Distributed Systems*, section on election algorithms, who follow G. Le Lann,
//!   *Distributed systems: towards a formal approach*, IFIP Congress 1977.
//! - **Everything else is ours**, because the text lets everybody on the way live: a list is home
//!   when it is back at the *first* in it; it decides only as long as that node has heard of no
//!   leader since; whoever has to skip the node that began something, or that is announced,
//!   removes it and holds an election; a list that is not back within `T_lap` is followed by
//!   another; a leader that is lower than oneself is not followed, but contested; the
//!   announcement, repeated, as a heartbeat, for which a node listens after a restart.
//!
//! # What it does not promise
//!
//! As with every ring without a quorum, a node that is too slow is taken for dead, and two nodes
//! may lead for a while; elections that are held at the same time may have different results, and
//! it is the heartbeats that end the disagreement. Messages grow with the group, which therefore
//! has at most [`List::MAX`] members.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::ring::{Carried, Config, Lap, Place, Skipped, Timer};
use super::{ConfigError, Ignored, Input, NodeId, Output, Protocol, Reason, Role, Status, Time};

mod list;

pub use list::List;

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Goes round: "these are up."
    Election(List),
    /// Goes round: "this one leads."
    Coordinator {
        /// The leader.
        leader: NodeId,
        /// Whom the announcement has passed.
        passed: List,
    },
    /// Back to whoever handed it on: "I have it."
    Ack(Lap),
}

impl Carried for Message {
    fn lap(&self) -> Option<Lap> {
        match self {
            Self::Election(list) => Some(Lap::Election(list.origin())),
            Self::Coordinator { passed, .. } => Some(Lap::Coordinator(passed.origin())),
            Self::Ack(_) => None,
        }
    }

    fn ack(lap: Lap) -> Self {
        Self::Ack(lap)
    }

    fn depends_on(&self, down: NodeId) -> bool {
        match self {
            Self::Election(list) => list.origin() == down,
            Self::Coordinator { leader, passed } => *leader == down || passed.origin() == down,
            Self::Ack(_) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    NotStarted,
    /// Follows `leader`, or listens until it hears of one.
    Follower {
        leader: Option<NodeId>,
    },
    Candidate,
    Leader,
}

/// One node of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListRing {
    state: State,
    place: Place<Message>,
}

/// The rules, one function for each event.
impl ListRing {
    /// A node sends a list round, itself the first in it.
    fn start_election(&mut self, now: Time, reason: Reason) {
        self.change(now, State::Candidate, reason);
        self.place.hand_on(now, Message::Election(List::of(self.place.id())));
    }

    /// A list comes by: the node adds itself. Its own is home: the highest in it leads, unless the
    /// node has heard of a leader since.
    fn on_election(&mut self, now: Time, list: List) {
        let me = self.place.id();
        if list.origin() != me {
            self.place.hand_on(now, Message::Election(list.passing(me)));
        } else if self.state == State::Candidate {
            self.take_for_leader(now, list.highest(), Reason::Chosen);
            self.announce(now, list.highest());
        }
    }

    /// An announcement comes by, and passes, unless it is home, or names somebody lower: that
    /// cannot be right, and there is an election if this node holds none.
    fn on_coordinator(&mut self, now: Time, leader: NodeId, passed: List) {
        let me = self.place.id();
        if passed.origin() == me {
            return;
        }
        if leader >= me {
            let reason = if leader == me { Reason::Chosen } else { Reason::Claimed };
            self.take_for_leader(now, leader, reason);
            self.place.hand_on(now, Message::Coordinator { leader, passed: passed.passing(me) });
        } else if self.state != State::Candidate {
            self.start_election(now, Reason::LowerClaims);
        }
    }

    /// A timer expires. `Hop`: a member is silent and is skipped; if all are, this node is alone
    /// and leads; if something depended on the silent one, there is an election, unless this node
    /// holds one. `Lap`: the list was lost on the way. `Watch`: the leader has failed. `Beat`: the
    /// claim is repeated.
    fn on_expired(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::Hop => match self.place.skip(now) {
                Skipped::Alone if self.state != State::Leader => {
                    self.change(now, State::Leader, Reason::NobodyAnswered);
                }
                Skipped::SomeLost if self.state != State::Candidate => {
                    self.start_election(now, Reason::OriginatorSilent);
                }
                Skipped::Alone | Skipped::SomeLost | Skipped::HandedOn => {}
            },
            Timer::Lap => self.start_election(now, Reason::NoWinner),
            Timer::Watch => self.start_election(now, Reason::LeaderSilent),
            Timer::Beat => {
                self.announce(now, self.place.id());
                self.place.arm(now, Timer::Beat);
            }
        }
    }

    fn take_for_leader(&mut self, now: Time, leader: NodeId, reason: Reason) {
        let to = match leader == self.place.id() {
            true => State::Leader,
            false => State::Follower { leader: Some(leader) },
        };
        self.change(now, to, reason);
    }

    fn announce(&mut self, now: Time, leader: NodeId) {
        let passed = List::of(self.place.id());
        self.place.hand_on(now, Message::Coordinator { leader, passed });
    }

    /// The only place where the state is written.
    fn change(&mut self, now: Time, to: State, reason: Reason) {
        let before = self.status();
        self.state = to;
        let after = self.status();
        self.place.turn(now, after.role);
        self.place.tell(before, after, reason);
    }

    /// A message is believed only if it names members alone.
    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        if !self.place.admits(from) {
            return;
        }
        let members = &self.place.config.members;
        let known = match message {
            Message::Election(list) => list.iter().all(|id| members.contains(id)),
            Message::Coordinator { leader, passed } => {
                members.contains(leader) && passed.iter().all(|id| members.contains(id))
            }
            Message::Ack(lap) => members.contains(lap.origin()),
        };
        if !known {
            return self.place.ignore(from, Ignored::UnknownId);
        }
        if let Some(lap) = message.lap() {
            self.place.acknowledge(from, lap);
        }
        match message {
            Message::Election(list) => self.on_election(now, list),
            Message::Coordinator { leader, passed } => self.on_coordinator(now, leader, passed),
            Message::Ack(lap) => self.place.acknowledged(lap),
        }
    }

    /// What this node has handed on and nobody has acknowledged, oldest first, and who should.
    #[must_use]
    pub fn unacknowledged(&self) -> &[(NodeId, Message)] {
        self.place.kept()
    }
}

impl Protocol for ListRing {
    const NAME: &'static str = "list-ring";
    type Config = Config;
    type Durable = Infallible;
    type Message = Message;
    type Timer = Timer;

    /// The ring draws no random numbers: the seed changes nothing.
    fn new(config: Config, _seed: u64) -> Result<Self, ConfigError> {
        let members = config.members.iter().count();
        if members > List::MAX {
            return Err(ConfigError::TooManyToList { members, most: List::MAX });
        }
        Ok(Self { state: State::NotStarted, place: Place::new(config)? })
    }

    fn handle(&mut self, now: Time, input: Input<Message>) {
        for ticket in self.place.due(now) {
            if self.place.fires(ticket) {
                self.on_expired(now, ticket.timer);
            }
        }
        match input {
            Input::Boot if self.state == State::NotStarted => {
                self.change(now, State::Follower { leader: None }, Reason::Booted);
            }
            Input::Receive { from, message } if self.state != State::NotStarted => {
                self.receive(now, from, message);
            }
            Input::Boot | Input::Receive { .. } | Input::Wake | Input::Suspect(_) => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Infallible, Message>> {
        self.place.poll()
    }

    fn status(&self) -> Status {
        let id = self.place.id();
        let (role, leader) = match self.state {
            State::NotStarted => (Role::NotStarted, None),
            State::Follower { leader } => (Role::Follower, leader),
            State::Candidate => (Role::Candidate, None),
            State::Leader => (Role::Leader, Some(id)),
        };
        Status { id, role, leader }
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.place.armed()
    }
}

#[cfg(test)]
mod tests;
