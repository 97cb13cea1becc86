//! How a leader hands over: to a higher process that challenges it, because it is not electable
//! itself, or because its operator asks it to.

use super::{Epoch, Handover, Message, Preemption, Quorum, Role, Stable, Timer};
use bellwether_engine::protocol::{Id, Local};

impl Quorum {
    /// Whether a process is electable as far as its machine and its operator go.
    pub(super) fn is_healthy(&self, p: &Local<'_, Self>) -> bool {
        self.unhealthy != Some(p.id()) && !p.timers().contains::<Self>(Timer::Away)
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
            p.send(leader, Message::Challenge(Self::kept(p).epoch));
            p.arm(Timer::Dwell);
        }
    }

    /// It has acknowledged a leader's round; without a dwell time, it challenges at once.
    pub(super) fn on_followed(&self, p: &mut Local<'_, Self>, leader: Id, epoch: Epoch) {
        if self.preemption == Preemption::AtOnce && self.outranks(p, leader) {
            p.send(leader, Message::Challenge(epoch));
        }
    }

    /// A leader yields to a higher process that challenges it.
    pub(super) fn on_challenge(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch) {
        let leads = p.state.role == Role::Leader && epoch == Self::kept(p).epoch;
        if leads && from > p.id() {
            self.hand_over(p, Some(from));
        }
    }

    /// The next round is due; a leader that is not electable any more yields instead, to the one
    /// that is quickest.
    pub(super) fn on_round(&self, p: &mut Local<'_, Self>) {
        if self.is_healthy(p) {
            self.start_round(p);
        } else {
            self.hand_over(p, None);
        }
    }

    /// Whether the first leader is asked for anything: the rules `transfer` and `step_down`.
    pub(super) fn is_asked(&self) -> bool {
        self.transfer.is_some() || self.step_down
    }

    /// Its operator asks a leader to yield: to a process that is named or to none, and perhaps to
    /// be not electable for a time.
    pub(super) fn on_request(&self, p: &mut Local<'_, Self>) {
        let to = self.transfer.filter(|&to| to != p.id());
        if self.step_down {
            p.arm(Timer::Away);
        }
        if to.is_some() || self.step_down {
            self.hand_over(p, to);
        }
    }

    /// The time is over for which it was to be not electable.
    pub(super) fn on_return(&self, p: &mut Local<'_, Self>) {
        let waits = p.state.promised.is_some() || p.timers().contains::<Self>(Timer::Quiet);
        self.dwell(p);
        if p.state.role == Role::Follower && !waits {
            self.watch(p);
        }
    }

    /// "Stop acting, then Yield, then the successor claims without canvassing."
    fn hand_over(&self, p: &mut Local<'_, Self>, to: Option<Id>) {
        let Stable { epoch, .. } = Self::kept(p);
        let overstepped = p.has_run_out(Timer::Lease);
        self.make_way(p, to);
        p.state.overstepped = overstepped;
        p.send_to_others(Message::Yield(epoch, to));
    }

    /// The leader has yielded: its promises are void, and `next` is to claim.
    pub(super) fn on_yield(
        &self,
        p: &mut Local<'_, Self>,
        from: Id,
        epoch: Epoch,
        next: Option<Id>,
    ) {
        let promised = p.state.promised == Some(from);
        if !promised || epoch != Self::kept(p).epoch {
            return;
        }
        if next != Some(p.id()) || !self.is_healthy(p) {
            return self.make_way(p, next);
        }
        match self.handover {
            Handover::Proven => self.claim(p, epoch + 1, Message::Succeed),
            Handover::Plain => self.claim(p, epoch + 1, Message::Claim),
        }
    }

    /// It waits for the next leader, and if that does not come, canvasses.
    fn make_way(&self, p: &mut Local<'_, Self>, next: Option<Id>) {
        if next.is_some() && self.is_healthy(p) {
            Self::turn(p, Role::Deferring);
            p.arm(Timer::Coordinator);
        } else {
            self.step_down(p);
        }
    }

    /// "The leader of the epoch before has yielded to me": whatever was promised in that epoch is
    /// void, heard or not.
    pub(super) fn on_succeed(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch) {
        if epoch == Self::kept(p).epoch + 1 && p.state.role != Role::Leader {
            self.grant(p, from, epoch);
        } else {
            self.on_claim(p, from, epoch);
        }
    }
}
