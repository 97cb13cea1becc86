//! What a leader does: rounds that renew its lease, and what it does when that has run out.

use super::{Count, Epoch, Expiry, Late, Message, Process, Quorum, Role, Round, Rounds, Timer};
use bellwether_engine::protocol::{Id, Ids, Local};

impl Quorum {
    /// It leads, with a lease that counts from before it claimed.
    pub(super) fn lead(&self, p: &mut Local<'_, Self>) {
        self.proves(p);
        self.start_lease(p);
        p.cancel(Timer::Election);
        p.state.role = Role::Leader;
        p.state.leader = Some(p.id());
        self.start_round(p);
    }

    /// A leader says to all that it leads, and notes when: before it sends.
    pub(super) fn start_round(&self, p: &mut Local<'_, Self>) {
        let (round, overstepped) = (p.state.round + 1, p.has_run_out(Timer::Lease));
        *p.state = Process { round, granted: Ids::NONE.with(p.id()), overstepped, ..*p.state };
        p.arm(Timer::Asked);
        p.arm(Timer::Round);
        self.broadcast(p, Message::Coordinator(Self::kept(p).epoch, round));
    }

    /// A round that a majority has acknowledged extends the lease.
    pub(super) fn on_ack(&self, p: &mut Local<'_, Self>, from: Id, epoch: Epoch, round: Round) {
        let leads = matches!(p.state.role, Role::Leader | Role::Lapsed);
        let counts = self.rounds == Rounds::Any || round == p.state.round;
        let waits = p.timers().contains::<Self>(Timer::Asked);
        if !leads || !counts || !waits || epoch != Self::kept(p).epoch {
            return;
        }
        p.state.granted = p.state.granted.with(from);
        if self.has_majority(p) {
            p.state.granted = Ids::NONE.with(p.id());
            p.state.role = Role::Leader;
            p.state.leader = Some(p.id());
            self.start_lease(p);
        }
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
        if self.late == Late::LooksFirst {
            if p.has_run_out(Timer::Asked) {
                p.cancel(Timer::Asked);
                self.on_unanswered(p);
            }
            if p.has_run_out(Timer::Lease) {
                p.cancel(Timer::Lease);
                self.on_lease_expired(p);
            }
        }
        before != Role::Follower && p.state.role == Role::Follower
    }

    /// What it asked for would be over by now, if it were granted.
    pub(super) fn on_unanswered(&self, p: &mut Local<'_, Self>) {
        if matches!(p.state.role, Role::Claiming | Role::Succeeding) {
            self.back_off(p);
        }
    }

    /// "When the lease runs out, the leader stops all traffic that renews promises."
    pub(super) fn on_lease_expired(&self, p: &mut Local<'_, Self>) {
        match self.expiry {
            Expiry::StepsDown => self.step_down(p),
            Expiry::KeepsRenewing => {
                p.state.role = Role::Lapsed;
                p.state.leader = None;
            }
            Expiry::Ignores => {}
        }
    }

    /// It leads no longer.
    pub(super) fn step_down(&self, p: &mut Local<'_, Self>) {
        Self::turn(p, Role::Follower);
        self.watch(p);
    }
}
