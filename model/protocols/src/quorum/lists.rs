//! The lists of members, one after another, and how a process moves from one to the next.
//!
//! A process is started with a list, and recovers with the next one if that has it. Processes talk
//! only to those that have the same list, so a leader's majority is one of a single list. Two lists
//! that follow each other differ by one member: their majorities have a process in common, and that
//! one does not go back. Those of a list and of the one after the next need have none in common.
//! So a list is *in force* once it has had a leader: then a majority has left the one before. A
//! process that has not followed a leader of its list may take the next one, but waits until it
//! hears a process that has done so before it has any part in it.

use super::{Letter, Message, Process, Quorum, Stable, Timer, majority};
use bellwether_engine::protocol::{Id, Ids, Local};
use serde::{Deserialize, Serialize};

/// How many times the list of members has been changed.
pub type List = u8;

/// Which lists of members there are, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lists {
    /// One, of all processes.
    One,
    /// The highest process joins.
    Joins,
    /// The lowest process joins.
    LowestJoins,
    /// The highest process, which leads at first, leaves.
    Leaves,
    /// The highest process takes the place of the lowest: two change at once.
    Replaces,
    /// The same in two lists: the lowest leaves, then the highest joins.
    ReplacesInSteps,
}

impl Quorum {
    /// The members of a list; none if there is no such list.
    #[must_use]
    pub fn members(&self, list: List, nodes: usize) -> Option<Ids> {
        let all: Ids = Id::all(nodes).collect();
        let (lowest, highest) = (Id::at(0), Id::at(nodes - 1));
        let lists = match self.lists {
            Lists::One => &[all][..],
            Lists::Joins => &[all.without(highest), all],
            Lists::LowestJoins => &[all.without(lowest), all],
            Lists::Leaves => &[all, all.without(highest)],
            Lists::Replaces => &[all.without(highest), all.without(lowest)],
            Lists::ReplacesInSteps => {
                &[all.without(highest), all.without(highest).without(lowest), all.without(lowest)]
            }
        };
        lists.get(usize::from(list)).copied()
    }

    /// Those that a process takes for the members.
    pub(super) fn members_of(&self, process: &Process, nodes: usize) -> Ids {
        self.members(process.list, nodes).unwrap_or(Ids::NONE)
    }

    /// Whether what one process sends reaches the core of another, as far as their lists go.
    pub(super) fn talk(
        &self,
        (one, a): (Id, &Process),
        (other, b): (Id, &Process),
        n: usize,
    ) -> bool {
        let known = self.members_of(a, n).contains(other) && self.members_of(b, n).contains(one);
        known && (!self.lists_apart || a.list == b.list)
    }

    /// Those that have granted, or would, are a majority of its members.
    pub(super) fn has_majority(&self, p: &Local<'_, Self>) -> bool {
        let members = self.members_of(p.state, p.nodes());
        p.state.granted.len() >= majority(members.len())
    }

    /// The list that a process is started with: the next one when it recovers, if that has it. A
    /// process that remembers nothing starts with the first list that has it.
    #[must_use]
    pub fn given(&self, id: Id, kept: &Stable, nodes: usize) -> List {
        let has = |list: &List| self.members(*list, nodes).is_some_and(|all| all.contains(id));
        let next = kept.list + 1;
        match *kept == Stable::default() || !has(&kept.list) {
            true => (kept.list..List::MAX).find(has).unwrap_or(kept.list),
            false if has(&next) => next,
            false => kept.list,
        }
    }

    /// It starts with the list that it is given. From a list that is in force it moves at once,
    /// durably. Otherwise, and if it is new, it waits until it hears a member.
    pub(super) fn start(&self, p: &mut Local<'_, Self>) {
        let kept = p.stable();
        let list = self.given(p.id(), &kept, p.nodes());
        let belongs = self.members(kept.list, p.nodes()).is_some_and(|all| all.contains(p.id()));
        let moves = belongs && (!kept.unproven || !self.lists_proven);
        p.state.list = list;
        if list == kept.list {
            return;
        }
        if moves || !self.newcomers_wait {
            p.persist(Stable { list, unproven: true, ..kept });
        } else {
            p.state.joins = true;
        }
    }

    /// Whether a letter is for it: of its list, from a member. The first one lets a process that
    /// waits take part, and does nothing else.
    pub(super) fn is_for(&self, p: &mut Local<'_, Self>, from: Id, letter: Letter) -> bool {
        let known = self.members_of(p.state, p.nodes()).contains(from);
        if !known || (self.lists_apart && letter.list != p.state.list) {
            return false;
        }
        if !p.state.joins {
            return true;
        }
        p.state.joins = false;
        self.keep(p, Stable { list: p.state.list, unproven: true, ..Self::kept(p) });
        if !p.timers().contains::<Self>(Timer::Quiet) {
            self.watch(p);
        }
        false
    }

    /// Its list has a leader: it is in force.
    pub(super) fn proves(&self, p: &mut Local<'_, Self>) {
        self.keep(p, Stable { unproven: false, ..Self::kept(p) });
    }

    /// Sends a message to a member.
    pub(super) fn say(p: &mut Local<'_, Self>, to: Id, message: Message) {
        let list = p.state.list;
        p.send(to, Letter { message, list });
    }

    /// Sends a message to all other members.
    pub(super) fn say_to_others(&self, p: &mut Local<'_, Self>, message: Message) {
        for id in self.members_of(p.state, p.nodes()).without(p.id()).iter() {
            Self::say(p, id, message);
        }
    }
}
