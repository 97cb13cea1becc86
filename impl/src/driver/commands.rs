//! What the program asks of its node while that takes part.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::Handle;
pub(super) use crate::member::Command;
use crate::member::RequestError;
use crate::protocol::NodeId;

/// Where an answer goes.
pub(super) type ReplySender = oneshot::Sender<Result<Option<NodeId>, RequestError>>;

/// Something that is asked of the loop around the node.
#[derive(Debug)]
pub(super) struct CommandRequest {
    pub(super) command: Command,
    /// Where the answer goes: the node that is next, if there is one.
    pub(super) reply: ReplySender,
}

/// Returns a channel of commands. One at a time is answered.
pub(super) fn channel() -> (mpsc::Sender<CommandRequest>, mpsc::Receiver<CommandRequest>) {
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
    /// Stops leading, in favour of the highest node that has acknowledged this leader's latest
    /// rounds; if there is none, the others start an election at once.
    ///
    /// # Errors
    ///
    /// [`RequestError::NotLeading`] and others.
    pub async fn resign(&self) -> Result<Option<NodeId>, RequestError> {
        self.send_command(Command::HandOver(None)).await
    }

    /// Stops leading, and lets the member `to` lead instead.
    ///
    /// # Errors
    ///
    /// [`RequestError::NotLeading`] and others.
    pub async fn transfer(&self, to: NodeId) -> Result<(), RequestError> {
        self.send_command(Command::HandOver(Some(to))).await.map(drop)
    }

    /// Stops leading, if the node leads, and keeps the node from running for `time` from now on. It
    /// follows, votes, and is no successor meanwhile. A restart forgets it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn step_down(&self, time: Duration) -> Result<Option<NodeId>, RequestError> {
        self.freeze_by(Command::StepDown(time), time).await
    }

    /// Keeps the node from running for election for `time` from now on. A node that leads goes on
    /// leading, and keeps its lease; if it loses it within that time, it does not run either until
    /// the time is over. The node follows and votes as ever, and is no successor. A restart forgets
    /// it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn freeze(&self, time: Duration) -> Result<(), RequestError> {
        self.freeze_by(Command::Freeze(time), time).await.map(drop)
    }

    /// Waits until the loop around the node has come to this question, which shows that it runs.
    /// While it waits for [work](Handle::begin_work) to end, which its lease bounds, it counts as
    /// running. For a watchdog, with a time-out.
    ///
    /// # Errors
    ///
    /// [`RequestError::Stopped`].
    pub async fn responds(&self) -> Result<(), RequestError> {
        tokio::select! {
            answered = self.send_command(Command::Ping) => answered.map(drop),
            () = self.leases.work_tracker().awaited() => Ok(()),
        }
    }

    /// Sends a command by which the node does not run for so long, and notes until when that is.
    /// The node goes on with it even if its answer is not awaited.
    async fn freeze_by(
        &self,
        command: Command,
        time: Duration,
    ) -> Result<Option<NodeId>, RequestError> {
        let before = self.gauges.freeze(Instant::now().checked_add(time));
        let answer = self.send_command(command).await;
        if answer.is_err() {
            self.gauges.freeze(before);
        }
        answer
    }

    pub(super) async fn send_command(
        &self,
        command: Command,
    ) -> Result<Option<NodeId>, RequestError> {
        let (reply, answered) = oneshot::channel();
        let stopped = |_| RequestError::Stopped;
        self.commands
            .send(CommandRequest { command, reply })
            .await
            .map_err(|_| RequestError::Stopped)?;
        answered.await.map_err(stopped)?
    }
}
