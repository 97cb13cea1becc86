//! A member of a cluster: a node, and everything that decides whether its program believes that it
//! leads.
//!
//! Pure, as the [cores](crate::protocol) are: it owns no socket, clock, thread, file or channel. A
//! loop around it
//!
//! 1. calls [`Member::handle`] with everything that happens, `now` never going backwards;
//! 2. does what that returns, one thing after the other;
//! 3. [waits](Member::wait) for the next thing, and for no longer than it is told.
//!
//! What a member promises in return:
//!
//! - **A pause comes first.** For every event, the member first compares the time with the wait
//!   that it chose. If its process stood still for longer than a leader may, its program is told
//!   that the node leads no longer, before anything else is handled; and it is not told that the
//!   node leads before the others can have heard so, whatever had to wait meanwhile.
//! - **Deadlines come next**, as for every [node](crate::protocol::Node).
//! - **One leadership after the other.** The program is [told](ProgramView) that its node leads,
//!   then that it does not, then again that it does. Until when it may do what only a leader may is
//!   a part of the same value, so that nothing else says so.
//! - **Nothing leaves before it is durable**, and the program is not told before either that its
//!   node leads. That it leads no longer waits for nothing.
//! - **A rival is news once.** In each of its terms, the program is told once of each other node
//!   that led at the same time, if a protocol without a quorum finds one; and so is that node.
//! - **A step comes before what follows from it.** If its node [records](Node::recording) them, a
//!   member has each step of it [written](Action::Trace) first.
//! - **Work ends first.** A leadership that is given up before its lease is over is said to have
//!   ended once the work of the program has.

mod commands;
mod deadlines;
mod disk;
mod ends;
mod event;
mod gate;
mod leading;
mod pause;
mod steps;
mod unsaved;
mod view;
mod watch;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use self::commands::PendingReplies;
pub use self::commands::{Command, RequestError};
pub use self::deadlines::Deadline;
use self::disk::Disk;
use self::ends::Stage;
pub use self::event::{Action, Actions, End, Event, LogLine, StorageAnswer};
use self::gate::Gate;
pub use self::gate::PreparationRequest;
use self::leading::Rivals;
use self::pause::PauseDetector;
use self::steps::Task;
pub use self::unsaved::{Deferred, Unsaved};
pub use self::view::{ProgramView, ViewUpdate};
use self::watch::Watch;
use crate::detector::{Detection, Parameters};
use crate::protocol::quorum::Mark;
use crate::protocol::{Core, Epoch, Lease, Node, NodeId, Reason, Role, Time};
use crate::trace::Sent;

/// The longest wait. The timers of a runtime may stop while the machine sleeps, the deadlines of a
/// core do not: after a sleep a passed deadline is noticed at most this much later.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The setup that a member gets before it starts.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The longest time for which a leader may do nothing at all.
    pub silence: Duration,
    /// The time for which a message is worth sending.
    pub lifetime: Duration,
    /// The number of members of the cluster.
    pub members: usize,
    /// Whether there is a storage.
    pub stores: bool,
    /// The longest time that the storage may take.
    pub bound: Duration,
    /// Whether the program prepares itself before it learns that the node leads.
    pub prepares: bool,
    /// Whether its rounds, if it leads, begin at [moments](Core::beat) that all members with this
    /// setting have in common in a process.
    pub aligned: bool,
    /// The settings of the failure detector by which members watch each other, if the protocol has
    /// one.
    pub detection: Option<(Detection, Parameters)>,
}

impl Setup {
    /// Returns the setup of a member of a cluster of `members`, as its core is configured: without
    /// a storage and detectors, and for a program that does not prepare itself.
    #[must_use]
    pub fn of<C: Core>(config: &C::Config, members: usize) -> Self {
        let silence = C::silence(config);
        Self {
            silence,
            lifetime: C::message_lifetime(config),
            members,
            stores: false,
            bound: silence,
            prepares: false,
            aligned: false,
            detection: None,
        }
    }
}

/// A node that takes part, and what surrounds it.
#[derive(Clone, Debug)]
pub struct Member<C: Core> {
    node: Node<C>,
    /// What waits for the storage.
    unsaved: Unsaved<C::Durable, C::Message>,
    disk: Disk,
    /// What the program was told last.
    view: ProgramView,
    rivals: Rivals,
    /// What keeps the program from knowing that the node leads before it is prepared.
    gate: Option<Gate>,
    pause_detector: PauseDetector,
    /// It leads, and its program is not told so before then.
    resume: Option<Time>,
    /// Why it leads, if its program has not been told that yet for this reason alone.
    unannounced: Option<Reason>,
    /// Whether the program says that the machine is fit to lead.
    healthy: bool,
    /// It leads, and is not to run again before that once it does not.
    frozen_until: Option<Time>,
    /// None for protocols that detect failures by themselves.
    watch: Option<Watch>,
    /// The nodes whose processes are gone.
    gone: BTreeSet<NodeId>,
    wake: Option<Time>,
    /// Its rounds begin at moments that many members have in common.
    aligned: bool,
    /// The epoch of the last lease that the program knew.
    work_epoch: Option<Epoch>,
    /// The node gives up this lease, and waits until the work under it has ended.
    ending: Option<Lease>,
    pending: PendingReplies,
    stage: Stage,
    /// What is to be done about what has happened.
    tasks: VecDeque<Task<C::Message>>,
    /// What has happened while the member waited for work.
    deferred_events: VecDeque<Event<C::Message>>,
    actions: Actions<C>,
    /// How new the lists of members are that the program knows.
    told_mark: Mark,
}

impl<C: Core> Member<C> {
    /// Returns a member that has not started yet.
    #[must_use]
    pub fn new(node: Node<C>, setup: &Setup, now: Time) -> Self {
        let told_mark = node.lists().map(|lists| lists.mark).unwrap_or_default();
        let detection = setup.detection.as_ref();
        let watch =
            detection.map(|(detection, parameters)| Watch::new(detection, *parameters, now));
        Self {
            view: ProgramView::initial(node.status().id),
            node,
            unsaved: Unsaved::new(setup.lifetime, setup.members),
            disk: Disk::new(setup.stores, setup.bound, now),
            rivals: Rivals::default(),
            gate: setup.prepares.then(Gate::default),
            pause_detector: PauseDetector::new(setup.silence, now),
            resume: None,
            unannounced: None,
            healthy: true,
            frozen_until: None,
            watch,
            gone: BTreeSet::new(),
            wake: None,
            aligned: setup.aligned,
            work_epoch: None,
            ending: None,
            pending: PendingReplies::default(),
            stage: Stage::Running,
            tasks: VecDeque::new(),
            deferred_events: VecDeque::new(),
            actions: Vec::new(),
            told_mark,
        }
    }

    /// Decides the actions that follow from something that happens at `now`.
    #[must_use]
    pub fn handle(&mut self, now: Time, event: Event<C::Message>) -> Actions<C> {
        match self.stage {
            Stage::Running | Stage::HandingOver => {
                // Before anything else: this is where a pause of the process is noticed.
                self.check_pause(now);
                if self.awaits_work() {
                    self.wait_for_work(now, event);
                } else {
                    self.send_due_heartbeat(now);
                    self.schedule(now, event);
                }
                self.run_tasks(now);
            }
            Stage::Closing { .. } => self.handle_while_closing(now, event),
            Stage::Ended => {}
        }
        std::mem::take(&mut self.actions)
    }

    /// Decides how long to wait at most for the next thing that happens, if the wait begins at
    /// `now`; not at all if that is late.
    #[must_use]
    pub fn wait(&mut self, now: Time) -> Duration {
        let deadline = self.deadline(now).map(|deadline| self.align(deadline));
        self.pause_detector.expect_wake(deadline).since(now)
    }

    /// Returns the number of messages and changes of leadership that wait for the storage.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.unsaved.waiting()
    }

    /// Returns the node.
    #[must_use]
    pub fn node(&self) -> &Node<C> {
        &self.node
    }

    /// Returns the view that the program got last.
    #[must_use]
    pub fn view(&self) -> &ProgramView {
        &self.view
    }

    /// Returns whether another member of the same node differs in nothing but times, in how often
    /// something was, and in what was told before. For tests that take one for the other. A member
    /// that watches others is like no other.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        // A field that is added does not compile before it is decided whether it counts.
        let Self {
            node,
            unsaved,
            disk,
            view,
            rivals,
            gate,
            pause_detector: _,
            resume,
            unannounced,
            healthy,
            frozen_until,
            watch,
            gone,
            wake,
            aligned,
            work_epoch: _,
            ending,
            pending,
            stage,
            tasks,
            deferred_events,
            actions,
            told_mark: _,
        } = self;
        same_node(node, &other.node)
            && same_steps(unsaved, &other.unsaved)
            && disk.is_like(&other.disk)
            && facts(view) == facts(&other.view)
            && rivals.of(view.terms()).eq(other.rivals.of(other.view.terms()))
            && gate.as_ref().map(Gate::facts) == other.gate.as_ref().map(Gate::facts)
            && (watch.is_none() && other.watch.is_none())
            && (unannounced, healthy, gone) == (&other.unannounced, &other.healthy, &other.gone)
            && resume.is_some() == other.resume.is_some()
            && frozen_until.is_some() == other.frozen_until.is_some()
            && (wake.is_some(), aligned) == (other.wake.is_some(), &other.aligned)
            && self.work_lease().is_some() == other.work_lease().is_some()
            && ending.map(|lease| lease.epoch) == other.ending.map(|lease| lease.epoch)
            && (pending, stage) == (&other.pending, &other.stage)
            && (tasks, deferred_events, actions)
                == (&other.tasks, &other.deferred_events, &other.actions)
    }
}

fn same_node<C: Core>(one: &Node<C>, two: &Node<C>) -> bool {
    let armed = |node: &Node<C>| node.armed().map(|(timer, _)| timer).collect::<Vec<_>>();
    one.core() == two.core() && armed(one) == armed(two)
}

fn same_steps<D: PartialEq, M: Clone + PartialEq>(
    one: &Unsaved<D, M>,
    two: &Unsaved<D, M>,
) -> bool {
    one.is_behind() == two.is_behind()
        && one.state() == two.state()
        && one.ready().map(unnumbered).eq(two.ready().map(unnumbered))
        && one.behind().map(unnumbered).eq(two.behind().map(unnumbered))
}

/// The step, whichever number its message has.
fn unnumbered<M: Clone>(step: &Deferred<M>) -> Deferred<M> {
    match step {
        Deferred::Send(sent) => Deferred::Send(Sent { id: 0, ..sent.clone() }),
        other => other.clone(),
    }
}

/// What a program knows now, but for times and numbers.
fn facts(view: &ProgramView) -> (Role, Option<NodeId>, Option<Epoch>, bool, bool) {
    (view.role(), view.leader(), view.epoch(), view.leads(), view.lease().is_some())
}

#[cfg(test)]
mod stories;
#[cfg(test)]
mod tests;
