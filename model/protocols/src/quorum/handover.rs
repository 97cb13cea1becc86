//! How a leader hands over: to a higher process that challenges it, because it is not electable
//! itself, or because its operator asks it to.

use super::{Absent, Epoch, Handover, Heir, Message, Preemption, Quorum, Role, Stable, Timer};
use bellwether_engine::protocol::{Id, Ids, Local};

impl Quorum {
    /// Whether a process is electable as far as its machine, its operator and its list go: it
    /// neither observes nor is a witness, for one, nor waits to be let in.
    pub(super) fn is_healthy(&self, p: &Local<'_, Self>) -> bool {
        let away = p.timers().contains::<Self>(Timer::Away);
        let may_lead = self.may_lead(p.state, p.id(), Self::kept(p).birth, p.nodes());
        self.unhealthy != Some(p.id()) && !away && may_lead
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
    /// rounds, or yields: the rule `absent`.
    pub(super) fn on_round(&self, p: &mut Local<'_, Self>) {
        let is_asked = p.state.invited.is_some();
        let leads_on = !is_asked || self.absent == Absent::LeadsOn;
        if !self.is_healthy(p) || !leads_on {
            p.because(if is_asked { "asked_to_yield" } else { "unfit" });
            return self.hand_over(p, None);
        }
        match p.state.waits_for.checked_sub(1) {
            Some(rounds) => p.state.waits_for = rounds,
            None => p.state.invited = None,
        }
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

    /// Its operator asks a leader to yield: to a process that is named or to none, and perhaps to
    /// be not electable for a time.
    pub(super) fn on_request(&self, p: &mut Local<'_, Self>) {
        if self.step_down {
            p.arm(Timer::Away);
        }
        match self.transfer.filter(|&to| to != p.id()) {
            Some(to) if self.candidates_of(p.state, p.nodes()).contains(to) => self.invite(p, to),
            Some(_) => {}
            None if self.step_down => {
                p.because("asked_to_yield");
                self.hand_over(p, None);
            }
            None => {}
        }
    }

    /// It leads on until the one that is next is prepared, and waits for it for a time.
    fn invite(&self, p: &mut Local<'_, Self>, to: Id) {
        p.state.invited = Some(to);
        p.state.waits_for = 1;
        p.arm(Timer::Round);
        self.say(p, to, Message::Invite(Self::kept(p).epoch));
    }

    /// The time is over for which it was to be not electable.
    pub(super) fn on_return(&self, p: &mut Local<'_, Self>) {
        let waits = p.state.promised.is_some() || p.timers().contains::<Self>(Timer::Quiet);
        self.dwell(p);
        if p.state.role == Role::Follower && !waits {
            self.watch(p);
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
        let prepared = p.timers().contains::<Self>(Timer::Asked);
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
        } else if !p.timers().contains::<Self>(Timer::Asked) {
            return self.claim(p, epoch.saturating_add(1));
        }
        Self::turn_asked(p, Role::Succeeding);
        self.grants(p, epoch, Some(p.id()));
        p.state.granted = Ids::NONE.with(p.id()).with(from);
        p.arm(Timer::Election);
    }
}
