//! The list of members as one value, and the changes that lead from one list to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Address, Config, Error, Runnable, with_roles};
use crate::protocol::{Members, NodeId};

/// The members of a cluster, with their addresses and roles, and the number of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemberList {
    /// The number of the list, one higher with each change.
    pub config_epoch: u64,
    /// The address of each member.
    pub members: BTreeMap<NodeId, Address>,
    /// The members that only observe.
    pub observers: BTreeSet<NodeId>,
    /// The members that vote and never lead.
    pub witnesses: BTreeSet<NodeId>,
    /// The voters that a leader has not let in yet: they are in no majority. No file says this.
    pub awaited: BTreeSet<NodeId>,
}

/// A change of the list of members: of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// A node becomes a member that votes.
    Add(NodeId, Address),
    /// A node becomes a member that only observes.
    AddObserver(NodeId, Address),
    /// A member leaves.
    Remove(NodeId),
    /// A member that votes only observes from now on.
    Observe(NodeId),
    /// A member that only observes votes from now on.
    Vote(NodeId),
}

impl MemberChange {
    /// Returns the node whose membership changes.
    #[must_use]
    pub fn node(&self) -> NodeId {
        match self {
            Self::Add(node, _) | Self::AddObserver(node, _) => *node,
            Self::Remove(node) | Self::Observe(node) | Self::Vote(node) => *node,
        }
    }
}

impl fmt::Display for MemberChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(node, address) => write!(f, "node {node} at {address} becomes a member"),
            Self::AddObserver(node, address) => {
                write!(f, "node {node} at {address} becomes an observer")
            }
            Self::Remove(node) => write!(f, "node {node} leaves"),
            Self::Observe(node) => write!(f, "node {node} only observes"),
            Self::Vote(node) => write!(f, "node {node} votes"),
        }
    }
}

impl MemberList {
    /// Returns the members that vote, or will once a leader has let them in.
    pub fn voters(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members.keys().copied().filter(|id| !self.observers.contains(id))
    }

    /// Returns the list after this change, with the next number.
    ///
    /// # Errors
    ///
    /// What is wrong with the change, with the remedy.
    pub fn changed(&self, change: &MemberChange) -> Result<Self, String> {
        let mut next = Self { config_epoch: self.config_epoch.saturating_add(1), ..self.clone() };
        let node = change.node();
        let (is_member, observes) =
            (self.members.contains_key(&node), self.observers.contains(&node));
        match change {
            MemberChange::Add(_, address) | MemberChange::AddObserver(_, address) => {
                if is_member {
                    return Err(format!("node {node} is a member already"));
                }
                if let Some((other, _)) = self.members.iter().find(|(_, known)| *known == address) {
                    return Err(format!("node {other} has the address {address}: name another"));
                }
                next.members.insert(node, address.clone());
                let is_observer = matches!(change, MemberChange::AddObserver(..));
                let role = if is_observer { &mut next.observers } else { &mut next.awaited };
                role.insert(node);
            }
            _ if !is_member => return Err(format!("node {node} is no member")),
            MemberChange::Remove(_) => {
                next.members.remove(&node);
                next.observers.remove(&node);
                next.witnesses.remove(&node);
                next.awaited.remove(&node);
            }
            MemberChange::Observe(_) if observes => {
                return Err(format!("node {node} only observes already"));
            }
            MemberChange::Observe(_) => {
                next.observers.insert(node);
                next.witnesses.remove(&node);
                next.awaited.remove(&node);
            }
            MemberChange::Vote(_) if !observes => {
                return Err(format!("node {node} votes already"));
            }
            MemberChange::Vote(_) => {
                next.observers.remove(&node);
                next.awaited.insert(node);
            }
        }
        let may_lead = |id: NodeId| !next.witnesses.contains(&id) && !next.awaited.contains(&id);
        if !next.voters().any(may_lead) {
            let problem = "no voter would be left that may lead: all others are witnesses, or no \
                           leader has let them in yet";
            return Err(problem.to_owned());
        }
        Ok(next)
    }
}

/// As a file may have it, in one line.
impl fmt::Display for MemberList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.members.iter().map(|(id, address)| format!("{id} = \"{address}\""));
        let members = members.collect::<Vec<_>>().join(", ");
        let ids = |ids: &BTreeSet<NodeId>| {
            ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let (observers, witnesses) = (ids(&self.observers), ids(&self.witnesses));
        write!(f, "members = {{ {members} }}, observers = [{observers}], witnesses = [{witnesses}]")
    }
}

impl From<&Members> for MemberList {
    fn from(list: &Members) -> Self {
        let members = list.addresses().iter();
        Self {
            config_epoch: list.config_epoch(),
            members: members.filter_map(|(&id, at)| Some((id, at.parse().ok()?))).collect(),
            observers: list.observers().collect(),
            witnesses: list.witnesses().iter().copied().collect(),
            awaited: list.awaited().iter().copied().collect(),
        }
    }
}

/// The addresses as the core carries them.
pub(super) fn written(addresses: &BTreeMap<NodeId, Address>) -> BTreeMap<NodeId, String> {
    addresses.iter().map(|(&id, address)| (id, address.to_string())).collect()
}

impl<C: Runnable> Config<C> {
    /// Returns the members, their addresses and roles.
    #[must_use]
    pub fn list(&self) -> MemberList {
        MemberList {
            config_epoch: self.config_epoch(),
            members: self.addresses.clone(),
            observers: self.observers().collect(),
            witnesses: self.witnesses().collect(),
            awaited: BTreeSet::new(),
        }
    }

    /// Returns this configuration with another list of members, all of which have their votes. The
    /// node listens where it did.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the remedy: the node is no member of the list, for
    /// example.
    pub fn with_list(mut self, list: MemberList) -> Result<Self, Error> {
        let MemberList { config_epoch, members, observers, witnesses, .. } = list;
        let ids = Members::new(members.keys().copied())?.numbered(config_epoch);
        let ids = ids.with_addresses(written(&members));
        ids.require(self.node)?;
        self.members =
            with_roles::<C>(ids, observers.into_iter().collect(), witnesses.into_iter().collect())?;
        self.addresses = members;
        let section = self.section.clone();
        self.with_section(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u16) -> NodeId {
        NodeId::new(number).expect("not zero")
    }

    fn address(node: u16) -> Address {
        format!("127.0.0.1:{}", 7_000 + node).parse().expect("an address")
    }

    fn list(nodes: &[u16], observers: &[u16]) -> MemberList {
        let members = nodes.iter().map(|&node| (id(node), address(node))).collect();
        let observers = observers.iter().map(|&node| id(node)).collect();
        let (witnesses, awaited) = (BTreeSet::new(), BTreeSet::new());
        MemberList { config_epoch: 4, members, observers, witnesses, awaited }
    }

    #[test]
    fn each_change_leads_to_a_list_that_can_follow() {
        let four = list(&[1, 2, 3, 4], &[4]);
        for (change, voters) in [
            (MemberChange::Add(id(5), address(5)), &[1, 2, 3, 5][..]),
            (MemberChange::AddObserver(id(5), address(5)), &[1, 2, 3]),
            (MemberChange::Remove(id(2)), &[1, 3]),
            (MemberChange::Remove(id(4)), &[1, 2, 3]),
            (MemberChange::Observe(id(3)), &[1, 2]),
            (MemberChange::Vote(id(4)), &[1, 2, 3, 4]),
        ] {
            let next = four.changed(&change).expect("it makes sense");
            assert_eq!(next.config_epoch, 5);
            assert!(
                next.voters().map(NodeId::get).eq(voters.iter().copied()),
                "{change}: {next:?}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_reason() {
        let four = list(&[1, 2, 3, 4], &[3, 4]);
        let witnesses = BTreeSet::from([id(1), id(2)]);
        let three = MemberList { witnesses, ..list(&[1, 2, 3], &[]) };
        for (list, change, part) in [
            (&four, MemberChange::Add(id(1), address(9)), "is a member already"),
            (&four, MemberChange::Add(id(9), address(1)), "node 1 has the address"),
            (&four, MemberChange::Remove(id(9)), "is no member"),
            (&four, MemberChange::Observe(id(4)), "only observes already"),
            (&four, MemberChange::Vote(id(1)), "votes already"),
            (&four, MemberChange::Vote(id(9)), "is no member"),
            (&three, MemberChange::Remove(id(3)), "that may lead"),
            (&three, MemberChange::Observe(id(3)), "that may lead"),
        ] {
            let refused = list.changed(&change).expect_err("it makes none");
            assert!(refused.contains(part), "{change}: {refused}");
        }
    }

    #[test]
    fn a_new_voter_is_awaited_and_the_last_that_is_not_stays() {
        let next = list(&[1], &[]).changed(&MemberChange::Add(id(2), address(2))).expect("valid");
        assert!(next.awaited.iter().eq([&id(2)]), "{next:?}");
        let refused = next.changed(&MemberChange::Remove(id(1))).expect_err("the other waits");
        assert!(refused.contains("that may lead"), "{refused}");
        let without = next.changed(&MemberChange::Remove(id(2))).expect("valid");
        assert!(without.awaited.is_empty(), "{without:?}");
        let observed = next.changed(&MemberChange::Observe(id(2))).expect("valid");
        assert!(observed.awaited.is_empty(), "{observed:?}");
        let again = observed.changed(&MemberChange::Vote(id(2))).expect("valid");
        assert_eq!(again.awaited, next.awaited);
    }

    #[test]
    fn a_configuration_takes_a_list_and_gives_it_back() {
        let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
        let config = Config::new("orders", 2, members).expect("valid");
        assert_eq!(config.clone().with_list(config.list()).expect("the same"), config);
        let next = config.list().changed(&MemberChange::Add(id(4), address(4))).expect("valid");
        let later = config.clone().with_list(next.clone()).expect("valid");
        let next = MemberList { awaited: BTreeSet::new(), ..next };
        assert_eq!((later.list(), later.listen()), (next, config.listen()));
        let without = config.list().changed(&MemberChange::Remove(id(2))).expect("valid");
        config.with_list(without).expect_err("it is no member of that");
    }
}
