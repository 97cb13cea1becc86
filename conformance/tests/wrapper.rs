//! A right program with a mistake around it, and its mapping: what all wrong programs share.
//!
//! [`Hooks`] says in what a wrong program departs from the right one. All else is forwarded, so the
//! wrapper itself makes no difference. All mistakes around one program are of one type: the bridge
//! is compiled for each mapping, which takes long.

use bellwether_conformance::mapping::{
    Durable, ExpectedFacts, Mapping, OnInvalid, Order, Process, ProcessView, ProgramInput,
    ProgramMessage, ProgramOutput, ProgramTimer, SpecTimer,
};
use bellwether_conformance::program::{BrokenPromise, Facts, Limits, Program, Refusal, Remembered};
use bellwether_conformance::wraps::Wraps;
use bellwether_core::protocol::{Epoch, Input, Members, NodeId, Output, Role, Status, Time};
use bellwether_model::protocol::Timers;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// A mistake: in what a program and its mapping depart from those of `M`. By default that is in
/// nothing. The mapping has the value of a node that has not started. Each node has a copy of its
/// own, and keeps in it what the mistake makes it remember.
pub(crate) trait Hooks<M: Mapping>: Copies<M> + Send + Sync {
    /// Whether probes also send what no correct node sends. Most mistakes must show without it.
    fn probes_invalid_messages(&self) -> bool {
        false
    }

    /// Whether what a node tells the outside is compared. Most mistakes must show without it.
    fn compares_facts(&self) -> bool {
        false
    }

    /// Whether requests are probed. Most mistakes must show without it.
    fn probes_requests(&self) -> bool {
        false
    }

    /// Returns what a node is given of what it kept through its last crash.
    fn kept(&self, right: Option<Durable<M>>) -> Option<Durable<M>> {
        right
    }

    /// Prepares a node that has not booted.
    fn begin(&self, node: &mut Wrapped<M::Program>) {
        let _ = node;
    }

    /// Handles what happens to a node.
    fn handle(&mut self, node: &mut Wrapped<M::Program>, now: Time, input: ProgramInput<M>) {
        node.feed(now, input);
    }

    /// Returns the next output.
    fn poll(&self, node: &mut Wrapped<M::Program>) -> Option<ProgramOutput<M>> {
        node.outputs.pop_front()
    }

    /// Returns what the node tells of itself.
    fn status(&self, right: Status) -> Status {
        right
    }

    /// Returns what the node remembers besides, in its debug form on several lines; `None` if this
    /// mistake never makes it remember anything.
    fn remembers(&self) -> Option<String> {
        None
    }

    /// Returns the timers that the node shows as armed.
    fn armed(&self, node: &Wrapped<M::Program>) -> Vec<(ProgramTimer<M>, Time)> {
        node.core.armed().collect()
    }

    /// See [`Program::bring_forward`].
    fn bring_forward(
        &mut self,
        node: &mut Wrapped<M::Program>,
        timer: ProgramTimer<M>,
        deadline: Time,
    ) {
        node.core.bring_forward(timer, deadline);
    }

    /// Returns what the node tells the outside.
    fn facts(&self, node: &Wrapped<M::Program>) -> Facts<ProgramTimer<M>> {
        node.core.facts()
    }

    /// Returns the process that the node stands for.
    fn process(&self, right: Process<M>) -> Process<M> {
        right
    }

    /// Returns, as text, what of this mistake belongs to the [memory](Mapping::memory).
    fn memory(&self) -> String {
        String::new()
    }

    /// See [`Mapping::ignored_fields`].
    fn ignored_fields(
        &self,
        right: &'static [(&'static str, &'static str)],
    ) -> &'static [(&'static str, &'static str)] {
        right
    }

    /// Returns the period that the mapping gives a timer.
    fn period(&self, right: Option<Duration>) -> Option<Duration> {
        right
    }
}

/// A mistake that can be copied although its type is forgotten.
pub(crate) trait Copies<M: Mapping> {
    fn copy(&self) -> Box<dyn Hooks<M>>;
}

impl<M: Mapping, H: Hooks<M> + Clone + 'static> Copies<M> for H {
    fn copy(&self) -> Box<dyn Hooks<M>> {
        Box::new(self.clone())
    }
}

/// What a program puts out.
pub(crate) type Out<P> = Output<<P as Program>::Durable, <P as Program>::Message>;

/// The right program, and what is put out in its place.
#[derive(Clone)]
pub(crate) struct Wrapped<P: Program> {
    pub(crate) core: P,
    pub(crate) outputs: VecDeque<Out<P>>,
}

impl<P: Program> Wrapped<P> {
    pub(crate) fn id(&self) -> NodeId {
        self.core.status().id
    }

    pub(crate) fn role(&self) -> Role {
        self.core.status().role
    }

    /// Returns when this timer is due, if it is armed.
    pub(crate) fn due(&self, timer: P::Timer) -> Option<Time>
    where
        P::Timer: PartialEq,
    {
        self.core.armed().find(|(armed, _)| *armed == timer).map(|(_, due)| due)
    }

    /// Whether a deadline has passed.
    pub(crate) fn is_late(&self, now: Time) -> bool {
        self.core.armed().any(|(_, due)| due <= now)
    }

    /// Gives the right program an input, and takes over all that it puts out.
    pub(crate) fn feed(&mut self, now: Time, input: Input<P::Message>) {
        self.core.handle(now, input);
        self.drain();
    }

    /// Takes over all that the right program has to put out.
    pub(crate) fn drain(&mut self) {
        self.outputs.extend(std::iter::from_fn(|| self.core.poll()));
    }

    /// Sends a message before all events and the wake-up, as it should be.
    pub(crate) fn say(&mut self, to: impl IntoIterator<Item = NodeId>, message: P::Message) {
        let later = |output: &_| matches!(output, Output::Event(_) | Output::WakeAt(_));
        let end = self.outputs.iter().position(later).unwrap_or(self.outputs.len());
        for ((at, to), message) in (end..).zip(to).zip(std::iter::repeat(message)) {
            self.outputs.insert(at, Output::Send { to, message });
        }
    }

    /// Puts something else out for each output, or nothing.
    pub(crate) fn change(&mut self, mut to: impl FnMut(&P, Out<P>) -> Option<Out<P>>) {
        let right = std::mem::take(&mut self.outputs);
        self.outputs = right.into_iter().filter_map(|output| to(&self.core, output)).collect();
    }

    /// Sends the first message last. Messages are all that is put out before events.
    pub(crate) fn send_first_last(&mut self) {
        let sends = self.outputs.iter().filter(|o| matches!(o, Output::Send { .. })).count();
        if sends > 0 {
            self.outputs.make_contiguous()[..sends].rotate_left(1);
        }
    }

    /// Asks to be woken a millisecond later.
    pub(crate) fn wake_late(&mut self) {
        for output in &mut self.outputs {
            if let Output::WakeAt(Some(at)) = output {
                *at = *at + Duration::from_millis(1);
            }
        }
    }
}

/// What a right program remembers, and its mistake besides.
struct Memory<T>(T, Option<String>);

impl<T: fmt::Debug> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.1 {
            None => fmt::Debug::fmt(&self.0, f),
            Some(text) => f.debug_tuple("").field(&self.0).field(&format_args!("{text}")).finish(),
        }
    }
}

impl<T: Remembered> Remembered for Memory<T> {
    fn is_same_as(&self, other: &Self) -> bool {
        self.0.is_same_as(&other.0) && self.1 == other.1
    }
}

/// A node of a wrong program.
pub(crate) struct WrongProgram<M: Mapping> {
    node: Wrapped<M::Program>,
    hooks: Box<dyn Hooks<M>>,
}

impl<M: Mapping> Clone for WrongProgram<M> {
    fn clone(&self) -> Self {
        WrongProgram { node: self.node.clone(), hooks: (*self.hooks).copy() }
    }
}

impl<M: Mapping> Program for WrongProgram<M> {
    const NAME: &'static str = <M::Program as Program>::NAME;
    type Durable = Durable<M>;
    type Message = ProgramMessage<M>;
    type Timer = ProgramTimer<M>;

    fn handle(&mut self, now: Time, input: ProgramInput<M>) {
        self.hooks.handle(&mut self.node, now, input);
    }

    fn poll(&mut self) -> Option<ProgramOutput<M>> {
        self.hooks.poll(&mut self.node)
    }

    fn status(&self) -> Status {
        self.hooks.status(self.node.core.status())
    }

    fn remembers(&self) -> impl Remembered {
        Memory(self.node.core.remembers(), self.hooks.remembers())
    }

    fn armed(&self) -> impl Iterator<Item = (ProgramTimer<M>, Time)> {
        self.hooks.armed(&self.node).into_iter()
    }

    fn bring_forward(&mut self, timer: ProgramTimer<M>, deadline: Time) {
        self.hooks.bring_forward(&mut self.node, timer, deadline);
    }

    fn watched(&self) -> impl Iterator<Item = NodeId> {
        self.node.core.watched()
    }

    fn broken_promise(&self) -> Option<BrokenPromise> {
        self.node.core.broken_promise()
    }

    fn facts(&self) -> Facts<ProgramTimer<M>> {
        self.hooks.facts(&self.node)
    }

    fn leads(&self, now: Time) -> Option<Epoch> {
        self.node.core.leads(now)
    }

    fn awaits_successor(&self, to: NodeId) -> bool {
        self.node.core.awaits_successor(to)
    }

    fn may_lead(&self, node: NodeId) -> bool {
        self.node.core.may_lead(node)
    }

    fn is_witness(&self, node: NodeId) -> bool {
        self.node.core.is_witness(node)
    }

    fn limits(&self) -> Option<Limits> {
        self.node.core.limits()
    }
}

/// The mapping of a right program, for one with a mistake. The program [serves
/// requests](Program::REQUESTS), and so none is probed that its specification does not know.
pub(crate) struct WrongMapping<M: Mapping>(M, Box<dyn Hooks<M>>);

impl<M: Mapping> WrongMapping<M> {
    pub(crate) fn new(mapping: M, hooks: impl Hooks<M> + 'static) -> Self {
        WrongMapping(mapping, Box::new(hooks))
    }
}

impl<M: Mapping> Wraps for WrongMapping<M> {
    type Inner = M;
    type Program = WrongProgram<M>;
    type Memory = String;

    fn inner(&self) -> &M {
        &self.0
    }

    fn inside(program: &WrongProgram<M>) -> &M::Program {
        &program.node.core
    }

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<M>>,
    ) -> Result<WrongProgram<M>, Refusal> {
        let kept = self.1.kept(durable.cloned());
        let core = self.0.program(id, members, kept.as_ref())?;
        let mut node = Wrapped { core, outputs: VecDeque::new() };
        self.1.begin(&mut node);
        Ok(WrongProgram { node, hooks: (*self.1).copy() })
    }

    fn memory(&self, program: &WrongProgram<M>) -> String {
        program.hooks.memory()
    }

    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<M>) -> Option<Duration> {
        self.1.period(self.0.period(id, members, timer))
    }

    fn orders(&self, of: &ProcessView<'_, M::Spec>, armed: Timers) -> Vec<Order<M::Spec>> {
        if self.1.probes_requests() { self.0.orders(of, armed) } else { Vec::new() }
    }

    fn process(&self, program: &WrongProgram<M>) -> Process<M> {
        program.hooks.process(self.0.process(&program.node.core))
    }

    fn facts(&self, of: &ProcessView<'_, M::Spec>) -> Option<ExpectedFacts<M::Spec>> {
        if self.1.compares_facts() { self.0.facts(of) } else { None }
    }

    fn limits(&self, id: NodeId, members: &Members) -> Option<Limits> {
        self.0.limits(id, members).filter(|_| self.1.compares_facts())
    }

    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        self.1.ignored_fields(self.0.ignored_fields())
    }

    fn invalid_messages(&self, members: &Members) -> Vec<(ProgramMessage<M>, OnInvalid<M::Spec>)> {
        if self.1.probes_invalid_messages() { self.0.invalid_messages(members) } else { Vec::new() }
    }
}
