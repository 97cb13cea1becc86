//! The answer of a node that is asked how it is, and its log of certificates that expire soon.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch::Receiver;

use super::fitness::Fitness;
use super::guard::LeaseReader;
use super::leaderless::LeaderTimeout;
use super::leadership::LeadershipWatch;
use super::lists::OwnLists;
use crate::config::{Credentials, Current, Expiry};
use crate::log;
use crate::protocol::{NodeId, Role};
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
        let store = self.links.store_view();
        let problem = problem.or_else(|| store.as_ref()?.problem.clone());
        let waits = self.lists.waits();
        // One that has lost its state is a voter by its list.
        let own_wait = waits.is_some().then_some(hello.node);
        let awaited: BTreeSet<_> = list.awaited().iter().copied().chain(own_wait).collect();
        let leaderless = || self.leader_timeout.problem(&now, &members, observes, waits);
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
                store_regressions: store.as_ref().map_or(0, |store| store.regressions),
            },
            certificates: CertificateReport::all(
                self.credentials.now().expiries(),
                SystemTime::now(),
            ),
            witnesses: list.witnesses().to_vec(),
            awaited: awaited.into_iter().collect(),
            priority: own.priority,
            maintenance: own.maintenance.on,
            holder: store.and_then(|store| Some(store.holder?.name().to_owned())),
        }
    }
}

/// How long between two looks at the wall clock, at most: it can be set, and the time that a task
/// waits for does not go on while the machine sleeps.
const LOOK: Duration = Duration::from_secs(60 * 60);

/// Logs which certificates have expired or will soon: now, whenever they are replaced, and when one
/// comes nearer to its end. Returns when they can be replaced no more.
pub(super) async fn watch_expiries(node: NodeId, mut credentials: Receiver<Credentials>) {
    loop {
        let expiries = credentials.borrow_and_update().expiries().to_vec();
        let mut seen = SystemTime::now();
        expiries.iter().for_each(|expiry| log_expiry(node, expiry, seen));
        loop {
            tokio::select! {
                changed = credentials.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                () = tokio::time::sleep(until_next(&expiries, seen)) => {}
            }
            let now = SystemTime::now();
            let news = expiries.iter().filter(|expiry| expiry.is_news(seen, now));
            news.for_each(|expiry| log_expiry(node, expiry, now));
            seen = now;
        }
    }
}

/// How long to wait before there may be more to be said.
fn until_next(expiries: &[Expiry], now: SystemTime) -> Duration {
    let next = expiries.iter().filter_map(|expiry| expiry.next(now)).min();
    let left = next.and_then(|next| next.duration_since(now).ok());
    left.map_or(LOOK, |left| LOOK.min(left + Duration::from_millis(1)))
}

/// Logs what there is to be said of a certificate.
fn log_expiry(node: NodeId, expiry: &Expiry, now: SystemTime) {
    let Some(text) = expiry.warning(now) else { return };
    let (node, certificate) = (node.get(), expiry.which.name());
    let (file, days_left) = (expiry.file.display(), expiry.days_left(now));
    if expiry.is_over(now) {
        tracing::error!(node, certificate, %file, days_left, "{text}");
    } else {
        tracing::warn!(node, certificate, %file, days_left, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CertificateUse;

    #[test]
    fn it_is_looked_at_when_there_is_news_and_every_hour() {
        let now = SystemTime::now();
        let expiry = |left| Expiry {
            which: CertificateUse::Http,
            file: "http.pem".into(),
            number: 1,
            not_after: now + left,
        };
        let wait = |lefts: &[Duration]| {
            let expiries: Vec<_> = lefts.iter().copied().map(expiry).collect();
            until_next(&expiries, now)
        };
        let (second, day) = (Duration::from_secs(1), LOOK * 24);
        let moment = Duration::from_millis(1);
        assert_eq!(wait(&[]), LOOK);
        assert_eq!(wait(&[day * 90]), LOOK);
        assert_eq!(wait(&[day * 90, day * 7 + second * 5]), second * 5 + moment);
        assert_eq!(wait(&[second * 3, day * 7 + second * 5]), second * 3 + moment);
        assert_eq!(wait(&[Duration::ZERO]), moment);
    }
}
