//! What a node says of itself beside its protocol, and what follows from what the others say: a
//! leader hands over to a node with a higher priority, and no node stands for election while the
//! cluster is in maintenance.
//!
//! All of it is done by what an operator could ask of the node as well, a transfer and a freeze. So
//! nothing here can give the cluster two leaders.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::commands::Command;
use super::observed::Observed;
use super::{CLOSED_WITHIN, Handle};
use crate::config::{Config, Runnable};
use crate::member::RequestError;
use crate::protocol::NodeId;
use crate::protocol::quorum::Mark;
use crate::storage::{Directory, Owner, Storage as _, StorageError};
use crate::transport::Links;
use crate::transport::facts::{ClusterFacts, Maintenance, NodeFacts};

/// How long between two looks at what is not told.
const LOOK: Duration = Duration::from_secs(1);

/// What the log and the `problem` say in maintenance.
pub(super) const IN_MAINTENANCE: &str =
    "the cluster is in maintenance: no node stands for election until it is ended";

/// A node in maintenance does not stand for election for so long. It is asked again before that is
/// over.
pub(super) const FROZEN: Duration = Duration::from_secs(365 * 24 * 3_600);

/// How long a freeze lasts that ends the one before.
const AT_ONCE: Duration = Duration::from_millis(1);

/// How long the others have to say that they know a decision.
const HEARD_WITHIN: Duration = Duration::from_secs(2);

/// How many times longer than [`Config::preempt_delay`] a leader waits at most that could not hand
/// over.
const LONGEST_BACKOFF: u32 = 64;

/// The name of the directory below that of the node in which the decision is kept.
const DIRECTORY: &str = "maintenance";

/// The members that know a decision on [maintenance](Handle::set_maintenance), and those that do
/// not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// Whether the cluster is in maintenance, as these members know.
    pub maintenance: bool,
    /// The members that know, ascending; the node that was asked is among them.
    pub known: Vec<NodeId>,
    /// The other members, ascending. Each learns of the decision when it is connected to one that
    /// knows.
    pub missing: Vec<NodeId>,
}

/// What a node says of itself, for its handles. A clone is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct LocalFacts {
    pub(super) cluster: ClusterFacts,
    /// Where the decision is kept.
    kept: PersistedValue,
    /// Held while one is taken.
    turn: Arc<Mutex<()>>,
    /// Whether the node has groups: of none of them alone is anything told.
    grouped: bool,
    /// The protocol, if its nodes serve no requests.
    without_requests: Option<&'static str>,
}

impl LocalFacts {
    /// Of a node with these links, whose lists of members have this mark. Reads the decision that
    /// it knew last.
    pub(super) fn open<C: Runnable>(
        config: &Config<C>,
        links: &Links<C::Message>,
        mark: Mark,
    ) -> Result<Self, StorageError> {
        let path = config.directory().ok().flatten().filter(|_| C::REQUESTS);
        let opened = path.map(|path| PersistedValue::open(path, config.owner())).transpose()?;
        let (kept, maintenance) = opened.unwrap_or_default();
        let maintenance = maintenance.unwrap_or_default();
        let (cluster, priority) = (links.cluster.clone(), config.priority());
        cluster
            .change(|own| *own = NodeFacts { priority, fit: true, maintenance, mark, votes: true });
        let grouped = !config.groups().is_empty();
        let without_requests = (!C::REQUESTS).then_some(C::NAME);
        let turn = Arc::default();
        Ok(Self { cluster, kept, turn, grouped, without_requests })
    }

    /// Closes what is kept.
    pub(super) async fn close(&self) {
        self.kept.close().await;
    }

    /// Takes a decision if it is newer than what is known: durably, before anything follows from
    /// it. Returns the one that counts.
    async fn take(&self, handle: &Handle, new: Maintenance) -> Maintenance {
        let _turn = self.turn.lock().await;
        let known = self.cluster.own().maintenance;
        if new <= known {
            return known;
        }
        let node = handle.leadership().now().node.get();
        if let Err(error) = self.kept.save(new).await {
            tracing::error!(
                node,
                "whether the cluster is in maintenance is forgotten in a restart: {error}"
            );
        }
        self.cluster.change(|own| own.maintenance = new);
        if new.on {
            tracing::warn!(node, "{IN_MAINTENANCE}");
        } else {
            tracing::info!(node, "the maintenance of the cluster is ended");
        }
        handle.keep_to_maintenance().await;
        new
    }
}

impl Handle {
    /// Returns the priority of this node: see [`Config::priority`](crate::Config::priority).
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.facts.cluster.own().priority
    }

    /// Gives this node another priority, until it starts anew.
    pub fn set_priority(&self, priority: u8) {
        self.facts.cluster.change(|own| own.priority = priority);
    }

    /// Returns whether the cluster is in maintenance, as far as this node knows.
    #[must_use]
    pub fn in_maintenance(&self) -> bool {
        self.facts.cluster.own().maintenance.on
    }

    /// Begins or ends the maintenance of the whole cluster. While it lasts, no node stands for
    /// election: the leader leads on, and if it is lost, none takes over until the maintenance is
    /// ended. Each node remembers it through restarts, and tells all others that it is connected
    /// to, now and later. Returns when all have said that they know, or after two seconds.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn set_maintenance(&self, on: bool) -> Result<MaintenanceReport, RequestError> {
        let facts = &self.facts;
        if let Some(protocol) = facts.without_requests {
            return Err(RequestError::Unsupported { protocol });
        }
        // A node that takes part no longer does not decide either.
        self.send_command(Command::Ping).await?;
        let decision = facts.take(self, facts.cluster.own().maintenance.decide(on)).await;
        let node = self.seen.hello.node;
        let members = self.seen.lists.now().latest().clone();
        let others: Vec<_> = members.iter().filter(|&id| id != node).collect();
        let knows = |heard: &BTreeMap<NodeId, NodeFacts>, node: &NodeId| {
            heard.get(node).is_some_and(|other| other.maintenance >= decision)
        };
        let mut news = facts.cluster.news();
        let all = news.wait_for(|heard| others.iter().all(|node| knows(heard, node)));
        let _ = timeout(HEARD_WITHIN, all).await;
        let heard = facts.cluster.heard();
        let (mut known, missing): (Vec<_>, _) =
            others.into_iter().partition(|node| knows(&heard, node));
        known.push(node);
        known.sort_unstable();
        Ok(MaintenanceReport { maintenance: decision.on, known, missing })
    }

    /// Keeps this node from standing for election in maintenance, and lets it do so after it.
    async fn keep_to_maintenance(&self) {
        let on = self.in_maintenance();
        let was = self.seen.maintained.swap(on, Ordering::Relaxed);
        // What was asked of it meanwhile may last for a shorter time.
        let is_frozen = self.seen.frozen() > FROZEN / 2;
        if on != was || (on && !is_frozen) {
            // A node that has ended does not stand for election.
            let _ = self.freeze(if on { FROZEN } else { AT_ONCE }).await;
        }
    }

    /// Tells the others whether this node is fit to lead.
    pub(super) fn tell_fitness(&self) {
        let Observed { eligibility, leases, .. } = &*self.seen;
        let fit = self.facts.grouped || eligibility.unfit(leases.now()).is_none();
        self.facts.cluster.change(|own| own.fit = fit);
    }
}

/// Does what follows from what the others say, until the node takes part no longer.
pub(super) struct Keeper {
    /// Of the node in each group.
    handles: Vec<Handle>,
    /// How long a node must be preferred before the leader hands over to it.
    delay: Duration,
    /// Whether a leader hands over to a node that is preferred.
    prefers: bool,
    /// The node that is preferred, and since when.
    preferred: Option<(NodeId, Instant)>,
    /// How many attempts have failed, and when the next may be made.
    failed: (u32, Instant),
}

impl Keeper {
    /// Of the node in each of its groups: at least one.
    pub(super) fn new<C: Runnable>(config: &Config<C>, handles: Vec<Handle>) -> Self {
        let prefers = config.groups().is_empty() && C::prefers_by_priority(config.core());
        let (delay, preferred) = (config.preempt_delay(), None);
        Self { handles, delay, prefers, preferred, failed: (0, Instant::now()) }
    }

    pub(super) async fn run(mut self) {
        let cluster = self.handles[0].facts.cluster.clone();
        if cluster.own().maintenance.on {
            let node = self.handles[0].seen.hello.node.get();
            tracing::warn!(node, "{IN_MAINTENANCE}");
        }
        let (mut news, mut own) = (cluster.news(), cluster.changes());
        loop {
            tokio::select! {
                Ok(()) = news.changed() => {}
                Ok(()) = own.changed() => {}
                () = sleep(LOOK) => {}
            }
            self.keep_maintenance().await;
            self.tell_lists();
            self.handles[0].tell_fitness();
            self.prefer().await;
        }
    }

    /// Members with older lists are told: one that observes may know no leader by them.
    fn tell_lists(&self) {
        let Handle { facts, seen, .. } = &self.handles[0];
        let own = facts.cluster.own().mark;
        let behind = facts.cluster.heard().into_iter().filter(|(_, other)| other.mark < own);
        behind.for_each(|(node, _)| seen.lists.tell(node));
    }

    /// Learns of a decision that another node knows; and if this node was asked something else
    /// meanwhile, it does not stand for election all the same.
    async fn keep_maintenance(&self) {
        let facts = &self.handles[0].facts;
        let newest = facts.cluster.heard().values().map(|other| other.maintenance).max();
        if let Some(newest) = newest {
            facts.take(&self.handles[0], newest).await;
        }
        for handle in &self.handles {
            handle.keep_to_maintenance().await;
        }
    }

    /// Hands over to a node that has been preferred for long enough.
    async fn prefer(&mut self) {
        let (Handle { facts, seen, .. }, now) = (&self.handles[0], Instant::now());
        let leadership = seen.leadership.now();
        let (own, heard) = (facts.cluster.own(), facts.cluster.heard());
        let members = seen.lists.now();
        let better = heard.iter().filter(|&(&id, other)| {
            let may_lead = self.prefers && members.latest().may_lead(id);
            may_lead && other.fit && other.priority > own.priority
        });
        let best = better.max_by_key(|&(&id, other)| (other.priority, id)).map(|(&id, _)| id);
        let Some(best) = best.filter(|_| leadership.is_self() && !own.maintenance.on) else {
            self.preferred = None;
            return;
        };
        let since = match self.preferred {
            Some((preferred, since)) if preferred == best => since,
            _ => now,
        };
        self.preferred = Some((best, since));
        let led = leadership.since.elapsed() >= self.delay;
        if !led || now.duration_since(since) < self.delay || now < self.failed.1 {
            return;
        }
        let (node, priority) = (leadership.node.get(), own.priority);
        let peer = best.get();
        tracing::info!(
            node,
            peer,
            priority,
            "hands over to node {peer}, which has a higher priority"
        );
        match self.handles[0].transfer(best).await {
            Ok(_) => self.failed = (0, Instant::now()),
            Err(error) => {
                let times = 2_u32.saturating_pow(self.failed.0).min(LONGEST_BACKOFF);
                let wait = self.delay.max(LOOK) * times;
                self.failed = (self.failed.0.saturating_add(1), Instant::now() + wait);
                tracing::warn!(node, peer, "node {peer} has not taken over: {error}");
            }
        }
    }
}

/// A value that a node remembers through restarts beside the state of its protocol, in a directory
/// of its own below that of the node. A clone is the same.
#[derive(Clone, Debug, Default)]
struct PersistedValue(Arc<Mutex<Option<Directory<Maintenance>>>>);

impl PersistedValue {
    /// Opens the directory below that of a node, and reads what was saved last.
    fn open(node: &Path, owner: Owner) -> Result<(Self, Option<Maintenance>), StorageError> {
        let mut directory = Directory::open(&node.join(DIRECTORY), owner)?;
        let value = directory.load()?;
        Ok((Self(Arc::new(Mutex::new(Some(directory)))), value))
    }

    /// Returns when the value is durable, if there is a directory that has not failed. The save goes
    /// on if it is not awaited.
    async fn save(&self, value: Maintenance) -> Result<(), String> {
        let mut kept = Arc::clone(&self.0).lock_owned().await;
        let save = move || -> Result<(), String> {
            let Some(mut directory) = kept.take() else { return Ok(()) };
            directory.save(&value).map_err(|error| error.to_string())?;
            *kept = Some(directory);
            Ok(())
        };
        let saved = tokio::task::spawn_blocking(save).await;
        saved.unwrap_or_else(|_| Err("the program ends".to_owned()))
    }

    /// Closes the directory, once what is saved is durable.
    async fn close(&self) {
        if let Ok(mut kept) = timeout(CLOSED_WITHIN, self.0.lock()).await {
            *kept = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner {
            cluster: "orders".parse().expect("a name"),
            protocol: "quorum".to_owned(),
            node: "1".parse().expect("an id"),
        }
    }

    #[tokio::test]
    async fn what_is_saved_is_there_when_it_is_opened_again_although_it_was_not_awaited() {
        let directory = tempfile::tempdir().expect("a directory");
        let open = || PersistedValue::open(directory.path(), owner());
        let first = Maintenance::default().decide(true);
        let second = first.decide(false);
        let (kept, none) = open().expect("usable");
        assert_eq!(none, None);
        kept.save(first).await.expect("saved");
        let dropped = kept.clone();
        let saving = tokio::spawn(async move { dropped.save(second).await });
        tokio::task::yield_now().await;
        saving.abort();
        // A handle is left, and the directory can be opened all the same.
        kept.close().await;
        kept.save(second.decide(true)).await.expect("no directory is left to fail");
        let (_, value) = open().expect("it is closed");
        assert!(value == Some(first) || value == Some(second), "{value:?}");
    }
}
