//! That a node which is moved by hand does what one does that moves by itself.

use super::*;
use crate::protocol::Birth;
use crate::protocol::Members;
use crate::protocol::bully::{self, Bully};
use crate::protocol::quorum::{self, Mark, Message, Quorum};

const MOMENT: Duration = Duration::from_micros(1);

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn members() -> Members {
    Members::new([1, 2, 3].map(id)).expect("valid")
}

fn quorum() -> Steered<Quorum> {
    let config = quorum::Config { id: id(3), members: members(), timing: quorum::Timing::DEFAULT };
    let node = Node::new(config, Quorum::founder(), 0).expect("valid");
    Steered::new(node, Quorum::founder(), &[id(1), id(2)], Time::ZERO).expect("a runtime")
}

/// When the node's first timer is due.
fn due<C: Core>(steered: &Steered<C>) -> Time {
    steered.node().armed().map(|(_, at)| at).min().expect("a timer is armed")
}

fn hears(steered: &mut Steered<Quorum>, message: Message) {
    let now = steered.now + MOMENT;
    steered.receive(now, id(1), message);
}

fn save_all(steered: &mut Steered<Quorum>) {
    while steered.saving().is_some() {
        steered.finish_save();
    }
    assert!(!steered.is_behind());
}

/// A node that has the support of a majority, and saves that it claims epoch 1.
fn claims() -> Steered<Quorum> {
    let mut steered = quorum();
    steered.boot(Time::ZERO);
    for _ in ["it is quiet", "it watches"] {
        save_all(&mut steered);
        let at = due(&steered);
        steered.wait_until(at);
    }
    save_all(&mut steered);
    let _ = steered.take_effects();
    hears(&mut steered, Message::Support(Epoch::new(1)));
    steered
}

fn is_sent<D, M>(effect: &Effect<D, M>) -> bool {
    matches!(effect, Effect::Sent { .. })
}

#[test]
fn nothing_leaves_a_node_before_it_is_durable() {
    let mut steered = claims();
    assert!(steered.is_behind());
    assert!(!steered.take_effects().iter().any(is_sent), "it is not durable");
    let written = steered.saving().expect("it writes");
    steered.finish_save();
    let effects = steered.take_effects();
    assert_eq!(effects.first(), Some(&Effect::Saved(written)));
    assert!(effects.iter().any(is_sent), "{effects:?}");
    assert!(!steered.is_behind());
}

#[test]
fn a_node_can_crash_while_it_saves() {
    let mut steered = claims();
    let disk = steered.disk.clone().expect("it has one");
    let (before, written) = (disk.durable(), steered.saving());
    assert!(written.is_some() && written != before);
    drop(steered);
    assert_eq!(disk.durable(), before);
}

#[test]
fn a_loop_wakes_up_by_itself() {
    let config = bully::Config { id: id(2), members: members(), timing: bully::Timing::DEFAULT };
    let node = Node::<Bully>::new(config, None, 0).expect("valid");
    let mut steered = Steered::new(node, None, &[id(1), id(3)], Time::ZERO).expect("a runtime");
    steered.boot(Time::ZERO);
    let effects = steered.take_effects();
    assert!(effects.iter().any(is_sent), "{effects:?}");
    let at = due(&steered);
    steered.wait_until(at);
    assert!(steered.leadership().is_self(), "no higher node has answered");
    assert!(steered.guard().is_none(), "by this protocol, there are no leases");
    let effects = steered.take_effects();
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Told(_))), "{effects:?}");
}

#[test]
fn a_timer_can_be_forced() {
    let mut steered = quorum();
    steered.boot(Time::ZERO);
    save_all(&mut steered);
    let armed: Vec<_> = steered.node().armed().collect();
    let (timer, at) = armed[0];
    steered.bring_forward(timer, Time::ZERO + MOMENT);
    steered.wait_until(Time::ZERO + MOMENT * 2);
    assert!(!steered.node().armed().any(|armed| armed == (timer, at)));
}

#[test]
fn a_lease_ends_by_the_clock() {
    let mut steered = claims();
    save_all(&mut steered);
    let ack = Message::Ack(Epoch::new(1), 1, Mark::default());
    for message in [Message::Grant(Epoch::new(1), Birth::FOUNDER), ack] {
        hears(&mut steered, message);
        save_all(&mut steered);
    }
    assert!(steered.leadership().is_self());
    let guard = steered.guard().expect("it leads");
    assert_eq!(guard.epoch(), Epoch::new(1));
    let until = guard.until().expect("it is valid");
    while steered.node().lease().is_some_and(|lease| lease.until == until) {
        let at = due(&steered);
        steered.wait_until(at);
        save_all(&mut steered);
    }
    assert!(!guard.is_valid_now(), "no node has acknowledged another round");
    assert!(steered.guard().is_none() && !steered.leadership().is_self());
    assert_eq!(steered.ended(), None);
}

#[test]
fn what_is_ignored_is_told() {
    let mut steered = quorum();
    steered.boot(Time::ZERO);
    save_all(&mut steered);
    let _ = steered.take_effects();
    hears(&mut steered, Message::Support(Epoch::new(9)));
    let effects = steered.take_effects();
    let [Effect::Ignored { from: 1, cause }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(cause, "stale");
}
