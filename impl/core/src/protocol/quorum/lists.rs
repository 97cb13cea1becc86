//! The lists of members that a node has a part in, and how it moves from one to the next.
//!
//! Nodes talk only to those that have the same list, so a majority is one of a single list. Lists
//! that follow each other differ by one member: their majorities have a node in common, and that
//! one does not go back. Those of a list and of the one after the next need have none in common. So
//! a list is *in force* once it has had a leader. The first one needs a majority of the list before
//! as well, so a majority has left that; and of two lists with one number, which an operator may
//! have written by mistake, at most one comes into force, because a node takes only one. A node
//! that has followed no leader of its list may be given the next, and waits then until it hears a
//! node that has a part in it. So does one that is new.
//!
//! Majorities are those of voters: members that observe may come and go, any number at once. One
//! that becomes a voter, or was one, is a change.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Context, Durable, NodeId, Quorum, Reason, Timer};
use crate::protocol::settings::leaves_a_majority;
use crate::protocol::{MemberError, Members};

/// It waited to hear a member, and has heard one.
const JOINED: Reason = Reason::new("joined", "it takes part from now on");

/// A node that is new to its list starts.
const JOINS: Reason =
    Reason::new("joins", "the list of members is new to it, so it waits to hear another member");

/// A list of members, as a node remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct List {
    /// The number of the list, one higher with each change.
    pub config_epoch: u64,
    /// The members that vote, ascending.
    pub voters: Arc<[NodeId]>,
    /// Whether this node has followed a leader of this list, or led. The first list of a cluster
    /// has none before it, and is in force from the beginning.
    pub in_force: bool,
}

impl List {
    fn new(members: &Members) -> Self {
        let config_epoch = members.config_epoch();
        let in_force = config_epoch == Members::FIRST;
        Self { config_epoch, voters: members.voters().into(), in_force }
    }

    /// Whether a node with a part in this list may be given that one.
    fn allows(&self, next: &Members) -> Result<(), MemberError> {
        let (own, given) = (self.config_epoch, next.config_epoch());
        let left = self.voters.iter().filter(|&&id| !next.votes(id)).count();
        let joined = next.voters().iter().filter(|id| !self.voters.contains(id)).count();
        let changes = left + joined;
        let from = Members::of_any_size(self.voters.iter().copied()).numbered(own);
        // Those that stay must be enough to let the first leader of the next list lead.
        let too_few = given == own + 1 && !leaves_a_majority(&from, next);
        // Each of the lists between may have changed one voter.
        if given < own || changes as u64 > given - own || too_few {
            let change = (from, next.clone());
            return Err(MemberError::Change(Box::new(change)));
        }
        Ok(())
    }
}

/// Whether a node that remembers this may be given these members.
pub(super) fn check(kept: Option<&Durable>, members: &Members) -> Result<(), MemberError> {
    kept.and_then(|kept| kept.list.as_ref()).map_or(Ok(()), |list| list.allows(members))
}

impl Quorum {
    /// The list that it is started with. From one that is in force it moves at once, durably.
    pub(super) fn start(&mut self, cx: &mut Context<'_, Self>) {
        let members = &cx.config().members;
        let (given, first) = (members.config_epoch(), Members::FIRST);
        let new = List::new(members);
        cx.because(Reason::BOOTED);
        match &self.durable.list {
            Some(kept) if kept.config_epoch == given => {}
            // It remembers nothing, so it has promised nothing.
            None if given == first => self.durable.list = Some(new),
            Some(kept) if kept.in_force && kept.config_epoch + 1 == given => {
                self.durable.before = Some(Arc::clone(&kept.voters));
                self.durable.list = Some(new);
                cx.persist(self.durable.clone());
            }
            _ => {
                self.joins = true;
                cx.because(JOINS);
            }
        }
    }

    /// It has heard a member that has a part in its list, and takes part itself from now on.
    pub(super) fn join(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        self.joins = false;
        let list = List::new(&cx.config().members);
        // The first list has none before it.
        self.durable.before = (!list.in_force).then(|| [].into());
        self.durable.list = Some(list);
        cx.persist(self.durable.clone());
        if cx.armed(Timer::Quiet).is_none() {
            self.wait(cx);
        }
        cx.ignore(from, JOINED);
    }

    /// Its list has a leader, and so is in force. Whether it did not know that.
    pub(super) fn proves(&mut self) -> bool {
        let list = self.durable.list.as_mut().filter(|list| !list.in_force);
        let Some(list) = list else { return false };
        list.in_force = true;
        self.durable.before = None;
        true
    }
}
