//! The invariants, which must hold at every step. Names are those of the model's properties where
//! the model has it.

use std::collections::BTreeMap;
use std::time::Duration;

use bellwether_core::protocol::quorum::{Lists, Mark};
use bellwether_core::protocol::{Birth, Members, NodeId, Role};

use crate::clock::Moment;
use crate::subject::{Granted, Says};

mod rules;

/// The face of a node, which an observer sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Face {
    /// The node.
    pub id: NodeId,
    /// True if it is up; a process that is stopped is.
    pub up: bool,
    /// The role of the node.
    pub role: Role,
    /// The node that it takes for the leader.
    pub leader: Option<NodeId>,
    /// The term that its program believes to hold as a leader.
    pub term: Option<Term>,
    /// The work of its program that is not done yet, which only a leader may do.
    pub work: Option<Term>,
    /// True if its program has prepared itself for the leadership that it was asked about last.
    pub prepared: bool,
    /// The grant that a crash at this moment would leave.
    pub durable: Option<Granted>,
    /// The lists of members that a crash would leave; none if the protocol has no such lists.
    pub lists: Option<Lists>,
    /// The lists of members by which the node was elected last, in this life.
    pub elected_by: Option<Lists>,
    /// The birth with which a crash would leave it, if the protocol has births.
    pub birth: Option<Birth>,
    /// True if it is to vote by the lists that it knows, and waits to be let in.
    pub waits: bool,
    /// How often it has lost its disk.
    pub wiped: u64,
    /// True if its program is told of a problem with the store.
    pub problem: bool,
}

/// A node believes that it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// In this epoch, if the protocol has epochs.
    pub epoch: Option<u64>,
    /// Until this moment of true time, when its lease is over by its own clock; for ever if the
    /// protocol has no leases.
    pub until: Moment,
}

impl Face {
    /// Returns the term that its program holds, or still does, as a leader at this moment, if its
    /// lease lasts.
    #[must_use]
    pub fn leads(&self, at: Moment) -> Option<Term> {
        self.term.into_iter().chain(self.work).find(|term| at < term.until)
    }

    /// Returns whether that node is a member by one of its lists; all are if there is no list.
    #[must_use]
    pub fn has_member(&self, id: NodeId) -> bool {
        let lists = self.lists.as_ref();
        lists.is_none_or(|lists| lists.each().any(|list| list.contains(id)))
    }

    /// Returns whether a voter with its id by these lists has another birth. It has no vote by them
    /// then: a majority is one of the others.
    fn has_forgotten(&self, lists: &Lists) -> bool {
        let mut births = lists.each().filter_map(|list| list.birth(self.id));
        births.any(|birth| Some(birth) != self.birth)
    }
}

/// Returns whether this holds for a majority of the voters of each list that counts.
fn has_majority(nodes: &[Face], lists: &Lists, holds: impl Fn(&Face) -> bool) -> bool {
    lists.each().all(|list| {
        let for_it = nodes.iter().filter(|face| list.votes(face.id) && holds(face)).count();
        2 * for_it > list.voters().len()
    })
}

/// All nodes at one moment.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The moment.
    pub at: Moment,
    /// The nodes, lowest first.
    pub nodes: &'a [Face],
    /// Since when all members by the lists of one node that leads, if they are up, agree on it.
    pub agreed: Option<(Moment, NodeId)>,
    /// The terms of the run for its end.
    pub terms: Terms,
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// When faults begin.
    pub from: Moment,
    /// When all faults are over.
    pub calm: Moment,
    /// How long after that all nodes must agree.
    pub bound: Duration,
}

/// A fact that has just happened.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// The node at this place has another face than before.
    Changed(usize),
    /// A message leaves a node.
    Sent {
        /// The place of the sender.
        from: usize,
        /// The receiver.
        to: NodeId,
        /// The content of the message.
        says: Says,
        /// True if the sender led the epoch that it speaks of, by its own clock, when it handled
        /// what this may follow from.
        led: bool,
    },
    /// The process of the node at this place waits for something to happen.
    Waits {
        /// The place of the node.
        node: usize,
        /// True if it led before a pause of its process, or of its disk, and leads since, and the
        /// others have not had the time to hear so.
        paused: bool,
        /// True if something of it waits for a disk that has not answered in time.
        stalled: bool,
    },
    /// An operator has asked a node to let another one lead, and gets an answer.
    Answered {
        /// The place of the node that was asked.
        node: usize,
        /// The node that was to lead.
        to: NodeId,
        /// The epoch that the node led when it was asked.
        epoch: Option<u64>,
        /// The epoch that it leads when it answers, whatever its program knows.
        leads: Option<u64>,
        /// True if the other node could lead from the question to the answer; none if that is
        /// unknown.
        able: Option<bool>,
        /// The answer.
        answer: Answer,
    },
    /// The client of a store has heard of a token.
    Told {
        /// The place of the node.
        node: usize,
        /// Which of its lives this is.
        life: u64,
        /// The token.
        token: u64,
        /// True if the store has granted it to this client, which has asked for the lease.
        is_grant: bool,
    },
    /// The fence of the store lets a write with this token pass.
    Written(u64),
    /// Something happens to the store, or there are two processes with one id.
    Mishap {
        /// By when a node must tell of it.
        by: Moment,
    },
    /// Time has passed.
    Passed,
}

/// The answer to an operator who has asked that another node leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The other node leads, in this epoch.
    Done(Option<u64>),
    /// The other node has not come, and the one that was asked leads on.
    Stays,
    /// A third node leads, or none is heard.
    Other,
    /// The other node cannot lead, or the one that was asked does not.
    Refused,
}

/// The memory of the invariants of a run.
#[derive(Debug, Default)]
pub struct Memory {
    /// The place of the node that has led each epoch.
    led_by: BTreeMap<u64, usize>,
    /// The latest epoch of a leader, and its lists; its majorities must stand from then on.
    stands: Option<(u64, NodeId, Lists)>,
    /// The highest epoch that was led, and its leader.
    highest: Option<(u64, NodeId)>,
    /// The node to which each node has granted each epoch, with each disk that it has had.
    granted: BTreeMap<(u64, usize, u64), NodeId>,
    /// The list of each number, and the node that has known it first.
    decided: BTreeMap<u64, (Members, NodeId)>,
    /// The mark that the lists of each node had last, with each disk that it has had.
    marks: BTreeMap<(usize, u64), Mark>,
    /// The node that has said first that it leads each epoch.
    said: BTreeMap<u64, NodeId>,
    /// The highest token that each life of each node has seen.
    tokens: BTreeMap<(usize, u64), u64>,
    /// The token of the last write that the fence let pass.
    written: u64,
    /// The moment by which a node must tell of the latest mishap, if none has yet.
    due: Option<Moment>,
    /// The place of the first leader, and its epoch.
    first: Option<(usize, Option<u64>)>,
}

/// Nothing, or what is wrong, in one sentence.
pub type Verdict = Result<(), String>;

/// Something that must hold: looks at what has happened.
pub type Invariant = fn(&mut Memory, View<'_>, Fact) -> Verdict;

/// The invariants with their names.
pub const ALL: &[(&str, Invariant)] = &[
    ("one-leader-per-epoch", rules::one_leader_per_epoch),
    ("at-most-one-leader", rules::at_most_one_leader),
    ("epochs-grow", rules::epochs_grow),
    ("epochs-in-order", rules::epochs_in_order),
    ("grants-stand", rules::grants_stand),
    ("lease-before-word", rules::lease_before_word),
    ("loss-before-word", rules::loss_before_word),
    ("one-list-per-number", rules::one_list_per_number),
    ("lists-grow", rules::lists_grow),
    ("pause-is-a-loss", |_, view, fact| rules::silence_is_a_loss(view, fact, true)),
    ("prepared-first", rules::prepared_first),
    ("stalled-disk-is-a-loss", |_, view, fact| rules::silence_is_a_loss(view, fact, false)),
    ("transfers-are-true", rules::transfers_are_true),
    ("transfers-work", rules::transfers_work),
    ("tokens-grow", rules::tokens_grow),
    ("fence-in-order", rules::fence_in_order),
    ("problems-are-told", rules::problems_are_told),
    ("first-leader-stays", rules::first_leader_stays),
    ("settles", |_, view, _| rules::settles(view, false)),
    ("stabilises", |_, view, _| rules::settles(view, true)),
];

/// The invariants with these names.
#[must_use]
pub fn named(names: &[&str]) -> Vec<(&'static str, Invariant)> {
    ALL.iter().filter(|(name, _)| names.contains(name)).copied().collect()
}

#[cfg(test)]
mod tests;
