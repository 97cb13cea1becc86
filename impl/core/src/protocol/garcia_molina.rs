//! The bully algorithm as it was published in 1982, with its calls, its states, and a check that
//! repairs more.
//!
//! The highest node that is up leads. A node that wants to lead asks every higher one whether it is
//! there; if none is, it *halts* every lower one, tells those that it is their coordinator, and
//! hands each of them the task. It makes one call at a time and waits for the answer before the
//! next.
//!
//! Where each rule comes from:
//!
//! - **States, calls, procedures; one call at a time; a call that is not answered in time means
//!   that the node is down; a node answers at once, even in the middle of its own election; a node
//!   that is halted stops everything that it is doing; only the last node that halted this one may
//!   become its coordinator, and only its coordinator hands it a task:** H. Garcia-Molina,
//!   *Elections in a Distributed Computing System*, IEEE Transactions on Computers C-31(1), 1982.
//! - **The coordinator's check asks for the task:** ours. The paper asks whether a node works at
//!   all; then a node that works for another coordinator is never found out.
//! - **A coordinator whose reorganization broke down starts an election when nothing comes of the
//!   one that it left to a higher node:** ours. By the paper's time-out it asks its coordinator
//!   whether it is there; it is its own coordinator.
//! - **A node that restarts waits for as long as a call may take before its first call:** ours.
//!   What it called before it crashed may still be answered. In the paper a call and its answer are
//!   one; here they are two messages, and an answer does not say to which of two equal calls it
//!   belongs.
//! - **A task is its coordinator's id and a number that is durable before it is told:** ours. The
//!   paper says only that the coordinator finds a new task. So no task is ever handed out twice.
//!
//! # What it promises, and what it does not
//!
//! As long as time-outs are never wrong, no two nodes that know a coordinator know different ones:
//! a new coordinator is not obeyed before all others that are up have been stopped. That costs
//! time, since all are called in turn. If a time-out is wrong (a pause, a cut link, a lost
//! message), two nodes may lead until the check of the higher one finds out. There is no quorum.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Belief, Context, Core, NodeId, Reason, Role, SettingsError};

mod config;
mod procedures;

pub use config::{Computed, Config, Timing};

/// The messages that nodes send to each other. The first five are calls, the others their answers.
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

/// A task that a node works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// The coordinator that handed it out.
    pub coordinator: NodeId,
    /// The number of the task among this coordinator's tasks; a later one has a larger number.
    pub number: u64,
}

/// The timers by which a node waits. Only one timer is armed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer for the answer to the call that the node made.
    Answer,
    /// The timer that runs until no answer can come to what the node called before it restarted.
    Recovery,
    /// The timer for a sign of the node's coordinator.
    Silence,
    /// The timer for a higher node to halt this one, or for the one that halted it to go on.
    Election,
    /// The timer of a coordinator, until its next check is due.
    Check,
}

/// The phase of a node, in the paper's states; the paper calls a node that has just restarted
/// *down* as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The node has booted, and was not in an election since.
    Down,
    /// The node was halted, by another node or by itself.
    Election,
    /// The node knows its coordinator and waits for the task.
    Reorganization,
    /// The node is at work.
    Normal,
}

/// The point at which a node's own procedure stands: which call it waits to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Restart: it has not called any node yet.
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

const ANSWERED: Reason = Reason::new("answered", "a higher node answered");
const UNANSWERED: Reason = Reason::new("unanswered", "no higher node answered in time");
const HALTED: Reason = Reason::new("halted", "a higher node is about to lead");
const CHECK_FAILED: Reason = Reason::new("check_failed", "another node does not follow this one");

/// One node of the bully algorithm of 1982. It loses all of this in a crash but `computed`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GarciaMolina {
    phase: Phase,
    /// Means something while the node reorganizes or is at work.
    coordinator: Option<NodeId>,
    halted_by: Option<NodeId>,
    task: Option<Task>,
    /// Those that this node has halted in its own election, in the order in which it did.
    halted: Vec<NodeId>,
    /// What it is doing of its own accord, if anything.
    activity: Option<Activity>,
    computed: Computed,
}

impl Core for GarciaMolina {
    const NAME: &'static str = "garcia-molina";
    const TIMERS: &'static [Timer] =
        &[Timer::Answer, Timer::Recovery, Timer::Silence, Timer::Election, Timer::Check];
    type Config = Config;
    type Error = SettingsError;
    type Durable = Computed;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Computed>) -> Result<(), SettingsError> {
        config.members.require(config.id)?;
        Ok(config.timing.validate()?)
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        match timer {
            Timer::Answer | Timer::Recovery => config.timing.call,
            Timer::Silence => config.timing.silence,
            Timer::Election => config.timing.election,
            Timer::Check => config.timing.check,
        }
    }

    /// The time-out of a call: a later answer means nothing.
    fn message_lifetime(config: &Config) -> Duration {
        config.timing.call
    }

    /// The last check may be as old as the time between two.
    fn silence(config: &Config) -> Duration {
        config.timing.silence.saturating_sub(config.timing.check)
    }

    fn election_takes(config: &Config) -> Duration {
        config.timing.silence + config.timing.call + config.timing.election
    }

    /// A leader or a follower that is halted stops working first. The lowest node, which has no
    /// other to halt, becomes the leader at once.
    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted => false,
            Role::Candidate => from != Role::Candidate,
            Role::Waiting => !matches!(from, Role::NotStarted | Role::Waiting),
            Role::Follower => matches!(from, Role::Candidate | Role::Waiting),
            Role::Leader => matches!(from, Role::Candidate | Role::Follower),
        }
    }

    /// A node that restarts starts an election, once no answer to an earlier call can come.
    fn boot(cx: &mut Context<'_, Self>, computed: Option<Computed>, _: u64) -> Self {
        cx.because(Reason::BOOTED);
        cx.arm(Timer::Recovery);
        Self {
            phase: Phase::Down,
            coordinator: None,
            halted_by: None,
            task: None,
            halted: Vec::new(),
            activity: Some(Activity::Restart),
            computed: computed.unwrap_or_default(),
        }
    }

    /// A message is believed only if a correct node could have sent it. Any of the coordinator is
    /// a sign of it.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        if message == Message::Halt && from < cx.id() {
            return cx.ignore(from, Reason::WRONG_DIRECTION);
        }
        if self.coordinator == Some(from) && cx.armed(Timer::Silence).is_some() {
            cx.arm(Timer::Silence);
        }
        match message {
            Message::AreYouThere => cx.send(from, Message::Here),
            Message::AreYouNormal => self.on_are_you_normal(cx, from),
            Message::Halt => self.on_halt(cx, from),
            Message::NewCoordinator => self.on_new_coordinator(cx, from),
            Message::Ready(number) => self.on_ready(cx, from, number),
            answer => self.on_answer(cx, from, answer),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        let me = cx.id();
        match timer {
            Timer::Answer => self.on_unanswered(cx),
            Timer::Recovery => self.ask(cx, me),
            Timer::Silence => self.on_quiet(cx, Reason::LEADER_SILENT),
            Timer::Election => self.on_quiet(cx, Reason::NO_WINNER),
            Timer::Check => self.check(cx, None),
        }
    }

    fn belief(&self, config: &Config) -> Belief {
        let leader = self.coordinator.filter(|_| self.phase == Phase::Normal);
        let role = match (self.phase, self.activity) {
            (Phase::Normal, _) if leader == Some(config.id) => Role::Leader,
            (Phase::Normal, _) => Role::Follower,
            (_, None | Some(Activity::Probe(_))) => Role::Waiting,
            (_, Some(_)) => Role::Candidate,
        };
        Belief { role, leader }
    }
}

/// What a node tells of itself besides what it believes.
impl GarciaMolina {
    /// Returns the phase of the node, in the paper's states.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the coordinator of the node, which means something while it reorganizes or is at
    /// work.
    #[must_use]
    pub fn coordinator(&self) -> Option<NodeId> {
        self.coordinator
    }

    /// Returns the node that halted this one last.
    #[must_use]
    pub fn halted_by(&self) -> Option<NodeId> {
        self.halted_by
    }

    /// Returns the task that the node works on, or worked on last.
    #[must_use]
    pub fn task(&self) -> Option<Task> {
        self.task
    }

    /// Returns the nodes that this one halted in its own election.
    #[must_use]
    pub fn halted(&self) -> &[NodeId] {
        &self.halted
    }

    /// Returns the procedure that the node executes of its own accord.
    #[must_use]
    pub fn activity(&self) -> Option<Activity> {
        self.activity
    }
}

#[cfg(test)]
mod tests;
