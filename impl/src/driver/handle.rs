//! The handle of a program to a node that takes part: to look, wait, lead, ask, and say whether the
//! node is fit to lead.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::Stream;
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use super::commands::{Command, CommandRequest};
use super::guard::Guard;
use super::leadership::{History, Leadership, LeadershipWatch, OwnChange};
use super::observed::Observed;
use super::standing::LocalFacts;
use super::work::Work;
use crate::member::{LONGEST_SLEEP, PreparationRequest, RequestError};
use crate::status::{LinkMeasurements, Measurements, StatusReport, StoreView};

/// A handle to an [`Election`](super::Election), through which a program uses a node that takes
/// part. A clone is one more; the node goes on for as long as the election, not for as long as its
/// handles.
#[derive(Clone)]
pub struct Handle {
    pub(super) seen: Arc<Observed>,
    pub(super) commands: mpsc::Sender<CommandRequest>,
    /// The request to the program to prepare itself, if there is one.
    pub(super) requests: watch::Receiver<Option<PreparationRequest>>,
    pub(super) report: Arc<dyn Fn() -> StatusReport + Send + Sync>,
    pub(super) measured_links: Arc<dyn Fn() -> Vec<LinkMeasurements> + Send + Sync>,
    /// The protocol, if its leaders have no lease.
    pub(super) without_lease: Option<&'static str>,
    /// How long an election takes at most, if a leader comes of it.
    pub(crate) election: Duration,
    /// What the node says of itself, and hears of the others.
    pub(super) facts: LocalFacts,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("leadership", &self.seen.leadership.now())
            .finish_non_exhaustive()
    }
}

/// The reason why a node does not lead, and will not.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LeadError {
    /// No leader of the protocol has a lease, so none can be sure that it leads.
    #[error("leaders have no lease with the protocol {protocol}: run the protocol quorum")]
    NoLease {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The node has stopped taking part.
    #[error("the node takes part no longer")]
    Stopped,
}

impl Handle {
    /// Returns a reader of the latest value of which node leads, with a way to wait for the next.
    #[must_use]
    pub fn leadership(&self) -> LeadershipWatch {
        self.seen.leadership.clone()
    }

    /// Returns a stream of which node leads, now and whenever it changes. The stream skips what is
    /// out of date by the time it is asked for, and ends when this node stops taking part.
    pub fn changes(&self) -> impl Stream<Item = Leadership> + Send + Unpin + use<> {
        self.leadership().changes()
    }

    /// Returns a stream of whether this node leads, now and whenever that changes.
    /// [`OwnChange::Acquired`] and [`OwnChange::Lost`] strictly alternate, however slow the reader:
    /// a leadership that was lost and acquired again meanwhile is seen as lost, then acquired with
    /// the new term. It ends when this node takes part no longer, with a loss if it led.
    pub fn own_changes(&self) -> impl Stream<Item = OwnChange> + Send + Unpin + use<> {
        self.leadership().own_changes()
    }

    /// Returns the history of the last changes.
    #[must_use]
    pub fn history(&self) -> History {
        self.seen.history.clone()
    }

    /// Returns a guard of the leadership that this node has now; `None` if it does not lead, if its
    /// lease is over, and with protocols whose leaders have no lease. It never blocks.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        self.seen.leases.guard()
    }

    /// Returns whether this node leads at this moment: with a valid lease; if leaders have none, as
    /// far as it knows.
    #[must_use]
    pub fn leads_now(&self) -> bool {
        self.guard().is_some() || self.leads_without_lease()
    }

    /// Whether this node leads as far as it knows, where leaders have no leases.
    pub(crate) fn leads_without_lease(&self) -> bool {
        self.without_lease.is_some() && self.seen.leadership.now().is_self()
    }

    /// Returns the incarnation, which is one run of the node: the time of its start, in nanoseconds
    /// since 1970.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.seen.hello.incarnation
    }

    /// Returns the status of the node.
    #[must_use]
    pub fn status(&self) -> StatusReport {
        (self.report)()
    }

    /// Returns what the node measures beside its status: its links, the time that its storage
    /// takes, and for how long it does not stand for election.
    #[must_use]
    pub fn measurements(&self) -> Measurements {
        self.seen.measurements((self.measured_links)())
    }

    /// Returns the store of the lease, as this node sees it; `None` if the store is a member, or
    /// the protocol has none.
    #[must_use]
    pub fn store(&self) -> Option<StoreView> {
        self.seen.store()
    }

    /// Begins work under the leadership that this node has now; the node waits for the work to end
    /// before it lets another lead: see [`Work`]. Returns `None` where [`Handle::guard`] does, and
    /// once the node is about to stop leading. It never blocks.
    #[must_use]
    pub fn begin_work(&self) -> Option<Work> {
        Work::begin(self.guard()?, self.leadership())
    }

    /// Runs the future that `work` makes while this node leads with a valid lease. When the lease
    /// is over, or the leadership is given up, the future is dropped; at the next leadership `work`
    /// makes another. Returns what the future returns, if it comes to its end.
    ///
    /// The future is dropped before it is polled again once the lease is over, also if the process
    /// was paused. If the node hands over, or makes way for another, the future is dropped *before*
    /// any other node learns of it: see [`Work`]. It runs in the task that calls this. What it has
    /// spawned is not dropped, and what it does between two awaits is not interrupted: there, ask
    /// the [`Guard`]. If it panics, this node leads no longer, and does not stand for election for
    /// 10 seconds.
    ///
    /// ```no_run
    /// # async fn example(election: bellwether::Election) -> Result<(), bellwether::LeadError> {
    /// election
    ///     .run_while_leader(|guard| async move {
    ///         let mut tick = tokio::time::interval(std::time::Duration::from_secs(1));
    ///         loop {
    ///             tick.tick().await;
    ///             println!("the work of the leader of epoch {}", guard.epoch());
    ///         }
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`LeadError::NoLease`] with a protocol whose leaders have none, and [`LeadError::Stopped`]
    /// once the node takes part no longer.
    pub async fn run_while_leader<W, F>(&self, mut work: W) -> Result<F::Output, LeadError>
    where
        W: FnMut(Guard) -> F,
        F: Future,
    {
        loop {
            if let Some(output) = self.run_one_term(&mut work).await? {
                return Ok(output);
            }
        }
    }

    /// Does the same as [`Handle::run_while_leader`], for the next leadership only. Returns `None`
    /// if that was lost before the future came to its end.
    ///
    /// # Errors
    ///
    /// As [`Handle::run_while_leader`].
    pub async fn run_one_term<W, F>(&self, work: W) -> Result<Option<F::Output>, LeadError>
    where
        W: FnOnce(Guard) -> F,
        F: Future,
    {
        // Dropped last: the node waits until the future is gone.
        let under_way = self.wait_to_lead(Self::begin_work).await?;
        let mut ends = pin!(under_way.asked_to_end());
        let mut work = pin!(work(under_way.guard().clone()));
        Ok(poll_fn(|context| {
            // The timer may be late; the clock is not.
            if under_way.is_asked_to_end() || ends.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await)
    }

    /// Waits until this node leads with a valid lease.
    ///
    /// # Errors
    ///
    /// As [`Handle::run_while_leader`].
    pub async fn lead(&self) -> Result<Guard, LeadError> {
        self.wait_to_lead(Self::guard).await
    }

    /// Reports whether this node is fit to lead: whether its disk answers, or a check passes. A
    /// node that is not does not stand for election, and stops leading at its next round. A restart
    /// forgets it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn set_healthy(&self, healthy: bool) -> Result<(), RequestError> {
        if !healthy {
            return self.set_unfit("its program says so").await;
        }
        self.send_command(Command::SetHealthy(true)).await.map(drop)
    }

    /// Does the same as [`Handle::set_healthy`] with `false`, and gives the reason, which the
    /// `problem` of the [status](Handle::status) tells. A long reason is cut.
    ///
    /// # Errors
    ///
    /// As [`Handle::set_healthy`].
    pub async fn set_unfit(&self, reason: &str) -> Result<(), RequestError> {
        self.send_command(Command::SetHealthy(false)).await?;
        self.seen.eligibility.explain(reason);
        Ok(())
    }

    /// Returns whether this node is fit to lead, as far as its program has
    /// [said](Handle::set_healthy). A node of which nothing was said is.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.seen.eligibility.problem().is_none()
    }

    async fn wait_to_lead<T>(&self, take: impl Fn(&Self) -> Option<T>) -> Result<T, LeadError> {
        if let Some(protocol) = self.without_lease {
            return Err(LeadError::NoLease { protocol });
        }
        let mut leadership = self.leadership();
        loop {
            leadership.seen();
            if let Some(taken) = take(self) {
                return Ok(taken);
            }
            leadership.changed().await.ok_or(LeadError::Stopped)?;
        }
    }
}

impl Guard {
    /// Returns when the guard is not valid any more, at the latest a moment after that.
    pub(super) async fn lost(&self, mut leadership: LeadershipWatch) {
        while let Some(left) = self.left() {
            tokio::select! {
                () = tokio::time::sleep(left.min(LONGEST_SLEEP)) => {}
                changed = leadership.changed() => if changed.is_none() {
                    return;
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

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
            let handle = Handle {
                seen: Observed::of(leadership, history, leases),
                commands,
                requests: watch::channel(None).1,
                report,
                measured_links: Arc::new(Vec::new),
                without_lease: None,
                election: Duration::from_secs(1),
                facts: LocalFacts::default(),
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
            // The process stands still, and then there is work to do. The runtime's timers are
            // late.
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
}
