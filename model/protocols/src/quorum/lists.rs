//! The lists of members, one after another, and what follows from the lists that a process has.
//!
//! A member votes or *observes*. One that observes follows the leader, and nothing else: it is
//! asked for nothing, answers nothing, never runs, and is counted in no majority. A member that is
//! to vote, and did not by the list before, is *awaited*: it observes until a leader lets it in.

use super::{
    Birth, Births, FOUNDER, Mark, Message, Process, Quorum, TaggedMessage, founding, majority,
};
use bellwether_engine::protocol::{Id, Ids, Local, event_type, rule_type};

/// A list of members.
#[event_type]
#[derive(Default)]
#[serde(default)]
pub struct List {
    /// How many lists were decided before it.
    pub number: u8,
    /// Who is a member, and who is to vote: its place among the lists that there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub place: u8,
    /// The members that are to vote once a leader has let them in.
    #[serde(skip_serializing_if = "founding::is_none")]
    pub awaited: Ids,
    /// The births with which members vote.
    #[serde(skip_serializing_if = "Births::is_none")]
    pub births: Births,
}

impl List {
    /// Returns the list after this one, in which a process that is to vote does so with this birth.
    #[must_use]
    pub fn letting_in(self, id: Id, birth: Birth) -> List {
        let number = self.number.saturating_add(1);
        let (awaited, births) = (self.awaited.without(id), self.births.with(id, birth));
        List { number, awaited, births, ..self }
    }
}

fn is_zero(place: &u8) -> bool {
    *place == 0
}

/// Which lists of members there are, one after another.
#[rule_type]
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
    /// The lowest process observes, and then votes.
    Promotes,
    /// The highest process, which leads at first, observes from then on.
    Demotes,
    /// The highest process, which has observed, and the lowest, which has voted, change places: two
    /// voters change at once.
    Swaps,
    /// The highest joins by one list and the second highest by another, and both lists have the
    /// same number: two leaders propose one each.
    ForkJoins,
    /// The highest is alone by one list and the second highest by another, and both lists have the
    /// same number: all but one leave at once.
    ForkAlone,
}

/// What a process does that observes.
#[rule_type]
pub enum Observing {
    /// It follows the leader, and is in no majority.
    Follows,
    /// It does what a voter does, and is counted; but a majority is one of those that vote.
    Votes,
    /// It follows the leader, but a majority is one of all members.
    Enlarges,
}

impl Quorum {
    /// The members of the list at this place; none if there is no such list.
    #[must_use]
    pub fn members(&self, place: u8, nodes: usize) -> Option<Ids> {
        self.list(place, nodes).map(|(members, _)| members)
    }

    /// The members of the list at this place that observe.
    #[must_use]
    pub fn observers(&self, place: u8, nodes: usize) -> Ids {
        let observers = self.list(place, nodes).map_or(Ids::NONE, |(_, observers)| observers);
        self.observer.map_or(observers, |id| observers.with(id))
    }

    /// The members of a list, and those of them that observe by it alone.
    fn list(&self, place: u8, nodes: usize) -> Option<(Ids, Ids)> {
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
            Lists::Promotes => &[(all, low), voters(all)],
            Lists::Demotes => &[voters(all), (all, high)],
            Lists::Swaps => &[(all, high), (all, low)],
            Lists::ForkJoins => &[both_missing, without_second, without_highest],
            Lists::ForkAlone => &[voters(all), alone(highest), alone(second)],
        };
        lists.get(usize::from(place)).copied()
    }

    /// Returns the list that an operator asks for after this one, if there is one: who did not vote
    /// before is awaited. Of two with one number, processes with odd ids propose the one, the
    /// others the other.
    #[must_use]
    pub fn next_list(&self, id: Id, list: List, nodes: usize) -> Option<List> {
        let place = match self.forks() {
            true if list.place > 0 => return None,
            true => 1 + u8::from(id.index() % 2 == 1),
            false => list.place.checked_add(1)?,
        };
        let to_vote = self.members(place, nodes)?.except(self.observers(place, nodes));
        let voted = self.voters(list, nodes);
        let (awaited, births) = (to_vote.except(voted), list.births.among(to_vote.common(voted)));
        Some(List { number: list.number.saturating_add(1), place, awaited, births })
    }

    /// Returns those that vote by a list.
    #[must_use]
    pub fn voters(&self, list: List, nodes: usize) -> Ids {
        let members = self.members(list.place, nodes).unwrap_or(Ids::NONE);
        members.except(self.observers(list.place, nodes)).except(list.awaited)
    }

    /// Those that a process asks, answers and counts by a list: the voters, by the rule
    /// `observing`.
    fn electors(&self, list: List, nodes: usize) -> Ids {
        match self.observing {
            Observing::Votes => {
                self.members(list.place, nodes).unwrap_or(Ids::NONE).except(list.awaited)
            }
            Observing::Follows | Observing::Enlarges => self.voters(list, nodes),
        }
    }

    /// Those that a process takes for the members: by the list that is decided, and by the latest.
    pub(super) fn members_of(&self, process: &Process, nodes: usize) -> Ids {
        let of = |list: List| self.members(list.place, nodes).unwrap_or(Ids::NONE);
        of(process.list).and(of(process.decided))
    }

    /// Those that a process takes for the voters.
    pub(super) fn voters_of(&self, process: &Process, nodes: usize) -> Ids {
        self.voters(process.list, nodes).and(self.voters(process.decided, nodes))
    }

    /// Those that a process asks, answers and counts.
    pub(super) fn electors_of(&self, process: &Process, nodes: usize) -> Ids {
        self.electors(process.list, nodes).and(self.electors(process.decided, nodes))
    }

    /// Returns whether a process votes by one of its lists, if this is its birth.
    pub(super) fn has_vote(&self, process: &Process, id: Id, birth: Birth, nodes: usize) -> bool {
        [process.list, process.decided]
            .into_iter()
            .any(|list| list.births.of(id) == birth && self.electors(list, nodes).contains(id))
    }

    /// Those of them that may lead.
    pub(super) fn candidates_of(&self, process: &Process, nodes: usize) -> Ids {
        // The latest list counts.
        self.without_witness(self.electors(process.list, nodes))
    }

    /// Whether a process may lead, if this is its birth.
    pub(super) fn may_lead(&self, process: &Process, id: Id, birth: Birth, nodes: usize) -> bool {
        let votes = process.list.births.of(id) == birth;
        votes && self.candidates_of(process, nodes).contains(id)
    }

    /// These, but for the one that votes and never leads: the rule `witness`.
    pub(super) fn without_witness(&self, ids: Ids) -> Ids {
        self.witness.map_or(ids, |id| ids.without(id))
    }

    /// Whether it does nothing but follow.
    pub(super) fn observes(&self, p: &Local<'_, Self>) -> bool {
        !self.has_vote(p.state, p.id(), Self::kept(p).birth, p.nodes())
    }

    /// How many are a majority of a list.
    fn enough(&self, list: List, nodes: usize) -> usize {
        let all = match self.observing {
            Observing::Enlarges => self.members(list.place, nodes).unwrap_or(Ids::NONE),
            Observing::Follows | Observing::Votes => self.voters(list, nodes),
        };
        majority(all.len())
    }

    /// Those that have granted, or would, are a majority of its voters.
    pub(super) fn has_majority(&self, p: &Local<'_, Self>) -> bool {
        self.makes_majority(p.state, p.nodes(), p.state.granted)
    }

    /// Whether these are a majority of the voters of each list that counts: the rule `lists_joint`.
    pub(super) fn makes_majority(&self, process: &Process, nodes: usize, these: Ids) -> bool {
        let these = these.except(self.two_at_once(process, nodes));
        [process.list, process.decided].into_iter().all(|list| {
            self.electors(list, nodes).common(these).len() >= self.enough(list, nodes)
                || (list != process.list && !self.lists_joint)
        })
    }

    /// Those that vote by both lists of a process, with two births: which of the two one was is not
    /// known.
    pub(super) fn two_at_once(&self, process: &Process, nodes: usize) -> Ids {
        let Process { list, decided, .. } = *process;
        if list.births == decided.births {
            return Ids::NONE;
        }
        let both = self.electors(list, nodes).common(self.electors(decided, nodes));
        both.iter().filter(|&id| list.births.of(id) != decided.births.of(id)).collect()
    }

    /// Whether two lists have the same number.
    fn forks(&self) -> bool {
        matches!(self.lists, Lists::ForkJoins | Lists::ForkAlone)
    }

    pub(super) fn say(&self, p: &mut Local<'_, Self>, to: Id, message: Message) {
        let mark = Self::kept(p).mark;
        let mark = if message.carries_a_mark() { mark } else { Mark::FIRST };
        let birth =
            if matches!(message, Message::Claim(_)) { Self::kept(p).birth } else { FOUNDER };
        p.send(to, TaggedMessage { message, mark, birth });
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
