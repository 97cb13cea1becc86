//! What a program learns of the nodes that led at the same time as its own: without a quorum, after
//! a cut or a pause, there can be some.
//!
//! A core reports each message that shows a rival. In most protocols the node that gives way gets
//! one, and the node that goes on to lead may get none. So a node that has heard of a rival says so
//! to the rival: no core needs that, and no core sees it.

use std::collections::BTreeSet;

use super::Member;
use super::event::Action;
use crate::protocol::{Core, NodeId};

/// The rivals of which the program was told in the last of its own terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rivals {
    term: u64,
    told: BTreeSet<NodeId>,
}

impl Rivals {
    /// Notes the rival. Returns whether it is the first time in this term.
    fn note(&mut self, term: u64, rival: NodeId) -> bool {
        if self.term != term {
            *self = Self { term, told: BTreeSet::new() };
        }
        self.told.insert(rival)
    }

    /// The rivals of this term that were told.
    pub(super) fn of(&self, term: u64) -> impl Iterator<Item = NodeId> + '_ {
        self.told.iter().copied().filter(move |_| self.term == term)
    }
}

impl<C: Core> Member<C> {
    /// The core leads, and has heard that this node does.
    pub(super) fn on_rival_heard(&mut self, rival: NodeId) {
        if self.report_rival(rival) {
            self.actions.push(Action::TellRival(rival));
        }
    }

    /// Tells the program once in a term of its own that this node led at the same time. Returns
    /// whether it did. A program that was never told that its node leads has done nothing as a
    /// leader, and one that leads no longer has done it in its last term.
    pub(super) fn report_rival(&mut self, rival: NodeId) -> bool {
        let term = self.view.terms();
        let is_news = term > 0 && self.rivals.note(term, rival);
        if is_news {
            self.view.note_rival(rival);
            self.actions.push(Action::Publish(self.view));
        }
        is_news
    }
}
