//! How the list of members changes by a request to the leader.
//!
//! The leader makes the next list durable and says its number. Every member that hears it asks for
//! the list, makes it durable, and says so. Once all voters have, but for one that leaves, the
//! leader *decides* the list, durably, and all that hear of it are to start anew with it. A node
//! that was not there is refused by those with a later list, and asks one of them.
//!
//! No two lists with one number are decided. A voter keeps the first that it has made durable, and
//! two lists would both need a voter that stays in both. Only the leader that has proposed a list
//! may propose another in its place, in the same epoch. In which order nodes may start with a list
//! is a matter of the protocol: nothing here can give the cluster two leaders.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};

use super::kept::Kept;
use super::{Handle, JoinError};
use crate::config::{self, Config, Current, MemberChange, MemberList, Proposal, Runnable};
use crate::member::RequestError;
use crate::protocol::{MemberError, NodeId};
use crate::transport::Links;
use crate::transport::connect::Resolver;
use crate::transport::frame::{Opening, Reply};
use crate::transport::lists::{KnownList, Lists};
use crate::transport::question;
use crate::transport::standing::{Standing, Standings};

/// How long the members have to make a list durable.
const KEPT_WITHIN: Duration = Duration::from_secs(5);

/// How long a node that is to start anew waits until the others have heard why.
const HEARD_WITHIN: Duration = Duration::from_millis(500);

/// How long between two looks.
const LOOK: Duration = Duration::from_millis(10);

/// How long a node may take to tell its list.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// The name of the directory below that of the node in which the next list is kept.
pub(super) const DIRECTORY: &str = "members";

/// The reason why the members were not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MembersError {
    /// The node cannot be asked for it.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The change makes no sense.
    #[error("the members stay as they are: {problem}")]
    Change {
        /// What is wrong, with the remedy.
        problem: String,
    },
    /// A change before it has not taken effect yet.
    #[error(
        "list {config_epoch} has not taken effect yet: it does once all its voters have it; \
         `members list` shows which have not"
    )]
    UnderWay {
        /// The number of the list that is waited for.
        config_epoch: u64,
    },
    /// Voters are missing, and each must make the list durable.
    #[error("nothing has changed: {} cannot be reached, and every voter that stays must be; start \
             it, or remove it first", listed(.missing))]
    Missing {
        /// The voters that are missing.
        missing: Vec<NodeId>,
    },
    /// The list could not be made durable.
    #[error("nothing has changed: {problem}")]
    Storage {
        /// What the storage says.
        problem: String,
    },
    /// Not all voters have made the list durable in time. It may take effect later.
    #[error(
        "list {config_epoch} is not known to take effect yet: {} has not made it durable; it takes \
         effect once all voters that stay have",
        listed(.missing)
    )]
    Undecided {
        /// The number of the list.
        config_epoch: u64,
        /// The voters that are missing.
        missing: Vec<NodeId>,
    },
}

fn listed(nodes: &[NodeId]) -> String {
    let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
    format!("node {}", nodes.join(", "))
}

/// The lists that survive restarts. A list that is only proposed replaces none that was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DurableLists {
    decided: Option<MemberList>,
    proposed: Option<KnownList>,
}

impl DurableLists {
    pub(super) fn deciding(list: MemberList) -> Self {
        Self { decided: Some(list), proposed: None }
    }

    pub(super) fn latest(&self) -> Option<&MemberList> {
        self.proposed.as_ref().map(|known| &known.list).or(self.decided.as_ref())
    }
}

/// Where the lists are kept, and those that were there.
type Opened = (Kept<DurableLists>, DurableLists);

/// Says what is wrong with a list for a node with the same configuration otherwise.
#[derive(Clone)]
struct Check(Arc<Checks>);

type Checks = dyn Fn(&MemberList) -> Result<(), String> + Send + Sync;

impl Check {
    fn of<C: Runnable>(config: &Config<C>) -> Self {
        let config = config.clone();
        Self(Arc::new(move |list| {
            let changed = config.clone().with_list(list.clone());
            // The addresses may need another security.
            let loaded = changed.and_then(|changed| changed.credentials());
            loaded.map(drop).map_err(|error| error.to_string())
        }))
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").finish_non_exhaustive()
    }
}

/// The lists of a node, for its handles. A clone is the same.
#[derive(Clone, Debug)]
pub(super) struct OwnLists {
    node: NodeId,
    running: Arc<MemberList>,
    check: Check,
    lists: Lists,
    standings: Standings,
    credentials: Current,
    /// The list that the node runs with, if a request has changed it.
    decided: Option<MemberList>,
    kept: Kept<DurableLists>,
    /// Held while one is.
    turn: Arc<Mutex<()>>,
    /// The number of the list of which the log says that it cannot be used here.
    unusable: Arc<AtomicU64>,
    /// The number of the list with which the node is to start anew.
    superseded: watch::Sender<Option<u64>>,
    /// The number of the list in which the node is no member any more.
    removed: watch::Sender<Option<u64>>,
}

/// The configuration with the newest list that was decided, in the file or by a request; and where
/// the next one is kept.
pub(super) fn newest<C: Runnable>(
    config: Config<C>,
) -> Result<(Config<C>, Option<Opened>), JoinError> {
    let path = config.directory().ok().flatten();
    let path = path.filter(|_| C::CHANGES_MEMBERS && config.groups().is_empty());
    let Some(path) = path else { return Ok((config, None)) };
    let (kept, known) = Kept::<DurableLists>::open(path, DIRECTORY, config.owner())?;
    let known = known.unwrap_or_default();
    let (own, node) = (config.list(), config.node());
    let config = match &known.decided {
        Some(list) if list.config_epoch > own.config_epoch => {
            let config_epoch = list.config_epoch;
            let config = config.with_list(list.clone())?;
            tracing::info!(
                node = node.get(),
                config_epoch,
                "the members are those that were changed by a request; the file has list {}",
                own.config_epoch
            );
            config
        }
        // Addresses may be corrected in the file.
        Some(list) if list.config_epoch == own.config_epoch && !list.has_members_of(&own) => {
            let known = config.clone().with_list(list.clone())?.members().clone();
            let change = Box::new((known, config.members().clone()));
            return Err(config::Error::from(MemberError::Change(change)).into());
        }
        _ => config,
    };
    Ok((config, Some((kept, known))))
}

impl OwnLists {
    /// Of a node that runs with this configuration.
    pub(super) fn new<C: Runnable>(
        config: &Config<C>,
        kept: Option<Opened>,
        links: &Links<C::Message>,
        credentials: &Current,
    ) -> Self {
        let (lists, standings) = (links.lists.clone(), links.standings.clone());
        let credentials = credentials.clone();
        let running = config.list();
        let (kept, known) = kept.unwrap_or_default();
        let is_running = |list: &MemberList| list.config_epoch == running.config_epoch;
        let decided = known.decided.filter(is_running).map(|_| running.clone());
        let is_next = |known: &KnownList| known.list.config_epoch > running.config_epoch;
        let next = known.proposed.filter(is_next);
        standings.change(|own| {
            let first = || running.mark(Proposal::default());
            own.keeps = next.as_ref().map_or_else(first, KnownList::mark);
            own.decided = running.config_epoch;
        });
        lists.begin(decided.clone(), next);
        Self {
            node: config.node(),
            running: Arc::new(running),
            check: Check::of(config),
            lists,
            standings,
            credentials,
            decided,
            kept,
            turn: Arc::default(),
            unusable: Arc::default(),
            superseded: watch::Sender::new(None),
            removed: watch::Sender::new(None),
        }
    }

    /// Makes a list durable, and says so to the others.
    async fn keep(&self, known: KnownList) -> Result<(), String> {
        let _turn = self.turn.lock().await;
        let mark = known.mark();
        let number = mark.number;
        // What another request has done meanwhile counts.
        if let Some(next) = self.lists.next()
            && if known.decided {
                next.decided && next.list.config_epoch >= number
            } else {
                next.decided || next.mark() >= mark
            }
        {
            return Err(format!("list {} is known already", next.list.config_epoch));
        }
        let decided = known.decided;
        self.kept
            .save(if decided {
                DurableLists::deciding(known.list.clone())
            } else {
                DurableLists { decided: self.decided.clone(), proposed: Some(known.clone()) }
            })
            .await?;
        self.lists.set_next(known);
        self.standings.change(|own| {
            own.keeps = mark;
            if decided {
                own.decided = number;
            }
        });
        Ok(())
    }

    pub(super) async fn close(&self) {
        self.kept.close().await;
    }

    fn has_decided(&self) -> bool {
        self.lists.next().is_some_and(|next| next.decided)
    }

    /// The voters of the list before that must have made the next one durable, and have not.
    fn missing(&self, next: &KnownList) -> Vec<NodeId> {
        let stays: BTreeSet<_> = next.list.voters().collect();
        let heard = self.standings.heard();
        let mark = next.mark();
        let has = |id: &NodeId| heard.get(id).is_some_and(|other| other.keeps == mark);
        let voters = self.running.voters().filter(|id| *id != self.node && stays.contains(id));
        voters.filter(|id| !has(id)).collect()
    }

    /// Asks another node for the list with this number.
    async fn ask(&self, node: NodeId, number: u64) -> Option<KnownList> {
        let there = Resolver::new(self.running.members.get(&node)?.clone());
        let credentials = self.credentials.now().asking(node);
        let question = Opening::ListRequest(number);
        let asked = question::ask(&there, &credentials, &question);
        match timeout(ANSWERS_WITHIN, asked).await.ok()?.ok()? {
            Reply::List(known) => Some(*known?).filter(|known| known.list.config_epoch == number),
            _ => None,
        }
    }

    /// Learns of the next list that another node keeps or has decided, and of a later one that a
    /// node has which refuses this one.
    pub(super) async fn learn(&self, leads: bool) {
        let own = self.standings.own();
        let heard = self.standings.heard();
        let newest = heard.iter().max_by_key(|(_, other)| (other.decided, other.keeps));
        if let Some((&node, other)) = newest {
            let next = self.running.config_epoch + 1;
            let is_news = other.decided > own.decided || other.keeps > own.keeps;
            if is_news && other.keeps.number == next {
                self.take(node, next, other.decided == next).await;
            }
        }
        if let Some((node, number)) = self.lists.take_ahead()
            && number > self.standings.own().decided
        {
            self.take(node, number, true).await;
        }
        if let Some(next @ KnownList { decided: false, .. }) = self.lists.next()
            && leads
            && self.missing(&next).is_empty()
        {
            let config_epoch = next.list.config_epoch;
            match self.keep(KnownList { decided: true, ..next }).await {
                Ok(()) => tracing::info!(
                    node = self.node.get(),
                    config_epoch,
                    "all voters have the new list of members"
                ),
                Err(problem) => tracing::error!(
                    node = self.node.get(),
                    config_epoch,
                    "the new list is not decided: {problem}"
                ),
            }
        }
        self.supersede().await;
    }

    /// Takes a list of another node. One that another has decided counts, whatever was kept here.
    async fn take(&self, from: NodeId, number: u64, decided: bool) {
        let node = self.node.get();
        let Some(known) = self.ask(from, number).await else { return };
        let known = KnownList { decided: decided && known.decided, ..known };
        let follows = self.running.precedes(&known.list);
        if !known.decided && !follows {
            tracing::warn!(node, peer = from.get(), "its list {number} does not follow this one");
            return;
        }
        // One in which this node is no member is never run with.
        if known.list.members.contains_key(&self.node)
            && let Err(problem) = (self.check.0)(&known.list)
        {
            // It is asked for again and again, and told once.
            if self.unusable.swap(number, Ordering::Relaxed) != number {
                tracing::error!(
                    node,
                    peer = from.get(),
                    "its list {number} of the members cannot be used here: {problem}"
                );
            }
            return;
        }
        match self.keep(known).await {
            Ok(()) => {
                tracing::info!(node, peer = from.get(), "has list {number} of the members now");
            }
            Err(problem) => tracing::debug!(node, "list {number} is not kept: {problem}"),
        }
    }

    /// If a later list is decided, tells the others, and then the program, which is to start anew.
    async fn supersede(&self) {
        let Some(KnownList { list, decided: true, .. }) = self.lists.next() else { return };
        let number = list.config_epoch;
        if !list.members.contains_key(&self.node) {
            if self.removed.send_replace(Some(number)) != Some(number) {
                tracing::warn!(
                    node = self.node.get(),
                    "this node is no member of list {number} any more: stop it"
                );
            }
            return;
        }
        if self.superseded.borrow().is_some() {
            return;
        }
        let knows = |other: &Standing| other.decided >= number;
        let all = async {
            while !self.standings.heard().values().all(knows) {
                sleep(LOOK).await;
            }
        };
        let _ = timeout(HEARD_WITHIN, all).await;
        self.superseded.send_replace(Some(number));
    }

    /// What is wrong with the node if it is no member any more.
    pub(super) fn problem(&self) -> Option<String> {
        let number = (*self.removed.borrow())?;
        Some(format!("this node is no member of list {number} any more: stop it"))
    }
}

impl Handle {
    /// Returns the list of members that the node runs with, and the next one if there is one, with
    /// the voters that have not made that durable yet.
    #[must_use]
    pub fn lists(&self) -> (MemberList, Option<(MemberList, Vec<NodeId>)>) {
        let own = &self.lists;
        let next = own.lists.next().map(|known| {
            let missing = own.missing(&known);
            (known.list, missing)
        });
        ((*own.running).clone(), next)
    }

    /// Changes the members of the cluster, if this node leads. Returns the number of the list that
    /// takes effect: every voter that stays has made it durable. All nodes are then told to [start
    /// anew](Handle::superseded) with it.
    ///
    /// # Errors
    ///
    /// A [`MembersError`], which says whether the change may take effect later.
    pub async fn change_members(&self, change: &MemberChange) -> Result<u64, MembersError> {
        let own = &self.lists;
        let leadership = self.leadership().now();
        let node = leadership.node;
        if !own.kept.is_open().await {
            let problem = "the protocol or a node with groups cannot, or the node has no directory"
                .to_owned();
            return Err(MembersError::Change { problem });
        }
        if !self.leads_now() {
            return Err(RequestError::NotLeading { node }.into());
        }
        if self.in_maintenance() {
            let problem = "no node could lead with the new list: end the maintenance first";
            return Err(MembersError::Change { problem: problem.to_owned() });
        }
        let heard = own.standings.heard();
        let epoch = leadership.epoch.unwrap_or_default();
        let kept = heard.values().map(|other| other.keeps).chain([own.standings.own().keeps]).max();
        let kept = kept.filter(|kept| kept.number > own.running.config_epoch);
        // What this leader has proposed itself, and has not decided, is decided by no other.
        let turn = match kept {
            Some(kept) if kept.proposal.epoch == epoch && !own.has_decided() => {
                kept.proposal.turn + 1
            }
            Some(kept) => return Err(MembersError::UnderWay { config_epoch: kept.number }),
            None => 1,
        };
        let refused = |problem| MembersError::Change { problem };
        let list = own.running.changed(change).map_err(refused)?;
        if list.members.contains_key(&node) {
            (own.check.0)(&list).map_err(refused)?;
        }
        let config_epoch = list.config_epoch;
        let stays: BTreeSet<_> = list.voters().collect();
        let others = own.running.voters().filter(|&id| id != node && stays.contains(&id));
        let missing: Vec<_> = others.filter(|id| !heard.contains_key(id)).collect();
        if !missing.is_empty() {
            return Err(MembersError::Missing { missing });
        }
        tracing::info!(node = node.get(), config_epoch, "changes the members: {change}");
        let proposal = Proposal { epoch, turn };
        let proposed = KnownList { list, proposal, decided: false };
        own.keep(proposed.clone()).await.map_err(|problem| MembersError::Storage { problem })?;
        let decided = async {
            while own.standings.own().decided < config_epoch {
                sleep(LOOK).await;
            }
        };
        match timeout(KEPT_WITHIN, decided).await {
            Ok(()) => Ok(config_epoch),
            Err(_) => {
                Err(MembersError::Undecided { config_epoch, missing: own.missing(&proposed) })
            }
        }
    }

    /// Waits until a later list of members has taken effect, and returns its number. The node is
    /// then to [leave](super::Election::leave), and to join again with the same configuration: it
    /// finds the list in its directory. Until then it runs with the list that it had.
    pub async fn superseded(&self) -> u64 {
        let mut superseded = self.lists.superseded.subscribe();
        match superseded.wait_for(Option::is_some).await.as_deref() {
            Ok(&Some(number)) => number,
            _ => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests;
