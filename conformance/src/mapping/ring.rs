//! What the mappings of protocols on a ring share: all but the messages that go round.
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

use super::{Bound, bounds_of, longer_than, node_id, process_id};
use bellwether_bridge::program::Limits;
use bellwether_core::protocol::ring::{self, Config, Timing};
use bellwether_core::protocol::{Core, Members, NodeId, Role, Status};
use bellwether_model::protocol::ring as spec;
use bellwether_model::protocol::ring::{Lap, Process, Rounds, Timer};
use bellwether_model::protocol::{Id, MAX_SEARCHED};
use std::time::Duration;

/// The process that a node stands for that tells this of itself, and keeps that.
pub(super) fn process<P: Copy, M: Rounds>(
    status: Status,
    kept: &[(NodeId, P)],
    to_model: impl Fn(P) -> M,
) -> Process<M> {
    let role = match status.role {
        Role::NotStarted => return Process::default(),
        Role::Follower => spec::Role::Follower,
        Role::Candidate => spec::Role::Candidate,
        Role::Waiting => spec::Role::Waiting,
        Role::Leader => spec::Role::Leader,
    };
    let outbox = kept.iter().map(|&(to, message)| (to_model(message), known(to))).collect();
    Process { role, leader: status.leader.and_then(process_id), outbox }
}

/// What a node tells that stands for this process.
pub(super) fn believes<M: Rounds>(process: &Process<M>) -> (Role, Option<Id>) {
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

/// How long a timer takes by that.
pub(super) fn period(id: NodeId, members: &Members, timer: Timer) -> Duration {
    let timing = config(id, members).timing;
    match timer {
        Timer::Hop => timing.hop,
        Timer::Lap => timing.lap,
        Timer::Watch => timing.watch,
        Timer::Heartbeat => timing.heartbeat,
    }
}

/// What is not acknowledged in time was handed to another member. A claim may be as old as a
/// heartbeat when a leader falls silent.
pub(super) fn limits(id: NodeId, members: &Members) -> Limits {
    let Timing { hop, lap, watch, heartbeat } = config(id, members).timing;
    let silence = watch.saturating_sub(heartbeat);
    Limits { lifetime: hop, silence, election: watch + lap, slack: Duration::ZERO }
}

/// All but a hop takes longer than it takes to skip all members, and one claim may be lost.
pub(super) fn bounds<C: Core<Config = Config>>(id: NodeId, members: &Members) -> Vec<Bound> {
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

pub(super) fn timer_to_model(timer: ring::Timer) -> Timer {
    match timer {
        ring::Timer::Hop => Timer::Hop,
        ring::Timer::Lap => Timer::Lap,
        ring::Timer::Watch => Timer::Watch,
        ring::Timer::Heartbeat => Timer::Heartbeat,
    }
}

/// The process with this id. Messages name members only, and each member is a process; a message
/// that named a node with a larger id than any has would be told as naming the largest that can be
/// compared.
pub(super) fn known(id: NodeId) -> Id {
    process_id(id).unwrap_or(Id::at(MAX_SEARCHED - 1))
}
