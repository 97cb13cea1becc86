//! What the loop around a node does with time, with what must be durable, and with what arrives.
//! The clock is the tests' own, and so is the core: it makes durable what it sees, and when.

mod commands;
mod leader_alarm;
mod stalls;
mod whole;
mod work;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::field::Field;
use tracing_subscriber::layer::{self, Layer, SubscriberExt as _};

use super::actor::NodeLoop;
use super::commit::Disk;
use super::guard::{LeaseWriter, NodeLease};
use super::leadership::Publisher;
use super::observed::Observed;
use super::*;
use crate::clock::Clock as _;
use crate::clock::tests::ManualClock;
use crate::config::{Detection, Fields};
use crate::member::{End, Event, LONGEST_SLEEP, Member, Setup};
use crate::protocol::quorum::Lists;
use crate::protocol::{
    self, Belief, Context, Core, Input, Members, Node, NodeId, Reason, Role, Time,
};
use crate::trace::Received;
use crate::transport::frame::Frame;
use crate::transport::{Arrival, Links};

/// The core, which follows no node and watches node 2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Recorder;

/// What it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum What {
    Note(u8),
    Expired,
    Suspected,
}

/// What it is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Order {
    Note(u8),
    /// To arm its timer for so many milliseconds.
    Arm(u64),
    Cancel,
    /// To keep its thread until [`IS_KEPT`] is false again.
    Block,
    /// To panic, in the task that reads it.
    Poison(Poison),
}

/// Whether a node keeps its thread, in the one test that has it do so.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Reading one is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
struct Poison;

impl<'de> Deserialize<'de> for Poison {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("poison was read")
    }
}

type Config = protocol::Config<()>;

impl Core for Recorder {
    const NAME: &'static str = "recorder";
    const TIMERS: &'static [()] = &[()];
    type Config = Config;
    type Error = Infallible;
    type Durable = (What, u64);
    type Message = Order;
    type Timer = ();

    fn validate(_: &Config, _: Option<&Self::Durable>) -> Result<(), Infallible> {
        Ok(())
    }

    fn period(_: &Config, (): ()) -> Duration {
        Duration::ZERO
    }

    fn message_lifetime(_: &Config) -> Duration {
        Duration::from_secs(1)
    }

    fn may_become(_: Role, _: Role) -> bool {
        true
    }

    fn boot(cx: &mut Context<'_, Self>, _: Option<Self::Durable>, _: u64) -> Self {
        cx.because(Reason::BOOTED);
        Self
    }

    fn receive(&mut self, cx: &mut Context<'_, Self>, _: NodeId, order: Order) {
        match order {
            Order::Note(number) => note(cx, What::Note(number)),
            Order::Arm(milliseconds) => {
                cx.arm_at((), cx.now() + Duration::from_millis(milliseconds));
            }
            Order::Block => {
                IS_KEPT.store(true, Ordering::Relaxed);
                // A test that fails does not wait for it for ever.
                for _ in 0..60_000 {
                    std::thread::sleep(ms(1));
                    if !IS_KEPT.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            Order::Cancel | Order::Poison(_) => cx.cancel(()),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, (): ()) {
        note(cx, What::Expired);
    }

    fn suspect(&mut self, cx: &mut Context<'_, Self>, _: NodeId) {
        note(cx, What::Suspected);
    }

    fn belief(&self, _: &Config) -> Belief {
        Belief { role: Role::Follower, leader: None }
    }

    fn watched(&self, _: &Config) -> impl Iterator<Item = NodeId> {
        std::iter::once(id(2))
    }
}

impl Runnable for Recorder {
    type Section = ();

    fn fields((): &mut ()) -> Fields<'_> {
        Vec::new()
    }

    fn core(id: NodeId, members: &Members, (): &()) -> Result<Config, config::Error> {
        Ok(Config { id, members: members.clone(), timing: () })
    }
}

fn note(cx: &mut Context<'_, Recorder>, what: What) {
    let now = cx.now().since(Time::ZERO).as_millis();
    cx.persist((what, u64::try_from(now).expect("fits")));
}

pub(crate) fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Asserts that each of these is said.
pub(super) fn names(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part} is missing: {said}");
    }
}

pub(super) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// No wait is longer.
const LIMIT: Duration = ms(30_000);

/// All that was saved, in order.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<(What, u64)>>>);

impl Records {
    fn all(&self) -> Vec<(What, u64)> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Storage<(What, u64)> for Records {
    fn load(&mut self) -> Result<Option<(What, u64)>, StorageError> {
        Ok(None)
    }

    fn save(&mut self, state: &(What, u64)) -> Result<(), StorageError> {
        self.0.lock().expect("no panic").push(*state);
        Ok(())
    }
}

/// A node 1 among three, and the hands that move it.
struct Hands {
    clock: ManualClock,
    records: Records,
    seen: Arc<Observed>,
    arrivals: mpsc::Sender<Arrival<Order>>,
    inbox: Option<mpsc::Receiver<Arrival<Order>>>,
    stop: CancellationToken,
}

/// A leader may do nothing for `silence`, and a storage may take `bound`.
fn may_take(silence: Duration, bound: Duration) -> Setup {
    let (stores, prepares, aligned, detection) = (false, false, false, None);
    Setup { silence, lifetime: ms(1_000), members: 3, stores, bound, prepares, aligned, detection }
}

/// The loop around a node without links, and what its program sees.
fn around<C: Core>(
    node: Node<C>,
    setup: Setup,
    storage: Option<Box<dyn Storage<C::Durable>>>,
    clock: &ManualClock,
) -> (NodeLoop<C, ManualClock>, LeadershipWatch, Arc<NodeLease>) {
    let id = node.status().id;
    let (publisher, leadership, history) = Publisher::new(id);
    let (lease_writer, leases) = LeaseWriter::new(id, clock.clone(), setup.silence);
    let setup = Setup { stores: storage.is_some(), ..setup };
    let actor = NodeLoop {
        member: Member::new(node, &setup, clock.now()),
        links: Links::new(1, std::iter::empty(), ms(1_000), clock.clone()),
        lists: lists::channel(Lists::first(Members::of_any_size([id]))).0,
        disk: Disk::new(storage),
        publisher,
        lease_writer,
        preparation: watch::Sender::new(None),
        seen: Observed::of(leadership.clone(), history, leases.clone()),
        clock: clock.clone(),
        cuts_off: None,
        tickets: 0,
        replies: BTreeMap::new(),
        end: None,
        trace: None,
    };
    (actor, leadership, leases)
}

/// One thing after the other, as the loop does them.
impl<C: Core> NodeLoop<C, ManualClock> {
    async fn step(&mut self, input: Input<C::Message>) -> Result<(), StorageError> {
        let event = match input {
            Input::Boot => Event::Start,
            Input::Receive { from, message } => {
                Event::Received(Received::unnumbered(from, message))
            }
            Input::Wake => Event::Wake,
            Input::Suspect(_) | Input::Request(_) => unreachable!("its member decides that"),
        };
        self.handle(event).await;
        self.result()
    }

    /// Returns when all states of the node are durable, and what waited for them is done.
    async fn save_all(&mut self) -> Result<(), StorageError> {
        while self.member.is_behind() && self.end.is_none() {
            let answer = self.disk.answered().await;
            self.handle(Event::StorageAnswered(answer)).await;
        }
        self.result()
    }

    fn result(&mut self) -> Result<(), StorageError> {
        match self.end {
            Some(End::Failed) => Err(self.disk.failure()),
            _ => Ok(()),
        }
    }
}

fn node(detection: Option<&Detection>) -> (NodeLoop<Recorder, ManualClock>, Hands) {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let Ok(node) = Node::new(Config { id: id(1), members, timing: () }, None, 0);
    let (clock, records) = (ManualClock::new(), Records::default());
    let (arrivals, inbox) = mpsc::channel(16);
    let detection = detection.map(|detection| (*detection, detection.check().expect("good")));
    let setup = Setup { detection, ..may_take(ms(1_000), ms(60_000)) };
    let (actor, ..) = around(node, setup, Some(Box::new(records.clone())), &clock);
    let (seen, inbox) = (Arc::clone(&actor.seen), Some(inbox));
    let stop = CancellationToken::new();
    (actor, Hands { clock, records, seen, arrivals, inbox, stop })
}

impl Hands {
    /// Lets the actor run beside the test.
    fn run(
        &mut self,
        actor: NodeLoop<Recorder, ManualClock>,
    ) -> tokio::task::JoinHandle<Result<(), StorageError>> {
        let inbox = self.inbox.take().expect("runs once");
        let (_, commands) = crate::driver::commands::channel();
        tokio::spawn(actor.run(inbox, commands, self.stop.clone()))
    }

    async fn arrive(&self, from: u16, frame: Frame<Order>) {
        let arrival = Arrival { from: id(from), incarnation: 1, frame };
        self.arrivals.send(arrival).await.expect("the actor runs");
    }

    /// Whatever is under way has happened: a write takes a thread, not time.
    async fn settle(&self) {
        for _ in 0..20 {
            tokio::task::spawn_blocking(|| {}).await.expect("no panic");
            tokio::task::yield_now().await;
        }
    }
}

fn says(order: Order) -> Input<Order> {
    Input::Receive { from: id(2), message: order }
}

#[tokio::test(start_paused = true)]
async fn an_input_has_the_time_at_which_it_comes_not_at_which_the_wait_began() {
    let (actor, mut hands) = node(None);
    let _actor = hands.run(actor);
    tokio::time::sleep(ms(700)).await;
    hands.arrive(2, Frame::Message(Order::Note(1))).await;
    hands.settle().await;
    hands.arrive(2, Frame::Message(Order::Arm(100))).await;
    tokio::time::sleep(ms(200)).await;
    hands.settle().await;
    assert_eq!(hands.records.all(), [(What::Note(1), 700), (What::Expired, 800)]);
}

#[tokio::test(start_paused = true)]
async fn only_the_wake_up_that_was_asked_for_last_counts() {
    let (mut actor, _hands) = node(None);
    for (input, wait) in [
        (Input::Boot, LONGEST_SLEEP),
        (says(Order::Arm(100)), ms(100)),
        (says(Order::Arm(300)), ms(300)),
        (says(Order::Arm(200)), ms(200)),
        (says(Order::Cancel), LONGEST_SLEEP),
        (says(Order::Arm(5_000)), LONGEST_SLEEP),
    ] {
        actor.step(input.clone()).await.expect("no disk to fail");
        assert_eq!(actor.member.wait(actor.clock.now()), wait, "{input:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passed_while_the_machine_slept_is_noticed_within_a_second() {
    let (actor, mut hands) = node(None);
    let _actor = hands.run(actor);
    hands.arrive(2, Frame::Message(Order::Arm(30_000))).await;
    tokio::time::sleep(ms(500)).await;
    hands.clock.sleep(ms(60_000));
    tokio::time::sleep(ms(1_000)).await;
    hands.settle().await;
    let records = hands.records.all();
    let [(What::Expired, at)] = records[..] else { panic!("{records:?}") };
    assert!((60_500..=61_500).contains(&at), "{at}");
}

#[tokio::test(start_paused = true)]
async fn a_node_without_a_storage_stops_when_it_has_to_remember_something() {
    let (mut actor, _hands) = node(None);
    actor.disk = Disk::new(None);
    actor.step(Input::Boot).await.expect("nothing to save");
    let result = actor.step(says(Order::Note(1))).await;
    assert!(matches!(result, Err(StorageError::Missing)), "{result:?}");
    assert!(actor.member.leaves());
}

#[tokio::test(start_paused = true)]
async fn what_has_arrived_is_read_before_silence_is_reported() {
    let detection = Detection::default();
    let (actor, mut hands) = node(Some(&detection));
    let _actor = hands.run(actor);
    hands.arrive(2, Frame::Heartbeat).await;
    tokio::time::sleep(ms(490)).await;
    // The time-out of 500 ms passes, and then the node sees two arrivals at once.
    hands.clock.sleep(ms(20));
    hands.arrive(2, Frame::Message(Order::Note(1))).await;
    hands.arrive(2, Frame::Heartbeat).await;
    tokio::time::sleep(ms(400)).await;
    hands.settle().await;
    assert_eq!(hands.records.all(), [(What::Note(1), 510)]);
    tokio::time::sleep(ms(200)).await;
    hands.settle().await;
    assert_eq!(hands.records.all().get(1), Some(&(What::Suspected, 1_010)));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_told_to_stop_does_nothing_more() {
    let (actor, mut hands) = node(None);
    for number in 0..10 {
        hands.arrive(2, Frame::Message(Order::Note(number))).await;
    }
    hands.stop.cancel();
    hands.run(actor).await.expect("no panic").expect("nothing failed");
    assert_eq!(hands.records.all(), []);
}

/// The peer and the reason that each line of the log names.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: layer::Context<'_, S>) {
        let mut line = String::new();
        event.record(&mut |field: &Field, value: &dyn Debug| {
            if ["peer", "reason"].contains(&field.name()) {
                line += &format!("{field}={value:?} ");
            }
        });
        self.0.lock().expect("no panic").push(line);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_node_ignores_is_counted_and_logged() {
    let (mut actor, hands) = node(None);
    actor.step(Input::Boot).await.expect("no disk to fail");
    let lines = Lines::default();
    crate::log::tests::listen_beside_others();
    let log = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines.clone()));
    let stranger = Input::Receive { from: id(9), message: Order::Note(1) };
    actor.step(stranger).await.expect("no disk to fail");
    drop(log);
    actor.step(says(Order::Note(2))).await.expect("the disk works");
    actor.save_all().await.expect("the disk works");
    assert_eq!(hands.seen.ignored.load(Ordering::Relaxed), 1);
    assert_eq!(*lines.0.lock().expect("no panic"), ["peer=9 reason=\"unknown_sender\" "]);
}
