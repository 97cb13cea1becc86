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
use super::settings::{Durations, check};
use super::{Belief, Context, Core, DurationError, Membership, NodeId, Role, SettingsError};

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

/// The configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The node's id, the members, and how long the election waits for what.
    pub election: bully::Config,
    /// Whether the node votes to commit.
    pub agrees: bool,
    /// The durations of the commit's waits.
    pub timing: Timing,
}

/// The durations of a node's waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time that a coordinator with an empty log waits before it begins the transaction.
    pub begin: Duration,
    /// The time that a coordinator waits for answers.
    pub answers: Duration,
    /// The time that a participant waits for the word before it asks for it, again and again.
    pub word: Duration,
}

impl Timing {
    /// The durations for machines on one network.
    pub const DEFAULT: Self = Self {
        begin: Duration::from_millis(200),
        answers: Duration::from_millis(400),
        word: Duration::from_millis(1_000),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self, protocol: &'static str) -> Result<(), DurationError> {
        let durations = Durations(protocol);
        let (begin, word) = (("begin", self.begin), ("word", self.word));
        let answers = ("answers", self.answers);
        durations.in_range(&[begin, answers, word])?;
        let why = "the coordinator decides only after it has waited that long";
        check(vec![durations.longer(word, answers, why, self.answers * 2)])
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Membership for Config {
    fn id(&self) -> NodeId {
        self.election.id()
    }

    fn hears(&self, node: NodeId) -> bool {
        self.election.hears(node)
    }
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

/// The part of the leader: it counts votes, and ends what another began.
impl<K: Kind> Commit<K> {
    /// A leader reads its log: nothing was begun, or the transaction has ended, or it is to be
    /// ended by what the others know.
    fn take_over(&mut self, cx: &mut Context<'_, Self>) {
        match self.record {
            None => cx.arm(Timer::Begin),
            Some(Record::Decided(outcome)) => Self::broadcast(cx, Message::Decision(outcome)),
            Some(Record::Voted | Record::Prepared(_)) => {
                self.heeds = None;
                self.duty = Duty::Polling(Records::new());
                cx.arm(Timer::Answers);
                Self::broadcast(cx, Message::Poll);
            }
        }
    }

    /// It coordinates no longer.
    fn resign(&mut self, cx: &mut Context<'_, Self>) {
        self.duty = Duty::None;
        cx.cancel(Timer::Begin);
        cx.cancel(Timer::Answers);
    }

    /// The first phase: it votes, and asks for the votes of all others.
    fn begin(&mut self, cx: &mut Context<'_, Self>) {
        if cx.config().agrees {
            self.log(cx, Record::Voted);
            self.duty = Duty::Voting(Records::new());
            cx.arm(Timer::Answers);
            Self::broadcast(cx, Message::Request);
        } else {
            self.decide(cx, Outcome::Abort);
        }
    }

    /// One NO decides; the last YES ends the first phase. Nothing else counts votes.
    fn on_vote(&mut self, cx: &mut Context<'_, Self>, from: NodeId, vote: Outcome) {
        let Duty::Voting(votes) = &mut self.duty else { return };
        if vote == Outcome::Abort {
            return self.decide(cx, Outcome::Abort);
        }
        votes.insert(from, Record::Voted);
        if votes.len() < others(cx) {
            return;
        }
        if K::PREPARES {
            self.prepare(cx, Outcome::Commit, Records::new());
        } else {
            self.decide(cx, Outcome::Commit);
        }
    }

    /// A node says what is in its log, as an answer or because it waits.
    fn on_state(&mut self, cx: &mut Context<'_, Self>, from: NodeId, record: Record) {
        if let Some(outcome) = self.outcome() {
            return cx.send(from, Message::Decision(outcome));
        }
        if let Record::Decided(outcome) = record {
            return self.on_decision(cx, outcome);
        }
        match &mut self.duty {
            Duty::None | Duty::Voting(_) => {}
            Duty::Polling(records) => {
                records.insert(from, record);
                if records.len() == others(cx) {
                    self.run_termination(cx);
                }
            }
            Duty::Preparing(outcome, records) => {
                if record == Record::Prepared(*outcome) {
                    records.insert(from, record);
                    self.end_if_prepared(cx);
                }
            }
            Duty::Blocked(records) => {
                records.insert(from, record);
                self.run_termination(cx);
            }
        }
    }

    /// Those that have not answered by now do not. A node that is blocked asks again, for as long
    /// as it is: the others may know more by now, or their answers were lost.
    fn on_silence(&mut self, cx: &mut Context<'_, Self>) {
        match &mut self.duty {
            Duty::None => {}
            Duty::Voting(_) => self.decide(cx, Outcome::Abort),
            Duty::Polling(_) => self.run_termination(cx),
            Duty::Preparing(_, records) => {
                self.duty = Duty::Blocked(std::mem::take(records));
                cx.arm(Timer::Answers);
            }
            Duty::Blocked(_) => {
                cx.arm(Timer::Answers);
                Self::broadcast(cx, Message::Poll);
            }
        }
    }

    /// The termination protocol: what follows from what is known, if that is no decision.
    fn run_termination(&mut self, cx: &mut Context<'_, Self>) {
        let polls_again = matches!(self.duty, Duty::Blocked(_));
        let (Duty::Polling(records) | Duty::Blocked(records)) = &mut self.duty else { return };
        let records = std::mem::take(records);
        let known = || records.values().copied().chain(self.record);
        let prepared = |outcome| known().any(|record| record == Record::Prepared(outcome));
        let counts = |outcome| {
            let fits =
                |record: &Record| [Record::Voted, Record::Prepared(outcome)].contains(record);
            known().filter(fits).count() >= majority(cx)
        };
        let for_commit = prepared(Outcome::Commit) && counts(Outcome::Commit);
        match (K::PREPARES, records.len() == others(cx)) {
            (false, true) => self.decide(cx, Outcome::Abort),
            (true, _) if for_commit => self.prepare(cx, Outcome::Commit, records),
            (true, _) if counts(Outcome::Abort) => self.prepare(cx, Outcome::Abort, records),
            _ => {
                self.duty = Duty::Blocked(records);
                // Reports that come all the time must not put the next poll off.
                if !polls_again {
                    cx.arm(Timer::Answers);
                }
            }
        }
    }

    /// The phase before the decision: this node and the others promise not to be prepared for the
    /// other outcome.
    fn prepare(&mut self, cx: &mut Context<'_, Self>, outcome: Outcome, mut records: Records) {
        if self.record == Some(Record::Voted) {
            self.log(cx, Record::Prepared(outcome));
        }
        records.retain(|_, record| *record == Record::Prepared(outcome));
        self.duty = Duty::Preparing(outcome, records);
        cx.arm(Timer::Answers);
        Self::broadcast(cx, Message::Prepare(outcome));
        self.end_if_prepared(cx);
    }

    /// With a majority that is prepared for it, the outcome is decided.
    fn end_if_prepared(&mut self, cx: &mut Context<'_, Self>) {
        let Duty::Preparing(outcome, records) = &self.duty else { return };
        let outcome = *outcome;
        let own = usize::from(self.record == Some(Record::Prepared(outcome)));
        if records.len() + own >= majority(cx) {
            self.decide(cx, outcome);
        }
    }

    /// The point of no return: the decision is durable before any node hears it.
    fn decide(&mut self, cx: &mut Context<'_, Self>, outcome: Outcome) {
        self.resign(cx);
        self.log(cx, Record::Decided(outcome));
        Self::broadcast(cx, Message::Decision(outcome));
    }
}

/// The part of every node: it votes, tells a coordinator what is in its log, and obeys.
impl<K: Kind> Commit<K> {
    /// The vote. A node votes YES once; to any other coordinator it says NO, and so does one that
    /// is about to coordinate.
    fn on_request(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        let vote = if self.record.is_some() {
            Outcome::Abort
        } else if cx.config().agrees && !self.leads(cx.config()) {
            self.log(cx, Record::Voted);
            self.heeds = Some(from);
            Outcome::Commit
        } else {
            self.give_up(cx);
            Outcome::Abort
        };
        cx.send(from, Message::Vote(vote));
    }

    /// A node that has not voted ends the transaction before it says so: it must not vote later.
    /// One that coordinates says nothing before it has decided.
    fn on_poll(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        if self.duty != Duty::None {
            return;
        }
        if self.record.is_none() {
            self.give_up(cx);
        }
        self.tell(cx, from);
    }

    /// A node that has voted YES, and is not prepared yet, gets prepared.
    fn on_prepare(&mut self, cx: &mut Context<'_, Self>, from: NodeId, outcome: Outcome) {
        if self.record == Some(Record::Voted) && self.heeds == Some(from) {
            self.log(cx, Record::Prepared(outcome));
        }
        if self.record == Some(Record::Prepared(outcome)) || self.outcome().is_some() {
            self.tell(cx, from);
        }
    }

    /// The word. A coordinator passes it on.
    fn on_decision(&mut self, cx: &mut Context<'_, Self>, outcome: Outcome) {
        if self.outcome().is_some() {
            return;
        }
        if self.leads(cx.config()) {
            self.decide(cx, outcome);
        } else {
            self.log(cx, Record::Decided(outcome));
        }
    }

    /// It has waited for the word: it tells the coordinator what is in its log.
    fn ask(&mut self, cx: &mut Context<'_, Self>) {
        let leader = self.belief(cx.config()).leader;
        if let (Some(leader), Some(record)) = (leader, self.record) {
            self.heeds = Some(leader);
            cx.send(leader, Message::State(record));
        }
    }

    fn tell(&mut self, cx: &mut Context<'_, Self>, to: NodeId) {
        match self.record {
            Some(Record::Decided(outcome)) => cx.send(to, Message::Decision(outcome)),
            Some(record) => {
                self.heeds = Some(to);
                cx.send(to, Message::State(record));
            }
            None => {}
        }
    }

    /// It has not voted, and aborts.
    fn give_up(&mut self, cx: &mut Context<'_, Self>) {
        self.log(cx, Record::Decided(Outcome::Abort));
        cx.cancel(Timer::Begin);
    }
}

fn others<K: Kind>(cx: &Context<'_, Commit<K>>) -> usize {
    cx.config().election.members.iter().count() - 1
}

fn majority<K: Kind>(cx: &Context<'_, Commit<K>>) -> usize {
    cx.config().election.members.iter().count() / 2 + 1
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

    fn max_leader_silence(config: &Config) -> Duration {
        Bully::max_leader_silence(&config.election)
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

    fn skippable_wait(&self, config: &Config) -> Option<(Timer, Vec<NodeId>)> {
        let (timer, nodes) = self.election.skippable_wait(&config.election)?;
        Some((Timer::Election(timer), nodes))
    }

    fn belief(&self, config: &Config) -> Belief {
        self.election.belief(&config.election)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Members;
    use crate::protocol::stories::{Nodes, Scripted};
    use crate::stories::{self, list, written};

    impl<K: Kind> Scripted for Commit<K> {
        fn configured(id: NodeId, members: Members) -> Config {
            let election = Bully::configured(id, members);
            Config { election, agrees: true, timing: Timing::DEFAULT }
        }

        fn set(config: &mut Config, key: &str, value: &str) -> Option<()> {
            if key != "agrees" {
                return None;
            }
            config.agrees = value.parse().ok()?;
            Some(())
        }

        fn answer(&self, question: &str) -> Option<String> {
            match question {
                "outcome" => Some(list(self.outcome().map(|outcome| written(&outcome, 0)))),
                "record" => Some(list(self.record().map(|record| written(&record, 0)))),
                "blocked" => Some(self.is_blocked().to_string()),
                _ => None,
            }
        }
    }

    #[test]
    fn stories_of_two_phases_go_as_they_are_told() {
        stories::run::<Nodes<TwoPhaseCommit>>("src/protocol/commit/testdata/two");
    }

    #[test]
    fn stories_of_three_phases_go_as_they_are_told() {
        stories::run::<Nodes<ThreePhaseCommit>>("src/protocol/commit/testdata/three");
    }
}
