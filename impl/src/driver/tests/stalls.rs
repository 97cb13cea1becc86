//! What happens while the disk does not answer. The core is the quorum bully's.

use std::pin::pin;
use std::sync::mpsc as channel;

use super::*;
use crate::protocol::Epoch;
use crate::protocol::quorum::{Message, Quorum, Timer, Timing};

/// A disk that answers each save when it is let.
struct Stalling(channel::Receiver<()>);

impl<D: 'static> Storage<D> for Stalling {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        Ok(None)
    }

    fn save(&mut self, _: &D) -> Result<(), StorageError> {
        self.0.recv().map_err(|_| StorageError::Missing)
    }
}

/// Node 3 of three, at the moment before it claims epoch 1; and what lets its disk answer.
async fn candidate()
-> (Actor<Quorum, ManualClock>, LeadershipWatch, Lessor, ManualClock, channel::Sender<()>) {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = protocol::quorum::Config { id: id(3), members, timing: Timing::DEFAULT };
    let node = Node::new(config, None, 0).expect("valid");
    let clock = ManualClock::new();
    let (mut actor, leadership, lessor) = around(node, ms(60_000), &clock);
    let (answer, answers) = channel::channel();
    actor.storage = Some(Box::new(Stalling(answers)));
    actor.step(Input::Boot).await.expect("nothing to save");
    for timer in [Timer::Quiet, Timer::Watch] {
        clock.sleep(Quorum::period(actor.node.config(), timer));
        actor.step(Input::Wake).await.expect("nothing to save");
    }
    assert_eq!(actor.node.status().role, Role::Candidate);
    let support = |from| Input::Receive { from: id(from), message: Message::Support(first()) };
    answer.send(()).expect("it waits");
    actor.step(support(1)).await.expect("saved");
    (actor, leadership, lessor, clock, answer)
}

fn first() -> Epoch {
    Epoch::default().next()
}

fn grant(from: u16) -> Input<Message> {
    Input::Receive { from: id(from), message: Message::Grant(first()) }
}

#[tokio::test]
async fn a_leader_that_has_lost_is_told_before_the_disk_answers() {
    let (mut actor, leadership, lessor, _, answer) = candidate().await;
    actor.step(grant(1)).await.expect("nothing to save");
    assert!(leadership.now().is_self() && lessor.left().is_some());
    // There is a higher epoch, which it has to remember.
    let higher = first().next().next();
    let refused = Input::Receive { from: id(2), message: Message::Refuse(higher, None) };
    let told;
    {
        let mut step = pin!(actor.step(refused));
        let stalled = tokio::time::timeout(ms(50), &mut step).await;
        assert!(stalled.is_err(), "the disk does not answer");
        let now = leadership.now();
        assert_eq!((now.role, now.leader), (Role::Follower, None));
        assert_eq!(now.reason.map(Reason::name), Some("higher_epoch"));
        assert!(lessor.left().is_none());
        told = now.seq;
        answer.send(()).expect("it waits");
        step.await.expect("saved");
    }
    assert_eq!(leadership.now().seq, told, "it is told once");
}

#[tokio::test]
async fn a_lease_counts_from_before_the_disk_was_asked() {
    let (mut actor, leadership, lessor, clock, answer) = candidate().await;
    // As long as the claim took to be saved: the grants are worth nothing any more.
    clock.sleep(Timing::DEFAULT.lease);
    answer.send(()).expect("it may have to wait again");
    actor.step(grant(1)).await.expect("saved");
    assert!(!leadership.now().is_self() && lessor.left().is_none());
}
