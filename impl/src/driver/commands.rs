//! What the program asks of its node while that takes part.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::standing::FROZEN;
use super::{Handle, Leadership};
pub(super) use crate::member::Command;
use crate::member::RequestError;
use crate::protocol::{Epoch, NodeId};
use crate::status::Link;

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

/// What can be asked of a node. The answer is what has happened: it comes when the next node is
/// heard to lead. A leader that hands over leads on until that one is prepared. Before it yields it
/// waits until all [work](Handle::begin_work) that it asked to end has ended, and no longer than
/// its lease lasts. So code that holds such work must not wait for the answer.
impl Handle {
    /// Stops leading, in favour of the highest node that has acknowledged this leader's latest
    /// rounds; if there is none, the others start an election at once. Returns the node that is
    /// heard to lead then, if there is one within the time of an election.
    ///
    /// # Errors
    ///
    /// [`RequestError::NotLeading`] and others.
    pub async fn resign(&self) -> Result<Option<NodeId>, RequestError> {
        self.send_command(Command::HandOver(None)).await?;
        Ok(self.next_leader().await)
    }

    /// Lets the member `to` lead instead, and returns its epoch once that is heard to lead. If it
    /// does not come within a few rounds, as it is frozen or unfit for example, this node leads on.
    ///
    /// # Errors
    ///
    /// [`RequestError::NotTaken`] if another node leads in the end, [`RequestError::Unreachable`],
    /// [`RequestError::NotLeading`] and others.
    pub async fn transfer(&self, to: NodeId) -> Result<Option<Epoch>, RequestError> {
        let mut leadership = self.leadership();
        let now = leadership.seen();
        if let Some(problem) = self.unreachable(to).filter(|_| now.is_self()) {
            return Err(RequestError::Unreachable { node: now.node, to, problem });
        }
        self.send_command(Command::HandOver(Some(to))).await?;
        let led = |now: &Leadership| now.leader.is_some() && !now.is_self();
        let next = timeout(self.election, leadership.wait_for(led)).await;
        match next.unwrap_or_else(|_| Some(leadership.now())) {
            Some(now) if now.leader == Some(to) => Ok(now.epoch),
            Some(now) => Err(RequestError::NotTaken { to, leader: now.leader }),
            None => Err(RequestError::Stopped),
        }
    }

    /// Why the member cannot be asked anything.
    fn unreachable(&self, to: NodeId) -> Option<String> {
        let member = self.status().members.into_iter().find(|member| member.node == to)?;
        let problem = match member.link {
            Link::Connected if member.fit == Some(false) => {
                "it says that it is not fit to lead, or was asked not to stand for election"
                    .to_owned()
            }
            Link::Connected if member.heard => return None,
            Link::Connected => "it has no connection to this node".to_owned(),
            _ => member.problem.or(member.error).unwrap_or_else(|| "no connection".to_owned()),
        };
        Some(problem)
    }

    /// Stops leading, if the node leads, and keeps the node from standing for election for `time`
    /// from now on. The node follows, votes, and is no successor meanwhile. A restart forgets it.
    /// Returns the node that is heard to lead then, if there is one within the time of an election.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn step_down(&self, time: Duration) -> Result<Option<NodeId>, RequestError> {
        let led = self.leadership().now().is_self();
        let next = self.freeze_by(Command::StepDown, time).await?;
        if led { Ok(self.next_leader().await) } else { Ok(next) }
    }

    /// The node that leads after this one, if it is heard to within the time of an election.
    async fn next_leader(&self) -> Option<NodeId> {
        let mut leadership = self.leadership();
        let led = |now: &Leadership| now.leader.is_some() && !now.is_self();
        let now = timeout(self.election, leadership.wait_for(led)).await.ok()??;
        now.leader
    }

    /// Keeps the node from standing for election for `time` from now on. A node that leads goes on
    /// leading, and keeps its lease; if it loses it within that time, it does not stand for
    /// election either until the time is over. The node follows and votes as ever, and is no
    /// successor. A restart forgets it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn freeze(&self, time: Duration) -> Result<(), RequestError> {
        self.freeze_by(Command::Freeze, time).await.map(drop)
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
            () = self.seen.leases.work_tracker.awaited() => Ok(()),
        }
    }

    /// Sends a command by which the node does not stand for election for so long. The node goes on
    /// with it even if its answer is not awaited.
    async fn freeze_by(
        &self,
        command: impl Fn(Duration) -> Command,
        time: Duration,
    ) -> Result<Option<NodeId>, RequestError> {
        // However short the time is: in maintenance no node stands for election.
        let time = if self.in_maintenance() { FROZEN } else { time };
        let eligibility = &self.seen.eligibility;
        let before = eligibility.away();
        let answer = self.send_command(command(time)).await;
        if answer.is_err() {
            eligibility.set_away(before);
            self.tell_fitness();
        }
        answer
    }

    pub(super) async fn send_command(
        &self,
        command: Command,
    ) -> Result<Option<NodeId>, RequestError> {
        let (reply, answered) = oneshot::channel();
        let sent = self.commands.send(CommandRequest { command, reply }).await;
        sent.map_err(|_| RequestError::Stopped)?;
        let answer = answered.await.map_err(|_| RequestError::Stopped)?;
        self.tell_fitness();
        answer
    }
}
