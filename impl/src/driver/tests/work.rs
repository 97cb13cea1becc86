//! What the loop does when its node is to lead no longer while work of the leader is under way. The
//! core is the quorum bully's.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::commands::{Leader, leader};
use super::*;
use crate::driver::commands::{Command, CommandRequest};
use crate::driver::work::{PANIC_PAUSE, Work};
use crate::protocol::Epoch;
use crate::protocol::quorum::{Mark, Message};

/// What happens to a leader.
#[derive(Clone)]
enum Happens {
    /// It is asked for something.
    Asked(Command),
    /// It hears node 2.
    Hears(Message),
    /// Its next round is due, and no node acknowledges it.
    Round,
}

impl Leader {
    fn begin_work(&self) -> Option<Work> {
        Work::begin(self.leases.guard()?, self.leadership.clone())
    }

    /// Whether the loop would find that work has panicked.
    async fn finds_panic(&self) -> bool {
        let panicked = self.actor.lease_writer.work_tracker().panicked();
        timeout(ms(1), panicked).await.is_ok()
    }

    async fn take(&mut self, what: Happens) {
        match what {
            Happens::Asked(command) => drop(self.command(command).await),
            Happens::Hears(message) => self.hears(message).await,
            Happens::Round => self.round().await,
        }
    }
}

/// All that ends a leadership before its lease is over. After two rounds that it has not
/// acknowledged, node 2 follows no longer: there is no successor to wait for.
fn ends() -> Vec<(&'static str, Vec<Happens>)> {
    use Happens::{Asked, Hears, Round};
    let (own, later) = (Epoch::new(1), Epoch::new(5));
    let to = |node| Asked(Command::HandOver(Some(id(node))));
    vec![
        ("transfer", vec![to(2), Hears(Message::Challenge(own, Mark::default()))]),
        ("resign", vec![Round, Round, Asked(Command::HandOver(None))]),
        ("step down", vec![Round, Round, Asked(Command::StepDown(ms(1_000)))]),
        ("unfit", vec![Asked(Command::SetHealthy(false)), Round]),
        ("no successor", vec![Asked(Command::HandOver(None)), Round]),
        ("a higher epoch is known", vec![Hears(Message::Refuse(later, None))]),
        (
            "a higher epoch has a leader",
            vec![Hears(Message::Coordinator(later, 1, Mark::default()))],
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_node_leads_until_its_work_has_ended_whatever_ends_its_leadership() {
    for (what, mut happens) in ends() {
        let mut leader = leader().await;
        let (leadership, leases) = (leader.leadership.clone(), leader.leases.clone());
        let work = leader.begin_work().expect("it leads");
        let before = leadership.now();
        let last = happens.pop().expect("one at least");
        for happens in happens {
            leader.take(happens).await;
        }
        assert!(!work.is_asked_to_end(), "{what}: it leads on");
        {
            let mut step = pin!(leader.take(last));
            assert!(timeout(ms(400), &mut step).await.is_err(), "{what}: it waits");
            timeout(ms(1), work.asked_to_end()).await.expect("asked");
            assert!(work.is_asked_to_end() && work.guard().is_valid_now(), "{what}");
            assert_eq!(leadership.now(), before, "{what}: its program knows nothing else");
            let guard = leases.guard().expect("it leads");
            assert!(Work::begin(guard, leadership.clone()).is_none(), "{what}: too late");
            drop(work);
            timeout(ms(1), &mut step).await.expect("at once");
        }
        assert!(leases.guard().is_none(), "{what}");
        assert!(!leadership.now().is_self(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_waits_for_work_for_no_longer_than_its_lease_lasts() {
    for (what, happens) in ends() {
        let mut leader = leader().await;
        let work = leader.begin_work().expect("it leads");
        let until = work.guard().until().expect("valid");
        for happens in happens {
            leader.take(happens).await;
        }
        let late = leader.clock.now().since(until);
        assert!(leader.clock.now() >= until && late < ms(10), "{what}: {late:?} late");
        assert!(work.is_asked_to_end() && !work.guard().is_valid_now(), "{what}");
        assert!(leader.begin_work().is_none(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_has_begun_a_moment_too_late_does_not_begin() {
    let mut leader = leader().await;
    let guard = leader.leases.guard().expect("it leads");
    for happens in [Happens::Round, Happens::Round, Happens::Asked(Command::HandOver(None))] {
        leader.take(happens).await;
    }
    assert!(Work::begin(guard, leader.leadership.clone()).is_none());
    // What has not begun is not waited for.
    timeout(ms(1), leader.actor.lease_writer.work_tracker().ended()).await.expect("there is none");
}

/// Drops work as a panic of its task does.
fn unwind(work: Work) {
    let ended: std::thread::Result<()> = catch_unwind(AssertUnwindSafe(move || {
        let _work = work;
        resume_unwind(Box::new("on purpose"))
    }));
    assert!(ended.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_work_panics_hands_over_and_does_not_run_for_a_while() {
    let mut leader = leader().await;
    let (work, other) = (leader.begin_work(), leader.begin_work());
    drop(other);
    assert!(!leader.finds_panic().await, "work that has ended is no reason");
    unwind(work.expect("it leads"));
    assert!(leader.finds_panic().await);
    assert!(leader.leases.guard().is_some(), "it leads still");
    assert!(leader.begin_work().is_none(), "and no work begins");

    let steps_down = leader.actor.step_down_after_panic();
    leader.actor.handle(steps_down).await;
    assert!(!leader.finds_panic().await, "it is done");
    leader.take(Happens::Round).await;
    assert!(leader.leases.guard().is_none(), "at the latest after a round");
    let end = leader.clock.now() + PANIC_PAUSE;
    let mut ran = false;
    while leader.clock.now() < end + ms(5_000) {
        leader.take(Happens::Round).await;
        let runs = leader.leadership.now().role != Role::Follower;
        assert!(!runs || leader.clock.now() + ms(400) >= end, "too early");
        ran |= runs;
    }
    assert!(ran, "the time is over");
}

#[tokio::test(start_paused = true)]
async fn the_loop_finds_a_panic_of_the_work_although_its_queue_is_full() {
    let Leader { actor, leadership, leases, .. } = leader().await;
    let work = Work::begin(leases.guard().expect("it leads"), leadership.clone());
    let (_arrivals, inbox) = mpsc::channel(1);
    let (commands, queue) = crate::driver::commands::channel();
    let ask = || {
        let (reply, answered) = oneshot::channel();
        commands.try_send(CommandRequest { command: Command::Ping, reply })?;
        Ok::<_, mpsc::error::TrySendError<CommandRequest>>(answered)
    };
    let answers: Vec<_> = std::iter::from_fn(|| ask().ok()).collect();
    assert!(answers.len() > 1, "the queue is full");
    unwind(work.expect("it leads"));
    let _actor = tokio::spawn(actor.run(inbox, queue, CancellationToken::new()));
    tokio::time::sleep(ms(500)).await;
    assert!(leases.guard().is_none(), "it leads no longer");
    let reason = leadership.now().reason.map(Reason::name);
    assert_eq!(reason, Some("asked_to_yield"));
}
