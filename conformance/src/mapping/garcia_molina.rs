//! The bully algorithm of 1982: the repaired rules against the core.

use super::{Bound, Counters, Durations, Mapping, More, OnInvalid, Probes, bounds_of};
use super::{
    facts_among_equals, known, longer_than, node_id, process_id, shorter_than, small, strangers,
};
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_bridge::{message_table, timer_table};
use bellwether_core::protocol::garcia_molina as program;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Role};
use bellwether_model::protocol::{Id, garcia_molina as spec};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// The number of tasks of one process that the model tells apart.
const ROUND: NonZeroU64 = match NonZeroU64::new(spec::Tasks::TOLD_APART as u64) {
    Some(round) => round,
    None => unreachable!(),
};

/// The specification and the program.
pub type GarciaMolina = (spec::GarciaMolina, Node<program::GarciaMolina>);

/// How a node reads as a process of [`spec::GarciaMolina`].
///
/// | program                          | model                                        |
/// |----------------------------------|----------------------------------------------|
/// | not started                      | down                                         |
/// | phase, coordinator, halted by    | status, coordinator, halter                  |
/// | task, halted                     | task, up                                     |
/// | activity, or none                | step, or idle                                |
/// | tasks computed, which is durable | the same, on stable storage                  |
/// | timers Call, Restart, Silence, Election, Check | Answer, Recovery, and the same |
///
/// A node remembers nothing else. It counts its tasks in rounds as short as the model's.
#[must_use]
pub fn mapping() -> Mapping<GarciaMolina> {
    Mapping {
        rules: spec::GarciaMolina::REPAIRED,
        program: Arc::new(program),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(abstraction),
        stable: Arc::new(stable),
        believes,
        facts: Arc::new(facts_among_equals::<spec::GarciaMolina>),
        messages: Arc::new(|_| messages()),
        more: More {
            durations: Durations { limits: Arc::new(limits), bounds, ..Durations::default() },
            probes: Probes { invalid_messages: Arc::new(invalid_messages), ..Probes::default() },
            counters: Counters {
                in_message: |message, _, _| match message {
                    program::Message::Ready(number) => program::Message::Ready(number % ROUND),
                    program::Message::Normal(task) => program::Message::Normal(program::Task {
                        number: task.number % ROUND,
                        ..task
                    }),
                    other => other,
                },
                in_durable: |computed, _| program::Computed::in_rounds(computed.count(), ROUND),
                ..Counters::default()
            },
            ..More::default()
        },
    }
}

/// The process that a node stands for.
#[must_use]
pub fn abstraction(node: &Node<program::GarciaMolina>) -> spec::Process {
    let me = process_id(node.status().id);
    let Some(node) = node.core() else { return spec::Process::default() };
    spec::Process {
        status: match node.phase() {
            program::Phase::Down => spec::Status::Down,
            program::Phase::Election => spec::Status::Election,
            program::Phase::Reorganization => spec::Status::Reorganization,
            program::Phase::Normal => spec::Status::Normal,
        },
        coordinator: match node.coordinator().and_then(process_id) {
            None => spec::Coordinator::Unknown,
            it if it == me => spec::Coordinator::Myself,
            Some(it) => spec::Coordinator::Other(it),
        },
        halter: node.halted_by().and_then(process_id),
        task: node.task().map(spec_task),
        up: node.halted().iter().copied().filter_map(process_id).collect(),
        step: node.activity().map_or(spec::Step::Idle, step),
    }
}

/// The configuration of a node. The time-outs are the default ones, which are different.
#[must_use]
pub fn config(id: NodeId, members: &Members) -> program::Config {
    program::Config { id, members: members.clone(), timing: program::Timing::DEFAULT }
}

fn program(
    id: NodeId,
    members: &Members,
    durable: Option<&program::Computed>,
) -> Result<Node<program::GarciaMolina>, Refusal> {
    let computed = durable.copied().unwrap_or(program::Computed::in_rounds(0, ROUND));
    Ok(Node::new(config(id, members), Some(computed), 0)?)
}

/// The highest halts all others, one by one, and they obey it.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
    use program::Message::{Halt, Halted, NewCoordinator, Noted, Ready, Started};
    let receive = |from, message| Input::Receive { from, message };
    let highest = members.iter().max().filter(|&highest| highest != id);
    if let Some(highest) = highest {
        let calls = [Halt, NewCoordinator, Ready(1)].map(|message| receive(highest, message));
        let inputs = [Input::Boot].into_iter().chain(calls);
        return inputs.map(|input| (Duration::ZERO, input)).collect();
    }
    let quiet = program::Timing::DEFAULT.call;
    let answers = [Halted, Noted, Started].into_iter().flat_map(|answer| {
        let lower = members.below(id).iter().rev();
        lower.map(move |&from| (quiet, receive(from, answer)))
    });
    [(Duration::ZERO, Input::Boot), (quiet, Input::Wake)].into_iter().chain(answers).collect()
}

message_table! {
    fn to_program(spec::Message) -> program::Message; fn to_model;
    AreYouThere = AreYouThere;
    AreYouNormal = AreYouNormal;
    Halt = Halt;
    NewCoordinator = NewCoordinator;
    Ready(number) = Ready(number), number: number.into() => small(number);
    Here = Here;
    // By these rules a process that is normal has a task.
    Normal(task) = Normal(task), task: program_task(task?) => Some(spec_task(task));
    NotNormal = NotNormal;
    Halted = Halted;
    Noted = Noted;
    Started = Started;
}

timer_table! {
    fn timer(program::Timer) -> spec::Timer;
    fn period(id: NodeId, members: &Members) with timing = config(id, members).timing;
    Answer = Answer: timing.call;
    Recovery = Recovery: timing.call;
    Silence = Silence: timing.silence;
    Election = Election: timing.election;
    Check = Check: timing.check;
}

fn believes(id: Id, process: &spec::Process) -> Option<(Role, Option<Id>)> {
    Some(match (process.status, process.coordinator, process.step) {
        (spec::Status::Normal, spec::Coordinator::Myself, _) => (Role::Leader, Some(id)),
        (spec::Status::Normal, spec::Coordinator::Other(leader), _) => {
            (Role::Follower, Some(leader))
        }
        (spec::Status::Normal, spec::Coordinator::Unknown, _) => (Role::Follower, None),
        (_, _, spec::Step::Idle | spec::Step::Probing(_)) => (Role::Waiting, None),
        _ => (Role::Candidate, None),
    })
}

/// Its last check may be as old as the time between two, when a coordinator falls silent.
fn limits(id: NodeId, members: &Members) -> Option<Limits> {
    let program::Timing { call, silence, election, check } = config(id, members).timing;
    let election = silence + call + election;
    let silence = silence.saturating_sub(check);
    Some(Limits { lifetime: call, silence, election, slack: Duration::ZERO })
}

/// No answer to an earlier call comes after either wait, and a process hears its coordinator only
/// when that checks.
fn bounds(id: NodeId, members: &Members) -> Vec<Bound> {
    let config = config(id, members);
    let program::Timing { call, silence, check, .. } = config.timing;
    bounds_of::<program::GarciaMolina, _>(
        &config,
        [
            ("t-call < t-silence", |of| &mut of.timing.call, shorter_than(silence)),
            ("t-election > t-call", |of| &mut of.timing.election, longer_than(call)),
            ("t-silence > t-check", |of| &mut of.timing.silence, longer_than(check)),
            ("t-check > 0", |of| &mut of.timing.check, longer_than(Duration::ZERO)),
            ("t-call > 0", |of| &mut of.timing.call, longer_than(Duration::ZERO)),
        ],
    )
}

fn stable(durable: &program::Computed) -> spec::Tasks {
    spec::Tasks(small(durable.count()))
}

fn messages() -> Vec<spec::Message> {
    use spec::Message::{
        AreYouNormal, AreYouThere, Halt, Halted, Here, NewCoordinator, Normal, NotNormal, Noted,
        Ready, Started,
    };
    let tasks = Id::all(3).flat_map(|by| [1, 2].map(|number| spec::Task { by, number }));
    let mut all = vec![AreYouThere, AreYouNormal, Halt, NewCoordinator, Ready(1), Ready(2)];
    all.extend([Here, NotNormal, Halted, Noted, Started, Normal(None)]);
    all.extend(tasks.map(|task| Normal(Some(task))));
    all
}

/// A task of a stranger is as little that of a node as one of another number.
fn invalid_messages(members: &Members) -> Vec<(program::Message, OnInvalid<spec::GarciaMolina>)> {
    let none = spec::Message::Normal(Some(spec::Task { by: Id::at(0), number: u8::MAX }));
    let tasks = strangers(members)
        .chain(members.iter())
        .map(|coordinator| program::Task { coordinator, number: u64::MAX });
    let tasks = tasks.map(|task| (program::Message::Normal(task), OnInvalid::Like(none)));
    tasks.collect()
}

fn program_task(task: spec::Task) -> program::Task {
    program::Task { coordinator: node_id(task.by), number: task.number.into() }
}

fn spec_task(task: program::Task) -> spec::Task {
    spec::Task { by: known(task.coordinator), number: small(task.number) }
}

fn step(activity: program::Activity) -> spec::Step {
    let id = |node| match process_id(node) {
        Some(id) => id,
        None => unreachable!("only members are called"),
    };
    match activity {
        program::Activity::Restart => spec::Step::Recovering,
        program::Activity::Probe(node) => spec::Step::Probing(id(node)),
        program::Activity::Ask(node) => spec::Step::Asking(id(node)),
        program::Activity::Halt(node) => spec::Step::Halting(id(node)),
        program::Activity::Announce(node) => spec::Step::Announcing(id(node)),
        program::Activity::HandOut(node) => spec::Step::HandingOut(id(node)),
        program::Activity::Check(node) => spec::Step::Checking(id(node)),
    }
}
