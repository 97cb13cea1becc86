//! Stoller's leader election: the bully over a failure detector, with elections that have names.
//!
//! A node that starts, or whose leader fails, waits until every higher node is reported as failed.
//! Then it halts the lower ones, one after the other. When each has given way or failed, it leads.
//! Every message names the election it belongs to, so one that is late is known for what it is.
//!
//! Where each rule comes from:
//!
//! - **Two stages, one lower node at a time, answers that name the election, the number of the
//!   incarnation on stable storage:** S. D. Stoller, *Leader Election in Distributed Systems with
//!   Crash Failures*, 1997. There a smaller number has the higher priority, here a larger one.
//! - **The leader asks the lower nodes from time to time whether they follow it:** the same, as its
//!   two programs in Erlang have it: `gen_leader`, and G. Cant's `gl_async_bully`.
//! - **A node says no unless it follows the asker in that very election, or somebody higher:** ours.
//!   It finds those that follow a lower leader, or gave way to an election that passed them over:
//!   what mistakes of the detector leave behind. The model checker found the need for it.
//! - **A leader that is told no holds a new election**, with a new name, from stage 1 on: ours.
//! - **A `HALT` that is not answered in time ends its election, and a new one begins:** ours. The
//!   model checker found that otherwise a node that restarts faster than the detector looks can
//!   stop its group for good. This also heals lost messages. To send the same `HALT` again would
//!   do as well if that never came too early. If it does, it may arrive after later elections, and
//!   capture a node that follows a higher leader; one with a new name cannot.
//!
//! # The failure detector
//!
//! Is not here. [`Protocol::watched`] says whom it must watch, [`Input::Suspect`] is its report. The
//! driver has none, so the daemon cannot run this core; a program that embeds it brings its own.
//!
//! # What it does not promise
//!
//! With a detector that is never wrong there are never two leaders, whatever crashes and comes back,
//! on links that keep the order of messages and double none, such as TCP connections. With one that is wrong at times there can be two, until the higher one asks and is told no. There
//! is no quorum, so no detector can help across a partition.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Event, Ignored, Input, Members, NodeId, Output, Protocol, Reason, Role, Status,
    Time, Timers, Timing,
};

/// The name of an election. Nodes compare names and look at the owner, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Elid {
    /// Whose election it is.
    pub owner: NodeId,
    /// Which incarnation of the owner holds it.
    pub incarnation: u64,
    /// How many that incarnation had begun before.
    pub counter: u64,
}

impl fmt::Display for Elid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.owner, self.incarnation, self.counter)
    }
}

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To a lower node: "Give way to my election."
    Halt(Elid),
    /// To the holder: "I gave way."
    Ack(Elid),
    /// To those that gave way: "I lead."
    Ldr(Elid),
    /// To a lower node: "Do you follow me?"
    NormQ(Elid),
    /// To the leader: "No."
    NotNorm(Elid),
}

/// What a node waits for by itself; the rest its detector tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// Leader: until it asks again whether the lower nodes follow it. Candidate in stage 2: until
    /// it gives up on the answer to its `Halt`.
    Ask,
}

/// What a node must be told before it can start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The node itself; one of the members.
    pub id: NodeId,
    /// Everybody who takes part, the node itself included. The same on every node.
    pub members: Members,
    /// How often a leader asks whether it is followed, and how long a candidate waits for an answer;
    /// longer than a question and its answer take, or elections begin again and again.
    pub ask: Duration,
    /// What was made durable last; 0 if nothing ever was.
    pub incarnation: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    NotStarted,
    Following { leader: NodeId, elid: Elid },
    Leading { elid: Elid },
    StageOne { elid: Elid, down: BTreeSet<NodeId> },
    StageTwo { elid: Elid, asked: NodeId, gave_way: BTreeSet<NodeId> },
    Waiting { elid: Elid },
}

/// One node of Stoller's election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stoller {
    config: Config,
    state: State,
    /// How many elections this incarnation has begun.
    begun: u64,
    timers: Timers<Timer, 1>,
    /// The deadline that the embedding program was last told.
    announced: Option<Time>,
    durable: VecDeque<u64>,
    sends: VecDeque<(NodeId, Message)>,
    events: VecDeque<Event>,
}

/// The rules, one function for each event.
impl Stoller {
    /// A node that starts is a new incarnation, and holds an election.
    fn boot(&mut self, now: Time) {
        if self.state != State::NotStarted {
            return;
        }
        self.config.incarnation += 1;
        self.durable.push_back(self.config.incarnation);
        self.begin(now, Reason::Booted);
    }

    /// An election begins, with a name that none had before. The highest node waits for nobody.
    fn begin(&mut self, now: Time, reason: Reason) {
        let (owner, incarnation) = (self.config.id, self.config.incarnation);
        let elid = Elid { owner, incarnation, counter: self.begun };
        self.begun += 1;
        if self.config.members.above(owner).is_empty() {
            self.halt_below(now, owner, elid, BTreeSet::new(), reason);
        } else {
            self.change(State::StageOne { elid, down: BTreeSet::new() }, reason);
        }
    }

    /// Stage 2: the highest node below `reached` shall give way. If there is none, this one leads,
    /// and tells those that gave way.
    fn halt_below(
        &mut self,
        now: Time,
        reached: NodeId,
        elid: Elid,
        gave_way: BTreeSet<NodeId>,
        reason: Reason,
    ) {
        if let Some(&asked) = self.config.members.below(reached).last() {
            self.change(State::StageTwo { elid, asked, gave_way }, reason);
            self.send(asked, Message::Halt(elid));
            return self.ask_later(now);
        }
        self.change(State::Leading { elid }, Reason::Won);
        self.sends.extend(gave_way.into_iter().map(|to| (to, Message::Ldr(elid))));
        self.ask_later(now);
    }

    /// The detector reports a node that it was to watch. If that led, or was to lead, there is an
    /// election; if it was the last one above, stage 2; if it was to give way, the next one shall.
    fn on_suspect(&mut self, now: Time, suspect: NodeId) {
        if !self.watched().any(|watched| watched == suspect) {
            return;
        }
        match self.state.clone() {
            State::NotStarted | State::Leading { .. } => {}
            State::Following { .. } | State::Waiting { .. } => self.begin(now, Reason::Suspected),
            State::StageOne { elid, mut down } => {
                down.insert(suspect);
                let me = self.config.id;
                if down.len() == self.config.members.above(me).len() {
                    self.halt_below(now, me, elid, BTreeSet::new(), Reason::Suspected);
                } else {
                    self.change(State::StageOne { elid, down }, Reason::Suspected);
                }
            }
            State::StageTwo { elid, asked, gave_way } => {
                self.halt_below(now, asked, elid, gave_way, Reason::Suspected);
            }
        }
    }

    /// `HALT` of a higher node: give way to its election, and say so.
    fn on_halt(&mut self, from: NodeId, elid: Elid) {
        self.change(State::Waiting { elid }, Reason::Halted);
        self.send(from, Message::Ack(elid));
    }

    /// `ACK` of the node that was asked, in this election: it gave way.
    fn on_ack(&mut self, now: Time, from: NodeId, of: Elid) {
        match self.state.clone() {
            State::StageTwo { elid, asked, mut gave_way } if (asked, elid) == (from, of) => {
                gave_way.insert(from);
                self.halt_below(now, asked, elid, gave_way, Reason::Halted);
            }
            _ => self.ignore(from, Ignored::OtherElection),
        }
    }

    /// `LDR` of the election that this node gave way to: its owner leads.
    fn on_ldr(&mut self, from: NodeId, of: Elid) {
        match self.state {
            State::Waiting { elid } if elid == of => {
                self.change(State::Following { leader: from, elid }, Reason::Claimed);
            }
            _ => self.ignore(from, Ignored::OtherElection),
        }
    }

    /// `NORM_Q`: no, unless it follows the asker in that election, or has to do with a higher one.
    fn on_norm_q(&mut self, from: NodeId, of: Elid) {
        let (above_me, follows) = match self.state {
            State::Following { leader, elid } => (leader, elid == of),
            State::Waiting { elid } => (elid.owner, false),
            _ => (self.config.id, false),
        };
        if !follows && above_me <= from {
            self.send(from, Message::NotNorm(of));
        }
    }

    /// `NOT_NORM` to a leader, about the election that made it one: there is another.
    fn on_not_norm(&mut self, now: Time, from: NodeId, of: Elid) {
        match self.state {
            State::Leading { elid } if elid == of => self.begin(now, Reason::CheckFailed),
            _ => self.ignore(from, Ignored::OtherElection),
        }
    }

    /// In stage 2 a `HALT` has not been answered: there is another election. A leader asks all lower
    /// nodes, and will again.
    fn ask(&mut self, now: Time) {
        match self.state {
            State::StageTwo { .. } => self.begin(now, Reason::Unanswered),
            State::Leading { elid } => {
                let lower = self.config.members.below(self.config.id);
                self.sends.extend(lower.iter().map(|&to| (to, Message::NormQ(elid))));
                self.ask_later(now);
            }
            _ => {}
        }
    }

    /// The lowest node has nobody to ask.
    fn ask_later(&mut self, now: Time) {
        if !self.config.members.below(self.config.id).is_empty() {
            self.timers.arm(Timer::Ask, now + self.config.ask);
        }
    }

    /// The only place where the state is written. What was to be asked again is forgotten.
    fn change(&mut self, to: State, reason: Reason) {
        assert_ne!(to, State::NotStarted, "a node that has started stays so");
        let before = self.status();
        self.state = to;
        self.timers.cancel_all();
        let after = self.status();
        if (before.role, before.leader) != (after.role, after.leader) {
            let Status { role: to, leader, .. } = after;
            self.events.push_back(Event::RoleChanged { from: before.role, to, leader, reason });
        }
    }
}

impl Stoller {
    /// What it remembers of its election: its name, who is down, who was asked, who gave way.
    #[must_use]
    pub fn election(&self) -> Election {
        let none = (None, BTreeSet::new(), None, BTreeSet::new());
        let (elid, down, asked, gave_way) = match self.state.clone() {
            State::NotStarted => none,
            State::Following { elid, .. } | State::Leading { elid } | State::Waiting { elid } => {
                (Some(elid), BTreeSet::new(), None, BTreeSet::new())
            }
            State::StageOne { elid, down } => (Some(elid), down, None, BTreeSet::new()),
            State::StageTwo { elid, asked, gave_way } => {
                (Some(elid), BTreeSet::new(), Some(asked), gave_way)
            }
        };
        let Config { incarnation, .. } = self.config;
        Election { elid, down, asked, gave_way, incarnation, begun: self.begun }
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        let me = self.config.id;
        let downwards = |elid: Elid| from > me && elid.owner == from;
        if from == me {
            return self.ignore(from, Ignored::OwnId);
        }
        if !self.config.members.contains(from) {
            return self.ignore(from, Ignored::UnknownSender);
        }
        match message {
            Message::Halt(elid) if downwards(elid) => self.on_halt(from, elid),
            Message::Ldr(elid) if downwards(elid) => self.on_ldr(from, elid),
            Message::NormQ(elid) if downwards(elid) => self.on_norm_q(from, elid),
            Message::Ack(elid) => self.on_ack(now, from, elid),
            Message::NotNorm(elid) => self.on_not_norm(now, from, elid),
            Message::Halt(_) | Message::Ldr(_) | Message::NormQ(_) => {
                self.ignore(from, Ignored::WrongDirection);
            }
        }
    }

    fn expire(&mut self, now: Time) {
        for ticket in self.timers.due(now) {
            if self.timers.fires(ticket) {
                match ticket.timer {
                    Timer::Ask => self.ask(now),
                }
            }
        }
    }

    fn send(&mut self, to: NodeId, message: Message) {
        self.sends.push_back((to, message));
    }

    fn ignore(&mut self, from: NodeId, cause: Ignored) {
        self.events.push_back(Event::Ignored { from, cause });
    }
}

/// What a node remembers of its election; see [`Stoller::election`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Election {
    /// The election that it holds, gave way to, or whose winner it has; none before it has started.
    pub elid: Option<Elid>,
    /// Stage 1: the higher nodes that were reported.
    pub down: BTreeSet<NodeId>,
    /// Stage 2: the node that shall give way.
    pub asked: Option<NodeId>,
    /// Stage 2: those that have.
    pub gave_way: BTreeSet<NodeId>,
    /// The node's incarnation.
    pub incarnation: u64,
    /// How many elections this incarnation has begun.
    pub begun: u64,
}

impl Protocol for Stoller {
    const NAME: &'static str = "stoller";
    type Config = Config;
    /// The number of the incarnation.
    type Durable = u64;
    type Message = Message;
    type Timer = Timer;

    /// It draws no random numbers: the seed changes nothing.
    fn new(config: Config, _seed: u64) -> Result<Self, ConfigError> {
        if config.ask.is_zero() || config.ask > Timing::MAX {
            return Err(ConfigError::OutOfRange { name: "ask", value: config.ask });
        }
        if !config.members.contains(config.id) {
            return Err(ConfigError::NotAMember { node: config.id, members: config.members });
        }
        if config.incarnation == u64::MAX {
            return Err(ConfigError::NoIncarnationLeft { node: config.id });
        }
        Ok(Self {
            config,
            state: State::NotStarted,
            begun: 0,
            timers: Timers::new([Timer::Ask]),
            announced: None,
            durable: VecDeque::new(),
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
            Input::Suspect(node) => self.on_suspect(now, node),
            Input::Receive { .. } | Input::Wake => {}
        }
    }

    fn poll(&mut self) -> Option<Output<u64, Message>> {
        if let Some(incarnation) = self.durable.pop_front() {
            return Some(Output::Persist(incarnation));
        }
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
        let id = self.config.id;
        let (role, leader) = match self.state {
            State::NotStarted => (Role::NotStarted, None),
            State::Following { leader, .. } => (Role::Follower, Some(leader)),
            State::Leading { .. } => (Role::Leader, Some(id)),
            State::StageOne { .. } | State::StageTwo { .. } => (Role::Candidate, None),
            State::Waiting { .. } => (Role::Waiting, None),
        };
        Status { id, role, leader }
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.timers.armed()
    }

    /// Whom the failure detector shall watch: the leader, or who is to become it; in stage 1 the
    /// higher nodes that were not reported yet; in stage 2 the one that shall give way.
    fn watched(&self) -> impl Iterator<Item = NodeId> {
        let (one, many, except) = match &self.state {
            State::NotStarted | State::Leading { .. } => (None, &[][..], None),
            State::Following { leader, .. } => (Some(*leader), &[][..], None),
            State::Waiting { elid } => (Some(elid.owner), &[][..], None),
            State::StageTwo { asked, .. } => (Some(*asked), &[][..], None),
            State::StageOne { down, .. } => {
                (None, self.config.members.above(self.config.id), Some(down))
            }
        };
        let reported = move |id: &NodeId| except.is_some_and(|down| down.contains(id));
        one.into_iter().chain(many.iter().copied().filter(move |id| !reported(id)))
    }
}

#[cfg(test)]
mod tests;
