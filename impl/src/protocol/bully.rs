//! The bully algorithm, in its recommended form.
//!
//! The highest node that is up leads. A node that misses its leader challenges every higher one;
//! if nobody answers it leads, if somebody does it waits for the winner.
//!
//! Where each rule comes from:
//!
//! - **Challenge the higher, answer the lower, lead if unanswered; a node that starts or restarts
//!   holds an election:** H. Garcia-Molina, *Elections in a Distributed Computing System*, IEEE
//!   Transactions on Computers C-31(1), 1982. What that paper calls the node's state is kept here
//!   in volatile memory: nothing is persisted.
//! - **The highest id announces itself at once; the announcement goes to the lower ids; a second
//!   time-out `T_coord` after which an answered node begins anew; no second election beside one that
//!   is being held:** G. Coulouris, J. Dollimore, T. Kindberg, G. Blair, *Distributed
//!   Systems: Concepts and Design*, 5th edition, 2012, §15.3.
//! - **The heartbeat is the repeated `COORDINATOR`:** ours. It is a claim to lead, not merely a
//!   sign of life: a follower whose leader no longer claims to lead times out, and one that follows
//!   the wrong node is corrected by the next claim.
//! - **A leader that is challenged repeats its claim to the challenger:** ours. A restarted node
//!   then learns its leader in one round trip; the winner is known, so no election is held.
//! - **A `COORDINATOR` from a lower id is ignored:** it can only be late or wrong, since lower
//!   nodes announce themselves to lower nodes only. **So is one from below the leader that the node
//!   follows:** it is late, or comes from a node that the leader cannot reach. If the leader really
//!   failed, the node's own watch says so. The model checker found this rule: without it, a node
//!   between two leaders that cannot hear each other changes sides with every heartbeat.
//!
//! # What it does not promise
//!
//! The bully has no quorum. It assumes that messages arrive within the time-outs; when a partition
//! or a pause breaks that, *each side elects its own leader*, and both stay until the partition
//! heals. Use it where two leaders for a while are a nuisance, not where they are a loss.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Event, Ignored, Input, NodeId, Output, Protocol, Reason, Role, Settings, Status,
    Time, Timers,
};

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To the higher ids: "I hold an election."
    Election,
    /// To a lower id: "I am up; leave it to me."
    Ok,
    /// To the lower ids: "I lead."
    Coordinator,
}

/// What a node waits for. Each role but the first has one timer, and only its own is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// Candidate: for an `Ok`, `T_elec` long.
    Elec,
    /// Waiting: for a `Coordinator`, `T_coord` long.
    Coord,
    /// Follower: for the leader's next claim.
    Watch,
    /// Leader: until its next claim is due.
    Beat,
}

impl Timer {
    /// Every timer, in the order of definition.
    pub const ALL: [Self; 4] = [Self::Elec, Self::Coord, Self::Watch, Self::Beat];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    NotStarted,
    Follower { leader: NodeId },
    Candidate,
    Waiting,
    Leader,
}

impl State {
    fn role(self) -> Role {
        match self {
            Self::NotStarted => Role::NotStarted,
            Self::Follower { .. } => Role::Follower,
            Self::Candidate => Role::Candidate,
            Self::Waiting => Role::Waiting,
            Self::Leader => Role::Leader,
        }
    }
}

/// One node of the bully.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    settings: Settings,
    state: State,
    timers: Timers<Timer, 4>,
    /// The deadline that the embedding program was last told.
    announced: Option<Time>,
    sends: VecDeque<(NodeId, Message)>,
    events: VecDeque<Event>,
}

/// The rules, one function for each event.
impl Bully {
    /// A node that recovers holds an election. One that boots twice is up already.
    fn boot(&mut self, now: Time) {
        if self.state == State::NotStarted {
            self.start_election(now, Reason::Booted);
        }
    }

    /// The highest id announces itself at once; any other node sends `ELECTION` to every higher one
    /// and waits for an answer.
    fn start_election(&mut self, now: Time, reason: Reason) {
        if self.settings.members.above(self.settings.id).is_empty() {
            self.become_leader(now, Reason::HighestId);
        } else {
            self.become_candidate(now, reason);
        }
    }

    /// `ELECTION` from a lower node is answered with `OK`, and with an election of one's own unless
    /// one is being held already. A leader has won its own: it says so instead.
    fn on_election(&mut self, now: Time, from: NodeId) {
        self.send(from, Message::Ok);
        match self.state {
            State::Leader => self.send(from, Message::Coordinator),
            State::Follower { .. } => self.start_election(now, Reason::Challenged),
            State::NotStarted | State::Candidate | State::Waiting => {}
        }
    }

    /// A candidate that is answered waits a further period for the winner's `COORDINATOR`. An
    /// answer to an election that is over says nothing.
    fn on_ok(&mut self, now: Time) {
        if self.state == State::Candidate {
            self.become_waiting(now);
        }
    }

    /// A process that receives `COORDINATOR` takes its sender for the leader, whatever it was
    /// doing, unless it follows a higher one. From the leader it follows, this is a heartbeat.
    fn on_coordinator(&mut self, now: Time, from: NodeId) {
        match self.state {
            State::Follower { leader } if from < leader => {
                self.events.push_back(Event::Ignored { from, cause: Ignored::BelowLeader });
            }
            State::Follower { leader } if from == leader => self.arm(now, Timer::Watch),
            _ => self.become_follower(now, from),
        }
    }

    /// A timer expires. `Elec`: nobody answered, so there is nobody higher, and the node leads.
    /// `Coord`: nobody won, so there is another election. `Watch`: the leader has failed, so there
    /// is an election. `Beat`: the claim is repeated.
    fn on_expired(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::Elec => self.become_leader(now, Reason::NobodyAnswered),
            Timer::Coord => self.start_election(now, Reason::NoWinner),
            Timer::Watch => self.start_election(now, Reason::LeaderSilent),
            Timer::Beat => self.claim(now),
        }
    }

    /// The leader sends `COORDINATOR` to all lower ids, and will again.
    fn claim(&mut self, now: Time) {
        let lower = self.settings.members.below(self.settings.id);
        self.sends.extend(lower.iter().map(|&to| (to, Message::Coordinator)));
        self.arm(now, Timer::Beat);
    }
}

/// The changes of role. Each asserts where it may come from: no input can make these fail, only a
/// mistake in this file, and then stopping is better than two leaders.
impl Bully {
    fn become_candidate(&mut self, now: Time, reason: Reason) {
        assert!(matches!(self.state, State::NotStarted | State::Follower { .. } | State::Waiting));
        self.change(State::Candidate, reason);
        let higher = self.settings.members.above(self.settings.id);
        self.sends.extend(higher.iter().map(|&to| (to, Message::Election)));
        self.arm(now, Timer::Elec);
    }

    fn become_waiting(&mut self, now: Time) {
        assert_eq!(self.state, State::Candidate);
        self.change(State::Waiting, Reason::Answered);
        self.arm(now, Timer::Coord);
    }

    fn become_follower(&mut self, now: Time, leader: NodeId) {
        assert!(leader > self.settings.id);
        assert_ne!(self.state, State::NotStarted);
        assert_ne!(self.state, State::Follower { leader });
        self.change(State::Follower { leader }, Reason::Claimed);
        self.arm(now, Timer::Watch);
    }

    fn become_leader(&mut self, now: Time, reason: Reason) {
        assert!(matches!(self.state, State::NotStarted | State::Candidate));
        self.change(State::Leader, reason);
        self.claim(now);
    }

    /// The only place where the state is written. A new role waits for nothing of the old one.
    fn change(&mut self, to: State, reason: Reason) {
        let from = self.state.role();
        self.state = to;
        self.timers.cancel_all();
        let Status { role: to, leader, .. } = self.status();
        self.events.push_back(Event::RoleChanged { from, to, leader, reason });
    }
}

impl Bully {
    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        let ignored = if from == self.settings.id {
            Some(Ignored::OwnId)
        } else if !self.settings.members.contains(from) {
            Some(Ignored::UnknownSender)
        } else if (message == Message::Election) != (from < self.settings.id) {
            Some(Ignored::WrongDirection)
        } else {
            None
        };
        match (ignored, message) {
            (Some(cause), _) => self.events.push_back(Event::Ignored { from, cause }),
            (None, Message::Election) => self.on_election(now, from),
            (None, Message::Ok) => self.on_ok(now),
            (None, Message::Coordinator) => self.on_coordinator(now, from),
        }
    }

    fn expire(&mut self, now: Time) {
        for ticket in self.timers.due(now) {
            if self.timers.fires(ticket) {
                self.on_expired(now, ticket.timer);
            }
        }
    }

    fn send(&mut self, to: NodeId, message: Message) {
        self.sends.push_back((to, message));
    }

    fn arm(&mut self, now: Time, timer: Timer) {
        self.timers.arm(timer, now + self.period(timer));
    }

    fn period(&self, timer: Timer) -> Duration {
        let timing = &self.settings.timing;
        match timer {
            Timer::Elec => timing.election,
            Timer::Coord => timing.coordinator,
            Timer::Watch => timing.watch,
            Timer::Beat => timing.heartbeat,
        }
    }
}

impl Protocol for Bully {
    const NAME: &'static str = "bully";
    type Config = Settings;
    type Durable = Infallible;
    type Message = Message;
    type Timer = Timer;

    /// The bully draws no random numbers: the seed changes nothing.
    fn new(settings: Settings, _seed: u64) -> Result<Self, ConfigError> {
        settings.timing.validate()?;
        if !settings.members.contains(settings.id) {
            let Settings { id: node, members, .. } = settings;
            return Err(ConfigError::NotAMember { node, members });
        }
        Ok(Self {
            settings,
            state: State::NotStarted,
            timers: Timers::new(Timer::ALL),
            announced: None,
            sends: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    fn handle(&mut self, now: Time, input: Input<Message>) {
        self.expire(now);
        match input {
            Input::Boot => self.boot(now),
            Input::Receive { from, message } if self.state != State::NotStarted => {
                self.receive(now, from, message);
            }
            Input::Receive { .. } | Input::Wake | Input::Suspect(_) => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Infallible, Message>> {
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

    fn status(&self) -> Status {
        let id = self.settings.id;
        let leader = match self.state {
            State::Follower { leader } => Some(leader),
            State::Leader => Some(id),
            State::NotStarted | State::Candidate | State::Waiting => None,
        };
        Status { id, role: self.state.role(), leader }
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.timers.armed()
    }
}

#[cfg(test)]
mod tests;
