//! The baton: the simplest core that a member can surround. One node has it, and hands it on by a
//! message. Who has it claims an epoch, leads, and renews its lease in rounds.

use bellwether_core::protocol::{
    Belief, Config, Context, Core, Epoch, MemberError, Membership as _, NodeId, Reason, Request,
    Role,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a leader counts its lease. All durations are so long that a pause lets none pass.
pub const LEASE: Duration = Duration::from_secs(3 * 60 * 60);
/// How long a node that has the baton waits before it claims.
pub const CLAIM: Duration = Duration::from_secs(2 * 60 * 60);
/// How long a leader waits before it renews its lease.
pub const ROUND: Duration = Duration::from_secs(60 * 60);

/// The node was given the baton.
pub const ENTRUSTED: Reason = Reason::new("entrusted", "the node was given the baton");
const CLAIMED: Reason = Reason::new("claimed", "the node has the baton, and claims to lead");
const LEASE_OVER: Reason = Reason::new("lease_over", "the lease is over");
const ASKED: Reason = Reason::new("asked", "the node was asked to lead no longer");
const STALE: Reason = Reason::new("stale", "the baton was handed on since");

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "The baton is yours, and this epoch."
    Entrust(Epoch),
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Until its lease is over.
    Lease,
    /// Until it renews that.
    Round,
    /// Until it claims the next epoch.
    Claim,
}

/// What a node must not forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The highest epoch that it knows.
    pub epoch: Epoch,
    /// Which node has the baton.
    pub holder: NodeId,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Baton {
    known: Durable,
    leads: bool,
    healthy: bool,
    next: NodeId,
}

impl Baton {
    /// What it knows, whether that is durable or not.
    #[must_use]
    pub fn known(&self) -> Durable {
        self.known
    }

    /// Whether it leads.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Whether its machine is fit to lead.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.healthy
    }

    fn lead(&mut self, cx: &mut Context<'_, Self>, epoch: Epoch, reason: Reason) {
        self.known = Durable { epoch, holder: cx.id() };
        self.leads = true;
        cx.cancel(Timer::Claim);
        cx.arm(Timer::Lease);
        cx.arm(Timer::Round);
        cx.persist(self.known);
        cx.because(reason);
    }

    /// Nothing happens if it does not lead.
    fn hand_over(&mut self, cx: &mut Context<'_, Self>, to: NodeId, reason: Reason) {
        if self.leads {
            self.known = Durable { epoch: self.known.epoch.next(), holder: to };
            self.leads = false;
            cx.cancel(Timer::Lease);
            cx.cancel(Timer::Round);
            cx.persist(self.known);
            cx.send(to, Message::Entrust(self.known.epoch));
            cx.because(reason);
        }
    }
}

impl Core for Baton {
    const NAME: &'static str = "member";
    const TIMERS: &'static [Timer] = &[Timer::Lease, Timer::Round, Timer::Claim];
    const REQUESTS: bool = true;
    type Config = Config<()>;
    type Error = MemberError;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Self::Config, _: Option<&Durable>) -> Result<(), MemberError> {
        config.members.require(config.id)
    }

    fn period(_: &Self::Config, timer: Timer) -> Duration {
        match timer {
            Timer::Lease => LEASE,
            Timer::Round => ROUND,
            Timer::Claim => CLAIM,
        }
    }

    fn message_lifetime(_: &Self::Config) -> Duration {
        LEASE
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted | Role::Waiting => false,
            Role::Candidate | Role::Follower => matches!(from, Role::NotStarted | Role::Leader),
            Role::Leader => matches!(from, Role::Candidate | Role::Follower),
        }
    }

    /// At first, the highest has the baton.
    fn boot(cx: &mut Context<'_, Self>, durable: Option<Durable>, _: u64) -> Self {
        let (me, members) = (cx.id(), &cx.config().members);
        let highest = members.iter().max().unwrap_or(me);
        let higher = members.iter().find(|&id| id > me);
        let next = higher.or(members.iter().min()).unwrap_or(me);
        let first = Durable { epoch: Epoch::default(), holder: highest };
        let known = durable.unwrap_or(first);
        if known.holder == me {
            cx.arm(Timer::Claim);
        }
        cx.because(Reason::BOOTED);
        Self { known, leads: false, healthy: true, next }
    }

    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        let Message::Entrust(epoch) = message;
        if self.leads || epoch <= self.known.epoch {
            cx.ignore(from, STALE);
        } else {
            self.lead(cx, epoch, ENTRUSTED);
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Claim if self.healthy => self.lead(cx, self.known.epoch.next(), CLAIMED),
            Timer::Claim => cx.arm(Timer::Claim),
            // If its lease is over, that is handled next.
            Timer::Round if cx.armed(Timer::Lease).is_none_or(|until| until <= cx.now()) => {}
            Timer::Round if self.healthy => {
                cx.arm(Timer::Lease);
                cx.arm(Timer::Round);
            }
            Timer::Round => self.hand_over(cx, self.next, Reason::UNFIT),
            Timer::Lease => {
                self.leads = false;
                cx.cancel(Timer::Round);
                cx.arm(Timer::Claim);
                cx.because(LEASE_OVER);
            }
        }
    }

    fn request(&mut self, cx: &mut Context<'_, Self>, request: Request) {
        match request {
            Request::Yield(to) | Request::StepDown(to, _) => {
                self.hand_over(cx, to.unwrap_or(self.next), ASKED);
            }
            Request::Transfer(to) => self.hand_over(cx, to, ASKED),
            Request::Healthy(healthy) => self.healthy = healthy,
            Request::Change(_) | Request::Tell(_) => {}
        }
    }

    fn successor(&self, _: &Self::Config) -> Option<NodeId> {
        Some(self.next)
    }

    fn belief(&self, config: &Self::Config) -> Belief {
        let me = config.id();
        match self.known.holder {
            holder if holder != me => Belief { role: Role::Follower, leader: Some(holder) },
            _ if self.leads => Belief { role: Role::Leader, leader: Some(me) },
            _ => Belief { role: Role::Candidate, leader: None },
        }
    }

    fn lease(&self) -> Option<(Epoch, Timer)> {
        self.leads.then_some((self.known.epoch, Timer::Lease))
    }
}
