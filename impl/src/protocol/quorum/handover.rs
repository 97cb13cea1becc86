//! How a leader hands over: it stops, says so, and the node that is next claims with that proof.

use super::{
    Context, Epoch, HANDED_OVER, Message, NodeId, Preemption, Quorum, Reason, STALE, State, Timer,
    YIELDED,
};

impl Quorum {
    /// It has begun to follow a leader. If it is to take over, it waits for the dwell time.
    pub(super) fn dwell(&self, cx: &mut Context<'_, Self>, leader: NodeId) {
        if self.outranks(cx, leader) && cx.config().timing.preemption == Preemption::Dwell {
            cx.arm(Timer::Dwell);
        }
    }

    /// It has followed a lower leader for long enough.
    pub(super) fn on_dwelt(&self, cx: &mut Context<'_, Self>) {
        if let State::Follower { promised: Some(leader), heard: true } = self.state {
            cx.send(leader, Message::Challenge(self.durable.epoch));
            cx.arm(Timer::Dwell);
        }
    }

    /// It has heard a leader. Without a dwell time, it takes over at once.
    pub(super) fn challenge_at_once(&self, cx: &mut Context<'_, Self>, leader: NodeId) {
        if self.outranks(cx, leader) && cx.config().timing.preemption == Preemption::AtOnce {
            cx.send(leader, Message::Challenge(self.durable.epoch));
        }
    }

    /// Whether it is to lead instead of this leader.
    fn outranks(&self, cx: &Context<'_, Self>, leader: NodeId) -> bool {
        cx.id() > leader && self.is_fit(cx)
    }

    /// "I am higher than you": a leader makes way.
    pub(super) fn on_challenge(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        let leads = matches!(self.state, State::Leader { .. });
        if !leads || epoch != self.durable.epoch || from < cx.id() {
            return cx.ignore(from, STALE);
        }
        self.hand_over(cx, Some(from), HANDED_OVER);
    }

    /// It leads no longer from here on, and says so.
    pub(super) fn hand_over(
        &mut self,
        cx: &mut Context<'_, Self>,
        next: Option<NodeId>,
        reason: Reason,
    ) {
        self.make_way(cx, next, reason);
        Self::say_to_all(cx, Message::Yield(self.durable.epoch, next));
    }

    /// "I have stopped leading": what was promised to that leader is void. The node that is next
    /// claims without a canvass.
    pub(super) fn on_yield(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        epoch: Epoch,
        next: Option<NodeId>,
    ) {
        let promised =
            matches!(self.state, State::Follower { promised, .. } if promised == Some(from));
        if !promised || epoch != self.durable.epoch {
            return cx.ignore(from, STALE);
        }
        if next != Some(cx.id()) {
            self.make_way(cx, next, YIELDED);
        } else if self.is_fit(cx) {
            self.claim(cx, Message::Succeed, YIELDED);
        } else {
            self.watch(cx, YIELDED);
        }
    }

    /// It waits for the node that is next, and canvasses if that does not lead in time.
    fn make_way(&mut self, cx: &mut Context<'_, Self>, next: Option<NodeId>, reason: Reason) {
        if next.is_none() || !self.is_fit(cx) {
            return self.watch(cx, reason);
        }
        self.change(cx, State::Deferring, reason);
        cx.arm(Timer::Coordinator);
    }

    /// "The leader of the epoch before has yielded to me": what was promised in that epoch is void,
    /// whether its leader was heard to yield or not.
    pub(super) fn on_succeed(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        let leads = matches!(self.state, State::Leader { .. });
        if epoch == self.durable.epoch.next() && !leads {
            self.grant(cx, from, epoch);
        } else {
            self.on_claim(cx, from, epoch);
        }
    }
}
