//! How a process comes to lead: canvass, claim, and what it does when either fails.

use super::{Birth, Canvass, Deposed, Epoch, Grants, Message, Quorum, Role, Timer};
use bellwether_engine::protocol::{Id, Ids, Local};

impl Quorum {
    /// It hears no leader, or has waited long enough for a higher one: it canvasses, if there is a
    /// canvass.
    pub(super) fn run(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        p.because(reason);
        if !self.is_healthy(p) {
            return self.step_down(p);
        }
        let next = Self::kept(p).epoch.saturating_add(1);
        if self.canvass == Canvass::None {
            return self.claim(p, next);
        }
        Self::turn(p, Role::Canvassing);
        p.state.granted = Ids::NONE.with(p.id());
        self.broadcast(p, Message::Canvass(next));
        p.arm(Timer::Election);
    }

    /// "I would grant it": with a majority, and if no process can outrank it any more, it claims.
    /// Otherwise it waits until they have had the time.
    pub(super) fn on_support(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch) {
        if !Self::canvasses(p, epoch) {
            if self.grants == Grants::CountsSupport {
                self.on_grant(p, from, epoch, Self::kept(p).birth);
            } else {
                p.ignore("stale");
            }
            return;
        }
        p.state.granted = p.state.granted.with(from);
        let candidates = self.candidates_of(p.state, p.nodes());
        let last = self.last_leader(p);
        let first = |&id: &Id| id > p.id() || last == Some(id);
        let mut before = candidates.iter().filter(first);
        let all_before = before.all(|id| p.state.granted.contains(id));
        if self.has_majority(p) && (all_before || !self.outrank) {
            self.claim(p, epoch);
        }
    }

    /// "I am higher and run myself": it defers.
    pub(super) fn on_outrank(&self, p: &mut Local<'_, Self>, epoch: Epoch) {
        if Self::canvasses(p, epoch) && self.outrank {
            p.because("outranked");
            Self::turn(p, Role::Deferring);
            p.arm(Timer::Coordinator);
        } else {
            p.ignore("stale");
        }
    }

    /// Nothing more will come: with a majority of supports it claims; otherwise, and if a claim
    /// gets no majority, it is not electable for a while.
    pub(super) fn on_election_over(&self, p: &mut Local<'_, Self>) {
        if p.state.role == Role::Canvassing && self.has_majority(p) {
            self.claim(p, Self::kept(p).epoch.saturating_add(1));
        } else {
            p.because("no_majority");
            self.back_off(p);
        }
    }

    /// It grants the epoch itself, durably, and asks all others for it. The lease that their grants
    /// give counts from before the sending.
    pub(super) fn claim(&self, p: &mut Local<'_, Self>, epoch: Epoch) {
        Self::turn(p, Role::Claiming);
        self.grants(p, epoch, Some(p.id()));
        p.state.granted = Ids::NONE.with(p.id());
        p.arm(Timer::Asked);
        p.arm(Timer::Election);
        self.broadcast(p, Message::Claim(epoch));
    }

    /// A majority of grants makes it leader. An earlier life of it may have claimed the same epoch,
    /// and what was promised to that one may be over.
    pub(super) fn on_grant(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch, birth: Birth) {
        let own = Self::kept(p);
        if p.state.role == Role::Claiming && (epoch, birth) == (own.epoch, own.birth) {
            self.count(p, from);
        } else {
            p.ignore("stale");
        }
    }

    /// With this one's grant it may have a majority.
    pub(super) fn count(&self, p: &mut Local<'_, Self>, from: Id) {
        p.state.granted = p.state.granted.with(from);
        if self.has_majority(p) {
            self.lead(p);
        }
    }

    /// "No": of a higher epoch it learns that its own is over.
    pub(super) fn on_refuse(&self, p: &mut Local<'_, Self>, epoch: Epoch) {
        if epoch <= Self::kept(p).epoch {
            return p.ignore("stale");
        }
        p.because("higher_epoch");
        match p.state.role {
            Role::Canvassing | Role::Claiming => {
                self.grants(p, epoch, None);
                self.back_off(p);
            }
            Role::Leader | Role::Lapsed if self.deposed == Deposed::StepsDown => {
                self.grants(p, epoch, None);
                self.step_down(p);
            }
            _ => p.ignore("stale"),
        }
    }

    /// It has found no majority: for a while it supports others, so that one that can reach a
    /// majority is not held up.
    pub(super) fn back_off(&self, p: &mut Local<'_, Self>) {
        Self::turn(p, Role::Follower);
        if self.backoff && self.is_healthy(p) {
            p.arm(Timer::Backoff);
        } else {
            self.watch(p);
        }
    }

    fn canvasses(p: &Local<'_, Self>, epoch: Epoch) -> bool {
        p.state.role == Role::Canvassing && epoch == Self::kept(p).epoch.saturating_add(1)
    }
}
