//! The shell, with a core that does what it is told. The stories are scripts in `testdata`. Here are
//! those at whose end the core is stopped.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{
    Belief, Config, Context, Core, Members, NodeId, Reason, Role, SettingsError, Time,
};
use crate::stories::{self, tell};

/// What the core shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Order {
    /// Everything at once, in the wrong order.
    Everything,
    /// Arm a timer for a time that has passed.
    ArmLate,
    /// Become the leader, which a follower must not.
    Lead,
    /// Become a candidate, and say why.
    Stand,
    /// The same, without a reason.
    StandSilently,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Timer {
    Short,
    Long,
}

/// It writes down which timers have expired, and which nodes were reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Obedient {
    role: Role,
    expired: Vec<Timer>,
    suspected: Vec<NodeId>,
}

const ORDERED: Reason = Reason::new("ordered", "it was told to");

impl Core for Obedient {
    const NAME: &'static str = "obedient";
    const TIMERS: &'static [Timer] = &[Timer::Short, Timer::Long];
    type Config = Config<()>;
    type Error = SettingsError;
    type Durable = u8;
    type Message = Order;
    type Timer = Timer;

    fn validate(_: &Config<()>, _: Option<&u8>) -> Result<(), SettingsError> {
        Ok(())
    }

    fn period(_: &Config<()>, timer: Timer) -> Duration {
        Duration::from_millis(match timer {
            Timer::Short => 10,
            Timer::Long => 25,
        })
    }

    fn message_lifetime(_: &Config<()>) -> Duration {
        Duration::from_millis(10)
    }

    fn may_become(_: Role, to: Role) -> bool {
        to != Role::Leader
    }

    fn boot(cx: &mut Context<'_, Self>, _: Option<u8>, _: u64) -> Self {
        cx.because(Reason::BOOTED);
        Self { role: Role::Follower, expired: Vec::new(), suspected: Vec::new() }
    }

    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, order: Order) {
        match order {
            Order::Everything => {
                self.role = Role::Waiting;
                cx.because(ORDERED);
                cx.arm(Timer::Long);
                cx.arm(Timer::Short);
                cx.send(from, order);
                cx.persist(7);
            }
            Order::ArmLate => cx.arm_at(Timer::Short, Time::ZERO),
            Order::Lead => {
                self.role = Role::Leader;
                cx.because(ORDERED);
            }
            Order::Stand => {
                self.role = Role::Candidate;
                cx.because(ORDERED);
            }
            Order::StandSilently => self.role = Role::Candidate,
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        self.expired.push(timer);
        if timer == Timer::Short {
            cx.arm_at(Timer::Long, Time::ZERO);
        }
    }

    fn suspect(&mut self, _: &mut Context<'_, Self>, node: NodeId) {
        self.suspected.push(node);
    }

    fn belief(&self, _: &Config<()>) -> Belief {
        Belief { role: self.role, leader: None }
    }

    fn watched(&self, _: &Config<()>) -> impl Iterator<Item = NodeId> {
        NodeId::new(2).into_iter()
    }
}

impl Scripted for Obedient {
    fn configured(id: NodeId, members: Members) -> Config<()> {
        Config { id, members, timing: () }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<Obedient>>("src/protocol/node/testdata");
}

/// Tells a node that has booted what its core shall do.
fn order(order: &str) {
    let commands = format!("node 1 members=1,2\nat 0 boot\nat 1 from 2 {order}");
    tell(&mut Nodes::<Obedient>::default(), &commands);
}

#[test]
#[should_panic(expected = "obedient: follower cannot become leader")]
fn a_core_that_takes_a_role_that_it_must_not_take_is_stopped() {
    order("Lead");
}

#[test]
#[should_panic(expected = "obedient: follower becomes candidate without a reason")]
fn a_core_that_does_not_say_why_it_changes_its_role_is_stopped() {
    order("StandSilently");
}
