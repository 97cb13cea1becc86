//! The tokio side: takes a node into the real world, and tells the program which node leads.
//!
//! Thin on purpose: every decision is the [member](crate::member)'s. One task owns it; messages
//! reach it through a bounded queue; a program that wants to know which node leads watches the
//! latest value. Beside the clock and the links there are two ports: [storage](crate::storage) for
//! what must survive a crash, and [failure detectors](crate::detector) for the members that the
//! protocol has watched. A protocol that needs neither gets neither.

mod actor;
mod commands;
mod disk;
mod expiry;
mod fitness;
mod gate;
mod gauges;
mod guard;
mod handle;
mod health;
mod history;
mod kept;
mod leaderless;
mod leadership;
mod lists;
mod margin;
mod reporter;
mod standing;
mod work;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::actor::Actor;
use self::commands::CommandRequest;
use self::disk::Disk;
use self::gate::PreparationSender;
pub use self::gate::{Approach, Preparation};
use self::gauges::Gauges;
pub use self::guard::Guard;
use self::guard::LeaseWriter;
pub use self::handle::{Handle, LeadError};
pub use self::history::{Change, History};
use self::leaderless::LeaderTimeout;
use self::leadership::Publisher;
pub use self::leadership::{Leadership, LeadershipWatch, OwnChange, Term};
pub use self::lists::MembersError;
use self::lists::OwnLists;
use self::reporter::Reporter;
pub use self::standing::MaintenanceReport;
use self::standing::{Keeper, OwnStanding};
pub use self::work::{PANIC_PAUSE, Work};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{self, Address, Config, Credentials, Current, Runnable};
pub use crate::member::RequestError;
use crate::member::{Member, Setup};
use crate::protocol::{Core, Node};
use crate::status::StatusReport;
use crate::storage::{Directory, Storage, StorageError};
use crate::transport::frame::Hello;
use crate::transport::{self, Arrival, Limits, Links, Terms};

/// A node's part in the elections of its cluster. It ends with [`Election::leave`], or when this is
/// dropped. What can be done with it meanwhile can be done with its [`Handle`], which can be
/// cloned.
#[derive(Debug)]
pub struct Election {
    handle: Handle,
    address: SocketAddr,
    credentials: Current,
    task: Option<JoinHandle<Result<(), StorageError>>>,
    stop: DropGuard,
}

/// The reason why a node cannot take part.
#[derive(Debug, Error)]
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
    /// The listener that was handed over is unusable.
    #[error("the listener is unusable: {0}")]
    Listener(std::io::Error),
}

/// The reason why a node has stopped taking part although it was not told to leave.
#[derive(Debug, Error)]
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
    /// Listens at the configured address, and takes part in elections by the protocol `C`.
    ///
    /// # Errors
    ///
    /// [`JoinError::Listen`] when the address is taken or not this machine's, and whatever
    /// [`Election::join_on`] says.
    pub async fn join<C: Runnable>(config: Config<C>) -> Result<Self, JoinError> {
        let listener = listen(&config).await?;
        Self::join_on(config, listener)
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
    /// let (election, mut preparation) = Election::join_prepared(config).await?;
    /// while let Some(mut approach) = preparation.next().await {
    ///     tokio::select! {
    ///         mounted = mount() => match mounted {
    ///             true => approach.ready().await,
    ///             false => approach.refuse(Duration::from_secs(30)).await,
    ///         },
    ///         () = approach.withdrawn() => {}
    ///     }
    /// }
    /// # drop(election);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Election::join`].
    pub async fn join_prepared<C: Runnable>(
        config: Config<C>,
    ) -> Result<(Self, Preparation), JoinError> {
        let listener = listen(&config).await?;
        let storage = open(&config)?;
        let (commands, queue) = commands::channel();
        let (sender, preparation) = PreparationSender::new(commands.clone());
        let election = Self::start(config, listener, storage, (commands, queue), Some(sender))?;
        Ok((election, preparation))
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
        let storage = open(&config)?;
        Self::start(config, listener, storage, commands::channel(), None)
    }

    /// Does the same as [`Election::join_on`], with durable state in a storage of the caller's.
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
        Self::start(config, listener, Some(Box::new(storage)), commands::channel(), None)
    }

    #[allow(clippy::needless_pass_by_value)] // the configuration belongs to the election now
    fn start<C: Runnable>(
        config: Config<C>,
        listener: TcpListener,
        mut storage: DurableState<C>,
        (commands, queue): (mpsc::Sender<CommandRequest>, mpsc::Receiver<CommandRequest>),
        preparation: Option<PreparationSender>,
    ) -> Result<Self, JoinError> {
        let address = listener.local_addr().map_err(JoinError::Listener)?;
        let (config, kept) = lists::newest(config)?;
        let credentials = Current::new(config.credentials()?);
        let node = node(&config, &mut storage)?;
        let clock = SystemClock;
        let setup = setup(&config, storage.is_some(), preparation.is_some())?;
        let (publisher, leadership, history) = Publisher::new(config.node());
        let (lease_writer, leases) = LeaseWriter::new(config.node(), clock, setup.silence);
        let (ignored, incarnation) = (Arc::new(AtomicU64::new(0)), incarnation());
        let hello = hello(&config, incarnation);
        let links = links(&config, setup.lifetime, clock);
        let standing = OwnStanding::open(&config, &links)?;
        let lists = OwnLists::new(&config, kept, &links, &credentials);
        let (disk, leader_timeout) = (Disk::new(storage), LeaderTimeout::of(&config, clock));
        let fitness = leader_timeout.fitness.clone();
        let reporter = Reporter {
            hello: hello.clone(),
            observers: config.observers().collect(),
            witnesses: config.witnesses().collect(),
            leadership: leadership.clone(),
            leases: leases.clone(),
            links: links.clone(),
            ignored: Arc::clone(&ignored),
            stalled: disk.stalled(),
            fitness: fitness.clone(),
            lists: lists.clone(),
            leader_timeout: leader_timeout.clone(),
            credentials: credentials.clone(),
            start: Instant::now(),
        };
        let report: Report = Arc::new(move || reporter.report());
        let terms = terms(&config, credentials.clone(), setup.lifetime);
        let (mut connections, arrivals) =
            transport::start(hello, terms, &links, listener, answering(&report));
        connections.spawn(watch(&config, leader_timeout, &leadership, &report, &credentials));
        let handle = Handle {
            leadership,
            history,
            leases,
            commands,
            report,
            fitness: fitness.clone(),
            without_lease: C::shortest_lease(config.core()).is_none().then_some(C::NAME),
            incarnation,
            election: C::election_takes(config.core()),
            gauges: Gauges::new(links.clone(), disk.times()),
            standing,
            lists,
        };
        connections.spawn(Keeper::new(&config, handle.clone()).run().boxed());
        log_start(&config, incarnation, address);
        let actor = Actor {
            member: Member::new(node, &setup, clock.now()),
            links,
            disk,
            publisher,
            lease_writer,
            preparation,
            ignored,
            fitness,
            incarnation,
            clock,
            tickets: 0,
            replies: BTreeMap::new(),
            end: None,
        };
        // Boxed, as all that is spawned for one protocol: a task of its own kind for each of them
        // would be a quarter of the program.
        let stop = CancellationToken::new();
        let part = take_part(actor, handle.clone(), connections, (arrivals, queue), stop.clone());
        let (task, stop) = (Some(tokio::spawn(part.boxed())), stop.drop_guard());
        Ok(Self { handle, address, credentials, task, stop })
    }

    /// Returns a handle to this node, to be shared with other tasks.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns the address on which the node listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the credentials with which the node proves itself by these, as
    /// [`Config::credentials`](crate::Config::credentials) reads them. Connections that stand stay.
    /// Nothing happens if they are of another kind than before: that is the same on every node, and
    /// cannot change while they run.
    pub fn replace_credentials(&self, credentials: Credentials) {
        self.credentials.replace(credentials);
    }

    /// Waits until the node has stopped taking part although it was not told to leave. Returns `Ok`
    /// only when this was asked before, and answered.
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
    pub async fn leave(self) -> Result<(), Stopped> {
        let Self { task, stop, .. } = self;
        drop(stop);
        let Some(task) = task else { return Ok(()) };
        Ok(task.await.map_err(|_| Stopped::Panicked)??)
    }
}

/// Lets a node take part until it is told to stop, has to, or has lost a link.
async fn take_part<C: Core>(
    actor: Actor<C, SystemClock>,
    handle: Handle,
    mut connections: JoinSet<()>,
    (arrivals, commands): (mpsc::Receiver<Arrival<C::Message>>, mpsc::Receiver<CommandRequest>),
    stopped: CancellationToken,
) -> Result<(), StorageError> {
    let (told, node) = (stopped.clone(), actor.id());
    let result = tokio::select! {
        result = actor.run(arrivals, commands, stopped) => result,
        // Without a link the node would go on half deaf: it ends instead.
        panic = transport::panicked(&mut connections) => std::panic::resume_unwind(panic),
    };
    if result.is_ok() && !told.is_cancelled() {
        // Nothing can arrive any more: the link that listens is about to be found.
        std::panic::resume_unwind(transport::panicked(&mut connections).await);
    }
    if let Err(error) = &result {
        tracing::error!(node, "takes part no longer: {error}");
    }
    connections.shutdown().await;
    handle.close().await;
    result
}

impl Deref for Election {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

/// The node, with what it made durable before.
fn node<C: Runnable>(
    config: &Config<C>,
    storage: &mut DurableState<C>,
) -> Result<Node<C>, JoinError> {
    let durable = storage.as_mut().map(|storage| storage.load()).transpose()?.flatten();
    let node = Node::new(config.core().clone(), durable, rand::random());
    Ok(node.map_err(|error| config::Error::Contradiction(Box::new(error)))?)
}

/// The links to the other members.
fn links<C: Runnable>(
    config: &Config<C>,
    lifetime: Duration,
    clock: SystemClock,
) -> Links<C::Message> {
    let others = config.addresses().filter(|&(id, _)| id != config.node());
    let links = Links::new(others, lifetime, clock);
    if config.suspects_refused() { links } else { links.without_presence() }
}

/// On what terms the node talks to others.
fn terms<C: Runnable>(config: &Config<C>, credentials: Current, lifetime: Duration) -> Terms {
    let limits = Limits::new(config.network_timeout(), config.addresses().count() - 1);
    Terms { credentials, lifetime, limits }
}

/// What says how the node is.
type Report = Arc<dyn Fn() -> StatusReport + Send + Sync>;

/// The same, for those that ask at the port of the nodes.
fn answering(report: &Report) -> Box<dyn Fn() -> StatusReport + Send + Sync> {
    let report = Arc::clone(report);
    Box::new(move || report())
}

/// Says in the log when the node has no leader for too long, and which certificates expire.
fn watch<C: Runnable>(
    config: &Config<C>,
    leader_timeout: LeaderTimeout,
    leadership: &LeadershipWatch,
    report: &Report,
    credentials: &Current,
) -> BoxFuture<'static, ()> {
    let report = Arc::clone(report);
    let members = move || report().members;
    let led = leaderless::watch(config.node(), leader_timeout, leadership.clone(), members);
    let certified = expiry::watch(config.node(), credentials.watch());
    async move {
        tokio::join!(led, certified);
    }
    .boxed()
}

/// What the node says of itself to others.
fn hello<C: Runnable>(config: &Config<C>, incarnation: u64) -> Hello {
    let (cluster, protocol) = (config.cluster().clone(), C::NAME.to_owned());
    let (node, config_epoch) = (config.node(), config.config_epoch());
    let (digests, leases) = (config.digests(), C::terms(config.core()));
    Hello { cluster, protocol, node, incarnation, config_epoch, digests, leases }
}

/// Durable state, if the protocol has some.
type DurableState<C> = Option<Box<dyn Storage<<C as Core>::Durable>>>;

async fn listen<C: Runnable>(config: &Config<C>) -> Result<TcpListener, JoinError> {
    let address = config.listen();
    let listener = TcpListener::bind(address.as_str()).await;
    listener.map_err(|cause| JoinError::Listen { address: address.clone(), cause })
}

/// The configured directory.
fn open<C: Runnable>(config: &Config<C>) -> Result<DurableState<C>, JoinError> {
    Ok(match config.directory()? {
        Some(path) => Some(Box::new(Directory::open(path, config.owner())?)),
        None => None,
    })
}

/// Says in the log that the node takes part, and what its configuration risks.
fn log_start<C: Runnable>(config: &Config<C>, incarnation: u64, address: SocketAddr) {
    let (node, protocol) = (config.node().get(), C::NAME);
    let config_epoch = config.config_epoch();
    tracing::info!(
        node, protocol, incarnation, config_epoch, %address, "taking part in elections"
    );
    for warning in config::warning::<C>().into_iter().chain(config.security_warning()) {
        tracing::warn!(node, protocol, "{warning}");
    }
}

/// What the member is told before it starts. With detectors, a leader may do nothing for no longer
/// than a few of their heartbeats.
fn setup<C: Runnable>(
    config: &Config<C>,
    stores: bool,
    prepares: bool,
) -> Result<Setup, JoinError> {
    let mut setup = Setup::of::<C>(config.core(), config.addresses().count());
    (setup.stores, setup.prepares) = (stores, prepares);
    if C::DETECTOR {
        let watches = *config.detection();
        setup.silence = setup.silence.min(watches.heartbeat * 3);
        setup.bound = setup.silence;
        let parameters = watches.check().map_err(config::Error::from)?;
        setup.detection = Some((watches, parameters));
    }
    Ok(setup)
}

/// Which run of the node this is. Two processes that started within a nanosecond on clocks that
/// agree would have the same one; nothing worse follows than a less clear message.
fn incarnation() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
