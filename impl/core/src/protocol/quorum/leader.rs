//! What a leader does: rounds that renew its lease.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ASKED_TO_YIELD, Context, Epoch, Message, NO_MAJORITY, NodeId, Quorum, Reason, STALE, State,
    Timer,
};

impl Quorum {
    /// It leads, with a lease that counts from before it claimed.
    pub(super) fn lead(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        // While it claims, the timer runs.
        let until = cx.armed(Timer::Asked).unwrap_or(cx.now());
        let (acks, followers) = (BTreeSet::new(), BTreeMap::new());
        let leads = State::Leader { round: 0, acks, followers, invited: None };
        if self.proves() {
            cx.persist(self.durable.clone());
        }
        self.change(cx, leads, reason);
        cx.arm_at(Timer::Lease, until);
        self.start_round(cx);
    }

    /// The next round is due. If its lease is over it says nothing: that is handled next. One that
    /// is not fit to lead any more yields to the quickest, and so does one that has invited a node
    /// that does not come.
    pub(super) fn on_round(&mut self, cx: &mut Context<'_, Self>) {
        let lasts = cx.armed(Timer::Lease).is_some_and(|until| until > cx.now());
        if !lasts {
            return;
        }
        if matches!(self.state, State::Leader { invited: Some(_), .. }) {
            self.hand_over(cx, None, ASKED_TO_YIELD);
        } else if self.is_fit(cx) {
            self.start_round(cx);
        } else {
            self.hand_over(cx, None, Reason::UNFIT);
        }
    }

    /// The leader says to all that it leads, and notes until when a lease would last that counts
    /// from before the sending.
    fn start_round(&mut self, cx: &mut Context<'_, Self>) {
        let State::Leader { round, acks, .. } = &mut self.state else { return };
        *round = round.saturating_add(1);
        *acks = BTreeSet::from([cx.id()]);
        let message = Message::Coordinator(self.durable.epoch, *round);
        cx.arm(Timer::Asked);
        cx.arm(Timer::Round);
        Self::broadcast(cx, message);
    }

    /// "I follow you": a round that a majority has acknowledged extends the lease. Further answers
    /// give nothing, nor do those that come when what the round would give is over.
    pub(super) fn on_ack(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        epoch: Epoch,
        number: u64,
    ) {
        let own = self.durable.epoch;
        match &mut self.state {
            State::Leader { round, acks, followers, .. } if epoch == own && number == *round => {
                followers.insert(from, number);
                let Some(until) = cx.armed(Timer::Asked) else { return };
                acks.insert(from);
                if Self::is_majority(cx, acks) {
                    *acks = BTreeSet::from([cx.id()]);
                    cx.cancel(Timer::Asked);
                    cx.arm_at(Timer::Lease, until);
                }
            }
            _ => cx.ignore(from, STALE),
        }
    }

    /// What it has asked for would be over by now.
    pub(super) fn on_unanswered(&mut self, cx: &mut Context<'_, Self>) {
        if matches!(self.state, State::Claiming(_) | State::Succeeding(_)) {
            self.back_off(cx, NO_MAJORITY);
        }
    }
}
