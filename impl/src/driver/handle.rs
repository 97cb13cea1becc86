//! What a program does with a node that takes part: look, wait, lead, and ask.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::Stream;
use thiserror::Error;
use tokio::sync::mpsc;

use super::commands::CommandRequest;
use super::fitness::Fitness;
use super::gauges::Gauges;
use super::guard::{Guard, LeaseReader};
use super::history::History;
use super::leadership::{Leadership, LeadershipWatch, OwnChange};
use super::lists::OwnLists;
use super::standing::OwnStanding;
use super::work::Work;
use crate::member::LONGEST_SLEEP;
use crate::status::{Measurements, StatusReport};

/// A handle to an [`Election`](super::Election), through which a program uses a node that takes
/// part. A clone is one more; the node goes on for as long as the election, not for as long as its
/// handles.
#[derive(Clone)]
pub struct Handle {
    pub(super) leadership: LeadershipWatch,
    pub(super) history: History,
    pub(super) leases: LeaseReader,
    pub(super) commands: mpsc::Sender<CommandRequest>,
    pub(super) report: Arc<dyn Fn() -> StatusReport + Send + Sync>,
    /// Why the program says that the node is not fit to lead.
    pub(super) fitness: Fitness,
    /// The protocol, if its leaders have no lease.
    pub(super) without_lease: Option<&'static str>,
    /// Which run of the node it is.
    pub(super) incarnation: u64,
    /// How long an election takes at most, if a leader comes of it.
    pub(super) election: Duration,
    /// What is measured.
    pub(super) gauges: Gauges,
    /// What the node says of itself, and hears of the others.
    pub(super) standing: OwnStanding,
    /// The lists of members that it knows.
    pub(super) lists: OwnLists,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("leadership", &self.leadership.now()).finish_non_exhaustive()
    }
}

/// The reason why a node does not lead, and will not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
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
        self.leadership.clone()
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
        self.history.clone()
    }

    /// Returns a guard of the leadership that this node has now; `None` if it does not lead, if its
    /// lease is over, and with protocols whose leaders have no lease. It never blocks.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        self.leases.guard()
    }

    /// Returns whether this node leads at this moment: with a valid lease; if leaders have none, as
    /// far as it knows.
    #[must_use]
    pub fn leads_now(&self) -> bool {
        self.guard().is_some() || self.leads_without_lease()
    }

    /// Whether this node leads as far as it knows, where leaders have no leases.
    pub(crate) fn leads_without_lease(&self) -> bool {
        self.without_lease.is_some() && self.leadership.now().is_self()
    }

    /// How long an election takes at most, if a leader comes of it.
    #[cfg(feature = "http")]
    pub(crate) fn election(&self) -> Duration {
        self.election
    }

    /// Returns the incarnation, which is one run of the node: the time of its start, in nanoseconds
    /// since 1970.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Returns the status of the node.
    #[must_use]
    pub fn status(&self) -> StatusReport {
        (self.report)()
    }

    /// Returns what the node measures beside its status: its links, the time that its storage
    /// takes, and for how long it does not run for election.
    #[must_use]
    pub fn measurements(&self) -> Measurements {
        self.gauges.read()
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
    /// the [`Guard`]. If it panics, this node leads no longer, and does not run for
    /// [a while](crate::driver::PANIC_PAUSE).
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
mod tests;
