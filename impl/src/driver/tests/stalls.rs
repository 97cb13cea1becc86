//! What happens while the disk does not answer. The core is the quorum bully's.

use std::pin::pin;
use std::sync::mpsc as channel;

use super::*;
use crate::protocol::quorum::{Message, Quorum, State, Timer, Timing};
use crate::protocol::{Epoch, Request};

/// A disk that answers each save when it is let.
struct Stalling(channel::Receiver<()>);

impl<D: 'static> Storage<D> for Stalling {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        Ok(None)
    }

    fn save(&mut self, _: &D) -> Result<(), StorageError> {
        self.0.recv().map_err(|_| StorageError::Missing)
    }

    fn probe(&mut self) -> Result<(), StorageError> {
        self.0.recv().map_err(|_| StorageError::Missing)
    }
}

/// How long the disk may take.
const BOUND: Duration = ms(1_000);

/// Node 3 of three, at the moment before it claims epoch 1; and what lets its disk answer.
async fn candidate()
-> (Actor<Quorum, ManualClock>, LeadershipWatch, Lessor, ManualClock, channel::Sender<()>) {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = protocol::quorum::Config { id: id(3), members, timing: Timing::DEFAULT };
    let node = Node::new(config, None, 0).expect("valid");
    let clock = ManualClock::new();
    let (mut actor, leadership, lessor) = around(node, ms(60_000), &clock);
    let (answer, answers) = channel::channel();
    actor.disk = Disk::new(Some(Box::new(Stalling(answers))), BOUND, clock.now());
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

/// Lets a tenth of a second pass, in which node 1 acknowledges a round. Whether the node leads.
async fn renew(actor: &mut Actor<Quorum, ManualClock>, clock: &ManualClock) -> bool {
    clock.sleep(ms(100));
    actor.step(Input::Wake).await.expect("nothing to save");
    let core = actor.node.core().expect("booted");
    let State::Leader { round, .. } = *core.state() else { return false };
    let message = Message::Ack(core.epoch(), round);
    let ack = Input::Receive { from: id(1), message };
    actor.step(ack).await.expect("nothing to save");
    true
}

/// Lets so much time pass, and says for how much of it the node has led.
async fn pass(actor: &mut Actor<Quorum, ManualClock>, clock: &ManualClock, time: u64) -> u64 {
    let mut led = 0;
    for _ in 0..time / 100 {
        led += u64::from(renew(actor, clock).await) * 100;
        actor.look_at_disk().await.expect("nothing to save");
    }
    led
}

/// The disk has answered by now, or does soon.
async fn has_answered(actor: &Actor<Quorum, ManualClock>) {
    while !actor.disk.has_answered() {
        tokio::time::sleep(ms(1)).await;
    }
}

#[tokio::test]
async fn a_leader_whose_disk_does_not_answer_yields_and_says_why() {
    let (mut actor, leadership, lessor, clock, answer) = candidate().await;
    actor.step(grant(1)).await.expect("nothing to save");
    for _ in 0..3 {
        assert_eq!(pass(&mut actor, &clock, 500).await, 500);
        answer.send(()).expect("it waits");
        has_answered(&actor).await;
        assert_eq!(pass(&mut actor, &clock, 1_500).await, 1_500, "it asks every other second");
    }
    assert_eq!(pass(&mut actor, &clock, 500).await, 500, "there is time left");
    let led = pass(&mut actor, &clock, 5_000).await;
    assert!(led <= 800, "it led for {led} ms more");
    let now = leadership.now();
    assert_eq!((now.role, now.leader), (Role::Follower, None));
    assert_eq!(now.reason.map(Reason::name), Some("storage_stalled"));
    assert!(lessor.left().is_none());
    assert_eq!(actor.node.status().role, Role::Follower, "it does not run");

    // Whatever its program says of the machine, the disk counts as well.
    actor.healthy = true;
    actor.step(actor.fitness()).await.expect("nothing to save");
    pass(&mut actor, &clock, 2_000).await;
    assert_eq!(actor.node.status().role, Role::Follower, "it does not run");
    answer.send(()).expect("it waits");
    has_answered(&actor).await;
    pass(&mut actor, &clock, 200).await;
    assert_eq!(actor.node.status().role, Role::Candidate, "it runs again");
}

#[tokio::test]
async fn a_leader_whose_disk_does_not_answer_yields_once_its_work_has_ended() {
    let (mut actor, leadership, lessor, clock, _answer) = candidate().await;
    actor.step(grant(1)).await.expect("nothing to save");
    let work = Work::begin(lessor.guard().expect("it leads"), leadership.clone());
    let work = work.expect("it leads");
    {
        let mut led = pin!(pass(&mut actor, &clock, 10_000));
        let waits = tokio::time::timeout(ms(100), &mut led).await;
        assert!(waits.is_err(), "it has not yielded: its lease is not over");
        assert!(work.is_asked_to_end() && work.guard().is_valid_now());
        assert!(leadership.now().is_self());
        drop(work);
        led.await;
    }
    assert_eq!(leadership.now().reason.map(Reason::name), Some("storage_stalled"));
    assert!(lessor.left().is_none());
}

#[tokio::test]
async fn a_leader_whose_disk_fails_yields_and_asks_again() {
    let (mut actor, leadership, _, clock, answer) = candidate().await;
    actor.step(grant(1)).await.expect("nothing to save");
    pass(&mut actor, &clock, 100).await;
    // It is never let answer: that is a failure.
    drop(answer);
    has_answered(&actor).await;
    let led = pass(&mut actor, &clock, 1_000).await;
    assert!(led <= 300, "it led for {led} ms more");
    assert_eq!(leadership.now().reason.map(Reason::name), Some("storage_stalled"));
    let next = actor.disk.next;
    pass(&mut actor, &clock, 2_000).await;
    assert!(actor.disk.next > next, "it asks again although it does not lead");
}

#[tokio::test]
async fn an_answer_that_is_looked_at_late_is_not_late() {
    let (mut actor, leadership, _, clock, answer) = candidate().await;
    actor.step(grant(1)).await.expect("nothing to save");
    pass(&mut actor, &clock, 100).await;
    answer.send(()).expect("it waits");
    has_answered(&actor).await;
    for _ in 0..20 {
        assert!(renew(&mut actor, &clock).await, "it leads");
    }
    actor.look_at_disk().await.expect("nothing to save");
    assert_eq!(actor.fitness(), Input::Request(Request::Healthy(true)));
    assert_eq!(pass(&mut actor, &clock, 500).await, 500);
    assert!(leadership.now().is_self());
}

/// Whatever the core saves while it leads: none of those that there are waits for long.
#[tokio::test]
async fn a_program_is_told_while_its_node_waits_for_the_disk() {
    let (mut actor, leadership, lessor, clock, answer) = candidate().await;
    actor.step(grant(1)).await.expect("nothing to save");
    actor.awake = Awake::new(ms(100), clock.now());
    let durable = actor.node.core().map(|core| protocol::quorum::Durable {
        epoch: core.epoch(),
        granted_to: core.granted_to(),
        list: None,
    });
    {
        let mut save = pin!(actor.persist(durable.expect("booted")));
        let stalled = tokio::time::timeout(ms(300), &mut save).await;
        assert!(stalled.is_err(), "the disk does not answer");
        let now = leadership.now();
        assert_eq!((now.role, now.leader), (Role::Waiting, None));
        assert_eq!(now.reason.map(Reason::name), Some("storage_stalled"));
        assert!(lessor.left().is_none());
        answer.send(()).expect("it waits");
        save.await.expect("saved");
    }
    // That was a pause to the others: they need some time to hear that it leads still.
    for _ in 0..1_000 {
        tokio::time::sleep(ms(5)).await;
        actor.look();
        if leadership.now().is_self() {
            break;
        }
    }
    let now = leadership.now();
    assert!(now.is_self(), "it leads still: {now:?}");
    assert_eq!(now.reason.map(Reason::name), Some("resumed"));
}
