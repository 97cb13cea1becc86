//! How the program sees the lists of members, and asks the leader for another.
//!
//! The core decides on a list. What is refused here is what would not come to an end: a change
//! while another is pending, one that the configuration does not allow, and a list of which too few
//! voters are there.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::Handle;
use crate::config::{Address, Config, Current, MemberChange, MemberList, Runnable};
use crate::member::RequestError;
use crate::protocol::quorum::Lists;
use crate::protocol::{Members, NodeId, Request};
use crate::transport::connect::Resolver;
use crate::transport::frame::{Opening, Reply};
use crate::transport::question;

/// How long the members have to make a list durable.
const DECIDED_WITHIN: Duration = Duration::from_secs(5);

/// How long a node that is to vote may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// How long a leader that is to leave does not run: until then it has left.
const AWAY: Duration = Duration::from_secs(10);

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
    /// A change before it is not decided yet.
    #[error(
        "list {config_epoch} is not decided yet: it is once a majority of both lists has it; \
         `members list` shows both"
    )]
    UnderWay {
        /// The number of the list that is waited for.
        config_epoch: u64,
    },
    /// Without these voters the new list has no majority.
    #[error("nothing has changed: {}", absent(.missing))]
    Missing {
        /// The voters that are missing, and where they are reached.
        missing: BTreeMap<NodeId, Address>,
    },
    /// The leader has no part in the new list, or only observes: it leads no longer.
    #[error(
        "nothing has changed yet: node {node} leads no longer, as it is to leave; ask {}",
        next(*leader)
    )]
    HandsOver {
        /// The node that was asked.
        node: NodeId,
        /// The node that leads now, if one is known.
        leader: Option<NodeId>,
    },
    /// Another list has the number of the new one.
    #[error("another list {config_epoch} was decided: look at `members list`, and ask again")]
    Other {
        /// The number of the list.
        config_epoch: u64,
    },
    /// The list was not decided in time. It may be later.
    #[error(
        "list {config_epoch} is not known to be decided: it is once a majority of both lists has \
         it; `members list` shows what is known"
    )]
    Undecided {
        /// The number of the list.
        config_epoch: u64,
    },
}

fn absent(missing: &BTreeMap<NodeId, Address>) -> String {
    let each =
        |(node, address): (&NodeId, &Address)| format!("node {node} does not answer at {address}");
    let all: Vec<_> = missing.iter().map(each).collect();
    let them = if all.len() == 1 { "it" } else { "them" };
    format!("{}: start {them} first", all.join(", "))
}

fn next(leader: Option<NodeId>) -> String {
    leader.map_or_else(|| "the next leader".to_owned(), |leader| format!("node {leader}"))
}

/// Says what is wrong with a list for a node with the same configuration otherwise; or returns it
/// for the core.
type Check = dyn Fn(&MemberList) -> Result<Members, String> + Send + Sync;

/// The lists of a node, for its handles. A clone is the same.
#[derive(Clone)]
pub(super) struct OwnLists {
    known: watch::Receiver<Lists>,
    asks: mpsc::Sender<Request>,
    /// None if the list cannot change.
    check: Option<Arc<Check>>,
    credentials: Current,
}

/// Where the loop around the node tells the lists, and is asked for another.
pub(super) struct LoopEnd {
    known: watch::Sender<Lists>,
    asked: mpsc::Receiver<Request>,
}

impl LoopEnd {
    /// The node knows these lists from now on.
    pub(super) fn tell(&self, lists: Lists) {
        self.known.send_replace(lists);
    }

    pub(super) fn now(&self) -> Lists {
        self.known.borrow().clone()
    }

    /// Returns what is asked next; `None` if nothing can be any more.
    pub(super) async fn asked(&mut self) -> Option<Request> {
        self.asked.recv().await
    }
}

/// The two ends for a node that knows these lists when it starts.
pub(super) fn channel(known: Lists) -> (LoopEnd, watch::Receiver<Lists>, mpsc::Sender<Request>) {
    let (tells, known) = watch::channel(known);
    // Each member may be told the lists at one moment.
    let (asks, asked) = mpsc::channel(Members::MAX);
    (LoopEnd { known: tells, asked }, known, asks)
}

impl OwnLists {
    /// Of a node with this configuration that knows these lists when it starts.
    pub(super) fn new<C: Runnable>(
        config: &Config<C>,
        known: Lists,
        credentials: &Current,
    ) -> (Self, LoopEnd) {
        let (end, known, asks) = channel(known);
        let config = config.clone();
        let changes = C::CHANGES_MEMBERS && config.groups().is_empty();
        let check: Arc<Check> = Arc::new(move |list: &MemberList| {
            let changed = config.clone().with_list(list.clone());
            // The addresses may need another security.
            let loaded = changed.and_then(|changed| {
                changed.credentials()?;
                Ok(changed.members().clone())
            });
            loaded.map_err(|error| error.to_string())
        });
        let check = changes.then_some(check);
        (Self { known, asks, check, credentials: credentials.clone() }, end)
    }

    /// The lists that the node knows now.
    pub(super) fn now(&self) -> Lists {
        self.known.borrow().clone()
    }

    /// Has a node told the lists that has older ones. If that cannot be asked now, it is later.
    pub(super) fn tell(&self, node: NodeId) {
        let _ = self.asks.try_send(Request::Tell(node));
    }

    /// What is wrong with this node if it is no member any more.
    pub(super) fn problem(&self, node: NodeId) -> Option<String> {
        let lists = self.known.borrow();
        (!lists.each().any(|list| list.contains(node))).then(|| no_member(&lists))
    }

    /// The voters without which the list has no majority: this node leads, and `heard` says which
    /// others are connected. One that becomes a member is not connected yet, and is asked.
    async fn missing(
        &self,
        node: NodeId,
        list: &MemberList,
        heard: impl Fn(NodeId) -> bool,
    ) -> BTreeMap<NodeId, Address> {
        let voters = list.voters().count();
        let is_missing = |id: &NodeId| *id != node && !heard(*id);
        let place = |id: NodeId| Some((id, list.members.get(&id)?.clone()));
        let missing: BTreeMap<_, _> = list.voters().filter(is_missing).filter_map(place).collect();
        if 2 * missing.len() < voters {
            return BTreeMap::new();
        }
        let now = self.now().decided;
        let new = missing.iter().find(|&(&id, _)| !now.votes(id));
        match new {
            Some((&id, address)) if 2 * (missing.len() - 1) < voters => {
                if self.answers(id, address).await {
                    return BTreeMap::new();
                }
                BTreeMap::from([(id, address.clone())])
            }
            _ => missing,
        }
    }

    /// Whether this node answers there.
    async fn answers(&self, node: NodeId, address: &Address) -> bool {
        let there = Resolver::new(address.clone());
        let credentials = self.credentials.now().asking(node);
        let asked = question::ask(&there, &credentials, &Opening::StatusRequest);
        let answer = timeout(ANSWERS_WITHIN, asked).await;
        matches!(answer, Ok(Ok(Reply::Status(report))) if report.node == node)
    }
}

impl fmt::Debug for OwnLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnLists").field("known", &*self.known.borrow()).finish_non_exhaustive()
    }
}

/// What is wrong with a node that has no part in these lists.
pub(super) fn no_member(lists: &Lists) -> String {
    let number = lists.latest().config_epoch();
    format!("this node is no member of list {number} any more: stop it")
}

impl Handle {
    /// Returns the list of members that is decided, and the one that is pending, if there is one.
    #[must_use]
    pub fn lists(&self) -> (MemberList, Option<MemberList>) {
        let lists = self.lists.now();
        ((&lists.decided).into(), lists.pending.as_ref().map(MemberList::from))
    }

    /// Changes the members of the cluster, if this node leads. Returns the number of the list once
    /// it is decided. A leader that is to leave, or only to observe, stops leading instead: the
    /// next leader is to be asked then.
    ///
    /// # Errors
    ///
    /// A [`MembersError`], which says whether the change may be decided later.
    pub async fn change_members(&self, change: &MemberChange) -> Result<u64, MembersError> {
        let own = &self.lists;
        let node = self.leadership().now().node;
        let refused = |problem| MembersError::Change { problem };
        let Some(check) = &own.check else {
            let problem = "the members of the protocol, or of a node with groups, are those of \
                           the file";
            return Err(refused(problem.to_owned()));
        };
        if !self.leads_now() {
            return Err(RequestError::NotLeading { node }.into());
        }
        let known = own.now();
        if let Some(pending) = known.pending {
            return Err(MembersError::UnderWay { config_epoch: pending.config_epoch() });
        }
        let list = MemberList::from(&known.decided).changed(change).map_err(refused)?;
        let heard = self.standing.standings.heard();
        let missing = own.missing(node, &list, |id| heard.contains_key(&id)).await;
        if !missing.is_empty() {
            return Err(MembersError::Missing { missing });
        }
        if !list.voters().any(|id| id == node) {
            return Err(self.hand_over_to_leave(node).await);
        }
        let members = check(&list).map_err(refused)?;
        let config_epoch = list.config_epoch;
        tracing::info!(node = node.get(), config_epoch, "changes the members: {change}");
        let request = Request::Change(members.clone());
        own.asks.send(request).await.map_err(|_| RequestError::Stopped)?;
        self.decided(node, &members).await
    }

    /// Returns once this list is decided that was asked for.
    async fn decided(&self, node: NodeId, list: &Members) -> Result<u64, MembersError> {
        let config_epoch = list.config_epoch();
        let mut known = self.lists.known.clone();
        let decided = async {
            let lists = known.wait_for(|lists| lists.decided.config_epoch() >= config_epoch).await;
            lists.map(|lists| lists.decided == *list)
        };
        match timeout(DECIDED_WITHIN, decided).await {
            Ok(Ok(true)) => Ok(config_epoch),
            Ok(Ok(false)) => Err(MembersError::Other { config_epoch }),
            Ok(Err(_)) => Err(RequestError::Stopped.into()),
            // It has lost the lead before it could propose the list.
            Err(_) if self.lists.now().pending.is_none() => {
                Err(RequestError::NotLeading { node }.into())
            }
            Err(_) => Err(MembersError::Undecided { config_epoch }),
        }
    }

    /// This node leads, and may not by the list that is asked for.
    async fn hand_over_to_leave(&self, node: NodeId) -> MembersError {
        if self.in_maintenance() {
            let problem = "no other node could lead: end the maintenance first".to_owned();
            return MembersError::Change { problem };
        }
        match self.step_down(AWAY).await {
            Ok(leader) => MembersError::HandsOver { node, leader },
            Err(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests;
