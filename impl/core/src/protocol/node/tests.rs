//! The shell, with a core that does what it is told.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Node;
use crate::protocol::{
    Belief, Config, Context, Core, Input, Members, NodeId, Output, Reason, Role, SettingsError,
    Time,
};

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
        Duration::from_nanos(match timer {
            Timer::Short => 10,
            Timer::Long => 25,
        })
    }

    fn message_lifetime(_: &Config<()>) -> Duration {
        Duration::from_nanos(10)
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
        [id(2)].into_iter()
    }
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn at(nanoseconds: u64) -> Time {
    Time::from_nanos(nanoseconds)
}

fn booted() -> Node<Obedient> {
    let members = Members::new([1, 2].map(id)).expect("valid");
    let config = Config { id: id(1), members, timing: () };
    let mut node = Node::new(config, None, 0).expect("valid");
    assert_eq!(
        put_out(&mut node, 0, Input::Boot),
        ["not_started becomes follower: the node started"]
    );
    node
}

fn order(node: &mut Node<Obedient>, now: u64, order: Order) -> Vec<String> {
    put_out(node, now, Input::Receive { from: id(2), message: order })
}

fn put_out(node: &mut Node<Obedient>, now: u64, input: Input<Order>) -> Vec<String> {
    node.handle(at(now), input);
    let outputs = std::iter::from_fn(|| node.poll());
    let words = outputs.map(|output| match output {
        Output::Persist(durable) => format!("persist {durable}"),
        Output::Send { to, message } => format!("{message:?} to {to}"),
        Output::Event(event) => event.to_string(),
        Output::WakeAt(wake) => format!("wake at {:?}", wake.map(Time::as_nanos)),
    });
    words.collect()
}

#[test]
fn effects_come_in_one_order_whatever_the_core_does_first() {
    let effects = [
        "persist 7",
        "Everything to 2",
        "follower becomes waiting: it was told to",
        "wake at Some(11)",
    ];
    assert_eq!(order(&mut booted(), 1, Order::Everything), effects);
}

#[test]
fn an_expiry_that_arms_a_timer_in_the_past_does_not_fire_it_within_the_same_input() {
    let mut node = booted();
    order(&mut node, 1, Order::Everything);
    assert_eq!(put_out(&mut node, 99, Input::Wake), ["wake at Some(0)"]);
    assert_eq!(node.core().map(|core| &core.expired[..]), Some(&[Timer::Short][..]));
    assert_eq!(put_out(&mut node, 99, Input::Wake), ["wake at None"]);
    let expired = [Timer::Short, Timer::Long];
    assert_eq!(node.core().map(|core| &core.expired[..]), Some(&expired[..]));
    assert_eq!(order(&mut node, 99, Order::ArmLate), ["wake at Some(0)"]);
}

#[test]
fn a_report_counts_only_about_a_node_that_is_watched() {
    let mut node = booted();
    put_out(&mut node, 1, Input::Suspect(id(1)));
    put_out(&mut node, 1, Input::Suspect(id(2)));
    assert_eq!(node.core().map(|core| &core.suspected[..]), Some(&[id(2)][..]));
}

#[test]
fn a_change_of_role_is_told_once_and_a_change_to_the_same_is_none() {
    let mut node = booted();
    let told = ["follower becomes candidate: it was told to"];
    assert_eq!(order(&mut node, 1, Order::Stand), told);
    assert_eq!(order(&mut node, 1, Order::Stand), [""; 0]);
}

#[test]
#[should_panic(expected = "obedient: follower cannot become leader")]
fn a_core_that_takes_a_role_that_it_must_not_take_is_stopped() {
    order(&mut booted(), 1, Order::Lead);
}

#[test]
#[should_panic(expected = "obedient: follower becomes candidate without a reason")]
fn a_core_that_does_not_say_why_it_changes_its_role_is_stopped() {
    order(&mut booted(), 1, Order::StandSilently);
}
