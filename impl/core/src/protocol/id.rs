//! Who takes part: the ids of nodes, the set of those that elect a leader together, and the name of
//! their cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::MemberError;

/// The id of a node, 1 to 65535. A larger id means a higher priority.
///
/// ```
/// use bellwether_core::protocol::NodeId;
/// assert!(NodeId::new(3) > NodeId::new(2));
/// assert_eq!(NodeId::new(0), None);
/// assert_eq!(NodeId::try_from(3_u64).ok(), NodeId::new(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(NonZeroU16);

impl NodeId {
    /// Returns the id with this number; `None` for 0, which no node may have.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        match NonZeroU16::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the number of the id.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

macro_rules! from_integer {
    ($($integer:ty),+) => {
        $(impl TryFrom<$integer> for NodeId {
            type Error = MemberError;

            fn try_from(number: $integer) -> Result<Self, MemberError> {
                let id = u16::try_from(number).ok().and_then(Self::new);
                id.ok_or_else(|| MemberError::NotAnId { text: number.to_string() })
            }
        })+
    };
}

from_integer!(u8, u16, u32, u64, usize, i32, i64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for NodeId {
    type Err = MemberError;

    fn from_str(text: &str) -> Result<Self, MemberError> {
        let id = text.parse().ok().and_then(Self::new);
        // One id has one spelling: `03` and `+3` are refused, lest they be taken for another id.
        let id = id.filter(|id| id.to_string() == text);
        id.ok_or_else(|| MemberError::NotAnId { text: text.to_owned() })
    }
}

/// The name of a cluster: 1 to 64 letters, digits, dots, dashes and underscores. Nodes talk only to
/// nodes of their own cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(String);

impl ClusterId {
    const LONGEST: usize = 64;

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for ClusterId {
    type Err = MemberError;

    fn from_str(text: &str) -> Result<Self, MemberError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if (1..=Self::LONGEST).contains(&text.len()) && text.chars().all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(MemberError::NotACluster { text: text.to_owned() })
        }
    }
}

impl TryFrom<String> for ClusterId {
    type Error = MemberError;

    fn try_from(text: String) -> Result<Self, MemberError> {
        text.parse()
    }
}

impl From<ClusterId> for String {
    fn from(cluster: ClusterId) -> String {
        cluster.0
    }
}

/// Which life of a node it is, from one start without a state to the next. A voter counts with one
/// birth only: a node that has lost its state is another voter, and has forgotten nothing that was
/// counted on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Birth(u64);

impl Birth {
    /// The birth of every voter of the first list, once it knows that it has forgotten nothing.
    pub const FOUNDER: Self = Self(0);

    /// Returns the birth of a node that starts without a state, by a random number.
    #[must_use]
    pub fn random(number: u64) -> Self {
        Self(number.max(1))
    }
}

/// The members of a cluster: 1 to 255 distinct ids, ascending, which of them vote, which of those
/// never lead, which comes before which, and the number of that list. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Members {
    ids: Arc<[NodeId]>,
    /// Those that are counted in majorities.
    voters: Arc<[NodeId]>,
    /// Those that are to vote once a leader has let them in.
    awaited: Arc<[NodeId]>,
    witnesses: Arc<[NodeId]>,
    /// The births of the voters that are no founders.
    births: Arc<BTreeMap<NodeId, Birth>>,
    /// Where members are reached, of those of which it is known. No protocol asks.
    addresses: Arc<BTreeMap<NodeId, String>>,
    config_epoch: u64,
    /// Those that may lead, the first one first; `None` if that is the highest.
    order: Option<Arc<[NodeId]>>,
    /// The election by the number of which they come before each other.
    election: usize,
}

impl Members {
    /// The smallest number of members of a cluster. One alone leads itself, and has no other to
    /// take over: a beginning, to which others are added.
    pub const MIN: usize = 1;
    /// The largest number of members of a cluster. An election costs up to n² messages; beyond this
    /// it is the wrong tool.
    pub const MAX: usize = 255;
    /// The number of the first list of a cluster.
    pub const FIRST: u64 = 1;

    /// Returns the members with these ids, in any order.
    ///
    /// # Errors
    ///
    /// [`MemberError::Size`] unless there are 1 to 255 of them, [`MemberError::DuplicateId`] if
    /// two have one id.
    pub fn new(ids: impl IntoIterator<Item = NodeId>) -> Result<Self, MemberError> {
        // One more than allowed is enough to know that there are too many.
        let mut ids: Vec<_> = ids.into_iter().take(Self::MAX + 1).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(MemberError::DuplicateId { node: pair[0] });
        }
        if !(Self::MIN..=Self::MAX).contains(&ids.len()) {
            return Err(MemberError::Size { members: ids.len() });
        }
        Ok(Self::all_vote(ids.into()))
    }

    fn all_vote(ids: Arc<[NodeId]>) -> Self {
        let (voters, none): (_, Arc<[NodeId]>) = (Arc::clone(&ids), [].into());
        Self {
            ids,
            voters,
            awaited: Arc::clone(&none),
            witnesses: none,
            births: Arc::default(),
            addresses: Arc::default(),
            config_epoch: Self::FIRST,
            order: None,
            election: 0,
        }
    }

    /// Returns these members, however many there are; of two with one id, one. For simulations,
    /// which ask what a cluster costs that no daemon would run.
    #[must_use]
    pub fn of_any_size(ids: impl IntoIterator<Item = NodeId>) -> Self {
        let ids: std::collections::BTreeSet<_> = ids.into_iter().collect();
        Self::all_vote(ids.into_iter().collect())
    }

    /// Returns the same members, of which these only observe: they follow the leader, and are no
    /// part of a majority. All others vote. Of the protocols that there are, only quorum tells the
    /// two apart.
    ///
    /// # Errors
    ///
    /// [`MemberError::UnknownObserver`] if one of them is no member, [`MemberError::DuplicateId`]
    /// if one is named twice, [`MemberError::TooFewVoters`] if none is left, and what
    /// [`Members::with_witnesses`] says of the witnesses that there are.
    pub fn with_observers(
        self,
        observers: impl IntoIterator<Item = NodeId>,
    ) -> Result<Self, MemberError> {
        let mut voters: Vec<_> = self.ids.to_vec();
        for node in observers {
            match voters.binary_search(&node) {
                Ok(place) => drop(voters.remove(place)),
                Err(_) if self.contains(node) => return Err(MemberError::DuplicateId { node }),
                Err(_) => return Err(MemberError::UnknownObserver { node, members: self }),
            }
        }
        if voters.len() < Self::MIN {
            return Err(MemberError::TooFewVoters { voters: voters.len() });
        }
        let awaited = self.awaited.iter().copied();
        let awaited: Arc<_> = awaited.filter(|id| voters.binary_search(id).is_ok()).collect();
        voters.retain(|id| awaited.binary_search(id).is_err());
        Self { voters: voters.into(), awaited, order: None, election: 0, ..self }.with_a_candidate()
    }

    /// Returns the same members, of which these are witnesses: they vote, and never lead. Of the
    /// protocols that there are, only quorum has witnesses.
    ///
    /// # Errors
    ///
    /// [`MemberError::UnknownWitness`] if one of them is no member, [`MemberError::DuplicateId`] if
    /// one is named twice, [`MemberError::WitnessObserves`] if one only observes,
    /// [`MemberError::NoCandidate`] if no other member votes.
    pub fn with_witnesses(
        self,
        witnesses: impl IntoIterator<Item = NodeId>,
    ) -> Result<Self, MemberError> {
        let mut witnesses: Vec<_> = witnesses.into_iter().collect();
        witnesses.sort_unstable();
        if let Some(pair) = witnesses.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(MemberError::DuplicateId { node: pair[0] });
        }
        if let Some(&node) = witnesses.iter().find(|&&id| !self.contains(id)) {
            return Err(MemberError::UnknownWitness { node, members: self });
        }
        Self { witnesses: witnesses.into(), order: None, election: 0, ..self }.with_a_candidate()
    }

    /// Checks that every witness votes, and that there is a member that may lead.
    fn with_a_candidate(self) -> Result<Self, MemberError> {
        if let Some(&node) = self.witnesses.iter().find(|&&id| self.observes(id)) {
            return Err(MemberError::WitnessObserves { node });
        }
        let voters = self.voters.len() + self.awaited.len();
        if self.witnesses.len() == voters {
            return Err(MemberError::NoCandidate { voters });
        }
        Ok(self)
    }

    /// Returns the same list, in which the members keep the births that they have in another. A
    /// voter that does not vote by that list is awaited.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        let all = self.voters.iter().chain(&*self.awaited).copied();
        let (mut voters, mut awaited): (Vec<_>, Vec<_>) = all.partition(|&id| before.votes(id));
        voters.sort_unstable();
        awaited.sort_unstable();
        let births = voters.iter().filter_map(|id| Some((*id, *before.births.get(id)?))).collect();
        self.counting(voters, awaited, births)
    }

    /// Returns the same list, in which a member that is to vote does so with this birth.
    #[must_use]
    pub fn letting_in(self, node: NodeId, birth: Birth) -> Self {
        let mut births = (*self.births).clone();
        match birth {
            Birth::FOUNDER => births.remove(&node),
            birth => births.insert(node, birth),
        };
        let mut voters = self.voters.to_vec();
        voters.extend(self.awaited.iter().find(|&&id| id == node));
        voters.sort_unstable();
        let awaited = self.awaited.iter().copied().filter(|&id| id != node).collect();
        self.counting(voters, awaited, births)
    }

    fn counting(
        self,
        voters: Vec<NodeId>,
        awaited: Vec<NodeId>,
        births: BTreeMap<NodeId, Birth>,
    ) -> Self {
        let (voters, awaited, births) = (voters.into(), awaited.into(), Arc::new(births));
        Self { voters, awaited, births, order: None, election: 0, ..self }
    }

    /// Returns the birth with which a member votes.
    #[must_use]
    pub fn birth(&self, id: NodeId) -> Option<Birth> {
        self.votes(id).then(|| self.births.get(&id).copied().unwrap_or(Birth::FOUNDER))
    }

    /// Returns whether a node is to vote, but not with this birth: a leader has to let it in.
    #[must_use]
    pub fn awaits(&self, id: NodeId, birth: Birth) -> bool {
        let is_to = self.votes(id) || self.awaited.binary_search(&id).is_ok();
        is_to && self.birth(id) != Some(birth)
    }

    /// Returns the ids of the members that are to vote once a leader has let them in, ascending.
    #[must_use]
    pub fn awaited(&self) -> &[NodeId] {
        &self.awaited
    }

    /// Returns the same members, which are reached at these addresses.
    #[must_use]
    pub fn with_addresses(self, addresses: BTreeMap<NodeId, String>) -> Self {
        Self { addresses: Arc::new(addresses), ..self }
    }

    /// Returns where members are reached, of those of which it is known.
    #[must_use]
    pub fn addresses(&self) -> &BTreeMap<NodeId, String> {
        &self.addresses
    }

    /// Returns the same members, as the list with this number.
    #[must_use]
    pub fn numbered(self, config_epoch: u64) -> Self {
        Self { config_epoch, ..self }
    }

    /// Returns the same members, as they come before each other in the election with this number,
    /// of several that they take part in. Each member that may lead is the first in as many of
    /// them as any other, or in one less; and so is each of the others the second where that one is
    /// the first. In election 0 the highest is the first. Of the protocols that there are, only
    /// quorum has another order than that of the ids. Members whose roles change have that again.
    ///
    /// ```
    /// use bellwether_core::protocol::{Members, NodeId};
    /// let ids = [1, 2, 3].map(|id| NodeId::new(id).expect("not zero"));
    /// let members = Members::new(ids)?.for_election(1);
    /// assert!(members.comes_before(ids[1], ids[2]) && members.comes_before(ids[2], ids[0]));
    /// # Ok::<(), bellwether_core::protocol::MemberError>(())
    /// ```
    #[must_use]
    pub fn for_election(self, number: usize) -> Self {
        let mut left: Vec<_> = self.candidates().collect();
        left.reverse();
        let (mut rest, mut order) = (number, Vec::with_capacity(left.len()));
        while !left.is_empty() {
            let count = left.len();
            order.push(left.remove(rest % count));
            rest /= count;
        }
        Self { order: (number > 0).then(|| order.into()), election: number, ..self }
    }

    /// Returns the number of the election by which they [come before](Members::comes_before) each
    /// other.
    #[must_use]
    pub fn election(&self) -> usize {
        self.election
    }

    /// Returns whether `first` comes before `other` if both can lead: whether it is higher, unless
    /// the order is [another one](Members::for_election).
    #[must_use]
    pub fn comes_before(&self, first: NodeId, other: NodeId) -> bool {
        let Some(order) = &self.order else { return first > other };
        let place = |id| order.iter().position(|&one| one == id).unwrap_or(order.len());
        place(first) < place(other)
    }

    /// Returns the number of this list of members: the first is 1, and each change makes it one
    /// higher.
    #[must_use]
    pub fn config_epoch(&self) -> u64 {
        self.config_epoch
    }

    /// Returns whether `id` is a member.
    #[must_use]
    pub fn contains(&self, id: NodeId) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// Checks that `node` is one of the members.
    ///
    /// # Errors
    ///
    /// [`MemberError::NotAMember`] if it is not.
    pub fn require(&self, node: NodeId) -> Result<(), MemberError> {
        match self.contains(node) {
            true => Ok(()),
            false => Err(MemberError::NotAMember { node, members: self.clone() }),
        }
    }

    /// Returns whether those have the same members, in the same roles.
    #[must_use]
    pub fn has_roles_of(&self, other: &Self) -> bool {
        let same = self.ids == other.ids && self.witnesses == other.witnesses;
        same && self.observers().eq(other.observers())
    }

    /// Returns the number of members.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ids.len()
    }

    /// Returns the ids of all members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids.iter().copied()
    }

    /// Returns the ids of the members that vote, ascending: those of which a majority counts.
    #[must_use]
    pub fn voters(&self) -> &[NodeId] {
        &self.voters
    }

    /// Returns the ids of the members that only observe, ascending.
    pub fn observers(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.iter().filter(|&id| self.observes(id))
    }

    /// Returns whether `id` votes.
    #[must_use]
    pub fn votes(&self, id: NodeId) -> bool {
        self.voters.binary_search(&id).is_ok()
    }

    /// Returns whether `id` is a member that only observes.
    #[must_use]
    pub fn observes(&self, id: NodeId) -> bool {
        self.contains(id) && !self.votes(id) && self.awaited.binary_search(&id).is_err()
    }

    /// Returns the ids of the members that vote and never lead, ascending.
    #[must_use]
    pub fn witnesses(&self) -> &[NodeId] {
        &self.witnesses
    }

    /// Returns whether `id` is a member that votes and never leads.
    #[must_use]
    pub fn is_witness(&self, id: NodeId) -> bool {
        self.witnesses.binary_search(&id).is_ok()
    }

    /// Returns whether `id` may lead: it votes, and is no witness.
    #[must_use]
    pub fn may_lead(&self, id: NodeId) -> bool {
        self.votes(id) && !self.is_witness(id)
    }

    /// Returns the ids of the members that may lead, ascending.
    pub fn candidates(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.voters.iter().copied().filter(|&id| !self.is_witness(id))
    }

    /// Returns the members with lower ids than `id`, ascending.
    #[must_use]
    pub fn below(&self, id: NodeId) -> &[NodeId] {
        &self.ids[..self.ids.partition_point(|&member| member < id)]
    }

    /// Returns the members with higher ids than `id`, ascending.
    #[must_use]
    pub fn above(&self, id: NodeId) -> &[NodeId] {
        &self.ids[self.ids.partition_point(|&member| member <= id)..]
    }
}

/// A list of members as it is written to a disk or sent; its order is that of the ids.
#[derive(Serialize, Deserialize)]
struct Written {
    number: u64,
    members: Vec<(NodeId, Option<String>)>,
    observers: Vec<NodeId>,
    witnesses: Vec<NodeId>,
    awaited: Vec<NodeId>,
    births: Vec<(NodeId, Birth)>,
}

impl From<Members> for Written {
    fn from(members: Members) -> Self {
        Self {
            number: members.config_epoch,
            members: members.iter().map(|id| (id, members.addresses.get(&id).cloned())).collect(),
            observers: members.observers().collect(),
            witnesses: members.witnesses.to_vec(),
            awaited: members.awaited.to_vec(),
            births: members.births.iter().map(|(&id, &birth)| (id, birth)).collect(),
        }
    }
}

impl TryFrom<Written> for Members {
    type Error = MemberError;

    fn try_from(written: Written) -> Result<Self, MemberError> {
        let Written { number, members, observers, witnesses, awaited, births } = written;
        let addresses =
            members.iter().filter_map(|(id, address)| Some((*id, address.clone()?))).collect();
        let members =
            Self::new(members.into_iter().map(|(id, _)| id))?.numbered(number.max(Self::FIRST));
        let members = members.with_addresses(addresses);
        let members = members.with_observers(observers)?.with_witnesses(witnesses)?;
        let (awaited, voters): (Vec<_>, Vec<_>) =
            members.voters.iter().partition(|&id| awaited.contains(id));
        let births = births.into_iter().filter(|(id, _)| voters.contains(id)).collect();
        Ok(members.counting(voters, awaited, births))
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, id) in self.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{id}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;
    use crate::protocol::stories::id;

    /// Three members, of which these observe, and those are witnesses.
    fn three(observers: &[u16], witnesses: &[u16]) -> Result<Members, MemberError> {
        let some = |ids: &[u16]| ids.iter().copied().map(id).collect::<Vec<_>>();
        let members = Members::new([1, 2, 3].map(id))?.with_observers(some(observers))?;
        members.with_witnesses(some(witnesses))
    }

    #[test]
    fn lists_of_which_no_member_could_lead_or_that_contradict_themselves_are_refused() {
        let twice = |node| MemberError::DuplicateId { node: id(node) };
        let both = MemberError::WitnessObserves { node: id(1) };
        for (list, error) in [
            (Members::new([1, 2, 1].map(id)), twice(1)),
            (Members::new([]), MemberError::Size { members: 0 }),
            (Members::new((1..=300).map(id)), MemberError::Size { members: 256 }),
            (three(&[3, 3], &[]), twice(3)),
            (three(&[3, 1, 2], &[]), MemberError::TooFewVoters { voters: 0 }),
            (three(&[], &[3, 3]), twice(3)),
            (three(&[], &[1, 2, 3]), MemberError::NoCandidate { voters: 3 }),
            (three(&[1], &[2, 3]), MemberError::NoCandidate { voters: 2 }),
            (three(&[1], &[1]), both.clone()),
            (three(&[], &[1]).and_then(|list| list.with_observers([id(1)])), both),
        ] {
            assert_eq!(list, Err(error));
        }
        assert!(matches!(three(&[4], &[]), Err(MemberError::UnknownObserver { .. })));
        assert!(matches!(three(&[], &[4]), Err(MemberError::UnknownWitness { .. })));
    }

    #[test]
    fn observers_do_not_vote_and_witnesses_never_lead() {
        let list = three(&[2], &[3]).expect("node 1 may lead");
        assert_eq!((list.count(), list.voters()), (3, &[1, 3].map(id)[..]));
        assert!(list.observes(id(2)) && !list.votes(id(2)) && !list.observes(id(9)));
        assert!(list.is_witness(id(3)) && list.votes(id(3)) && !list.may_lead(id(3)));
        assert!(list.may_lead(id(1)) && !list.may_lead(id(9)) && !list.is_witness(id(9)));
        assert_eq!(list.candidates().collect::<Vec<_>>(), [id(1)]);
        assert_eq!(three(&[3, 1], &[]).expect("one votes").voters(), [id(2)]);
        assert_eq!(three(&[], &[3, 1]).expect("one may lead").witnesses(), [1, 3].map(id));
    }

    #[test]
    fn each_member_is_first_and_second_in_as_many_elections_as_any_other() {
        let ids = [1, 2, 3, 4, 5].map(id);
        let members = Members::new(ids).expect("valid");
        let members = members.with_observers([ids[0]]).expect("valid");
        let members = members.with_witnesses([ids[1]]).expect("valid");
        let mut leading = BTreeMap::new();
        for number in 0..60 {
            let ordered = members.clone().for_election(number);
            assert_eq!(ordered == members, number == 0, "{number}");
            let mut order: Vec<_> = ordered.candidates().collect();
            order.sort_by(|&a, &b| match ordered.comes_before(a, b) {
                true => Ordering::Less,
                false => ordered.comes_before(b, a).cmp(&false),
            });
            assert!(order.iter().all(|&id| ordered.comes_before(id, ids[1])), "{order:?}");
            *leading.entry((order[0], order[1])).or_insert(0) += 1;
        }
        assert_eq!(leading.len(), 6, "of three that may lead: {leading:?}");
        assert!(leading.values().all(|&count| count == 10), "{leading:?}");
        let changed = members.clone().for_election(1).with_observers([ids[0]]);
        assert_eq!(changed, Ok(members), "their order is that of the ids again");
    }

    #[test]
    fn cluster_names_are_short_and_plain() {
        assert!("orders-eu.1_b".parse::<ClusterId>().is_ok());
        for bad in ["", "a b", "ä", &"a".repeat(65)] {
            assert!(bad.parse::<ClusterId>().is_err(), "{bad}");
        }
    }
}
