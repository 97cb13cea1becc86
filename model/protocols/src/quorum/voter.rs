//! What a process answers to others: support, grant, and promise.

use super::{
    Birth, Canvass, Defers, Epoch, Grants, Mark, Message, Preemption, Promises, Quorum, Role,
    Round, Stable, TaggedMessage, Timer,
};
use bellwether_engine::protocol::{Id, Local};

impl Quorum {
    /// "Would you grant me this epoch?" A higher process that is electable runs itself instead,
    /// unless it has promised itself to the one that asks: an old canvass of a leader comes late.
    pub(super) fn on_canvass(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch) {
        let bound = self.is_bound(p, from) && self.canvass != Canvass::AsksAnyway;
        if bound || !self.is_free(p, from, epoch) {
            return self.refuse(p, from);
        }
        let promised = p.state.promised == Some(from) && self.binds_itself;
        if !self.outrank || promised || !self.comes_before(p, from, epoch) {
            return self.say(p, from, Message::Support(epoch));
        }
        p.state.led &= !p.armed(Timer::Backoff);
        self.say(p, from, Message::Outrank(epoch));
        // One that defers waits for no longer than the one that asks does from now on.
        match p.state.role {
            Role::Follower => self.run(p, "canvassed"),
            Role::Deferring if self.defers == Defers::Runs => self.run(p, "canvassed"),
            _ => {}
        }
    }

    /// Whether it runs instead of one that asks for this epoch: it is electable, and higher. But
    /// the leader of the epoch before comes first, and once in its back-off too.
    fn comes_before(&self, p: &Local<'_, Self>, asks: Id, epoch: Epoch) -> bool {
        let last = self.last_leader(p).filter(|_| epoch == Self::kept(p).epoch.saturating_add(1));
        if last == Some(asks) {
            return false;
        }
        let led = p.state.led && last == Some(p.id()) && p.state.role != Role::Deferring;
        let quiet = p.armed(Timer::Quiet);
        (led && self.is_healthy(p) && !quiet) || (asks < p.id() && self.is_electable(p))
    }

    /// The process to which the latest epoch was granted that it knows, if that comes before all
    /// others: the rule `returns`.
    pub(super) fn last_leader(&self, p: &Local<'_, Self>) -> Option<Id> {
        let returns = self.returns && self.preemption == Preemption::Never;
        Self::kept(p).granted_to.filter(|_| returns)
    }

    /// "Grant me this epoch." A grant is durable before it is sent, and starts a promise.
    pub(super) fn on_claim(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch, birth: Birth) {
        if self.is_bound(p, from) || !self.is_free(p, from, epoch) {
            return self.refuse(p, from);
        }
        p.because("claimed_by");
        self.grants(p, epoch, Some(from));
        p.send(from, TaggedMessage { message: Message::Grant(epoch), mark: Mark::FIRST, birth });
        self.promise(p, from);
    }

    /// It waits to canvass, if it may lead.
    pub(super) fn watch(&self, p: &mut Local<'_, Self>) {
        if self.is_healthy(p) {
            p.arm(Timer::Watch);
        }
    }

    /// A leader's round: a process that knows of no higher epoch follows, and renews its promise.
    pub(super) fn on_coordinator(
        &self,
        p: &mut Local<'_, Self>,
        from: Id,
        epoch: Epoch,
        round: Round,
        mark: Mark,
    ) {
        let (kept, observes) = (Self::kept(p), self.observes(p));
        let own = kept.epoch;
        if epoch < own {
            return if observes { p.ignore("stale") } else { self.refuse(p, from) };
        }
        // Two leaders of one epoch, which only grants that are given twice make, do not depose each
        // other.
        let leads = matches!(p.state.role, Role::Leader | Role::Lapsed);
        if epoch == own && leads {
            return p.ignore("stale");
        }
        // A process that learned of the epoch from lists, or from a refusal, did not know who leads
        // it.
        let granted_to = kept.granted_to.filter(|_| epoch == own).or(Some(from));
        self.keep(p, Stable { epoch, granted_to, ..kept });
        if p.state.leader == Some(from) && epoch == own {
            p.arm(Timer::Promise);
        } else {
            p.because(if leads { "higher_epoch" } else { "leader_heard" });
            self.follow(p, from);
        }
        if !observes {
            self.say(p, from, Message::Ack(epoch, round));
        } else if mark > kept.mark || self.awaits(kept.list, p.id(), kept.birth, p.nodes()) {
            // It has older lists, or is to vote.
            self.meet(p, from);
        }
        self.on_followed(p, from);
    }

    /// The promise has run out: the leader was not heard for as long.
    pub(super) fn on_promise_over(&self, p: &mut Local<'_, Self>) {
        p.because("promise_over");
        self.step_down(p);
    }

    /// Until the promise has run out, it grants nothing to another.
    pub(super) fn promise(&self, p: &mut Local<'_, Self>, to: Id) {
        Self::turn(p, Role::Follower);
        p.state.promised = Some(to);
        p.state.led = false;
        p.arm(Timer::Promise);
    }

    /// It has heard this leader.
    fn follow(&self, p: &mut Local<'_, Self>, leader: Id) {
        self.promise(p, leader);
        p.state.leader = Some(leader);
        self.dwell(p);
    }

    /// Whether the epoch can still be granted.
    fn is_free(&self, p: &Local<'_, Self>, to: Id, epoch: Epoch) -> bool {
        let Stable { epoch: own, granted_to, .. } = Self::kept(p);
        epoch > own || (epoch == own && (granted_to == Some(to) || self.grants == Grants::Again))
    }

    /// Whether a promise to another lasts, or may last that it has forgotten. A leader has promised
    /// to itself.
    fn is_bound(&self, p: &Local<'_, Self>, other: Id) -> bool {
        let promised =
            p.state.promised.is_some_and(|id| id != other) || p.state.role == Role::Leader;
        p.armed(Timer::Quiet) || (promised && self.promises == Promises::Kept)
    }

    /// Whether it may run: a process that has found no majority is not electable for a while.
    fn is_electable(&self, p: &Local<'_, Self>) -> bool {
        self.is_healthy(p) && ![Timer::Backoff, Timer::Quiet].iter().any(|&timer| p.armed(timer))
    }

    /// "No", and what one that asks has to know.
    pub(super) fn refuse(&self, p: &mut Local<'_, Self>, other: Id) {
        if self.answer_lower {
            let holder = if p.state.role == Role::Leader { Some(p.id()) } else { p.state.promised };
            self.say(p, other, Message::Refuse(Self::kept(p).epoch, holder));
        }
    }
}
