//! What the loop does when its node is asked to lead no longer, or leaves while it leads. The core
//! is the quorum bully's.

use crate::protocol::Birth;
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use tokio::sync::oneshot;
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::driver::commands::{Command, CommandRequest};
use crate::driver::gate::PreparationSender;
use crate::driver::guard::Guard;
use crate::protocol::Epoch;
use crate::protocol::quorum::{self, Mark, Message, Quorum, Timing};
use crate::storage::Memory;

/// Node 3 of three, which leads epoch 1, and which node 2 follows.
pub(super) struct Leader {
    pub(super) actor: Actor<Quorum, ManualClock>,
    pub(super) leadership: LeadershipWatch,
    pub(super) leases: LeaseReader,
    pub(super) clock: ManualClock,
}

pub(super) async fn leader() -> Leader {
    leader_behind(None).await
}

async fn leader_behind(preparation: Option<PreparationSender>) -> Leader {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = quorum::Config { id: id(3), members, timing: Timing::DEFAULT };
    let node = Node::new(config, Quorum::founder(), 0).expect("valid");
    let clock = ManualClock::new();
    let setup = may_take(Timing::DEFAULT.lease, ms(60_000));
    let setup = Setup { prepares: preparation.is_some(), ..setup };
    let (mut actor, leadership, leases) =
        around(node, setup, Some(Box::new(Memory::default())), &clock);
    actor.preparation = preparation;
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

    pub(super) async fn command(&mut self, request: CommandRequest) {
        let event = self.actor.accept_command(request);
        self.actor.handle(event).await;
    }

    /// Asks, and lets this node answer the invitation, if there is one.
    async fn asked(
        &mut self,
        command: Command,
        invited: Option<u16>,
    ) -> Result<Option<NodeId>, RequestError> {
        let (reply, mut answered) = oneshot::channel();
        self.command(CommandRequest { command, reply }).await;
        if let Some(from) = invited {
            assert!(answered.try_recv().is_err() && self.leases.guard().is_some(), "it leads on");
            let challenge = Message::Challenge(Epoch::new(1), Mark::default());
            let input = Input::Receive { from: id(from), message: challenge };
            self.actor.step(input).await.expect("it is in memory");
        }
        answered.try_recv().expect("answered")
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_hands_over_does_not_lead_when_it_answers() {
    let mut leader = leader().await;
    let guard = leader.leases.guard().expect("it leads");
    assert!(guard.is_valid_now());
    assert_eq!(
        leader.asked(Command::HandOver(None), Some(2)).await,
        Ok(Some(id(2))),
        "it followed"
    );
    assert!(!guard.is_valid_now());
    let not = RequestError::NotLeading { node: id(3) };
    assert_eq!(leader.asked(Command::HandOver(None), None).await, Err(not));
    let steps_down = Command::StepDown(ms(1_000));
    assert_eq!(leader.asked(steps_down, None).await, Ok(None), "it leads no longer");
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
    assert_eq!(
        leader.asked(Command::HandOver(None), Some(2)).await,
        Ok(Some(id(2))),
        "it followed"
    );
    drop(log);
    assert_eq!(*answers.lock().expect("no panic"), [false], "it is told once");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_resigns_waits_for_a_successor_for_no_longer_than_a_round() {
    let mut leader = leader().await;
    let (reply, mut answered) = oneshot::channel();
    let command = Command::HandOver(None);
    leader.command(CommandRequest { command, reply }).await;
    assert!(answered.try_recv().is_err());
    leader.clock.sleep(ms(200));
    leader.actor.step(Input::Wake).await.expect("it is in memory");
    assert_eq!(answered.try_recv().expect("answered"), Ok(Some(id(2))));
    assert!(leader.leases.guard().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_leader_leads_on_if_the_node_to_which_it_is_to_hand_over_does_not_come() {
    let mut leader = leader().await;
    let (reply, mut answered) = oneshot::channel();
    let command = Command::HandOver(Some(id(1)));
    leader.command(CommandRequest { command, reply }).await;
    for round in 2..=6 {
        assert!(answered.try_recv().is_err(), "it waits for five rounds");
        leader.clock.sleep(ms(200));
        leader.actor.step(Input::Wake).await.expect("it is in memory");
        let message = Message::Ack(Epoch::new(1), round, Mark::default());
        let acknowledged = Input::Receive { from: id(2), message };
        leader.actor.step(acknowledged).await.expect("it is in memory");
    }
    let error = RequestError::NotTaken { to: id(1), leader: Some(id(3)) };
    assert_eq!(answered.try_recv().expect("answered"), Err(error));
    assert!(leader.leases.guard().is_some_and(|guard| guard.is_valid_now()));
}

#[tokio::test(start_paused = true)]
async fn a_leader_hands_over_to_no_stranger_and_not_to_itself() {
    let mut leader = leader().await;
    for to in [3, 9].map(id) {
        let refused = RequestError::NoSuccessor { node: id(3), to };
        assert_eq!(leader.asked(Command::HandOver(Some(to)), None).await, Err(refused));
    }
    assert!(leader.leases.guard().is_some());
    assert_eq!(leader.asked(Command::HandOver(Some(id(1))), Some(1)).await, Ok(Some(id(1))));
    assert!(leader.leases.guard().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_not_healthy_leads_until_its_next_round() {
    let mut leader = leader().await;
    assert_eq!(leader.asked(Command::SetHealthy(false), None).await, Ok(None));
    assert!(leader.leases.guard().is_some());
    leader.clock.sleep(ms(200));
    leader.actor.step(Input::Wake).await.expect("it is in memory");
    assert!(leader.leases.guard().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_told_to_stop_hands_over_first() {
    let Leader { actor, leadership, leases, .. } = leader().await;
    let before = leadership.now().seq;
    let (arrivals, inbox) = mpsc::channel(1);
    let (_orders, ordered) = crate::driver::commands::channel();
    let stop = CancellationToken::new();
    stop.cancel();
    let run = tokio::spawn(actor.run(inbox, ordered, stop));
    tokio::task::yield_now().await;
    assert!(leases.guard().is_some(), "it waits for its successor");
    let frame = Frame::Message(Message::Challenge(Epoch::new(1), Mark::default()));
    let arrival = Arrival { from: id(2), incarnation: 1, frame };
    arrivals.send(arrival).await.expect("it runs");
    run.await.expect("no panic").expect("it is in memory");
    let after = leadership.now();
    assert_eq!((after.seq, after.role), (before + 2, Role::NotStarted), "it follows, then is gone");
    assert!(leases.guard().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_frozen_keeps_its_lease_and_does_not_run_once_it_is_lost() {
    let mut leader = leader().await;
    let guard = leader.leases.guard().expect("it leads");
    assert_eq!(leader.asked(Command::Freeze(ms(10_000)), None).await, Ok(None));
    assert!(guard.is_valid_now(), "it leads as before");
    // No node acknowledges its rounds.
    for _ in 0..30 {
        leader.clock.sleep(ms(200));
        leader.actor.step(Input::Wake).await.expect("it is in memory");
    }
    let now = leader.leadership.now();
    assert_eq!((now.role, now.reason.map(Reason::name)), (Role::Follower, Some("lease_over")));
    let mut runs = false;
    for _ in 0..30 {
        leader.clock.sleep(ms(200));
        leader.actor.step(Input::Wake).await.expect("it is in memory");
        runs |= leader.leadership.now().role == Role::Candidate;
    }
    assert!(runs, "the time is over");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_frozen_and_steps_down_for_longer_does_not_run_before() {
    let mut leader = leader().await;
    assert_eq!(leader.asked(Command::Freeze(ms(100)), None).await, Ok(None));
    assert_eq!(leader.asked(Command::StepDown(ms(10_000)), Some(2)).await, Ok(Some(id(2))));
    for _ in 0..40 {
        leader.clock.sleep(ms(200));
        leader.actor.step(Input::Wake).await.expect("it is in memory");
        assert_eq!(leader.leadership.now().role, Role::Follower);
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_paused_has_lost_before_anything_else_happens() {
    let mut leader = leader().await;
    let mut own = leader.leadership.clone().own_changes();
    assert!(matches!(own.next().await, Some(OwnChange::Acquired(_))));
    let before = leader.leadership.now();
    assert_eq!((before.epoch, before.lease_until), (Some(Epoch::new(1)), leader.until()));
    leader.clock.sleep(ms(1_500));
    leader.actor.step(Input::Wake).await.expect("it is in memory");
    let lost = own.next().await;
    assert!(matches!(lost, Some(OwnChange::Lost { reason: Some(Reason::PAUSED), .. })), "{lost:?}");
    let after = leader.leadership.now();
    assert_eq!((after.seq, after.leader), (before.seq + 1, None));
    assert_eq!(after.attempts, before.attempts + 1, "what the node says is no change");
    assert_eq!((after.epoch, after.lease_until), (None, None));
    assert_eq!(after.reason.map(Reason::name), Some("lease_over"), "what the node says follows");
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
    leader.clock.sleep(ms(200));
    leader.actor.step(Input::Wake).await.expect("it is in memory");
    let ack =
        Input::Receive { from: id(2), message: Message::Ack(Epoch::new(1), 2, Mark::default()) };
    leader.actor.step(ack).await.expect("it is in memory");
    let after = leadership.now();
    assert_eq!((after.seq, after.lease_until), (before.seq, leader.until()));
    assert!(after.lease_until > before.lease_until);
    assert!(tokio::time::timeout(ms(10), leadership.changed()).await.is_err(), "no change");
}

/// The leader, whose program prepares itself, and what the program is asked.
async fn unprepared() -> (Leader, Preparation) {
    let (commands, _) = crate::driver::commands::channel();
    let (sender, preparation) = PreparationSender::new(commands);
    (leader_behind(Some(sender)).await, preparation)
}

#[tokio::test(start_paused = true)]
async fn no_program_knows_that_its_node_leads_before_it_is_prepared() {
    let (mut leader, mut preparation) = unprepared().await;
    let waits = leader.leadership.now();
    assert_eq!((waits.role, waits.leader), (Role::Waiting, None));
    assert_eq!(waits.reason, Some(Reason::PREPARING));
    assert_eq!(leader.actor.member.node().status().role, Role::Leader, "the others know");
    assert!(leader.leases.guard().is_none());
    let approach = preparation.next().await.expect("it leads");
    assert_eq!(approach.epoch(), Some(Epoch::new(1)));
    // What was asked for is not what is answered.
    assert_eq!(leader.asked(Command::Prepared(2), None).await, Ok(None));
    assert!(leader.leases.guard().is_none());
    assert_eq!(leader.asked(Command::Prepared(1), None).await, Ok(None));
    let leads = leader.leadership.now();
    assert!(leads.is_self() && leads.epoch == Some(Epoch::new(1)));
    assert_eq!(leads.lease_until, leader.until());
    assert!(leader.until().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_program_that_cannot_prepare_itself_never_leads_and_its_node_steps_down() {
    let (mut leader, mut preparation) = unprepared().await;
    let _approach = preparation.next().await.expect("it leads");
    let refused = Command::Unprepared(1, ms(5_000));
    assert_eq!(leader.asked(refused, None).await, Ok(Some(id(2))), "it followed");
    assert!(leader.leases.guard().is_none());
    // The one that is to lead instead does not answer.
    leader.clock.sleep(ms(200));
    leader.actor.step(Input::Wake).await.expect("it is in memory");
    assert_ne!(leader.actor.member.node().status().role, Role::Leader);
    assert!(leader.leases.guard().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_preparation_ends_with_the_lease() {
    let (mut leader, mut preparation) = unprepared().await;
    let mut approach = preparation.next().await.expect("it leads");
    // No node acknowledges its rounds.
    leader.clock.sleep(ms(1_500));
    leader.actor.step(Input::Wake).await.expect("it is in memory");
    assert_ne!(leader.actor.member.node().status().role, Role::Leader);
    approach.withdrawn().await;
    assert_eq!(leader.asked(Command::Prepared(1), None).await, Ok(None));
    assert!(leader.leases.guard().is_none() && !leader.leadership.now().is_self());
}
