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
mod event;
mod peers;
mod persistence;
mod program;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use self::commands::Awaited;
pub use self::commands::{Command, RequestError};
pub use self::event::{Action, Actions, Deadline, End, Event, LogLine, StorageAnswer};
use self::peers::PeerWatcher;
use self::persistence::Disk;
pub use self::persistence::{AfterPersist, PersistQueue};
use self::program::{Announcement, PauseDetector};
pub use self::program::{PreparationRequest, ProgramView, ViewUpdate};
use crate::detector::{Detection, Parameters};
use crate::protocol::quorum::Mark;
use crate::protocol::{
    self, Core, Epoch, Input, Node, NodeId, NodeStep, Output, Request, Role, Status, Time, Trigger,
};
use crate::trace::{After, Happened, LeaseUntil, Out, Received, Sent, Step};

/// The longest wait. The timers of a runtime may stop while the machine sleeps, the deadlines of a
/// core do not: after a sleep a passed deadline is noticed at most this much later.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// How long a member that leaves waits for its storage.
const LONGEST_CLOSE: Duration = Duration::from_millis(500);

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
    /// True if the rounds of the leader begin at [moments](Core::round_slack) that all members with
    /// this setting have in common in a process.
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
        let silence = C::max_leader_silence(config);
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
    stage: Stage,
    /// What waits for the storage.
    queue: PersistQueue<C::Durable, C::Message>,
    disk: Disk,
    /// What the program was told last.
    view: ProgramView,
    announcement: Announcement,
    /// Whether the program prepares itself before it learns that its node leads, and how often it
    /// was asked to.
    prepares: bool,
    preparations: u64,
    /// The rivals of which the program was told in the last of its own terms.
    rivals: BTreeSet<NodeId>,
    /// The epoch of the last lease that the program knew.
    work_epoch: Option<Epoch>,
    pause_detector: PauseDetector,
    /// Whether the program says that the machine is fit to lead.
    healthy: bool,
    /// The time before which a member that leads is not to stand for election once it leads no
    /// longer.
    frozen_until: Option<Time>,
    /// None for protocols that detect failures by themselves.
    watch: Option<PeerWatcher>,
    /// The nodes whose processes are gone.
    gone: BTreeSet<NodeId>,
    wake: Option<Time>,
    /// Its rounds begin at moments that many members have in common.
    aligned: bool,
    /// Who waits for an answer, and for what to happen before.
    pending: Vec<(u64, Awaited)>,
    /// What is to be done about what has happened.
    tasks: VecDeque<Task<C::Message>>,
    /// What has happened while the member waited for work.
    deferred_events: VecDeque<Event<C::Message>>,
    actions: Actions<C>,
    /// How new the lists of members are that the program knows.
    told_mark: Mark,
}

/// How far a member is that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// It was told to stop, and hands over first.
    HandingOver,
    /// It waits for its storage, until then at most, and ends like this.
    Closing(Time, End),
    Ended,
}

/// Something to do. What follows from it is done before the next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Task<M> {
    /// To give the node this input.
    Step(Input<M>),
    /// To give it this message.
    Receive(Received<M>),
    /// To do what is asked.
    Command(u64, Command),
    /// To answer that this node is next.
    Reply(u64, Option<NodeId>),
    /// To answer once this has happened.
    Await(u64, Awaited),
    /// To end the silence of a node that leads still.
    Resume,
    /// To tell the program of a node that led at the same time.
    ReportRival(NodeId),
    /// To report nodes that are silent.
    Suspect,
    /// To wait no longer for nodes that are gone; so often at most.
    AbandonWaits(usize),
    /// To look whether the storage answers.
    CheckStorage,
    /// To tell the program if it does not, and to ask it.
    CheckStall,
}

impl<C: Core> Member<C> {
    /// Returns a member that has not started yet.
    #[must_use]
    pub fn new(node: Node<C>, setup: &Setup, now: Time) -> Self {
        let told_mark = node.lists().map(|lists| lists.mark).unwrap_or_default();
        let Setup { silence, lifetime, members, stores, bound, prepares, aligned, .. } = *setup;
        let detection = setup.detection.as_ref();
        let (late, next, failure, stalled) = (None, now + bound, None, false);
        Self {
            view: ProgramView::initial(node.status().id),
            node,
            stage: Stage::Running,
            queue: PersistQueue::new(lifetime, members),
            disk: Disk { stores, bound, late, next, failure, stalled },
            announcement: Announcement::AWAY,
            prepares,
            preparations: 0,
            rivals: BTreeSet::new(),
            work_epoch: None,
            pause_detector: PauseDetector::new(silence, now),
            healthy: true,
            frozen_until: None,
            watch: detection.map(|(chosen, settings)| PeerWatcher::new(chosen, *settings, now)),
            gone: BTreeSet::new(),
            wake: None,
            aligned,
            pending: Vec::new(),
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
            Stage::Closing(..) => self.handle_while_closing(now, event),
            Stage::Ended => {}
        }
        debug_assert_eq!(self.broken_promise(), None, "{self:?}");
        std::mem::take(&mut self.actions)
    }

    /// Returns the first promise that the member has broken by what it has just decided.
    fn broken_promise(&self) -> Option<&'static str> {
        let Self { node, view, announcement, queue, actions, .. } = self;
        let (told, ending) = (*announcement == Announcement::Announced, self.awaits_work());
        let ended = view.lost().map_or(0, |(term, _)| term);
        let saves = actions.iter().filter(|one| matches!(one, Action::Save(_) | Action::Probe));
        let begins = |one: &Action<_, _>| matches!(one, Action::Save(_) | Action::EndWork(_));
        let leaves = |one: &Action<_, _>| matches!(one, Action::Send(_) | Action::Change(_));
        let mut latest = actions.iter().rev().take_while(|one| !begins(one));
        let is_away = *announcement == Announcement::AWAY;
        let [lease, of_node] = [view.lease(), node.lease()].map(|lease| Some(lease?.epoch));
        let promises = [
            (view.leads() == told || ending, "told once prepared, and after a silence"),
            (!told || !queue.leads_next(), "told once it is durable"),
            (ending || is_away || self.leads(), "told only while the node leads"),
            (ending || lease.is_none_or(|_| lease == of_node), "a lease only of the node"),
            (ended + u64::from(view.leads()) == view.terms(), "a term ends before the next begins"),
            (saves.count() <= 1, "no save while another is under way"),
            (!(queue.under_way || ending) || !latest.any(leaves), "sent once durable, work first"),
        ];
        promises.into_iter().find(|(kept, _)| !kept).map(|(_, promise)| promise)
    }

    /// Decides how long to wait at most for the next thing that happens, if the wait begins at
    /// `now`; not at all if that is late.
    #[must_use]
    pub fn wait(&mut self, now: Time) -> Duration {
        let deadline = self.deadline(now).map(|deadline| self.align(deadline));
        self.pause_detector.expect_wake(deadline).since(now)
    }

    /// When to look again, at the latest.
    fn deadline(&self, now: Time) -> Option<Time> {
        match (self.stage, self.announcement.ending()) {
            (Stage::Ended, _) => None,
            (Stage::Closing(until, _), _) => Some(until),
            (_, Some(lease)) => Some(lease.until),
            (_, None) => {
                let watch = self.watch.as_ref().map(PeerWatcher::deadline);
                let next = self.wake.into_iter().chain(watch).chain(self.resume_deadline());
                let disk = self.disk_due().filter(|&(deadline, at)| {
                    // Once it is late, nothing more follows from that.
                    deadline == Deadline::Probe || at > now
                });
                next.chain(disk.map(|(_, at)| at)).min()
            }
        }
    }

    /// The moment at which the round begins that is due then. All aligned members have beats in
    /// common, which are a little longer apart than rounds. A round that is due shortly before a
    /// beat waits for it, and so is due shortly before the next: it stays with the others. One that
    /// is due at another moment comes earlier with each beat, until it is due shortly before one.
    fn align(&self, deadline: Time) -> Time {
        let config = self.node.config();
        let Some((timer, slack)) = C::round_slack(config).filter(|_| self.aligned) else {
            return deadline;
        };
        let (round, period) = (Deadline::Timer(timer), C::period(config, timer) + slack);
        let late = u128::from(deadline.as_nanos()) % period.as_nanos().max(1);
        let early = period.as_nanos().saturating_sub(late);
        let wait = Duration::from_nanos(u64::try_from(early).unwrap_or(u64::MAX));
        let beat = deadline + wait;
        let is_due = self.armed().any(|armed| armed == (round, deadline));
        let mut others = self.armed().filter(|&(other, _)| other != round).map(|(_, at)| at);
        let watched = self.watch.as_ref().is_none_or(|watch| watch.deadline() > beat);
        let waits = is_due && wait <= slack && watched && others.all(|at| at > beat);
        if waits { beat } else { deadline }
    }

    /// The deadlines of a member that takes part, but for those of its failure detectors, each with
    /// its time. It [waits](Member::wait) for the first of them, with two exceptions. One that has
    /// passed may stay, until what holds it up is over: a program is told nothing while a state is
    /// not durable. And while the work of a leadership ends, [`Deadline::Work`] alone counts.
    pub fn armed(&self) -> impl Iterator<Item = (Deadline<C::Timer>, Time)> + '_ {
        let timers = self.node.armed().map(|(timer, at)| (Deadline::Timer(timer), at));
        let resume = self.announcement.silence().until.map(|at| (Deadline::Resume, at));
        let work = self.announcement.ending().map(|lease| (Deadline::Work, lease.until));
        timers.chain(resume).chain(self.disk_due()).chain(work)
    }

    /// Lets a deadline pass at `to` already; nothing happens if there is none, or it is due by
    /// then. For tests that let things happen in an order that the configured durations forbid;
    /// see [`Node::bring_forward`](crate::protocol::Node::bring_forward).
    pub fn bring_forward(&mut self, deadline: Deadline<C::Timer>, to: Time) {
        match deadline {
            Deadline::Timer(timer) => self.node.bring_forward(timer, to),
            Deadline::Resume => {
                if let Some(silence) = self.announcement.silence_mut() {
                    silence.until = silence.until.map(|at| at.min(to));
                }
            }
            Deadline::StorageLate => self.disk.late = self.disk.late.map(|at| at.min(to)),
            Deadline::Probe => self.disk.next = self.disk.next.min(to),
            Deadline::Work => {
                if let Announcement::Ending(lease, _) = &mut self.announcement {
                    lease.until = lease.until.min(to);
                }
            }
        }
    }

    /// Lets the time pass until `now`, as if the member had run all the while, and nothing had been
    /// due. For tests in which the time jumps.
    pub fn pass_time(&mut self, now: Time) {
        self.pause_detector.last_run = now;
    }

    /// What is to be done about something that happens.
    fn schedule(&mut self, now: Time, event: Event<C::Message>) {
        match event {
            Event::Start => self.tasks.push_back(Task::Step(Input::Boot)),
            Event::Wake => self.tasks.push_back(Task::Step(Input::Wake)),
            Event::Received(received) => self.tasks.push_back(Task::Receive(received)),
            Event::Heartbeat { from, incarnation } => {
                if let Some(watch) = &mut self.watch {
                    watch.on_heartbeat(from, incarnation, now);
                }
            }
            Event::ToldOfRival { from } => {
                self.tasks.push_back(Task::Step(Input::Wake));
                self.tasks.push_back(Task::ReportRival(from));
            }
            Event::Drained { gone } => {
                self.gone = gone;
                self.tasks.push_back(Task::Suspect);
                self.tasks.push_back(Task::AbandonWaits(C::TIMERS.len()));
            }
            // Its deadlines come first, before it is told that it leads.
            Event::StorageAnswered(answer) => {
                if self.on_storage_answer(now, answer) {
                    self.tasks.push_back(Task::Step(Input::Wake));
                }
            }
            // A node that leads no longer, and has not noticed yet, refuses.
            Event::Command { ticket, command } => {
                self.tasks.push_back(Task::Step(Input::Wake));
                self.tasks.push_back(Task::Command(ticket, command));
            }
            Event::Request(request) => {
                self.tasks.push_back(Task::Step(Input::Request(request)));
            }
            Event::Stop => self.stop(now),
            Event::WorkEnded => {}
        }
        self.tasks.push_back(Task::CheckStorage);
    }

    /// Does one thing after the other, until there is none, or work has to end first.
    fn run_tasks(&mut self, now: Time) {
        while self.takes_part() && !self.awaits_work() {
            if let Some(task) = self.tasks.pop_front() {
                self.run_task(now, task);
            } else if let Some(event) = self.deferred_events.pop_front() {
                self.schedule(now, event);
            } else {
                self.send_due_replies();
                self.close_after_step_down(now);
                break;
            }
        }
    }

    fn run_task(&mut self, now: Time, task: Task<C::Message>) {
        match task {
            Task::Step(input) => self.step(now, input, None),
            Task::Receive(received) => {
                let Received { from, message, .. } = received.clone();
                self.step(now, Input::Receive { from, message }, Some(received));
            }
            Task::Command(ticket, command) => self.handle_command(now, ticket, command),
            Task::Reply(ticket, next) => self.reply(ticket, next),
            Task::Await(ticket, awaited) => self.pending.push((ticket, awaited)),
            Task::Resume => self.resume(now),
            Task::ReportRival(rival) => {
                self.report_rival(rival);
            }
            Task::Suspect => self.suspect(now),
            Task::AbandonWaits(most) => self.abandon_waits(now, most),
            Task::CheckStorage => self.check_storage(now),
            Task::CheckStall => self.check_stall(now),
        }
    }

    /// One input, and the message if it is one. If the node gives up its leadership by it, nothing
    /// of that leaves it before the work of the leadership has ended.
    fn step(
        &mut self,
        now: Time,
        input: Input<C::Message>,
        received: Option<Received<C::Message>>,
    ) {
        let given_up = self.work_lease();
        self.node.handle(now, input);
        self.write_steps(received);
        let leads = self.node.lease().map(|lease| lease.epoch);
        match given_up.filter(|given_up| leads != Some(given_up.epoch)) {
            Some(lease) => self.end_work(lease),
            None => self.drain_outputs(now),
        }
    }

    /// Has the steps written that the node has just taken, if it records them. Nothing of what they
    /// put out was looked at yet. If one of them is that a message arrived, it is this one.
    fn write_steps(&mut self, mut received: Option<Received<C::Message>>) {
        let mut number = self.queue.numbered;
        for taken in self.node.take_steps() {
            let step = traced_step(taken, &mut received, &mut number);
            self.actions.push(Action::Trace(Box::new(step)));
        }
    }

    /// What follows from an input: what is sent waits in its order for what must be durable before
    /// it, and so does the news that the node leads. That it leads no longer waits for nothing: the
    /// program is told at once whatever is no promise.
    fn drain_outputs(&mut self, now: Time) {
        let mut events = Vec::new();
        while let Some(output) = self.node.poll() {
            match output {
                Output::Persist(state) => self.queue.state = Some(state),
                Output::Send { to, message } => self.queue.send(now, to, message),
                Output::Event(protocol::Event::RoleChanged {
                    to: Role::Leader, reason, ..
                }) => {
                    self.queue.add(now, AfterPersist::Lead(reason));
                }
                Output::Event(event) => {
                    if matches!(event, protocol::Event::RoleChanged { .. }) {
                        self.queue.cancel_leadership();
                    }
                    events.push(event);
                }
                Output::WakeAt(wake) => self.wake = wake,
            }
            // Behind the state that has them, and before what is sent.
            if let Some(lists) = self.node.lists()
                && lists.mark != self.told_mark
            {
                self.told_mark = lists.mark;
                self.queue.add(now, AfterPersist::Change(lists.clone()));
            }
        }
        // First: when others are told that this node leads no longer, its program knows.
        for event in events {
            self.on_node_event(event);
        }
        self.renew();
        self.flush_queue(now);
        if let Some(watch) = &mut self.watch {
            watch.set_watched(self.node.watched(), now);
        }
        self.apply_freeze(now);
    }

    /// The program is told something that is no promise.
    fn on_node_event(&mut self, event: protocol::Event) {
        match event {
            protocol::Event::RoleChanged { to, leader, reason, .. } => {
                self.announce_loss(to, leader, reason);
            }
            protocol::Event::Ignored { from, cause } => {
                self.actions.push(Action::Log(LogLine::Ignored { from, cause }));
            }
            protocol::Event::RivalHeard { rival } => {
                if self.report_rival(rival) {
                    self.actions.push(Action::TellRival(rival));
                }
            }
        }
    }

    /// A leader that was frozen, and leads no longer, does not stand for election until the time is
    /// over.
    fn apply_freeze(&mut self, now: Time) {
        if !self.leads()
            && let Some(until) = self.frozen_until.take()
        {
            let rest = until.since(now);
            self.tasks.push_front(Task::Step(Input::Request(Request::StepDown(None, rest))));
        }
    }

    /// Whether it takes part: whether it does anything but wait for its storage.
    fn takes_part(&self) -> bool {
        matches!(self.stage, Stage::Running | Stage::HandingOver)
    }

    /// Returns whether nothing is left to do but to wait for the storage, or to [end](Action::End).
    #[must_use]
    pub fn leaves(&self) -> bool {
        !self.takes_part()
    }

    /// It is told to stop. No node is to wait for its lease to run out: a leader hands over first.
    fn stop(&mut self, now: Time) {
        if self.stage == Stage::HandingOver {
            return;
        }
        if C::REQUESTS && self.leads() {
            self.stage = Stage::HandingOver;
            let request = Request::Yield(self.node.successor());
            self.tasks.push_back(Task::Step(Input::Request(request)));
        } else {
            self.close(now, End::Left);
        }
    }

    /// It was told to stop, and leads no longer.
    fn close_after_step_down(&mut self, now: Time) {
        if self.stage == Stage::HandingOver && !self.leads() {
            self.close(now, End::HandedOver);
        }
    }

    /// The member leaves. What its storage has not acknowledged soon may be lost, and what depends
    /// on that is not sent; nor is the program told any more that its node leads.
    fn close(&mut self, now: Time, end: End) {
        self.stage = Stage::Closing(now + LONGEST_CLOSE, end);
        self.queue.cancel_leadership();
        self.end_if_saved(now);
    }

    /// Something happens while it waits for its storage.
    fn handle_while_closing(&mut self, now: Time, event: Event<C::Message>) {
        if let Event::StorageAnswered(answer) = event {
            if !self.on_storage_answer(now, answer) {
                return;
            }
            self.flush_queue(now);
        }
        self.end_if_saved(now);
    }

    fn end_if_saved(&mut self, now: Time) {
        let Stage::Closing(until, end) = self.stage else { return };
        if !self.is_behind() {
            self.end(end);
        } else if now >= until {
            self.actions.push(Action::Log(LogLine::Unsaved));
            self.end(end);
        }
    }

    /// It does nothing any more.
    fn end(&mut self, end: End) {
        self.stage = Stage::Ended;
        self.tasks.clear();
        self.deferred_events.clear();
        self.actions.push(Action::End(end));
    }

    /// Returns the number of messages and changes of leadership that wait for the storage.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// Returns what waits for the storage.
    #[must_use]
    pub fn queue(&self) -> &PersistQueue<C::Durable, C::Message> {
        &self.queue
    }

    /// Returns what has happened while the member waited for work, in its order.
    pub fn deferred_events(&self) -> impl Iterator<Item = &Event<C::Message>> {
        self.deferred_events.iter()
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
    pub fn eq_ignoring_time(&self, other: &Self) -> bool {
        // A field that is added does not compile before it is decided whether it counts.
        let Self {
            node,
            stage,
            queue,
            disk,
            view,
            announcement,
            prepares,
            preparations: _,
            rivals,
            work_epoch: _,
            pause_detector: _,
            healthy,
            frozen_until,
            watch,
            gone,
            wake,
            aligned,
            pending,
            tasks,
            deferred_events,
            actions,
            told_mark: _,
        } = self;
        same_node(node, &other.node)
            && queue.timeless() == other.queue.timeless()
            && disk.timeless() == other.disk.timeless()
            && announcement.timeless() == other.announcement.timeless()
            && facts(view) == facts(&other.view)
            && (watch.is_none() && other.watch.is_none())
            && (rivals, healthy, gone) == (&other.rivals, &other.healthy, &other.gone)
            && frozen_until.is_some() == other.frozen_until.is_some()
            && self.work_lease().is_some() == other.work_lease().is_some()
            && (wake.is_some(), aligned, prepares)
                == (other.wake.is_some(), &other.aligned, &other.prepares)
            && (pending, stage) == (&other.pending, &other.stage)
            && (tasks, deferred_events, actions)
                == (&other.tasks, &other.deferred_events, &other.actions)
    }
}

fn same_node<C: Core>(one: &Node<C>, two: &Node<C>) -> bool {
    let armed = |node: &Node<C>| node.armed().map(|(timer, _)| timer).collect::<Vec<_>>();
    one.core() == two.core() && armed(one) == armed(two)
}

/// What a program knows now, but for times and numbers.
fn facts(view: &ProgramView) -> (Role, Option<NodeId>, Option<Epoch>, bool, bool) {
    (view.role(), view.leader(), view.epoch(), view.leads(), view.lease().is_some())
}

/// A step as a [trace](crate::trace) has it. Before it, messages had numbers up to this.
fn traced_step<C: Core>(
    taken: NodeStep<C>,
    received: &mut Option<Received<C::Message>>,
    number: &mut u64,
) -> Step<C::Durable, C::Message> {
    let NodeStep { trigger, persists, sends, events, status, epoch, lease, armed, watched } = taken;
    let happened = match trigger {
        Trigger::Boot(durable) => Happened::Boot(durable),
        Trigger::Receive { from, message } => {
            let unnumbered = || Received::unnumbered(from, message);
            Happened::Receive(received.take().unwrap_or_else(unnumbered))
        }
        Trigger::Expire(timer) => Happened::Expire(format!("{timer:?}")),
        Trigger::Suspect(node) => Happened::Suspect(node),
        Trigger::Request(request) => Happened::Request(request),
    };
    let sends = sends.into_iter().map(|(to, message)| {
        *number += 1;
        Out::Send(Sent { to, id: *number, message })
    });
    let out = persists.into_iter().map(Out::Persist).chain(sends);
    let out = out.chain(events.into_iter().map(Out::from)).collect();
    let Status { role, leader, .. } = status;
    let (epoch, lease) = (epoch.map(Epoch::number), lease.map(LeaseUntil::from));
    let armed = armed.into_iter().map(|(timer, at)| (format!("{timer:?}"), at.as_nanos()));
    let after = After { role, leader, epoch, lease, armed: Some(armed.collect()), watched };
    Step { happened, out, after }
}

#[cfg(test)]
mod tests;
