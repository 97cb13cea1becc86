//! How the list of members changes in place, at a request to the leader.
//!
//! A node keeps the list that it knows to be decided, and the one that is pending, if there is one.
//! While a list is pending, a majority is one of both: for supports, grants and rounds. Each pair
//! of lists has a [`Mark`]. Marks grow: a node that hears another with an older mark sends it the
//! lists, and who gets newer ones takes them, durably. A voter grants nothing to a node with an
//! older mark. What is decided is known to a majority of both lists, so each later leader knows it.
//!
//! - **A majority of both lists while one is pending, and no vote for a node that is behind:**
//!   Ongaro and Ousterhout 2014, §5.4.1 and §6; Ongaro 2014, §4.3.
//! - **A leader proposes anew, in its own epoch, what it finds pending:** L.
//!   Lamport, *The Part-Time Parliament*, ACM Transactions on Computer Systems 16(2), 1998.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Config, Context, Core as _, Epoch, HIGHER_EPOCH, Message, NodeId, Quorum, STALE, State, Timer,
};
use crate::protocol::Members;

/// How new the lists of a node are. Two nodes with one mark have the same lists, but for the first
/// mark: that is of the lists with which nodes are configured.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Mark {
    /// The epoch of the leader that proposed or decided the lists; 0 for the first list.
    pub epoch: Epoch,
    /// How often that leader had done either in this epoch.
    pub turn: u64,
}

impl Mark {
    /// The mark of the first list.
    pub const FIRST: Self = Self { epoch: Epoch::new(0), turn: 0 };

    /// The next mark of a leader of this epoch.
    fn after(self, epoch: Epoch) -> Self {
        let turn = if self.epoch == epoch { self.turn.saturating_add(1) } else { 1 };
        Self { epoch, turn }
    }
}

/// The lists of members that a node knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lists {
    /// The list that is decided.
    pub decided: Members,
    /// The list that is pending: proposed by a leader, and not known to be decided.
    pub pending: Option<Members>,
    /// How new they are.
    pub mark: Mark,
}

impl Lists {
    /// The first list of a cluster.
    #[must_use]
    pub fn first(members: Members) -> Self {
        Self { decided: members, pending: None, mark: Mark::FIRST }
    }

    /// Returns the latest list: by that it is decided who may lead, and in which order.
    #[must_use]
    pub fn latest(&self) -> &Members {
        self.pending.as_ref().unwrap_or(&self.decided)
    }

    /// Returns the lists that count: a majority is one of each.
    pub fn each(&self) -> impl Iterator<Item = &Members> {
        std::iter::once(&self.decided).chain(&self.pending)
    }
}

impl Message {
    /// How new the lists of the sender are, if the receiver asks.
    fn mark(&self) -> Option<Mark> {
        match self {
            Self::Canvass(_, mark)
            | Self::Claim(_, mark, _)
            | Self::Challenge(_, mark)
            | Self::Coordinator(_, _, mark)
            | Self::Ack(_, _, mark)
            | Self::Meet(_, _, mark) => Some(*mark),
            _ => None,
        }
    }
}

impl Quorum {
    pub(super) fn mark(&self) -> Mark {
        self.lists.mark
    }

    /// Whether another votes by one of the lists.
    pub(super) fn votes(&self, id: NodeId) -> bool {
        self.lists.each().any(|list| list.votes(id))
    }

    /// Whether it votes itself by one of the lists, in this life.
    pub(super) fn has_vote(&self, me: NodeId) -> bool {
        self.lists.each().any(|list| list.birth(me) == Some(self.durable.birth))
    }

    /// The members of one of the lists, but for this one; those that vote, or all.
    pub(super) fn others(&self, me: NodeId, voters: bool) -> BTreeSet<NodeId> {
        let all = self.lists.each().flat_map(Members::iter);
        all.filter(|&id| id != me && (!voters || self.votes(id))).collect()
    }

    /// To all others, those that observe included: what a leader says.
    pub(super) fn broadcast(&self, cx: &mut Context<'_, Self>, message: Message) {
        cx.send_all(&self.others(cx.id(), false), message);
    }

    /// To all other voters: what is asked for.
    pub(super) fn ask_all(&self, cx: &mut Context<'_, Self>, message: Message) {
        cx.send_all(&self.others(cx.id(), true), message);
    }

    /// Sends its lists to one with older ones. Whether that has asked for something that it does
    /// not get therefore.
    pub(super) fn is_outdated(
        &self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        message: &Message,
    ) -> bool {
        if message.mark().is_none_or(|mark| mark >= self.mark()) {
            return false;
        }
        cx.send(from, self.as_message());
        match message {
            Message::Canvass(..) | Message::Claim(..) if !self.has_vote(cx.id()) => true,
            Message::Canvass(..) | Message::Claim(..) => {
                self.refuse(cx, from);
                true
            }
            Message::Challenge(..) => {
                cx.ignore(from, STALE);
                true
            }
            _ => false,
        }
    }

    /// It is asked for another list of members. It proposes one in which it may lead itself, while
    /// no other is pending. A voter that did not vote before is let in once it is met.
    pub(super) fn on_change(&mut self, cx: &mut Context<'_, Self>, list: Members) {
        let list = list.after(&self.lists.decided);
        self.propose(cx, list);
    }

    /// It proposes this list, if it leads and no other is pending.
    pub(super) fn propose(&mut self, cx: &mut Context<'_, Self>, list: Members) {
        let decided = &self.lists.decided;
        let follows = Some(list.config_epoch()) == decided.config_epoch().checked_add(1);
        let leads = matches!(self.state, State::Leader { .. });
        if !leads || self.lists.pending.is_some() || !follows || !list.may_lead(cx.id()) {
            return;
        }
        self.take(cx, Lists { pending: Some(list), ..self.next_lists() });
        self.tell_all(cx);
        self.start_round(cx);
        self.decide(cx, cx.id(), self.mark());
    }

    /// It leads. What an earlier leader has proposed, it proposes anew.
    pub(super) fn propose_again(&mut self, cx: &mut Context<'_, Self>) {
        if self.lists.pending.is_some() && self.mark().epoch < self.durable.epoch {
            self.take(cx, self.next_lists());
            self.tell_all(cx);
        }
    }

    /// This node has acknowledged a round, and has the lists with this mark. Once a majority of
    /// both lists has its own, the pending one is decided.
    pub(super) fn decide(&mut self, cx: &mut Context<'_, Self>, from: NodeId, mark: Mark) {
        let State::Leader { marked, .. } = &mut self.state else { return };
        let own = self.lists.mark;
        if self.lists.pending.is_none() || mark != own || own.epoch != self.durable.epoch {
            return;
        }
        marked.extend([from, cx.id()]);
        let marked = &*marked;
        if !is_majority(&self.lists, |id| marked.contains(&id)) {
            return;
        }
        // One that has left hears that as well.
        let all = self.others(cx.id(), false);
        let Lists { decided, pending, mark } = self.next_lists();
        self.take(cx, Lists { decided: pending.unwrap_or(decided), pending: None, mark });
        cx.send_all(&all, self.as_message());
    }

    /// Its lists, with its next mark.
    fn next_lists(&self) -> Lists {
        let mark = self.lists.mark.after(self.durable.epoch);
        Lists { mark, ..self.lists.clone() }
    }

    /// These are its lists from now on, durably.
    fn take(&mut self, cx: &mut Context<'_, Self>, lists: Lists) {
        if let State::Leader { marked, .. } = &mut self.state {
            marked.clear();
        }
        cx.adopt(with_latest(cx.config(), &lists));
        self.lists = lists;
        self.durable.lists = Some(self.lists.clone());
        // By later lists, no node becomes a founder.
        self.durable.met.clear();
        cx.cancel(Timer::Meet);
        cx.persist(self.durable.clone());
    }

    /// "These are the lists that I know": it takes them if they are newer. A leader proposes anew
    /// what is pending by them. From those of a later leader it learns of a higher epoch.
    pub(super) fn on_lists(&mut self, cx: &mut Context<'_, Self>, from: NodeId, lists: &Lists) {
        if lists.mark <= self.mark() {
            return cx.ignore(from, STALE);
        }
        let was_fit = self.is_fit(cx);
        self.take(cx, lists.clone());
        if lists.mark.epoch > self.durable.epoch {
            self.keep(cx, lists.mark.epoch, None);
            match &mut self.state {
                State::Leader { .. } => self.watch(cx, HIGHER_EPOCH),
                State::Canvassing(_) | State::Claiming(_) | State::Succeeding(_) => {
                    self.back_off(cx, HIGHER_EPOCH);
                }
                // What it has promised stays.
                State::Follower { heard, .. } => {
                    *heard = false;
                    cx.because(HIGHER_EPOCH);
                }
                State::Deferring => {}
            }
        } else if matches!(self.state, State::Leader { .. }) {
            self.propose_again(cx);
        }
        match (was_fit, self.is_fit(cx)) {
            (false, true) => self.on_fit(cx),
            (true, false) => self.on_unfit(cx),
            _ => {}
        }
    }

    /// Arms a timer of which the order of the members says how long it takes.
    pub(super) fn arm_in_order(&self, cx: &mut Context<'_, Self>, timer: Timer) {
        let period = Self::period(&with_latest(cx.config(), &self.lists), timer);
        cx.arm_at(timer, cx.now() + period);
    }

    /// It is asked to tell its lists to another, which may have older ones.
    pub(super) fn on_tell(&self, cx: &mut Context<'_, Self>, to: NodeId) {
        if to != cx.id() && self.lists.each().any(|list| list.contains(to)) {
            cx.send(to, self.as_message());
        }
    }

    fn as_message(&self) -> Message {
        Message::Lists(Arc::new(self.lists.clone()))
    }

    /// Sends its lists to all that have a part in either.
    fn tell_all(&self, cx: &mut Context<'_, Self>) {
        cx.send_all(&self.others(cx.id(), false), self.as_message());
    }
}

/// This configuration with the latest of these lists, in the order of its election.
pub(super) fn with_latest(config: &Config, lists: &Lists) -> Config {
    let members = lists.latest().clone().for_election(config.members.election());
    Config { members, ..config.clone() }
}

/// Whether those for which this holds are a majority of each list that counts. A node that votes by
/// both lists with two births is counted by neither: which of the two it was is not known.
pub(super) fn is_majority(lists: &Lists, holds: impl Fn(NodeId) -> bool) -> bool {
    let is_one = |id: NodeId| {
        let mut births = lists.each().filter_map(|list| list.birth(id));
        let first = births.next();
        births.all(|birth| Some(birth) == first)
    };
    lists.each().all(|list| {
        let voters = list.voters();
        2 * voters.iter().filter(|&&id| holds(id) && is_one(id)).count() > voters.len()
    })
}
