//! What two- and three-phase commit have in common: an atomic commit whose coordinator is elected.
//!
//! Not a protocol. [Two-phase commit](crate::two_phase_commit) and [three-phase
//! commit](crate::three_phase_commit) say which `Rules` they have. The protocol is the one of P.
//! A. Bernstein, V. Hadzilacos and N. Goodman, *Concurrency Control and Recovery in Database
//! Systems*, 1987, chapter 7, with the termination by quorums of D. Skeen, *A Quorum-Based Commit
//! Protocol*, 1982.
//!
//! **The election.** Each process runs the recommended [bully] as it is, with its own
//! messages and timers. The leader that it elects is the coordinator. All that the commit sees of
//! the election is whether this process leads, and otherwise which process it follows.
//!
//! **One transaction.** Every process is a participant, the coordinator too. A leader with nothing
//! in its log begins the transaction. A leader that finds an undecided record in its log terminates
//! it: it asks the others for theirs. A participant that waits for the word asks its coordinator.
//!
//! **The log.** A record is on stable storage before what follows from it is said. Between a record
//! and a message, and between two messages, a process may crash ([`Steps::OneByOne`]).

use crate::bully::{self, Bully};
use bellwether_engine::protocol::{
    Belief, Effect, Id, Ids, Local, MAX_SEARCHED, Misfit, Options, Protocol, TimerRow, View,
};
use serde::{Deserialize, Serialize};

mod coordinator;
mod election;
mod outbox;
mod participant;
mod properties;
mod reports;
mod rules;
mod timing;

pub use outbox::Outgoing;
pub(super) use properties::all as properties;
pub use reports::Reports;
pub(super) use rules::Rules;
pub use rules::{Confirm, Heeds, Recovered, Silence, Steps, Termination};
pub(super) use timing::may_time_out;

/// The last record in the log of a participant.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Record {
    /// None: it has not voted, and may abort on its own.
    #[default]
    Nothing,
    /// It has voted YES: only the coordinator's word tells it the decision.
    Uncertain,
    /// It knows that all have voted YES.
    Committable,
    /// It has promised a coordinator that finds no committable participant to abort.
    Abortable,
    /// The decision is to commit.
    Committed,
    /// The decision is to abort.
    Aborted,
}

impl Record {
    /// Whether this is a decision.
    #[must_use]
    pub fn is_decided(self) -> bool {
        matches!(self, Record::Committed | Record::Aborted)
    }

    /// Whether a participant with this record waits for the word of a coordinator.
    #[must_use]
    pub fn waits(self) -> bool {
        matches!(self, Record::Uncertain | Record::Committable | Record::Abortable)
    }
}

/// What a coordinator is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duty {
    /// Nothing: it does not coordinate, or has decided.
    #[default]
    None,
    /// It has sent REQUEST and counts the votes.
    Voting,
    /// It has sent POLL and collects the records of the others.
    Polling,
    /// It has sent PRECOMMIT and waits for those that are committable.
    Precommitting,
    /// It has sent PREABORT and waits for those that are abortable.
    Preaborting,
    /// What it knows does not suffice to decide; it waits for more.
    Blocked,
}

/// The state of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Process {
    /// Its part in the election.
    pub election: bully::Process,
    /// The last record that it has written.
    pub record: Record,
    /// Whether it found an undecided record when it recovered, and that matters.
    pub recovered: bool,
    /// The coordinator that it last told its vote or its record.
    pub heeds: Option<Id>,
    /// What it does as the coordinator.
    pub duty: Duty,
    /// What the others have told the coordinator.
    pub reports: Reports,
    /// What it has yet to send.
    pub outgoing: Option<Outgoing>,
}

/// What processes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// To a participant: vote.
    Request,
    /// To the coordinator: the vote is to commit.
    Yes,
    /// To the coordinator: the vote is to abort.
    No,
    /// To a participant, in the third phase: all have voted YES.
    Precommit,
    /// To a participant, from a coordinator that terminates: no commit has begun.
    Preabort,
    /// To a participant, from a coordinator that terminates: what is your record?
    Poll,
    /// To the coordinator: this is my record. The answer to POLL, PRECOMMIT and PREABORT; and what
    /// a participant says that waits for the word.
    State(Record),
    /// The decision.
    Commit,
    /// The decision.
    Abort,
    /// What the election sends.
    #[serde(untagged)]
    Election(bully::Message),
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// A coordinator with an empty log is asked to begin the transaction.
    Begin,
    /// A coordinator waits for the others.
    Answers,
    /// A participant waits for the word of the coordinator.
    Word,
    /// The next message that is yet to be sent ([`Steps::OneByOne`]).
    Send,
    /// What the election waits for.
    #[serde(untagged)]
    Election(bully::Timer),
}

/// An atomic commit with an elected coordinator.
pub(super) trait Commit:
    Protocol<Process = Process, Stable = Record, Message = Message, Timer = Timer>
{
    /// The rules in which these protocols differ.
    fn commit(&self) -> Rules;
}

/// Makes a type of rules a protocol that is such a commit.
macro_rules! protocol {
    ($rules:ident, $name:literal, $summary:literal) => {
        impl commit::Commit for $rules {
            fn commit(&self) -> commit::Rules {
                self.rules()
            }
        }

        impl Protocol for $rules {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const VARIANTS: &'static [Variant<Self>] = variants::ALL;
            const TIMERS: &'static [TimerRow<Self>] = &commit::timers();
            const PROPERTIES: &'static [Property<Judge<Self>>] = &commit::properties();
            const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;

            const OPTIONS: Options<Self> = commit::options();

            type Process = commit::Process;
            type Stable = commit::Record;
            type Message = commit::Message;
            type Timer = commit::Timer;

            fn converged(&self, p: &mut Local<'_, Self>) {
                commit::converged(self, p);
            }

            fn recover(&self, p: &mut Local<'_, Self>) {
                commit::recover(self, p);
            }

            fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: commit::Message) {
                commit::receive(self, p, (from, message));
            }

            fn expire(&self, p: &mut Local<'_, Self>, timer: commit::Timer) {
                commit::expire(self, p, timer);
            }

            fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: commit::Timer) -> bool {
                commit::may_time_out(view, me, timer)
            }

            fn belief(process: &commit::Process) -> Belief {
                commit::belief(process)
            }

            fn role(process: &commit::Process) -> &'static str {
                commit::role(process)
            }
        }
    };
}
pub(super) use protocol;

/// The timers, a row for each.
pub(super) const fn timers<P: Commit>() -> [TimerRow<P>; 8] {
    [
        TimerRow::untimed(Timer::Election(bully::Timer::Election)),
        TimerRow::untimed(Timer::Election(bully::Timer::Coordinator)),
        TimerRow::untimed(Timer::Election(bully::Timer::Watch)),
        TimerRow::untimed(Timer::Election(bully::Timer::Heartbeat)).periodic(election::no_news),
        TimerRow::untimed(Timer::Begin).periodic(|_, _, _| false),
        TimerRow::untimed(Timer::Answers)
            .periodic(timing::poll_is_no_news)
            .waits_if(|process: &Process| !matches!(process.duty, Duty::Blocked)),
        TimerRow::untimed(Timer::Word).periodic(timing::question_is_no_news),
        TimerRow::untimed(Timer::Send)
            .armed_if(|rules: &P| rules.commit().steps == Steps::OneByOne)
            .periodic(|_, _, _| false),
    ]
}

/// What an atomic commit says that not every protocol does.
pub(super) const fn options<P: Commit>() -> Options<P> {
    let mut options = Options::<P>::NONE;
    options.fits = fits::<P>;
    // A coordinator keeps what each process has reported.
    options.most = MAX_SEARCHED;
    options.begins_election = begins_election::<P>;
    options
}

fn fits<P: Commit>(rules: &P, nodes: usize) -> Result<(), Misfit> {
    match rules.commit().refuses.filter(|id| id.index() >= nodes) {
        None => Ok(()),
        Some(id) => Err(Misfit {
            rule: "refuses",
            value: id.to_string(),
            nodes,
            instead: format!("it is an id from 1 to {nodes}, or null"),
        }),
    }
}

/// An election starts as one of the bully does.
fn begins_election<P: Commit>(_: &Process, _: &Process, effects: &[Effect<P>]) -> bool {
    effects.contains(&Effect::Arm(Timer::Election(bully::Timer::Election)))
}

/// Every process is up, has an empty log, and follows the highest id.
pub(super) fn converged<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    act(rules, p, |p| election::step(p, Protocol::converged));
}

/// A process reads its log, and takes part in the election like any that recovers.
pub(super) fn recover<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    act(rules, p, |p| {
        p.state.record = p.stable();
        p.state.recovered = p.state.record.waits() && rules.commit().waits_when_recovered();
        election::step(p, Protocol::recover);
    });
}

/// A message arrives.
pub(super) fn receive<P: Commit>(rules: &P, p: &mut Local<'_, P>, (from, message): (Id, Message)) {
    act(rules, p, |p| match message {
        Message::Election(message) => {
            election::step(p, |bully, p| bully.receive(p, from, message));
        }
        Message::Request => participant::on_request(rules, p, from),
        Message::Yes => coordinator::on_yes(rules, p, from),
        Message::No => coordinator::on_no(rules, p),
        Message::Precommit => participant::on_prepare(rules, p, (from, Record::Committable)),
        Message::Preabort => participant::on_prepare(rules, p, (from, Record::Abortable)),
        Message::Poll => participant::on_poll(rules, p, from),
        Message::State(record) => coordinator::on_report(rules, p, (from, record)),
        Message::Commit => participant::on_decision(rules, p, Record::Committed),
        Message::Abort => participant::on_decision(rules, p, Record::Aborted),
    });
}

/// A timer expires.
pub(super) fn expire<P: Commit>(rules: &P, p: &mut Local<'_, P>, timer: Timer) {
    match timer {
        Timer::Send => outbox::send_next(p),
        Timer::Election(timer) => {
            act(rules, p, |p| election::step(p, |bully, p| bully.expire(p, timer)));
        }
        Timer::Begin => act(rules, p, |p| coordinator::begin(rules, p)),
        Timer::Answers => act(rules, p, |p| coordinator::on_silence(rules, p)),
        Timer::Word => act(rules, p, participant::ask),
    }
}

/// A process does one thing after another: what it has yet to send comes before what happens now,
/// and what follows from the election after it.
fn act<P: Commit>(rules: &P, p: &mut Local<'_, P>, happens: impl FnOnce(&mut Local<'_, P>)) {
    outbox::send_all(p);
    let before = belief(p.state);
    happens(p);
    let after = belief(p.state);
    match (before == Belief::Leads, after == Belief::Leads) {
        (false, true) => coordinator::take_over(rules, p),
        (true, false) => coordinator::resign(p),
        _ => {}
    }
    participant::wait_for_the_word(p);
    outbox::go_on(rules.commit().steps, p);
}

/// Writes a record to the log before anything that follows from it is said.
fn write<P: Commit>(rules: &P, p: &mut Local<'_, P>, record: Record) {
    p.state.record = record;
    if record.is_decided() {
        p.state.heeds = None;
    }
    if rules.commit().logs || record.is_decided() {
        p.persist(record);
    }
}

/// All other processes.
fn others<P: Commit>(p: &Local<'_, P>) -> Ids {
    p.others().collect()
}

/// What the election has made the process believe.
pub(super) fn belief(process: &Process) -> Belief {
    Bully::belief(&process.election)
}

/// What a coordinator does, or how far a participant is.
pub(super) fn role(process: &Process) -> &'static str {
    match (process.duty, process.record) {
        (Duty::Voting, _) => "counting",
        (Duty::Polling, _) => "polling",
        (Duty::Precommitting, _) => "precommitting",
        (Duty::Preaborting, _) => "preaborting",
        (Duty::Blocked, _) => "blocked",
        (Duty::None, Record::Nothing) => Bully::role(&process.election),
        (Duty::None, Record::Uncertain) => "uncertain",
        (Duty::None, Record::Committable) => "committable",
        (Duty::None, Record::Abortable) => "abortable",
        (Duty::None, Record::Committed) => "committed",
        (Duty::None, Record::Aborted) => "aborted",
    }
}

/// The record of a process: what it knows, or what is in its log while it is down.
fn record<P: Commit>(view: &View<'_, P>, id: Id) -> Record {
    if view.up(id) { view.process(id).record } else { *view.stable(id) }
}
