//! How a process comes to vote that starts without a state: as a founder of the cluster, or let in
//! by a leader.
//!
//! A process without a state cannot tell its first start from one after which its state was lost,
//! and with it all that it had granted. So it has a new *birth*, follows, and does not vote. It
//! becomes a founder once every other voter of the first list has said that it met this birth
//! before it became a founder itself: until then no process had granted anything. Otherwise a
//! leader lets it in, by a list in which the voter has the new birth.
//!
//! Why a voter that has lost its state is another voter: Ongaro's thesis, §11.7.2.

use super::{List, Mark, Message, Quorum, Role, Stable, Timer, known, majority};
use bellwether_engine::protocol::{Id, Ids, Local, View, event_type, rule_type, state_type};

/// Which life of a process it is, from one start without a state to the next.
pub type Birth = u8;

/// The birth of every voter of the first list, once it knows that it has forgotten nothing.
pub const FOUNDER: Birth = 0;

/// The births of processes, of those that have another than a founder's.
#[event_type]
#[derive(Default)]
#[serde(default)]
pub struct Births {
    /// Those in their first life.
    #[serde(skip_serializing_if = "is_none")]
    pub first: Ids,
    /// The one that has lost its memory, and in which life it is: the rule `wiped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later: Option<(Id, Birth)>,
}

impl Births {
    /// All are founders.
    pub const NONE: Births = Births { first: Ids::NONE, later: None };

    /// Returns the birth of a process.
    #[must_use]
    pub fn of(self, id: Id) -> Birth {
        match self.later {
            Some((one, birth)) if one == id => birth,
            _ => Birth::from(self.first.contains(id)),
        }
    }

    /// Returns the births where that of this process is another.
    #[must_use]
    pub fn with(self, id: Id, birth: Birth) -> Births {
        let first = self.first.without(id);
        let later = self.later.filter(|&(one, _)| one != id);
        match birth {
            FOUNDER => Births { first, later },
            1 => Births { first: first.with(id), later },
            _ => Births { first, later: Some((id, birth)) },
        }
    }

    /// The births of these processes alone.
    pub(super) fn among(self, ids: Ids) -> Births {
        let later = self.later.filter(|&(id, _)| ids.contains(id));
        Births { first: self.first.common(ids), later }
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// The births with which a process has met others.
#[state_type]
pub struct Met {
    /// Those that were founders by then.
    #[serde(skip_serializing_if = "is_none")]
    pub founders: Ids,
    /// The births of the others.
    #[serde(skip_serializing_if = "Births::is_none")]
    pub births: Births,
}

impl Met {
    /// With which birth it has met this process.
    pub(super) fn of(self, id: Id) -> Option<Birth> {
        match self.births.of(id) {
            FOUNDER => self.founders.contains(id).then_some(FOUNDER),
            birth => Some(birth),
        }
    }

    /// Returns what it has met once it has met this process as well, with this birth.
    #[must_use]
    pub fn with(self, id: Id, birth: Birth) -> Met {
        let mut founders = self.founders;
        founders.set(id, birth == FOUNDER);
        Met { founders, births: self.births.with(id, birth) }
    }
}

pub(super) fn is_none(ids: &Ids) -> bool {
    ids.is_empty()
}

/// What a process does that has lost its stable storage.
#[rule_type]
pub enum Forgotten {
    /// It has a new birth, and follows until a list has it with that.
    Follows,
    /// It votes at once.
    Votes,
}

/// When a process votes that starts for the first time.
#[rule_type]
pub enum Founding {
    /// From the start: it knows that it has forgotten nothing.
    Given,
    /// Once every other voter has said that it met it before it voted itself.
    AllMet,
    /// Once enough have said so that they are a majority with it.
    MajorityMet,
}

impl Quorum {
    /// It starts. Without a state it has a new birth, durably: with the rule `founding`, at its
    /// first start, and with the rule `wiped`, after each crash.
    pub(super) fn remember_birth(&self, p: &mut Local<'_, Self>) {
        let stable = p.stable();
        let is_blank = stable == Stable::default();
        let is_wiped = self.wiped == Some(p.id()) && !is_blank;
        let waits = self.founding != Founding::Given;
        let is_born = is_blank && waits;
        if !is_wiped && !is_born {
            return;
        }
        let lost = stable.lost.saturating_add(u8::from(is_wiped));
        let birth = match self.forgotten {
            Forgotten::Votes if is_wiped => FOUNDER,
            Forgotten::Follows | Forgotten::Votes => lost.saturating_add(u8::from(waits)),
        };
        p.persist(Stable { lost, birth, ..Stable::default() });
    }

    /// Whether a process votes once it is a founder: it has the first list, and is no founder yet.
    pub(super) fn founds(&self, stable: &Stable, id: Id, nodes: usize) -> bool {
        let is_first = stable.mark.is_first() && stable.birth != FOUNDER;
        is_first && self.voters(stable.decided, nodes).contains(id)
    }

    fn may_found(&self, p: &Local<'_, Self>) -> bool {
        self.founds(&Self::kept(p), p.id(), p.nodes())
    }

    /// It waits to run, if it may lead, or to vote.
    pub(super) fn wait(&self, p: &mut Local<'_, Self>) {
        self.watch(p);
        self.meet_all(p);
    }

    /// It asks all others whether they have met it, now and again after a while.
    pub(super) fn meet_all(&self, p: &mut Local<'_, Self>) {
        if !self.may_found(p) {
            return;
        }
        for id in self.other_voters(p).iter() {
            self.meet(p, id);
        }
        p.arm(Timer::Meet);
        self.found(p);
    }

    fn other_voters(&self, p: &Local<'_, Self>) -> Ids {
        self.electors_of(p.state, p.nodes()).without(p.id())
    }

    /// "This is my birth, and that is the one with which I have met you."
    pub(super) fn meet(&self, p: &mut Local<'_, Self>, other: Id) {
        let met = p.state.met.of(other);
        self.say(p, other, Message::Meet(Self::kept(p).birth, met));
    }

    /// A leader lets in a process that is to vote. While all have the first list, a process learns
    /// which others have met it, and tells them which it has met.
    pub(super) fn on_meet(
        &self,
        p: &mut Local<'_, Self>,
        from: Id,
        birth: Birth,
        met: Option<Birth>,
        mark: Mark,
    ) {
        self.let_in(p, from, birth);
        let kept = Self::kept(p);
        if !mark.is_first() || !kept.mark.is_first() {
            return;
        }
        let may_found = self.may_found(p);
        let is_met = met == Some(kept.birth);
        let is_new = may_found && p.state.met.of(from) != Some(birth);
        if is_new {
            p.state.met = p.state.met.with(from, birth);
        }
        if is_new && !is_met && birth == FOUNDER {
            // It is not new, or too late.
            self.keep(p, Stable { met: p.state.met, ..kept });
        }
        // A founder waits for no answer.
        let waits = birth != FOUNDER && (may_found || !self.observes(p));
        if waits && (is_new || !is_met) {
            self.meet(p, from);
        }
        if may_found && is_met {
            p.state.met_by = p.state.met_by.with(from);
            self.found(p);
        }
    }

    /// It becomes a founder, durably, once enough others have met it: the rule `founding`.
    fn found(&self, p: &mut Local<'_, Self>) {
        let (others, met_by) = (self.other_voters(p), p.state.met_by);
        let enough = match self.founding {
            Founding::Given | Founding::AllMet => others.except(met_by).is_empty(),
            Founding::MajorityMet => others.common(met_by).len() + 1 >= majority(others.len() + 1),
        };
        if enough {
            self.keep(p, Stable { birth: FOUNDER, ..Self::kept(p) });
            p.cancel(Timer::Meet);
            self.on_fit(p);
        }
    }

    /// A leader proposes the list in which this process votes with this birth, if it is to vote. Of
    /// two voters, the other alone cannot decide that.
    fn let_in(&self, p: &mut Local<'_, Self>, id: Id, birth: Birth) {
        let Stable { decided, .. } = Self::kept(p);
        if self.lets_in(decided, id, birth, p.nodes()) {
            self.propose(p, decided.letting_in(id, birth));
        }
    }

    /// Whether a leader with this list lets a process in.
    fn lets_in(&self, list: List, id: Id, birth: Birth, nodes: usize) -> bool {
        let voters = self.voters(list, nodes);
        let enough = !voters.contains(id) || voters.len() > 2;
        enough && self.awaits(list, id, birth, nodes)
    }

    /// Whether a process is to vote by a list, but not with this birth: a leader has to let it in.
    pub(super) fn awaits(&self, list: List, id: Id, birth: Birth, nodes: usize) -> bool {
        let votes = self.voters(list, nodes).contains(id);
        (votes && list.births.of(id) != birth) || list.awaited.contains(id)
    }
}

/// Whether a process leads that lets this one in as soon as it hears it.
pub(super) fn is_let_in_by(rules: &Quorum, view: &View<'_, Quorum>, leader: Id, id: Id) -> bool {
    let birth = known(view.process(id), view.stable(id)).birth;
    let Stable { list, decided, .. } = known(view.process(leader), view.stable(leader));
    let own = view.rules_of(rules, leader);
    let leads = view.process(leader).role == Role::Leader;
    leads && list == decided && own.lets_in(decided, id, birth, view.nodes)
}
