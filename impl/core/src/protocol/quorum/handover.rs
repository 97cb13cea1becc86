//! How a leader hands over: once the node that is next is prepared, it stops and says so, and all
//! grant that node the next epoch.
//!
//! A lease may not count from a moment that is later than the promises that it rests on, and those
//! begin when the voters hear the leader yield. So the successor counts it from its own challenge,
//! which the leader has heard before it yielded: from the first one in the epoch, for it cannot
//! tell which one that was.

use std::collections::BTreeSet;

use super::{
    Context, Core, Epoch, HANDED_OVER, Message, NodeId, Preemption, Quorum, Reason, STALE, State,
    Timer, YIELDED,
};

impl Quorum {
    /// It has begun to follow a leader. If it is to take over, it waits for the dwell time.
    pub(super) fn dwell(&self, cx: &mut Context<'_, Self>, leader: NodeId) {
        if self.outranks(cx, leader) && cx.config().timing.preemption == Preemption::Dwell {
            self.arm_in_order(cx, Timer::Dwell);
        }
    }

    /// It has followed a lower leader for long enough.
    pub(super) fn on_dwelt(&mut self, cx: &mut Context<'_, Self>) {
        if let State::Follower { promised: Some(leader), heard: true } = self.state {
            self.challenge(cx, leader);
            cx.arm(Timer::Dwell);
        }
    }

    /// It has heard a leader. Without a dwell time, it takes over at once.
    pub(super) fn challenge_at_once(&mut self, cx: &mut Context<'_, Self>, leader: NodeId) {
        if self.outranks(cx, leader) && cx.config().timing.preemption == Preemption::AtOnce {
            self.challenge(cx, leader);
        }
    }

    /// "Take over from me." Only the leader that it follows can say so.
    pub(super) fn on_invite(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        let follows = State::Follower { promised: Some(from), heard: true };
        if self.state != follows || epoch != self.durable.epoch {
            return cx.ignore(from, STALE);
        }
        if self.is_fit(cx) {
            self.challenge(cx, from);
        }
    }

    /// It takes over, and is prepared: if the leader yields, its lease counts from here, before the
    /// sending, if it has not challenged in this epoch before.
    fn challenge(&mut self, cx: &mut Context<'_, Self>, leader: NodeId) {
        if !self.challenged {
            self.challenged = true;
            cx.arm(Timer::Asked);
        }
        cx.send(leader, Message::Challenge(self.durable.epoch, self.mark()));
    }

    /// Whether it is to lead instead of this leader.
    fn outranks(&self, cx: &Context<'_, Self>, leader: NodeId) -> bool {
        cx.config().members.comes_before(cx.id(), leader) && self.is_fit(cx)
    }

    /// "I take over": a leader makes way for a higher node, and for the one that it has invited.
    pub(super) fn on_challenge(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        let higher = cx.config().members.comes_before(from, cx.id());
        match self.state {
            State::Leader { .. }
                if epoch == self.durable.epoch && (higher || self.awaits_successor(from)) =>
            {
                self.hand_over(cx, Some(from), HANDED_OVER);
            }
            _ => cx.ignore(from, STALE),
        }
    }

    /// It leads no longer from here on, grants the next epoch itself, durably, and says so.
    pub(super) fn hand_over(
        &mut self,
        cx: &mut Context<'_, Self>,
        next: Option<NodeId>,
        reason: Reason,
    ) {
        let epoch = self.durable.epoch;
        match next {
            Some(to) => self.bequeath(cx, to, reason),
            None => self.watch(cx, reason),
        }
        self.broadcast(cx, Message::Yield(epoch, next));
        if let Some(to) = next {
            cx.send(to, Message::Entrust(epoch.next()));
        }
    }

    /// "I have stopped leading": what was promised to that leader is void, and the next epoch is
    /// the successor's.
    pub(super) fn on_yield(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        epoch: Epoch,
        next: Option<NodeId>,
    ) {
        let own = self.durable.epoch;
        // A successor that may not lead is none.
        let next = next.filter(|&to| cx.config().members.may_lead(to));
        match self.state {
            State::Follower { promised, .. } if promised == Some(from) && epoch == own => {}
            State::Succeeding(_) if next == Some(cx.id()) && epoch.next() == own => {
                return self.count(cx, from);
            }
            _ => return cx.ignore(from, STALE),
        }
        match next {
            _ if self.observes(cx) => self.watch(cx, YIELDED),
            None => self.watch(cx, YIELDED),
            Some(to) if to == cx.id() => self.succeed(cx, from),
            Some(to) => {
                self.bequeath(cx, to, YIELDED);
                cx.send(to, Message::Entrust(epoch.next()));
            }
        }
    }

    /// It grants the next epoch without being asked, and promises.
    fn bequeath(&mut self, cx: &mut Context<'_, Self>, to: NodeId, reason: Reason) {
        self.keep(cx, self.durable.epoch.next(), Some(to));
        self.change(cx, State::Follower { promised: Some(to), heard: false }, reason);
        cx.arm(Timer::Promise);
    }

    /// "This epoch is yours": it proves that the leader has yielded, whether that was heard or not.
    /// To a node that is not prepared it says nothing: its lease could outlast what was promised.
    pub(super) fn on_entrust(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        let (own, prepared) = (self.durable.epoch, cx.armed(Timer::Asked).is_some());
        match self.state {
            State::Succeeding(_) if epoch == own => self.count(cx, from),
            State::Follower { .. } if epoch == own.next() && prepared => self.succeed(cx, from),
            _ => cx.ignore(from, STALE),
        }
    }

    /// The leader has yielded to it, and this node has granted it the next epoch. It leads with the
    /// next message at the earliest. Its own grant may not be durable then: what it says as leader,
    /// and the news that it leads, wait for that. One that is not prepared claims the epoch after
    /// that one.
    fn succeed(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        let next = self.durable.epoch.next();
        if !self.is_fit(cx) {
            return self.watch(cx, YIELDED);
        }
        let Some(until) = cx.armed(Timer::Asked) else {
            return self.claim(cx, next.next(), YIELDED);
        };
        let me = cx.id();
        self.keep(cx, next, Some(me));
        self.change(cx, State::Succeeding(BTreeSet::from([me, from])), YIELDED);
        cx.arm_at(Timer::Asked, until);
        cx.arm(Timer::Election);
    }
}
