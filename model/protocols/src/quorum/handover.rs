//! How a leader hands over: to a higher process that challenges it, because it is not electable
//! itself, or because its operator asks it to.

use super::{Absent, Epoch, Handover, Heir, Message, Preemption, Quorum, Role, Stable, Timer};
use bellwether_engine::protocol::{Id, Ids, Local};

impl Quorum {
    /// Whether a process is electable as far as its machine, its operator and its list go: it
    /// neither observes nor is a witness, for one, nor waits to be let in.
    pub(super) fn is_healthy(&self, p: &Local<'_, Self>) -> bool {
        let away = p.armed(Timer::Away);
        let may_lead = self.may_lead(p.state, p.id(), Self::kept(p).birth, p.nodes());
        !p.state.unfit && !away && may_lead
    }

    /// Whether it would take over from this leader.
    fn outranks(&self, p: &Local<'_, Self>, leader: Id) -> bool {
        p.id() > leader && self.is_healthy(p)
    }

    /// It has begun to follow a leader: if it would take over, it waits for the dwell time.
    pub(super) fn dwell(&self, p: &mut Local<'_, Self>) {
        let takes_over = p.state.leader.is_some_and(|leader| self.outranks(p, leader));
        if takes_over && self.preemption == Preemption::Dwell {
            p.arm(Timer::Dwell);
        }
    }

    /// It has followed a leader that it outranks for long enough.
    pub(super) fn on_dwelt(&self, p: &mut Local<'_, Self>) {
        if let Some(leader) = p.state.leader {
            self.challenge(p, leader);
            p.arm(Timer::Dwell);
        }
    }

    /// It has acknowledged a leader's round; without a dwell time, it challenges at once.
    pub(super) fn on_followed(&self, p: &mut Local<'_, Self>, leader: Id) {
        if self.preemption == Preemption::AtOnce && self.outranks(p, leader) {
            self.challenge(p, leader);
        }
    }

    /// "Take over from me": only from the leader that it follows.
    pub(super) fn on_invite(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch) {
        let follows = p.state.leader == Some(from) && p.state.role == Role::Follower;
        if !follows || epoch != Self::kept(p).epoch {
            p.ignore("stale");
        } else if self.is_healthy(p) {
            self.challenge(p, from);
        }
    }

    /// It takes over. The leader yields once it has heard that, so what others entrust to it then
    /// gives a lease that counts from its first challenge in this epoch, for it cannot tell which
    /// one the leader heard: the rule `heir`.
    fn challenge(&self, p: &mut Local<'_, Self>, leader: Id) {
        if !p.state.challenged {
            p.arm(Timer::Asked);
        }
        p.state.challenged = true;
        self.say(p, leader, Message::Challenge(Self::kept(p).epoch));
    }

    /// A leader yields to a higher process that challenges it, or to the one that it has invited.
    pub(super) fn on_challenge(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch) {
        let leads = p.state.role == Role::Leader && epoch == Self::kept(p).epoch;
        if leads && (from > p.id() || p.state.invited == Some(from)) {
            p.because("handed_over");
            self.hand_over(p, Some(from));
        } else {
            p.ignore("stale");
        }
    }

    /// The next round is due. A leader that is not electable any more yields instead, to the one
    /// that is quickest. One that has invited a process that does not come leads on after two
    /// rounds, or yields.
    pub(super) fn on_round(&self, p: &mut Local<'_, Self>) {
        let is_asked = p.state.invited.is_some();
        let leads_on = !is_asked || p.state.waits_for.is_some();
        if !self.is_healthy(p) || !leads_on {
            p.because(if is_asked { "asked_to_yield" } else { "unfit" });
            return self.hand_over(p, None);
        }
        p.state.waits_for = p.state.waits_for.and_then(|rounds| rounds.checked_sub(1));
        p.state.invited = p.state.invited.filter(|_| p.state.waits_for.is_some());
        self.start_round(p);
    }

    /// Whether the first leader is asked for anything: the rules `transfer` and `step_down`.
    pub(super) fn is_asked(&self) -> bool {
        self.transfer.is_some() || self.step_down
    }

    /// Whether a process can be next.
    pub(super) fn hands_over(&self) -> bool {
        self.transfer.is_some() || self.preemption != Preemption::Never
    }

    /// The operator asks the first leader for what the rules `transfer`, `absent` and `step_down`
    /// say.
    pub(super) fn on_request(&self, p: &mut Local<'_, Self>) {
        let next = self.transfer.filter(|&to| to != p.id());
        if self.step_down {
            Self::stay_away(p);
        }
        if self.step_down || next.is_some() {
            let rounds = (self.absent == Absent::LeadsOn).then_some(1);
            self.on_asked_to_yield(p, next, rounds);
        }
    }

    /// A leader is asked to yield, to a process that is named or to none. The leader leads on until
    /// the one that is next is prepared, and waits for it for so many further rounds. Without a
    /// number, the leader yields to none when the next round is due.
    pub(super) fn on_asked_to_yield(
        &self,
        p: &mut Local<'_, Self>,
        next: Option<Id>,
        rounds: Option<u8>,
    ) {
        if !matches!(p.state.role, Role::Leader | Role::Lapsed) {
            return;
        }
        let Some(to) = next else {
            p.because("asked_to_yield");
            return self.hand_over(p, None);
        };
        let may_lead = to != p.id() && self.candidates_of(p.state, p.nodes()).contains(to);
        let leads_on = p.state.waits_for.is_some();
        if may_lead && (p.state.invited != Some(to) || leads_on != rounds.is_some()) {
            p.state.invited = Some(to);
            p.state.waits_for = rounds;
            p.arm(Timer::Round);
            self.say(p, to, Message::Invite(Self::kept(p).epoch));
        }
    }

    /// Makes the process not electable for a time.
    pub(super) fn stay_away(p: &mut Local<'_, Self>) {
        p.arm(Timer::Away);
        Self::on_unfit(p);
    }

    /// The process may not lead any more, and does not wait for its turn.
    pub(super) fn on_unfit(p: &mut Local<'_, Self>) {
        for timer in [Timer::Watch, Timer::Backoff, Timer::Dwell] {
            p.cancel(timer);
        }
    }

    /// The process may lead again, if nothing else is in the way: it waits for its turn, unless it
    /// waits already.
    pub(super) fn on_fit(&self, p: &mut Local<'_, Self>) {
        let waits = [Timer::Quiet, Timer::Watch, Timer::Backoff, Timer::Dwell];
        let waits = waits.iter().any(|&timer| p.armed(timer));
        if p.state.role != Role::Follower || waits {
            return;
        }
        if p.state.promised.is_none() {
            self.watch(p);
        } else {
            self.dwell(p);
        }
    }

    /// "Stop acting, then Yield": it has granted the next epoch itself to the one that is next.
    fn hand_over(&self, p: &mut Local<'_, Self>, to: Option<Id>) {
        let Stable { epoch, .. } = Self::kept(p);
        let overstepped = p.has_run_out(Timer::Lease);
        match to {
            Some(to) => {
                self.grants(p, epoch.saturating_add(1), Some(to));
                self.promise(p, to);
            }
            None => self.step_down(p),
        }
        p.state.overstepped = overstepped;
        self.broadcast(p, Message::Yield(epoch, to));
        if let Some(to) = to {
            self.say(p, to, Message::Entrust(epoch.saturating_add(1)));
        }
    }

    /// The leader has yielded: its promises are void, and `next` has the next epoch.
    pub(super) fn on_yield(
        &self,
        p: &mut Local<'_, Self>,
        from: Id,
        epoch: Epoch,
        next: Option<Id>,
    ) {
        let own = Self::kept(p).epoch;
        // A successor that may not lead is none.
        let candidates = self.candidates_of(p.state, p.nodes());
        let next = next.filter(|&to| candidates.contains(to));
        if p.state.role == Role::Succeeding
            && next == Some(p.id())
            && epoch.saturating_add(1) == own
        {
            return self.count(p, from);
        }
        let promised = p.state.promised == Some(from);
        if !promised || epoch != own {
            return p.ignore("stale");
        }
        p.because("yielded");
        match next {
            Some(next) if next == p.id() => self.succeed(p, from),
            Some(next) if !self.observes(p) => self.entrust(p, next, epoch.saturating_add(1)),
            _ => self.step_down(p),
        }
    }

    /// It grants the next epoch without being asked, durably, and promises: the rule `handover`.
    fn entrust(&self, p: &mut Local<'_, Self>, to: Id, epoch: Epoch) {
        if self.handover == Handover::Entrusted {
            self.grants(p, epoch, Some(to));
            self.say(p, to, Message::Entrust(epoch));
            self.promise(p, to);
        } else if self.is_healthy(p) {
            Self::turn(p, Role::Deferring);
            p.arm(Timer::Coordinator);
        } else {
            self.step_down(p);
        }
    }

    /// "This epoch is yours." It proves that the leader has yielded, heard or not. It says
    /// nothing to a process that claims: the promise began before the claim.
    pub(super) fn on_entrust(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch) {
        let own = Self::kept(p).epoch;
        let prepared = p.armed(Timer::Asked);
        match p.state.role {
            Role::Succeeding if epoch == own => self.count(p, from),
            Role::Follower if epoch == own.saturating_add(1) && prepared => {
                p.because("yielded");
                self.succeed(p, from);
            }
            _ => p.ignore("stale"),
        }
    }

    /// The leader has yielded to it, and this one has granted it the next epoch. It leads with the
    /// next message at the earliest, so that its own grant is durable before. If no challenge says
    /// from when its lease counts, it claims an epoch that is entrusted to no process.
    fn succeed(&self, p: &mut Local<'_, Self>, from: Id) {
        let epoch = Self::kept(p).epoch.saturating_add(1);
        if !self.is_healthy(p) {
            return self.step_down(p);
        }
        if self.heir == Heir::FromYield {
            p.arm(Timer::Asked);
        } else if !p.armed(Timer::Asked) {
            return self.claim(p, epoch.saturating_add(1));
        }
        Self::turn_asked(p, Role::Succeeding);
        self.grants(p, epoch, Some(p.id()));
        p.state.granted = Ids::NONE.with(p.id()).with(from);
        p.arm(Timer::Election);
    }
}
