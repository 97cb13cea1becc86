//! Atomic commit with an elected coordinator: two-phase commit, and three-phase commit with a
//! quorum.
//!
//! The nodes decide together, once, whether a transaction commits on all of them or on none. Each
//! votes; a coordinator counts the votes and says what is decided. The coordinator is the leader
//! that the [bully] elects: its core is a part of this one, with its own messages and
//! timers, and does not know of the commit.
//!
//! Where each rule comes from:
//!
//! - **A vote is durable before it is sent; so is a decision; the coordinator aborts if a vote is
//!   NO or does not come in time:** J. Gray, *Notes on Data Base Operating Systems*, 1978; P. A.
//!   Bernstein, V. Hadzilacos, N. Goodman, *Concurrency Control and Recovery in Database Systems*,
//!   1987, section 7.4.
//! - **A node that has not voted may abort on its own; one that has asks the others, and waits if
//!   none knows:** the same, *cooperative termination*.
//! - **A phase in which all learn that all have voted YES; no decision without a majority that is
//!   prepared for it; a node that is prepared for one outcome is never prepared for the other:** D.
//!   Skeen, *A Quorum-Based Commit Protocol*, 1982.
//! - **A node is prepared only by the coordinator that it last told its vote or its record:** ours.
//!   What another sent before it failed may arrive later, when the next has already asked. The
//!   model checker found this rule.
//! - **A new coordinator reads its own log first, and a node that waits asks the coordinator that
//!   it follows:** ours. A node that was down learns the decision so, as one does whose messages
//!   were lost.
//!
//! # What it does not promise
//!
//! Two-phase commit waits, perhaps for ever, if the coordinator fails while all others have voted
//! YES. Three-phase commit with a quorum waits for a majority that can be prepared for one outcome.
//! Neither ever decides differently on two nodes, as long as disks keep what was synced.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bully::{self, Bully};
use super::core::Part;
use super::{Belief, Context, Core, NodeId, Role, SettingsError};

mod config;
mod coordinator;
mod participant;

pub use config::{Config, Timing};

/// Two-phase commit with cooperative termination.
pub type TwoPhaseCommit = Commit<Two>;

/// Three-phase commit with a quorum.
pub type ThreePhaseCommit = Commit<Three>;

/// The kind of a commit: how many phases there are, and what a new coordinator may conclude.
pub trait Kind: Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// The name of the protocol.
    const NAME: &'static str;
    /// Whether nodes are prepared for a decision before it is taken.
    const PREPARES: bool;
}

/// Votes, then the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Two {}

impl Kind for Two {
    const NAME: &'static str = "two-phase-commit";
    const PREPARES: bool = false;
}

/// Votes, then all are prepared, then the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Three {}

impl Kind for Three {
    const NAME: &'static str = "three-phase-commit";
    const PREPARES: bool = true;
}

/// The outcome of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// The transaction commits at every node.
    Commit,
    /// The transaction commits at no node.
    Abort,
}

/// The record in the log of a node. A node without a record has not voted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Record {
    /// The node has voted YES.
    Voted,
    /// The node will not be prepared for the other outcome.
    Prepared(Outcome),
    /// The transaction has ended.
    Decided(Outcome),
}

/// The messages that nodes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The message of the election.
    Election(bully::Message),
    /// "Vote."
    Request,
    /// "Commit, as far as I am concerned"; or not.
    Vote(Outcome),
    /// "Be prepared for this outcome."
    Prepare(Outcome),
    /// "What is in your log?"
    Poll,
    /// "This is."
    State(Record),
    /// "This is decided."
    Decision(Outcome),
}

/// The timers by which a node waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer of the election.
    Election(bully::Timer),
    /// The timer of a coordinator with an empty log, until it begins the transaction.
    Begin,
    /// The timer of a coordinator for the others' answers.
    Answers,
    /// The timer of a participant that has voted YES, for the word of the coordinator.
    Word,
}

/// What a coordinator does, and what the others have told it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Duty {
    /// It does not coordinate, or has decided.
    None,
    /// It counts votes.
    Voting(Records),
    /// It asks for records.
    Polling(Records),
    /// It prepares the others for this outcome.
    Preparing(Outcome, Records),
    /// It cannot decide by what it knows.
    Blocked(Records),
}

/// The records of other nodes, as far as they are known.
type Records = BTreeMap<NodeId, Record>;

/// One node of an atomic commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Commit<K: Kind> {
    election: Bully,
    record: Option<Record>,
    /// The coordinator that it last told its vote or its record.
    heeds: Option<NodeId>,
    duty: Duty,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> Commit<K> {
    /// Returns how the transaction has ended, if this node knows.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self.record {
            Some(Record::Decided(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// Returns the coordinator by which the node lets itself be prepared.
    #[must_use]
    pub fn heeds(&self) -> Option<NodeId> {
        self.heeds
    }

    /// Returns the record in the log of the node; `None` if it has not voted.
    #[must_use]
    pub fn record(&self) -> Option<Record> {
        self.record
    }

    /// Returns whether the node coordinates, and cannot decide by what it knows.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        matches!(self.duty, Duty::Blocked(_))
    }

    /// Returns what the node does as the coordinator, in a word, and the records that it has
    /// collected.
    pub fn collected(&self) -> (&'static str, impl Iterator<Item = (NodeId, Record)> + '_) {
        let (name, records) = match &self.duty {
            Duty::None => ("none", None),
            Duty::Voting(records) => ("voting", Some(records)),
            Duty::Polling(records) => ("polling", Some(records)),
            Duty::Preparing(Outcome::Commit, records) => ("precommitting", Some(records)),
            Duty::Preparing(Outcome::Abort, records) => ("preaborting", Some(records)),
            Duty::Blocked(records) => ("blocked", Some(records)),
        };
        (name, records.into_iter().flatten().map(|(&id, &record)| (id, record)))
    }

    /// The election takes a step; the commit sees who leads now.
    fn elect(
        &mut self,
        cx: &mut Context<'_, Self>,
        act: impl FnOnce(&mut Bully, &mut Context<'_, Bully>),
    ) {
        let led = self.leads(cx.config());
        let part = Part {
            config: &cx.config().election,
            message: Message::Election,
            timer: Timer::Election,
        };
        cx.part(&part, |cx| act(&mut self.election, cx));
        match (led, self.leads(cx.config())) {
            (false, true) => self.take_over(cx),
            (true, false) => self.resign(cx),
            _ => {}
        }
    }

    fn leads(&self, config: &Config) -> bool {
        self.election.belief(&config.election).role == Role::Leader
    }

    /// A participant that has voted YES, has not heard the decision and knows a coordinator waits.
    fn wait(&self, cx: &mut Context<'_, Self>) {
        let follows = self.election.belief(&cx.config().election).role == Role::Follower;
        let undecided = matches!(self.record, Some(Record::Voted | Record::Prepared(_)));
        match (follows && undecided, cx.armed(Timer::Word)) {
            (true, None) => cx.arm(Timer::Word),
            (false, Some(_)) => cx.cancel(Timer::Word),
            _ => {}
        }
    }

    /// Writes to the log.
    fn log(&mut self, cx: &mut Context<'_, Self>, record: Record) {
        if matches!(record, Record::Decided(_)) {
            self.heeds = None;
        }
        self.record = Some(record);
        cx.persist(record);
    }

    fn broadcast(cx: &mut Context<'_, Self>, message: Message) {
        let me = cx.id();
        let others: Vec<_> =
            cx.config().election.members.iter().filter(|&other| other != me).collect();
        cx.send_all(&others, message);
    }
}

impl<K: Kind> Core for Commit<K> {
    const NAME: &'static str = K::NAME;
    const TIMERS: &'static [Timer] = &[
        Timer::Election(bully::Timer::Election),
        Timer::Election(bully::Timer::Coordinator),
        Timer::Election(bully::Timer::Watch),
        Timer::Election(bully::Timer::Heartbeat),
        Timer::Begin,
        Timer::Answers,
        Timer::Word,
    ];
    type Config = Config;
    type Error = SettingsError;
    type Durable = Record;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Record>) -> Result<(), SettingsError> {
        Bully::validate(&config.election, None)?;
        Ok(config.timing.validate(K::NAME)?)
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        match timer {
            Timer::Election(timer) => Bully::period(&config.election, timer),
            Timer::Begin => config.timing.begin,
            Timer::Answers => config.timing.answers,
            Timer::Word => config.timing.word,
        }
    }

    /// An answer that is older is of no use to a coordinator.
    fn message_lifetime(config: &Config) -> Duration {
        config.timing.answers
    }

    fn silence(config: &Config) -> Duration {
        Bully::silence(&config.election)
    }

    fn may_become(from: Role, to: Role) -> bool {
        Bully::may_become(from, to)
    }

    /// A node reads its log, and takes part in the election.
    fn boot(cx: &mut Context<'_, Self>, durable: Option<Record>, seed: u64) -> Self {
        let part = Part {
            config: &cx.config().election,
            message: Message::Election,
            timer: Timer::Election,
        };
        let election = cx.part(&part, |cx| Bully::boot(cx, None, seed));
        let mut node =
            Self { election, record: durable, heeds: None, duty: Duty::None, kind: PhantomData };
        if node.leads(cx.config()) {
            node.take_over(cx);
        }
        node.wait(cx);
        node
    }

    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        match message {
            Message::Election(message) => self.elect(cx, |bully, cx| {
                bully.receive(cx, from, message);
            }),
            Message::Request => self.on_request(cx, from),
            Message::Vote(vote) => self.on_vote(cx, from, vote),
            Message::Prepare(outcome) => self.on_prepare(cx, from, outcome),
            Message::Poll => self.on_poll(cx, from),
            Message::State(record) => self.on_state(cx, from, record),
            Message::Decision(outcome) => self.on_decision(cx, outcome),
        }
        self.wait(cx);
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Election(timer) => self.elect(cx, |bully, cx| bully.expire(cx, timer)),
            Timer::Begin => self.begin(cx),
            Timer::Answers => self.on_silence(cx),
            Timer::Word => self.ask(cx),
        }
        self.wait(cx);
    }

    fn waits_for(&self, config: &Config) -> Option<(Timer, Vec<NodeId>)> {
        let (timer, nodes) = self.election.waits_for(&config.election)?;
        Some((Timer::Election(timer), nodes))
    }

    fn belief(&self, config: &Config) -> Belief {
        self.election.belief(&config.election)
    }
}

#[cfg(test)]
mod tests;
