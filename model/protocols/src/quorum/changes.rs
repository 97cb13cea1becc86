//! How the list of members changes in place, by a request to the leader.
//!
//! A process keeps the list that it knows to be decided, and the one that is pending, if there is
//! one. While a list is pending, a majority is one of both. Each pair of lists has a *mark*: the
//! epoch of the leader that proposed or decided it, and its turn in that epoch. Marks grow; who
//! hears a process with an older mark sends it the lists, and who gets newer ones takes them,
//! durably. A voter grants nothing to a process with an older mark. So what is decided, and hence
//! known to a majority of both lists, is known to every later leader.
//!
//! Sources: a majority of both lists while one is pending, and votes for none that is behind:
//! Ongaro and Ousterhout 2014, §4 and §5.4.1, and Ongaro's thesis, §4.3. Lists that every process
//! passes on, and the highest mark of which a leader proposes anew: L. Lamport, *The Part-Time
//! Parliament*, ACM TOCS 16(2), 1998.

use super::{Epoch, List, Message, Met, Process, Quorum, Role, Stable, TaggedMessage, Timer};
use bellwether_engine::protocol::{Id, Ids, Local, event_type, rule_type};

/// How new the lists of a process are: the epoch of the leader that proposed or decided them, and
/// how often that had done either in this epoch.
#[event_type]
#[derive(Default)]
pub struct Mark {
    /// The epoch of the leader.
    pub epoch: Epoch,
    /// Its turn in that epoch, from 1.
    pub turn: u8,
}

impl Mark {
    /// The mark of the first list.
    pub const FIRST: Mark = Mark { epoch: 0, turn: 0 };

    pub(super) fn is_first(&self) -> bool {
        *self == Self::FIRST
    }

    /// The epoch, if a leader had a part in the lists.
    pub(super) fn epoch_mut(&mut self) -> Option<&mut Epoch> {
        if self.is_first() { None } else { Some(&mut self.epoch) }
    }
}

/// When a leader decides the list that it has proposed.
#[rule_type]
pub enum Decides {
    /// Once a majority of both lists has acknowledged it.
    ByMajority,
    /// At once.
    AtOnce,
}

impl Quorum {
    /// An operator may ask the leader for the next list, if there is one.
    pub(super) fn expect_change(&self, p: &mut Local<'_, Self>) {
        let Stable { list, decided, .. } = Self::kept(p);
        if list == decided && self.next_list(p.id(), list, p.nodes()).is_some() {
            p.arm(Timer::Change);
        }
    }

    /// It is asked for the next list. A voter that did not vote before is let in once it is met.
    pub(super) fn on_change(&self, p: &mut Local<'_, Self>) {
        let Stable { decided, .. } = Self::kept(p);
        if let Some(list) = self.next_list(p.id(), decided, p.nodes()) {
            self.propose(p, list);
        }
    }

    /// It proposes this list, if it leads, no other is pending, and it may lead by the list itself.
    pub(super) fn propose(&self, p: &mut Local<'_, Self>, list: List) {
        let Stable { epoch, list: latest, decided, mark, .. } = Self::kept(p);
        let next = Process { list, ..Process::default() };
        let may_lead = self.candidates_of(&next, p.nodes()).contains(p.id());
        if p.state.role != Role::Leader || latest != decided || !may_lead {
            return;
        }
        self.take(p, decided, list, after(mark, epoch));
        self.tell_all(p);
        self.start_round(p);
        self.decide(p, p.id(), Self::kept(p).mark);
    }

    /// It leads. A pending list, which an earlier leader proposed, it proposes anew: the rule
    /// `reproposes`.
    pub(super) fn propose_again(&self, p: &mut Local<'_, Self>) {
        let Stable { epoch, list, decided, mark, .. } = Self::kept(p);
        if list != decided && self.reproposes && mark.epoch < epoch {
            self.take(p, decided, list, after(mark, epoch));
            self.tell_all(p);
        }
    }

    /// A process has acknowledged a round, and has the lists with this mark. Once a majority of
    /// both lists has its own, the pending one is decided: the rule `decides`.
    pub(super) fn decide(&self, p: &mut Local<'_, Self>, from: Id, theirs: Mark) {
        let Stable { epoch, list, decided, mark, .. } = Self::kept(p);
        let is_own = mark.epoch == epoch || !self.reproposes;
        if list == decided || theirs != mark || !is_own {
            return;
        }
        p.state.marked = p.state.marked.with(from).with(p.id());
        let enough = self.makes_majority(p.state, p.nodes(), p.state.marked);
        if enough || self.decides == Decides::AtOnce {
            // One that has left hears that as well.
            let all = self.members_of(p.state, p.nodes());
            self.take(p, list, list, after(mark, epoch));
            for id in all.without(p.id()).iter() {
                self.say(p, id, Message::Lists(list, list));
            }
            self.expect_change(p);
        }
    }

    /// These are its lists from now on, durably. By later lists, no process becomes a founder.
    fn take(&self, p: &mut Local<'_, Self>, decided: List, list: List, mark: Mark) {
        p.state.met = Met::default();
        self.keep(p, Stable { list, decided, mark, ..Self::kept(p) });
        p.cancel(Timer::Meet);
        *p.state = Process { list, decided, marked: Ids::NONE, ..*p.state };
    }

    /// "These are the lists that I know": it takes them if they are newer. A leader proposes anew
    /// what is pending by them. From those of a later leader it learns of a higher epoch.
    pub(super) fn on_lists(&self, p: &mut Local<'_, Self>, decided: List, list: List, mark: Mark) {
        if mark <= Self::kept(p).mark {
            return p.ignore("stale");
        }
        let was_healthy = self.is_healthy(p);
        self.take(p, decided, list, mark);
        if mark.epoch > Self::kept(p).epoch {
            p.because("higher_epoch");
            self.grants(p, mark.epoch, None);
            match p.state.role {
                Role::Leader | Role::Lapsed => self.step_down(p),
                Role::Canvassing | Role::Claiming | Role::Succeeding => self.back_off(p),
                // What it has promised stays.
                Role::Follower => p.state.leader = None,
                Role::Deferring => {}
            }
        } else if p.state.role == Role::Leader {
            p.cancel(Timer::Change);
            self.propose_again(p);
            self.expect_change(p);
        }
        match (was_healthy, self.is_healthy(p)) {
            (false, true) => self.on_fit(p),
            (true, false) => Self::on_unfit(p),
            _ => {}
        }
    }

    /// Tells the lists of the process to another that has a part in either.
    pub(super) fn on_tell(&self, p: &mut Local<'_, Self>, to: Id) {
        if to != p.id() && self.members_of(p.state, p.nodes()).contains(to) {
            let Stable { list, decided, .. } = Self::kept(p);
            self.say(p, to, Message::Lists(decided, list));
        }
    }

    /// Whether a letter is for it: from a voter of either list; to one that observes, what a leader
    /// says to all. A member with older lists gets those that it has, and not what it asks for.
    pub(super) fn heeds(&self, p: &mut Local<'_, Self>, from: Id, letter: TaggedMessage) -> bool {
        let TaggedMessage { message, mark, .. } = letter;
        if !self.members_of(p.state, p.nodes()).contains(from) {
            p.ignore("unknown_sender");
            return false;
        }
        let Stable { list, decided, mark: own, .. } = Self::kept(p);
        let is_lists = matches!(message, Message::Lists(..));
        if message.carries_a_mark() && !is_lists && mark < own {
            self.say(p, from, Message::Lists(decided, list));
            if self.up_to_date && message.asks() {
                if matches!(message, Message::Challenge(_)) {
                    p.ignore("stale");
                } else if !self.observes(p) {
                    self.refuse(p, from);
                }
                return false;
            }
        }
        // One that observes by old lists may lead by newer ones.
        let is_voter = self.electors_of(p.state, p.nodes()).contains(from);
        let counts = message.is_of_members() || is_voter;
        let heeds = counts && (message.is_for_all() || !self.observes(p));
        if !heeds {
            p.ignore("observes");
        }
        heeds
    }

    /// Sends its lists to all that have a part in either.
    fn tell_all(&self, p: &mut Local<'_, Self>) {
        let Stable { list, decided, .. } = Self::kept(p);
        self.broadcast(p, Message::Lists(decided, list));
    }
}

/// The next mark of a leader of this epoch.
fn after(mark: Mark, epoch: Epoch) -> Mark {
    let turn = if mark.epoch == epoch { mark.turn.saturating_add(1) } else { 1 };
    Mark { epoch, turn }
}
