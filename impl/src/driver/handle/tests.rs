//! What runs only while the node leads, on a clock of the tests' own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::*;
use crate::clock::Clock as _;
use crate::clock::tests::ManualClock;
use crate::driver::commands;
use crate::driver::guard::LeaseWriter;
use crate::driver::leadership::Publisher;
use crate::member::ViewUpdate;
use crate::protocol::{Epoch, Lease, NodeId, Reason, Role, Time};
use crate::transport::Links;

struct Node {
    handle: Handle,
    publisher: Publisher,
    lease_writer: LeaseWriter,
    clock: ManualClock,
}

impl Node {
    fn new() -> Self {
        let clock = ManualClock::new();
        let id = NodeId::new(1).expect("not zero");
        let (publisher, leadership, history) = Publisher::new(id);
        let length = Duration::from_secs(1);
        let (lease_writer, leases) = LeaseWriter::new(id, clock.clone(), length);
        let (commands, _) = commands::channel();
        let report = Arc::new(|| unreachable!("no test asks"));
        let links = Links::<()>::new(std::iter::empty(), Duration::from_secs(1), clock.clone());
        let gauges = Gauges::new(links, Arc::default());
        let handle = Handle {
            leadership,
            history,
            leases,
            commands,
            report,
            fitness: Fitness::default(),
            without_lease: None,
            incarnation: 1,
            election: Duration::from_secs(1),
            gauges,
            standing: OwnStanding::default(),
            lists: OwnLists::default(),
        };
        Self { handle, publisher, lease_writer, clock }
    }

    /// It leads this epoch until then, or does not lead.
    fn lead(&self, lease: Option<(u64, u64)>) {
        let lease = lease.map(|(epoch, until)| Lease {
            epoch: Epoch::new(epoch),
            until: Time::ZERO + Duration::from_millis(until),
        });
        let before = self.handle.leadership().now();
        let leader = lease.map(|_| before.node);
        let epoch = lease.map(|lease| lease.epoch);
        let role = if lease.is_some() { Role::Leader } else { Role::Follower };
        self.lease_writer.set(lease);
        if (before.leader, before.epoch) != (leader, epoch) {
            self.publisher.update(ViewUpdate {
                role,
                leader,
                epoch,
                lease,
                reason: Reason::BOOTED,
            });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_is_due_after_a_pause_is_dropped_and_not_polled() {
    let node = Node::new();
    node.lead(Some((7, 1_000)));
    let (done, due) = (AtomicU64::new(0), Notify::new());
    let work = node.handle.run_one_term(|guard| {
        assert_eq!(guard.epoch(), Epoch::new(7));
        async {
            loop {
                due.notified().await;
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let meanwhile = async {
        due.notify_one();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(done.load(Ordering::Relaxed), 1);
        // The process stands still, and then there is work to do. The runtime's timers are late.
        node.clock.sleep(Duration::from_millis(600));
        due.notify_one();
    };
    let (ended, ()) = tokio::join!(work, meanwhile);
    assert_eq!(ended, Ok::<Option<()>, _>(None));
    assert_eq!(done.load(Ordering::Relaxed), 1, "it was not polled again");
}

#[tokio::test(start_paused = true)]
async fn work_goes_on_with_a_renewed_lease_and_ends_with_it_although_the_loop_does_not_run() {
    let node = Node::new();
    node.lead(Some((7, 1_000)));
    let work = node.handle.run_one_term(|_| std::future::pending::<()>());
    let renewals = async {
        for round in 1..=10 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            node.lead(Some((7, 1_000 + 500 * round)));
        }
    };
    let (ended, ()) = tokio::join!(work, renewals);
    assert_eq!(ended, Ok(None));
    let end = node.clock.now().since(Time::ZERO).as_millis();
    assert!((6_000..6_010).contains(&end), "{end} ms");
}

#[tokio::test(start_paused = true)]
async fn work_starts_anew_with_each_leadership_until_it_ends_by_itself() {
    let node = Node::new();
    let mut epochs = Vec::new();
    let work = node.handle.run_while_leader(|guard| {
        epochs.push(guard.epoch().number());
        let last = guard.epoch() == Epoch::new(3);
        async move { if last { "done" } else { std::future::pending().await } }
    });
    let meanwhile = async {
        for epoch in 1..=3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            node.lead(Some((epoch, 60_000)));
            tokio::time::sleep(Duration::from_millis(10)).await;
            node.lead(None);
        }
    };
    let (ended, ()) = tokio::join!(work, meanwhile);
    assert_eq!(ended, Ok("done"));
    assert_eq!(epochs, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_work_is_known_to_the_node_and_its_end_is_no_panic() {
    let node = Node::new();
    node.lead(Some((7, 60_000)));
    let panicked =
        || timeout(Duration::from_millis(1), node.lease_writer.work_tracker().panicked());
    let ended = node.handle.run_one_term(|_| async { "done" }).await;
    assert_eq!(ended, Ok(Some("done")));
    assert!(panicked().await.is_err());

    let handle = node.handle.clone();
    let task = tokio::spawn(async move { handle.run_while_leader(|_| fails()).await });
    assert!(task.await.expect_err("its work panics").is_panic());
    assert!(panicked().await.is_ok());
    assert!(node.handle.guard().is_some() && node.handle.begin_work().is_none());
    node.lead(Some((9, 60_000)));
    assert!(node.handle.begin_work().is_some(), "the next leadership is another");
}

async fn fails() {
    panic!("on purpose");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_or_has_no_lease_runs_nothing() {
    let Node { mut handle, publisher, lease_writer, .. } = Node::new();
    let work = handle.run_while_leader(|_| async { unreachable!("it does not lead") });
    let gone = async { drop((publisher, lease_writer)) };
    let (ended, ()) = tokio::join!(timeout(Duration::from_secs(1), work), gone);
    assert_eq!(ended.expect("at once"), Err::<(), _>(LeadError::Stopped));
    handle.without_lease = Some("bully");
    let refused = handle.lead().await.expect_err("no lease");
    assert!(refused.to_string().contains("bully"), "{refused}");
}
