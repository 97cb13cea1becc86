//! How a node begins to take part, and ends: what all of its groups share, what each of them has,
//! and its tasks.

use std::any::Any;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;
use futures::future::{self, BoxFuture, OptionFuture, join_all};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::actor::{self, NodeLoop};
use super::commands::{self, CommandRequest};
use super::commit::{Disk, GroupCommit};
use super::guard::LeaseWriter;
use super::handle::Handle;
use super::leader_alarm::Eligibility;
use super::leadership::Publisher;
use super::lists::MembershipChange;
use super::observed::{Observed, watch_expiries};
use super::standing::{Keeper, LocalFacts};
use super::trace::Trace;
use super::{CLOSED_WITHIN, DurableState, Election, JoinError, known, open};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{self, Config, Current, Runnable, StoreAccess};
use crate::files;
use crate::member::{Member, Setup};
use crate::protocol::quorum::Lists;
use crate::protocol::{Core, Node};
use crate::report::StoreView;
use crate::storage::StorageError;
use crate::store::STORE;
use crate::store_client::StoreClient;
use crate::transport::frame::Hello;
use crate::transport::incoming::Inboxes;
use crate::transport::outbox::Mailbox;
use crate::transport::{self, Limits, Links, Reports};

/// How many elections a node may be without a leader before that is a problem.
const ELECTIONS: u32 = 3;

/// A node that is about to take part.
pub(super) struct Joining<C: Runnable> {
    pub(super) config: Config<C>,
    pub(super) listener: Option<TcpListener>,
    /// What keeps durable state, if the configuration does not say that.
    pub(super) store: DurableState<C>,
    pub(super) prepares: bool,
}

macro_rules! registry {
    ($($core:ty),+ $(,)?) => {
        /// Does the same as [`start`], for an `Option` of [`Joining`] with one of the protocols.
        /// None of them is a parameter, so the member and its driver are compiled with the library,
        /// and not with each program that joins.
        pub(super) fn join(joining: &mut dyn Any) -> Result<Election, JoinError> {
            $(if let Some(joining) = joining.downcast_mut::<Option<Joining<$core>>>() {
                return joining.take().map_or_else(|| unreachable!("it joins once"), start);
            })+
            unreachable!("every protocol is registered")
        }
    };
}

crate::for_each_core!(registry);

/// Takes part in each election of the configuration.
pub(super) fn start<C: Runnable>(joining: Joining<C>) -> Result<Election, JoinError> {
    let Joining { config, listener, store, prepares } = joining;
    let others = config.addresses().count().saturating_sub(1);
    files::reserve(others).map_err(|(limit, needed)| JoinError::Files { limit, needed })?;
    let mut store = if store.is_some() { store } else { open(&config)? };
    let states = match &mut store {
        Some(store) => store.load()?,
        None => vec![None; config.elections()],
    };
    let states = known::by_file(&config, known::of_new_cluster(&config, states)?);
    let (ref config, known) = known::with_lists(config, &states)?;
    let address = listener.as_ref().map(TcpListener::local_addr).transpose();
    let address = address.map_err(JoinError::Listener)?;
    let credentials = Current::new(config.credentials()?);
    let node = |(number, state)| known::start(config, number, Option::clone(state));
    let nodes: Vec<_> = states.iter().enumerate().map(node).collect::<Result<_, _>>()?;
    let setup = setup(config, store.is_some(), prepares)?;
    let hello = hello(config, incarnation());
    let (mut trace, written) = Trace::of(config, &nodes, &hello, SystemClock.now())?.unzip();
    let stores = stores(config, setup.lifetime)?;
    let mailboxes = stores.iter().map(|(_, mailbox)| Arc::clone(mailbox)).collect();
    let links = links(config, &known, setup.lifetime).with_stores(mailboxes);
    let facts = LocalFacts::open(config, &links, known.mark)?;
    let (commit, released) = store.map(|store| GroupCommit::new(store, states)).unzip();
    let common = Common {
        config,
        facts: facts.clone(),
        known,
        links,
        commit,
        credentials: credentials.clone(),
        hello: hello.clone(),
        setup,
    };
    // If there is a trace, there is one group.
    let group = |(number, node)| common.group(number, node, trace.take());
    let groups: Vec<_> = nodes.into_iter().enumerate().map(group).collect();
    let limits = Limits::new(config.network_timeout());
    let (inboxes, arrivals) = Inboxes::new(groups.len());
    // One start of the process: a copy of the machine has another.
    let own = config.holder(rand::random())?;
    let clients = stores.into_iter().zip(inboxes.each()).map(|((store, mailbox), inbox)| {
        StoreClient::new(store, own.clone(), mailbox, inbox.clone()).run().boxed()
    });
    let clients: Vec<_> = clients.collect();
    let reports = reports(&groups);
    let (proof, links) = (credentials.clone(), &common.links);
    let mut connections = transport::start(hello, proof, limits, links, listener, reports, inboxes);
    clients.into_iter().for_each(|client| drop(connections.spawn(client)));
    connections.spawn(watch(config, &groups, &credentials));
    let handles = groups.iter().map(|group| group.handle.clone()).collect();
    connections.spawn(Keeper::new(config, handles).run().boxed());
    log_start(config, common.hello.incarnation, address);
    let stop = CancellationToken::new();
    let (groups, loops): (_, Vec<Loop>) = groups
        .into_iter()
        .zip(arrivals)
        .map(|(group, arrivals)| {
            let runs = group.node_loop.run(arrivals, group.commands, stop.clone());
            ((group.name, group.handle), runs.instrument(group.span).boxed())
        })
        .unzip();
    // Boxed, as all that is spawned for one protocol: a task of its own kind for each of them
    // would be a quarter of the program.
    let (node, told) = (config.node().get(), stop.clone());
    let tasks = async move {
        let result = take_part(node, loops, connections, told).await;
        let closed =
            released.map(|mut held| timeout(CLOSED_WITHIN, async move { held.recv().await }));
        let written = written.map(|written| timeout(CLOSED_WITHIN, written));
        tokio::join!(facts.close(), OptionFuture::from(closed), OptionFuture::from(written));
        result
    };
    let (task, stop) = (Some(tokio::spawn(tasks.boxed())), Some(stop.drop_guard()));
    Ok(Election { groups, address, task, stop })
}

/// A store of the lease of one group, and what is on its way there.
type StoreOf<M> = (StoreAccess<M>, Arc<Mailbox<M>>);

fn stores<C: Runnable>(
    config: &Config<C>,
    lifetime: Duration,
) -> Result<Vec<StoreOf<C::Message>>, JoinError> {
    let mailbox = |store: StoreAccess<C::Message>| {
        let view = StoreView::new(store.address.clone(), store.settings.name.clone());
        let mailbox = Arc::new(Mailbox::new(STORE, view, lifetime, Arc::new(SystemClock)));
        (store, mailbox)
    };
    Ok(config.stores()?.into_iter().map(mailbox).collect())
}

/// What the groups of a node share.
struct Common<'a, C: Runnable> {
    config: &'a Config<C>,
    links: Links<C::Message>,
    facts: LocalFacts,
    /// The lists of members that the node knows when it starts.
    known: Lists,
    commit: Option<GroupCommit<C::Durable>>,
    credentials: Current,
    hello: Hello,
    setup: Setup,
}

/// Where the steps of a node are written.
type TraceOf<C> = Trace<<C as Core>::Durable, <C as Core>::Message>;

/// A group before its loop begins.
struct Group<C: Runnable> {
    /// Empty if it is the only election.
    name: String,
    node_loop: NodeLoop<C, SystemClock>,
    commands: mpsc::Receiver<CommandRequest>,
    handle: Handle,
    span: tracing::Span,
}

impl<C: Runnable> Common<'_, C> {
    /// The group with this number, in which the node is this one, and where its steps are written.
    fn group(&self, number: usize, node: Node<C>, trace: Option<TraceOf<C>>) -> Group<C> {
        let Self { config, links, facts, known, commit, credentials, hello, setup } = self;
        let clock = SystemClock;
        let (publisher, leadership, history) = Publisher::new(config.node());
        let (lease_writer, leases) = LeaseWriter::new(config.node(), clock, setup.silence);
        // A configuration has at most 2048 groups.
        let links = links.clone().for_group(u16::try_from(number).unwrap_or(u16::MAX));
        let (commands, queue) = commands::channel();
        let (lists, lists_end) =
            MembershipChange::new(config, known::of_group(config, &node, known));
        let (preparation, requests) = watch::channel(None);
        let election = C::typical_election(config.core());
        let seen = Arc::new(Observed {
            hello: hello.clone(),
            start: Instant::now(),
            leadership,
            history,
            leases,
            lists,
            eligibility: Eligibility::default(),
            maintained: AtomicBool::default(),
            longest_leaderless: election * ELECTIONS,
            majority: C::TWO_LEADERS.is_none(),
            ignored: AtomicU64::default(),
            stalled: AtomicBool::default(),
            syncs: commit.as_ref().map(|commit| Arc::clone(&commit.times)).unwrap_or_default(),
            store: links.store_views(),
            credentials: credentials.clone(),
        });
        let (reported, reported_links) = (Arc::clone(&seen), links.clone());
        let measured = links.clone();
        let handle = Handle {
            seen: Arc::clone(&seen),
            commands,
            requests,
            report: Arc::new(move || reported.report(&reported_links)),
            measured_links: Arc::new(move || measured.measurements()),
            without_lease: C::shortest_lease(config.core()).is_none().then_some(C::NAME),
            election,
            facts: facts.clone(),
        };
        let node_loop = NodeLoop {
            member: Member::new(node, setup, clock.now()),
            links,
            lists: lists_end,
            disk: Disk::of(commit.clone(), number),
            publisher,
            lease_writer,
            preparation,
            seen,
            clock,
            cuts_off: None,
            tickets: 0,
            replies: BTreeMap::new(),
            end: None,
            trace,
        };
        let name = config.groups().get(number).map(ToString::to_string).unwrap_or_default();
        // On the highest level, so that every line has the name, whatever is logged.
        let span = match name.as_str() {
            "" => tracing::Span::none(),
            group => tracing::error_span!("election", %group),
        };
        Group { name, node_loop, commands: queue, handle, span }
    }
}

/// The links to the other members.
fn links<C: Runnable>(config: &Config<C>, known: &Lists, lifetime: Duration) -> Links<C::Message> {
    let others = config.addresses().filter(|&(id, _)| id != config.node());
    let links = Links::new(config.elections(), others, lifetime, SystemClock);
    if known.each().any(|list| list.contains(config.node())) {
        links.set_members(actor::peers(known, config.node()));
    }
    if config.suspects_refused() { links } else { links.without_presence() }
}

/// What says how the node is, for those that ask at the port of the nodes.
fn reports<C: Runnable>(groups: &[Group<C>]) -> Reports {
    let report = |group: &Group<C>| (group.name.clone(), Arc::clone(&group.handle.report));
    let watches: Vec<_> = groups.iter().map(|group| group.handle.leadership()).collect();
    let leads = Box::new(move || watches.iter().any(|watch| watch.now().is_self()));
    Reports { groups: groups.iter().map(report).collect(), leads }
}

/// Says in the log when a group has no leader for too long, and which certificates expire.
fn watch<C: Runnable>(
    config: &Config<C>,
    groups: &[Group<C>],
    credentials: &Current,
) -> BoxFuture<'static, ()> {
    let watched = |group: &Group<C>| {
        let handle = group.handle.clone();
        let watch = async move { handle.seen.watch_leader(&*handle.report).await };
        watch.instrument(group.span.clone())
    };
    let led = join_all(groups.iter().map(watched));
    future::join(led, watch_expiries(config.node(), credentials.watch())).map(drop).boxed()
}

/// What the node says of itself to others.
fn hello<C: Runnable>(config: &Config<C>, incarnation: u64) -> Hello {
    let (cluster, protocol) = (config.cluster().clone(), C::NAME.to_owned());
    let node = config.node();
    let (digests, leases) = (config.digests(), C::terms(config.core()));
    let groups = config.groups_digest();
    let members = Some(config.members_digest());
    Hello { cluster, protocol, node, incarnation, digests, members, leases, groups }
}

/// Says in the log that the node takes part, and what its configuration risks.
fn log_start<C: Runnable>(config: &Config<C>, incarnation: u64, address: Option<SocketAddr>) {
    let address = address.map(tracing::field::display);
    let (node, protocol) = (config.node().get(), C::NAME);
    let config_epoch = config.config_epoch();
    let groups = Some(config.groups().len()).filter(|&groups| groups > 0);
    let directory = config.directory().ok().flatten().map(|path| path.display().to_string());
    tracing::info!(
        node,
        label = config.label(),
        protocol,
        incarnation,
        config_epoch,
        groups,
        directory,
        address,
        "taking part in elections"
    );
    let warnings = config::warning::<C>(config.section()).into_iter();
    let warnings = warnings.chain(config.store_warning()).chain(config.security_warning());
    for warning in warnings {
        tracing::warn!(node, protocol, "{warning}");
    }
}

/// What each member is told before it starts. With detectors, a leader may do nothing for no longer
/// than a few of their heartbeats.
fn setup<C: Runnable>(
    config: &Config<C>,
    stores: bool,
    prepares: bool,
) -> Result<Setup, JoinError> {
    let mut setup = Setup::of::<C>(config.core(), config.members().count());
    (setup.stores, setup.prepares) = (stores, prepares);
    // What many leaders say goes out together.
    setup.aligned = config.elections() > 1;
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

/// The loop around the member of one group, until it ends.
type Loop = BoxFuture<'static, Result<(), StorageError>>;

/// Lets a node take part until it is told to stop, has to, or has lost a link.
async fn take_part(
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
        match ended.map_err(tokio::task::JoinError::try_into_panic) {
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
