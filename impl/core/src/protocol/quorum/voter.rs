//! What a node answers to others: support, grant, and promise.

use std::time::Duration;

use super::{
    Birth, CANVASSED, CLAIMED_BY, Config, Context, Epoch, HEARD, HIGHER_EPOCH, Mark, Message,
    NodeId, Preemption, Quorum, STALE, State, Timer,
};

impl Quorum {
    /// It starts. Returns how long a promise lasts that it may have forgotten, also if its promises
    /// were longer then. A longer one than before is durable before any is given; a node that
    /// starts for the first time writes all of it before its first promise. One that observes gives
    /// none, and remembers it for when it votes.
    pub(super) fn remember_promise(&mut self, cx: &mut Context<'_, Self>) -> Duration {
        let (now, before) = (cx.config().timing.promise, self.durable.promise);
        let longest = before.map_or(now, |kept| kept.max(now));
        self.durable.promise = Some(longest);
        if before.is_some_and(|kept| kept != longest) {
            cx.persist(self.durable.clone());
        }
        longest
    }

    /// All promises of an earlier life are over. That is written with the next epoch: until then a
    /// restart is quiet for longer than it must be.
    pub(super) fn on_quiet_over(&mut self, cx: &mut Context<'_, Self>) {
        self.durable.promise = Some(cx.config().timing.promise);
        self.wait(cx);
    }

    /// "Would you grant me this epoch?" A higher node that is electable stands for election itself
    /// instead. One that has given way says so too, and stands when it has waited for the higher
    /// one: that is earlier than the one that asks does, which waits from now on.
    pub(super) fn on_canvass(&mut self, cx: &mut Context<'_, Self>, from: NodeId, epoch: Epoch) {
        if self.is_bound(cx, from) || !self.is_free(from, epoch) {
            return self.refuse(cx, from);
        }
        let promised = matches!(self.state, State::Follower { promised: Some(_), .. });
        if promised || !self.comes_before(cx, from, epoch) {
            return cx.send(from, Message::Support(epoch));
        }
        self.led &= cx.armed(Timer::Backoff).is_none();
        cx.send(from, Message::Outrank(epoch));
        if matches!(self.state, State::Follower { .. }) {
            self.run(cx, CANVASSED);
        }
    }

    /// Returns whether the node stands for election instead of one that asks for this epoch: it is
    /// electable, and higher. But the leader of the epoch before comes first, and once in its
    /// back-off too.
    fn comes_before(&self, cx: &Context<'_, Self>, asks: NodeId, epoch: Epoch) -> bool {
        let last = self.last_leader(cx.config());
        let last = last.filter(|_| epoch == self.durable.epoch.next());
        if last == Some(asks) {
            return false;
        }
        let led = self.led && last == Some(cx.id()) && self.state != State::Deferring;
        let quiet = cx.armed(Timer::Quiet).is_some();
        let higher = cx.config().members.comes_before(cx.id(), asks);
        (led && self.is_fit(cx) && !quiet) || (higher && self.is_electable(cx))
    }

    /// The node to which the latest epoch was granted that it knows, if that comes before all
    /// others.
    pub(super) fn last_leader(&self, config: &Config) -> Option<NodeId> {
        let returns = config.timing.preemption == Preemption::Never;
        self.durable.granted_to.filter(|_| returns)
    }

    /// "Grant me this epoch." A grant is durable before it is sent, and starts a promise.
    pub(super) fn on_claim(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        epoch: Epoch,
        birth: Birth,
    ) {
        if self.is_bound(cx, from) || !self.is_free(from, epoch) {
            return self.refuse(cx, from);
        }
        self.keep(cx, epoch, Some(from));
        cx.send(from, Message::Grant(epoch, birth));
        let promise = State::Follower { promised: Some(from), heard: false };
        self.change(cx, promise, CLAIMED_BY);
        cx.arm(Timer::Promise);
    }

    /// A leader's round: a node that knows of no higher epoch follows, and renews its promise. An
    /// epoch has one leader, so a leader that hears of another in its own ignores it. One that
    /// observes follows for as long, and says nothing.
    pub(super) fn on_coordinator(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        epoch: Epoch,
        round: u64,
        mark: Mark,
    ) {
        let own = self.durable.epoch;
        let observes = self.observes(cx);
        if epoch < own {
            return if observes { cx.ignore(from, STALE) } else { self.refuse(cx, from) };
        }
        let leads = matches!(self.state, State::Leader { .. });
        if epoch == own && leads {
            return cx.ignore(from, STALE);
        }
        // A node that learned of the epoch from lists, or from a refusal, did not know who leads it.
        if epoch > own || self.durable.granted_to.is_none() {
            self.keep(cx, epoch, Some(from));
        }
        if !observes {
            cx.send(from, Message::Ack(epoch, round, self.mark()));
        } else if mark > self.mark() || self.lists.latest().awaits(cx.id(), self.durable.birth) {
            // It has older lists, or is to vote.
            self.meet(cx, from);
        }
        let follows = State::Follower { promised: Some(from), heard: true };
        if epoch > own || self.state != follows {
            self.change(cx, follows, if leads { HIGHER_EPOCH } else { HEARD });
            self.dwell(cx, from);
        }
        cx.arm(Timer::Promise);
        self.challenge_at_once(cx, from);
    }

    /// Whether the epoch can still be granted to this node.
    fn is_free(&self, to: NodeId, epoch: Epoch) -> bool {
        let own = &self.durable;
        epoch > own.epoch || (epoch == own.epoch && own.granted_to == Some(to))
    }

    /// Whether a promise to another node lasts, or one that is forgotten may last. A leader has
    /// promised to itself.
    fn is_bound(&self, cx: &Context<'_, Self>, other: NodeId) -> bool {
        let promised = match self.state {
            State::Follower { promised, .. } => promised.is_some_and(|id| id != other),
            State::Leader { .. } => true,
            _ => false,
        };
        promised || cx.armed(Timer::Quiet).is_some()
    }

    /// Returns whether the node may stand for election: not while it has found no majority, or may
    /// have promised something.
    fn is_electable(&self, cx: &Context<'_, Self>) -> bool {
        let waits = cx.armed(Timer::Backoff).is_some() || cx.armed(Timer::Quiet).is_some();
        self.is_fit(cx) && !waits
    }

    /// "No", and what a node that asks has to know.
    pub(super) fn refuse(&self, cx: &mut Context<'_, Self>, other: NodeId) {
        let holder = match self.state {
            State::Follower { promised, .. } => promised,
            State::Leader { .. } => Some(cx.id()),
            _ => None,
        };
        cx.send(other, Message::Refuse(self.durable.epoch, holder));
    }
}
