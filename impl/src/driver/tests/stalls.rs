//! What happens while the disk does not answer. The core is the quorum bully's.

use std::pin::pin;
use std::sync::mpsc as channel;

use super::*;
use crate::protocol::garcia_molina::{self, GarciaMolina, Timing as GarciaTiming};
use crate::protocol::quorum::{Message, Quorum, State, Timer, Timing};
use crate::protocol::{Epoch, Output, Request};

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
async fn candidate() -> Candidate {
    candidate_whose_disk_may_take(BOUND).await
}

type Candidate =
    (Actor<Quorum, ManualClock>, LeadershipWatch, Lessor, ManualClock, channel::Sender<()>);

async fn candidate_whose_disk_may_take(bound: Duration) -> Candidate {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = protocol::quorum::Config { id: id(3), members, timing: Timing::DEFAULT };
    let node = Node::new(config, None, 0).expect("valid");
    let clock = ManualClock::new();
    let (mut actor, leadership, lessor) = around(node, ms(60_000), &clock);
    let (answer, answers) = channel::channel();
    actor.disk = Disk::new(Some(Box::new(Stalling(answers))), bound, clock.now());
    actor.step(Input::Boot).await.expect("nothing to save");
    for timer in [Timer::Quiet, Timer::Watch] {
        clock.sleep(Quorum::period(actor.node.config(), timer));
        actor.step(Input::Wake).await.expect("nothing to save");
    }
    assert_eq!(actor.node.status().role, Role::Candidate);
    let support = |from| Input::Receive { from: id(from), message: Message::Support(first()) };
    answer.send(()).expect("it waits");
    actor.step(support(1)).await.expect("a storage");
    actor.save_all().await.expect("saved");
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
    actor.step(refused).await.expect("a storage");
    assert!(actor.is_behind(), "the disk does not answer");
    let now = leadership.now();
    assert_eq!((now.role, now.leader), (Role::Follower, None));
    assert_eq!(now.reason.map(Reason::name), Some("higher_epoch"));
    assert!(lessor.left().is_none());
    let told = now.seq;
    answer.send(()).expect("it waits");
    actor.save_all().await.expect("saved");
    assert_eq!(leadership.now().seq, told, "it is told once");
}

#[tokio::test]
async fn a_lease_counts_from_before_the_disk_was_asked() {
    let (mut actor, leadership, lessor, clock, answer) = candidate().await;
    // As long as the claim took to be saved: the grants are worth nothing any more.
    clock.sleep(Timing::DEFAULT.lease);
    answer.send(()).expect("it may have to wait again");
    actor.step(grant(1)).await.expect("a storage");
    actor.save_all().await.expect("saved");
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

/// Has a node save its state, whatever the core saves while it leads: none of those that there
/// are waits for long.
fn save(actor: &mut Actor<Quorum, ManualClock>) {
    let core = actor.node.core().expect("booted");
    let (epoch, granted_to) = (core.epoch(), core.granted_to());
    let durable = protocol::quorum::Durable { epoch, granted_to, list: None, promise: None };
    actor.unsaved.sort(actor.clock.now(), Output::Persist(durable));
    actor.catch_up().expect("a storage");
}

#[tokio::test]
async fn a_leader_whose_save_stalls_leads_no_longer_than_its_lease() {
    let (mut actor, leadership, lessor, clock, answer) =
        candidate_whose_disk_may_take(ms(60_000)).await;
    actor.step(grant(1)).await.expect("nothing to save");
    assert_eq!(pass(&mut actor, &clock, 300).await, 300);
    let left = lessor.left().expect("it leads");
    save(&mut actor);
    // What it says waits for the disk, so no member acknowledges anything.
    while lessor.left().is_some() {
        assert!(leadership.now().is_self() && actor.is_behind());
        clock.sleep(ms(10));
        actor.step(Input::Wake).await.expect("nothing to save");
        actor.look_at_disk().await.expect("nothing has failed");
    }
    assert!(left <= Timing::DEFAULT.lease);
    let now = leadership.now();
    assert!(!now.is_self() && actor.node.status().role != Role::Leader, "{now:?}");
    assert!(actor.is_behind(), "the disk has not answered");
    answer.send(()).expect("it waits");
    actor.save_all().await.expect("saved");
    assert_eq!(leadership.now(), now, "it is told once");
}

/// The process stands still while the disk saves, and longer than the lease lasts.
#[tokio::test]
async fn a_node_whose_lease_is_over_when_the_disk_answers_is_not_said_to_lead() {
    for later in [100, 1_000] {
        let (mut actor, leadership, lessor, clock, answer) = candidate().await;
        save(&mut actor);
        actor.step(grant(1)).await.expect("it waits");
        assert_eq!(actor.node.status().role, Role::Leader);
        assert!(!leadership.now().is_self() && lessor.left().is_none(), "it may be lost");
        let told = leadership.now().seq;
        clock.sleep(ms(later));
        answer.send(()).expect("it waits");
        has_answered(&actor).await;
        actor.look_at_disk().await.expect("nothing to save");
        assert_eq!(leadership.now().is_self(), later == 100, "after {later} ms");
        // It is told of the loss alone.
        assert_eq!(leadership.now().seq, told + 1);
    }
}

/// The core is Garcia-Molina's, whose leader has no lease.
#[tokio::test]
async fn the_program_of_a_leader_without_a_lease_is_told_that_the_disk_stalls() {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = garcia_molina::Config { id: id(3), members, timing: GarciaTiming::DEFAULT };
    let node = Node::<GarciaMolina>::new(config, None, 0).expect("valid");
    let clock = ManualClock::new();
    let (mut actor, leadership, _) = around(node, ms(400), &clock);
    let (answer, answers) = channel::channel();
    actor.disk = Disk::new(Some(Box::new(Stalling(answers))), ms(400), clock.now());
    actor.step(Input::Boot).await.expect("a storage");
    while actor.node.status().role != Role::Leader {
        clock.sleep(ms(50));
        actor.step(Input::Wake).await.expect("a storage");
    }
    assert!(actor.is_behind() && !leadership.now().is_self(), "the number of its task may be lost");
    answer.send(()).expect("it waits");
    actor.save_all().await.expect("saved");
    assert!(leadership.now().is_self());

    let number = garcia_molina::Computed::new(1);
    actor.unsaved.sort(clock.now(), Output::Persist(number));
    actor.catch_up().expect("a storage");
    for (later, leads) in [(399, true), (1, false), (10_000, false)] {
        clock.sleep(ms(later));
        actor.awake.runs(clock.now());
        actor.look_at_disk().await.expect("nothing has failed");
        actor.look();
        assert_eq!(leadership.now().is_self(), leads);
    }
    let now = leadership.now();
    assert_eq!((now.role, now.leader), (Role::Waiting, None));
    assert_eq!(now.reason.map(Reason::name), Some("storage_stalled"));
    answer.send(()).expect("it waits");
    actor.save_all().await.expect("saved");
    // The others have heard nothing, and need some time to hear that it leads still.
    for (later, leads) in [(0, false), (399, false), (1, true)] {
        clock.sleep(ms(later));
        actor.look();
        assert_eq!(leadership.now().is_self(), leads, "after {later} ms");
    }
    assert_eq!(leadership.now().reason.map(Reason::name), Some("resumed"));
}

/// The loop, with time as it passes, around the core that records.
#[tokio::test]
async fn timers_and_questions_go_on_while_the_disk_stalls() {
    let (mut actor, mut hands) = node(None);
    let (answer, answers) = channel::channel();
    let saved = hands.records.clone();
    actor.disk = Disk::new(Some(Box::new(Late(answers, saved))), BOUND, hands.clock.now());
    let inbox = hands.inbox.take().expect("runs once");
    let (asks, orders) = order::channel();
    let run = tokio::spawn(actor.run(inbox, orders, hands.stop.clone()));
    hands.arrive(2, Frame::Message(super::Order::Note(1))).await;
    hands.arrive(2, Frame::Message(super::Order::Arm(50))).await;
    tokio::time::sleep(ms(200)).await;
    for _ in 0..10 {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let what = order::What::Answer;
        asks.send(order::Order { what, answer }).await.expect("it runs");
        let answered = tokio::time::timeout(ms(1_000), answered).await;
        answered.expect("at once").expect("it runs").expect("nothing to refuse");
    }
    tokio::time::sleep(ms(400)).await;
    assert_eq!(hands.records.all(), [], "the disk does not answer");
    answer.send(()).expect("it waits");
    answer.send(()).expect("it will wait again");
    let both = async {
        while hands.records.all().len() < 2 {
            tokio::time::sleep(ms(5)).await;
        }
    };
    tokio::time::timeout(ms(10_000), both).await.expect("the disk answers");
    let records = hands.records.all();
    assert_eq!(records[0].0, What::Note(1));
    assert_eq!(records[1].0, What::Expired);
    let late = records[1].1 - records[0].1;
    assert!((50..500).contains(&late), "the timer expired after {late} ms");
    hands.stop.cancel();
    run.await.expect("no panic").expect("nothing failed");
}

/// A storage that saves when it is let.
struct Late(channel::Receiver<()>, Records);

impl Storage<(What, u64)> for Late {
    fn load(&mut self) -> Result<Option<(What, u64)>, StorageError> {
        Ok(None)
    }

    fn save(&mut self, state: &(What, u64)) -> Result<(), StorageError> {
        self.0.recv().map_err(|_| StorageError::Missing)?;
        self.1.save(state)
    }
}

#[tokio::test]
async fn a_node_that_leaves_does_not_wait_for_a_disk_that_does_not_answer() {
    let (mut actor, mut hands) = node(None);
    let (answer, answers) = channel::channel();
    let saved = hands.records.clone();
    actor.disk = Disk::new(Some(Box::new(Late(answers, saved))), BOUND, hands.clock.now());
    actor.step(says(super::Order::Note(1))).await.expect("a storage");
    hands.stop.cancel();
    let left = tokio::time::timeout(ms(10_000), hands.run(actor)).await;
    left.expect("soon").expect("no panic").expect("nothing failed");
    assert_eq!(hands.records.all(), []);
    drop(answer);
}

/// Two nodes, of which the lower has a disk that does not answer. Nothing that depends on it leaves
/// the node, and everything else goes on.
#[tokio::test]
async fn a_vote_waits_for_the_disk_and_the_rest_of_the_node_does_not() {
    let mut listeners = Vec::new();
    for _ in 0..2 {
        listeners.push(TcpListener::bind("127.0.0.1:0").await.expect("a port"));
    }
    let members: Vec<_> = (1..)
        .zip(&listeners)
        .map(|(node, listener)| (node, listener.local_addr().expect("an address").to_string()))
        .collect();
    let (answer, answers) = channel::channel();
    let config = |node| config::Config::new("orders", node, members.clone()).expect("valid");
    let listener = listeners.remove(0);
    let low = Election::join_with(config(1), listener, Stalling(answers)).expect("it listens");
    let memory = crate::storage::Memory::default();
    let listener = listeners.remove(0);
    let high = Election::join_with(config(2), listener, memory).expect("it listens");
    let mut seen = high.leadership();
    let led = tokio::time::timeout(ms(5_000), seen.wait_for(Leadership::is_self)).await;
    assert!(led.is_err(), "a vote that may be forgotten does not count");
    tokio::time::timeout(ms(1_000), low.responds()).await.expect("at once").expect("it runs");
    assert_eq!(low.status().problem.as_deref(), Some("the storage does not answer"));
    let answers = std::thread::spawn(move || {
        while answer.send(()).is_ok() {
            std::thread::sleep(ms(1));
        }
    });
    let led = tokio::time::timeout(ms(20_000), seen.wait_for(Leadership::is_self)).await;
    assert!(led.expect("in time").is_some());
    assert_eq!(low.status().problem, None);
    low.leave().await.expect("nothing failed");
    high.leave().await.expect("nothing failed");
    answers.join().expect("it ends with the disk");
}
