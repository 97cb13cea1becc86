//! The guards, readers and programs of a leader that is asked to lead no longer, was paused or has
//! to be prepared. The core is the quorum bully's. The node does what its member decides, and the
//! stories of members tell the rest.

use futures::StreamExt as _;
use tokio::sync::{oneshot, watch};

use super::*;
use crate::driver::commands::{Command, CommandRequest};
use crate::driver::guard::Guard;
use crate::member::PreparationRequest;
use crate::protocol::quorum::{self, Mark, Message, Quorum, Timing};
use crate::protocol::{Birth, Epoch};
use crate::storage::Memory;

type Answer = Result<Option<NodeId>, RequestError>;

/// Node 3 of three, which leads epoch 1, and which node 2 follows.
pub(super) struct Leader {
    pub(super) actor: NodeLoop<Quorum, ManualClock>,
    pub(super) leadership: LeadershipWatch,
    pub(super) leases: Arc<NodeLease>,
    pub(super) clock: ManualClock,
}

pub(super) async fn leader() -> Leader {
    leader_behind(None).await
}

async fn leader_behind(preparation: Option<watch::Sender<Option<PreparationRequest>>>) -> Leader {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = quorum::Config { id: id(3), members, timing: Timing::DEFAULT };
    let node = Node::new(config, Quorum::founder(), 0).expect("valid");
    let clock = ManualClock::new();
    let setup = may_take(Timing::DEFAULT.lease, ms(60_000));
    let setup = Setup { prepares: preparation.is_some(), ..setup };
    let (mut actor, leadership, leases) =
        around(node, setup, Some(Box::new(Memory::default())), &clock);
    if let Some(preparation) = preparation {
        actor.preparation = preparation;
    }
    let hears = |message| Input::Receive { from: id(2), message };
    let epoch = Epoch::new(1);
    let inputs = [
        (0, Input::Boot),
        (1_200, Input::Wake),
        (100, Input::Wake),
        (0, hears(Message::Support(epoch))),
        (0, hears(Message::Grant(epoch, Birth::FOUNDER))),
        (0, hears(Message::Ack(epoch, 1, Mark::default()))),
    ];
    for (later, input) in inputs {
        clock.sleep(ms(later));
        actor.step(input).await.expect("it is in memory");
        actor.save_all().await.expect("it is in memory");
    }
    Leader { actor, leadership, leases, clock }
}

impl Leader {
    fn until(&self) -> Option<Time> {
        self.leases.guard().and_then(|guard| guard.until())
    }

    /// Something is asked of it. The answer is there when it has one.
    pub(super) async fn command(&mut self, command: Command) -> oneshot::Receiver<Answer> {
        let (reply, answered) = oneshot::channel();
        let event = self.actor.accept_command(CommandRequest { command, reply });
        self.actor.handle(event).await;
        answered
    }

    /// Lets it hear node 2.
    pub(super) async fn hears(&mut self, message: Message) {
        let input = Input::Receive { from: id(2), message };
        self.actor.step(input).await.expect("it is in memory");
    }

    /// Its next round is due.
    pub(super) async fn round(&mut self) {
        self.clock.sleep(ms(200));
        self.actor.step(Input::Wake).await.expect("it is in memory");
    }

    /// Asks it to hand over, and lets node 2, which followed, come when it is invited.
    async fn hands_over(&mut self) {
        let mut answered = self.command(Command::HandOver(None)).await;
        assert!(answered.try_recv().is_err() && self.leases.guard().is_some(), "it leads on");
        self.hears(Message::Challenge(Epoch::new(1), Mark::default())).await;
        assert_eq!(answered.try_recv().expect("answered"), Ok(Some(id(2))));
    }

    /// Asks it for something that it answers at once.
    async fn answers(&mut self, command: Command) -> Answer {
        self.command(command).await.try_recv().expect("answered")
    }
}

/// Asks at each line of the log whether the guard is valid.
struct WatchesGuard {
    guard: Guard,
    answers: Arc<Mutex<Vec<bool>>>,
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for WatchesGuard {
    fn on_event(&self, _: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        self.answers.lock().expect("no panic").push(self.guard.is_valid_now());
    }
}

#[tokio::test(start_paused = true)]
async fn no_guard_is_valid_when_a_leadership_is_said_to_be_over() {
    let mut leader = leader().await;
    let answers = Arc::<Mutex<Vec<bool>>>::default();
    let guard = leader.leases.guard().expect("it leads");
    let asks = WatchesGuard { guard, answers: answers.clone() };
    crate::log::tests::listen_beside_others();
    let log = tracing::subscriber::set_default(tracing_subscriber::registry().with(asks));
    leader.hands_over().await;
    drop(log);
    assert_eq!(*answers.lock().expect("no panic"), [false], "it is told once");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_resigns_waits_for_a_successor_for_no_longer_than_a_round() {
    let mut leader = leader().await;
    let mut answered = leader.command(Command::HandOver(None)).await;
    assert!(answered.try_recv().is_err());
    leader.round().await;
    assert_eq!(answered.try_recv().expect("answered"), Ok(Some(id(2))));
    assert!(leader.leases.guard().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_loop_of_a_leader_says_so_before_its_lease_is_found_to_be_over() {
    let Leader { actor, leadership, clock, .. } = leader().await;
    let (_arrivals, inbox) = mpsc::channel(1);
    let (_, commands) = crate::driver::commands::channel();
    let mut own = leadership.own_changes();
    let _actor = tokio::spawn(actor.run(inbox, commands, CancellationToken::new()));
    tokio::time::sleep(ms(50)).await;
    assert!(matches!(own.next().await, Some(OwnChange::Acquired(_))));
    clock.sleep(ms(1_500));
    // The node finds its lease over in the same moment, which is the reason of nothing.
    let lost = own.next().await;
    assert!(matches!(lost, Some(OwnChange::Lost { reason: Some(Reason::PAUSED), .. })), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lease_is_seen_and_wakes_no_reader() {
    let mut leader = leader().await;
    let mut leadership = leader.leadership.clone();
    leadership.seen();
    let before = leadership.now();
    leader.round().await;
    leader.hears(Message::Ack(Epoch::new(1), 2, Mark::default())).await;
    let after = leadership.now();
    assert_eq!((after.seq, after.lease_until), (before.seq, leader.until()));
    assert!(after.lease_until > before.lease_until);
    assert!(tokio::time::timeout(ms(10), leadership.changed()).await.is_err(), "no change");
}

#[tokio::test(start_paused = true)]
async fn a_round_is_sent_once_to_each_node_and_no_renewal_is_a_heartbeat() {
    let mut leader = leader().await;
    let address = "127.0.0.1:1".parse().expect("an address");
    let others = [1, 2].map(|other| (id(other), &address));
    leader.actor.links = Links::new(1, others.into_iter(), ms(1_000), leader.clock.clone());
    leader.round().await;
    leader.hears(Message::Ack(Epoch::new(1), 2, Mark::default())).await;
    for other in [1, 2] {
        let (beats, frames) = leader.actor.links.take_waiting(id(other));
        assert!(!beats, "no node watches another");
        let is_round = matches!(frames[..], [Frame::Numbered(_, _, Message::Coordinator(..))]);
        assert!(is_round, "{frames:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_program_knows_that_its_node_leads_before_it_is_prepared() {
    let (commands, _) = crate::driver::commands::channel();
    let (sender, requests) = watch::channel(None);
    let mut leader = leader_behind(Some(sender)).await;
    let waits = leader.leadership.now();
    assert_eq!((waits.role, waits.leader), (Role::Waiting, None));
    assert_eq!(waits.reason, Some(Reason::PREPARING));
    assert_eq!(leader.actor.member.node().status().role, Role::Leader, "the others know");
    assert!(leader.leases.guard().is_none());
    let mut approach = Approach::next(requests, commands).await.expect("it leads");
    assert_eq!(approach.epoch(), Some(Epoch::new(1)));
    // What was asked for is not what is answered.
    assert_eq!(leader.answers(Command::Prepared(2)).await, Ok(None));
    assert!(leader.leases.guard().is_none());
    assert_eq!(leader.answers(Command::Prepared(1)).await, Ok(None));
    approach.withdrawn().await;
    let leads = leader.leadership.now();
    assert!(leads.is_self() && leads.epoch == Some(Epoch::new(1)));
    assert_eq!(leads.lease_until, leader.until());
    assert!(leader.until().is_some());
}
