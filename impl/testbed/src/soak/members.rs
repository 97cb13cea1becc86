//! Lists of members, and how one becomes the next.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bellwether_testbed::wait;

use super::cluster::Cluster;
use super::network::Network;

/// A list of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members {
    pub(crate) config_epoch: u64,
    /// Those that vote; the witnesses are among them.
    pub(crate) voters: BTreeSet<u16>,
    pub(crate) observers: BTreeSet<u16>,
    pub(crate) witnesses: BTreeSet<u16>,
}

impl Members {
    /// The first list, in which all vote and may lead.
    pub(crate) fn of(voters: impl IntoIterator<Item = u16>) -> Self {
        Self {
            config_epoch: 1,
            voters: voters.into_iter().collect(),
            observers: BTreeSet::new(),
            witnesses: BTreeSet::new(),
        }
    }

    /// All members, in the order of their ids.
    pub(crate) fn all(&self) -> BTreeSet<u16> {
        &self.voters | &self.observers
    }

    /// Those that may lead.
    pub(crate) fn candidates(&self) -> BTreeSet<u16> {
        &self.voters - &self.witnesses
    }

    /// What the configuration of a node says of them. Its last section is open.
    pub(crate) fn section(&self, node: u16, network: &dyn Network) -> String {
        let mut text = String::new();
        for (key, nodes) in [("observers", &self.observers), ("witnesses", &self.witnesses)] {
            // An older daemon does not know every key.
            if !nodes.is_empty() {
                let nodes: Vec<_> = nodes.iter().copied().collect();
                let _ = writeln!(text, "{key} = {nodes:?}");
            }
        }
        text.push_str("[members]\n");
        for other in self.all() {
            let address =
                if other == node { network.address(node) } else { network.member(node, other) };
            let _ = writeln!(text, "{other} = \"{address}\"");
        }
        text
    }

    /// What can become of them within the nodes `1..=nodes`, if `least` must vote, and not more
    /// than one more. A witness stays, and so does the last observer.
    pub(crate) fn changes(&self, nodes: u16, least: usize) -> Vec<Change> {
        let members = self.all();
        let outside = (1..=nodes).filter(|node| !members.contains(node));
        let mut changes = Vec::new();
        if self.voters.len() <= least {
            changes.extend(outside.clone().map(Change::VoterJoins));
            if self.observers.len() > 1 {
                changes.extend(self.observers.iter().copied().map(Change::Promoted));
            }
        } else {
            changes.extend(self.candidates().into_iter().map(Change::VoterLeaves));
            changes.extend(self.candidates().into_iter().map(Change::Demoted));
        }
        changes.extend(outside.map(Change::ObserverJoins));
        if self.observers.len() > 1 {
            changes.extend(self.observers.iter().copied().map(Change::ObserverLeaves));
        }
        changes
    }

    /// The list after a change.
    pub(crate) fn after(&self, change: Change) -> Self {
        let mut next = self.clone();
        next.config_epoch += 1;
        match change {
            Change::VoterJoins(node) => _ = next.voters.insert(node),
            Change::VoterLeaves(node) => _ = next.voters.remove(&node),
            Change::ObserverJoins(node) => _ = next.observers.insert(node),
            Change::ObserverLeaves(node) => _ = next.observers.remove(&node),
            Change::Promoted(node) => {
                next.observers.remove(&node);
                next.voters.insert(node);
            }
            Change::Demoted(node) => {
                next.voters.remove(&node);
                next.observers.insert(node);
            }
        }
        next
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "voters {:?}, of which {:?} are witnesses, and observers {:?}",
            self.voters, self.witnesses, self.observers
        )
    }
}

/// One change of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    VoterJoins(u16),
    VoterLeaves(u16),
    ObserverJoins(u16),
    ObserverLeaves(u16),
    /// An observer votes from now on.
    Promoted(u16),
    /// A voter observes from now on.
    Demoted(u16),
}

impl Change {
    /// Whether this node may lead no longer.
    pub(crate) fn deposes(self, leader: u16) -> bool {
        matches!(self, Self::VoterLeaves(node) | Self::Demoted(node) if node == leader)
    }

    /// What a node is asked for.
    fn request(self, network: &dyn Network) -> String {
        let (what, node) = match self {
            Self::VoterJoins(node) => ("add", node),
            Self::ObserverJoins(node) => ("add-observer", node),
            Self::VoterLeaves(node) | Self::ObserverLeaves(node) => ("remove", node),
            Self::Promoted(node) => ("vote", node),
            Self::Demoted(node) => ("observe", node),
        };
        let address = what.starts_with("add").then(|| network.address(node));
        let address = address.map(|address| format!("&address={address}"));
        format!("members?change={what}&node={node}{}", address.unwrap_or_default())
    }
}

/// Gives the cluster its next list, as `docs/daemon.md` tells an operator to: a new member starts,
/// and the leader is asked, and the next one if that is to leave; when all follow one, a member
/// that has left is stopped. Returns how long it took until all had the list.
pub(crate) fn change(
    cluster: &mut Cluster,
    change: Change,
    limit: Duration,
    agreed: impl Fn(&[u16], Instant) -> anyhow::Result<()>,
) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let mut next = cluster.members.after(change);
    let (old, new) = (cluster.members.all(), next.all());
    for &node in new.difference(&old) {
        cluster.configure(node, &next)?;
        cluster.start(node)?;
        cluster.wait_until_it_answers(node, limit)?;
    }
    let request = change.request(&*cluster.network);
    let ask = |&node: &u16| cluster.ask(node, &request, limit).is_ok_and(|asked| asked.0 == 200);
    // The leader lets a new voter in by one more list.
    let has = |&node: &u16| {
        let list = cluster.list_of(node);
        let later = |list: &Members| list.config_epoch >= next.config_epoch;
        list.filter(later)
            .is_some_and(|list| Members { config_epoch: next.config_epoch, ..list } == next)
    };
    // It may be decided although the leader could not say so.
    let done = || old.iter().any(|node| has(node) || ask(node));
    wait::until("the leader changes the list", limit, done)?;
    wait::until("all have the list", limit, || new.iter().all(has))?;
    let members: Vec<u16> = new.iter().copied().collect();
    let list = new.iter().find_map(|&node| cluster.list_of(node));
    next.config_epoch = list.map_or(next.config_epoch, |list| list.config_epoch);
    cluster.members = next;
    let changed = Instant::now();
    agreed(&members, changed)?;
    for &node in old.difference(&new) {
        cluster.stop(node, limit)?;
    }
    Ok(changed.duration_since(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_members_change_one_at_a_time() -> anyhow::Result<()> {
        let mut first = Members::of(1..=5);
        first.observers.insert(6);
        first.witnesses.insert(3);
        let mut seen = vec![first];
        let mut met = BTreeSet::new();
        let mut at = 0;
        while let Some(list) = seen.get(at).cloned() {
            at += 1;
            let changes = list.changes(7, 5);
            anyhow::ensure!(!changes.is_empty(), "{list}: nothing can change");
            for change in changes {
                let next = list.after(change);
                let fits = (5..=6).contains(&next.voters.len())
                    && next.config_epoch == list.config_epoch + 1
                    && (&list.voters ^ &next.voters).len() <= 1
                    && next.voters.is_superset(&next.witnesses)
                    && next.voters.is_disjoint(&next.observers)
                    && !next.observers.is_empty();
                anyhow::ensure!(fits, "{list}: {change:?}: {next}");
                met.insert(format!("{change:?}").split('(').next().unwrap_or_default().to_owned());
                let same = |other: &Members| {
                    (&other.voters, &other.observers) == (&next.voters, &next.observers)
                };
                if !seen.iter().any(same) {
                    seen.push(next);
                }
            }
        }
        anyhow::ensure!(met.len() == 6, "{met:?}");
        Ok(())
    }
}
