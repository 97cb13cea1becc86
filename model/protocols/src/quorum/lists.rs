//! The lists of members, one after another, and what follows from the lists that a process has.
//!
//! A member votes or *observes*. One that observes follows the leader, and nothing else: it is
//! asked for nothing, answers nothing, never runs, and is counted in no majority.

use super::{Letter, Mark, Message, Process, Quorum, majority};
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
    /// The lowest process leaves.
    LowestLeaves,
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
    /// The highest leaves by one list and the second highest by another, and both lists have the
    /// same number: two leaders propose one each.
    ForkLeaves,
    /// The same, where they join.
    ForkJoins,
    /// The same, where the highest joins and the lowest leaves.
    ForkMixed,
    /// The highest is alone by one list and the second highest by another, and both lists have the
    /// same number: all but one leave at once.
    ForkAlone,
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
        let alone = |id| voters(Ids::NONE.with(id));
        let both_missing = voters(all.without(highest).without(second));
        let lists = match self.lists {
            Lists::One => &[voters(all)][..],
            Lists::Joins => &[without_highest, voters(all)],
            Lists::LowestJoins => &[voters(all.without(lowest)), voters(all)],
            Lists::Leaves => &[voters(all), without_highest],
            Lists::LowestLeaves => &[voters(all), voters(all.without(lowest))],
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
            Lists::ForkAlone => &[voters(all), alone(highest), alone(second)],
            Lists::ForkMixed => {
                &[without_highest, voters(all), voters(all.without(highest).without(lowest))]
            }
        };
        lists.get(usize::from(list)).copied()
    }

    /// Those that a process takes for the members: by the list that is decided, and by the latest.
    pub(super) fn members_of(&self, process: &Process, nodes: usize) -> Ids {
        let latest = self.members(process.list, nodes).unwrap_or(Ids::NONE);
        latest.and(self.members(process.decided, nodes).unwrap_or(Ids::NONE))
    }

    /// Those that a process takes for the voters.
    pub(super) fn voters_of(&self, process: &Process, nodes: usize) -> Ids {
        let of = |list| {
            let members = self.members(list, nodes).unwrap_or(Ids::NONE);
            members.except(self.observers(list, nodes))
        };
        of(process.list).and(of(process.decided))
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
        // The latest list counts.
        let latest = Process { decided: process.list, ..*process };
        self.without_witness(self.electors_of(&latest, nodes))
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

    /// Those that have granted, or would, are a majority of its voters.
    pub(super) fn has_majority(&self, p: &Local<'_, Self>) -> bool {
        self.makes_majority(p.state, p.nodes(), p.state.granted)
    }

    /// Whether these are a majority of the voters of each list that counts: the rule `lists_joint`.
    pub(super) fn makes_majority(&self, process: &Process, nodes: usize, these: Ids) -> bool {
        [process.list, process.decided].into_iter().all(|list| {
            let one = Process { list, decided: list, ..Process::default() };
            let counted = self.electors_of(&one, nodes).iter().filter(|&id| these.contains(id));
            counted.count() >= self.enough(&one, nodes)
                || (list != process.list && !self.lists_joint)
        })
    }

    /// Whether two lists have the same number.
    pub(super) fn forks(&self) -> bool {
        use Lists::{ForkAlone, ForkJoins, ForkLeaves, ForkMixed};
        matches!(self.lists, ForkLeaves | ForkJoins | ForkMixed | ForkAlone)
    }

    /// Sends a message to a member.
    pub(super) fn say(&self, p: &mut Local<'_, Self>, to: Id, message: Message) {
        let mark = Self::kept(p).mark;
        let mark = if message.carries_a_mark() { mark } else { Mark::FIRST };
        p.send(to, Letter { message, mark });
    }

    /// Sends a message to all others that it is for: members, or voters.
    pub(super) fn broadcast(&self, p: &mut Local<'_, Self>, message: Message) {
        let all = match message.is_for_all() {
            true => self.members_of(p.state, p.nodes()),
            false => self.electors_of(p.state, p.nodes()),
        };
        for id in all.without(p.id()).iter() {
            self.say(p, id, message);
        }
    }
}
