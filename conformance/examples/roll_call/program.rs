//! Roll call, the program: a pure core that knows nothing of the specification.
//! (In the tree this file is `impl/src/protocol/roll_call.rs`.)

use bellwether::protocol::{
    ConfigError, Event, Ignored, Input, NodeId, Output, Protocol, Reason, Role, Settings, Status,
    Time, Timers,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::convert::Infallible;

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "I am here."
    Here,
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// A candidate, for answers.
    Listen,
}

/// One node of the roll call.
#[derive(Clone, Debug)]
pub struct RollCall {
    settings: Settings,
    role: Role,
    highest: NodeId,
    timers: Timers<Timer, 1>,
    announced: Option<Time>,
    sends: VecDeque<(NodeId, Message)>,
    events: VecDeque<Event>,
}

/// The rules, one function for each event.
impl RollCall {
    fn boot(&mut self, now: Time) {
        if self.role != Role::NotStarted {
            return;
        }
        self.change(Role::Candidate, Reason::Booted);
        let me = self.settings.id;
        let others = self.settings.members.iter().filter(|&id| id != me);
        self.sends.extend(others.map(|to| (to, Message::Here)));
        self.timers.arm(Timer::Listen, now + self.settings.timing.election);
    }

    fn on_here(&mut self, from: NodeId) {
        if from < self.settings.id {
            self.sends.push_back((from, Message::Here));
        }
        if from > self.highest {
            self.highest = from;
            if self.role != Role::Candidate {
                self.change(Role::Follower, Reason::Claimed);
            }
        }
    }

    fn on_listened(&mut self) {
        if self.highest == self.settings.id {
            self.change(Role::Leader, Reason::NobodyAnswered);
        } else {
            self.change(Role::Follower, Reason::Answered);
        }
    }

    /// The highest id that the node has heard of, its own included.
    pub fn highest(&self) -> NodeId {
        self.highest
    }
}

/// What every core owes: deadlines first, one event for each change, effects in order.
impl RollCall {
    fn change(&mut self, to: Role, reason: Reason) {
        let from = std::mem::replace(&mut self.role, to);
        let leader = self.status().leader;
        self.events.push_back(Event::RoleChanged { from, to, leader, reason });
    }

    fn receive(&mut self, from: NodeId) {
        let cause = if from == self.settings.id {
            Ignored::OwnId
        } else if !self.settings.members.contains(from) {
            Ignored::UnknownSender
        } else {
            return self.on_here(from);
        };
        self.events.push_back(Event::Ignored { from, cause });
    }
}

impl Protocol for RollCall {
    const NAME: &'static str = "roll-call";
    type Config = Settings;
    type Durable = Infallible;
    type Message = Message;
    type Timer = Timer;

    fn new(settings: Settings, _seed: u64) -> Result<Self, ConfigError> {
        settings.timing.validate()?;
        Ok(RollCall {
            highest: settings.id,
            settings,
            role: Role::NotStarted,
            timers: Timers::new([Timer::Listen]),
            announced: None,
            sends: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    fn handle(&mut self, now: Time, input: Input<Message>) {
        for ticket in self.timers.due(now) {
            if self.timers.fires(ticket) {
                self.on_listened();
            }
        }
        match input {
            Input::Boot => self.boot(now),
            Input::Receive { from, .. } if self.role != Role::NotStarted => self.receive(from),
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
        (next != self.announced).then(|| {
            self.announced = next;
            Output::WakeAt(next)
        })
    }

    fn status(&self) -> Status {
        let id = self.settings.id;
        let leader = match self.role {
            Role::Follower => Some(self.highest),
            Role::Leader => Some(id),
            Role::NotStarted | Role::Candidate | Role::Waiting => None,
        };
        Status { id, role: self.role, leader }
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.timers.armed()
    }
}
