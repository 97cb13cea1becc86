//! What nodes tell each other of themselves beside their protocol: how much each is preferred as
//! the leader, whether it is fit to lead, and whether the cluster is in maintenance.
//!
//! It is told when a connection stands, and whenever it changes. No safety depends on it: what
//! follows from it is what an operator could ask of a node as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::protocol::NodeId;
use crate::protocol::quorum::Mark;

/// What a node says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeFacts {
    /// The node is to lead rather than one with a lower number.
    pub(crate) priority: u8,
    /// True if the node may lead: its machine is fit, and no command keeps it from standing for
    /// election.
    pub(crate) fit: bool,
    /// The newest decision that it knows.
    pub(crate) maintenance: Maintenance,
    /// How new the lists of members are that it knows.
    pub(crate) mark: Mark,
    /// Whether it votes, if it is to.
    pub(crate) votes: bool,
}

/// A decision on whether the cluster is in maintenance. The one with the highest number counts; of
/// two with one number, which nodes that did not hear each other have made, it is that to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Maintenance {
    /// How many decisions there were.
    number: u64,
    pub(crate) on: bool,
}

impl Maintenance {
    /// The decision after this one; the same if it changes nothing.
    pub(crate) fn decide(self, on: bool) -> Self {
        if self.on == on { self } else { Self { number: self.number.saturating_add(1), on } }
    }
}

/// What this node says of itself, and what the others say that are heard. A clone is the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterFacts(Arc<State>);

#[derive(Debug, Default)]
struct State {
    own: watch::Sender<NodeFacts>,
    others: watch::Sender<BTreeMap<NodeId, NodeFacts>>,
}

impl ClusterFacts {
    pub(crate) fn own(&self) -> NodeFacts {
        *self.0.own.borrow()
    }

    /// Changes what this node says of itself. If it is something else then, the others are told.
    pub(crate) fn change(&self, change: impl FnOnce(&mut NodeFacts)) {
        self.0.own.send_if_modified(|own| {
            let before = *own;
            change(own);
            *own != before
        });
    }

    /// What this node says of itself: what it says now, and each change.
    pub(crate) fn changes(&self) -> watch::Receiver<NodeFacts> {
        let mut own = self.0.own.subscribe();
        own.mark_changed();
        own
    }

    pub(crate) fn hear(&self, from: NodeId, facts: NodeFacts) {
        self.0.others.send_modify(|others| {
            others.insert(from, facts);
        });
    }

    /// The node is heard no longer.
    pub(super) fn forget(&self, node: NodeId) {
        self.0.others.send_if_modified(|others| {
            others.remove(&node);
            false
        });
    }

    /// What the other nodes say that are heard.
    pub(crate) fn heard(&self) -> BTreeMap<NodeId, NodeFacts> {
        self.0.others.borrow().clone()
    }

    /// Returns what the other nodes say that are heard, now and whenever one says something new.
    pub(crate) fn news(&self) -> watch::Receiver<BTreeMap<NodeId, NodeFacts>> {
        self.0.others.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_decisions_the_newer_counts_and_of_one_number_that_to_begin() {
        let none = Maintenance::default();
        let begun = none.decide(true);
        assert!(begun > none && begun.on);
        assert_eq!(begun.decide(true), begun, "nothing changes");
        let ended = begun.decide(false);
        assert!(ended > begun && !ended.on);
        // A node that has heard of the second knows no third, another makes one.
        let again = ended.decide(true);
        assert!(again > ended && again > Maintenance { number: again.number, on: false });
        let last = Maintenance { number: u64::MAX, on: true };
        assert!(last.decide(false) < last, "there is no number left");
    }

    #[test]
    fn a_change_is_sent_and_what_is_the_same_is_not() {
        let facts = ClusterFacts::default();
        let mut sent = facts.changes();
        assert!(sent.has_changed().expect("it is there"), "what is so now");
        sent.mark_unchanged();
        facts.change(|own| own.priority = 0);
        assert!(!sent.has_changed().expect("it is there"));
        facts.change(|own| own.priority = 7);
        assert!(sent.has_changed().expect("it is there"));
        assert_eq!(sent.borrow().priority, 7);
    }

    #[tokio::test(start_paused = true)]
    async fn what_another_says_counts_while_it_is_heard() {
        let facts = ClusterFacts::default();
        let node = NodeId::new(2).expect("not zero");
        let says = NodeFacts { priority: 9, fit: true, ..NodeFacts::default() };
        let mut news = facts.news();
        facts.hear(node, says);
        news.changed().await.expect("it is there");
        assert_eq!(facts.heard().get(&node), Some(&says));
        facts.forget(node);
        assert!(facts.heard().is_empty());
    }
}
