//! The lists of members, one after another, and how a process moves from one to the next.
//!
//! A process is started with a list, and recovers with the next one if that has it. Processes talk
//! only to those that have the same list, so a leader's majority is one of a single list. Two lists
//! that follow each other differ by one member: their majorities have a process in common, and that
//! one does not go back. Those of a list and of the one after the next need have none in common.
//! So a list is *in force* once it has had a leader: then a majority has left the one before. A
//! process that has not followed a leader of its list may take the next one, but waits until it
//! hears a process that has done so before it has any part in it.
//!
//! A member votes or *observes*. One that observes follows the leader, and nothing else: it is
//! asked for nothing, answers nothing, never runs, and is counted in no majority. So two lists that
//! follow each other differ by one *voter*, which may have been a member before.

use super::{Letter, Message, Process, Quorum, Stable, Timer, majority};
use bellwether_engine::protocol::{Id, Ids, Local, RuleDocs};
use serde::{Deserialize, Serialize};

/// How many times the list of members has been changed.
pub type List = u8;

/// Which lists of members there are, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
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
    /// The lowest process observes, and then votes.
    Promotes,
    /// The highest process, which leads at first, observes from then on.
    Demotes,
    /// The highest process, which has observed, and the lowest, which has voted, change places: two
    /// voters change at once.
    Swaps,
    /// The same in two lists: the lowest observes as well, then the highest votes.
    SwapsInSteps,
    /// An operator's error: the highest leaves by one list and the second highest by another, and
    /// both lists have the same number. Who is in both takes the one or the other.
    ForkLeaves,
    /// The same, where they join.
    ForkJoins,
    /// The same, where the highest joins and the lowest leaves.
    ForkMixed,
}

/// What a process does that observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Observing {
    /// It follows the leader, and is in no majority.
    Follows,
    /// It does what a voter does, and is counted; but a majority is one of those that vote.
    Votes,
    /// It follows the leader, but a majority is one of all members.
    Enlarges,
}

impl Quorum {
    /// The members of a list; none if there is no such list.
    #[must_use]
    pub fn members(&self, list: List, nodes: usize) -> Option<Ids> {
        self.list(list, nodes).map(|(members, _)| members)
    }

    /// The members of a list that observe.
    #[must_use]
    pub fn observers(&self, list: List, nodes: usize) -> Ids {
        let observers = self.list(list, nodes).map_or(Ids::NONE, |(_, observers)| observers);
        self.observer.map_or(observers, |id| observers.with(id))
    }

    /// The members of a list, and those of them that observe by it alone.
    fn list(&self, list: List, nodes: usize) -> Option<(Ids, Ids)> {
        let all = Ids::all(nodes);
        let (lowest, highest) = (Id::at(0), Id::at(nodes - 1));
        let (low, high) = (Ids::NONE.with(lowest), Ids::NONE.with(highest));
        let voters = |ids| (ids, Ids::NONE);
        let without_highest = voters(all.without(highest));
        let second = Id::at(nodes.saturating_sub(2));
        let without_second = voters(all.without(second));
        let both_missing = voters(all.without(highest).without(second));
        let lists = match self.lists {
            Lists::One => &[voters(all)][..],
            Lists::Joins => &[without_highest, voters(all)],
            Lists::LowestJoins => &[voters(all.without(lowest)), voters(all)],
            Lists::Leaves => &[voters(all), without_highest],
            Lists::Replaces => &[without_highest, voters(all.without(lowest))],
            Lists::ReplacesInSteps => &[
                without_highest,
                voters(all.without(highest).without(lowest)),
                voters(all.without(lowest)),
            ],
            Lists::Promotes => &[(all, low), voters(all)],
            Lists::Demotes => &[voters(all), (all, high)],
            Lists::Swaps => &[(all, high), (all, low)],
            Lists::SwapsInSteps => &[(all, high), (all, high.and(low)), (all, low)],
            Lists::ForkLeaves => &[voters(all), without_highest, without_second],
            Lists::ForkJoins => &[both_missing, without_second, without_highest],
            Lists::ForkMixed => {
                &[without_highest, voters(all), voters(all.without(highest).without(lowest))]
            }
        };
        lists.get(usize::from(list)).copied()
    }

    /// Those that a process takes for the members.
    pub(super) fn members_of(&self, process: &Process, nodes: usize) -> Ids {
        self.members(process.list, nodes).unwrap_or(Ids::NONE)
    }

    /// Those that a process takes for the voters.
    pub(super) fn voters_of(&self, process: &Process, nodes: usize) -> Ids {
        self.members_of(process, nodes).except(self.observers(process.list, nodes))
    }

    /// Those that a process asks, answers and counts: the voters, by the rule `observing`.
    pub(super) fn electors_of(&self, process: &Process, nodes: usize) -> Ids {
        match self.observing {
            Observing::Votes => self.members_of(process, nodes),
            Observing::Follows | Observing::Enlarges => self.voters_of(process, nodes),
        }
    }

    /// Those of them that may lead.
    pub(super) fn candidates_of(&self, process: &Process, nodes: usize) -> Ids {
        self.without_witness(self.electors_of(process, nodes))
    }

    /// These, but for the one that votes and never leads: the rule `witness`.
    pub(super) fn without_witness(&self, ids: Ids) -> Ids {
        self.witness.map_or(ids, |id| ids.without(id))
    }

    /// Whether it does nothing but follow.
    pub(super) fn observes(&self, p: &Local<'_, Self>) -> bool {
        !self.electors_of(p.state, p.nodes()).contains(p.id())
    }

    /// How many are a majority of those that a process takes for the voters.
    pub(super) fn enough(&self, process: &Process, nodes: usize) -> usize {
        let all = match self.observing {
            Observing::Enlarges => self.members_of(process, nodes),
            Observing::Follows | Observing::Votes => self.voters_of(process, nodes),
        };
        majority(all.len())
    }

    /// Those that have granted, or would, are a majority of its voters; and of those of the list
    /// before, if its own is not known to have had a leader: the rule `lists_joint`.
    pub(super) fn has_majority(&self, p: &Local<'_, Self>) -> bool {
        let kept = Self::kept(p);
        let before = self.before(kept.list).filter(|_| kept.unproven && self.lists_joint);
        let of_both = before.is_none_or(|before| {
            let before = Process { list: before, ..Process::default() };
            let voters = self.voters_of(&before, p.nodes());
            let granted = voters.iter().filter(|&id| p.state.granted.contains(id)).count();
            !kept.joined && granted >= majority(voters.len())
        });
        of_both && p.state.granted.len() >= self.enough(p.state, p.nodes())
    }

    /// The list that comes before this one.
    fn before(&self, list: List) -> Option<List> {
        if self.forks() { Some(0).filter(|_| list > 0) } else { list.checked_sub(1) }
    }

    /// Whether two lists have the same number.
    fn forks(&self) -> bool {
        matches!(self.lists, Lists::ForkLeaves | Lists::ForkJoins | Lists::ForkMixed)
    }

    /// The list that a process is started with: the next one when it recovers, if that has it. A
    /// process that remembers nothing starts with the first list that has it.
    #[must_use]
    pub fn given(&self, id: Id, kept: &Stable, nodes: usize) -> List {
        let has = |list: &List| self.members(*list, nodes).is_some_and(|all| all.contains(id));
        if self.forks() {
            let other = 1 + List::from(id.index() % 2 == 1);
            return match kept.list {
                0 if has(&0) && *kept == Stable::default() => 0,
                0 if has(&other) => other,
                0 => 3 - other,
                list => list,
            };
        }
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
            p.persist(Stable { list, unproven: true, joined: !belongs, ..kept });
        } else {
            p.state.joins = true;
        }
    }

    /// Whether a letter is for it: of its list, from a voter; to one that observes, what a leader
    /// says to all. The first one lets a process that waits take part, and does nothing else.
    pub(super) fn is_for(&self, p: &mut Local<'_, Self>, from: Id, letter: Letter) -> bool {
        let known = self.electors_of(p.state, p.nodes()).contains(from);
        if !known || (self.lists_apart && letter.list != p.state.list) {
            return false;
        }
        if !p.state.joins {
            return letter.message.is_for_all() || !self.observes(p);
        }
        p.state.joins = false;
        self.keep(p, Stable { list: p.state.list, unproven: true, joined: true, ..Self::kept(p) });
        if !p.timers().contains::<Self>(Timer::Quiet) {
            self.watch(p);
        }
        false
    }

    /// Its list has a leader: it is in force.
    pub(super) fn proves(&self, p: &mut Local<'_, Self>) {
        self.keep(p, Stable { unproven: false, joined: false, ..Self::kept(p) });
    }

    /// Sends a message to a member.
    pub(super) fn say(p: &mut Local<'_, Self>, to: Id, message: Message) {
        let list = p.state.list;
        p.send(to, Letter { message, list });
    }

    /// Sends a message to all others that it is for: members, or voters.
    pub(super) fn broadcast(&self, p: &mut Local<'_, Self>, message: Message) {
        let all = match message.is_for_all() {
            true => self.members_of(p.state, p.nodes()),
            false => self.electors_of(p.state, p.nodes()),
        };
        for id in all.without(p.id()).iter() {
            Self::say(p, id, message);
        }
    }
}
