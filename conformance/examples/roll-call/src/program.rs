//! The program: a pure core that knows nothing of the specification.

use bellwether_core::protocol::bully::Config;
use bellwether_core::protocol::{Belief, Context, Core, NodeId, Nothing, Reason, Role};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "I am here."
    Here,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// How long a node listens.
    Listen,
}

const LISTENED: Reason = Reason::new("listened", "the node has listened long enough");
const CALLED: Reason = Reason::new("called", "a higher node called");

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RollCall {
    role: Role,
    /// The highest id that the node has heard of, its own included.
    pub highest: NodeId,
}

impl Core for RollCall {
    const NAME: &'static str = "roll-call";
    const TIMERS: &'static [Timer] = &[Timer::Listen];
    type Config = Config;
    type Error = bellwether_core::protocol::SettingsError;
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
                self.role = Role::Follower;
                cx.because(CALLED);
            }
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, Timer::Listen: Timer) {
        self.role = if self.highest == cx.id() { Role::Leader } else { Role::Follower };
        cx.because(LISTENED);
    }

    fn belief(&self, _: &Config) -> Belief {
        let knows = matches!(self.role, Role::Leader | Role::Follower);
        Belief { role: self.role, leader: knows.then_some(self.highest) }
    }

    fn validate(config: &Config, _: Option<&Nothing>) -> Result<(), Self::Error> {
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
