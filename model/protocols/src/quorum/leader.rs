//! What a leader does: rounds that renew its lease, and what it does when that has run out.

use super::{
    Count, Epoch, Expiry, Late, Mark, Message, Process, Quorum, Role, Round, Rounds, Timer,
};
use bellwether_engine::protocol::{Id, Ids, Local};

impl Quorum {
    /// It leads, with a lease that counts from before it claimed.
    pub(super) fn lead(&self, p: &mut Local<'_, Self>) {
        p.because("granted");
        self.start_lease(p);
        p.cancel(Timer::Election);
        p.state.role = Role::Leader;
        p.state.leader = Some(p.id());
        p.state.led = self.returns;
        self.propose_again(p);
        self.start_round(p);
        self.expect_change(p);
    }

    /// A leader says to all that it leads, and notes when: before it sends. It may wait for two
    /// rounds at a time: for the earliest that no majority has acknowledged, and for the latest.
    pub(super) fn start_round(&self, p: &mut Local<'_, Self>) {
        let (round, overstepped) = (p.state.round + 1, p.has_run_out(Timer::Lease));
        let alone = Ids::NONE.with(p.id());
        let waits = p.armed(Timer::Asked) && self.rounds != Rounds::Latest;
        *p.state = Process { round, overstepped, ..*p.state };
        if waits {
            *p.state = Process { later: round, granted_later: alone, ..*p.state };
            p.arm(Timer::Later);
        } else {
            *p.state = Process { asked: round, granted: alone, ..*p.state };
            p.arm(Timer::Asked);
        }
        p.arm(Timer::Round);
        self.broadcast(p, Message::Coordinator(Self::kept(p).epoch, round));
        self.renew(p);
    }

    /// An acknowledgement counts for the round that it answers and for those before it: the promise
    /// behind it began after all of them were sent.
    pub(super) fn on_ack(
        &self,
        p: &mut Local<'_, Self>,
        from: Id,
        epoch: Epoch,
        round: Round,
        mark: Mark,
    ) {
        let leads = matches!(p.state.role, Role::Leader | Role::Lapsed);
        if !leads || epoch != Self::kept(p).epoch || round > p.state.round {
            return p.ignore("stale");
        }
        let Process { asked, later, .. } = *p.state;
        let counts = |waits: Round| waits > 0 && (self.rounds == Rounds::Any || round >= waits);
        if counts(asked) {
            p.state.granted = p.state.granted.with(from);
        }
        if counts(later) {
            p.state.granted_later = p.state.granted_later.with(from);
        }
        self.renew(p);
        self.decide(p, from, mark);
    }

    /// The latest round that a majority has acknowledged extends the lease.
    fn renew(&self, p: &mut Local<'_, Self>) {
        let enough = |granted| self.makes_majority(p.state, p.nodes(), granted);
        let Process { asked, later, granted, granted_later, .. } = *p.state;
        let (earlier, later) = (asked > 0 && enough(granted), later > 0 && enough(granted_later));
        if later {
            p.cancel(Timer::Asked);
            Self::forget_asked(p);
        } else if !earlier {
            return;
        }
        p.state.role = Role::Leader;
        p.state.leader = Some(p.id());
        self.start_lease(p);
        Self::forget_asked(p);
    }

    /// It waits no longer for the earlier of two rounds, or for the only one.
    fn forget_asked(p: &mut Local<'_, Self>) {
        let Process { later, granted_later, .. } = *p.state;
        let granted = if later > 0 { granted_later } else { Ids::NONE.with(p.id()) };
        *p.state = Process { asked: later, granted, ..*p.state };
        p.arm_since(Timer::Asked, Timer::Later);
        Self::forget_later(p);
    }

    /// It waits for one round at most.
    pub(super) fn forget_later(p: &mut Local<'_, Self>) {
        *p.state = Process { later: 0, granted_later: Ids::NONE, ..*p.state };
    }

    fn start_lease(&self, p: &mut Local<'_, Self>) {
        match self.count {
            Count::BeforeSending => p.arm_since(Timer::Lease, Timer::Asked),
            Count::FromAnswer => {
                p.cancel(Timer::Asked);
                p.arm(Timer::Lease);
            }
        }
    }

    /// A process that is late looks at its leases before it does anything else: the rule `late`.
    /// Whether it thereby gives up what it was doing.
    pub(super) fn look_at_leases(&self, p: &mut Local<'_, Self>) -> bool {
        let before = p.state.role;
        for timer in [Timer::Later, Timer::Asked, Timer::Lease] {
            if self.late == Late::LooksFirst && p.has_run_out(timer) {
                p.cancel(timer);
                self.on_timer(p, timer);
            }
        }
        before != Role::Follower && p.state.role == Role::Follower
    }

    /// What it asked for would be over by now, if it were granted.
    pub(super) fn on_unanswered(&self, p: &mut Local<'_, Self>) {
        match p.state.role {
            Role::Claiming | Role::Succeeding => {
                p.because("no_majority");
                self.back_off(p);
            }
            Role::Leader | Role::Lapsed => Self::forget_asked(p),
            Role::Follower | Role::Deferring | Role::Canvassing => {}
        }
    }

    /// "When the lease runs out, the leader stops all traffic that renews promises."
    pub(super) fn on_lease_expired(&self, p: &mut Local<'_, Self>) {
        p.because("lease_over");
        match self.expiry {
            Expiry::StepsDown => self.step_down(p),
            Expiry::KeepsRenewing => {
                p.state.role = Role::Lapsed;
                p.state.leader = None;
            }
            Expiry::Ignores => {}
        }
    }

    /// It follows again, and promises nothing.
    pub(super) fn step_down(&self, p: &mut Local<'_, Self>) {
        Self::turn(p, Role::Follower);
        self.wait(p);
    }
}
