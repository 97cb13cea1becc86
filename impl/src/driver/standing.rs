//! What a node says of itself beside its protocol, and what follows from what the others say: a
//! leader hands over to a node with a higher priority, and no node runs while the cluster is in
//! maintenance.
//!
//! All of it is done by what an operator could ask of the node as well, a transfer and a freeze. So
//! nothing here can give the cluster two leaders.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::commands::Command;
use super::{CLOSED_WITHIN, Handle};
use crate::config::{Config, Runnable};
use crate::member::RequestError;
use crate::protocol::NodeId;
use crate::protocol::quorum::Mark;
use crate::storage::{Directory, Owner, Storage as _, StorageError};
use crate::transport::Links;
use crate::transport::standing::{ClusterFacts, Maintenance, NodeFacts};

/// How long between two looks at what is not told.
const LOOK: Duration = Duration::from_secs(1);

/// A node in maintenance does not run for so long. It is asked again before that is over.
pub(super) const FROZEN: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The time in which a node ends that does not run any more.
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
pub(super) struct OwnStanding {
    pub(super) standings: ClusterFacts,
    /// Where the decision is kept.
    kept: Kept,
    /// Held while one is taken.
    turn: Arc<Mutex<()>>,
    /// Whether the node has groups: of none of them alone is anything told.
    grouped: bool,
    /// The protocol, if its nodes serve no requests.
    without_requests: Option<&'static str>,
}

impl OwnStanding {
    /// Of a node with these links, whose lists of members have this mark. Reads the decision that
    /// it knew last.
    pub(super) fn open<C: Runnable>(
        config: &Config<C>,
        links: &Links<C::Message>,
        mark: Mark,
    ) -> Result<Self, StorageError> {
        let path = config.directory().ok().flatten().filter(|_| C::REQUESTS);
        let opened = path.map(|path| Kept::open(path, config.owner())).transpose()?;
        let (kept, maintenance) = opened.unwrap_or_default();
        let maintenance = maintenance.unwrap_or_default();
        let (standings, priority) = (links.standings.clone(), config.priority());
        standings
            .change(|own| *own = NodeFacts { priority, fit: true, maintenance, mark, votes: true });
        let grouped = !config.groups().is_empty();
        let without_requests = (!C::REQUESTS).then_some(C::NAME);
        Ok(Self { standings, kept, turn: Arc::default(), grouped, without_requests })
    }

    /// Closes what is kept.
    pub(super) async fn close(&self) {
        self.kept.close().await;
    }

    /// Takes a decision if it is newer than what is known: durably, before anything follows from
    /// it. Returns the one that counts.
    async fn take(&self, handle: &Handle, new: Maintenance) -> Maintenance {
        let _turn = self.turn.lock().await;
        let known = self.standings.own().maintenance;
        if new <= known {
            return known;
        }
        let node = handle.leadership().now().node.get();
        if self.kept.is_open().await
            && let Err(error) = self.kept.save(new).await
        {
            tracing::error!(
                node,
                "whether the cluster is in maintenance is forgotten in a restart: {error}"
            );
        }
        self.standings.change(|own| own.maintenance = new);
        if new.on {
            tracing::warn!(node, "the cluster is in maintenance: no node runs until it is ended");
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
        self.standing.standings.own().priority
    }

    /// Gives this node another priority, until it starts anew.
    pub fn set_priority(&self, priority: u8) {
        self.standing.standings.change(|own| own.priority = priority);
    }

    /// Returns whether the cluster is in maintenance, as far as this node knows.
    #[must_use]
    pub fn in_maintenance(&self) -> bool {
        self.standing.standings.own().maintenance.on
    }

    /// Begins or ends the maintenance of the whole cluster. While it lasts, no node runs for
    /// election: the leader leads on, and if it is lost, none takes over until the maintenance is
    /// ended. Each node remembers it through restarts, and tells all others that it is connected
    /// to, now and later. Returns when all have said that they know, or after two seconds.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn set_maintenance(&self, on: bool) -> Result<MaintenanceReport, RequestError> {
        let standing = &self.standing;
        if let Some(protocol) = standing.without_requests {
            return Err(RequestError::Unsupported { protocol });
        }
        // A node that takes part no longer does not decide either.
        self.send_command(Command::Ping).await?;
        let decision = standing.take(self, standing.standings.own().maintenance.decide(on)).await;
        let node = self.leadership().now().node;
        let members = self.lists.now().latest().clone();
        let others: Vec<_> = members.iter().filter(|&id| id != node).collect();
        let knows = |node: &NodeId| {
            let heard = standing.standings.heard();
            heard.get(node).is_some_and(|other| other.maintenance >= decision)
        };
        let all = async {
            while !others.iter().all(knows) {
                sleep(AT_ONCE * 10).await;
            }
        };
        let _ = timeout(HEARD_WITHIN, all).await;
        let (mut known, missing): (Vec<_>, _) = others.into_iter().partition(knows);
        known.push(node);
        known.sort_unstable();
        Ok(MaintenanceReport { maintenance: decision.on, known, missing })
    }

    /// Keeps this node from running in maintenance, and lets it run again after it.
    async fn keep_to_maintenance(&self) {
        let on = self.in_maintenance();
        let was = self.gauges.set_maintained(on);
        // What was asked of it meanwhile may last for a shorter time.
        let is_frozen = self.gauges.frozen() > FROZEN / 2;
        if on != was || (on && !is_frozen) {
            // A node that has ended does not run.
            let _ = self.freeze(if on { FROZEN } else { AT_ONCE }).await;
        }
    }

    /// Tells the others whether this node is fit to lead.
    pub(super) fn tell_fitness(&self) {
        let fit = self.standing.grouped || self.fitness.unfit(self.leases.now()).is_none();
        self.standing.standings.change(|own| own.fit = fit);
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
        let standings = self.handles[0].standing.standings.clone();
        if standings.own().maintenance.on {
            let node = self.handles[0].leadership().now().node.get();
            tracing::warn!(node, "the cluster is in maintenance: no node runs until it is ended");
        }
        let mut own = standings.changes();
        loop {
            tokio::select! {
                () = standings.news() => {}
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
        let standings = &self.handles[0].standing.standings;
        let own = standings.own().mark;
        let behind = standings.heard().into_iter().filter(|(_, other)| other.mark < own);
        behind.for_each(|(node, _)| self.handles[0].lists.tell(node));
    }

    /// Learns of a decision that another node knows; and if this node was asked something else
    /// meanwhile, it does not run all the same.
    async fn keep_maintenance(&self) {
        let standing = &self.handles[0].standing;
        let heard = standing.standings.heard();
        if let Some(newest) = heard.values().map(|other| other.maintenance).max() {
            standing.take(&self.handles[0], newest).await;
        }
        for handle in &self.handles {
            handle.keep_to_maintenance().await;
        }
    }

    /// Hands over to a node that has been preferred for long enough.
    async fn prefer(&mut self) {
        let (standings, now) = (&self.handles[0].standing.standings, Instant::now());
        let leadership = self.handles[0].leadership().now();
        let own = standings.own();
        let (heard, members) = (standings.heard(), self.handles[0].lists.now());
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
struct Kept(Arc<Mutex<Option<Directory<Maintenance>>>>);

impl Kept {
    /// Opens the directory below that of a node, and reads what was saved last.
    fn open(node: &Path, owner: Owner) -> Result<(Self, Option<Maintenance>), StorageError> {
        let mut directory = Directory::open(&node.join(DIRECTORY), owner)?;
        let value = directory.load()?;
        Ok((Self(Arc::new(Mutex::new(Some(directory)))), value))
    }

    /// Whether something can be saved: there is a directory, and it has not failed.
    async fn is_open(&self) -> bool {
        self.0.lock().await.is_some()
    }

    /// Returns when the value is durable. It goes on if that is not awaited.
    async fn save(&self, value: Maintenance) -> Result<(), String> {
        let kept = Arc::clone(&self.0);
        let save = async move {
            let mut kept = kept.lock().await;
            let mut directory = kept.take().ok_or("there is no directory, or it has failed")?;
            let saves = move || (directory.save(&value), directory);
            let (saved, directory) =
                tokio::task::spawn_blocking(saves).await.map_err(|_| "the program ends")?;
            saved.map_err(|error| error.to_string())?;
            *kept = Some(directory);
            Ok(())
        };
        tokio::spawn(save).await.unwrap_or_else(|_| Err("the program ends".to_owned()))
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
        let open = || Kept::open(directory.path(), owner());
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
        assert!(!kept.is_open().await);
        assert!(kept.save(second.decide(true)).await.is_err());
        let (_, value) = open().expect("it is closed");
        assert!(value == Some(first) || value == Some(second), "{value:?}");
    }
}
