//! The shell around a core: one node of any protocol.
//!
//! What [the module](super) promises of every protocol is written here, once, and holds by
//! construction whatever the core does.
//!
//! If it is asked to, a node records the steps that it has taken. One input can be several steps:
//! each timer that expires is one, and then the input. What a node puts out after an input is that
//! of all its steps, and does not say of which.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use super::quorum::Lists;
use super::{
    Belief, Context, Core, Epoch, Event, Input, Lease, Membership as _, NodeId, Output, Reason,
    Request, Status, Time, Timers,
};

/// One node: a core and its shell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node<C: Core> {
    config: Arc<C::Config>,
    /// What it made durable in an earlier life, until it boots.
    durable: Option<C::Durable>,
    seed: u64,
    core: Option<C>,
    shell: Shell<C>,
    journal: Journal<C>,
}

/// What a node has besides its core: timers, and what it has still to put out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shell<C: Core> {
    pub(super) timers: Timers<C::Timer>,
    /// The deadline that the embedding program was last told.
    announced: Option<Time>,
    pub(super) persists: VecDeque<C::Durable>,
    pub(super) sends: VecDeque<(NodeId, C::Message)>,
    pub(super) events: VecDeque<Event>,
    /// Why the belief changes.
    pub(super) reason: Option<Reason>,
    /// The configuration that the node has from the next input on.
    pub(super) adopted: Option<C::Config>,
}

impl<C: Core> Shell<C> {
    /// No timer is armed, and nothing is to be put out.
    pub(super) fn new() -> Self {
        Self {
            timers: Timers::new(C::TIMERS),
            announced: None,
            persists: VecDeque::new(),
            sends: VecDeque::new(),
            events: VecDeque::new(),
            reason: None,
            adopted: None,
        }
    }

    /// How much is to be put out of each kind.
    fn queued(&self) -> [usize; 3] {
        [self.persists.len(), self.sends.len(), self.events.len()]
    }

    /// Tells of a change of the belief, if it is one.
    fn report_change(&mut self, before: Belief, after: Belief) {
        let reason = self.reason.take();
        if before == after {
            return;
        }
        let (from, Belief { role: to, leader }) = (before.role, after);
        assert!(C::may_become(from, to), "{}: {from} cannot become {to}", C::NAME);
        let Some(reason) = reason else {
            unreachable!("{}: {from} becomes {to} without a reason", C::NAME)
        };
        self.events.push_back(Event::RoleChanged { from, to, leader, reason });
    }
}

impl<C: Core> Node<C> {
    /// Returns a node that is not started yet, with what it made durable last in an earlier life.
    /// The seed is a random number that is new at each start: a node without a state votes in the
    /// name of the life that it [stands for](super::Birth).
    ///
    /// # Errors
    ///
    /// What [`Core::validate`] says.
    pub fn new(
        config: C::Config,
        durable: Option<C::Durable>,
        seed: u64,
    ) -> Result<Self, C::Error> {
        C::validate(&config, durable.as_ref())?;
        let config = Arc::new(C::restored(config, durable.as_ref()));
        let (shell, journal) = (Shell::new(), Journal::CLOSED);
        Ok(Self { config, durable, seed, core: None, shell, journal })
    }

    /// Returns this node, which records its [steps](Node::take_steps) from here on.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.journal = Journal::open();
        self
    }

    /// Returns the steps that the node has taken since this was called last, in their order; none
    /// if it does not [record](Node::recording) them. That a node records changes nothing else.
    #[must_use]
    pub fn take_steps(&mut self) -> Vec<NodeStep<C>> {
        self.journal.take()
    }

    /// Takes note of something that happened at `now`. Deadlines that have passed come first.
    ///
    /// # Panics
    ///
    /// If the core is wrong: it takes a role that it [must not](Core::may_become) take, or does so
    /// without a reason. No input makes a correct core panic.
    pub fn handle(&mut self, now: Time, input: Input<C::Message>) {
        let armed_before = self.shell.timers.generation();
        while let Some(timer) = self.shell.timers.expire(now, armed_before) {
            let trigger = Trigger::Expire(timer);
            self.step(now, trigger, |core, context| core.expire(context, timer));
        }
        match input {
            Input::Boot => self.boot(now),
            Input::Receive { from, message } => self.receive(now, from, message),
            Input::Suspect(node) if self.watched().any(|watched| watched == node) => {
                let trigger = Trigger::Suspect(node);
                self.step(now, trigger, |core, context| core.suspect(context, node));
            }
            Input::Request(request) => {
                let trigger = Trigger::Request(request.clone());
                self.step(now, trigger, |core, context| core.request(context, request));
            }
            Input::Suspect(_) | Input::Wake => {}
        }
    }

    /// Lets `timer` expire at `deadline` already, as if its [period](Core::period) had been shorter
    /// when it was armed; nothing happens if it is not armed, or due by then.
    ///
    /// Tests let timers expire so in an order that the configured durations forbid. A program does
    /// it with a timer that [waits](Node::skippable_wait) for nodes that are gone.
    pub fn bring_forward(&mut self, timer: C::Timer, deadline: Time) {
        self.shell.timers.bring_forward(timer, deadline);
    }

    /// Returns the next effect; `None` once all are taken. Drain it after every [`Node::handle`].
    pub fn poll(&mut self) -> Option<Output<C::Durable, C::Message>> {
        let shell = &mut self.shell;
        if let Some(durable) = shell.persists.pop_front() {
            return Some(Output::Persist(durable));
        }
        if let Some((to, message)) = shell.sends.pop_front() {
            return Some(Output::Send { to, message });
        }
        if let Some(event) = shell.events.pop_front() {
            return Some(Output::Event(event));
        }
        let next = shell.timers.next_deadline();
        if next == shell.announced {
            return None;
        }
        shell.announced = next;
        Some(Output::WakeAt(next))
    }

    /// Returns what the node believes.
    #[must_use]
    pub fn status(&self) -> Status {
        let Belief { role, leader } = self.belief();
        Status { id: self.config.id(), role, leader }
    }

    /// Returns the lease of a node that leads for a time; `None` if it does not lead, or its
    /// protocol knows no leases. The lease may be over: the node notices at its next input.
    #[must_use]
    pub fn lease(&self) -> Option<Lease> {
        let (epoch, timer) = self.core.as_ref()?.lease()?;
        let until = self.shell.timers.deadline(timer)?;
        Some(Lease { epoch, until })
    }

    /// Returns the epoch that this node leads, if its lease lasts at `now`. Ask it immediately
    /// before each thing that only a leader may do, and send the epoch along: between the question
    /// and what is done, a pause may always come.
    #[must_use]
    pub fn leads(&self, now: Time) -> Option<Epoch> {
        self.lease().filter(|lease| lease.until > now).map(|lease| lease.epoch)
    }

    /// Returns the epoch of the leader that the node follows or is, if its protocol has epochs.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.core.as_ref()?.epoch()
    }

    /// Returns the timers that are armed, with their deadlines, in the order of [`Core::TIMERS`].
    pub fn armed(&self) -> impl Iterator<Item = (C::Timer, Time)> + '_ {
        self.shell.timers.armed()
    }

    /// Returns the timers of a node that has not booted, each with the time that it takes; none of
    /// which a request says how long they take.
    pub fn durations(&self) -> impl Iterator<Item = (C::Timer, Duration)> + '_ {
        let takes = move |timer| C::period_from_start(&self.config, self.durable.as_ref(), timer);
        let all = C::TIMERS.iter().map(move |&timer| (timer, takes(timer)));
        all.filter(|(_, takes)| *takes > Duration::ZERO)
    }

    /// Returns the nodes that a failure detector outside the core watches, and reports by
    /// [`Input::Suspect`]. Look again after every `handle`: a node that is new is to be watched
    /// from then on, one that is gone is not. A report ends the watch; a node that is still listed
    /// after it is to be watched anew, and reported again.
    pub fn watched(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.core.iter().flat_map(|core| core.watched(&self.config))
    }

    /// Returns the timer that runs only because one of these nodes may still send a message, and
    /// these nodes; see [`Core::skippable_wait`].
    #[must_use]
    pub fn skippable_wait(&self) -> Option<(C::Timer, Vec<NodeId>)> {
        let waits = self.core.as_ref()?.skippable_wait(&self.config)?;
        let armed = self.shell.timers.deadline(waits.0).is_some();
        Some(waits).filter(|(_, nodes)| armed && !nodes.is_empty())
    }

    /// Returns the node that would be best to lead after this one, if this one leads: the one to
    /// name in a [`Request`].
    #[must_use]
    pub fn successor(&self) -> Option<NodeId> {
        self.core.as_ref()?.successor(&self.config)
    }

    /// Returns whether a leader that was asked to hand over to this node waits for it still.
    #[must_use]
    pub fn awaits_successor(&self, to: NodeId) -> bool {
        self.core.as_ref().is_some_and(|core| core.awaits_successor(to))
    }

    /// Returns the lists of members that the node knows, if they can change while it runs.
    #[must_use]
    pub fn lists(&self) -> Option<&Lists> {
        match &self.core {
            Some(core) => core.lists(),
            None => self.durable.as_ref().and_then(C::durable_lists),
        }
    }

    /// Returns the core; `None` before the node has booted.
    #[must_use]
    pub fn core(&self) -> Option<&C> {
        self.core.as_ref()
    }

    /// Returns the configuration that the node has: the one that it got before it started, but for
    /// what has changed since.
    #[must_use]
    pub fn config(&self) -> &C::Config {
        &self.config
    }

    fn belief(&self) -> Belief {
        self.core.as_ref().map_or(Belief::NOT_STARTED, |core| core.belief(&self.config))
    }

    /// A node that boots twice is up already.
    fn boot(&mut self, now: Time) {
        if self.core.is_none() {
            let (queued, durable) = (self.shell.queued(), self.durable.take());
            let trigger = self.journal.is_open().then(|| Trigger::Boot(durable.clone()));
            let mut context = Context { now, config: &*self.config, shell: &mut self.shell };
            let core = C::boot(&mut context, durable, self.seed);
            self.shell.report_change(Belief::NOT_STARTED, core.belief(&self.config));
            self.core = Some(core);
            if let Some(trigger) = trigger {
                self.record(trigger, queued);
            }
        }
    }

    /// A message is believed only if it comes from another node that this one knows.
    fn receive(&mut self, now: Time, from: NodeId, message: C::Message) {
        if self.core.is_none() {
            return;
        }
        let trigger = Trigger::Receive { from, message: message.clone() };
        let cause = if from == self.config.id() {
            Reason::OWN_ID
        } else if self.core.as_ref().is_some_and(|core| !core.hears(&self.config, from)) {
            Reason::UNKNOWN_SENDER
        } else {
            return self.step(now, trigger, |core, context| core.receive(context, from, message));
        };
        let queued = self.shell.queued();
        self.shell.events.push_back(Event::Ignored { from, cause });
        self.record(trigger, queued);
    }

    /// Lets the core do one thing, and tells what it changed.
    fn step(
        &mut self,
        now: Time,
        trigger: Trigger<C>,
        act: impl FnOnce(&mut C, &mut Context<'_, C>),
    ) {
        let Some(core) = &mut self.core else { return };
        let queued = self.shell.queued();
        let before = core.belief(&self.config);
        act(core, &mut Context { now, config: &*self.config, shell: &mut self.shell });
        if let Some(config) = self.shell.adopted.take() {
            self.config = Arc::new(config);
        }
        self.shell.report_change(before, core.belief(&self.config));
        self.record(trigger, queued);
    }

    /// Records a step, before which so much was to be put out.
    fn record(&mut self, trigger: Trigger<C>, queued: [usize; 3]) {
        if !self.journal.is_open() {
            return;
        }
        let ([persists, sends, events], shell) = (queued, &self.shell);
        let step = NodeStep {
            trigger,
            persists: shell.persists.range(persists..).cloned().collect(),
            sends: shell.sends.range(sends..).cloned().collect(),
            events: shell.events.range(events..).copied().collect(),
            status: self.status(),
            epoch: self.epoch(),
            lease: self.lease(),
            armed: self.armed().collect(),
            watched: self.watched().collect(),
        };
        self.journal.add(step);
    }
}

/// A step that a node has taken: what happened to it, what it put out, and what it is then.
///
/// A wake-up in which no timer expires is no step, and neither is a report about a node that is not
/// watched, a second boot, or anything before the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStep<C: Core> {
    /// What happened to the node.
    pub trigger: Trigger<C>,
    /// The states that it made durable in this step, in their order.
    pub persists: Vec<C::Durable>,
    /// The messages that it sent, in their order.
    pub sends: Vec<(NodeId, C::Message)>,
    /// The events that it told, in their order.
    pub events: Vec<Event>,
    /// What it believes then.
    pub status: Status,
    /// The epoch of the leader that it follows or is.
    pub epoch: Option<Epoch>,
    /// Its lease.
    pub lease: Option<Lease>,
    /// The timers that are armed then, with their deadlines.
    pub armed: Vec<(C::Timer, Time)>,
    /// The nodes that it watches then.
    pub watched: Vec<NodeId>,
}

/// What happened to a node in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger<C: Core> {
    /// It started, with what it had made durable before.
    Boot(Option<C::Durable>),
    /// A message was delivered.
    Receive {
        /// The node that sent it.
        from: NodeId,
        /// The message.
        message: C::Message,
    },
    /// A timer expired.
    Expire(C::Timer),
    /// A node that it watches was suspected.
    Suspect(NodeId),
    /// It was asked for something.
    Request(Request),
}

/// The steps since they were read last; `None` if they are not recorded. They are no part of what a
/// node is: two nodes that differ in nothing else are equal.
#[derive(Clone, Debug)]
struct Journal<C: Core>(Option<Vec<NodeStep<C>>>);

impl<C: Core> Journal<C> {
    /// Nothing is recorded.
    const CLOSED: Self = Self(None);

    /// Steps are recorded from here on.
    fn open() -> Self {
        Self(Some(Vec::new()))
    }

    fn is_open(&self) -> bool {
        self.0.is_some()
    }

    fn add(&mut self, step: NodeStep<C>) {
        if let Self(Some(steps)) = self {
            steps.push(step);
        }
    }

    /// The steps since this was called last.
    fn take(&mut self) -> Vec<NodeStep<C>> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

impl<C: Core> PartialEq for Journal<C> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<C: Core> Eq for Journal<C> {}

impl<C: Core> Hash for Journal<C> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests;
