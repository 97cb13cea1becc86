//! The lists of members that a node knows: the one that it runs with, and the next.
//!
//! Nodes with different lists do not talk, so a list is asked for by a question of its own: of a
//! node that has the next one, and of one that refuses this node as it has a later one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::config::{ListMark, MemberList, Proposal};
use crate::protocol::NodeId;

/// A list that a node has made durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownList {
    pub(crate) list: MemberList,
    pub(crate) proposal: Proposal,
    /// Whether it takes effect. No other list with its number does then.
    pub(crate) decided: bool,
}

impl KnownList {
    pub(crate) fn mark(&self) -> ListMark {
        self.list.mark(self.proposal)
    }
}

/// The lists that a node can be asked for. A clone is the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The list that the node runs with, if that was decided: not if an operator has written it
    /// into the file, and decides which node has it when.
    running: Option<MemberList>,
    /// The next one.
    next: Option<KnownList>,
    /// The nodes that refuse this one, with the number of the later list that they have.
    ahead: BTreeMap<NodeId, u64>,
}

impl Lists {
    /// The node runs with this list, if it can be asked for it, and knows that one.
    pub(crate) fn begin(&self, running: Option<MemberList>, next: Option<KnownList>) {
        let mut state = self.state();
        (state.running, state.next) = (running, next);
    }

    pub(crate) fn next(&self) -> Option<KnownList> {
        self.state().next.clone()
    }

    pub(crate) fn set_next(&self, next: KnownList) {
        self.state().next = Some(next);
    }

    /// The list with this number, if the node has it.
    pub(crate) fn numbered(&self, number: u64) -> Option<KnownList> {
        let state = self.state();
        let proposal = Proposal::default();
        let decided = |list| KnownList { list, proposal, decided: true };
        let running = state.running.clone().map(decided);
        let mut both = state.next.clone().into_iter().chain(running);
        both.find(|known| known.list.config_epoch == number)
    }

    /// The node refuses this one, and has the list with this number.
    pub(super) fn is_ahead(&self, node: NodeId, number: u64) {
        self.state().ahead.insert(node, number);
    }

    /// Takes a node that has a later list, and the number of it.
    pub(crate) fn take_ahead(&self) -> Option<(NodeId, u64)> {
        self.state().ahead.pop_last()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
