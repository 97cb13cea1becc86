//! A node's part in many elections at once, over one set of connections.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use thiserror::Error;
use tokio::net::TcpListener;

use super::commit::Named;
use super::gate::Preparation;
use super::handle::Handle;
use super::start::{Joining, NodeTasks};
use super::{DurableState, JoinError, Stopped, listen, start};
use crate::config::{self, Config, Credentials, Runnable};
use crate::storage::Storage;

/// A node's part in the elections of its groups, each with a leader of its own. The nodes share one
/// set of connections, a storage and a log; a group is used as one [`Election`](super::Election)
/// is, through its [`Handle`]. It ends with [`Groups::leave`], or when this is dropped.
///
/// ```no_run
/// use bellwether::{Config, Groups};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
/// let config = Config::new("orders", 2, members)?
///     .with_groups((0..1_000).map(|shard| format!("shard-{shard}")))?
///     .with_directory("/var/lib/orders");
/// let groups = Groups::join(config).await?;
/// if let Some(guard) = groups.group("shard-17")?.guard() {
///     println!("this node leads shard 17, in epoch {}", guard.epoch());
/// }
/// groups.leave().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Groups {
    handles: BTreeMap<String, Handle>,
    tasks: NodeTasks,
}

/// There is no group with the name that was asked for.
#[derive(Clone, PartialEq, Eq, Error)]
#[error(
    "there is no group `{name}`: name one of the {count} that there are, or add it on every node"
)]
pub struct UnknownGroup {
    /// The name that was asked for.
    pub name: String,
    /// The number of groups that there are.
    pub count: usize,
}

impl Groups {
    /// Listens at the configured address, and takes part in the election of each group that the
    /// configuration [has](Config::with_groups).
    ///
    /// # Errors
    ///
    /// [`JoinError::Listen`] when the address is taken or not this machine's, and whatever
    /// [`Groups::join_on`] says.
    pub async fn join<C: Runnable>(config: Config<C>) -> Result<Self, JoinError> {
        let listener = listen(&config).await?;
        Ok(Self::start(config, listener, None, false)?.0)
    }

    /// Does the same as [`Groups::join`], with a program that prepares itself before it learns that
    /// its node leads a group: see [`Election::join_prepared`](super::Election::join_prepared).
    /// Returns the preparation of each group, with its name.
    ///
    /// # Errors
    ///
    /// As [`Groups::join`].
    pub async fn join_prepared<C: Runnable>(
        config: Config<C>,
    ) -> Result<(Self, BTreeMap<String, Preparation>), JoinError> {
        let listener = listen(&config).await?;
        Self::start(config, listener, None, true)
    }

    /// Takes part on a listener that is bound already, for example to a port that the system chose.
    /// The others must be told its address; the configured one is not used. The durable state of
    /// all groups is kept in the configured directory.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`JoinError::Listener`] when the listener has no address, [`JoinError::Config`] when the
    /// configuration has no groups, or no directory, [`JoinError::Storage`] when the directory
    /// cannot be used.
    pub fn join_on<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
    ) -> Result<Self, JoinError> {
        Ok(Self::start(config, Some(listener), None, false)?.0)
    }

    /// Does the same as [`Groups::join_on`], with durable state in a storage of the caller's: one
    /// value with the state of each group by its name, which is saved as a whole.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// As [`Groups::join_on`].
    pub fn join_with<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
        storage: impl Storage<BTreeMap<String, C::Durable>>,
    ) -> Result<Self, JoinError> {
        let store = Named::new(Box::new(storage), config.groups().to_vec());
        Ok(Self::start(config, Some(listener), Some(Box::new(store)), false)?.0)
    }

    fn start<C: Runnable>(
        config: Config<C>,
        listener: Option<TcpListener>,
        store: DurableState<C>,
        prepares: bool,
    ) -> Result<(Self, BTreeMap<String, Preparation>), JoinError> {
        if config.groups().is_empty() {
            let problem = "there are none: name them (`Config::with_groups`, `names` under \
                           [groups]), or take part with `Election::join`";
            return Err(config::Error::Groups { problem: problem.to_owned() }.into());
        }
        let names = config.groups().to_vec();
        let joining = Joining { config, listener, store, prepares };
        let (started, tasks) = start::join(&mut Some(joining))?;
        let named = names.iter().zip(started).map(|(name, (handle, preparation))| {
            ((name.to_string(), handle), (name.to_string(), preparation))
        });
        let (handles, preparations) = named.unzip();
        Ok((Self { handles, tasks }, preparations))
    }

    /// Returns the handle to the node in the group with this name, to be used, and shared, as that
    /// of an [`Election`](super::Election).
    ///
    /// # Errors
    ///
    /// [`UnknownGroup`] when there is no such group.
    pub fn group(&self, name: &str) -> Result<&Handle, UnknownGroup> {
        let unknown = || UnknownGroup { name: name.to_owned(), count: self.handles.len() };
        self.handles.get(name).ok_or_else(unknown)
    }

    /// Returns all groups, each with its name, in the order of their names.
    pub fn all(&self) -> impl ExactSizeIterator<Item = (&str, &Handle)> {
        self.handles.iter().map(|(name, handle)| (name.as_str(), handle))
    }

    /// Returns the address on which the node listens; `None` if it listens nowhere.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.tasks.address
    }

    /// Replaces the credentials with which the node proves itself: see
    /// [`Election::replace_credentials`](super::Election::replace_credentials).
    pub fn replace_credentials(&self, credentials: Credentials) {
        self.tasks.credentials.replace(credentials);
    }

    /// Waits until the node has stopped taking part although it was not told to leave. Returns `Ok`
    /// only when this was asked before, and answered. All groups stop together.
    ///
    /// # Errors
    ///
    /// Why it has stopped.
    pub async fn stopped(&mut self) -> Result<(), Stopped> {
        self.tasks.stopped().await
    }

    /// Stops taking part in every group, and returns when the port is free again and the storage
    /// closed: see [`Election::leave`](super::Election::leave).
    ///
    /// # Errors
    ///
    /// Why it had stopped before. A task that panicked has left, too.
    pub async fn leave(self) -> Result<(), Stopped> {
        self.tasks.leave().await
    }
}
