//! How a node comes to vote that starts without a state: as a founder of the cluster, or let in by
//! a leader.
//!
//! A node without a state cannot tell its first start from one after which its state was lost, and
//! with it all that it had granted. Such a node has a new [`Birth`], follows, and does not vote.
//!
//! - **It becomes a founder** once each other voter of the first list has said that it met this
//!   birth before it became a founder itself. Until then no node had granted anything, so this node
//!   has forgotten nothing. A founder remembers whom it had met.
//! - **A leader lets it in** otherwise, by a list in which the voter has the new birth. Until such a
//!   list is decided, the majority is one of the voter that was, which is silent.
//!
//! Both are ours. Why a voter that has lost its state is another voter: D. Ongaro, *Consensus:
//! Bridging Theory and Practice*, 2014, §11.7.2.

use std::collections::BTreeSet;

use super::{Birth, Context, Durable, Mark, Message, NodeId, Quorum, Timer};

/// A map as a list of pairs: in JSON, a key is text.
pub(super) mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Birth, NodeId};

    pub(crate) fn serialize<S: Serializer>(
        map: &BTreeMap<NodeId, Birth>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<NodeId, Birth>, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Why a node does not vote that is to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsToVote {
    /// It has the first list and is no founder.
    ToFound {
        /// The other voters that have not said that they had met it.
        silent: BTreeSet<NodeId>,
        /// The other voters that were founders before they met it: only a leader can let it in.
        founders: BTreeSet<NodeId>,
    },
    /// A leader has to let it in.
    ToBeLetIn,
}

impl Quorum {
    /// Why it does not vote, if it is to.
    pub(super) fn waits(&self, me: NodeId) -> Option<WaitsToVote> {
        if self.has_vote(me) || !self.lists.latest().awaits(me, self.durable.birth) {
            return None;
        }
        if !self.may_found(me) {
            return Some(WaitsToVote::ToBeLetIn);
        }
        let silent = self.others(me, true).into_iter().filter(|id| !self.met_by.contains(id));
        let Durable { met, granted_to, .. } = &self.durable;
        // A leader has voted.
        let is_founder =
            |id: &NodeId| met.get(id) == Some(&Birth::FOUNDER) || *granted_to == Some(*id);
        let (founders, silent) = silent.partition(is_founder);
        Some(WaitsToVote::ToFound { silent, founders })
    }

    /// Whether it votes once it is a founder: it has the first list, and is no founder yet.
    pub(super) fn may_found(&self, me: NodeId) -> bool {
        let is_first = self.mark() == Mark::FIRST && self.durable.birth != Birth::FOUNDER;
        is_first && self.lists.decided.votes(me)
    }

    /// It asks all others whether they have met it, now and again after a while.
    pub(super) fn meet_all(&mut self, cx: &mut Context<'_, Self>) {
        if !self.may_found(cx.id()) {
            return;
        }
        for id in self.others(cx.id(), true) {
            self.meet(cx, id);
        }
        cx.arm(Timer::Meet);
        self.found(cx);
    }

    /// "This is my birth, and that is the one with which I have met you."
    pub(super) fn meet(&self, cx: &mut Context<'_, Self>, other: NodeId) {
        let met = self.durable.met.get(&other).copied();
        cx.send(other, Message::Meet(self.durable.birth, met, self.mark()));
    }

    /// A leader lets in a node that is to vote. While all have the first list, a node learns which
    /// others have met it, and tells them which it has met.
    pub(super) fn on_meet(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        birth: Birth,
        met: Option<Birth>,
        mark: Mark,
    ) {
        self.let_in(cx, from, birth);
        if mark != Mark::FIRST || self.mark() != Mark::FIRST {
            return;
        }
        let may_found = self.may_found(cx.id());
        let is_met = met == Some(self.durable.birth);
        let is_new = may_found && self.durable.met.insert(from, birth) != Some(birth);
        if is_new && !is_met && birth == Birth::FOUNDER {
            // It is not new, or too late.
            cx.persist(self.durable.clone());
        }
        // A founder waits for no answer.
        let waits = birth != Birth::FOUNDER && (may_found || self.has_vote(cx.id()));
        if waits && (is_new || !is_met) {
            self.meet(cx, from);
        }
        if may_found && is_met {
            self.met_by.insert(from);
            self.found(cx);
        }
    }

    /// It becomes a founder, durably, once all others have met it.
    fn found(&mut self, cx: &mut Context<'_, Self>) {
        let others = self.others(cx.id(), true);
        if others.is_subset(&self.met_by) {
            self.durable.birth = Birth::FOUNDER;
            cx.persist(self.durable.clone());
            cx.cancel(Timer::Meet);
            self.on_fit(cx);
        }
    }

    /// A leader proposes the list in which this node votes with this birth, if it is to vote. Of
    /// two voters, the other alone cannot decide that.
    fn let_in(&mut self, cx: &mut Context<'_, Self>, node: NodeId, birth: Birth) {
        let decided = &self.lists.decided;
        let enough = !decided.votes(node) || decided.voters().len() > 2;
        if enough && decided.awaits(node, birth) {
            let number = decided.config_epoch().saturating_add(1);
            let list = decided.clone().letting_in(node, birth).numbered(number);
            self.propose(cx, list);
        }
    }
}
