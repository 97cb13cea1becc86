//! The tokio side: takes a node into the real world, and tells the program which node leads.
//!
//! Thin on purpose: every decision is the [member](crate::member)'s. One task owns it; messages
//! reach it through a bounded queue; a program that wants to know which node leads watches the
//! latest value. Beside the clock and the links there are two ports: [storage](crate::storage) for
//! what must survive a crash, and [failure detectors](crate::detector) for the members that the
//! protocol has watched. A protocol that needs neither gets neither.
//!
//! A node takes part in one [`Election`], or in those of many groups: then there is a task with a
//! member for each, and they share the links, the storage and all else. One election is one group
//! without a name.

mod actor;
mod commands;
mod commit;
mod gate;
mod guard;
mod handle;
mod known;
mod leader_alarm;
mod leadership;
mod lists;
mod observed;
mod recovery;
mod standing;
mod start;
mod trace;
mod work;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::DropGuard;

use self::commit::{Named, SingleStore, Store};
pub use self::gate::Approach;
pub use self::guard::Guard;
pub use self::handle::{Handle, LeadError};
pub use self::leadership::{Change, History, Leadership, LeadershipWatch, OwnChange, Term};
pub use self::lists::MembersError;
pub use self::recovery::{Recovery, RecoveryError};
pub use self::standing::MaintenanceReport;
use self::start::Joining;
pub use self::work::Work;
use crate::config::{self, Address, Config, Credentials, Runnable};
pub use crate::member::RequestError;
use crate::protocol::{Core, NodeId};
use crate::storage::{Memory, Storage, StorageError};

/// How long a node that leaves waits for a storage that does not answer. A machine that runs tests
/// may have much else to do.
const CLOSED_WITHIN: Duration = Duration::from_millis(if cfg!(test) { 10_000 } else { 500 });

/// A node's part in the elections of its cluster. It ends with [`Election::leave`], or when this is
/// dropped. Its [`Handle`], which can be cloned, does all that can be done with it meanwhile.
///
/// A node with [groups](Config::with_groups) takes part in the election of each, and has a handle
/// for each. The groups share one set of connections, a storage and a log.
///
/// ```no_run
/// use bellwether::{Config, Election};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
/// let config = Config::new("orders", 2, members)?
///     .with_groups((0..1_000).map(|shard| format!("shard-{shard}")))?
///     .with_directory("/var/lib/orders");
/// let election = Election::join(config).await?;
/// let shard = election.groups().get("shard-17").ok_or("there is no shard 17")?;
/// if let Some(guard) = shard.guard() {
///     println!("this node leads shard 17, in epoch {}", guard.epoch());
/// }
/// election.leave().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Election {
    /// The node in each group, by its name: the empty one of the only election.
    groups: BTreeMap<String, Handle>,
    address: Option<SocketAddr>,
    task: Option<JoinHandle<Result<(), StorageError>>>,
    stop: Option<DropGuard>,
}

/// The reason why a node cannot take part.
#[derive(Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The configuration lacks something, or what the node made durable does not fit to it.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// What the node made durable cannot be known, or nothing can be made durable.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The node cannot listen where others expect it.
    #[error("cannot listen on {address}: {cause}; {}", Address::remedy(cause))]
    Listen {
        /// The address.
        address: Address,
        /// The error that the system reports.
        cause: std::io::Error,
    },
    /// This process may not have as many files open as the node needs.
    #[error(
        "this process may have {limit} files open, and the node needs {needed}, of which each \
         connection is one; raise the limit: `ulimit -n {needed}`, or `LimitNOFILE={needed}` in \
         its unit"
    )]
    Files {
        /// The limit.
        limit: usize,
        /// The number that the node needs.
        needed: usize,
    },
    /// The node is to start a new cluster, and has taken part in one.
    #[error(
        "node {node} has a state in {place}, so its cluster is not new: start it without \
             --new-cluster"
    )]
    NotNew {
        /// The node.
        node: NodeId,
        /// The place of the state.
        place: String,
    },
    /// The listener that was handed over is unusable.
    #[error("the listener is unusable: {0}")]
    Listener(std::io::Error),
}

/// The reason why a node has stopped taking part although it was not told to leave.
#[derive(Error)]
#[non_exhaustive]
pub enum Stopped {
    /// Something could not be made durable, and nothing that depends on it was sent.
    #[error("the node has stopped taking part: {0}")]
    Storage(#[from] StorageError),
    /// The node or one of its links panicked, or the runtime ended.
    #[error("the node has stopped taking part, as it panicked: the log says why")]
    Panicked,
}

impl Election {
    /// Listens at the configured address, and takes part in elections by the protocol `C`: in that
    /// of each group, if the configuration has some.
    ///
    /// # Errors
    ///
    /// [`JoinError::Listen`] when the address is taken or not this machine's, and whatever
    /// [`Election::join_on`] says.
    pub async fn join<C: Runnable>(config: Config<C>) -> Result<Self, JoinError> {
        let listener = listen(&config).await?;
        Self::start(config, listener, None, false)
    }

    /// Does the same as [`Election::join`], with a program that prepares itself before it learns
    /// that its node leads. Readers see the node waiting meanwhile, and no guard is given; it keeps
    /// its lease, so no other node leads.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use bellwether::{Config, Election};
    /// # async fn mount() -> bool { true }
    /// # async fn join(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    /// let election = Election::join_prepared(config).await?;
    /// while let Some(mut approach) = election.handle().approach().await {
    ///     tokio::select! {
    ///         mounted = mount() => match mounted {
    ///             true => approach.ready().await,
    ///             false => approach.refuse(Duration::from_secs(30)).await,
    ///         },
    ///         () = approach.withdrawn() => {}
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Election::join`].
    pub async fn join_prepared<C: Runnable>(config: Config<C>) -> Result<Self, JoinError> {
        let listener = listen(&config).await?;
        Self::start(config, listener, None, true)
    }

    /// Takes part on a listener that is bound already, for example to a port that the system chose.
    /// The others must be told its address; the configured one is not used. Durable state, of all
    /// groups, is kept in the configured directory.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`JoinError::Listener`] when the listener has no address, [`JoinError::Config`] when the
    /// protocol needs a directory and none is configured, [`JoinError::Storage`] when the directory
    /// cannot be used.
    pub fn join_on<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
    ) -> Result<Self, JoinError> {
        Self::start(config, Some(listener), None, false)
    }

    /// Does the same as [`Election::join_on`], with durable state in a storage of the caller's.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// As [`Election::join_on`], and [`JoinError::Config`] when the node has groups.
    pub fn join_with<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
        storage: impl Storage<C::Durable>,
    ) -> Result<Self, JoinError> {
        if !config.groups().is_empty() {
            let problem = "one storage keeps the states of all: take part with \
                           `Election::join_groups_with`";
            return Err(config::Error::Groups { problem: problem.to_owned() }.into());
        }
        let store = SingleStore(Box::new(storage));
        Self::start(config, Some(listener), Some(Box::new(store)), false)
    }

    /// Does the same as [`Election::join_with`], for a node with groups: the storage keeps one value
    /// with the state of each group by its name, which is saved as a whole.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// As [`Election::join_on`], and [`JoinError::Config`] when the node has no groups.
    pub fn join_groups_with<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
        storage: impl Storage<BTreeMap<String, C::Durable>>,
    ) -> Result<Self, JoinError> {
        if config.groups().is_empty() {
            let problem = "there are none: name them (`Config::with_groups`, `names` under \
                           [groups]), or take part with `Election::join_with`";
            return Err(config::Error::Groups { problem: problem.to_owned() }.into());
        }
        let store = Named::new(Box::new(storage), config.groups().to_vec());
        Self::start(config, Some(listener), Some(Box::new(store)), false)
    }

    fn start<C: Runnable>(
        config: Config<C>,
        listener: Option<TcpListener>,
        store: DurableState<C>,
        prepares: bool,
    ) -> Result<Self, JoinError> {
        start::join(&mut Some(Joining { config, listener, store, prepares }))
    }

    /// Returns the handle to the node in each group, by the name of the group. Without groups there
    /// is one, whose name is empty.
    #[must_use]
    pub fn groups(&self) -> &BTreeMap<String, Handle> {
        &self.groups
    }

    /// Returns a handle to this node, to be shared with other tasks; with groups, to the node in the
    /// [first](Election::groups) of them.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.first().clone()
    }

    fn first(&self) -> &Handle {
        self.groups.values().next().unwrap_or_else(|| unreachable!("there is one at least"))
    }

    /// Returns what [`Handle::leadership`] of the [handle](Self::handle) does.
    #[must_use]
    pub fn leadership(&self) -> LeadershipWatch {
        self.first().leadership()
    }

    /// Returns what [`Handle::guard`] of the [handle](Self::handle) does.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        self.first().guard()
    }

    /// Does what [`Handle::begin_work`] of the [handle](Self::handle) does.
    #[must_use]
    pub fn begin_work(&self) -> Option<Work> {
        self.first().begin_work()
    }

    /// Does what [`Handle::run_while_leader`] of the [handle](Self::handle) does.
    ///
    /// # Errors
    ///
    /// As [`Handle::run_while_leader`].
    pub async fn run_while_leader<W, F>(&self, work: W) -> Result<F::Output, LeadError>
    where
        W: FnMut(Guard) -> F,
        F: Future,
    {
        self.first().run_while_leader(work).await
    }

    /// Returns the address on which the node listens; `None` if it listens nowhere.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Replaces the credentials with which the node proves itself by these, as
    /// [`Config::credentials`](crate::Config::credentials) reads them. Connections that stand stay.
    /// Nothing happens if they are of another kind than before: that is the same on every node, and
    /// cannot change while they run.
    pub fn replace_credentials(&self, credentials: Credentials) {
        self.first().seen.credentials.replace(credentials);
    }

    /// Waits until the node has stopped taking part although it was not told to leave. Returns `Ok`
    /// only when this was asked before, and answered. All groups stop together.
    ///
    /// # Errors
    ///
    /// Why it has stopped.
    pub async fn stopped(&mut self) -> Result<(), Stopped> {
        let Some(task) = &mut self.task else { return Ok(()) };
        let result = task.await;
        self.task = None;
        Ok(result.map_err(|_| Stopped::Panicked)??)
    }

    /// Stops taking part, and returns when the port is free again and the storage closed; one that
    /// does not answer is not waited for longer than half a second.
    ///
    /// If it leads by a protocol that can hand over, it [resigns](Handle::resign) first. With
    /// other protocols the others notice [that it is gone](Config::suspects_refused), or its
    /// silence.
    ///
    /// # Errors
    ///
    /// Why it had stopped before. A task that panicked has left, too.
    pub async fn leave(mut self) -> Result<(), Stopped> {
        drop(self.stop.take());
        self.stopped().await
    }
}

/// What keeps durable state, if that is not to be in the configured directory.
type DurableState<C> = Option<Box<dyn Store<<C as Core>::Durable>>>;

async fn listen<C: Runnable>(config: &Config<C>) -> Result<Option<TcpListener>, JoinError> {
    let Some(address) = config.listen() else { return Ok(None) };
    let listener = TcpListener::bind(address.as_str()).await;
    listener.map(Some).map_err(|cause| JoinError::Listen { address: address.clone(), cause })
}

/// Opens the configured directory, if the protocol has durable state; the memory for a process with
/// a label, which is another holder after a restart.
fn open<C: Runnable>(config: &Config<C>) -> Result<DurableState<C>, JoinError> {
    let store: Box<dyn Store<C::Durable>> = match config.directory()? {
        Some(path) => commit::open(config, path)?,
        None if config.label().is_some() && config.groups().is_empty() => {
            Box::new(SingleStore(Box::new(Memory::<C::Durable>::default())))
        }
        None => return Ok(None),
    };
    Ok(Some(store))
}

#[cfg(test)]
pub(crate) mod tests;
