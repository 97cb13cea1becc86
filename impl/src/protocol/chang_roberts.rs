//! The ring of Chang and Roberts, repaired: ids go round, and whose own id comes home leads.
//!
//! A node that misses its leader sends its id round the ring. Whoever is higher puts its own in the
//! place of a lower one, or swallows it if its own is under way already. Only the highest id comes
//! home, and its owner announces itself.
//!
//! Where each rule comes from:
//!
//! - **Let a higher id pass, replace or swallow a lower one, lead when one's own comes home:**
//!   E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//!   configurations of processes*, Communications of the ACM 22(5), 1979.
//! - **Announce the winner in a second lap:** G. Coulouris, J. Dollimore, T. Kindberg, G. Blair,
//!   *Distributed Systems: Concepts and Design*, 5th edition, 2012, §15.3.
//! - **Everything else is ours**, because both texts know no failures: acknowledge every hop and
//!   skip whoever is silent; remove a message when its originator has to be skipped, and hold an
//!   election; hold a new election when one has not ended within `T_lap`; believe that one's id
//!   has come home only while still a candidate; never follow a lower id, but hold an election;
//!   repeat the announcement as a heartbeat; listen for it after a restart.
//!
//! # What it does not promise
//!
//! A node that is slower than the time-outs is taken for dead, and skipped: there is no quorum, and
//! two nodes may lead for a while. One broken link between neighbours is enough to keep a node that
//! is alive out of the ring.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::ring::{Carried, Config, Lap, Place, Skipped, Timer};
use super::{ConfigError, Ignored, Input, NodeId, Output, Protocol, Reason, Role, Status, Time};

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Goes round: "no id is higher so far."
    Election(NodeId),
    /// Goes round: "this one leads."
    Coordinator(NodeId),
    /// Back to whoever handed it on: "I have it."
    Ack(Lap),
}

impl Carried for Message {
    fn lap(&self) -> Option<Lap> {
        match *self {
            Self::Election(id) => Some(Lap::Election(id)),
            Self::Coordinator(id) => Some(Lap::Coordinator(id)),
            Self::Ack(_) => None,
        }
    }

    fn ack(lap: Lap) -> Self {
        Self::Ack(lap)
    }

    fn depends_on(&self, down: NodeId) -> bool {
        self.lap().is_some_and(|lap| lap.origin() == down)
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
    Waiting,
    Leader,
}

/// One node of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    state: State,
    place: Place<Message>,
}

/// The rules, one function for each event.
impl ChangRoberts {
    /// A node sends its own id round.
    fn start_election(&mut self, now: Time, reason: Reason) {
        self.change(now, State::Candidate, reason);
        self.place.hand_on(now, Message::Election(self.place.id()));
    }

    /// The id of a candidate comes by. A higher one passes. A lower one is swallowed by whoever
    /// takes part already; anybody else puts its own id in its place. One's own has passed
    /// everybody: nobody higher is up, unless one has been heard of since.
    fn on_election(&mut self, now: Time, candidate: NodeId) {
        let me = self.place.id();
        match self.state {
            _ if candidate > me => {
                self.change(now, State::Waiting, Reason::GaveWay);
                self.place.hand_on(now, Message::Election(candidate));
            }
            State::Follower { .. } | State::Leader if candidate < me => {
                self.start_election(now, Reason::Challenged);
            }
            State::Candidate if candidate == me => {
                self.change(now, State::Leader, Reason::CameHome);
                self.claim(now);
            }
            _ => {}
        }
    }

    /// An announcement comes by, and passes if it is that of a higher node. One that is lower than
    /// this node cannot be right: there is an election, if this node holds none. One's own has
    /// done its work.
    fn on_coordinator(&mut self, now: Time, leader: NodeId) {
        let me = self.place.id();
        if leader > me {
            self.change(now, State::Follower { leader: Some(leader) }, Reason::Claimed);
            self.place.hand_on(now, Message::Coordinator(leader));
        } else if leader < me && self.state != State::Candidate {
            self.start_election(now, Reason::LowerClaims);
        }
    }

    /// A timer expires. `Hop`: a member is silent and is skipped; if all are, this node is alone
    /// and leads; if something depended on the silent one, there is an election, unless this node
    /// holds one. `Lap`: the election was lost on the way. `Watch`: the leader has failed. `Beat`:
    /// the claim is repeated.
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
                self.claim(now);
                self.place.arm(now, Timer::Beat);
            }
        }
    }

    /// The leader's announcement sets out.
    fn claim(&mut self, now: Time) {
        self.place.hand_on(now, Message::Coordinator(self.place.id()));
    }

    /// The only place where the state is written.
    fn change(&mut self, now: Time, to: State, reason: Reason) {
        let before = self.status();
        self.state = to;
        let after = self.status();
        self.place.turn(now, after.role);
        self.place.tell(before, after, reason);
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        if !self.place.admits(from) {
            return;
        }
        let named = match message {
            Message::Election(id) | Message::Coordinator(id) => id,
            Message::Ack(lap) => lap.origin(),
        };
        if !self.place.config.members.contains(named) {
            return self.place.ignore(from, Ignored::UnknownId);
        }
        if let Some(lap) = message.lap() {
            self.place.acknowledge(from, lap);
        }
        match message {
            Message::Election(candidate) => self.on_election(now, candidate),
            Message::Coordinator(leader) => self.on_coordinator(now, leader),
            Message::Ack(lap) => self.place.acknowledged(lap),
        }
    }

    /// What this node has handed on and nobody has acknowledged, oldest first, and who should.
    #[must_use]
    pub fn unacknowledged(&self) -> &[(NodeId, Message)] {
        self.place.kept()
    }
}

impl Protocol for ChangRoberts {
    const NAME: &'static str = "chang-roberts";
    type Config = Config;
    type Durable = Infallible;
    type Message = Message;
    type Timer = Timer;

    /// The ring draws no random numbers: the seed changes nothing.
    fn new(config: Config, _seed: u64) -> Result<Self, ConfigError> {
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
            State::Waiting => (Role::Waiting, None),
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
