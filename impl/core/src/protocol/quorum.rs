//! The quorum bully: the highest node that a majority supports leads an epoch, while its lease
//! lasts.
//!
//! The order is the bully's: of the nodes that can win, the highest stands for election. Where
//! members elect several leaders, the [order](super::Members::for_election) of each election is
//! another one, and "higher" means what comes before in it. A leader exists only by the durable
//! grants of a majority, and each epoch is granted once, so no epoch has two leaders. A node that
//! grants, or that acknowledges a leader's round, promises to grant nothing to another for a while;
//! a leader counts a shorter while from before it asked, its *lease*, and does nothing as leader
//! once that is over. So at most one node at a time holds a lease, as long as the *rates* of clocks
//! differ by no more than the configuration says. Delays and pauses may be of any length.
//!
//! Where each rule comes from:
//!
//! - **An epoch is granted once, durably, and a majority of grants makes a leader; a higher epoch
//!   deposes:** D. Ongaro, J. Ousterhout, *In Search of an Understandable Consensus Algorithm*,
//!   USENIX ATC 2014, §5.2, where epochs are called terms.
//! - **A node asks whether it would win before it claims an epoch:** D. Ongaro, *Consensus:
//!   Bridging Theory and Practice*, 2014, §9.6, there called pre-vote. Asking changes nothing, so a
//!   node that cannot win disturbs no leader.
//! - **A node that is asked by a lower one stands for election itself:** H. Garcia-Molina,
//!   *Elections in a Distributed Computing System*, IEEE Transactions on Computers C-31(1), 1982.
//! - **The lease counts from before the request, and a restarted voter grants nothing for as long
//!   as a promise that it may have forgotten:** C. Gray, D. Cheriton, *Leases: An Efficient
//!   Fault-Tolerant Mechanism for Distributed File Cache Consistency*, SOSP 1989.
//! - **Each acknowledgement counts for its round and those before it, however late it comes:** as
//!   the lease of a Raft leader counts from its heartbeats (Ongaro 2014, §6.4.1).
//! - **A node that finds no majority is not electable for a while:** ours. It supports others
//!   meanwhile, so that a high node with few links does not hold up a lower one with many.
//! - **Without preemption, the leader of the latest epoch comes before all others:** ours. After an
//!   outage of the whole network the leader is the one that it was.
//! - **A member may observe: it follows, is asked for nothing, and is in no majority:** as a
//!   non-voting member of Raft (Ongaro 2014, §4.2.1), which here need not catch up with anything.
//! - **A leader hands over by stopping first; then the others grant the next epoch without being
//!   asked:** ours. The successor said before that it is ready, and counts its lease from there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Belief, Birth, Context, Core, NodeId, Reason, Request, Role, SettingsError};

mod candidate;
mod changes;
mod config;
mod founding;
mod handover;
mod leader;
mod voter;

pub use super::Epoch;
use changes::with_latest;
pub use changes::{Lists, Mark};
pub use config::{Config, Preemption, Timing};
pub use founding::WaitsToVote;
pub use leader::{Follower, Invitation};

/// The messages that nodes send to each other. Those with a [`Mark`] say how new the lists of
/// members of their sender are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "Would you grant me this epoch?" Asking changes nothing.
    Canvass(Epoch, Mark),
    /// "I would grant you this epoch."
    Support(Epoch),
    /// "I am higher and electable, and stand for election myself."
    Outrank(Epoch),
    /// "Grant me this epoch, in this life of mine."
    Claim(Epoch, Mark, Birth),
    /// "This epoch is yours, in that life." Durable before it is sent.
    Grant(Epoch, Birth),
    /// "I lead this epoch, and this is my round of that number."
    Coordinator(Epoch, u64, Mark),
    /// "I follow you": the answer to a round.
    Ack(Epoch, u64, Mark),
    /// "No": the highest epoch that the sender knows, and the node to which it has promised itself.
    Refuse(Epoch, Option<NodeId>),
    /// "I am higher than you, or invited, and take over the epoch after this one."
    Challenge(Epoch, Mark),
    /// "I have stopped leading this epoch, all promises to me are void, and this node is next: it
    /// has my grant of the next epoch."
    Yield(Epoch, Option<NodeId>),
    /// "This epoch is yours, as the leader of the one before has yielded to you." Durable before it
    /// is sent.
    Entrust(Epoch),
    /// "I lead this epoch: take over from me."
    Invite(Epoch),
    /// "This is my birth, and that is the one with which I have met you." From a node that may not
    /// vote, and the answer to it.
    Meet(Birth, Option<Birth>, Mark),
    /// "These are the lists of members that I know." Durable before they are sent.
    Lists(Arc<Lists>),
}

/// The timers by which a node waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer of the lease that a claim or a challenge would give, or the earliest round that no
    /// majority has acknowledged.
    Asked,
    /// The timer of the lease that a later round would give, while earlier ones wait for a
    /// majority: 1 for the second, and so on.
    Later(u8),
    /// The timer of a leader for the end of its lease.
    Lease,
    /// The timer for the end of the node's promise.
    Promise,
    /// The timer after a start, until a promise that may have been given in an earlier life is
    /// over.
    Quiet,
    /// The timer of a node that knows no leader, until it stands for election; the highest node
    /// does so first.
    Watch,
    /// The timer of a candidate for the answers to a canvass or a claim.
    Election,
    /// The timer of a node that has given way to a higher one, for the first round of that node.
    Coordinator,
    /// The timer of a node that found no majority, until it stands for election again.
    Backoff,
    /// The timer of a leader for its next round.
    Round,
    /// The timer of a node that follows a lower leader, until it takes over.
    Dwell,
    /// The timer of a node that was asked not to stand for election for a time.
    Away,
    /// The timer of a node that waits to become a founder, until it asks again.
    Meet,
}

/// The state that a node keeps on stable storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The highest epoch that the node has granted or heard of.
    pub epoch: Epoch,
    /// The node to which it has granted that epoch, or that led it.
    pub granted_to: Option<NodeId>,
    /// The length of a promise that the node may have given: until it has granted nothing for so
    /// long after a start, the longest. A node that has not started yet has `None`.
    pub promise: Option<Duration>,
    /// The lists of members. A node that has made nothing durable has the one that it is
    /// configured with.
    pub lists: Option<Lists>,
    /// The birth with which the node votes.
    pub birth: Birth,
    /// The births with which it had met the others before it became a founder, or has met them, if
    /// it is none.
    #[serde(with = "founding::pairs")]
    pub met: BTreeMap<NodeId, Birth>,
}

impl Durable {
    /// The lists, unless the configured one counts: until the node votes, it may be corrected.
    fn lists_that_count(&self) -> Option<&Lists> {
        let votes = self.birth == Birth::FOUNDER;
        self.lists.as_ref().filter(|lists| votes || lists.mark != Mark::FIRST)
    }
}

const GRANTED: Reason = Reason::new("granted", "a majority granted the epoch");
const HEARD: Reason = Reason::new("leader_heard", "the leader of the epoch was heard");
const OUTRANKED: Reason = Reason::new("outranked", "a higher node stands for election itself");
const WATCH_OVER: Reason = Reason::new("watch_over", "no leader was heard in time");
const SUPPORTED: Reason = Reason::new("supported", "a majority would grant the next epoch");
const NO_MAJORITY: Reason = Reason::new("no_majority", "no majority answered in time");
const CLAIMED_BY: Reason = Reason::new("claimed_by", "another node was granted a higher epoch");
const LEASE_OVER: Reason = Reason::new("lease_over", "no majority renewed the lease in time");
const PROMISE_OVER: Reason = Reason::new("promise_over", "the promise to the leader is over");
const HIGHER_EPOCH: Reason = Reason::new("higher_epoch", "there is a higher epoch");
const HANDED_OVER: Reason = Reason::new("handed_over", "another node is to lead instead");
const ASKED_TO_YIELD: Reason = Reason::new("asked_to_yield", "it was asked to lead no longer");
const YIELDED: Reason = Reason::new("yielded", "the leader has stopped leading");
const CANVASSED: Reason = Reason::new("canvassed", "a lower node asked for support");

/// A message that an observer has sent, or that only voters heed.
const OBSERVES: Reason = Reason::new("observes", "a node that observes has no part in it");

/// A message of an epoch, a round or a question that is over.
const STALE: Reason = Reason::new("stale", "it belongs to something that is over");

/// The state of a node: what it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The node follows the one that it has promised itself to, or waits for one.
    Follower {
        /// The node to which it has promised to grant nothing to another, while [`Timer::Promise`]
        /// runs.
        promised: Option<NodeId>,
        /// Whether it has heard that this node leads.
        heard: bool,
    },
    /// A higher node stands for election.
    Deferring,
    /// The node asks whether others would grant it the next epoch; these would, itself included.
    Canvassing(BTreeSet<NodeId>),
    /// The node has asked for its epoch; these have granted it, itself included.
    Claiming(BTreeSet<NodeId>),
    /// The leader has yielded to the node; these have granted it its epoch, itself included.
    Succeeding(BTreeSet<NodeId>),
    /// The node leads its epoch.
    Leader {
        /// The number of its latest round.
        round: u64,
        /// The rounds that wait for a majority, the earliest first; [`Timer::Asked`] runs for that
        /// one, and [`Timer::Later`] for the others.
        waiting: Vec<u64>,
        /// The nodes that have acknowledged a round.
        followers: BTreeMap<NodeId, Follower>,
        /// The node that it has asked to take over.
        invited: Option<Invitation>,
        /// The nodes that have the pending list of members.
        marked: BTreeSet<NodeId>,
    },
}

/// One node of the quorum bully.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    durable: Durable,
    lists: Lists,
    state: State,
    /// Whether it has challenged the leader of its epoch, or may have in an earlier life.
    challenged: bool,
    /// Whether it has led, and since then neither promised itself to another nor outranked one in
    /// its back-off.
    led: bool,
    /// Whether its machine is fit to lead.
    healthy: bool,
    /// The nodes that have met it.
    met_by: BTreeSet<NodeId>,
}

impl Quorum {
    /// Returns the highest epoch that the node has granted or heard of; while it leads, the one
    /// that it leads.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.durable.epoch
    }

    /// Returns the node to which it has granted that epoch.
    #[must_use]
    pub fn granted_to(&self) -> Option<NodeId> {
        self.durable.granted_to
    }

    /// Returns whether the node has challenged the leader of its epoch, or may have in an earlier
    /// life.
    #[must_use]
    pub fn challenged(&self) -> bool {
        self.challenged
    }

    /// Returns whether the node has led, and since then neither promised itself to another nor
    /// outranked one in its back-off.
    #[must_use]
    pub fn led(&self) -> bool {
        self.led
    }

    /// Returns whether the node was told that its machine is fit to lead.
    #[must_use]
    pub fn healthy(&self) -> bool {
        self.healthy
    }

    /// Returns what the node keeps on stable storage.
    #[must_use]
    pub fn durable(&self) -> &Durable {
        &self.durable
    }

    /// Returns the nodes that have said that they had met this one before they became founders.
    #[must_use]
    pub fn met_by(&self) -> &BTreeSet<NodeId> {
        &self.met_by
    }

    /// Returns the state of the node.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Makes an epoch durable before anything is sent that follows from it.
    fn keep(&mut self, cx: &mut Context<'_, Self>, epoch: Epoch, granted_to: Option<NodeId>) {
        let durable = Durable { epoch, granted_to, ..self.durable.clone() };
        self.challenged &= epoch == self.durable.epoch;
        if durable != self.durable {
            self.durable = durable;
            cx.persist(self.durable.clone());
        }
    }

    /// Whether it only observes.
    fn observes(&self, cx: &Context<'_, Self>) -> bool {
        !self.has_vote(cx.id())
    }

    /// Whether these are a majority of the voters of each list.
    fn is_majority(&self, nodes: &BTreeSet<NodeId>) -> bool {
        changes::is_majority(&self.lists, |id| nodes.contains(&id))
    }

    /// The only place where the role is written. A new role waits for nothing of the old one, but a
    /// node that was asked to stay away does so in every role.
    fn change(&mut self, cx: &mut Context<'_, Self>, to: State, reason: Reason) {
        self.led = match to {
            State::Leader { .. } => true,
            State::Follower { promised: Some(_), .. } => false,
            _ => self.led,
        };
        self.state = to;
        Self::TIMERS
            .iter()
            .filter(|&&timer| timer != Timer::Away)
            .for_each(|&timer| cx.cancel(timer));
        cx.because(reason);
    }

    /// It waits for a leader, and promises nothing.
    fn watch(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        self.change(cx, State::Follower { promised: None, heard: false }, reason);
        self.wait(cx);
    }
}

impl Core for Quorum {
    const NAME: &'static str = "quorum";
    const TIMERS: &'static [Timer] = &[
        Timer::Asked,
        Timer::Later(1),
        Timer::Later(2),
        Timer::Later(3),
        Timer::Later(4),
        Timer::Lease,
        Timer::Promise,
        Timer::Quiet,
        Timer::Watch,
        Timer::Election,
        Timer::Coordinator,
        Timer::Backoff,
        Timer::Round,
        Timer::Dwell,
        Timer::Away,
        Timer::Meet,
    ];
    const REQUESTS: bool = true;
    const ORDERS: bool = true;
    const OBSERVERS: bool = true;
    const WITNESSES: bool = true;
    const CHANGES_MEMBERS: bool = true;
    type Config = Config;
    type Error = SettingsError;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn round_slack(config: &Config) -> Option<(Timer, Duration)> {
        let Timing { round, lease, .. } = config.timing;
        // One lost round may end no lease, be it as late as it may.
        let spare = lease.saturating_sub(round * 2);
        Some((Timer::Round, (round / 16).min(spare / 4)))
    }

    fn validate(config: &Config, _: Option<&Durable>) -> Result<(), SettingsError> {
        Ok(config.timing.validate()?)
    }

    /// What was decided or proposed counts, and no longer what is configured.
    fn restored(config: Config, durable: Option<&Durable>) -> Config {
        match durable.and_then(Durable::lists_that_count) {
            Some(lists) => with_latest(&config, lists),
            None => config,
        }
    }

    fn durable_lists(durable: &Durable) -> Option<&Lists> {
        durable.lists_that_count()
    }

    fn lists(&self) -> Option<&Lists> {
        Some(&self.lists)
    }

    fn founder() -> Option<Durable> {
        Some(Durable::default())
    }

    fn with_lists(durable: Durable, lists: Lists) -> Durable {
        Durable { lists: Some(lists), ..durable }
    }

    fn waits_to_vote(&self, id: NodeId) -> Option<WaitsToVote> {
        self.waits(id)
    }

    fn hears(&self, _: &Config, other: NodeId) -> bool {
        self.lists.each().any(|list| list.contains(other))
    }

    /// The watch and the dwell time of the highest node are the shortest: each lower one gives the
    /// higher the time to stand for election, and to challenge.
    fn period(config: &Config, timer: Timer) -> Duration {
        let timing = &config.timing;
        // At most 255 members.
        let before = |&id: &NodeId| config.members.comes_before(id, config.id);
        let higher = config.members.candidates().filter(before).count() as u32;
        match timer {
            Timer::Asked | Timer::Later(_) | Timer::Lease => timing.lease,
            Timer::Promise | Timer::Quiet => timing.promise,
            Timer::Watch => timing.skew * (1 + higher),
            Timer::Election => timing.election,
            Timer::Coordinator => timing.coordinator,
            Timer::Backoff => timing.backoff,
            Timer::Round | Timer::Meet => timing.round,
            Timer::Dwell => timing.dwell + timing.skew * higher,
            // As long as it was asked.
            Timer::Away => Duration::ZERO,
        }
    }

    /// A node is quiet for the longest promise that it may have given.
    fn period_from_start(config: &Config, durable: Option<&Durable>, timer: Timer) -> Duration {
        let takes = Self::period(config, timer);
        let kept = durable.and_then(|durable| durable.promise).filter(|_| timer == Timer::Quiet);
        kept.map_or(takes, |kept| kept.max(takes))
    }

    /// A candidate gives up on an answer that is older.
    fn message_lifetime(config: &Config) -> Duration {
        config.timing.election
    }

    /// Its lease is over by then.
    fn max_leader_silence(config: &Config) -> Duration {
        config.timing.lease
    }

    /// Promises end, the lowest node that may have to stand for election does so, and a higher one
    /// outranks it.
    fn typical_election(config: &Config) -> Duration {
        let timing = &config.timing;
        // At most 255 members.
        let candidates = config.members.candidates().count() as u32;
        timing.promise + timing.skew * candidates + timing.election + timing.coordinator
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted => false,
            Role::Candidate => matches!(from, Role::Follower | Role::Candidate | Role::Waiting),
            Role::Waiting => matches!(from, Role::Candidate | Role::Follower | Role::Leader),
            Role::Leader => from == Role::Candidate,
            Role::Follower => true,
        }
    }

    /// A node that starts may have promised something in an earlier life: until that is over, it
    /// grants nothing. One that observes never does. One without a state has another birth.
    fn boot(cx: &mut Context<'_, Self>, durable: Option<Durable>, seed: u64) -> Self {
        let state = State::Follower { promised: None, heard: false };
        let is_born = durable.is_none();
        let born = || Durable { birth: Birth::random(seed), ..Durable::default() };
        let durable = durable.unwrap_or_else(born);
        let (challenged, led, healthy) = (true, false, true);
        let lists = durable.lists_that_count().cloned();
        let lists = lists.unwrap_or_else(|| Lists::first(cx.config().members.clone()));
        // Whatever is configured later, this list counts once a state is durable; but not where it
        // is not known how members are reached, and so no list can follow.
        let keeps = durable.lists.is_some() || !lists.decided.addresses().is_empty();
        let durable = Durable { lists: keeps.then(|| lists.clone()), ..durable };
        let met_by = BTreeSet::new();
        let mut node = Self { durable, lists, state, challenged, led, healthy, met_by };
        let longest = node.remember_promise(cx);
        if !node.observes(cx) {
            cx.arm_at(Timer::Quiet, cx.now() + longest);
        }
        cx.because(Reason::BOOTED);
        if is_born {
            cx.persist(node.durable.clone());
        }
        node.meet_all(cx);
        node
    }

    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        if self.is_outdated(cx, from, &message) {
            return;
        }
        // One that observes by old lists may lead by newer ones.
        let is_news = matches!(message, Message::Lists(_) | Message::Meet(..));
        if !is_news && !self.votes(from) {
            return cx.ignore(from, OBSERVES);
        }
        let is_for_all =
            is_news || matches!(message, Message::Coordinator(..) | Message::Yield(..));
        if self.observes(cx) && !is_for_all {
            return cx.ignore(from, OBSERVES);
        }
        match message {
            Message::Canvass(epoch, _) => self.on_canvass(cx, from, epoch),
            Message::Support(epoch) => self.on_support(cx, from, epoch),
            Message::Outrank(epoch) => self.on_outrank(cx, from, epoch),
            Message::Claim(epoch, _, birth) => self.on_claim(cx, from, epoch, birth),
            Message::Grant(epoch, birth) => self.on_grant(cx, from, epoch, birth),
            Message::Coordinator(epoch, round, mark) => {
                self.on_coordinator(cx, from, epoch, round, mark);
            }
            Message::Ack(epoch, round, mark) => self.on_ack(cx, from, epoch, round, mark),
            Message::Refuse(epoch, _) => self.on_refuse(cx, from, epoch),
            Message::Challenge(epoch, _) => self.on_challenge(cx, from, epoch),
            Message::Yield(epoch, next) => self.on_yield(cx, from, epoch, next),
            Message::Entrust(epoch) => self.on_entrust(cx, from, epoch),
            Message::Invite(epoch) => self.on_invite(cx, from, epoch),
            Message::Meet(birth, met, mark) => self.on_meet(cx, from, birth, met, mark),
            Message::Lists(lists) => self.on_lists(cx, from, &lists),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Asked => self.on_unanswered(cx, 0),
            Timer::Later(place) => self.on_unanswered(cx, place),
            Timer::Lease => self.watch(cx, LEASE_OVER),
            Timer::Promise => self.watch(cx, PROMISE_OVER),
            Timer::Quiet => self.on_quiet_over(cx),
            Timer::Watch => self.run(cx, WATCH_OVER),
            Timer::Coordinator => self.run(cx, Reason::NO_WINNER),
            Timer::Backoff => self.run(cx, WATCH_OVER),
            Timer::Election => self.on_election_over(cx),
            Timer::Round => self.on_round(cx),
            Timer::Dwell => self.on_dwelt(cx),
            Timer::Away => self.on_fit(cx),
            Timer::Meet => self.meet_all(cx),
        }
    }

    fn may_lead(config: &Config, node: NodeId) -> bool {
        config.members.may_lead(node)
    }

    fn is_witness(config: &Config, node: NodeId) -> bool {
        config.members.is_witness(node)
    }

    fn request(&mut self, cx: &mut Context<'_, Self>, request: Request) {
        self.on_request(cx, request);
    }

    fn awaits_successor(&self, to: NodeId) -> bool {
        matches!(self.state, State::Leader { invited: Some(invited), .. } if invited.to == to)
    }

    fn successor(&self, config: &Config) -> Option<NodeId> {
        self.best_follower(config)
    }

    /// Never for a promise to end: a leader that seems to be gone may have its lease still. And no
    /// node canvasses earlier than it would: the promises of others may last, and a node that is
    /// refused waits for longer than it has saved.
    fn skippable_wait(&self, config: &Config) -> Option<(Timer, Vec<NodeId>)> {
        match &self.state {
            State::Canvassing(supports) if self.is_majority(supports) => {
                let silent = self.before(config).filter(|id| !supports.contains(id));
                Some((Timer::Election, silent.collect()))
            }
            _ => None,
        }
    }

    fn belief(&self, config: &Config) -> Belief {
        let (role, leader) = match self.state {
            State::Follower { promised, heard: true } => (Role::Follower, promised),
            State::Follower { heard: false, .. } => (Role::Follower, None),
            State::Deferring => (Role::Waiting, None),
            State::Canvassing(_) | State::Claiming(_) | State::Succeeding(_) => {
                (Role::Candidate, None)
            }
            State::Leader { .. } => (Role::Leader, Some(config.id)),
        };
        Belief { role, leader }
    }

    fn epoch(&self) -> Option<Epoch> {
        let known =
            matches!(self.state, State::Leader { .. } | State::Follower { heard: true, .. });
        known.then_some(self.durable.epoch)
    }

    fn lease(&self) -> Option<(Epoch, Timer)> {
        matches!(self.state, State::Leader { .. }).then_some((self.durable.epoch, Timer::Lease))
    }
}

#[cfg(test)]
mod tests;
