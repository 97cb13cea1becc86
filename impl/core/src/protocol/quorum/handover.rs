//! How a leader hands over, at a request or to a higher node: once the node that is next is
//! prepared, it stops and says so, and all grant that node the next epoch. And which node may lead:
//! one that is no witness, whose machine is fit, and that was not asked to stay away.
//!
//! A lease may not count from a moment that is later than the promises that it rests on, and those
//! begin when the voters hear the leader yield. So the successor counts it from its own challenge,
//! which the leader has heard before it yielded: from the first one in the epoch, for it cannot
//! tell which one that was.

use std::collections::BTreeSet;

use super::{
    ASKED_TO_YIELD, Config, Context, Core, Epoch, Follower, HANDED_OVER, Invitation, Message,
    NodeId, Preemption, Quorum, Reason, Request, STALE, State, Timer, YIELDED,
};

impl Quorum {
    /// Something is asked of it. What ends a leadership is done at once, but for what its machine
    /// is not fit for: that is done at the next round.
    pub(super) fn on_request(&mut self, cx: &mut Context<'_, Self>, request: Request) {
        match request {
            Request::Yield(next) => self.on_asked_to_yield(cx, next, None),
            Request::Transfer(to) => {
                let rounds = cx.config().timing.rounds_at_once() - 1;
                self.on_asked_to_yield(cx, Some(to), Some(rounds));
            }
            Request::StepDown(next, time) => {
                let until = cx.now() + time;
                if until > cx.now() {
                    cx.arm_at(Timer::Away, until);
                    self.on_unfit(cx);
                }
                self.on_asked_to_yield(cx, next, None);
            }
            Request::Change(list) => self.on_change(cx, list),
            Request::Tell(to) => self.on_tell(cx, to),
            Request::Healthy(healthy) => {
                self.healthy = healthy;
                if healthy { self.on_fit(cx) } else { self.on_unfit(cx) }
            }
        }
    }

    /// A leader leads on until the node that is next is prepared. It waits for a round, or for so
    /// many further ones and then leads on.
    fn on_asked_to_yield(
        &mut self,
        cx: &mut Context<'_, Self>,
        next: Option<NodeId>,
        rounds: Option<usize>,
    ) {
        let State::Leader { invited, .. } = &mut self.state else { return };
        let Some(to) = next else { return self.hand_over(cx, None, ASKED_TO_YIELD) };
        let other = to != cx.id() && self.lists.latest().may_lead(to);
        let invitation = Invitation { to, rounds };
        let again = invited
            .is_some_and(|known| known.to == to && known.rounds.is_some() == rounds.is_some());
        if other && !again {
            *invited = Some(invitation);
            cx.arm(Timer::Round);
            cx.send(to, Message::Invite(self.durable.epoch));
        }
    }

    /// The highest node that may lead and has acknowledged any round since the one before the
    /// latest began.
    pub(super) fn best_follower(&self, config: &Config) -> Option<NodeId> {
        let State::Leader { round, followers, .. } = &self.state else { return None };
        let lately = |(_, node): &(&NodeId, &Follower)| node.heard.saturating_add(1) >= *round;
        let members = &config.members;
        let followers = followers.iter().filter(lately).map(|(&id, _)| id);
        let best = |best, id| if members.comes_before(id, best) { id } else { best };
        followers.filter(|&id| members.may_lead(id)).reduce(best)
    }

    /// Whether it may lead: not as an observer or a witness, nor before it has been let in.
    pub(super) fn is_fit(&self, cx: &Context<'_, Self>) -> bool {
        let latest = self.lists.latest();
        let votes = latest.birth(cx.id()) == Some(self.durable.birth);
        let may_lead = votes && latest.may_lead(cx.id());
        self.healthy && cx.armed(Timer::Away).is_none() && may_lead
    }

    /// Waits to stand for election, if the node may lead, or to vote.
    pub(super) fn wait(&mut self, cx: &mut Context<'_, Self>) {
        if self.is_fit(cx) {
            self.arm_in_order(cx, Timer::Watch);
        }
        self.meet_all(cx);
    }

    /// It may not lead any more: it waits for nothing but others. What it has asked is answered.
    pub(super) fn on_unfit(&self, cx: &mut Context<'_, Self>) {
        for timer in [Timer::Watch, Timer::Backoff, Timer::Dwell] {
            cx.cancel(timer);
        }
    }

    /// It may lead again, unless another thing is in the way.
    pub(super) fn on_fit(&self, cx: &mut Context<'_, Self>) {
        let State::Follower { promised, heard } = self.state else { return };
        let waits = [Timer::Quiet, Timer::Watch, Timer::Backoff, Timer::Dwell];
        if !self.is_fit(cx) || waits.iter().any(|&timer| cx.armed(timer).is_some()) {
            return;
        }
        match promised {
            None => self.arm_in_order(cx, Timer::Watch),
            Some(leader) if heard => self.dwell(cx, leader),
            Some(_) => {}
        }
    }

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
