//! Two- and three-phase commit: the rules of the program against the production cores.

use super::bully;
use super::{
    Bound, Durations, ExpectedFacts, Mapping, More, ProcessView, Waits, bounds_of, longer_than,
    node, process_id,
};
use bellwether_bridge::message_table;
use bellwether_bridge::program::Limits;
use bellwether_core::protocol::commit::{self as program, Outcome, Three, Two};
use bellwether_core::protocol::{Input, Members, Node, NodeId};
use bellwether_model::protocol::Protocol as Specification;
use bellwether_model::protocol::commit::{self as spec, Steps};
use bellwether_model::protocol::three_phase_commit::ThreePhaseCommit;
use bellwether_model::protocol::two_phase_commit::TwoPhaseCommit;
use std::sync::Arc;
use std::time::Duration;

/// A commit that is here as a program, and the rules that it implements.
pub trait Pair: program::Kind {
    /// The specification.
    type Spec: Specification<
            Process = spec::Process,
            Stable = spec::Record,
            Message = spec::Message,
            Timer = spec::Timer,
        >;
    /// Its rules.
    const RULES: Self::Spec;
}

impl Pair for Two {
    type Spec = TwoPhaseCommit;
    const RULES: TwoPhaseCommit =
        TwoPhaseCommit { steps: Steps::AtOnce, ..TwoPhaseCommit::COOPERATIVE };
}

impl Pair for Three {
    type Spec = ThreePhaseCommit;
    const RULES: ThreePhaseCommit =
        ThreePhaseCommit { steps: Steps::AtOnce, ..ThreePhaseCommit::QUORUM };
}

/// The specification and the program.
pub type Commit<K> = (<K as Pair>::Spec, Node<program::Commit<K>>);

/// How a node of a commit reads as a process of its specification.
///
/// | program                                    | model                                         |
/// |--------------------------------------------|-----------------------------------------------|
/// | the core of the bully in it                | the process of the bully in it                |
/// | no record                                  | nothing                                       |
/// | voted                                      | uncertain                                     |
/// | prepared for an outcome                    | committable, abortable                        |
/// | decided                                    | committed, aborted                            |
/// | what a coordinator does, and has collected | its duty, and its reports                     |
/// | whom it heeds                              | the same                                      |
/// | timers Begin, Answers, Word                | the same                                      |
///
/// Election messages and timers are those of the bully's mapping. A node puts out all that follows
/// from an input in one step, so nothing is ever yet to be sent; and only another rule of
/// termination asks whether it has recovered.
#[must_use]
pub fn mapping<K: Pair>() -> Mapping<Commit<K>> {
    Mapping {
        rules: <K as Pair>::RULES,
        program: Arc::new(node::<program::Commit<K>>(config::<K>)),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period::<K>),
        process: Arc::new(abstraction::<K>),
        stable: Arc::new(|&durable: &program::Record| record(durable)),
        believes: |id, process| bully::believes(id, &process.election),
        facts: Arc::new(facts::<K>),
        messages: Arc::new(|_| messages()),
        more: More {
            durations: Durations {
                limits: Arc::new(limits::<K>),
                bounds: bounds::<K>,
                ..Durations::default()
            },
            ..More::default()
        },
    }
}

/// The process that a node stands for.
#[must_use]
pub fn abstraction<K: Pair>(node: &Node<program::Commit<K>>) -> spec::Process {
    let Some(core) = node.core() else { return spec::Process::default() };
    let (duty, collected) = core.collected();
    spec::Process {
        election: bully::abstraction(node.status()),
        record: core.record().map_or(spec::Record::Nothing, record),
        recovered: false,
        heeds: core.heeds().and_then(process_id),
        duty: match duty {
            "voting" => spec::Duty::Voting,
            "polling" => spec::Duty::Polling,
            "precommitting" => spec::Duty::Precommitting,
            "preaborting" => spec::Duty::Preaborting,
            "blocked" => spec::Duty::Blocked,
            _ => spec::Duty::None,
        },
        reports: collected.filter_map(|(id, told)| Some((process_id(id)?, record(told)))).collect(),
        outgoing: None,
    }
}

/// The configuration of a node.
#[must_use]
pub fn config<K: Pair>(id: NodeId, members: &Members) -> program::Config {
    let election = bully::config(id, members);
    program::Config { election, agrees: true, timing: program::Timing::DEFAULT }
}

fn record(record: program::Record) -> spec::Record {
    match record {
        program::Record::Voted => spec::Record::Uncertain,
        program::Record::Prepared(Outcome::Commit) => spec::Record::Committable,
        program::Record::Prepared(Outcome::Abort) => spec::Record::Abortable,
        program::Record::Decided(Outcome::Commit) => spec::Record::Committed,
        program::Record::Decided(Outcome::Abort) => spec::Record::Aborted,
    }
}

/// The program's record for one of the model's, if it is any.
fn record_of(record: spec::Record) -> Option<program::Record> {
    Some(match record {
        spec::Record::Nothing => return None,
        spec::Record::Uncertain => program::Record::Voted,
        spec::Record::Committable => program::Record::Prepared(Outcome::Commit),
        spec::Record::Abortable => program::Record::Prepared(Outcome::Abort),
        spec::Record::Committed => program::Record::Decided(Outcome::Commit),
        spec::Record::Aborted => program::Record::Decided(Outcome::Abort),
    })
}

/// As the bully: it starts, and hears that the highest leads.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
    let inputs = bully::settle(id, members).into_iter();
    let inputs = inputs.map(|(at, input)| match input {
        Input::Receive { from, message } => {
            (at, Input::Receive { from, message: program::Message::Election(message) })
        }
        Input::Suspect(node) => (at, Input::Suspect(node)),
        Input::Request(request) => (at, Input::Request(request)),
        Input::Boot => (at, Input::Boot),
        Input::Wake => (at, Input::Wake),
    });
    inputs.collect()
}

message_table! {
    fn to_program(spec::Message) -> program::Message; fn to_model;
    Election(of) = Election(of), of: bully::to_program(of)? => bully::to_model(of);
    Request = Request;
    Yes = Vote(Outcome::Commit);
    No = Vote(Outcome::Abort);
    Precommit = Prepare(Outcome::Commit);
    Preabort = Prepare(Outcome::Abort);
    Poll = Poll;
    State(told) = State(told), told: record_of(told)? => record(told);
    Commit = Decision(Outcome::Commit);
    Abort = Decision(Outcome::Abort);
}

fn timer(timer: program::Timer) -> spec::Timer {
    match timer {
        program::Timer::Election(timer) => spec::Timer::Election(bully::timer(timer)),
        program::Timer::Begin => spec::Timer::Begin,
        program::Timer::Answers => spec::Timer::Answers,
        program::Timer::Word => spec::Timer::Word,
    }
}

fn period<K: Pair>(id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
    let timing = config::<K>(id, members).timing;
    match timer {
        spec::Timer::Election(timer) => bully::period(id, members, timer),
        spec::Timer::Begin => Some(timing.begin),
        spec::Timer::Answers => Some(timing.answers),
        spec::Timer::Word => Some(timing.word),
        // All is sent at once.
        spec::Timer::Send => None,
    }
}

/// Returns what the bully in the node says, with which the node waits.
fn facts<K: Pair>(of: &ProcessView<'_, K::Spec>) -> Option<ExpectedFacts<K::Spec>> {
    let waits = bully::waits_for(of.id, of.nodes, &of.process.election);
    let waits_for = match waits {
        Some((timer, nodes)) => Waits::For(spec::Timer::Election(timer), nodes),
        None => Waits::Nothing,
    };
    Some(ExpectedFacts { waits_for, ..ExpectedFacts::among_equals(of.nodes) })
}

/// A coordinator that has waited for answers does without those that come later.
fn limits<K: Pair>(id: NodeId, members: &Members) -> Option<Limits> {
    let of_the_bully = bully::durations(id, members);
    let lifetime = config::<K>(id, members).timing.answers;
    Some(Limits { lifetime, election: of_the_bully.silence + lifetime * 3, ..of_the_bully })
}

/// A node waits for the word of a coordinator that waits for answers before. The bully in it has
/// its own relations.
fn bounds<K: Pair>(id: NodeId, members: &Members) -> Vec<Bound> {
    let config = config::<K>(id, members);
    let (election, answers) = (config.election.timing.election, config.timing.answers);
    bounds_of::<program::Commit<K>, _>(
        &config,
        [
            ("t-word > t-answers", |of| &mut of.timing.word, longer_than(answers)),
            ("t-answers > 0", |of| &mut of.timing.answers, longer_than(Duration::ZERO)),
            ("t-begin > 0", |of| &mut of.timing.begin, longer_than(Duration::ZERO)),
            ("t-coord > t-elec", |of| &mut of.election.timing.coordinator, longer_than(election)),
        ],
    )
}

fn messages() -> Vec<spec::Message> {
    use spec::Message::{Abort, Commit, No, Poll, Preabort, Precommit, Request, State, Yes};
    use spec::Record::{Abortable, Aborted, Committable, Committed, Nothing, Uncertain};
    let election = bully::messages().into_iter().map(spec::Message::Election);
    let states = [Nothing, Uncertain, Committable, Abortable, Committed, Aborted].map(State);
    let plain = [Request, Yes, No, Precommit, Preabort, Poll, Commit, Abort];
    election.chain(plain).chain(states).collect()
}
