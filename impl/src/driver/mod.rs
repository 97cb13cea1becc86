//! The tokio side: takes a node into the real world, and tells the program which node leads.
//!
//! Thin on purpose: every decision is the node's. One task owns the node; messages reach it through
//! a bounded queue; a program that wants to know which node leads watches the latest value. Beside
//! the clock and the links there are two ports: [storage](crate::storage) for what must survive a
//! crash, and [failure detectors](crate::detector) for the members that the protocol has watched.
//! A protocol that needs neither gets neither.

mod actor;
mod guard;
mod order;
mod watch;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures::Stream;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::actor::{Actor, Publisher};
pub use self::guard::Guard;
use self::guard::{Lessee, Lessor};
use self::order::Order;
pub use self::order::RequestError;
use self::watch::Watch;
use crate::clock::{Clock as _, SystemClock};
use crate::config::{self, Address, Config, Runnable};
use crate::log;
use crate::protocol::{Node, NodeId, Reason, Role};
use crate::status::{Counters, StatusReport};
use crate::storage::{Directory, Storage, StorageError};
use crate::transport::frame::Hello;
use crate::transport::{self, Links};

/// Which node leads, as one node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The node that sees it so.
    pub node: NodeId,
    /// What that node is doing; [`Role::NotStarted`] before it takes part and after it left.
    pub role: Role,
    /// Which node it takes for the leader; `None` if it knows none.
    pub leader: Option<NodeId>,
    /// Why this is so; `None` before the node takes part and after it left.
    pub reason: Option<Reason>,
    /// The number of the change, from 1. Watching only the latest value, you may miss some.
    pub seq: u64,
    /// When the node learned it.
    pub since: Instant,
}

impl Leadership {
    /// Whether the node itself leads.
    #[must_use]
    pub fn is_self(&self) -> bool {
        self.leader == Some(self.node)
    }
}

/// A node's part in the elections of its cluster. It ends with [`Election::leave`], or when this is
/// dropped.
#[derive(Debug)]
pub struct Election {
    leadership: Receiver<Leadership>,
    lessor: Lessor,
    orders: mpsc::Sender<Order>,
    address: SocketAddr,
    task: Option<JoinHandle<Result<(), StorageError>>>,
    stop: DropGuard,
}

/// Why a node cannot take part.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The configuration lacks something, or what the node made durable does not fit to it.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// What the node made durable cannot be known, or nothing can be made durable.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The node cannot listen where others expect it.
    #[error(
        "cannot listen on {address}: {cause}; is another node running there? Stop it, or give \
         this one another address (`listen` in the file, --listen, BELLWETHER_LISTEN)"
    )]
    Listen {
        /// Where.
        address: Address,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The listener that was handed over is unusable.
    #[error("the listener is unusable: {0}")]
    Listener(std::io::Error),
}

/// Why a node takes part no longer although it was not told to leave.
#[derive(Debug, Error)]
pub enum Stopped {
    /// Something could not be made durable, and nothing that depends on it was sent.
    #[error("the node has stopped taking part: {0}")]
    Storage(#[from] StorageError),
    /// The node or one of its links panicked, or the runtime ended.
    #[error("the node has stopped taking part, as it panicked: the log says why")]
    Panicked,
}

impl Election {
    /// Listens at the configured address, and takes part in elections by the protocol `C`.
    ///
    /// # Errors
    ///
    /// [`JoinError::Listen`] when the address is taken or not this machine's, and whatever
    /// [`Election::join_on`] says.
    pub async fn join<C: Runnable>(config: Config<C>) -> Result<Self, JoinError> {
        let address = config.listen().clone();
        match TcpListener::bind(address.as_str()).await {
            Ok(listener) => Self::join_on(config, listener),
            Err(cause) => Err(JoinError::Listen { address, cause }),
        }
    }

    /// Takes part on a listener that is bound already, for example to a port that the system chose.
    /// The others must be told its address; the configured one is not used. Durable state is kept
    /// in the configured directory.
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
        let storage: Option<Box<dyn Storage<C::Durable>>> = match config.directory()? {
            Some(path) => Some(Box::new(Directory::open(path, config.owner())?)),
            None => None,
        };
        Self::start(config, listener, storage)
    }

    /// As [`Election::join_on`], with durable state in a storage of the caller's.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// As [`Election::join_on`].
    pub fn join_with<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
        storage: impl Storage<C::Durable>,
    ) -> Result<Self, JoinError> {
        Self::start(config, listener, Some(Box::new(storage)))
    }

    #[allow(clippy::needless_pass_by_value)] // the configuration belongs to the election now
    fn start<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
        mut storage: Option<Box<dyn Storage<C::Durable>>>,
    ) -> Result<Self, JoinError> {
        let address = listener.local_addr().map_err(JoinError::Listener)?;
        let credentials = config.credentials()?;
        let durable = storage.as_mut().map(|storage| storage.load()).transpose()?.flatten();
        let node = Node::<C>::new(config.core().clone(), durable, rand::random())
            .map_err(|error| config::Error::Contradiction(Box::new(error)))?;
        let clock = SystemClock;
        let watch = if C::DETECTOR {
            let parameters = config.detection().check()?;
            Some(Watch::new(config.detection(), parameters, clock.now()))
        } else {
            None
        };
        let (publisher, leadership) = Publisher::new(config.node());
        let (lessee, lessor) = Lessee::new(clock);
        let (orders, ordered) = order::channel();
        let ignored = Arc::new(AtomicU64::new(0));
        let incarnation = incarnation();
        let hello = Hello {
            cluster: config.cluster().clone(),
            protocol: C::NAME.to_owned(),
            node: config.node(),
            incarnation,
        };
        let lifetime = C::message_lifetime(config.core());
        let others = config.addresses().filter(|&(id, _)| id != config.node());
        let links = Links::new(others, lifetime, clock);
        let report = reporter(hello.clone(), &leadership, &links, &ignored);
        let (connections, arrivals) =
            transport::start(hello, credentials, lifetime, &links, listener, Box::new(report));
        let protocol = C::NAME;
        let id = config.node();
        let number = id.get();
        tracing::info!(node = number, protocol, incarnation, %address, "taking part in elections");
        for warning in config::warning::<C>().into_iter().chain(config.security_warning()) {
            tracing::warn!(node = number, protocol, "{warning}");
        }
        let actor = Actor {
            node,
            links,
            storage,
            watch,
            publisher,
            lessee,
            ignored,
            incarnation,
            clock,
            wake: None,
        };
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut connections = connections;
            let told = stopped.clone();
            let result = tokio::select! {
                result = actor.run(arrivals, ordered, stopped) => result,
                // Without a link the node would go on half deaf: it ends instead.
                panic = transport::panicked(&mut connections) => std::panic::resume_unwind(panic),
            };
            if result.is_ok() && !told.is_cancelled() {
                // Nothing can arrive any more: the link that listens is about to be found.
                std::panic::resume_unwind(transport::panicked(&mut connections).await);
            }
            if let Err(error) = &result {
                tracing::error!(node = id.get(), "takes part no longer: {error}");
            }
            connections.shutdown().await;
            result
        });
        let stop = stop.drop_guard();
        Ok(Self { leadership, lessor, orders, address, task: Some(task), stop })
    }

    /// The latest value of which node leads. `changed` on it waits for the next one, and fails once
    /// this node takes part no longer; the last value then names no leader.
    #[must_use]
    pub fn leadership(&self) -> Receiver<Leadership> {
        self.leadership.clone()
    }

    /// Which node leads, now and whenever it changes, as a stream that skips what is out of date by
    /// the time it is asked for. It ends when this node takes part no longer.
    pub fn changes(&self) -> impl Stream<Item = Leadership> + Send + Unpin + use<> {
        WatchStream::new(self.leadership())
    }

    /// A guard of the leadership that this node has now; `None` if it does not lead, if its lease
    /// is over, and with protocols whose leaders have no lease. It never blocks.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        self.lessor.guard()
    }

    /// Where the node listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the node takes part no longer although it was not told to leave. Returns
    /// `Ok` only when this was asked before, and answered.
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

    /// Takes part no longer, and returns when the port is free again and the storage closed.
    ///
    /// If it leads by a protocol that can hand over, it [resigns](Election::resign) first. With
    /// other protocols the others notice its silence, and elect another after their time-out.
    ///
    /// # Errors
    ///
    /// Why it had stopped before. A task that panicked has left, too.
    pub async fn leave(self) -> Result<(), Stopped> {
        let Self { task, stop, .. } = self;
        drop(stop);
        let Some(task) = task else { return Ok(()) };
        Ok(task.await.map_err(|_| Stopped::Panicked)??)
    }
}

/// Which run of the node this is. Two processes that started within a nanosecond on clocks that
/// agree would have the same one; nothing worse follows than a less clear message.
fn incarnation() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// What answers the question how the node is.
fn reporter<M: Copy + Send + Sync + 'static>(
    hello: Hello,
    leadership: &Receiver<Leadership>,
    links: &Links<M>,
    ignored: &Arc<AtomicU64>,
) -> impl Fn() -> StatusReport + Send + Sync + 'static {
    let (leadership, links, ignored) = (leadership.clone(), links.clone(), Arc::clone(ignored));
    let start = Instant::now();
    move || {
        let now = *leadership.borrow();
        let milliseconds =
            |since: Instant| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        StatusReport {
            cluster: hello.cluster.clone(),
            protocol: hello.protocol.clone(),
            node: hello.node,
            incarnation: Some(hello.incarnation),
            role: now.role,
            leader: now.leader,
            seq: now.seq,
            uptime_ms: milliseconds(start),
            in_role_ms: milliseconds(now.since),
            members: links.report(),
            counters: Counters {
                refused_handshakes: links.refused(),
                bad_frames: links.bad_frames(),
                ignored_messages: ignored.load(Ordering::Relaxed),
                dropped_log_lines: log::dropped(),
            },
        }
    }
}

#[cfg(test)]
mod tests;
