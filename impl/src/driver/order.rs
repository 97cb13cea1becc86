//! What the program asks of its node while that takes part.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::Handle;
use crate::member::RequestError;
pub(super) use crate::member::What;
use crate::protocol::NodeId;

/// Where an answer goes.
pub(super) type Answer = oneshot::Sender<Result<Option<NodeId>, RequestError>>;

/// Something that is asked of the loop around the node.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) what: What,
    /// Where the answer goes: the node that is next, if there is one.
    pub(super) answer: Answer,
}

/// Orders that wait. One at a time is answered.
pub(super) fn channel() -> (mpsc::Sender<Order>, mpsc::Receiver<Order>) {
    mpsc::channel(16)
}

/// What can be asked of a node. The answer comes when the node has done its part, and tells which
/// node was to be next, if any. A leader that hands over leads on until that one is prepared, but
/// for no longer than the time between two rounds; it leads no longer when it answers. Before that
/// it waits until all [work](Handle::begin_work) that it asked to end has ended, and no longer than
/// its lease lasts. So code that holds such work must not wait for the answer. Whether the other
/// comes to lead is another matter: if it does not within a time-out, the others start an election,
/// so a handover always ends.
impl Handle {
    /// Leads no longer. The highest node that has acknowledged this leader's latest rounds is next;
    /// if there is none, the others start an election at once.
    ///
    /// # Errors
    ///
    /// [`RequestError::NotLeading`] and others.
    pub async fn resign(&self) -> Result<Option<NodeId>, RequestError> {
        self.order(What::HandOver(None)).await
    }

    /// Leads no longer, and lets the member `to` lead instead.
    ///
    /// # Errors
    ///
    /// [`RequestError::NotLeading`] and others.
    pub async fn transfer(&self, to: NodeId) -> Result<(), RequestError> {
        self.order(What::HandOver(Some(to))).await.map(drop)
    }

    /// Leads no longer, if it does, and does not run for `time` from now on. It follows, votes, and
    /// is no successor meanwhile. A restart forgets it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn step_down(&self, time: Duration) -> Result<Option<NodeId>, RequestError> {
        self.order(What::StepDown(time)).await
    }

    /// Does not run for `time` from now on. A node that leads goes on leading, and keeps its lease;
    /// if it loses it within that time, it does not run either until the time is over. The node
    /// follows and votes as ever, and is no successor. A restart forgets it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn freeze(&self, time: Duration) -> Result<(), RequestError> {
        self.order(What::Freeze(time)).await.map(drop)
    }

    /// Says whether this node is fit to lead: whether its disk answers, or a check passes. A node
    /// that is not does not run, and stops leading at its next round. A restart forgets it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn set_healthy(&self, healthy: bool) -> Result<(), RequestError> {
        self.order(What::Healthy(healthy)).await.map(drop)
    }

    /// Waits until the loop around the node has come to this question: until it runs. While it
    /// waits for [work](Handle::begin_work) to end, which its lease bounds, it counts as running.
    /// For a watchdog, with a time-out.
    ///
    /// # Errors
    ///
    /// [`RequestError::Stopped`].
    pub async fn responds(&self) -> Result<(), RequestError> {
        tokio::select! {
            answered = self.order(What::Answer) => answered.map(drop),
            () = self.lessor.works().awaited() => Ok(()),
        }
    }

    async fn order(&self, what: What) -> Result<Option<NodeId>, RequestError> {
        let (answer, answered) = oneshot::channel();
        let stopped = |_| RequestError::Stopped;
        self.orders.send(Order { what, answer }).await.map_err(|_| RequestError::Stopped)?;
        answered.await.map_err(stopped)?
    }
}
