//! The part that a node takes in elections, until it ends: its tasks.

use std::net::SocketAddr;

use futures::future::BoxFuture;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Stopped;
use crate::config::{Credentials, Current};
use crate::storage::StorageError;
use crate::transport;

/// The loop around the member of one group, until it ends.
pub(super) type Loop = BoxFuture<'static, Result<(), StorageError>>;

/// A node that takes part.
#[derive(Debug)]
pub(super) struct Part {
    address: SocketAddr,
    credentials: Current,
    task: Option<JoinHandle<Result<(), StorageError>>>,
    stop: DropGuard,
}

impl Part {
    /// That of a node which listens there, and whose tasks are these. They end once `stop` is
    /// cancelled, as it is when this is dropped.
    pub(super) fn new(
        (address, credentials): (SocketAddr, Current),
        tasks: impl Future<Output = Result<(), StorageError>> + Send + 'static,
        stop: CancellationToken,
    ) -> Self {
        let (task, stop) = (Some(tokio::spawn(tasks)), stop.drop_guard());
        Self { address, credentials, task, stop }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn replace_credentials(&self, credentials: Credentials) {
        self.credentials.replace(credentials);
    }

    /// See [`Election::stopped`](super::Election::stopped).
    pub(super) async fn stopped(&mut self) -> Result<(), Stopped> {
        let Some(task) = &mut self.task else { return Ok(()) };
        let result = task.await;
        self.task = None;
        Ok(result.map_err(|_| Stopped::Panicked)??)
    }

    /// See [`Election::leave`](super::Election::leave).
    pub(super) async fn leave(self) -> Result<(), Stopped> {
        let Self { task, stop, .. } = self;
        drop(stop);
        let Some(task) = task else { return Ok(()) };
        Ok(task.await.map_err(|_| Stopped::Panicked)??)
    }
}

/// Lets a node take part until it is told to stop, has to, or has lost a link.
pub(super) async fn take_part(
    node: u16,
    loops: Vec<Loop>,
    mut connections: JoinSet<()>,
    stopped: CancellationToken,
) -> Result<(), StorageError> {
    let mut groups: JoinSet<_> = loops.into_iter().collect();
    let result = tokio::select! {
        result = ended(&mut groups) => result,
        // Without a link the node would go on half deaf: it ends instead.
        panic = transport::panicked(&mut connections) => {
            groups.shutdown().await;
            std::panic::resume_unwind(panic)
        }
    };
    if result.is_ok() && !stopped.is_cancelled() {
        // Nothing can arrive any more: the link that listens is about to be found.
        std::panic::resume_unwind(transport::panicked(&mut connections).await);
    }
    if let Err(error) = &result {
        tracing::error!(node, "takes part no longer: {error}");
    }
    // If one group has failed, none goes on: they share what has.
    groups.shutdown().await;
    connections.shutdown().await;
    result
}

/// Waits until all groups have ended, or one has failed.
async fn ended(groups: &mut JoinSet<Result<(), StorageError>>) -> Result<(), StorageError> {
    while let Some(ended) = groups.join_next().await {
        match ended.map_err(JoinError::try_into_panic) {
            Ok(result) => result?,
            Err(Ok(panic)) => {
                groups.shutdown().await;
                std::panic::resume_unwind(panic);
            }
            // It was told to end with the runtime.
            Err(Err(_)) => {}
        }
    }
    Ok(())
}
