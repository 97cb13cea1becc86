//! One node of the program with what surrounds a core in production: a clock, the wake-up that it
//! asked for, and what it made durable.
//!
//! # Time
//!
//! The worlds have no clock, a core has one, and it goes on with everything that happens to a node:
//!
//! - a moment passes before a node boots or a message arrives;
//! - to let a timer expire, its deadline passes, and a moment more, as a wake-up comes late.
//!
//! So whatever a timer counts from shows in its deadline: the moment of a request is not that of
//! its answer, and the deadline that has passed is not the moment at which that is handled. Every
//! deadline is compared with that, and with the period that the configuration gives.
//!
//! A world lets timers expire in orders that the configured durations forbid: of two timers that
//! are armed at one moment, the one with the longer period first. That is no mistake of the
//! program, it is another configuration, or clocks that drift, or a machine that is slow. If the
//! timer that expires is not the first that is due, its deadline is therefore [brought
//! forward](crate::Program::bring_forward): to the core it is as if its period had been shorter
//! when it was last armed. That distorts nothing else. The timer expires in the same step, so no
//! deadline that was moved is left behind; all others stay what they were when they were armed.
//! A configuration with other durations would not do in its place: durations are the same
//! throughout an execution, and the model's choice is free each time.
//!
//! Nodes' clocks are independent, as they are in production. A core's behaviour depends on
//! differences of times only (the program's own tests hold it to that), so nodes that differ in
//! nothing but the absolute time, and in how far away a deadline is, behave alike as long as their
//! deadlines come in the same order. The [key](Node::key) keeps that order and drops the times.
//!
//! A key is what the mapping reads of a node. What a program remembers beyond it would be hidden
//! from the walk, so two nodes with one key are compared by [all that they
//! remember](crate::program::Program::remembers).

use crate::divergence::Difference;
use crate::error::Error;
use crate::mapping::{
    self, Durable, EnvironmentEvent, Mapping, More, Process, ProgramOutput, Restart, Sides,
    SpecEvent, SpecTimer, Stable, node_id, node_request,
};
use crate::program::{BrokenPromise, Limits, Program as _, Remembered as _};
use bellwether_core::protocol::{Input, Members, NodeId, Output, Role, Status, Time};
use bellwether_engine::protocol::{Id, MAX_TIMERS, Protocol as Specification, TimerRow, Timers};
use bellwether_engine::trace::{label, plain};
use std::any::Any;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A core that puts out more than this after one input will not stop by itself.
pub(crate) const MOST_OUTPUTS: usize = 1 << 12;

/// What passes between two things that happen to a node. It is no round number, and so short that
/// no deadline comes near by it alone.
pub(crate) const MOMENT: Duration = Duration::from_nanos(1_009);

/// Deadlines that are not at least so far apart are passed one at a time.
const APART: Duration = Duration::from_micros(200);

/// The group that the nodes form, and how they read as processes.
pub struct Group<'a, T: Sides> {
    /// The mapping of the protocol.
    pub mapping: &'a Mapping<T>,
    /// The members, as the program knows them; services are the highest.
    pub members: Members,
    /// The number of members, with services.
    pub size: usize,
    /// The number of members that nodes stand beside: all, or all but the
    /// [services](crate::mapping::Variants::unplayed).
    pub(crate) played: usize,
    /// The [periods](crate::mapping::Mapping::period) of each node's timers, in the specification's order.
    pub(crate) periods: Vec<[Option<Duration>; MAX_TIMERS]>,
    /// The [limits](crate::mapping::Durations::limits) of each node, if the mapping says them.
    pub(crate) limits: Vec<Option<Limits>>,
}

/// The view of a node: what it stands for in the model, and what it tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeView<P: Specification> {
    /// Whether the node has booted.
    pub up: bool,
    /// The role that the node tells.
    pub role: Role,
    /// The leader that the node tells.
    pub leader: Option<NodeId>,
    /// The process that the node stands for.
    pub process: P::Process,
    /// The stable storage of that process.
    pub stable: P::Stable,
    /// The timers that are armed.
    pub timers: Timers,
}

impl<P: Specification> NodeView<P> {
    /// The view of a node that has not started.
    pub(crate) fn down() -> Self {
        NodeView {
            up: false,
            role: Role::NotStarted,
            leader: None,
            process: P::Process::default(),
            stable: P::Stable::default(),
            timers: Timers::NONE,
        }
    }
}

/// When each of the specification's timers is due, in its order.
pub(crate) type Deadlines = [Option<Time>; MAX_TIMERS];

/// The positions of the armed timers, the one that is due first in front.
fn order(deadlines: &Deadlines) -> [u8; MAX_TIMERS] {
    let mut due: [(Option<Time>, u8); MAX_TIMERS] = [(None, u8::MAX); MAX_TIMERS];
    for (place, (at, deadline)) in due.iter_mut().zip((0..).zip(*deadlines)) {
        if deadline.is_some() {
            *place = (deadline, at);
        }
    }
    due.sort_unstable_by_key(|&(deadline, at)| (deadline.is_none(), deadline, at));
    due.map(|(_, at)| at)
}

/// The key of a node: its id, its view, the order in which its timers are due, and, where nodes
/// start again with other durations, all that it remembers and has made durable: the same is
/// durable by other durations. Two nodes with the same key behave alike.
pub type Key<T> = (Id, NodeView<<T as Sides>::Spec>, [u8; MAX_TIMERS], Option<String>);

/// One node of the program.
#[derive(Clone)]
pub struct Node<T: Sides> {
    pub(crate) id: Id,
    core: T::Program,
    pub(crate) now: Time,
    /// The wake-up that it asked for last.
    pub(crate) wake: Option<Time>,
    durable: Option<Durable<T>>,
    pub(crate) view: NodeView<T::Spec>,
    pub(crate) deadlines: Deadlines,
    /// The set of durations with which it has started again, if they are others.
    pub(crate) restarted: Option<usize>,
    /// The state that the node must make durable first as it boots, for that reason.
    due: Option<Durable<T>>,
}

impl<'a, T: Sides> Group<'a, T> {
    /// Returns the group of the processes 1 to `nodes`, and the services that they use, as nodes of
    /// the program.
    ///
    /// # Errors
    /// If the program has no group of that size, or if the mapping gives a timer no period, or the
    /// period of another.
    pub fn new(mapping: &'a Mapping<T>, nodes: usize) -> Result<Self, Error> {
        let size = nodes + T::Spec::OPTIONS.services.count;
        let played = if mapping.more.variants.unplayed.is_some() { nodes } else { size };
        let members = Members::new(Id::all(size).map(node_id)).map_err(|error| {
            Error::Configuration { node: node_id(Id::at(0)), source: error.into() }
        })?;
        let periods = Id::all(size).map(|id| periods(mapping, node_id(id), &members));
        let periods = periods.collect::<Result<_, Error>>()?;
        let limits = Id::all(size)
            .map(|id| (mapping.more.durations.limits)(node_id(id), &members))
            .collect();
        Ok(Group { mapping, members, size, played, periods, limits })
    }

    /// Whether a node stands beside this process.
    pub(crate) fn plays(&self, id: Id) -> bool {
        id.index() < self.played
    }

    /// Returns a node that has not booted.
    ///
    /// # Errors
    /// If the program refuses the configuration.
    pub fn fresh(&self, id: Id) -> Result<Node<T>, Error> {
        self.incarnation(id, Time::ZERO, None)
    }

    fn incarnation(
        &self,
        id: Id,
        now: Time,
        durable: Option<Durable<T>>,
    ) -> Result<Node<T>, Error> {
        let node = node_id(id);
        let restarts = &self.mapping.more.restarts;
        let restarted = restarts.now.filter(|_| durable.is_some());
        let built = match (restarted, &durable) {
            (Some(with), Some(durable)) => (restarts.program)(with, node, &self.members, durable),
            _ => (self.mapping.program)(node, &self.members, durable.as_ref())
                .map(|program| Restart { program, written: None }),
        };
        let Restart { program: core, written: due } =
            built.map_err(|source| Error::Configuration { node, source })?;
        let (view, deadlines) = self.observe(&core, durable.as_ref());
        Ok(Node { id, core, now, wake: None, durable, view, deadlines, restarted, due })
    }

    /// The face and the deadlines of a core.
    fn observe(
        &self,
        core: &T::Program,
        durable: Option<&Durable<T>>,
    ) -> (NodeView<T::Spec>, Deadlines) {
        let mut deadlines = [None; MAX_TIMERS];
        for (timer, deadline) in self.mapping.armed(core) {
            deadlines[Timers::place::<T::Spec>(timer)] = Some(deadline);
        }
        let Status { role, leader, .. } = core.status();
        let detects = |timer: &SpecTimer<T>| {
            let node = (self.mapping.more.events.detects)(*timer);
            node.is_some_and(|node| core.node().watched().any(|watched| watched == node))
        };
        let armed = self.mapping.armed(core).map(|(timer, _)| timer);
        let armed = armed.chain(T::Spec::TIMERS.iter().map(|row| row.timer).filter(detects));
        let view = NodeView {
            up: role != Role::NotStarted,
            role,
            leader,
            process: (self.mapping.process)(core),
            stable: durable.map_or_else(Stable::<T>::default, |d| (self.mapping.stable)(d)),
            timers: mapping::timers::<T::Spec>(armed),
        };
        (view, deadlines)
    }
}

/// A step in which a node panics.
fn panicked(id: Id, panic: &(dyn Any + Send)) -> Difference {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
    let words = format!("it panics: {}", words.unwrap_or("without a word"));
    Difference::different(id, "step", "taken", words)
}

fn periods<T: Sides>(
    mapping: &Mapping<T>,
    id: NodeId,
    members: &Members,
) -> Result<[Option<Duration>; MAX_TIMERS], Error> {
    let mut periods = [None; MAX_TIMERS];
    let duration = |row: &TimerRow<T::Spec>| row.duration.map(|duration| duration.name);
    for (at, row) in T::Spec::TIMERS.iter().enumerate() {
        periods[at] = (mapping.period)(id, members, row.timer);
        let Some(period) = periods[at] else {
            let ours = (mapping.more.events.detects)(row.timer).is_none()
                && !mapping.is_from_outside(row.timer);
            // It may be a timer of services that the specification plays.
            let ours = ours && mapping.more.variants.unplayed.is_none();
            if (row.armed)(&mapping.rules) && ours {
                return Err(Error::NoPeriod { timer: plain(&row.timer) });
            }
            continue;
        };
        let mut earlier = T::Spec::TIMERS.iter().zip(&periods[..at]);
        let same = earlier.find(|(other, known)| {
            let one = row.duration.is_some() && duration(other) == duration(row);
            **known == Some(period) && !one
        });
        if let Some((other, _)) = same {
            return Err(Error::SamePeriod { timer: plain(&row.timer), other: plain(&other.timer) });
        }
    }
    Ok(periods)
}

impl<T: Sides> Node<T> {
    /// The node, as the outside sees it.
    pub(crate) fn program(&self) -> &T::Program {
        &self.core
    }

    /// Returns what tells this node from others.
    pub fn key(&self, group: &Group<'_, T>) -> Key<T> {
        let all = group.mapping.more.restarts.now;
        let all = all.map(|_| format!("{:?} {:?}", self.durable, self.core.remembers()));
        (self.id, self.view, order(&self.deadlines), all)
    }

    /// What this node remembers and `known`, which has the same key, does not.
    pub(crate) fn hides(&self, group: &Group<'_, T>, known: &Self) -> Vec<Difference> {
        let (here, there) = (self.core.remembers(), known.core.remembers());
        if !here.is_same_as(&there) {
            let declared = &group.mapping.more.probes.ignored_fields;
            return differences(self.id, declared, &here, &there);
        }
        match (&self.durable, &known.durable) {
            (Some(here), Some(there)) if here != there => {
                let declared = &group.mapping.more.probes.ignored_fields;
                differences(self.id, declared, here, there)
            }
            _ => Vec::new(), // nothing written reads as the default
        }
    }

    /// The armed timers with their deadlines, the one that is due first in front.
    pub(crate) fn armed(&self) -> impl Iterator<Item = (Time, SpecTimer<T>)> {
        let at = |at: u8| {
            let at = usize::from(at);
            Some(((*self.deadlines.get(at)?)?, T::Spec::TIMERS[at].timer))
        };
        order(&self.deadlines).into_iter().map_while(at)
    }

    /// When the first of its timers is due.
    pub(crate) fn earliest(&self) -> Option<Time> {
        self.deadlines.iter().copied().flatten().min()
    }

    /// A moment later, unless a timer is due by then.
    pub(crate) fn next_moment(&self) -> Time {
        let next = self.now + MOMENT;
        if self.earliest().is_some_and(|due| due <= next) { self.now } else { next }
    }

    /// Lets something happen to the core, and takes all its outputs.
    pub(crate) fn run(
        &mut self,
        group: &Group<'_, T>,
        now: Time,
        outputs: &mut Vec<ProgramOutput<T>>,
        act: impl FnOnce(&mut T::Program),
    ) -> Result<(), Difference> {
        self.now = now;
        let (core, begin) = (&mut self.core, outputs.len());
        let run = catch_unwind(AssertUnwindSafe(|| {
            act(core);
            outputs.extend(std::iter::from_fn(|| core.poll()).take(MOST_OUTPUTS));
        }));
        if let Err(panic) = run {
            return Err(panicked(self.id, panic.as_ref()));
        }
        if outputs.len() - begin == MOST_OUTPUTS {
            let words = format!("more than {MOST_OUTPUTS} of them; it does not stop");
            return Err(Difference::unexpected(self.id, "outputs", words));
        }
        if let Some(BrokenPromise { what, right, wrong }) = self.core.broken_promise() {
            return Err(Difference::different(self.id, what, right, wrong));
        }
        if !self.view.up
            && self.core.status().role != Role::NotStarted
            && let Some(due) = self.due.take()
        {
            match outputs.get(begin) {
                Some(Output::Persist(written)) if *written == due => drop(outputs.remove(begin)),
                first => {
                    let what = "what is durable first, with other durations";
                    let (right, wrong) = (format!("{due:?}"), format!("{first:?}"));
                    return Err(Difference::different(self.id, what, right, wrong));
                }
            }
            self.durable = Some(due);
        }
        for output in &outputs[begin..] {
            match output {
                Output::WakeAt(wake) => self.wake = *wake,
                Output::Persist(durable) => self.durable = Some(durable.clone()),
                Output::Send { .. } | Output::Event(_) => {}
            }
        }
        (self.view, self.deadlines) = group.observe(&self.core, self.durable.as_ref());
        Ok(())
    }

    /// The node after something has happened to it, and into `outputs` what it put out.
    pub(crate) fn react(
        &self,
        group: &Group<'_, T>,
        happening: SpecEvent<T::Spec>,
        outputs: &mut Vec<ProgramOutput<T>>,
    ) -> Result<Node<T>, Difference> {
        outputs.clear();
        let mut next = self.clone();
        let (now, input) = match happening {
            SpecEvent::Boot => (self.next_moment(), Input::Boot),
            SpecEvent::Receive { from, message } => {
                let translated = (group.mapping.to_program)(message).ok_or_else(|| {
                    let words = format!("{}, which the program does not know", label(&message));
                    Difference::missing(self.id, "kind of message", words)
                })?;
                (self.next_moment(), Input::Receive { from: node_id(from), message: translated })
            }
            SpecEvent::Expire(timer) => {
                let More { asks, events, .. } = &group.mapping.more;
                let is_armed = self.view.timers.contains::<T::Spec>(timer);
                if let Some(node) = (events.detects)(timer).filter(|_| is_armed) {
                    (self.next_moment(), Input::Suspect(node))
                } else if let Some(request) = asks(timer) {
                    (self.next_moment(), Input::Request(request))
                } else if let Some(EnvironmentEvent { takes, act }) = (events.at)(timer) {
                    let now = self.next_moment() + takes;
                    next.run(group, now, outputs, |core| act(core, now))?;
                    return Ok(next);
                } else {
                    (next.expire_timer(group, timer)?, Input::Wake)
                }
            }
            SpecEvent::Asked(request) => {
                (self.next_moment(), Input::Request(node_request(request)))
            }
            SpecEvent::Crash => return self.crash(group, outputs),
        };
        next.run(group, now, outputs, |core| core.handle(now, input))?;
        Ok(next)
    }

    /// Lets the deadline of `timer` pass, and of no other: when that is noticed.
    fn expire_timer(
        &mut self,
        group: &Group<'_, T>,
        timer: SpecTimer<T>,
    ) -> Result<Time, Difference> {
        let at = Timers::place::<T::Spec>(timer);
        let armed = self.core.armed().find(|(own, _)| (group.mapping.timer)(*own) == timer);
        let (Some(own), Some(deadline)) = (armed.map(|(own, _)| own), self.deadlines[at]) else {
            let words = format!("{}, which is not armed", plain(&timer));
            return Err(Difference::missing(self.id, "expiry", words));
        };
        let others = self.deadlines.iter().zip(0..).filter(|&(_, other)| other != at);
        let next = others.filter_map(|(deadline, _)| *deadline).min();
        if next.is_none_or(|next| next > deadline + APART) {
            return Ok(deadline + MOMENT);
        }
        let soon = self.next_moment();
        self.core.bring_forward(own, soon);
        let late = soon + MOMENT;
        Ok(if next.is_some_and(|next| next <= late) { soon } else { late })
    }

    /// The core is dropped; the node's next incarnation has not booted yet. Nothing can come from
    /// the old core any more, and nothing may come from the new one before it boots.
    fn crash(
        &self,
        group: &Group<'_, T>,
        outputs: &mut Vec<ProgramOutput<T>>,
    ) -> Result<Node<T>, Difference> {
        let mut next =
            group.incarnation(self.id, self.now + MOMENT, self.durable.clone()).map_err(
                |error| Difference::different(self.id, "restart", "possible", error.to_string()),
            )?;
        outputs.extend(std::iter::from_fn(|| next.core.poll()).take(MOST_OUTPUTS));
        Ok(next)
    }

    /// Returns the process that the node stands for.
    pub fn process(&self) -> &Process<T> {
        &self.view.process
    }
}

/// In what the memories of two nodes `id` differ that read as one, if in more than instants, which
/// mean nothing to a core, and in fields that the mapping declares. They are compared as text.
fn differences(
    id: Id,
    declared: &[(&str, &str)],
    here: &dyn Debug,
    there: &dyn Debug,
) -> Vec<Difference> {
    let declared: Vec<_> = declared.iter().map(|&(field, _)| field).collect();
    let (here, there) = (lines(here, &declared), lines(there, &declared));
    if here == there {
        return Vec::new();
    }
    let only = |one: &[String], other: &[String]| -> String {
        let only: Vec<_> = one.iter().filter(|line| !other.contains(line)).collect();
        if only.is_empty() {
            return one.join(" ");
        }
        only.iter().map(|line| line.trim_end_matches(',')).collect::<Vec<_>>().join(", ")
    };
    let words = format!(
        "'{}' here and '{}' after another execution, but both read as one process of the model",
        only(&here, &there),
        only(&there, &here)
    );
    vec![Difference::hidden(id, words)]
}

/// The lines of the debug form, one for each field.
fn lines(of: &dyn Debug, declared: &[&str]) -> Vec<String> {
    let text = format!("{of:#?}");
    let mut lines = Vec::new();
    // While a value is left out: how far the line is indented that ends it.
    let mut ends: Option<usize> = None;
    let mut instant = false;
    for line in text.lines() {
        let (indent, line) = (line.len() - line.trim_start().len(), line.trim());
        if let Some(until) = ends {
            ends = ends.filter(|_| indent > until);
            continue;
        }
        let field = line.split_once(": ");
        if field.is_some_and(|(name, _)| declared.contains(&name)) {
            ends = Some(indent).filter(|_| line.ends_with(['(', '{', '[']));
            continue;
        }
        lines.push(if instant { "_,".to_owned() } else { line.to_owned() });
        instant = line.ends_with("Time(");
    }
    lines
}
