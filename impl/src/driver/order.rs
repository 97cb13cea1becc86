//! What the program asks of its node while that takes part, and why it may not be done.

use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use super::Handle;
use crate::protocol::{NodeId, Request};

/// Where an answer goes.
pub(super) type Answer = oneshot::Sender<Result<Option<NodeId>, RequestError>>;

/// Something that is asked of the loop around the node.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) what: What,
    /// Where the answer goes: the node that is next, if there is one.
    pub(super) answer: Answer,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// To hand over to this node, or to one that follows.
    HandOver(Option<NodeId>),
    /// To hand over if it leads, and not to run for so long.
    StepDown(Duration),
    /// Not to run for so long, but to go on leading if it does.
    Freeze(Duration),
    /// To be told whether the machine is fit to lead.
    Healthy(bool),
    /// Only to answer.
    Answer,
    /// To be told that the program is prepared, since the node came to lead for the so manieth
    /// time.
    Prepared(u64),
    /// To be told that it cannot prepare itself, and not to run for so long.
    Unprepared(u64, Duration),
}

/// Orders that wait. One at a time is answered.
pub(super) fn channel() -> (mpsc::Sender<Order>, mpsc::Receiver<Order>) {
    mpsc::channel(16)
}

/// Why a node does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The protocol has no such thing.
    #[error("nodes of protocol {protocol} do not hand over: choose the protocol quorum for that")]
    Unsupported {
        /// Which protocol.
        protocol: &'static str,
    },
    /// Only a leader can hand over.
    #[error("node {node} does not lead: ask the leader")]
    NotLeading {
        /// Which node.
        node: NodeId,
    },
    /// The node that is to lead instead is this one, or no member.
    #[error("node {to} cannot take over from node {node}: name another member")]
    NoSuccessor {
        /// Which node was asked.
        node: NodeId,
        /// Which was to lead instead.
        to: NodeId,
    },
    /// The node that is to lead instead only observes.
    #[error("node {to} only observes, and never leads: name a member that votes")]
    Observer {
        /// Which was to lead instead.
        to: NodeId,
    },
    /// The node takes part no longer.
    #[error("the node takes part no longer")]
    Stopped,
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

impl What {
    /// What the core is asked, if anything, and which node is next, if `follower` is the one that
    /// would be.
    pub(super) fn request(self, follower: Option<NodeId>) -> (Option<Request>, Option<NodeId>) {
        match self {
            Self::HandOver(to) => {
                let next = to.or(follower);
                (Some(Request::Yield(next)), next)
            }
            Self::StepDown(time) => (Some(Request::StepDown(follower, time)), follower),
            Self::Freeze(time) => (Some(Request::StepDown(None, time)), None),
            Self::Unprepared(_, time) => (Some(Request::StepDown(follower, time)), follower),
            Self::Answer | Self::Prepared(_) | Self::Healthy(_) => (None, None),
        }
    }
}
