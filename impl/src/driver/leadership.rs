//! Which node leads, as one node sees it: the latest value, the changes of this node's own
//! leadership, and the last changes of all.
//!
//! A reader copies the latest value out and holds nothing, so no reader keeps the loop waiting, and
//! none sees a queue of what was true once. What a slow reader skips it can still tell: the value
//! has the number of the change, and the number of the node's own leadership, its *term*.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use futures::Stream;
use humantime::format_rfc3339_millis;
use serde::{Serialize, Serializer};
use tokio::sync::watch;

use crate::lock::lock;
use crate::member::{ProgramView, ViewUpdate};
use crate::protocol::{Epoch, Lease, NodeId, Reason, Role, Time};

/// A view of which node leads, as one node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leadership {
    /// The node whose view this is.
    pub node: NodeId,
    /// The role of that node; [`Role::NotStarted`] before it takes part and after it left.
    pub role: Role,
    /// The node that it takes for the leader; `None` if it knows none.
    pub leader: Option<NodeId>,
    /// The epoch of that leader; `None` without a leader, and if the protocol has no epochs.
    pub epoch: Option<Epoch>,
    /// The time at which this node's own lease is over if it is not renewed, by the clock of
    /// [`Guard::until`](super::Guard::until). `None` if it does not lead, or leads without a lease.
    /// It moves on while the lease is renewed, which is no change that a reader is woken for.
    pub lease_until: Option<Time>,
    /// The reason for this state; `None` before the node takes part.
    pub reason: Option<Reason>,
    /// The number of the last change, from 1. A reader that watches only the latest value may miss
    /// some.
    pub seq: u64,
    /// The number of attempts to find a leader: of new roles of a node that knew no leader before
    /// and knows none after. An attempt is no change that a reader is woken for.
    pub attempts: u64,
    /// The node that led at the same time as this one, if the latest change is that this was heard.
    /// All the rest is as it was before that change.
    pub rival: Option<NodeId>,
    /// How often a rival was heard: once each node in each leadership of this one. A reader that
    /// has led, and sees another number than before, may have missed some, and finds them in the
    /// [history](super::Handle::history).
    pub rivals: u64,
    /// The moment at which the node learned it.
    pub since: Instant,
    /// The moment from which on it knew no leader, if it knows none.
    without_leader: Option<Instant>,
    /// How often this node has come to lead.
    term: u64,
    /// Which of its terms ended last, and why.
    lost: Option<(u64, Reason)>,
}

impl Leadership {
    /// Returns whether the node itself leads.
    #[must_use]
    pub fn is_self(&self) -> bool {
        self.leader == Some(self.node)
    }

    /// How long the node has taken part without a leader; none if it has one, or has no part.
    pub(super) fn without_leader(&self) -> Option<Duration> {
        let since = self.without_leader.filter(|_| self.role != Role::NotStarted);
        since.map(|since| since.elapsed())
    }

    /// The term of the node itself, if it leads.
    fn term(&self) -> Option<Term> {
        self.is_self().then_some(Term { number: self.term, epoch: self.epoch })
    }
}

/// A term: one leadership of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Term {
    /// The number of the term among the terms of this node since it started, from 1.
    pub number: u64,
    /// The epoch of the term, if the protocol has epochs.
    pub epoch: Option<Epoch>,
}

/// A change of this node's own leadership. The two strictly alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnChange {
    /// The node leads.
    Acquired(Term),
    /// The node has stopped leading, or leads another term.
    Lost {
        /// The term that was acquired before this.
        term: Term,
        /// The reason; `None` if the reader was so slow that a later term was lost as well
        /// meanwhile.
        reason: Option<Reason>,
    },
}

/// A reader of the latest value of which node leads, with a way to wait for the next. A clone is
/// another reader.
#[derive(Clone, Debug)]
pub struct LeadershipWatch(watch::Receiver<Leadership>);

impl LeadershipWatch {
    /// Returns the value now. It never waits, and the node never waits for it.
    #[must_use]
    pub fn now(&self) -> Leadership {
        *self.0.borrow()
    }

    /// Waits for a change since this reader waited last, and returns the latest value. A change is
    /// what [`History`] has: neither a renewed lease nor an [attempt](Leadership::attempts) to find
    /// a leader is one. Returns `None` once the node has stopped taking part; the value before that
    /// names no leader.
    pub async fn changed(&mut self) -> Option<Leadership> {
        self.0.changed().await.ok()?;
        Some(self.seen())
    }

    /// Waits until the latest value is one that is `wanted`, which it may be already. It looks now
    /// and after each change, and not after an [attempt](Leadership::attempts). Returns `None` if
    /// the node stops taking part before it is.
    pub async fn wait_for(
        &mut self,
        mut wanted: impl FnMut(&Leadership) -> bool,
    ) -> Option<Leadership> {
        loop {
            let now = self.seen();
            if wanted(&now) {
                return Some(now);
            }
            self.0.changed().await.ok()?;
        }
    }

    /// Returns whether the node has stopped taking part.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.has_changed().is_err()
    }

    /// Returns the value now, which [`LeadershipWatch::changed`] does not return again.
    pub fn seen(&mut self) -> Leadership {
        *self.0.borrow_and_update()
    }

    /// The latest values as a stream.
    pub(super) fn changes(self) -> impl Stream<Item = Leadership> + Send + Unpin + use<> {
        tokio_stream::wrappers::WatchStream::new(self.0)
    }

    /// What became of this node's own leadership, from its state now on.
    pub(super) fn own_changes(self) -> impl Stream<Item = OwnChange> + Send + Unpin + use<> {
        let next = |(mut watch, mut held): (Self, Option<Term>)| async move {
            loop {
                let now = watch.seen();
                let change = match (held, now.term()) {
                    (Some(term), now_held) if now_held != held => {
                        held = None;
                        let lost = now.lost.filter(|&(number, _)| number == term.number);
                        OwnChange::Lost { term, reason: lost.map(|(_, reason)| reason) }
                    }
                    (None, Some(term)) => {
                        held = Some(term);
                        OwnChange::Acquired(term)
                    }
                    _ => {
                        watch.0.changed().await.ok()?;
                        continue;
                    }
                };
                return Some((change, (watch, held)));
            }
        };
        Box::pin(futures::stream::unfold((self, None), next))
    }
}

/// How many changes are remembered.
const CAPACITY: usize = 256;

/// One change of the leader, its epoch, or the role of the node; or that the node has heard of a
/// [rival](Change::rival), which changes none of these. A role that the node takes while it looks
/// for a leader is no change: see [`Leadership::attempts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The number of the change, from 1.
    pub seq: u64,
    /// The time of the change, by the wall clock of the node.
    #[serde(serialize_with = "rfc3339")]
    pub time: SystemTime,
    /// The role after the change.
    pub role: Role,
    /// The leader after the change.
    pub leader: Option<NodeId>,
    /// The epoch of the leader.
    pub epoch: Option<Epoch>,
    /// The reason for the change.
    pub reason: Reason,
    /// The node that led at the same time as this one, if the reason is [`Reason::RIVAL_HEARD`].
    /// What both have done as leaders may have to be reconciled.
    pub rival: Option<NodeId>,
}

fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_rfc3339_millis(*time))
}

/// The history of the last 256 changes. A clone is the same history.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<VecDeque<Change>>>);

impl History {
    fn push(&self, change: Change) {
        let mut changes = lock(&self.0);
        if changes.len() == CAPACITY {
            changes.pop_front();
        }
        changes.push_back(change);
    }

    /// Returns the changes after the one with the number `seq`, the oldest first; all for 0. What
    /// is older than the last 256 is not among them.
    #[must_use]
    pub fn since(&self, seq: u64) -> Vec<Change> {
        let changes = lock(&self.0);
        let first = changes.partition_point(|change| change.seq <= seq);
        changes.range(first..).copied().collect()
    }
}

/// The one place where the program reads which node leads: it holds what the
/// [member](crate::member) has told last.
pub(super) struct Publisher {
    latest: watch::Sender<Leadership>,
    pub(super) history: History,
    view: Cell<ProgramView>,
}

impl Publisher {
    pub(super) fn new(node: NodeId) -> (Self, LeadershipWatch, History) {
        let view = ProgramView::initial(node);
        let (latest, receiver) = watch::channel(Leadership::of(view, None));
        let history = History::default();
        let publisher = Self { latest, history: history.clone(), view: Cell::new(view) };
        (publisher, LeadershipWatch(receiver), history)
    }

    /// What was published last.
    pub(super) fn latest(&self) -> Leadership {
        *self.latest.borrow()
    }

    /// Publishes what the program is to know, and returns whether that is a change. A program that
    /// has seen a change finds it in the history. No reader is woken for anything else.
    pub(super) fn publish(&self, view: ProgramView) -> bool {
        let is_change = self.view.replace(view).seq() != view.seq();
        let latest = self.latest();
        let mut now = Leadership::of(view, latest.without_leader);
        let Leadership { role, leader, epoch, seq, rival, .. } = now;
        if rival.is_some() {
            now.since = latest.since;
        }
        let reason = rival.map(|_| Reason::RIVAL_HEARD).or(now.reason);
        if let Some(reason) = reason.filter(|_| is_change) {
            let time = SystemTime::now();
            self.history.push(Change { seq, time, role, leader, epoch, reason, rival });
        }
        self.latest.send_if_modified(|latest| {
            *latest = now;
            is_change
        });
        is_change
    }

    /// Publishes an update of what was told last.
    pub(super) fn update(&self, update: ViewUpdate) {
        let mut view = self.view.get();
        view.apply(update);
        self.publish(view);
    }

    /// The node's own lease lasts until then. No reader is woken for that.
    pub(super) fn renew(&self, lease: Option<Lease>) {
        let until = lease.map(|lease| lease.until);
        self.latest.send_if_modified(|now| {
            now.lease_until = until.filter(|_| now.is_self());
            false
        });
    }
}

impl Leadership {
    /// What a program is told. Before that, the node knew no leader from this moment on, if it knew
    /// none.
    fn of(view: ProgramView, without_leader: Option<Instant>) -> Self {
        let since = Instant::now();
        Self {
            node: view.node(),
            role: view.role(),
            leader: view.leader(),
            epoch: view.epoch(),
            lease_until: view.lease().map(|lease| lease.until),
            reason: view.reason(),
            seq: view.seq(),
            attempts: view.attempts(),
            rival: view.rival(),
            rivals: view.rivals(),
            since,
            without_leader: view.leader().is_none().then(|| without_leader.unwrap_or(since)),
            term: view.terms(),
            lost: view.lost(),
        }
    }
}

/// Whatever ends the actor, be it a panic: a program must not go on believing that it leads.
impl Drop for Publisher {
    fn drop(&mut self) {
        let (role, reason) = (Role::NotStarted, Reason::LEFT);
        self.update(ViewUpdate { role, leader: None, epoch: None, lease: None, reason });
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _};

    use super::*;
    use crate::driver::tests::id;

    fn update(leader: u16, epoch: u64, reason: Reason) -> ViewUpdate {
        let role = if leader == 1 { Role::Leader } else { Role::Follower };
        let (leader, epoch) = (Some(id(leader)), Some(Epoch::new(epoch)));
        ViewUpdate { role, leader, epoch, lease: None, reason }
    }

    fn term(number: u64, epoch: u64) -> Term {
        Term { number, epoch: Some(Epoch::new(epoch)) }
    }

    #[tokio::test(start_paused = true)]
    async fn every_change_has_the_next_number_and_the_last_names_no_leader() {
        let (publisher, mut leadership, history) = Publisher::new(id(1));
        let begun = leadership.now();
        assert_eq!((begun.role, begun.leader, begun.reason), (Role::NotStarted, None, None));
        std::thread::sleep(Duration::from_millis(1));
        publisher.update(update(1, 7, Reason::BOOTED));
        let now = leadership.seen();
        assert_eq!((now.role, now.leader, now.seq), (Role::Leader, Some(id(1)), 1));
        assert_eq!(now.epoch, Some(Epoch::new(7)));
        assert!(now.is_self() && now.since > begun.since);
        publisher.update(update(2, 8, Reason::CLAIMED));
        assert_eq!(leadership.now().seq, 2);
        drop(publisher);
        let last = leadership.changed().await.expect("it is told");
        assert_eq!((last.role, last.leader, last.seq), (Role::NotStarted, None, 3));
        assert_eq!(last.reason, Some(Reason::LEFT));
        assert!(leadership.changed().await.is_none() && leadership.is_over(), "and is the last");
        let reasons: Vec<_> = history.since(0).iter().map(|change| change.reason).collect();
        assert_eq!(reasons, [Reason::BOOTED, Reason::CLAIMED, Reason::LEFT]);
    }

    #[test]
    fn acquired_and_lost_alternate_however_slow_the_reader_is() {
        let (publisher, leadership, _) = Publisher::new(id(1));
        let mut own = leadership.own_changes();
        let mut next = || own.next().now_or_never();
        assert_eq!(next(), None, "it does not lead");
        publisher.update(update(1, 1, Reason::BOOTED));
        assert_eq!(next(), Some(Some(OwnChange::Acquired(term(1, 1)))));
        assert_eq!(next(), None);
        // Lost, and acquired again, before it is read.
        publisher.update(update(2, 2, Reason::CLAIMED));
        publisher.update(update(1, 3, Reason::LEADER_SILENT));
        let lost = |term, reason| Some(Some(OwnChange::Lost { term, reason }));
        assert_eq!(next(), lost(term(1, 1), Some(Reason::CLAIMED)));
        assert_eq!(next(), Some(Some(OwnChange::Acquired(term(2, 3)))));
        // Another epoch is another leadership.
        publisher.update(update(1, 4, Reason::NEXT_EPOCH));
        // That is lost as well, and yet another one acquired.
        publisher.update(update(2, 5, Reason::CLAIMED));
        publisher.update(update(1, 6, Reason::LEADER_SILENT));
        assert_eq!(next(), lost(term(2, 3), None), "why is not known any more");
        assert_eq!(next(), Some(Some(OwnChange::Acquired(term(4, 6)))));
        drop(publisher);
        assert_eq!(next(), lost(term(4, 6), Some(Reason::LEFT)));
        assert_eq!(next(), Some(None));
    }

    fn change(seq: u64) -> Change {
        let (leader, epoch) = (NodeId::new(3), Some(Epoch::new(7)));
        let (time, reason) = (SystemTime::UNIX_EPOCH, Reason::BOOTED);
        Change { seq, time, role: Role::Follower, leader, epoch, reason, rival: None }
    }

    #[test]
    fn the_last_changes_are_remembered_in_order() {
        let history = History::default();
        assert_eq!(history.since(0), []);
        (1..=300).for_each(|seq| history.push(change(seq)));
        let numbers = |seq| history.since(seq).iter().map(|change| change.seq).collect::<Vec<_>>();
        assert_eq!(numbers(0), (45..=300).collect::<Vec<_>>());
        assert_eq!(numbers(298), [299, 300]);
        assert!(numbers(300).is_empty());
    }

    #[test]
    fn a_change_is_written_with_names_and_the_time() {
        let text = serde_json::to_string(&change(1)).expect("it can be written");
        let wanted = "{\"seq\":1,\"time\":\"1970-01-01T00:00:00.000Z\",\"role\":\"follower\",\
                      \"leader\":3,\"epoch\":7,\"reason\":\"booted\",\"rival\":null}";
        assert_eq!(text, wanted);
    }
}
