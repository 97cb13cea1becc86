//! What a leader does: rounds that renew its lease.
//!
//! A round takes as long as the network needs, which may be longer than the time until the next. So
//! several wait for a majority at a time, each with the lease that it would give.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ASKED_TO_YIELD, Context, Epoch, Mark, Message, NO_MAJORITY, NodeId, Quorum, Reason, STALE,
    State, Timer, changes::is_majority,
};

/// A node that a leader has asked to take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Invitation {
    /// The node.
    pub to: NodeId,
    /// The number of further rounds for which the leader waits for it, and then leads on; `None` if
    /// the leader yields to none when the next round is due.
    pub rounds: Option<usize>,
}

/// What a leader knows of a node that has acknowledged one of its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Follower {
    /// The latest round that it has acknowledged.
    pub acknowledged: u64,
    /// The leader's latest round when it last acknowledged any.
    pub heard: u64,
}

impl Quorum {
    /// It leads, with a lease that counts from before it claimed.
    pub(super) fn lead(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        // While it claims, the timer runs.
        let until = cx.armed(Timer::Asked).unwrap_or(cx.now());
        let (waiting, followers) = (Vec::new(), BTreeMap::new());
        let leads =
            State::Leader { round: 0, waiting, followers, invited: None, marked: BTreeSet::new() };
        self.change(cx, leads, reason);
        cx.arm_at(Timer::Lease, until);
        self.propose_again(cx);
        self.start_round(cx);
    }

    /// The next round is due. If its lease is over it says nothing: that is handled next. One that
    /// is not fit to lead any more yields to the quickest, and so does one that was asked to lead
    /// no longer and has invited a node that does not come. One that was asked to let that node
    /// lead waits for it for a while, and leads on.
    pub(super) fn on_round(&mut self, cx: &mut Context<'_, Self>) {
        let lasts = cx.armed(Timer::Lease).is_some_and(|until| until > cx.now());
        if !lasts {
            return;
        }
        let fit = self.is_fit(cx);
        let State::Leader { invited, .. } = &mut self.state else { return };
        match invited {
            Some(Invitation { rounds: Some(rounds), .. }) if fit => match rounds.checked_sub(1) {
                Some(fewer) => *rounds = fewer,
                None => *invited = None,
            },
            Some(_) => return self.hand_over(cx, None, ASKED_TO_YIELD),
            None if fit => {}
            None => return self.hand_over(cx, None, Reason::UNFIT),
        }
        self.start_round(cx);
    }

    /// The leader says to all that it leads, and notes until when a lease would last that counts
    /// from before the sending. If as many rounds wait as may, it waits for the latest no longer.
    pub(super) fn start_round(&mut self, cx: &mut Context<'_, Self>) {
        let State::Leader { round, waiting, .. } = &mut self.state else { return };
        *round = round.saturating_add(1);
        waiting.truncate(cx.config().timing.rounds_at_once() - 1);
        waiting.push(*round);
        let message = Message::Coordinator(self.durable.epoch, *round, self.lists.mark);
        cx.arm(timer(waiting.len() - 1));
        cx.arm(Timer::Round);
        self.broadcast(cx, message);
        self.renew(cx);
    }

    /// "I follow you": it counts for the round that it answers and for those before it, because the
    /// promise behind it began after all of them were sent.
    pub(super) fn on_ack(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        epoch: Epoch,
        number: u64,
        mark: Mark,
    ) {
        let own = self.durable.epoch;
        match &mut self.state {
            State::Leader { round, followers, .. } if epoch == own && number <= *round => {
                let follower = followers.entry(from).or_default();
                follower.acknowledged = number.max(follower.acknowledged);
                follower.heard = *round;
                self.renew(cx);
                self.decide(cx, from, mark);
            }
            _ => cx.ignore(from, STALE),
        }
    }

    /// The latest round that a majority has acknowledged extends the lease.
    fn renew(&mut self, cx: &mut Context<'_, Self>) {
        let State::Leader { waiting, followers, .. } = &self.state else { return };
        let me = cx.id();
        let acknowledged = |number: &u64| {
            let has = |id| followers.get(&id).is_some_and(|other| other.acknowledged >= *number);
            is_majority(&self.lists, |id| id == me || has(id))
        };
        let Some(place) = waiting.iter().rposition(acknowledged) else { return };
        if let Some(until) = cx.armed(timer(place)) {
            cx.arm_at(Timer::Lease, until);
        }
        self.forget_rounds(cx, 0, place + 1);
    }

    /// It waits no longer for so many rounds from this place on. Those behind them keep their
    /// deadlines.
    fn forget_rounds(&mut self, cx: &mut Context<'_, Self>, first: usize, count: usize) {
        let State::Leader { waiting, .. } = &mut self.state else { return };
        let last = waiting.len();
        waiting.drain(first..first + count);
        for place in first..last {
            let until = Some(place + count).filter(|&at| at < last).map(timer);
            let until = until.and_then(|behind| cx.armed(behind));
            match until {
                Some(until) => cx.arm_at(timer(place), until),
                None => cx.cancel(timer(place)),
            }
        }
    }

    /// What it has asked for would be over by now: a claim, or the round at this place.
    pub(super) fn on_unanswered(&mut self, cx: &mut Context<'_, Self>, place: u8) {
        match &self.state {
            State::Claiming(_) | State::Succeeding(_) => self.back_off(cx, NO_MAJORITY),
            State::Leader { waiting, .. } if usize::from(place) < waiting.len() => {
                self.forget_rounds(cx, place.into(), 1);
            }
            _ => {}
        }
    }
}

/// The timer of the round at this place among those that wait, from 0.
fn timer(place: usize) -> Timer {
    match u8::try_from(place) {
        Ok(0) => Timer::Asked,
        // At most as many wait as there are timers.
        place => Timer::Later(place.unwrap_or(u8::MAX)),
    }
}
