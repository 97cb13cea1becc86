//! The bully: the recommended rules against the production core.

use super::{Bound, Durations, ExpectedFacts, Logs, Mapping, More, ProcessView, Waits};
use super::{bounds_of, longer_than, node, process_id};
use bellwether_bridge::program::Limits;
use bellwether_bridge::{message_table, timer_table};
use bellwether_core::protocol::bully as program;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Nothing, Role, Status};
use bellwether_model::protocol::{Id, Ids, MAX_NODES, bully as spec};
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type Bully = (spec::Bully, Node<program::Bully>);

/// How a node of the bully reads as a process of [`spec::Bully`].
///
/// | program                 | model                                         |
/// |-------------------------|-----------------------------------------------|
/// | not started             | down                                          |
/// | follower of `l`         | follower, leader `l`                          |
/// | candidate, waiting      | the same, without a leader                    |
/// | leader                  | leader, leader is itself                      |
/// | timers Elec, Coord, Watch, Beat | Election, Coordinator, Watch, Heartbeat |
///
/// A node remembers nothing besides its role, its leader and its one armed timer.
#[must_use]
pub fn mapping() -> Mapping<Bully> {
    Mapping {
        rules: spec::Bully::RECOMMENDED,
        program: Arc::new(node::<program::Bully>(config)),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(|node: &Node<program::Bully>| abstraction(node.status())),
        stable: Arc::new(stable),
        believes,
        facts: Arc::new(facts),
        messages: Arc::new(|_| messages()),
        more: More {
            durations: Durations {
                limits: Arc::new(|id, members: &Members| Some(durations(id, members))),
                bounds,
                ..Durations::default()
            },
            logs: Logs { any_ids: true, members: MAX_NODES, ..Logs::default() },
            ..More::default()
        },
    }
}

/// The process that a node with this status stands for.
#[must_use]
pub fn abstraction(status: Status) -> spec::Process {
    let role = match status.role {
        Role::NotStarted => return spec::Process::default(),
        Role::Follower => spec::Role::Follower,
        Role::Candidate => spec::Role::Candidate,
        Role::Waiting => spec::Role::Waiting,
        Role::Leader => spec::Role::Leader,
    };
    spec::Process { role, leader: status.leader.and_then(process_id), work: None }
}

/// The leader that a process remembers: the program keeps none.
fn stable(durable: &Nothing) -> Option<Id> {
    match *durable {}
}

/// The configuration of a node. The time-outs are the default ones, which are different.
#[must_use]
pub fn config(id: NodeId, members: &Members) -> program::Config {
    program::Config { id, members: members.clone(), timing: program::Timing::DEFAULT }
}

/// The nodes that a process waits for. All others may still send something, but its timer runs
/// for these.
#[must_use]
pub fn waits_for(id: Id, nodes: usize, process: &spec::Process) -> Option<(spec::Timer, Ids)> {
    let higher = Id::all(nodes).filter(|&other| other > id).collect();
    Some(match process.role {
        spec::Role::Follower => (spec::Timer::Watch, process.leader.into_iter().collect()),
        spec::Role::Candidate => (spec::Timer::Election, higher),
        spec::Role::Waiting => (spec::Timer::Coordinator, higher),
        // The second is another variant's way to restart.
        spec::Role::Leader | spec::Role::Asking => return None,
    })
}

/// A follower misses a leader that is silent when its watch ends: the last claim may be as old
/// as the heartbeat. An answer that a candidate does not wait for any more is worth nothing.
#[must_use]
pub fn durations(id: NodeId, members: &Members) -> Limits {
    let program::Timing { election, coordinator, watch, heartbeat } = config(id, members).timing;
    let silence = watch.saturating_sub(heartbeat);
    let all = watch + election + coordinator;
    Limits { lifetime: election, silence, election: all, slack: Duration::ZERO }
}

/// Starts the node, which hears that the highest leads.
pub(super) fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
    let highest = members.iter().max().filter(|&highest| highest != id);
    let claim = |from| Input::Receive { from, message: program::Message::Coordinator };
    let inputs = std::iter::once(Input::Boot).chain(highest.map(claim));
    inputs.map(|input| (Duration::ZERO, input)).collect()
}

message_table! {
    pub(super) fn to_program(spec::Message) -> program::Message; fn to_model;
    Election = Election;
    Ok = Ok;
    Coordinator = Coordinator;
    // Other variants' ways to restart, and to hand over the work.
    _ {
        spec::Message::ImBack
            | spec::Message::WhoLeads
            | spec::Message::Ack
            | spec::Message::State
    }
}

timer_table! {
    pub(super) fn timer(program::Timer) -> spec::Timer;
    fn period(id: NodeId, members: &Members) with timing = config(id, members).timing;
    Election = Election: timing.election;
    Coordinator = Coordinator: timing.coordinator;
    Watch = Watch: timing.watch;
    Heartbeat = Heartbeat: timing.heartbeat;
    // Another variant's way to restart.
    _ { spec::Timer::Answer }
}

pub(super) fn believes(_: Id, process: &spec::Process) -> Option<(Role, Option<Id>)> {
    let role = match process.role {
        spec::Role::Follower => Role::Follower,
        spec::Role::Candidate => Role::Candidate,
        spec::Role::Waiting => Role::Waiting,
        spec::Role::Leader => Role::Leader,
        // Another variant's way to restart.
        spec::Role::Asking => return None,
    };
    Some((role, process.leader))
}

fn facts(of: &ProcessView<'_, spec::Bully>) -> Option<ExpectedFacts<spec::Bully>> {
    let waits = waits_for(of.id, of.nodes, of.process);
    let waits_for = waits.map_or(Waits::Nothing, |(timer, nodes)| Waits::For(timer, nodes));
    Some(ExpectedFacts { waits_for, ..ExpectedFacts::among_equals(of.nodes) })
}

/// A process that had an OK waits for a whole election of another, and one claim may be lost.
fn bounds(id: NodeId, members: &Members) -> Vec<Bound> {
    let config = config(id, members);
    let program::Timing { election, heartbeat, .. } = config.timing;
    bounds_of::<program::Bully, _>(
        &config,
        [
            ("t-coord > t-elec", |of| &mut of.timing.coordinator, longer_than(election)),
            ("t-detect > 2 t-heartbeat", |of| &mut of.timing.watch, longer_than(heartbeat * 2)),
            ("t-heartbeat > 0", |of| &mut of.timing.heartbeat, longer_than(Duration::ZERO)),
            ("t-elec > 0", |of| &mut of.timing.election, longer_than(Duration::ZERO)),
        ],
    )
}

pub(super) fn messages() -> Vec<spec::Message> {
    use spec::Message::{Ack, Coordinator, Election, ImBack, Ok, State, WhoLeads};
    vec![Election, Ok, Coordinator, ImBack, WhoLeads, Ack, State]
}
