//! Roll call, the program: a pure core that knows nothing of the specification.
//! (In the tree this file is `impl/src/protocol/roll_call.rs`.)

use bellwether::protocol::bully::Config;
use bellwether::protocol::{Belief, Context, Core, NodeId, Nothing, Reason, Role, SettingsError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

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

const ANSWERED: Reason = Reason::new("answered", "a higher node answered");
const UNANSWERED: Reason = Reason::new("unanswered", "no higher node answered in time");
const CALLED: Reason = Reason::new("called", "a higher node called");

/// One node of the roll call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RollCall {
    role: Role,
    highest: NodeId,
}

impl RollCall {
    fn change(&mut self, cx: &mut Context<'_, Self>, to: Role, reason: Reason) {
        self.role = to;
        cx.because(reason);
    }

    /// The highest id that the node has heard of, its own included.
    pub fn highest(&self) -> NodeId {
        self.highest
    }
}

/// The rules, one function for each event.
impl Core for RollCall {
    const NAME: &'static str = "roll-call";
    const TIMERS: &'static [Timer] = &[Timer::Listen];
    type Config = Config;
    type Error = SettingsError;
    type Durable = Nothing;
    type Message = Message;
    type Timer = Timer;

    fn boot(cx: &mut Context<'_, Self>, _: Option<Nothing>, _: u64) -> Self {
        let me = cx.id();
        for to in cx.config().members.iter().filter(|&id| id != me) {
            cx.send(to, Message::Here);
        }
        cx.arm(Timer::Listen);
        cx.because(Reason::BOOTED);
        RollCall { role: Role::Candidate, highest: me }
    }

    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, Message::Here: Message) {
        if from < cx.id() {
            cx.send(from, Message::Here);
        }
        if from > self.highest {
            self.highest = from;
            if self.role != Role::Candidate {
                self.change(cx, Role::Follower, CALLED);
            }
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, Timer::Listen: Timer) {
        if self.highest == cx.id() {
            self.change(cx, Role::Leader, UNANSWERED);
        } else {
            self.change(cx, Role::Follower, ANSWERED);
        }
    }

    fn belief(&self, _: &Config) -> Belief {
        let leads = matches!(self.role, Role::Leader | Role::Follower);
        Belief { role: self.role, leader: leads.then_some(self.highest) }
    }

    fn validate(config: &Config, _: Option<&Nothing>) -> Result<(), SettingsError> {
        config.timing.validate()?;
        Ok(config.members.require(config.id)?)
    }

    fn period(config: &Config, Timer::Listen: Timer) -> Duration {
        config.timing.election
    }

    fn message_lifetime(config: &Config) -> Duration {
        config.timing.election
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted | Role::Waiting => false,
            Role::Candidate => from == Role::NotStarted,
            Role::Leader => from == Role::Candidate,
            Role::Follower => from != Role::NotStarted,
        }
    }
}
