//! What a node is asked to do, and whether it may lead: it is no witness, its machine is fit, and
//! it was not asked to stay away.

use super::{
    ASKED_TO_YIELD, Config, Context, Follower, Invitation, Message, NodeId, Quorum, Request, State,
    Timer,
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

    /// It waits to run, if it may lead, or to vote.
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
}
