//! Messages between nodes, over TCP. Carries them; does not know what they mean.
//!
//! Every node keeps one connection to every other and speaks on it; it hears on those that others
//! opened. A connection says nothing before both sides have shaken hands: they speak the same
//! version, have [proved](handshake) that they belong together, and are of the same cluster and
//! protocol, with the id that was expected, and no lease of one could outlast a promise of the
//! other. What is wrong with a connection ends that connection, with one line in the log that names
//! the remedy, and nothing else.
//!
//! A message that is sent arrives at most once, in the order of sending while a connection lasts,
//! or not at all. A node that takes part in several elections has one set of connections for all:
//! each of them is a [group](incoming::Inboxes), with a number, and what several say at one moment
//! is sent together. Limits: see [`outbox`] for messages that wait, [`frame`] for sizes,
//! [`pending`] for the number of connections, and [`Limits`] for times. What a node knows of another
//! one is a [`peer`], a state machine without I/O; around it is the [`link`] to the peer, which says
//! in the log when it breaks and when it heals. Peers come and go while the node runs.

mod cause;
pub(crate) mod channel;
pub(crate) mod connect;
pub(crate) mod facts;
pub(crate) mod frame;
pub(crate) mod handshake;
pub(crate) mod incoming;
pub(crate) mod limiter;
mod link;
pub(crate) mod outbox;
mod outgoing;
mod peer;
pub(crate) mod pending;
mod seal;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use self::facts::ClusterFacts;
use self::frame::{Frame, Hello, Refusal, Reply};
use self::incoming::Inboxes;
use self::limiter::{LogLimiter, Source};
use self::link::{PeerLink, Peers};
use self::outbox::Mailbox;
use self::peer::News;
use crate::clock::Clock;
use crate::config::{Address, Current, Mode};
use crate::protocol::NodeId;
use crate::protocol::quorum::Mark;
use crate::report::{
    GroupReport, GroupsReport, Link, LinkMeasurements, MemberReport, StatusReport, StoreView,
};
use crate::trace::Sent;

/// How often a leader looks whether it is alone.
const LOOK: Duration = Duration::from_secs(1);

/// How many links that are down are described when this node itself leads no longer.
const DESCRIBED: usize = 3;

/// How long what a connection needs may take. Everything follows from one length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Until a connection stands; and how long what was sent may stay unacknowledged.
    pub(crate) step: Duration,
    /// For a whole handshake: three times there and back.
    pub(crate) handshake: Duration,
    /// How long a process may take to say that it is there, when another says it is the same node.
    pub(crate) probe: Duration,
    /// How long a node that is called may take to find out whether the caller is a double.
    pub(crate) admission: Duration,
    /// How long a node that has nothing to say is silent before it says that, and how long it takes
    /// from one ping to the next, whatever else it says.
    pub(crate) quiet: Duration,
    /// How long a connection may be silent.
    pub(crate) idle: Duration,
    /// For each peer, at least this long passes from one ping to the next.
    pub(crate) each: Duration,
}

impl Limits {
    /// A node that has nothing to say says so no more often.
    const QUIET: Duration = Duration::from_secs(5);
    /// And to all of its peers together no more often than this.
    const EACH: Duration = Duration::from_millis(250);
    /// What an admission may take besides its question, on a machine that is busy.
    const SLACK: Duration = Duration::from_secs(1);

    /// For a node with few peers.
    pub(crate) fn new(step: Duration) -> Self {
        let quiet = step.max(Self::QUIET);
        let handshake = step * 3;
        let probe = step + handshake;
        let (admission, idle, each) = (probe + Self::SLACK, quiet * 3, Self::EACH);
        Self { step, handshake, probe, admission, quiet, idle, each }
    }

    /// The same with so many peers. While a list changes, one end of a connection may have the
    /// times of the list before: `idle` leaves room for three times as many members.
    fn among(self, peers: usize) -> Self {
        let all = self.each * u32::try_from(peers).unwrap_or(u32::MAX);
        let quiet = self.quiet.max(all);
        Self { quiet, idle: self.idle.max(quiet * 3), ..self }
    }
}

/// What says how a node is, in one group.
pub(crate) type Report = Arc<dyn Fn() -> StatusReport + Send + Sync>;

/// What says how a node is in each of its groups.
pub(crate) struct Reports {
    /// By the name of the group, which is empty if there is one election.
    pub(crate) groups: BTreeMap<String, Report>,
    /// Whether the node leads in any of them.
    pub(crate) leads: Box<dyn Fn() -> bool + Send + Sync>,
}

/// What all connections of a node share.
struct Context<M> {
    hello: Hello,
    credentials: Current,
    limits: Limits,
    links: Links<M>,
    limiter: LogLimiter,
    reports: Reports,
}

impl<M> Context<M> {
    /// How long the peers may take, as many as they are now.
    fn limits(&self) -> Limits {
        self.limits.among(self.links.peers.now().len())
    }

    /// What a node says of itself that was called. Without credentials any process may be on
    /// the other side, and needs no more than that.
    fn own_hello(&self) -> Hello {
        let incarnation = self.authenticates().then_some(self.hello.incarnation);
        Hello { incarnation: incarnation.unwrap_or_default(), ..self.hello_now() }
    }

    /// What a node says of itself now: its list of members may be the first one no longer.
    fn hello_now(&self) -> Hello {
        let is_first = self.links.cluster.own().mark == Mark::FIRST;
        let members = self.hello.members.filter(|_| is_first);
        Hello { members, ..self.hello.clone() }
    }

    /// How this node is; or, if it has groups, which node leads each, as this one sees it.
    fn status(&self) -> Reply {
        if let Some(report) = self.reports.groups.get("") {
            return self.told(report());
        }
        let told = |(name, report): (&String, &Report)| {
            let StatusReport { role, leader, epoch, .. } = report();
            GroupReport { name: name.clone(), role, leader, epoch }
        };
        let Hello { cluster, protocol, node, .. } = self.hello.clone();
        let groups = self.reports.groups.iter().map(told).collect();
        Reply::Groups(Box::new(GroupsReport { cluster, protocol, node, groups }))
    }

    /// How this node is in the group with this name.
    fn group_status(&self, name: String) -> Reply {
        match self.reports.groups.get(&name).filter(|_| !name.is_empty()) {
            Some(report) => self.told(report()),
            None => Reply::Refused(Refusal::UnknownGroup(name)),
        }
    }

    /// What of a status is told.
    fn told(&self, report: StatusReport) -> Reply {
        let incarnation = report.incarnation.filter(|_| self.authenticates());
        Reply::Status(Box::new(StatusReport { incarnation, ..report }))
    }

    /// Whether all that gets as far as to ask has proved itself.
    fn authenticates(&self) -> bool {
        self.credentials.now().mode() != Mode::Plain
    }

    /// Logs what is wrong with a connection from outside, once for each machine.
    fn warn(&self, remote: SocketAddr, text: &str) {
        let node = self.hello.node.get();
        if self.admits_line(Source::Stranger(remote.ip()), text) {
            tracing::warn!(node, %remote, "{text}");
        } else {
            tracing::debug!(node, %remote, "{text}");
        }
    }

    /// Logs that the system has nothing left for another connection: once, not at each attempt.
    fn cannot_accept(&self, error: &std::io::Error) {
        let text = format!("cannot accept a connection: {error}");
        if self.admits_line(Source::System, &text) {
            tracing::warn!(node = self.hello.node.get(), "{text}");
        }
    }

    /// Logs what has become of the link to a peer, if that is news.
    fn log_link(&self, peer: &PeerLink<M>, news: Option<News>) {
        let Some(news) = news else { return };
        let (node, id, address) = (self.hello.node.get(), peer.id.get(), &peer.address);
        let (News::Broken { number, .. } | News::Healed { number, .. }) = &news;
        let kind = if matches!(news, News::Broken { .. }) { "break" } else { "heal" };
        if !self.admits_line(Source::Link(peer.id), &format!("{kind} {number}")) {
            tracing::debug!(node, peer = id, "link to {id} is {news}");
            return;
        }
        match &news {
            News::Broken { error, silence, .. } => tracing::warn!(
                node, peer = id, %address, error = error.as_str(),
                heard_ms = milliseconds(*silence), "link to {id} ({address}) is {news}"
            ),
            News::Healed { down, attempts, .. } => tracing::info!(
                node, peer = id, %address, down_ms = milliseconds(*down), attempts,
                "link to {id} ({address}) is {news}"
            ),
        }
    }

    /// Whether a complaint is worth a line. If others were not, the log is told how many.
    fn admits_line(&self, source: Source, text: &str) -> bool {
        let Some(withheld) = self.limiter.admit(source, text) else { return false };
        if withheld > 0 {
            let node = self.hello.node.get();
            tracing::warn!(node, withheld, "further complaints about connections were withheld");
        }
        true
    }
}

/// The state of the connections: what a group sends through, and what to report.
#[derive(Clone)]
pub(crate) struct Links<M> {
    peers: Arc<Peers<M>>,
    /// Whether a peer may be taken for gone.
    presence: bool,
    /// The mailboxes of the stores that answer in place of a node: one for each group, or none.
    stores: Arc<[Arc<Mailbox<M>>]>,
    /// The number of the group.
    group: u16,
    /// What the nodes say of themselves.
    pub(crate) cluster: ClusterFacts,
}

impl<M> Links<M> {
    /// The links to the `others` of a node with so many groups; those of the first one. A message
    /// is worth sending for as long as `lifetime`.
    pub(crate) fn new<'a>(
        groups: usize,
        others: impl Iterator<Item = (NodeId, &'a Address)>,
        lifetime: Duration,
        clock: impl Clock,
    ) -> Self {
        let peers = Arc::new(Peers::new(groups, lifetime, clock));
        peers.set(others.map(|(id, address)| (id, address.clone())).collect());
        let cluster = ClusterFacts::default();
        Self { peers, presence: true, stores: [].into(), group: 0, cluster }
    }

    /// Takes out what waits for this peer: whether a heartbeat does, and the frames.
    #[cfg(test)]
    pub(crate) fn take_waiting(&self, to: NodeId) -> (bool, Vec<Frame<M>>) {
        let peer = Arc::clone(&self.peers.now()[&to]);
        let (mut state, now) = (peer.state(), peer.now());
        let beats = std::mem::take(&mut state.due.beat);
        (beats, std::iter::from_fn(|| state.another(now)).collect())
    }

    /// The peers are these from now on. One that stays, at the same address, keeps its connections.
    pub(crate) fn set_members(&self, others: impl IntoIterator<Item = (NodeId, Address)>) {
        for peer in self.peers.set(others.into_iter().collect()) {
            self.cluster.forget(peer.id);
        }
    }

    /// The same connections, for the group with this number.
    pub(crate) fn for_group(self, group: u16) -> Self {
        Self { group, ..self }
    }

    /// The same, for a node whose groups each ask a store through one of these mailboxes, if there
    /// are any.
    pub(crate) fn with_stores(self, stores: Vec<Arc<Mailbox<M>>>) -> Self {
        Self { stores: stores.into(), ..self }
    }

    fn store(&self) -> Option<&Arc<Mailbox<M>>> {
        self.stores.get(usize::from(self.group))
    }

    /// Returns the store that the group asks, as it is now and whenever that changes; `None` if the
    /// group asks none.
    pub(crate) fn store_views(&self) -> Option<watch::Receiver<StoreView>> {
        self.store().map(|store| store.view.subscribe())
    }

    /// Returns that store as it is now.
    pub(crate) fn store_view(&self) -> Option<StoreView> {
        self.store().map(|store| store.view.borrow().clone())
    }

    /// The same, for a node that takes no peer for gone.
    pub(crate) fn without_presence(self) -> Self {
        Self { presence: false, ..self }
    }

    /// Returns when a peer may be gone that was there before.
    pub(crate) async fn peer_gone(&self) {
        match self.peers.gone.get(usize::from(self.group)).filter(|_| self.presence) {
            Some(gone) => gone.notified().await,
            None => std::future::pending().await,
        }
    }

    /// The peers whose processes are gone, as far as this node can see.
    pub(crate) fn gone(&self) -> BTreeSet<NodeId> {
        let is_gone = |peer: &&Arc<PeerLink<M>>| self.presence && peer.state().is_gone();
        self.peers.now().values().filter(is_gone).map(|peer| peer.id).collect()
    }

    /// Sends a message as soon as there is a connection, unless it is too old by then.
    pub(crate) fn send(&self, Sent { to, id, message }: Sent<M>) {
        if let Some(store) = self.store().filter(|store| store.id == to) {
            store.push(message);
        } else if let Some(peer) = self.peers.now().get(&to) {
            let frame = Frame::numbered(self.group, id, message);
            peer.owe(|peer, now| peer.outbox.push(now, frame));
        }
    }

    /// Returns when all that was sent to connected peers is with the network, and the store has got
    /// what it was sent; or after `limit`.
    pub(crate) async fn flush(&self, limit: Duration) {
        let all = async {
            if let Some(store) = self.store() {
                store.flushed().await;
            }
            for peer in self.peers.now().values() {
                peer.removed.run_until_cancelled(peer.flushed()).await;
            }
        };
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// Tells every peer to which there is a connection that this node is up. Such a frame never
    /// waits: what matters about it is when it arrives.
    pub(crate) fn heartbeat(&self) {
        self.peers.now().values().for_each(|peer| peer.owe(|peer, _| peer.due.beat = true));
    }

    /// Tells a peer that this node led when it heard that the peer did, as soon as there is a
    /// connection.
    pub(crate) fn tell_rival(&self, to: NodeId) {
        if let Some(peer) = self.peers.now().get(&to) {
            peer.owe(|peer, _| peer.due.rival = true);
        }
    }

    /// The other members, and how the connection to each is.
    pub(crate) fn report(&self, observers: &BTreeSet<NodeId>) -> Vec<MemberReport> {
        let facts = self.cluster.heard();
        let member = |peer: &Arc<PeerLink<M>>| {
            let (told, now, state) = (facts.get(&peer.id), peer.now(), peer.state());
            let (link, problem) = state.link();
            let (since, error) = state.error(now).unzip();
            MemberReport {
                node: peer.id,
                address: peer.address.clone(),
                observes: observers.contains(&peer.id),
                link,
                problem: problem.map(str::to_owned),
                heard: state.is_heard(),
                priority: told.map(|told| told.priority),
                fit: told.map(|told| told.fit),
                error: error.map(str::to_owned),
                error_ms: since.map(milliseconds),
                sent: state.sent,
                received: state.received,
                dropped: state.outbox.dropped,
            }
        };
        self.peers.now().values().map(member).collect()
    }

    /// What is measured of the link to each member.
    pub(crate) fn measurements(&self) -> Vec<LinkMeasurements> {
        let measured = |peer: &Arc<PeerLink<M>>| peer.state().measurements(peer.now(), peer.id);
        self.peers.now().values().map(measured).collect()
    }

    /// What the links say about the loss of this leader: that to it; if it is this node, those that
    /// are down. Where a store says which node leads, it is the problem of the store, if any.
    pub(crate) fn explain_loss(&self, leader: NodeId) -> String {
        if let Some(problem) = self.store_view().and_then(|store| store.problem) {
            return problem;
        }
        let tell = |peer: &Arc<PeerLink<M>>| {
            format!("link to {}: {}", peer.id, peer.state().describe(peer.now()))
        };
        let peers = self.peers.now();
        if let Some(peer) = peers.get(&leader) {
            return tell(peer);
        }
        let down: Vec<_> = peers.values().filter(|peer| !peer.state().health.up).collect();
        let mut told: Vec<String> = down.iter().copied().take(DESCRIBED).map(tell).collect();
        if down.len() > DESCRIBED {
            told.push(format!("{} more links are down", down.len() - DESCRIBED));
        }
        if told.is_empty() { "all links are up".to_owned() } else { told.join("; ") }
    }

    /// What is wrong with a node that leads, and that no other member listens to, or speaks to. One
    /// that a store lets lead needs no other.
    pub(crate) fn isolation(&self, leads: bool) -> Option<String> {
        let peers = self.peers.now();
        if !leads || peers.is_empty() || !self.stores.is_empty() {
            return None;
        }
        let mut refused = None;
        for peer in peers.values() {
            let state = peer.state();
            if state.is_heard() || state.link().0 == Link::Connected {
                return None;
            }
            if let (Link::Refused, Some(problem)) = state.link() {
                refused.get_or_insert(format!("is refused: node {}: {problem}", peer.id));
            }
        }
        let problem = refused.unwrap_or_else(|| "can neither reach nor hear any other".to_owned());
        Some(format!("this node leads, and {problem}"))
    }

    /// How many handshakes were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.peers.refused.load(Ordering::Relaxed)
    }

    /// How many frames made no sense.
    pub(crate) fn bad_frames(&self) -> u64 {
        self.peers.bad_frames.load(Ordering::Relaxed)
    }
}

/// What a peer sent.
#[derive(Clone, Debug)]
pub(crate) struct Arrival<M> {
    /// The peer.
    pub(crate) from: NodeId,
    /// Which run of it.
    pub(crate) incarnation: u64,
    /// A message, a sign of life, or that the peer is a rival.
    pub(crate) frame: Frame<M>,
}

/// Starts to listen, if the node does, and to call the peers. Frames arrive in the inbox of their
/// group; everything ends when the set of tasks is dropped.
pub(crate) fn start<M>(
    hello: Hello,
    credentials: Current,
    limits: Limits,
    links: &Links<M>,
    listener: Option<TcpListener>,
    reports: Reports,
    inboxes: Inboxes<M>,
) -> JoinSet<()>
where
    M: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
{
    let context = Arc::new(Context {
        hello,
        credentials,
        limits,
        links: links.clone(),
        limiter: LogLimiter::default(),
        reports,
    });
    let mut tasks = JoinSet::new();
    if let Some(listener) = listener {
        tasks.spawn(incoming::listen(Arc::clone(&context), listener, inboxes).boxed());
    }
    tasks.spawn(outgoing::maintain_all(Arc::clone(&context)).boxed());
    tasks.spawn(isolation(context).boxed());
    tasks
}

/// Says so when this node leads alone, and when that is over.
async fn isolation<M>(context: Arc<Context<M>>) {
    let node = context.hello.node.get();
    let mut told = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let problem = context.links.isolation((context.reports.leads)());
        match &problem {
            Some(problem) if told.is_none() => tracing::warn!(node, "{problem}"),
            None if told.is_some() => tracing::info!(node, "this node is no longer alone"),
            _ => {}
        }
        told = problem;
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Waits until one of these tasks panics, and returns what it panicked with.
pub(crate) async fn panicked(tasks: &mut JoinSet<()>) -> Box<dyn Any + Send> {
    loop {
        match tasks.join_next().await.map(|ended| ended.map_err(JoinError::try_into_panic)) {
            Some(Err(Ok(panic))) => return panic,
            Some(_) => {}
            // There is none left, and none will come while this waits.
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
