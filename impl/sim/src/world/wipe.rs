//! A node that loses its disk, and with it all that it has granted. It starts again without a
//! state, by its file: that says the first list.
//!
//! A cluster in which too many have lost their state promises nothing but that it elects no second
//! leader, and one whose first voters have all lost it not even that. So a node loses its disk only
//! if the others can go on without what was on it, whichever lists of members they have.

use bellwether_core::member::Event;
use bellwether_core::protocol::quorum::{Lists, Mark};
use bellwether_core::protocol::{Birth, Core as _, Members, NodeId, Request};
use bellwether_core::trace::Received;

use crate::clock::Moment;
use crate::host::{Host, MessageOf};
use crate::invariant::Face;
use crate::subject::Subject;

use super::{Happening, World};

impl<S: Subject> World<S> {
    /// A process crashes, and restarts then. Its disk is lost if it can be.
    pub(super) fn wipe(&mut self, node: usize, restarts: Moment) {
        let loses = self.hosts[node].member.is_some() && self.can_lose(node);
        self.crash(node, restarts);
        if !loses {
            return;
        }
        self.note(node, format_args!("has lost its disk"));
        self.counts.wipes += 1;
        let host = &mut self.hosts[node];
        host.wiped += 1;
        host.disk.synced = None;
        host.disk.older = None;
        self.observe(node);
    }

    /// Returns whether the others can go on without what is on the disk of this node: of all that
    /// vote by any lists, a majority has its state, and one of those may lead. And no birth is on
    /// its way that its node no longer has: a leader would let that in, and lose the vote of the
    /// node.
    fn can_lose(&self, node: usize) -> bool {
        let id = self.hosts[node].id;
        let is_past = |(from, message): (NodeId, &MessageOf<S>)| {
            let said = S::birth_in(message);
            said.is_some() && said != self.faces[place(from)].birth
        };
        S::Core::founder().is_some()
            && self.is_vouched_for(id)
            && !self.under_way().any(is_past)
            && self.known_lists().iter().all(|lists| self.can_go_on(lists, id))
    }

    /// Returns whether another voter of the first list has the latest lists, and this node is a
    /// member by them: the other tells it so, and together they found no second cluster.
    fn is_vouched_for(&self, id: NodeId) -> bool {
        let mark = |face: &Face| face.lists.as_ref().map(|lists| lists.mark);
        let latest = self.faces.iter().map(mark).max().flatten();
        let mut others = self.faces.iter().filter(|face| face.id != id);
        others.any(|face| {
            let votes = self.first.votes(face.id) && self.kept_birth(face.id).is_some();
            votes && mark(face) == latest && face.has_member(id)
        })
    }

    /// All messages that have left a node and are not handled, with their senders.
    fn under_way(&self) -> impl Iterator<Item = (NodeId, &MessageOf<S>)> {
        let flying = self.queue.values().filter_map(|what| match what {
            Happening::Arrives { from, message, .. } => Some((*from, message)),
            _ => None,
        });
        let waiting = self.hosts.iter().flat_map(|host| &host.inbox);
        flying.chain(waiting.filter_map(|event| match event {
            Event::Received(Received { from, message, .. }) => Some((*from, message)),
            _ => None,
        }))
    }

    /// The lists that nodes have, or may come to have. The first list is one of them while a node
    /// votes by it.
    fn known_lists(&self) -> Vec<Lists> {
        let votes = self.faces.iter().filter(|face| face.birth == Some(Birth::FOUNDER));
        let kept = self.faces.iter().filter_map(|face| face.lists.as_ref());
        let running = self.hosts.iter().filter_map(Host::lists);
        let flying = self.under_way().filter_map(|(_, message)| S::lists_in(message));
        let late = kept.chain(running).chain(flying).filter(|lists| lists.mark > Mark::FIRST);
        let first = votes.filter_map(|face| face.lists.as_ref());
        let mut known: Vec<Lists> = late.chain(first).cloned().collect();
        for host in &self.hosts {
            let Some(lists) = host.lists() else { continue };
            for event in &host.inbox {
                if let Event::Request(Request::Change(list)) = event {
                    known.push(proposed(&lists.decided, list.clone()));
                }
            }
        }
        known
    }

    /// Returns whether those that vote by these lists can go on without this one, also if all that
    /// are awaited are counted and then silent.
    fn can_go_on(&self, lists: &Lists, without: NodeId) -> bool {
        let counts = |id: NodeId| id != without && self.has_state(lists, id);
        let is_majority = |list: &Members| {
            let all = list.voters().len() + list.awaited().len();
            2 * list.voters().iter().filter(|&&id| counts(id)).count() > all
        };
        lists.each().all(is_majority) && lists.latest().candidates().any(counts)
    }

    /// Returns whether those that vote by this list and by the next one can decide that.
    pub(super) fn can_decide(&self, decided: &Members, next: &Members) -> bool {
        let lists = proposed(decided, next.clone());
        lists.each().all(|list| {
            let voters = list.voters();
            2 * voters.iter().filter(|&&id| self.has_state(&lists, id)).count() > voters.len()
        })
    }

    /// Returns whether this voter by these lists is the node as it is now.
    fn has_state(&self, lists: &Lists, id: NodeId) -> bool {
        let kept = self.kept_birth(id);
        let mut births = lists.each().filter_map(|list| list.birth(id));
        kept.is_some() && births.all(|birth| Some(birth) == kept)
    }

    /// The birth that a node has for as long as it has its disk: one that has only the first list
    /// may become a founder yet.
    fn kept_birth(&self, id: NodeId) -> Option<Birth> {
        let face = &self.faces[place(id)];
        let is_late = face.lists.as_ref().is_some_and(|lists| lists.mark > Mark::FIRST);
        face.birth.filter(|&birth| is_late || birth == Birth::FOUNDER)
    }
}

/// The lists of a leader that proposes this list.
fn proposed(decided: &Members, list: Members) -> Lists {
    Lists { pending: Some(list.after(decided)), ..Lists::first(decided.clone()) }
}

/// The place of a node.
fn place(id: NodeId) -> usize {
    usize::from(id.get()) - 1
}
