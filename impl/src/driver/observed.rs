//! What people see of a node in one election: status, metrics, problems, events and history are read
//! from here.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;
use tokio::time::timeout;

use super::guard::NodeLease;
use super::leader_alarm::{Eligibility, Situation, explain, own_cause};
use super::leadership::{History, Leadership, LeadershipWatch};
use super::lists::MembershipChange;
use super::standing::IN_MAINTENANCE;
use crate::config::{Credentials, Current, Expiry};
use crate::lock::lock;
use crate::log;
use crate::protocol::quorum::WaitsToVote;
use crate::protocol::{NodeId, Role};
use crate::report::{
    CertificateReport, Counters, LinkMeasurements, Measurements, MemberReport, StatusReport,
    StorageMeasurements, StoreView,
};
use crate::transport::Links;
use crate::transport::frame::Hello;

/// What the loop around a node and its handles share for those that look.
pub(super) struct Observed {
    pub(super) hello: Hello,
    pub(super) start: Instant,
    pub(super) leadership: LeadershipWatch,
    pub(super) history: History,
    pub(super) leases: Arc<NodeLease>,
    pub(super) lists: MembershipChange,
    pub(super) eligibility: Eligibility,
    /// Whether the node does not stand for election because of maintenance.
    pub(super) maintained: AtomicBool,
    /// How long the node may be without a leader before that is a problem.
    pub(super) longest_leaderless: Duration,
    /// Whether a leader needs a majority of the voters.
    pub(super) majority: bool,
    pub(super) ignored: AtomicU64,
    /// Whether the storage does not answer.
    pub(super) stalled: AtomicBool,
    pub(super) syncs: Arc<SyncTimes>,
    /// The store that is no member, if the node asks one.
    pub(super) store: Option<watch::Receiver<StoreView>>,
    pub(super) credentials: Current,
}

impl Observed {
    /// Returns the status of the node, which has these links, at this moment.
    pub(super) fn report<M>(&self, links: &Links<M>) -> StatusReport {
        let now = self.leadership.now();
        let lists = self.lists.now();
        let list = lists.latest();
        let members = links.report(&list.observers().collect());
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (hello, own) = (&self.hello, links.cluster.own());
        let observes = list.observes(hello.node);
        let store = self.store();
        let waits = self.lists.waits();
        // One that has lost its state is a voter by its list.
        let own_wait = waits.is_some().then_some(hello.node);
        let awaited: BTreeSet<_> = list.awaited().iter().copied().chain(own_wait).collect();
        let isolation = || links.isolation(now.role == Role::Leader);
        let stalled = || {
            let stalled = self.stalled.load(Ordering::Relaxed);
            stalled.then(|| "the storage does not answer".to_owned())
        };
        let maintenance = || own.maintenance.on.then(|| IN_MAINTENANCE.to_owned());
        let problem = self.lists.problem(hello.node).or_else(isolation).or_else(stalled);
        let problem = problem
            .or_else(|| store.as_ref()?.problem.clone())
            .or_else(|| self.leader_problem(&now, &members, observes, waits))
            .or_else(|| self.lists.problem_of_vote(now.leader.map(|_| now.since.elapsed())?))
            .or_else(|| self.eligibility.problem())
            .or_else(maintenance);
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
            problem,
            members,
            counters: Counters {
                attempts: now.attempts,
                refused_handshakes: links.refused(),
                bad_frames: links.bad_frames(),
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

    /// Returns why the node has no leader, if it has known none for too long, and these are the
    /// other members. It may only observe itself, and wait to vote if it is to.
    fn leader_problem(
        &self,
        now: &Leadership,
        members: &[MemberReport],
        observes: bool,
        waits: Option<WaitsToVote>,
    ) -> Option<String> {
        let time = now.without_leader().filter(|&time| time >= self.longest_leaderless)?;
        let own = own_cause(now.reason, waits, self.eligibility.unfit(self.leases.now()));
        Some(explain(&Situation { time, majority: self.majority, observes, own, members }))
    }

    /// Says so in the log when the node has no leader for too long, and when it has one again.
    /// Returns when the node has stopped taking part.
    pub(super) async fn watch_leader(
        &self,
        report: &(dyn Fn() -> StatusReport + Send + Sync),
    ) -> Option<()> {
        let (node, mut leadership) = (self.hello.node.get(), self.leadership.clone());
        loop {
            let Some(time) = leadership.seen().without_leader() else {
                leadership.changed().await?;
                continue;
            };
            let left = self.longest_leaderless.saturating_sub(time);
            if !left.is_zero() {
                if let Ok(change) = timeout(left, leadership.changed()).await {
                    change?;
                }
                continue;
            }
            let (report, now) = (report(), leadership.now());
            let waits = self.lists.waits();
            let problem = self.leader_problem(&now, &report.members, report.observes, waits);
            problem.inspect(|problem| tracing::warn!(node, "{problem}"));
            let led = leadership.wait_for(|now| now.leader.is_some()).await?;
            let leader = led.leader.map(NodeId::get);
            tracing::info!(node, leader, "there is a leader again");
        }
    }

    /// Returns for how long the node was asked not to stand for election.
    pub(super) fn frozen(&self) -> Duration {
        self.eligibility.frozen(self.leases.now())
    }

    /// Returns how the store is that the node asks, if it asks one that is no member.
    pub(super) fn store(&self) -> Option<StoreView> {
        self.store.as_ref().map(|store| store.borrow().clone())
    }

    /// Returns what is measured at this moment, besides these measurements of its links.
    pub(super) fn measurements(&self, links: Vec<LinkMeasurements>) -> Measurements {
        let store_connected = self.store.as_ref().map(|store| store.borrow().up);
        Measurements { links, storage: self.syncs.read(), frozen: self.frozen(), store_connected }
    }
}

/// How long writes to the storage take until they are durable.
#[derive(Debug, Default)]
pub(super) struct SyncTimes(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// When the write under way began.
    began: Option<Instant>,
    /// When the latest write was done.
    done: Option<Instant>,
    /// How long the latest one took, whether it was done or has failed.
    last: Option<Duration>,
    longest: Duration,
    count: u64,
}

impl SyncTimes {
    /// Lets the storage write, and returns what it says.
    pub(super) fn measure<E>(&self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let began = Instant::now();
        lock(&self.0).began = Some(began);
        let result = write();
        let done = Instant::now();
        let took = done - began;
        let mut times = lock(&self.0);
        (times.began, times.last) = (None, Some(took));
        times.longest = times.longest.max(took);
        if result.is_ok() {
            times.done = Some(done);
            times.count += 1;
        }
        result
    }

    /// What was measured; none if nothing was written.
    fn read(&self) -> Option<StorageMeasurements> {
        let times = lock(&self.0);
        let under_way = times.began.map(|began| began.elapsed());
        // None is less than any time.
        let last = times.last.max(under_way)?;
        Some(StorageMeasurements {
            syncs: times.count,
            last,
            longest: times.longest.max(last),
            age: times.done.map(|done| done.elapsed()),
        })
    }
}

/// How long between two looks at the wall clock, at most: it can be set, and the time that a task
/// waits for does not go on while the machine sleeps.
const LOOK: Duration = Duration::from_secs(60 * 60);

/// Logs which certificates have expired or will soon: now, whenever they are replaced, and when one
/// comes nearer to its end. Returns when they can be replaced no more.
pub(super) async fn watch_expiries(node: NodeId, mut credentials: watch::Receiver<Credentials>) {
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
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::config::CertificateUse;
    use crate::transport::tests::hello;

    impl Observed {
        /// What is seen of node 1, of which the tests write the rest.
        pub(in crate::driver) fn of(
            leadership: LeadershipWatch,
            history: History,
            leases: Arc<NodeLease>,
        ) -> Arc<Self> {
            Arc::new(Self {
                hello: Hello { incarnation: 1, ..hello(1) },
                start: Instant::now(),
                leadership,
                history,
                leases,
                lists: MembershipChange::default(),
                eligibility: Eligibility::default(),
                maintained: AtomicBool::default(),
                longest_leaderless: Duration::from_secs(1),
                majority: true,
                ignored: AtomicU64::default(),
                stalled: AtomicBool::default(),
                syncs: Arc::default(),
                store: None,
                credentials: Current::new(Credentials::none()),
            })
        }
    }

    const MS: Duration = Duration::from_millis(1);

    fn take(time: Duration) -> Result<(), ()> {
        thread::sleep(time);
        Ok(())
    }

    #[test]
    fn the_times_of_writes_are_the_latest_and_the_longest() {
        let times = SyncTimes::default();
        assert_eq!(times.read(), None);
        assert_eq!(times.measure(|| take(60 * MS)), Ok(()));
        assert_eq!(times.measure(|| take(MS)), Ok(()));
        let began = Instant::now();
        assert_eq!(times.measure(|| Err("the disk is full")), Err("the disk is full"));
        let took = began.elapsed();
        let read = times.read().expect("something was written");
        assert_eq!(read.syncs, 2, "the third has failed");
        assert!(read.longest >= 60 * MS, "{read:?}");
        assert!(read.last <= took, "{read:?}, not {took:?}");
        assert!(read.age.is_some(), "{read:?}");
    }

    #[test]
    fn a_write_that_does_not_end_is_seen_while_it_lasts() {
        let times = Arc::new(SyncTimes::default());
        let (begins, begun) = channel();
        let (end, ends) = channel::<()>();
        let theirs = Arc::clone(&times);
        let write = thread::spawn(move || {
            theirs.measure(|| {
                begins.send(()).expect("the test waits");
                ends.recv()
            })
        });
        begun.recv().expect("it begins");
        thread::sleep(50 * MS);
        let read = times.read().expect("it has begun");
        assert!(read.last >= 50 * MS && read.longest >= read.last, "{read:?}");
        assert_eq!((read.syncs, read.age), (0, None));
        end.send(()).expect("it waits");
        assert!(write.join().expect("no panic").is_ok());
        assert_eq!(times.read().expect("it is done").syncs, 1);
    }

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
