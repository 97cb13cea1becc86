//! The bully algorithm as it was published in 1982, with its calls, its states, and a check that
//! repairs more.
//!
//! The highest node that is up leads. A node that wants to lead asks every higher one whether it is
//! there; if none is, it *halts* every lower one, tells those that it is their coordinator, and
//! hands each of them the task. It makes one call at a time and waits for the answer before the next.
//!
//! Where each rule comes from:
//!
//! - **States, calls, procedures; one call at a time; a call that is not answered in time means that
//!   the node is down; a node answers at once, even in the middle of its own election; whoever is
//!   halted stops everything that it is doing; only the last node that halted this one may become its
//!   coordinator, and only its coordinator hands it a task:** H. Garcia-Molina, *Elections in a
//!   Distributed Computing System*, IEEE Transactions on Computers C-31(1), 1982.
//! - **The coordinator's check asks for the task:** ours. The paper asks whether a node works at all;
//!   then a node that works for another coordinator is never found out.
//! - **A coordinator whose reorganization broke down holds an election when nothing comes of the one
//!   that it left to a higher node:** ours. By the paper's time-out it asks its coordinator whether
//!   it is there; it is its own coordinator.
//! - **A node that restarts waits for as long as a call may take before it calls anybody:** ours. What
//!   it called before it crashed may still be answered. In the paper a call and its answer are one;
//!   here they are two messages, and an answer does not say to which of two equal calls it belongs.
//! - **A task is its coordinator's id and a number that is durable before it is told:** ours. The
//!   paper says only that the coordinator finds a new task. So no task is ever handed out twice.
//!
//! # What it promises, and what it does not
//!
//! As long as time-outs are never wrong, no two nodes that know a coordinator know different ones: a
//! new coordinator is not obeyed before all others that are up have been stopped. That costs time,
//! since everybody is called in turn. If a time-out is wrong (a pause, a cut link, a lost message), two
//! nodes may lead until the check of the higher one finds out. There is no quorum.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Event, Ignored, Input, NodeId, Output, Protocol, Reason, Role, Status, Time,
    Timers,
};

mod config;
mod procedures;

pub use config::{Computed, Config, Patience};

/// What nodes say to each other. The first five are calls, the others their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To a higher node: "Are you there?"
    AreYouThere,
    /// From a coordinator: "Are you at work?"
    AreYouNormal,
    /// To a lower node: "I am about to lead. Stop."
    Halt,
    /// To a node that was halted: "I am your coordinator."
    NewCoordinator,
    /// To a node that knows its coordinator: "Work on my task of this number."
    Ready(u64),
    /// "I am there."
    Here,
    /// "I am at work, on this."
    Normal(Task),
    /// "I am not at work."
    NotNormal,
    /// "I have stopped."
    Halted,
    /// "I have heard who coordinates."
    Noted,
    /// "I have heard the task."
    Started,
}

/// What a node works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// The coordinator that handed it out.
    pub coordinator: NodeId,
    /// Which of this coordinator's tasks it is; a later one has a larger number.
    pub number: u64,
}

/// What a node waits for. Only one timer is armed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// For the answer to the call that it made.
    Call,
    /// Until nobody answers what it called before it restarted.
    Restart,
    /// For a sign of its coordinator.
    Silence,
    /// For a higher node to halt it, or for the one that halted it to go on.
    Election,
    /// Coordinator: until its next check is due.
    Check,
}

impl Timer {
    /// Every timer, in the order of definition.
    pub const ALL: [Self; 5] =
        [Self::Call, Self::Restart, Self::Silence, Self::Election, Self::Check];
}

/// The paper's states; the paper calls a node that has just restarted *down* as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not booted, or booted and not in an election since.
    Down,
    /// Halted, by another node or by itself.
    Election,
    /// Knows its coordinator and waits for the task.
    Reorganization,
    /// At work.
    Normal,
}

/// Where a node's own procedure stands: which call it waits to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Restart: it has not called anybody yet.
    Restart,
    /// Time-out: is the coordinator there?
    Probe(NodeId),
    /// Election: is this higher node there?
    Ask(NodeId),
    /// Election: this lower node shall stop.
    Halt(NodeId),
    /// Election: this node shall know its coordinator.
    Announce(NodeId),
    /// Election: this node shall have the task.
    HandOut(NodeId),
    /// Check: what does this node work on?
    Check(NodeId),
}

/// What a node knows. It loses all of it in a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Knowledge {
    phase: Phase,
    coordinator: Option<NodeId>,
    halted_by: Option<NodeId>,
    task: Option<Task>,
    /// Those that this node has halted in its own election, in the order in which it did.
    halted: Vec<NodeId>,
}

impl Knowledge {
    const NONE: Self = Self {
        phase: Phase::Down,
        coordinator: None,
        halted_by: None,
        task: None,
        halted: Vec::new(),
    };
}

/// One node of the bully algorithm of 1982.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GarciaMolina {
    config: Config,
    booted: bool,
    knows: Knowledge,
    /// What it is doing of its own accord, if anything.
    activity: Option<Activity>,
    computed: Computed,
    timers: Timers<Timer, 5>,
    /// The deadline that the embedding program was last told.
    announced: Option<Time>,
    persists: VecDeque<Computed>,
    sends: VecDeque<(NodeId, Message)>,
    events: VecDeque<Event>,
}

impl GarciaMolina {
    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, now: Time, from: NodeId, message: Message) -> Reason {
        let ignored = if from == self.config.id {
            Some(Ignored::OwnId)
        } else if !self.config.members.contains(from) {
            Some(Ignored::UnknownSender)
        } else if message == Message::Halt && from < self.config.id {
            Some(Ignored::WrongDirection)
        } else {
            None
        };
        if let Some(cause) = ignored {
            self.events.push_back(Event::Ignored { from, cause });
            return Reason::Claimed;
        }
        if self.knows.coordinator == Some(from) && self.waits_for(Timer::Silence) {
            self.arm(now, Timer::Silence);
        }
        match message {
            Message::AreYouThere => self.send(from, Message::Here),
            Message::AreYouNormal => self.on_are_you_normal(from),
            Message::Halt => return self.on_halt(now, from),
            Message::NewCoordinator => return self.on_new_coordinator(now, from),
            Message::Ready(number) => return self.on_ready(now, from, number),
            answer => return self.on_answer(now, from, answer),
        }
        Reason::Claimed
    }

    fn on_expired(&mut self, now: Time, timer: Timer) -> Reason {
        match timer {
            Timer::Call => {
                let reason = self.blame();
                self.on_unanswered(now);
                reason
            }
            Timer::Restart => {
                self.ask(now, self.config.id);
                Reason::Booted
            }
            Timer::Silence => {
                self.on_quiet(now);
                Reason::LeaderSilent
            }
            Timer::Election => {
                self.on_quiet(now);
                Reason::NoWinner
            }
            Timer::Check => {
                self.check(now, None);
                Reason::CheckFailed
            }
        }
    }

    /// What it would mean for the role that the call is not answered.
    fn blame(&self) -> Reason {
        match self.activity {
            Some(Activity::Probe(_)) => Reason::LeaderSilent,
            Some(Activity::Check(_)) => Reason::CheckFailed,
            _ => Reason::NobodyAnswered,
        }
    }

    /// Does one thing, and tells if the role or the leader is another afterwards.
    fn step(&mut self, action: impl FnOnce(&mut Self) -> Reason) {
        let before = self.status();
        let reason = action(self);
        let after = self.status();
        if (before.role, before.leader) != (after.role, after.leader) {
            assert_ne!(after.role, Role::NotStarted, "a node that has booted stays so");
            let (from, to, leader) = (before.role, after.role, after.leader);
            self.events.push_back(Event::RoleChanged { from, to, leader, reason });
        }
    }

    fn role(&self) -> Role {
        if !self.booted {
            return Role::NotStarted;
        }
        match self.knows.phase {
            Phase::Normal if self.knows.coordinator == Some(self.config.id) => Role::Leader,
            Phase::Normal => Role::Follower,
            Phase::Down | Phase::Election | Phase::Reorganization => match self.activity {
                None | Some(Activity::Probe(_)) => Role::Waiting,
                Some(_) => Role::Candidate,
            },
        }
    }

    fn waits_for(&self, timer: Timer) -> bool {
        self.timers.armed().any(|(armed, _)| armed == timer)
    }

    fn send(&mut self, to: NodeId, message: Message) {
        self.sends.push_back((to, message));
    }

    fn arm(&mut self, now: Time, timer: Timer) {
        self.timers.arm(timer, now + self.period(timer));
    }

    fn period(&self, timer: Timer) -> Duration {
        let patience = &self.config.patience;
        match timer {
            Timer::Call | Timer::Restart => patience.call,
            Timer::Silence => patience.silence,
            Timer::Election => patience.election,
            Timer::Check => patience.check,
        }
    }
}

impl Protocol for GarciaMolina {
    const NAME: &'static str = "garcia-molina";
    type Config = Config;
    type Durable = Computed;
    type Message = Message;
    type Timer = Timer;

    /// The protocol draws no random numbers: the seed changes nothing.
    fn new(config: Config, _seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            booted: false,
            knows: Knowledge::NONE,
            activity: None,
            computed: config.computed,
            timers: Timers::new(Timer::ALL),
            announced: None,
            persists: VecDeque::new(),
            sends: VecDeque::new(),
            events: VecDeque::new(),
            config,
        })
    }

    fn handle(&mut self, now: Time, input: Input<Message>) {
        for ticket in self.timers.due(now) {
            if self.timers.fires(ticket) {
                self.step(|node| node.on_expired(now, ticket.timer));
            }
        }
        match input {
            Input::Boot if !self.booted => self.step(|node| node.boot(now)),
            Input::Receive { from, message } if self.booted => {
                self.step(|node| node.receive(now, from, message));
            }
            Input::Boot | Input::Receive { .. } | Input::Wake | Input::Suspect(_) => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Computed, Message>> {
        if let Some(computed) = self.persists.pop_front() {
            return Some(Output::Persist(computed));
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
        let working = self.knows.phase == Phase::Normal;
        let leader = self.knows.coordinator.filter(|_| working);
        Status { id: self.config.id, role: self.role(), leader }
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.timers.armed()
    }
}

/// What a node tells of itself besides its [`Status`].
impl GarciaMolina {
    /// The paper's state.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.knows.phase
    }

    /// Its coordinator, which means something while it reorganizes or is at work.
    #[must_use]
    pub fn coordinator(&self) -> Option<NodeId> {
        self.knows.coordinator
    }

    /// The node that halted it last.
    #[must_use]
    pub fn halted_by(&self) -> Option<NodeId> {
        self.knows.halted_by
    }

    /// What it works on, or worked on last.
    #[must_use]
    pub fn task(&self) -> Option<Task> {
        self.knows.task
    }

    /// Those that it halted in its own election.
    #[must_use]
    pub fn halted(&self) -> &[NodeId] {
        &self.knows.halted
    }

    /// What it is doing of its own accord.
    #[must_use]
    pub fn activity(&self) -> Option<Activity> {
        self.activity
    }
}

#[cfg(test)]
mod tests;
