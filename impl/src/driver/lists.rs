//! How the program sees the lists of members, whether its node votes by them, and how it asks the
//! leader for another.
//!
//! The core decides on a list. What is refused here is what would not come to an end: a change
//! while another is pending, one that the configuration does not allow, and one after which too few
//! voters are there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::Handle;
use crate::config::{Address, Config, MemberChange, MemberList, Runnable};
use crate::member::RequestError;
use crate::protocol::quorum::{Lists, WaitsToVote};
use crate::protocol::{Members, NodeId, Request};

/// How long the members have to make a list durable.
const DECIDED_WITHIN: Duration = Duration::from_secs(5);

/// How long a change waits while the leader lets a voter in.
const LET_IN_WITHIN: Duration = Duration::from_secs(2);

/// How long a leader may take to let this node in before that is a problem.
const VOTES_WITHIN: Duration = Duration::from_secs(5);

/// How long a leader that is to leave does not stand for election: until then it has left.
const AWAY: Duration = Duration::from_secs(10);

/// The reason why the members were not changed.
#[derive(Clone, PartialEq, Eq, Error)]
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
    /// Without these voters the list has no majority once the one that leaves is gone.
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
    let each = |(node, address): (&NodeId, &Address)| {
        format!("node {node} at {address} is not connected, or has no vote yet")
    };
    let all: Vec<_> = missing.iter().map(each).collect();
    let them = if all.len() == 1 { "it" } else { "them" };
    format!("{}: start {them}, or wait until the leader has let {them} in", all.join(", "))
}

fn next(leader: Option<NodeId>) -> String {
    leader.map_or_else(|| "the next leader".to_owned(), |leader| format!("node {leader}"))
}

/// Says what is wrong with a list for a node with the same configuration otherwise; or returns it
/// for the core.
type Check = dyn Fn(&MemberList) -> Result<Members, String> + Send + Sync;

/// Why a node does not vote, and since when it waits.
type Waits = Option<(WaitsToVote, Instant)>;

/// The lists of a node, for its handles. A clone is the same.
#[derive(Clone)]
pub(super) struct MembershipChange {
    known: watch::Receiver<Lists>,
    waits: watch::Receiver<Waits>,
    asks: mpsc::Sender<Request>,
    /// None if the list cannot change by request.
    check: Option<Arc<Check>>,
}

/// Where the loop around the node tells the lists, and is asked for another.
pub(super) struct LoopEnd {
    known: watch::Sender<Lists>,
    waits: watch::Sender<Waits>,
    pub(super) asked: mpsc::Receiver<Request>,
    /// Where members are reached by the file, if that alone says it: of a node with groups.
    by_file: Option<Arc<Addresses>>,
}

type Addresses = BTreeMap<NodeId, String>;

impl LoopEnd {
    /// The node knows these lists from now on.
    pub(super) fn tell(&self, lists: Lists) {
        let lists = match &self.by_file {
            Some(addresses) => reached_at(lists, addresses),
            None => lists,
        };
        self.known.send_replace(lists);
    }

    /// This is why the node does not vote from now on, if it is to. Returns whether the
    /// node votes then, if that is another answer than before.
    pub(super) fn tell_waits(&self, waits: Option<WaitsToVote>) -> Option<bool> {
        let since = match (&*self.waits.borrow(), &waits) {
            (None, None) => return None,
            (Some((told, _)), Some(waits)) if told == waits => return None,
            (Some((_, since)), _) => Some(*since),
            (None, _) => None,
        };
        let votes = waits.is_none();
        let change = (votes || since.is_none()).then_some(votes);
        let since = since.unwrap_or_else(Instant::now);
        self.waits.send_replace(waits.map(|waits| (waits, since)));
        change
    }

    /// Whether the file says which members there are, and where.
    pub(super) fn is_by_file(&self) -> bool {
        self.by_file.is_some()
    }

    pub(super) fn now(&self) -> Lists {
        self.known.borrow().clone()
    }
}

/// The two ends for a node that knows these lists when it starts, which cannot change by request.
pub(super) fn channel(known: Lists) -> (LoopEnd, MembershipChange) {
    let (tells, known) = watch::channel(known);
    let (tells_waits, waits) = watch::channel(None);
    // Each member may be told the lists at one moment.
    let (asks, asked) = mpsc::channel(Members::MAX);
    let end = LoopEnd { known: tells, waits: tells_waits, asked, by_file: None };
    (end, MembershipChange { known, waits, asks, check: None })
}

impl MembershipChange {
    /// Of a node with this configuration that knows these lists when it starts.
    pub(super) fn new<C: Runnable>(config: &Config<C>, known: Lists) -> (Self, LoopEnd) {
        let (mut end, mut own) = channel(known);
        let config = config.clone();
        let is_grouped = !config.groups().is_empty();
        end.by_file = is_grouped.then(|| Arc::new(config.members().addresses().clone()));
        let changes = C::CHANGES_MEMBERS && !is_grouped;
        let check: Arc<Check> = Arc::new(move |list: &MemberList| {
            let changed = config.clone().with_list(list.clone());
            // The addresses may need another security.
            let loaded = changed.and_then(|changed| {
                changed.credentials()?;
                Ok(changed.members().clone())
            });
            loaded.map_err(|error| error.to_string())
        });
        own.check = changes.then_some(check);
        (own, end)
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

    /// Why the node does not vote, if it is to.
    pub(super) fn waits(&self) -> Option<WaitsToVote> {
        self.waits.borrow().as_ref().map(|(waits, _)| waits.clone())
    }

    /// What is wrong with this node if the leader, known for so long, does not let it in.
    pub(super) fn problem_of_vote(&self, led: Duration) -> Option<String> {
        let waits = self.waits.borrow();
        let (_, since) = waits.as_ref()?;
        let is_late = led >= VOTES_WITHIN && since.elapsed() >= VOTES_WITHIN;
        is_late.then(|| NO_VOTE.to_owned())
    }

    /// The lists that the node knows once the leader lets no voter in, which is over soon.
    async fn settled(&self) -> Lists {
        let lets_in = |lists: &Lists| {
            let pending = lists.pending.as_ref();
            pending.is_some_and(|next| is_same_change(next, &lists.decided))
        };
        let mut known = self.known.clone();
        let over = async { known.wait_for(|lists| !lets_in(lists)).await.is_ok() };
        let _ = timeout(LET_IN_WITHIN, over).await;
        self.now()
    }
}

/// What a node says that has a leader, and no vote.
const NO_VOTE: &str = "this node has no vote: it lost its state, or is new; the leader lets it in once a \
                       majority of all voters, without this one, has agreed";

/// The same lists, in which members are reached at these addresses.
pub(super) fn reached_at(lists: Lists, addresses: &Addresses) -> Lists {
    let at = |list: Members| list.with_addresses(addresses.clone());
    let Lists { decided, pending, mark } = lists;
    Lists { decided: at(decided), pending: pending.map(at), mark }
}

/// Whether an operator has asked for both lists by one request: they differ at most in the voters
/// that were let in.
fn is_same_change(list: &Members, other: &Members) -> bool {
    list.has_roles_of(other) && list.addresses() == other.addresses()
}

/// The voters without which the list has no majority, if it takes a vote from one: the node leads
/// by the list before it, and `votes` says which others are connected, and vote.
fn missing(
    node: NodeId,
    before: &Members,
    list: &MemberList,
    votes: impl Fn(NodeId) -> bool,
) -> BTreeMap<NodeId, Address> {
    let counted: Vec<_> = list.voters().filter(|&id| before.votes(id)).collect();
    let absent = counted.iter().filter(|&&id| id != node && !votes(id));
    let place = |&id: &NodeId| Some((id, list.members.get(&id)?.clone()));
    let missing: BTreeMap<_, _> = absent.filter_map(place).collect();
    let takes_a_vote = counted.len() < before.voters().len();
    if takes_a_vote && 2 * missing.len() >= counted.len() { missing } else { BTreeMap::new() }
}

/// What is wrong with a node that has no part in these lists.
pub(super) fn no_member(lists: &Lists) -> String {
    let number = lists.latest().config_epoch();
    format!(
        "this node is no member of list {number} any more: stop it, and empty its directory before \
         it is added again"
    )
}

impl Handle {
    /// Returns the list of members that is decided, and the one that is pending, if there is one.
    #[must_use]
    pub fn lists(&self) -> (MemberList, Option<MemberList>) {
        let lists = self.seen.lists.now();
        ((&lists.decided).into(), lists.pending.as_ref().map(MemberList::from))
    }

    /// Changes the members of the cluster, if this node leads. Returns the number of the list once
    /// it is decided. A new voter is in no majority before the leader has met it, and has let it in
    /// by another list. A leader that is to leave, or only to observe, stops leading instead: the
    /// next leader is to be asked then.
    ///
    /// # Errors
    ///
    /// A [`MembersError`], which says whether the change may be decided later.
    pub async fn change_members(&self, change: &MemberChange) -> Result<u64, MembersError> {
        let own = &self.seen.lists;
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
        let known = own.settled().await;
        if let Some(pending) = known.pending {
            return Err(MembersError::UnderWay { config_epoch: pending.config_epoch() });
        }
        let list = MemberList::from(&known.decided).changed(change).map_err(refused)?;
        let heard = self.facts.cluster.heard();
        let votes = |id| heard.get(&id).is_some_and(|other| other.votes);
        let missing = missing(node, &known.decided, &list, votes);
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
        let mut known = self.seen.lists.known.clone();
        let decided = async {
            let lists = known.wait_for(|lists| lists.decided.config_epoch() >= config_epoch).await;
            lists.map(|lists| is_same_change(&lists.decided, list))
        };
        match timeout(DECIDED_WITHIN, decided).await {
            Ok(Ok(true)) => Ok(config_epoch),
            Ok(Ok(false)) => Err(MembersError::Other { config_epoch }),
            Ok(Err(_)) => Err(RequestError::Stopped.into()),
            // It has lost the lead before it could propose the list.
            Err(_) if self.seen.lists.now().pending.is_none() => {
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
mod tests {
    use super::*;
    use crate::driver::tests::id;
    use crate::protocol::Birth;
    use crate::protocol::quorum::Quorum;

    /// Node 1 of so many.
    fn config(nodes: u16) -> Config<Quorum> {
        let members = (1..=nodes).map(|node| (node, format!("127.0.0.1:{node}")));
        Config::new("lists", 1, members).expect("valid")
    }

    /// Of node 1 of so many, and the end of its loop.
    fn ends(nodes: u16) -> (MembershipChange, LoopEnd) {
        let config = config(nodes);
        MembershipChange::new(&config, Lists::first(config.members().clone()))
    }

    /// The same. The other end is gone.
    fn own(nodes: u16) -> MembershipChange {
        ends(nodes).0
    }

    /// Of a node that is alone.
    impl Default for MembershipChange {
        fn default() -> Self {
            own(1)
        }
    }

    /// Which voters are missing when node 1 leads these voters, and is asked for a change.
    fn missing_of(voters: &Members, change: &MemberChange, heard: &[u16]) -> Vec<u16> {
        let list = MemberList::from(voters).changed(change).expect("it makes sense");
        let missing = missing(id(1), voters, &list, |id| heard.contains(&id.get()));
        missing.into_keys().map(NodeId::get).collect()
    }

    fn add(node: u16) -> MemberChange {
        MemberChange::Add(id(node), format!("127.0.0.1:{node}").parse().expect("an address"))
    }

    #[test]
    fn a_vote_is_taken_only_if_a_majority_of_the_rest_is_there() {
        let [three, four] = [3, 4].map(|nodes| config(nodes).members().clone());
        for heard in [&[2, 3][..], &[2], &[]] {
            assert!(missing_of(&three, &add(4), heard).is_empty(), "it is counted later");
        }
        assert_eq!(missing_of(&four, &MemberChange::Remove(id(2)), &[2]), [3, 4]);
        assert!(missing_of(&three, &MemberChange::Remove(id(3)), &[2]).is_empty());
        assert_eq!(missing_of(&three, &MemberChange::Remove(id(2)), &[2]), [3]);
        assert_eq!(missing_of(&three, &MemberChange::Observe(id(2)), &[2]), [3]);
    }

    #[test]
    fn those_that_are_not_let_in_yet_are_not_missing() {
        let three = config(3).members().clone();
        let list = MemberList::from(&three).changed(&add(4)).expect("valid");
        let list = config(3).with_list(list).expect("valid").members().clone().after(&three);
        assert_eq!(list.awaited(), [id(4)]);
        assert!(missing_of(&list, &MemberChange::Remove(id(4)), &[]).is_empty());
        assert!(missing_of(&list, &MemberChange::Remove(id(3)), &[2]).is_empty());
        assert!(missing_of(&list, &add(5), &[]).is_empty());
    }

    /// A change waits until a voter is let in, and is decided if the leader lets in another at
    /// once.
    #[tokio::test(start_paused = true)]
    async fn a_voter_that_is_let_in_is_no_change_of_its_own() {
        let (own, end) = ends(3);
        let before = own.now();
        let next = before.decided.clone().letting_in(id(3), Birth::random(5)).numbered(2);
        assert!(is_same_change(&next, &before.decided));
        let without = MemberList::from(&before.decided).changed(&MemberChange::Remove(id(3)));
        let without = own.check.as_ref().expect("it can")(&without.expect("valid")).expect("valid");
        assert!(!is_same_change(&without, &before.decided));

        end.tell(Lists { pending: Some(without), ..before.clone() });
        let started = tokio::time::Instant::now();
        assert!(own.settled().await.pending.is_some(), "an operator has asked for it");
        assert_eq!(started.elapsed(), Duration::ZERO);
        end.tell(Lists { pending: Some(next), ..before.clone() });
        let decides = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            end.tell(before.clone());
        };
        let (settled, ()) = tokio::join!(own.settled(), decides);
        assert_eq!(settled, before);
    }

    #[test]
    fn the_beginning_and_the_end_of_a_wait_for_a_vote_are_told_once() {
        let (own, end) = ends(3);
        let waits = |silent: &[u16]| {
            let silent = silent.iter().map(|&node| id(node)).collect();
            Some(WaitsToVote::ToFound { silent, founders: [].into() })
        };
        assert_eq!(end.tell_waits(None), None);
        assert_eq!(end.tell_waits(waits(&[2, 3])), Some(false));
        assert_eq!(end.tell_waits(waits(&[2, 3])), None);
        assert_eq!(end.tell_waits(waits(&[3])), None);
        assert_eq!(own.waits(), waits(&[3]));
        assert_eq!(own.problem_of_vote(VOTES_WITHIN), None, "it has just begun");
        assert_eq!(end.tell_waits(None), Some(true));
        assert_eq!((own.waits(), end.tell_waits(None)), (None, None));

        let long_ago =
            Instant::now().checked_sub(VOTES_WITHIN).expect("the machine runs for longer");
        end.waits.send_replace(Some((WaitsToVote::ToBeLetIn, long_ago)));
        assert_eq!(
            own.problem_of_vote(Duration::ZERO),
            None,
            "there is a leader for a moment only"
        );
        assert!(own.problem_of_vote(VOTES_WITHIN).is_some_and(|text| text.contains("has no vote")));
    }

    #[test]
    fn with_groups_the_file_says_where_the_members_are() {
        let config = config(2).with_groups(["north"]).expect("valid");
        let (own, end) = MembershipChange::new(&config, Lists::first(config.members().clone()));
        assert!(end.is_by_file() && own.check.is_none());
        end.tell(Lists::first(Members::new([id(1), id(2)]).expect("valid")));
        assert_eq!(own.now().decided.addresses(), config.members().addresses());
        assert!(!ends(2).1.is_by_file());
    }

    #[test]
    fn a_node_that_is_in_neither_list_is_told_to_stop() {
        let (own, end) = ends(3);
        let mut known = own.now();
        assert_eq!(own.problem(id(3)), None);
        let next = MemberList::from(&known.decided).changed(&MemberChange::Remove(id(3)));
        let next = own.check.as_ref().expect("it can")(&next.expect("valid")).expect("valid");
        (known.decided, known.pending) = (next, None);
        end.tell(known);
        assert!(own.problem(id(3)).is_some_and(|text| text.contains("list 2 any more: stop it")));
    }
}
