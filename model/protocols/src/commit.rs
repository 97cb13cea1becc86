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
use crate::{three_phase_commit, two_phase_commit};
use bellwether_engine::protocol::{
    Belief, Effect, Id, Ids, Judge, Local, MAX_SEARCHED, Misfit, Options, Property, Protocol,
    TimerRow, View, event_type, rule_type, state_type,
};
use serde::{Serialize, Serializer};

mod coordinator;
mod election;
mod participant;

/// The rules in which these protocols differ, each as the protocol at hand has it.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) termination: Termination,
    pub(super) confirm: Confirm,
    pub(super) recovered: Recovered,
    pub(super) heeds: Heeds,
    pub(super) silence: Silence,
    pub(super) logs: bool,
    pub(super) steps: Steps,
    pub(super) refuses: Option<Id>,
}

impl Rules {
    /// Whether a coordinator that found an undecided record when it recovered waits for all.
    fn waits_when_recovered(self) -> bool {
        let live = Termination::Three(three_phase_commit::Termination::Live);
        self.termination == live && self.recovered == Recovered::Waits
    }
}

/// How a coordinator decides that finds an undecided record in its log, when none that answers it
/// knows the decision; and so, how many phases a commit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Termination {
    /// Votes, then the decision.
    Two(two_phase_commit::Termination),
    /// Votes, then the announcement that all have voted YES, then the decision.
    Three(three_phase_commit::Termination),
}

/// Which participants must be committable before a coordinator commits.
#[rule_type]
pub enum Confirm {
    /// All that answer in time: the others have failed.
    Live,
    /// A majority of all.
    Majority,
}

/// Whether a coordinator that found an undecided record in its log when it recovered decides as one
/// that did not fail.
#[rule_type]
pub enum Recovered {
    /// It does.
    Decides,
    /// It waits until all have answered: those that do not may have decided in its absence.
    Waits,
}

/// What a coordinator does when a vote has not come in time.
#[rule_type]
pub enum Silence {
    /// It aborts.
    Aborts,
    /// It goes on as if it had been YES.
    Commits,
    /// It has no time-out, and waits.
    Waits,
}

/// Whose PRECOMMIT and PREABORT a participant follows.
#[rule_type]
pub enum Heeds {
    /// Those of any process: one that failed may have sent them before another took over.
    Any,
    /// Only those of the coordinator that it last told its vote or its record.
    Latest,
}

/// Whether something can happen between two messages of a process.
#[rule_type]
pub enum Steps {
    /// A crash may come after each record and each message; others act meanwhile.
    OneByOne,
    /// A record and the messages that follow from it are one step.
    AtOnce,
}

/// The last record in the log of a participant.
#[event_type]
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

    /// The message that tells it.
    fn message(self) -> Message {
        match self {
            Record::Committed => Message::Commit,
            Record::Aborted => Message::Abort,
            undecided => Message::State(undecided),
        }
    }

    /// Whether a participant with this record waits for the word of a coordinator.
    #[must_use]
    pub fn waits(self) -> bool {
        matches!(self, Record::Uncertain | Record::Committable | Record::Abortable)
    }
}

/// What a coordinator is doing.
#[state_type]
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

/// The record of each process that a coordinator has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reports([Option<Record>; MAX_SEARCHED]);

impl Reports {
    /// What this process has reported.
    #[must_use]
    pub fn of(&self, id: Id) -> Option<Record> {
        self.0[id.index()]
    }

    fn note(&mut self, id: Id, record: Record) {
        self.0[id.index()] = Some(record);
    }

    fn count(&self, record: Record) -> usize {
        self.0.iter().filter(|&&known| known == Some(record)).count()
    }

    fn len(&self) -> usize {
        self.0.iter().flatten().count()
    }

    /// Only what says this.
    fn only(self, record: Record) -> Reports {
        Reports(self.0.map(|known| known.filter(|&known| known == record)))
    }
}

impl FromIterator<(Id, Record)> for Reports {
    fn from_iter<T: IntoIterator<Item = (Id, Record)>>(told: T) -> Reports {
        let mut reports = Reports::default();
        for (id, record) in told {
            reports.note(id, record);
        }
        reports
    }
}

impl Serialize for Reports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = Id::all(MAX_SEARCHED).filter_map(|id| Some((id, self.of(id)?)));
        serializer.collect_map(known)
    }
}

/// The state of one process.
#[state_type]
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

/// A message, and the processes to which it is yet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Outgoing {
    /// What is said.
    pub message: Message,
    /// To which processes, the lowest first.
    pub to: Ids,
}

/// What processes send to each other.
#[event_type]
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
#[event_type]
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

/// The timers, a row for each.
pub(super) const fn timers<P: Commit>() -> [TimerRow<P>; 8] {
    [
        TimerRow::untimed(Timer::Election(bully::Timer::Election)),
        TimerRow::untimed(Timer::Election(bully::Timer::Coordinator)),
        TimerRow::untimed(Timer::Election(bully::Timer::Watch)),
        TimerRow::untimed(Timer::Election(bully::Timer::Heartbeat)).periodic(election::no_news),
        TimerRow::untimed(Timer::Begin).periodic(|_, _, _| false),
        TimerRow::untimed(Timer::Answers)
            .periodic(poll_is_no_news)
            .waits_if(|process: &Process| !matches!(process.duty, Duty::Blocked)),
        TimerRow::untimed(Timer::Word).periodic(question_is_no_news),
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
    // An election starts as one of the bully does.
    options.begins_election =
        |_, _, effects| effects.contains(&Effect::Arm(Timer::Election(bully::Timer::Election)));
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

pub(super) fn receive<P: Commit>(rules: &P, p: &mut Local<'_, P>, from: Id, message: Message) {
    act(rules, p, |p| match message {
        Message::Election(message) => {
            election::step(p, |bully, p| bully.receive(p, from, message));
        }
        Message::Request => participant::on_request(rules, p, from),
        Message::Yes => coordinator::on_yes(rules, p, from),
        Message::No => coordinator::on_no(rules, p),
        Message::Precommit => participant::on_prepare(rules, p, from, Record::Committable),
        Message::Preabort => participant::on_prepare(rules, p, from, Record::Abortable),
        Message::Poll => participant::on_poll(rules, p, from),
        Message::State(record) => coordinator::on_report(rules, p, from, record),
        Message::Commit => participant::on_decision(rules, p, Record::Committed),
        Message::Abort => participant::on_decision(rules, p, Record::Aborted),
    });
}

pub(super) fn expire<P: Commit>(rules: &P, p: &mut Local<'_, P>, timer: Timer) {
    match timer {
        Timer::Send => send_next(p),
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
    send_all(p);
    let before = belief(p.state);
    happens(p);
    let after = belief(p.state);
    match (before == Belief::Leads, after == Belief::Leads) {
        (false, true) => coordinator::take_over(rules, p),
        (true, false) => coordinator::resign(p),
        _ => {}
    }
    participant::wait_for_the_word(p);
    go_on(rules.commit().steps, p);
}

/// Says something to these processes, after what is yet to be sent.
fn say<P: Commit>(p: &mut Local<'_, P>, to: Ids, message: Message) {
    send_all(p);
    if !to.is_empty() {
        p.state.outgoing = Some(Outgoing { message, to });
    }
}

fn send_all<P: Commit>(p: &mut Local<'_, P>) {
    if let Some(Outgoing { message, to }) = p.state.outgoing.take() {
        p.send_to_each(to.iter(), message);
    }
    p.cancel(Timer::Send);
}

fn send_next<P: Commit>(p: &mut Local<'_, P>) {
    let Some(Outgoing { message, to }) = p.state.outgoing.take() else { return };
    let Some(next) = to.iter().next() else { return };
    p.send(next, message);
    let rest = to.without(next);
    if !rest.is_empty() {
        p.state.outgoing = Some(Outgoing { message, to: rest });
        p.arm(Timer::Send);
    }
}

/// The rule `steps`: whether something may come between the messages.
fn go_on<P: Commit>(steps: Steps, p: &mut Local<'_, P>) {
    match steps {
        Steps::AtOnce => send_all(p),
        Steps::OneByOne if p.state.outgoing.is_some() => p.arm(Timer::Send),
        Steps::OneByOne => {}
    }
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

fn say_to_others<P: Commit>(p: &mut Local<'_, P>, message: Message) {
    say(p, p.others().collect(), message);
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

/// Whether what `timer` of `me` waits for can no longer come.
pub(super) fn may_time_out<P: Commit>(_: &P, view: &View<'_, P>, me: Id, timer: Timer) -> bool {
    match timer {
        Timer::Election(timer) => election::may_time_out(view, me, timer),
        // They only pace.
        Timer::Begin | Timer::Send => true,
        Timer::Answers if view.process(me).duty == Duty::Blocked => a_poll_would_help(view, me),
        Timer::Answers => no_answer_can_come(view, me),
        Timer::Word => a_question_would_help(view, me),
    }
}

/// Whether a message that `wanted` is in flight, or is yet to be sent to a process that hears it.
fn under_way<P: Commit>(view: &View<'_, P>, wanted: impl Fn(Id, Id, Message) -> bool) -> bool {
    let outgoing = |from: Id| {
        view.process(from).outgoing.is_some_and(|Outgoing { message, to }| {
            to.iter().any(|to| view.hears(to, from) && wanted(from, to, message))
        })
    };
    view.in_flight(&wanted) || view.live().any(outgoing)
}

/// Every question of the coordinator has reached each process that is up or may recover, and no
/// answer is on its way.
fn no_answer_can_come<P: Commit>(view: &View<'_, P>, me: Id) -> bool {
    !under_way(view, |from, to, message| match message {
        Message::Request | Message::Poll | Message::Precommit | Message::Preabort => {
            from == me && view.may_answer(to)
        }
        Message::Yes | Message::No | Message::State(_) | Message::Commit | Message::Abort => {
            to == me
        }
        Message::Election(_) => false,
    })
}

/// Nothing but the election's messages is under way between the two.
fn is_quiet_between<P: Commit>(view: &View<'_, P>, a: Id, b: Id) -> bool {
    !under_way(view, |from, to, message| {
        [(a, b), (b, a)].contains(&(from, to)) && !matches!(message, Message::Election(_))
    })
}

/// The coordinator that `me` follows hears it, says nothing by itself, and knows the decision or
/// has yet to hear what `me` would say.
fn a_question_would_help<P: Commit>(view: &View<'_, P>, me: Id) -> bool {
    let Belief::Follows(leader) = belief(view.process(me)) else { return false };
    let process = view.process(leader);
    let news = record(view, leader).is_decided()
        || process.duty == Duty::Blocked && process.reports.of(me) != Some(record(view, me));
    view.links(me, leader) && news && is_quiet_between(view, me, leader)
}

/// A process that answers a poll of the blocked coordinator `me` hears it, and its record is not
/// what `me` knows of it; nothing between the two is under way.
fn a_poll_would_help<P: Commit>(view: &View<'_, P>, me: Id) -> bool {
    let reports = view.process(me).reports;
    let would_tell = |id: Id| {
        let answers = view.links(me, id) && view.process(id).duty == Duty::None;
        let news = reports.of(id) != Some(record(view, id));
        answers && news && is_quiet_between(view, me, id)
    };
    view.ids().any(|id| id != me && would_tell(id))
}

/// The next poll of a blocked coordinator would tell it nothing new.
fn poll_is_no_news<P: Commit>(_: &P, view: &View<'_, P>, me: Id) -> bool {
    view.process(me).duty == Duty::Blocked && !a_poll_would_help(view, me)
}

/// The next question of a participant tells the coordinator nothing new.
fn question_is_no_news<P: Commit>(_: &P, view: &View<'_, P>, me: Id) -> bool {
    !a_question_would_help(view, me)
}

pub(super) const fn properties<P: Commit>() -> [Property<Judge<P>>; 6] {
    let all: &[Property<Judge<P>>; 6] = property_table! {
        "atomicity": "□ ¬∃ i, j: committed(i) ∧ aborted(j)",
            "no process commits what another aborts, whether they are up or down",
            if "a process has decided" => |_, view| {
                view.ids().any(|id| record(view, id).is_decided())
            };
            Always(|_, view| !(has(view, Record::Committed) && has(view, Record::Aborted)));
        "unanimity": "□ ∀ committed(i): every process has voted YES",
            "no process commits unless every process has voted to";
            Always(|rules, view| !has(view, Record::Committed) || all_agree(rules, view));
        "non-blocking": "◇□ ∀ up i that has voted YES: committed(i) ∨ aborted(i)",
            "in the end every live process that has voted YES knows the decision";
            EventuallyAlways(|_, view| none_waits(view));
        "word-spreads" asked:
            "(∃ up i: committed(i) ∨ aborted(i)) ⇝ (∀ up i that has voted YES: committed(i) ∨ \
             aborted(i))",
            "whenever a live process knows the decision, all live ones that have voted YES know \
             it later",
            if "a live process knows the decision" => |_, view| known(view);
            LeadsTo(|_, view| known(view), |_, view| none_waits(view));
        "successor-decides" asked:
            "reachable: ∃ up i: leads(i) ∧ (committed(i) ∨ aborted(i)) ∧ the first coordinator \
             has voted YES and does not know",
            "another coordinator can end what the first one began";
            Reachable(|_, view| {
                let first = view.ids().last();
                let decided = |id| {
                    let leads = belief(view.process(id)) == Belief::Leads;
                    leads && record(view, id).is_decided()
                };
                first.is_some_and(|id| record(view, id).waits()) && view.live().any(decided)
            });
        "commits" asked: "◇ ∀ i: committed(i)",
            "at some moment every process has committed; ask it without faults";
            Eventually(|_, view| view.ids().all(|id| record(view, id) == Record::Committed));
    };
    *all
}

fn has<P: Commit>(view: &View<'_, P>, wanted: Record) -> bool {
    view.ids().any(|id| record(view, id) == wanted)
}

/// Whether a live process knows the decision.
fn known<P: Commit>(view: &View<'_, P>) -> bool {
    view.live().any(|id| record(view, id).is_decided())
}

/// Whether no live process that has voted YES waits for the decision.
fn none_waits<P: Commit>(view: &View<'_, P>) -> bool {
    view.live().all(|id| !record(view, id).waits())
}

/// Whether every process has voted, and none refuses: a vote is a record.
fn all_agree<P: Commit>(rules: &P, view: &View<'_, P>) -> bool {
    let voted = |id| record(view, id) != Record::Nothing && rules.commit().refuses != Some(id);
    view.ids().all(voted)
}
