//! What a core is: the part of a node that is the protocol's own.
//!
//! A core keeps its state and says what it does at [`Core::boot`], [`Core::receive`],
//! [`Core::expire`] and [`Core::suspect`]. Everything else is the [shell](super::Node)'s: the
//! timers, the queues, the order of effects, and whether a message comes from a member at all.

use std::error::Error;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::node::Shell;
use super::quorum::{Lists, WaitsToVote};
use super::{Epoch, Event, Membership, NodeId, Reason, Request, Role, Time};

/// A leader election protocol as a pure state machine.
///
/// A core exists once its node has booted. It loses everything in a crash but what it handed to
/// [`Context::persist`].
pub trait Core: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// The name of the protocol in every part of the project, and of its section in the
    /// configuration of the daemon.
    const NAME: &'static str;
    /// Every timer that there is, each once; at most [`MAX_TIMERS`](super::MAX_TIMERS).
    const TIMERS: &'static [Self::Timer];
    /// Whether the protocol serves the [requests](Core::request) that a node gets.
    const REQUESTS: bool = false;
    /// Whether a leader can let another node lead instead that is named.
    const TRANSFERS: bool = Self::REQUESTS;
    /// Whether members come before each other in the
    /// [order](super::Members::for_election) of the election, and not in that of their ids.
    const ORDERS: bool = false;
    /// Whether the protocol has observers among its members.
    const OBSERVERS: bool = false;
    /// Whether the protocol has witnesses among its members: they vote, and never lead.
    const WITNESSES: bool = false;
    /// Whether a leader of the protocol can be asked for [another list](Request::Change).
    const CHANGES_MEMBERS: bool = false;

    /// The configuration that a node must have before it can start.
    type Config: Membership + Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// The error that a wrong configuration gives.
    type Error: Error + Clone + Eq + Send + Sync + 'static;
    /// The state that must survive a crash; [`Nothing`] if nothing must.
    type Durable: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The messages that nodes send to each other.
    type Message: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The timers by which a node waits.
    type Timer: Copy + Debug + Eq + Hash + Send + Sync + 'static;

    /// Checks the configuration and the durable state that a node is to start with.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    fn validate(config: &Self::Config, durable: Option<&Self::Durable>) -> Result<(), Self::Error>;

    /// Returns the configuration with which a node goes on that has made this durable.
    fn restored(config: Self::Config, durable: Option<&Self::Durable>) -> Self::Config {
        let _ = durable;
        config
    }

    /// Returns the lists of members that a node knew when it made this durable; `None` if it has
    /// the one that is configured.
    fn durable_lists(durable: &Self::Durable) -> Option<&Lists> {
        let _ = durable;
        None
    }

    /// Returns the lists of members that the node knows, if they can change while it runs.
    fn lists(&self) -> Option<&Lists> {
        None
    }

    /// Returns the state of a node that starts without a state and votes at once, as an operator
    /// says that the cluster is new; `None` if no node waits for others before it votes.
    fn founder() -> Option<Self::Durable> {
        None
    }

    /// Returns what was made durable, with these lists of members.
    fn with_lists(durable: Self::Durable, lists: Lists) -> Self::Durable {
        let _ = lists;
        durable
    }

    /// Returns why the node does not vote, if it is to.
    fn waits_to_vote(&self, id: NodeId) -> Option<WaitsToVote> {
        let _ = id;
        None
    }

    /// Returns whether `other` is a node that this one hears now.
    fn hears(&self, config: &Self::Config, other: NodeId) -> bool {
        config.hears(other)
    }

    /// Returns the time after which `timer` expires once it is armed.
    fn period(config: &Self::Config, timer: Self::Timer) -> Duration;

    /// Returns the same for a node that starts with this state: what it did in an earlier life may
    /// make it wait for longer.
    fn period_from_start(
        config: &Self::Config,
        durable: Option<&Self::Durable>,
        timer: Self::Timer,
    ) -> Duration {
        let _ = durable;
        Self::period(config, timer)
    }

    /// Returns the time for which a message is worth sending: the protocol has given up on one that
    /// is older.
    fn message_lifetime(config: &Self::Config) -> Duration;

    /// Returns the longest time for which a leader may do nothing at all: after that the others may
    /// have started an election, or may have elected another.
    fn max_leader_silence(config: &Self::Config) -> Duration {
        Self::message_lifetime(config)
    }

    /// Returns the time that an election takes, from the last that was heard of a leader until all
    /// nodes know the next, if enough nodes can communicate and the first attempt succeeds. It is
    /// no bound. A node that knows no leader for several times as long needs attention.
    fn typical_election(config: &Self::Config) -> Duration {
        Self::max_leader_silence(config) + Self::message_lifetime(config) * 3
    }

    /// Returns the timer of a leader's next round, and how much later than it is due that round may
    /// begin, besides what delays it otherwise: so those of many nodes in one process can begin
    /// together. `None` if there is no such timer.
    fn round_slack(config: &Self::Config) -> Option<(Self::Timer, Duration)> {
        let _ = config;
        None
    }

    /// Decides whether a node may go from one role to the other. The shell asserts it of every
    /// change. No input can make that fail, only a mistake in the core, and then stopping is better
    /// than two leaders. A change of the leader alone is one from a role to the same.
    fn may_become(from: Role, to: Role) -> bool;

    /// Decides whether this node, which may be another one, can ever lead.
    fn may_lead(config: &Self::Config, node: NodeId) -> bool {
        config.hears(node)
    }

    /// Decides whether this node, which may be another one, votes and can never lead.
    fn is_witness(config: &Self::Config, node: NodeId) -> bool {
        let _ = (config, node);
        false
    }

    /// Starts the node, for the first time or again, with what it made durable last.
    ///
    /// The seed is the only source of randomness: the same seed and the same inputs give the same
    /// outputs.
    fn boot(cx: &mut Context<'_, Self>, durable: Option<Self::Durable>, seed: u64) -> Self;

    /// Handles a message from another node that this one [hears](Membership::hears).
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Self::Message);

    /// Handles the end of a timer; it is not armed any more.
    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Self::Timer);

    /// Handles the report of the failure detector that it suspects a node that is
    /// [watched](Core::watched).
    fn suspect(&mut self, cx: &mut Context<'_, Self>, node: NodeId) {
        let _ = (cx, node);
    }

    /// Handles a request to the node.
    fn request(&mut self, cx: &mut Context<'_, Self>, request: Request) {
        let _ = (cx, request);
    }

    /// Returns the node that would be best to lead after this one, if this one leads.
    fn successor(&self, config: &Self::Config) -> Option<NodeId> {
        let _ = config;
        None
    }

    /// Returns whether a leader that was asked to hand over to this node waits for it still: if
    /// not, it leads on.
    fn awaits_successor(&self, to: NodeId) -> bool {
        let _ = to;
        true
    }

    /// Returns the timer that runs only because one of these nodes may still send a message, and
    /// these nodes. Once all of them are known to be gone, and what they have sent has arrived, it
    /// may expire at once: only a restart could still bring a message. None if there is no such
    /// timer, or no such node.
    fn skippable_wait(&self, config: &Self::Config) -> Option<(Self::Timer, Vec<NodeId>)> {
        let _ = config;
        None
    }

    /// Returns what the node believes.
    fn belief(&self, config: &Self::Config) -> Belief;

    /// Returns the epoch that the node leads, and the timer that ends its lease of it; see
    /// [`Node::lease`](super::Node::lease). It is `None` if the node does not lead, and for a core
    /// whose leaders have no lease.
    fn lease(&self) -> Option<(Epoch, Self::Timer)> {
        None
    }

    /// Returns the epoch of the leader that the node follows or is. It is `None` if the node knows
    /// no leader, or not its epoch, and for a core without epochs.
    fn epoch(&self) -> Option<Epoch> {
        self.lease().map(|(epoch, _)| epoch)
    }

    /// Returns the nodes that a failure detector outside the core watches; see
    /// [`Node::watched`](super::Node::watched). It is empty for a core that detects failures by its
    /// own timers.
    fn watched(&self, config: &Self::Config) -> impl Iterator<Item = NodeId> {
        let _ = config;
        std::iter::empty()
    }
}

/// The belief of a node: its role, and which node it takes for the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Belief {
    /// The role of the node.
    pub role: Role,
    /// The leader; the node itself if and only if its role is [`Role::Leader`].
    pub leader: Option<NodeId>,
}

impl Belief {
    /// The belief of a node that has not booted.
    pub const NOT_STARTED: Self = Self { role: Role::NotStarted, leader: None };
}

/// The durable state of a core that has none: there is no value of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Nothing {}

/// The view that a core has of another core which is a part of it.
pub struct Part<'a, C: Core, D: Core> {
    /// The configuration of the part.
    pub config: &'a D::Config,
    /// The function that wraps a message of the part in one of the whole.
    pub message: fn(D::Message) -> C::Message,
    /// The function that wraps a timer of the part in one of the whole.
    pub timer: fn(D::Timer) -> C::Timer,
}

/// The requests that a core can make of its shell while it handles one input.
pub struct Context<'a, C: Core> {
    pub(super) now: Time,
    pub(super) config: &'a C::Config,
    pub(super) shell: &'a mut Shell<C>,
}

impl<'a, C: Core> Context<'a, C> {
    /// Returns the time of the input.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the configuration of the node.
    #[must_use]
    pub fn config(&self) -> &'a C::Config {
        self.config
    }

    /// Returns the id of the node itself.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.config.id()
    }

    /// Makes the state `durable` durable before anything is sent that this input leads to.
    pub fn persist(&mut self, durable: C::Durable) {
        self.shell.persists.push_back(durable);
    }

    /// Sends `message`. It may be lost.
    pub fn send(&mut self, to: NodeId, message: C::Message) {
        self.shell.sends.push_back((to, message));
    }

    /// Sends `message` to each of these.
    pub fn send_all<'n>(&mut self, to: impl IntoIterator<Item = &'n NodeId>, message: C::Message) {
        self.shell.sends.extend(to.into_iter().copied().zip(std::iter::repeat(message)));
    }

    /// Has this configuration from the next input on.
    pub fn adopt(&mut self, config: C::Config) {
        self.shell.adopted = Some(config);
    }

    /// Arms `timer`, anew if it is armed already: it expires after its [period](Core::period).
    pub fn arm(&mut self, timer: C::Timer) {
        self.arm_at(timer, self.now + C::period(self.config, timer));
    }

    /// Arms `timer`, anew if it is armed already: it expires at `deadline`. One that has passed
    /// expires at the next input, never within this one.
    pub fn arm_at(&mut self, timer: C::Timer, deadline: Time) {
        self.shell.timers.arm(timer, deadline);
    }

    /// Returns the time at which `timer` expires, if it is armed.
    #[must_use]
    pub fn armed(&self, timer: C::Timer) -> Option<Time> {
        self.shell.timers.deadline(timer)
    }

    /// Cancels `timer`; nothing happens if it is not armed.
    pub fn cancel(&mut self, timer: C::Timer) {
        self.shell.timers.cancel(timer);
    }

    /// Cancels all timers.
    pub fn cancel_all(&mut self) {
        self.shell.timers.cancel_all();
    }

    /// Reports that a message was ignored.
    pub fn ignore(&mut self, from: NodeId, cause: Reason) {
        self.shell.events.push_back(Event::Ignored { from, cause });
    }

    /// Reports that the node leads, and that a message says that `rival` takes itself for the
    /// leader. A core without a quorum reports each such message, before anything that follows from
    /// it.
    pub fn rival_heard(&mut self, rival: NodeId) {
        self.shell.events.push_back(Event::RivalHeard { rival });
    }

    /// Lets a core that is a part of this one handle an input: it has a part of the configuration,
    /// of the messages and of the timers, and keeps nothing durable.
    pub fn part<D: Core<Durable = Nothing>, T>(
        &mut self,
        part: &Part<'_, C, D>,
        act: impl FnOnce(&mut Context<'_, D>) -> T,
    ) -> T {
        let &Part { config, message, timer } = part;
        let mut shell = Shell::<D>::new();
        for &kind in D::TIMERS {
            if let Some(deadline) = self.armed(timer(kind)) {
                shell.timers.arm(kind, deadline);
            }
        }
        let done = act(&mut Context { now: self.now, config, shell: &mut shell });
        for &kind in D::TIMERS {
            match shell.timers.deadline(kind) {
                same if same == self.armed(timer(kind)) => {}
                Some(deadline) => self.arm_at(timer(kind), deadline),
                None => self.cancel(timer(kind)),
            }
        }
        self.shell.sends.extend(shell.sends.into_iter().map(|(to, said)| (to, message(said))));
        self.shell.events.extend(shell.events);
        self.shell.reason = shell.reason.or(self.shell.reason);
        done
    }

    /// Gives the reason why the belief changes, if this input changes it. The shell sees whether it
    /// does, and tells it; a change without a reason is a mistake in the core.
    pub fn because(&mut self, reason: Reason) {
        self.shell.reason = Some(reason);
    }
}
