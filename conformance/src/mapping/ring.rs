//! The parts that the mappings of protocols on a ring share: all but the messages that go round.
//!
//! | program                                  | model                            |
//! |------------------------------------------|----------------------------------|
//! | not started                              | down                             |
//! | follower of `l`                          | follower, leader `l`             |
//! | candidate, waiting                       | the same, without a leader       |
//! | leader                                   | leader, leader is itself         |
//! | what is not acknowledged, and who should | the outbox, in the same order    |
//! | timers Hop, Lap, Watch, Heartbeat        | Hop, Lap, Watch, Heartbeat       |
//!
//! A node remembers nothing besides these.

use super::{
    Bound, Counters, Durations, Logs, Mapping, More, OnInvalid, Probes, Renaming, bounds_of,
    facts_among_equals, known, longer_than, node, node_id, process_id, unkept,
};
use bellwether_bridge::program::Limits;
use bellwether_bridge::timer_table;
use bellwether_core::protocol::ring::{self, Config, Timing};
use bellwether_core::protocol::{Core, Input, Members, Node, NodeId, Nothing, Role};
use bellwether_model::protocol::ring as spec;
use bellwether_model::protocol::ring::{Lap, Process, Rounds, Timer};
use bellwether_model::protocol::{Id, Protocol as Specification};
use std::sync::Arc;
use std::time::Duration;

/// The inputs that lead a node into a group, each with its moment.
pub(super) type Script<M> = Vec<(Duration, Input<M>)>;

/// Messages that are not acknowledged, each with the member that should.
type Kept<M> = [(NodeId, M)];

/// A function that renames what stands in a message.
type Rename<M> = fn(M, bool, &mut Renaming<'_>) -> M;

/// The messages of one protocol on a ring.
pub(super) struct Messages<S: Specification, C: Core> {
    pub(super) settle: fn(NodeId, &Members) -> Script<C::Message>,
    pub(super) to_program: fn(S::Message) -> Option<C::Message>,
    pub(super) to_model: fn(C::Message) -> S::Message,
    pub(super) unacknowledged: fn(&C) -> &Kept<C::Message>,
    pub(super) all: fn(usize) -> Vec<S::Message>,
    /// The messages about nodes that are no members.
    pub(super) strange: fn(&Members) -> Vec<C::Message>,
    /// The function that renames the nodes of a message, if it reaches each.
    pub(super) rename: Option<Rename<C::Message>>,
}

/// The mapping of a protocol on a ring by these rules.
pub(super) fn mapping<S, C, M>(rules: S, messages: &Messages<S, C>) -> Mapping<(S, Node<C>)>
where
    M: Rounds + Send + Sync + 'static,
    S: Specification<Process = Process<M>, Stable = (), Message = M, Timer = Timer>,
    C: Core<Config = Config, Durable = Nothing, Timer = ring::Timer>,
    C::Message: Copy,
{
    let &Messages { settle, to_program, to_model, unacknowledged, all, strange, rename } = messages;
    let unknown = OnInvalid::Ignored("unknown_id");
    Mapping {
        rules,
        program: Arc::new(node::<C>(config)),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(move |message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(move |node: &Node<C>| process(node, unacknowledged, to_model)),
        stable: Arc::new(unkept),
        believes: |_, process| Some(believes(process)),
        facts: Arc::new(facts_among_equals::<S>),
        messages: Arc::new(all),
        more: More {
            durations: Durations {
                limits: Arc::new(|id, members: &Members| Some(limits(id, members))),
                bounds: bounds::<C>,
                ..Durations::default()
            },
            probes: Probes {
                invalid_messages: Arc::new(move |members: &Members| {
                    let all = strange(members).into_iter();
                    all.map(|message| (message, unknown)).collect::<Vec<_>>()
                }),
                ..Probes::default()
            },
            counters: Counters {
                in_message: rename.unwrap_or(|message, _, _| message),
                ..Counters::default()
            },
            logs: Logs { any_ids: rename.is_some(), ..Logs::default() },
            ..More::default()
        },
    }
}

/// The process that a node stands for.
fn process<C: Core<Message: Copy>, M: Rounds>(
    node: &Node<C>,
    unacknowledged: fn(&C) -> &Kept<C::Message>,
    to_model: fn(C::Message) -> M,
) -> Process<M> {
    let Some(core) = node.core() else { return Process::default() };
    let status = node.status();
    let role = match status.role {
        Role::NotStarted => return Process::default(),
        Role::Follower => spec::Role::Follower,
        Role::Candidate => spec::Role::Candidate,
        Role::Waiting => spec::Role::Waiting,
        Role::Leader => spec::Role::Leader,
    };
    let outbox =
        unacknowledged(core).iter().map(|&(to, message)| (to_model(message), known(to))).collect();
    Process { role, leader: status.leader.and_then(process_id), outbox }
}

/// Returns what a node tells that stands for this process.
fn believes<M: Rounds>(process: &Process<M>) -> (Role, Option<Id>) {
    let role = match process.role {
        spec::Role::Follower => Role::Follower,
        spec::Role::Candidate => Role::Candidate,
        spec::Role::Waiting => Role::Waiting,
        spec::Role::Leader => Role::Leader,
    };
    (role, process.leader)
}

/// The configuration of a node. The time-outs are the default ones, but each is different.
#[must_use]
pub fn config(id: NodeId, members: &Members) -> Config {
    let timing = Timing { lap: Duration::from_millis(1_300), ..Timing::DEFAULT };
    Config { id, members: members.clone(), timing }
}

timer_table! {
    fn timer(ring::Timer) -> Timer;
    fn period(id: NodeId, members: &Members) with timing = config(id, members).timing;
    Hop = Hop: timing.hop;
    Lap = Lap: timing.lap;
    Watch = Watch: timing.watch;
    Heartbeat = Heartbeat: timing.heartbeat;
}

/// Returns the limits: a message that is not acknowledged in time goes to another member. A claim
/// may be as old as a heartbeat when a leader falls silent.
fn limits(id: NodeId, members: &Members) -> Limits {
    let Timing { hop, lap, watch, heartbeat } = config(id, members).timing;
    let silence = watch.saturating_sub(heartbeat);
    Limits { lifetime: hop, silence, election: watch + lap, slack: Duration::ZERO }
}

/// All but a hop takes longer than it takes to skip all members, and one claim may be lost.
fn bounds<C: Core<Config = Config>>(id: NodeId, members: &Members) -> Vec<Bound> {
    let config = config(id, members);
    let Timing { hop, heartbeat, .. } = config.timing;
    let round: Duration = members.iter().map(|_| hop).sum();
    bounds_of::<C, _>(
        &config,
        [
            ("t-heartbeat > n t-hop", |of| &mut of.timing.heartbeat, longer_than(round)),
            ("t-lap > n t-hop", |of| &mut of.timing.lap, longer_than(round)),
            ("t-detect > 2 t-heartbeat", |of| &mut of.timing.watch, longer_than(heartbeat * 2)),
            ("t-hop > 0", |of| &mut of.timing.hop, longer_than(Duration::ZERO)),
        ],
    )
}

pub(super) fn lap_to_program(lap: Lap) -> ring::Lap {
    match lap {
        Lap::Election(id) => ring::Lap::Election(node_id(id)),
        Lap::Coordinator(id) => ring::Lap::Coordinator(node_id(id)),
    }
}

pub(super) fn lap_to_model(lap: ring::Lap) -> Lap {
    match lap {
        ring::Lap::Election(id) => Lap::Election(known(id)),
        ring::Lap::Coordinator(id) => Lap::Coordinator(known(id)),
    }
}
