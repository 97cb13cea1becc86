//! Stoller's election: the recommended rules against the production core.

use super::{
    Bound, Counters, Durations, Events, Logs, Mapping, More, OnInvalid, Probes, bounds_of,
};
use super::{facts_among_equals, known, longer_than, node, node_id, process_id, small, strangers};
use bellwether_bridge::message_table;
use bellwether_bridge::program::Limits;
use bellwether_core::protocol::stoller as program;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Role};
use bellwether_model::protocol::stoller as spec;
use bellwether_model::protocol::{Id, Ids};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type Stoller = (spec::Stoller, Node<program::Stoller>);

/// How a node of Stoller's election reads as a process of [`spec::Stoller`].
///
/// | program                       | model                                           |
/// |-------------------------------|-------------------------------------------------|
/// | not started                   | down                                            |
/// | follower of `l`               | norm, `ldr` is `l`                              |
/// | leader                        | norm, `ldr` is itself                           |
/// | candidate, no node asked       | elec1                                           |
/// | candidate, one asked          | elec2                                           |
/// | waiting                       | wait                                            |
/// | the election, who is down, was asked, gave way | `elid`, `down`, `pendack`, `acks` |
/// | incarnation, elections begun  | `incarnation`, `nextel`                         |
/// | watches `j`                   | Monitor(`j`) is armed                           |
/// | timer Ask                     | Ask                                             |
///
/// The program's numbers have 64 bits, the model's eight; worlds are small enough for eight.
#[must_use]
pub fn mapping() -> Mapping<Stoller> {
    Mapping {
        rules: spec::Stoller::RECOMMENDED,
        program: Arc::new(node::<program::Stoller>(config)),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(abstraction),
        stable: Arc::new(|&durable: &u64| small(durable)),
        believes,
        facts: Arc::new(facts_among_equals::<spec::Stoller>),
        messages: Arc::new(|_| messages()),
        more: More {
            events: Events { detects, ..Events::default() },
            durations: Durations { limits: Arc::new(limits), bounds, ..Durations::default() },
            rebase: Arc::new(rebase),
            counters: Counters {
                began: |_, _| Some(STARTS),
                in_message: |message, _, names| {
                    about(message, |t| program::Elid {
                        incarnation: (names.number)(0, t.incarnation),
                        counter: (names.number)(1, t.counter),
                        owner: (names.node)(t.owner),
                    })
                },
                in_durable: |&durable, names| (names.number)(0, durable),
                from: &[STARTS, 0],
                ..Counters::default()
            },
            probes: Probes { invalid_messages: Arc::new(invalid_messages), ..Probes::default() },
            logs: Logs { any_ids: true, ..Logs::default() },
            ..More::default()
        },
    }
}

/// How often each node has started in a long run: nearly as often as it can.
const STARTS: u64 = u64::MAX - 1_000;

/// The process that a node stands for.
#[must_use]
pub fn abstraction(node: &Node<program::Stoller>) -> spec::Process {
    let Some(core) = node.core() else { return spec::Process::default() };
    let (status, election) = (node.status(), core.election());
    let (status, ldr) = match (status.role, status.leader.and_then(process_id)) {
        (Role::NotStarted, _) => return spec::Process::default(),
        (Role::Follower, Some(leader)) => (spec::Status::Norm, spec::Ldr::Other(leader)),
        (Role::Follower, None) => (spec::Status::Norm, spec::Ldr::None),
        (Role::Leader, _) => (spec::Status::Norm, spec::Ldr::Itself),
        (Role::Candidate, _) if election.asked.is_none() => (spec::Status::Elec1, spec::Ldr::None),
        (Role::Candidate, _) => (spec::Status::Elec2, spec::Ldr::None),
        (Role::Waiting, _) => (spec::Status::Wait, spec::Ldr::None),
    };
    spec::Process {
        status,
        ldr,
        elid: Some(elid(election.elid)),
        down: ids(&election.down),
        acks: ids(&election.gave_way),
        pendack: election.asked.and_then(process_id),
        incarnation: small(election.incarnation),
        nextel: small(election.begun),
        plays_dead: false,
    }
}

/// The configuration of a node.
#[must_use]
pub fn config(id: NodeId, members: &Members) -> program::Config {
    let ask = Duration::from_millis(100);
    program::Config { id, members: members.clone(), ask }
}

/// Starts the node. The highest halts all others, who give way; the others are halted and told.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
    let Some(highest) = members.iter().max() else { return Vec::new() };
    let elid = program::Elid { owner: highest, incarnation: 1, counter: 0 };
    let from = |from, message| Input::Receive { from, message };
    let then: Vec<_> = if id == highest {
        let lower = members.below(id).iter().rev();
        lower.map(|&node| from(node, program::Message::Ack(elid))).collect()
    } else {
        [program::Message::Halt(elid), program::Message::Ldr(elid)]
            .map(|message| from(highest, message))
            .to_vec()
    };
    let inputs = std::iter::once(Input::Boot).chain(then);
    inputs.map(|input| (Duration::ZERO, input)).collect()
}

message_table! {
    fn to_program(spec::Message) -> program::Message; fn to_model;
    Halt(t) = Halt(t), t: program_elid(t) => elid(t);
    Ack(t) = Ack(t), t: program_elid(t) => elid(t);
    Ldr(t) = Ldr(t), t: program_elid(t) => elid(t);
    NormQ(t) = NormQ(t), t: program_elid(t) => elid(t);
    NotNorm(t) = NotNorm(t), t: program_elid(t) => elid(t);
    // Other variants' answers to a HALT, and what other detectors see.
    _ { spec::Message::Rej(_)
        | spec::Message::Restarted
        | spec::Message::HasLeader(_)
        | spec::Message::IsLeader(_)
        | spec::Message::NotLeader(_) }
}

fn timer(timer: program::Timer) -> spec::Timer {
    match timer {
        program::Timer::Ask => spec::Timer::Ask,
    }
}

/// A failure detector takes what time it does.
fn period(id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
    match timer {
        spec::Timer::Ask => Some(config(id, members).ask),
        spec::Timer::Monitor(_) => None,
    }
}

fn detects(timer: spec::Timer) -> Option<NodeId> {
    match timer {
        spec::Timer::Monitor(id) => Some(node_id(id)),
        spec::Timer::Ask => None,
    }
}

fn believes(id: Id, process: &spec::Process) -> Option<(Role, Option<Id>)> {
    Some(match (process.status, process.ldr) {
        (spec::Status::Norm, spec::Ldr::Itself) => (Role::Leader, Some(id)),
        (spec::Status::Norm, spec::Ldr::Other(leader)) => (Role::Follower, Some(leader)),
        (spec::Status::Norm, spec::Ldr::None) => (Role::Follower, None),
        (spec::Status::Elec1 | spec::Status::Elec2, _) => (Role::Candidate, None),
        (spec::Status::Wait, _) => (Role::Waiting, None),
    })
}

/// A candidate and a leader ask again after that time.
fn limits(id: NodeId, members: &Members) -> Option<Limits> {
    let ask = config(id, members).ask;
    Some(Limits { lifetime: ask, silence: ask, election: ask * 4, slack: Duration::ZERO })
}

fn bounds(id: NodeId, members: &Members) -> Vec<Bound> {
    bounds_of::<program::Stoller, _>(
        &config(id, members),
        [("t-ask > 0", |of| &mut of.ask, longer_than(Duration::ZERO))],
    )
}

fn rebase(node: &Node<program::Stoller>, process: spec::Process) -> spec::Process {
    let Some(core) = node.core() else { return process };
    let program::Election { elid: of, incarnation, .. } = core.election();
    let lowered = |number: u64| number.saturating_sub(STARTS);
    let of = program::Elid { incarnation: lowered(of.incarnation), ..of };
    let incarnation = small(lowered(incarnation));
    spec::Process { elid: Some(elid(of)), incarnation, ..process }
}

/// Each kind, of the elections that a small world knows, and of one that no node started.
fn messages() -> Vec<spec::Message> {
    use spec::Message::{Ack, Halt, HasLeader, IsLeader, Ldr, NormQ, NotLeader, NotNorm, Rej};
    let kinds = [Halt, Ack, Rej, Ldr, NormQ, NotNorm, HasLeader, IsLeader, NotLeader];
    let numbers = [(1, 0), (1, 1), (2, 0), (9, 9)];
    let elids = Id::all(3).flat_map(|owner| {
        numbers.map(|(incarnation, counter)| spec::Elid { owner, incarnation, counter })
    });
    let named = elids.flat_map(|elid| kinds.map(|kind| kind(elid)));
    named.chain([spec::Message::Restarted]).collect()
}

fn invalid_messages(members: &Members) -> Vec<(program::Message, OnInvalid<spec::Stoller>)> {
    use program::Message::{Ack, Halt, Ldr, NormQ, NotNorm};
    let elid = |owner| program::Elid { owner, incarnation: u64::MAX, counter: u64::MAX };
    let kinds = [Halt, Ack, Ldr, NormQ, NotNorm];
    let strange = strangers(members).map(elid).flat_map(|elid| {
        kinds.map(|kind| match kind(elid) {
            it @ (Ack(_) | NotNorm(_)) => (it, OnInvalid::Ignored("other_election")),
            it => (it, OnInvalid::Ignored("wrong_direction")),
        })
    });
    let late = members.iter().map(elid).flat_map(|elid| kinds.map(|kind| kind(elid)));
    strange.chain(late.map(|it| (it, OnInvalid::Like(to_model(it))))).collect()
}

/// The same message about another election.
fn about(
    message: program::Message,
    other: impl FnOnce(program::Elid) -> program::Elid,
) -> program::Message {
    use program::Message::{Ack, Halt, Ldr, NormQ, NotNorm};
    match message {
        Halt(t) => Halt(other(t)),
        Ack(t) => Ack(other(t)),
        Ldr(t) => Ldr(other(t)),
        NormQ(t) => NormQ(other(t)),
        NotNorm(t) => NotNorm(other(t)),
    }
}

fn program_elid(t: spec::Elid) -> program::Elid {
    let (incarnation, counter) = (t.incarnation.into(), t.counter.into());
    program::Elid { owner: node_id(t.owner), incarnation, counter }
}

fn elid(t: program::Elid) -> spec::Elid {
    let owner = known(t.owner);
    spec::Elid { owner, incarnation: small(t.incarnation), counter: small(t.counter) }
}

fn ids(nodes: &BTreeSet<NodeId>) -> Ids {
    nodes.iter().filter_map(|&node| process_id(node)).collect()
}
