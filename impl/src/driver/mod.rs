//! The tokio side: takes a protocol core into the real world, and tells the program who leads.
//!
//! Thin on purpose: every decision is the core's. One task owns the core; messages reach it through
//! a bounded queue; whoever wants to know who leads watches the latest value.

mod actor;
mod clock;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures::Stream;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::actor::{Actor, Publisher};
use self::clock::Clock;
use crate::config::{Address, Config};
use crate::protocol::{Core, Node, NodeId, Reason, Recommended, Role, SettingsError};
use crate::status::{Counters, StatusReport};
use crate::transport::frame::Hello;
use crate::transport::{self, Links};

/// Who leads, as one node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The node that sees it so.
    pub node: NodeId,
    /// What that node is doing; [`Role::NotStarted`] before it takes part and after it left.
    pub role: Role,
    /// Whom it takes for the leader; `None` while there is an election.
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
    leadership: watch::Receiver<Leadership>,
    address: SocketAddr,
    task: JoinHandle<()>,
    stop: DropGuard,
}

/// Why a node cannot take part.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The configuration contradicts itself.
    #[error(transparent)]
    Config(#[from] SettingsError),
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

impl Election {
    /// Listens at the configured address, and takes part.
    ///
    /// # Errors
    ///
    /// [`JoinError::Listen`] when the address is taken or not this machine's.
    pub async fn join(config: Config) -> Result<Self, JoinError> {
        let address = config.listen().clone();
        match TcpListener::bind(address.as_str()).await {
            Ok(listener) => Self::join_on(config, listener),
            Err(cause) => Err(JoinError::Listen { address, cause }),
        }
    }

    /// Takes part on a listener that is bound already, for example to a port that the system chose.
    /// The others must be told its address; the configured one is not used.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`JoinError::Listener`] when the listener has no address.
    #[allow(clippy::needless_pass_by_value)] // the configuration belongs to the election now
    pub fn join_on(config: Config, listener: TcpListener) -> Result<Self, JoinError> {
        let address = listener.local_addr().map_err(JoinError::Listener)?;
        let core = Node::<Recommended>::new(config.settings().clone(), None, rand::random())?;
        let (publisher, leadership) = Publisher::new(config.node());
        let ignored = Arc::new(AtomicU64::new(0));
        let incarnation = incarnation();
        let hello = Hello {
            cluster: config.cluster().clone(),
            protocol: Recommended::NAME.to_owned(),
            node: config.node(),
            incarnation,
        };
        let links = Links::new(&config);
        let report = reporter(hello.clone(), &leadership, &links, &ignored);
        let lifetime = Recommended::message_lifetime(config.settings());
        let (connections, arrivals) =
            transport::start(hello, lifetime, &links, listener, Box::new(report));
        tracing::info!(node = %config.node(), incarnation, %address, "taking part in elections");
        let clock = Clock;
        let actor = Actor { core, links, publisher, ignored, incarnation, clock, wake: None };
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut connections = connections;
            actor.run(arrivals, stopped).await;
            connections.shutdown().await;
        });
        Ok(Self { leadership, address, task, stop: stop.drop_guard() })
    }

    /// The latest value of who leads. `changed` on it waits for the next one, and fails once this
    /// node takes part no longer; the last value then names no leader.
    #[must_use]
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.clone()
    }

    /// Who leads, now and whenever it changes, as a stream that skips what is out of date by the
    /// time it is asked for. It ends when this node takes part no longer.
    pub fn changes(&self) -> impl Stream<Item = Leadership> + Send + Unpin + use<> {
        WatchStream::new(self.leadership())
    }

    /// Where the node listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes part no longer, and returns when the port is free again.
    ///
    /// The others notice by its silence: if it led, they elect another after the watch time-out.
    pub async fn leave(self) {
        drop(self.stop);
        // A task that panicked has left, too; the runtime has printed why.
        let _ = self.task.await;
    }
}

/// Which run of the node this is. Two processes that started within a nanosecond on clocks that
/// agree would have the same one; nothing worse follows than a less clear message.
fn incarnation() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// What answers those who ask how the node is.
fn reporter<M: Send + Sync + Copy + 'static>(
    hello: Hello,
    leadership: &watch::Receiver<Leadership>,
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
            incarnation: hello.incarnation,
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
            },
        }
    }
}
