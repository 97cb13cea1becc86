//! What the mappings of all that is around a program have in common.
//!
//! Something around a program, such as a driver, a mistake or large numbers, reads as what is
//! inside but in a few respects. [`Wraps`] has a method for each of these. All else is taken by the
//! mapping of what is inside. That is said here alone, and clippy finds a method of [`Mapping`] of
//! which it is not said.

use crate::mapping::{
    Asked, Counters, Durable, EnvironmentEvent, ExpectedFacts, Further, Harmless, Mapping,
    OnInvalid, Order, Process, ProcessView, ProgramInput, ProgramMessage, ProgramTimer, Restart,
    SpecEvent, SpecMessage, SpecTimer, Stable, Start, Step,
};
use crate::program::{Limits, Program, Refusal};
use bellwether_core::protocol::{Input, Members, NodeId, Request, Role};
use bellwether_engine::protocol::{Id, Timers};
use std::hash::Hash;
use std::time::Duration;

/// The specification of what is inside.
type Spec<W> = <<W as Wraps>::Inner as Mapping>::Spec;

/// A message that no correct node sends, and what a node does on it.
type Invalid<W> = (ProgramMessage<<W as Wraps>::Inner>, OnInvalid<Spec<W>>);

/// The mapping of something around a program: in what it departs from that of what is inside.
///
/// By default, that is in nothing but what cannot be forwarded: an [event](EnvironmentEvent) that
/// happens to what is inside, and what is [harmless](Harmless). A node does not start again with
/// [other durations](Mapping::RESTARTS) or [other members](Mapping::starts), nor is it walked in a
/// [further](Mapping::further) world.
pub trait Wraps {
    /// The mapping of what is inside.
    type Inner: Mapping;

    /// A node of the program, with what is around it.
    type Program: Program<
            Durable = Durable<Self::Inner>,
            Message = ProgramMessage<Self::Inner>,
            Timer = ProgramTimer<Self::Inner>,
        >;

    /// The memory beyond that of what is inside; `()` if nothing. See [`Mapping::Memory`].
    type Memory: Clone + Eq + Hash;

    /// See [`Mapping::FROM`].
    const FROM: &'static [u64] = <Self::Inner as Mapping>::FROM;

    /// See [`Mapping::LARGEST_EPOCH`].
    const LARGEST_EPOCH: u64 = <Self::Inner as Mapping>::LARGEST_EPOCH;

    /// Returns the mapping of what is inside.
    fn inner(&self) -> &Self::Inner;

    /// Returns the node that is inside of this one.
    fn inside(program: &Self::Program) -> &<Self::Inner as Mapping>::Program;

    /// Returns a node that has not booted: see [`Mapping::program`].
    ///
    /// # Errors
    /// If the program refuses the configuration.
    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<Self::Inner>>,
    ) -> Result<Self::Program, Refusal>;

    /// Returns the node's [`Wraps::Memory`].
    fn memory(&self, program: &Self::Program) -> Self::Memory;

    /// Returns what a node is given for this message.
    fn given(&self, message: ProgramMessage<Self::Inner>) -> ProgramMessage<Self::Inner> {
        message
    }

    /// Returns what the mapping of what is inside reads for this message, which the node itself
    /// sends or not.
    fn read(
        &self,
        message: ProgramMessage<Self::Inner>,
        sent: bool,
    ) -> ProgramMessage<Self::Inner> {
        let _ = sent;
        message
    }

    /// See [`Mapping::period`].
    fn period(
        &self,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<Self::Inner>,
    ) -> Option<Duration> {
        self.inner().period(id, members, timer)
    }

    /// See [`Mapping::own_period`].
    fn own_period(
        &self,
        program: &Self::Program,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<Self::Inner>,
    ) -> Option<Duration> {
        self.inner().own_period(Self::inside(program), id, members, timer)
    }

    /// See [`Mapping::environment_event`].
    fn environment_event(
        &self,
        timer: SpecTimer<Self::Inner>,
    ) -> Option<EnvironmentEvent<Self::Program>> {
        let _ = timer;
        None
    }

    /// See [`Mapping::orders`].
    fn orders(&self, of: &ProcessView<'_, Spec<Self>>, armed: Timers) -> Vec<Order<Spec<Self>>> {
        self.inner().orders(of, armed)
    }

    /// See [`Mapping::harmless`].
    fn harmless(&self) -> Vec<Harmless<Self::Program>> {
        Vec::new()
    }

    /// See [`Mapping::process`].
    fn process(&self, program: &Self::Program) -> Process<Self::Inner> {
        self.inner().process(Self::inside(program))
    }

    /// See [`Mapping::facts`].
    fn facts(&self, of: &ProcessView<'_, Spec<Self>>) -> Option<ExpectedFacts<Spec<Self>>> {
        self.inner().facts(of)
    }

    /// See [`Mapping::limits`].
    fn limits(&self, id: NodeId, members: &Members) -> Option<Limits> {
        self.inner().limits(id, members)
    }

    /// See [`Mapping::stable`].
    fn stable(&self, durable: &Durable<Self::Inner>) -> Stable<Self::Inner> {
        self.inner().stable(durable)
    }

    /// See [`Mapping::ignored_fields`].
    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        self.inner().ignored_fields()
    }

    /// See [`Mapping::invalid_messages`].
    fn invalid_messages(&self, members: &Members) -> Vec<Invalid<Self>> {
        self.inner().invalid_messages(members)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<W: Wraps> Mapping for W {
    type Spec = Spec<W>;
    type Program = W::Program;
    type Memory = (<W::Inner as Mapping>::Memory, W::Memory);

    const RULES: Spec<W> = <W::Inner as Mapping>::RULES;
    const COUNTERS: Counters<W> = <W::Inner as Mapping>::COUNTERS.of();
    const LOG_RULES: Spec<W> = <W::Inner as Mapping>::LOG_RULES;
    const FROM: &'static [u64] = <W as Wraps>::FROM;
    const RESTARTS: usize = 0;
    const LARGEST_EPOCH: u64 = <W as Wraps>::LARGEST_EPOCH;

    fn own_rules(&self) -> Spec<W> {
        self.inner().own_rules()
    }

    fn log_rules(&self) -> Spec<W> {
        self.inner().log_rules()
    }

    fn further(&self) -> Vec<Further<W>> {
        Vec::new()
    }

    fn nearest_rules(&self, rules: &Spec<W>) -> Spec<W> {
        self.inner().nearest_rules(rules)
    }

    fn unplayed_services(&self) -> Option<&'static str> {
        self.inner().unplayed_services()
    }

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<W::Inner>>,
    ) -> Result<W::Program, Refusal> {
        Wraps::program(self, id, members, durable)
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, ProgramInput<W::Inner>)> {
        let mut script = self.inner().settle(id, members);
        for (_, input) in &mut script {
            if let Input::Receive { message, .. } = input {
                *message = self.given(message.clone());
            }
        }
        script
    }

    fn to_program(&self, message: SpecMessage<W::Inner>) -> Option<ProgramMessage<W::Inner>> {
        self.inner().to_program(message).map(|message| self.given(message))
    }

    fn to_model(&self, message: ProgramMessage<W::Inner>) -> SpecMessage<W::Inner> {
        self.inner().to_model(self.read(message, false))
    }

    fn message_sent(
        &self,
        program: &W::Program,
        message: ProgramMessage<W::Inner>,
    ) -> SpecMessage<W::Inner> {
        self.inner().message_sent(W::inside(program), self.read(message, true))
    }

    fn reaches(&self, program: &W::Program, message: SpecMessage<W::Inner>) -> bool {
        self.inner().reaches(W::inside(program), message)
    }

    fn timer(&self, timer: ProgramTimer<W::Inner>) -> SpecTimer<W::Inner> {
        self.inner().timer(timer)
    }

    fn period(
        &self,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<W::Inner>,
    ) -> Option<Duration> {
        Wraps::period(self, id, members, timer)
    }

    /// It is never called: there are no [other durations](Mapping::RESTARTS).
    fn restart(
        &self,
        _: usize,
        id: NodeId,
        members: &Members,
        durable: &Durable<W::Inner>,
    ) -> Result<Restart<W::Program>, Refusal> {
        Ok(Restart { program: Wraps::program(self, id, members, Some(durable))?, written: None })
    }

    fn period_again(
        &self,
        with: usize,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<W::Inner>,
    ) -> Option<Duration> {
        self.inner().period_again(with, id, members, timer)
    }

    fn starts(
        &self,
        _: NodeId,
        _: &Members,
        _: &Durable<W::Inner>,
    ) -> Vec<Start<W::Program, Spec<W>>> {
        Vec::new()
    }

    fn own_period(
        &self,
        program: &W::Program,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<W::Inner>,
    ) -> Option<Duration> {
        Wraps::own_period(self, program, id, members, timer)
    }

    fn checked_first(&self) -> &'static [SpecTimer<W::Inner>] {
        self.inner().checked_first()
    }

    fn detects(&self, timer: SpecTimer<W::Inner>) -> Option<NodeId> {
        self.inner().detects(timer)
    }

    fn asks(&self, timer: SpecTimer<W::Inner>) -> Option<Request> {
        self.inner().asks(timer)
    }

    fn when_asked(
        &self,
        request: Request,
        process: &Process<W::Inner>,
        armed: Timers,
    ) -> Asked<Spec<W>> {
        self.inner().when_asked(request, process, armed)
    }

    fn environment_event(
        &self,
        timer: SpecTimer<W::Inner>,
    ) -> Option<EnvironmentEvent<W::Program>> {
        Wraps::environment_event(self, timer)
    }

    fn orders(&self, of: &ProcessView<'_, Spec<W>>, armed: Timers) -> Vec<Order<Spec<W>>> {
        Wraps::orders(self, of, armed)
    }

    fn harmless(&self) -> Vec<Harmless<W::Program>> {
        Wraps::harmless(self)
    }

    fn settling_timers(&self, id: NodeId, members: &Members) -> &'static [SpecTimer<W::Inner>] {
        self.inner().settling_timers(id, members)
    }

    fn process(&self, program: &W::Program) -> Process<W::Inner> {
        Wraps::process(self, program)
    }

    fn believes(&self, id: Id, process: &Process<W::Inner>) -> Option<(Role, Option<Id>)> {
        self.inner().believes(id, process)
    }

    fn facts(&self, of: &ProcessView<'_, Spec<W>>) -> Option<ExpectedFacts<Spec<W>>> {
        Wraps::facts(self, of)
    }

    fn limits(&self, id: NodeId, members: &Members) -> Option<Limits> {
        Wraps::limits(self, id, members)
    }

    fn stable(&self, durable: &Durable<W::Inner>) -> Stable<W::Inner> {
        Wraps::stable(self, durable)
    }

    fn began(&self, id: NodeId, members: &Members) -> Option<Durable<W::Inner>> {
        self.inner().began(id, members)
    }

    fn rebase(&self, program: &W::Program, process: Process<W::Inner>) -> Process<W::Inner> {
        self.inner().rebase(W::inside(program), process)
    }

    fn memory(&self, program: &W::Program) -> (<W::Inner as Mapping>::Memory, W::Memory) {
        (self.inner().memory(W::inside(program)), Wraps::memory(self, program))
    }

    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        Wraps::ignored_fields(self)
    }

    fn messages(&self) -> Vec<SpecMessage<W::Inner>> {
        self.inner().messages()
    }

    fn messages_among(&self, nodes: usize) -> Vec<SpecMessage<W::Inner>> {
        self.inner().messages_among(nodes)
    }

    fn uncovered(&self) -> &'static [(&'static str, &'static str)] {
        self.inner().uncovered()
    }

    fn invalid_messages(
        &self,
        members: &Members,
    ) -> Vec<(ProgramMessage<W::Inner>, OnInvalid<Spec<W>>)> {
        Wraps::invalid_messages(self, members)
    }

    fn reason(&self, step: &Step<'_, Spec<W>>) -> Option<&'static str> {
        self.inner().reason(step)
    }

    fn ignores(&self, step: &Step<'_, Spec<W>>) -> Option<&'static str> {
        self.inner().ignores(step)
    }

    fn rules(&self, happening: &SpecEvent<Spec<W>>) -> &'static [&'static str] {
        self.inner().rules(happening)
    }
}
