//! How a node comes to lead: it canvasses, claims, and gives up if it finds no majority.

use std::collections::BTreeSet;

use super::{
    Birth, Config, Context, Epoch, GRANTED, HIGHER_EPOCH, Message, NO_MAJORITY, NodeId, OUTRANKED,
    Quorum, Reason, STALE, SUPPORTED, State, Timer,
};

impl Quorum {
    /// It asks all others whether they would grant it the next epoch, if it is fit to lead.
    pub(super) fn run(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        if !self.is_fit(cx) {
            return self.watch(cx, reason);
        }
        self.change(cx, State::Canvassing(BTreeSet::from([cx.id()])), reason);
        self.ask_all(cx, Message::Canvass(self.durable.epoch.next(), self.mark()));
        cx.arm(Timer::Election);
    }

    /// "I would grant it": it claims once a majority would and no node can outrank it any more.
    /// Until then it gives them the time.
    pub(super) fn on_support(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        let asked = self.durable.epoch.next();
        let State::Canvassing(supports) = &mut self.state else { return cx.ignore(from, STALE) };
        if epoch != asked {
            return cx.ignore(from, STALE);
        }
        supports.insert(from);
        let State::Canvassing(supports) = &self.state else { return };
        let all_before = self.before(cx.config()).all(|id| supports.contains(&id));
        if all_before && self.is_majority(supports) {
            self.claim(cx, asked, SUPPORTED);
        }
    }

    /// The nodes that come before it if they are electable: of those that may lead, the higher ones
    /// and the last leader.
    pub(super) fn before(&self, config: &Config) -> impl Iterator<Item = NodeId> {
        let (me, last) = (config.id, self.last_leader(config));
        let members = &config.members;
        let first = move |&id: &NodeId| members.comes_before(id, me) || last == Some(id);
        members.candidates().filter(first)
    }

    /// "I am higher and stand for election myself": the node gives way.
    pub(super) fn on_outrank(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        let canvasses = matches!(self.state, State::Canvassing(_));
        if !canvasses || epoch != self.durable.epoch.next() {
            return cx.ignore(from, STALE);
        }
        self.change(cx, State::Deferring, OUTRANKED);
        cx.arm(Timer::Coordinator);
    }

    /// Nothing more will come. A majority of supports is enough, if no higher node has answered
    /// that it stands for election.
    pub(super) fn on_election_over(&mut self, cx: &mut Context<'_, Self>) {
        let lasts = cx.armed(Timer::Asked).is_some_and(|until| until > cx.now());
        match &self.state {
            State::Canvassing(supports) if self.is_majority(supports) => {
                self.claim(cx, self.durable.epoch.next(), SUPPORTED);
            }
            // The only voter has granted it itself, and hears no other. The model has no such
            // group. After a pause, the lease that it would have may be over.
            State::Claiming(grants) if self.is_majority(grants) && lasts => {
                self.lead(cx, GRANTED);
            }
            _ => self.back_off(cx, NO_MAJORITY),
        }
    }

    /// It grants an epoch itself, durably, and asks all others for it. The lease that a majority of
    /// grants gives counts from here, before the sending.
    pub(super) fn claim(&mut self, cx: &mut Context<'_, Self>, epoch: Epoch, reason: Reason) {
        let me = cx.id();
        self.keep(cx, epoch, Some(me));
        self.change(cx, State::Claiming(BTreeSet::from([me])), reason);
        cx.arm(Timer::Asked);
        cx.arm(Timer::Election);
        self.ask_all(cx, Message::Claim(epoch, self.mark(), self.durable.birth));
    }

    /// A majority of grants makes it leader. An earlier life of it may have claimed the same epoch,
    /// and what was promised to that one may be over.
    pub(super) fn on_grant(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        epoch: Epoch,
        birth: Birth,
    ) {
        let is_own = (epoch, birth) == (self.durable.epoch, self.durable.birth);
        if matches!(self.state, State::Claiming(_)) && is_own {
            self.count(cx, from);
        } else {
            cx.ignore(from, STALE);
        }
    }

    /// This node has granted it its epoch.
    pub(super) fn count(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        let (State::Claiming(grants) | State::Succeeding(grants)) = &mut self.state else {
            return;
        };
        grants.insert(from);
        if let State::Claiming(grants) | State::Succeeding(grants) = &self.state
            && self.is_majority(grants)
        {
            self.lead(cx, GRANTED);
        }
    }

    /// "No": of a higher epoch it learns that its own is over.
    pub(super) fn on_refuse(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        if epoch <= self.durable.epoch {
            return cx.ignore(from, STALE);
        }
        match self.state {
            State::Canvassing(_) | State::Claiming(_) => {
                self.keep(cx, epoch, None);
                self.back_off(cx, HIGHER_EPOCH);
            }
            State::Leader { .. } => {
                self.keep(cx, epoch, None);
                self.watch(cx, HIGHER_EPOCH);
            }
            State::Follower { .. } | State::Deferring | State::Succeeding(_) => {
                cx.ignore(from, STALE);
            }
        }
    }

    /// It has found no majority: for a while it only supports others.
    pub(super) fn back_off(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        self.change(cx, State::Follower { promised: None, heard: false }, reason);
        if self.is_fit(cx) {
            cx.arm(Timer::Backoff);
        }
    }
}
