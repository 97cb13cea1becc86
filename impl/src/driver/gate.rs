//! What a program does before it is told that its node leads: the side of the program. What the
//! node does is decided by its [member](crate::member).

use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::commands::{Command, CommandRequest};
use super::handle::Handle;
use crate::member::PreparationRequest;
use crate::protocol::{Epoch, Reason};

/// A request to the program: the node has come to lead, and its program is to prepare itself.
#[derive(Debug)]
pub struct Approach {
    request: PreparationRequest,
    requests: watch::Receiver<Option<PreparationRequest>>,
    commands: mpsc::Sender<CommandRequest>,
}

impl Handle {
    /// Waits until the node has come to lead and its program is to prepare itself, if the node takes
    /// part [with such a program](super::Election::join_prepared). Returns `None` once the node has
    /// stopped taking part.
    pub async fn approach(&self) -> Option<Approach> {
        Approach::next(self.requests.clone(), self.commands.clone()).await
    }
}

impl Approach {
    pub(super) async fn next(
        mut requests: watch::Receiver<Option<PreparationRequest>>,
        commands: mpsc::Sender<CommandRequest>,
    ) -> Option<Self> {
        let request = (*requests.wait_for(Option::is_some).await.ok()?)?;
        Some(Self { request, requests, commands })
    }

    /// Returns the epoch that the node leads, if its protocol has epochs.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.request.epoch
    }

    /// Returns the reason why the node has come to lead.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.request.reason
    }

    /// Waits until the preparation is in vain: the node has stopped leading, or leads another
    /// epoch.
    pub async fn withdrawn(&mut self) {
        let request = Some(self.request);
        // If the node has ended, nothing is left to prepare for.
        let _ = self.requests.wait_for(|now| *now != request).await;
    }

    /// Confirms that the program is prepared: its node leads from here on. Returns when readers
    /// know, or when the node leads no longer.
    pub async fn ready(self) {
        self.answer(Command::Prepared).await;
    }

    /// Reports that the program cannot prepare itself: the node steps down, and does not stand for
    /// election for `time`. With a protocol without such a request it goes on to lead, and its
    /// program is never told.
    pub async fn refuse(self, time: Duration) {
        self.answer(|number| Command::Unprepared(number, time)).await;
    }

    /// Returns when the next [`Handle::approach`] is not about this any more.
    async fn answer(mut self, command: impl FnOnce(u64) -> Command) {
        let (reply, answered) = oneshot::channel();
        let request = CommandRequest { command: command(self.request.number), reply };
        if self.commands.send(request).await.is_ok() {
            let _ = answered.await;
        }
        self.withdrawn().await;
    }
}
