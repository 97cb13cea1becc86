//! What a node says of itself when it is asked how it is.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::fitness::Fitness;
use super::guard::LeaseReader;
use super::leaderless::LeaderTimeout;
use super::leadership::LeadershipWatch;
use super::lists::OwnLists;
use crate::config::Current;
use crate::log;
use crate::protocol::Role;
use crate::report::CertificateReport;
use crate::status::{Counters, StatusReport};
use crate::transport::Links;
use crate::transport::frame::Hello;

/// All that the status of a node is made of.
pub(super) struct Reporter<M> {
    pub(super) hello: Hello,
    pub(super) leadership: LeadershipWatch,
    pub(super) leases: LeaseReader,
    pub(super) links: Links<M>,
    pub(super) ignored: Arc<AtomicU64>,
    /// Whether the storage does not answer.
    pub(super) stalled: Arc<AtomicBool>,
    pub(super) fitness: Fitness,
    pub(super) lists: OwnLists,
    pub(super) leader_timeout: LeaderTimeout,
    pub(super) credentials: Current,
    pub(super) start: Instant,
}

impl<M: Send + Sync + 'static> Reporter<M> {
    /// The status of the node at this moment.
    pub(super) fn report(&self) -> StatusReport {
        let now = self.leadership.now();
        let lists = self.lists.now();
        let list = lists.latest();
        let members = self.links.report(&list.observers().collect());
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let stalled = || {
            let stalled = self.stalled.load(Ordering::Relaxed);
            stalled.then(|| "the storage does not answer".to_owned())
        };
        let (hello, own) = (&self.hello, self.links.standings.own());
        let maintenance = || {
            let text = "the cluster is in maintenance: no node runs until it is ended";
            own.maintenance.on.then(|| text.to_owned())
        };
        let isolation = || self.links.isolation(now.role == Role::Leader);
        let observes = list.observes(hello.node);
        let problem = self.lists.problem(hello.node).or_else(isolation).or_else(stalled);
        let problem = problem.or_else(|| self.links.service_problem());
        let waits = self.lists.waits();
        // One that has lost its state is a voter by its list.
        let own_wait = waits.is_some().then_some(hello.node);
        let awaited: BTreeSet<_> = list.awaited().iter().copied().chain(own_wait).collect();
        let leaderless = || self.leader_timeout.problem(&now, &members, (observes, waits));
        let problem = problem.or_else(leaderless);
        let led = now.leader.map(|_| now.since.elapsed());
        let problem = problem.or_else(|| self.lists.problem_of_vote(led?));
        StatusReport {
            cluster: hello.cluster.clone(),
            protocol: hello.protocol.clone(),
            node: hello.node,
            incarnation: Some(hello.incarnation),
            config_epoch: lists.decided.config_epoch(),
            observes,
            role: now.role,
            leader: now.leader,
            epoch: now.epoch,
            lease_ms: self.leases.left().map(milliseconds),
            margin_ms: self.leases.margin().map(milliseconds),
            reason: now.reason.map(|reason| reason.name().to_owned()),
            seq: now.seq,
            uptime_ms: milliseconds(self.start.elapsed()),
            in_role_ms: milliseconds(now.since.elapsed()),
            problem: problem.or_else(|| self.fitness.problem()).or_else(maintenance),
            members,
            counters: Counters {
                attempts: now.attempts,
                refused_handshakes: self.links.refused(),
                bad_frames: self.links.bad_frames(),
                ignored_messages: self.ignored.load(Ordering::Relaxed),
                rivals: now.rivals,
                dropped_log_lines: log::dropped(),
                late_renewals: self.leases.late_renewals(),
            },
            certificates: CertificateReport::all(
                self.credentials.now().expiries(),
                SystemTime::now(),
            ),
            witnesses: list.witnesses().to_vec(),
            awaited: awaited.into_iter().collect(),
            priority: own.priority,
            maintenance: own.maintenance.on,
        }
    }
}
