//! The refinement mappings: how a state of the program reads as a state of the model.
//!
//! A mapping is the only place where the two meet, and one mapping serves every direction of the
//! comparison.

use crate::program::{Limits, Program, Refusal};
use bellwether_core::protocol::{Input, Members, NodeId, Output, Request, Role, Time};
use bellwether_engine::protocol::{
    Id, Ids, MAX_NODES, MAX_SEARCHED, Protocol as Specification, Timers,
};
use bellwether_engine::world::Scenario;
use serde::Serialize;
use serde_json::{Map, Value};
use std::hash::Hash;
use std::time::Duration;

/// The message that nodes of the program send to each other.
pub type ProgramMessage<M> = <<M as Mapping>::Program as Program>::Message;
/// The state that a program node keeps through a crash.
pub type Durable<M> = <<M as Mapping>::Program as Program>::Durable;
/// The timer of a program node: what it waits for.
pub type ProgramTimer<M> = <<M as Mapping>::Program as Program>::Timer;
/// The input of a program node: what happens to it.
pub type ProgramInput<M> = Input<ProgramMessage<M>>;
/// The output of a program node.
pub type ProgramOutput<M> = Output<Durable<M>, ProgramMessage<M>>;
/// The volatile state of a process of the model.
pub type Process<M> = <<M as Mapping>::Spec as Specification>::Process;
/// The state that a process of the model keeps through a crash.
pub type Stable<M> = <<M as Mapping>::Spec as Specification>::Stable;
/// The message that processes of the model send to each other.
pub type SpecMessage<M> = <<M as Mapping>::Spec as Specification>::Message;
/// The timer of a process of the model: what it waits for.
pub type SpecTimer<M> = <<M as Mapping>::Spec as Specification>::Timer;

/// A mapping: how one protocol's program reads as its specification.
///
/// Every method is a plain translation; none of them decides anything. A mapping that is wrong
/// makes the comparison fail, or, if it hides what differs, makes it worthless: keep it short
/// enough to be checked by eye.
pub trait Mapping {
    /// The specification, in `bellwether_model`.
    type Spec: Specification;

    /// A node of the program: [`Node`](bellwether_core::protocol::Node) with its core.
    type Program: Program;

    /// The memory of a core beyond the [process](Mapping::process) that it stands for, its
    /// `status`, its armed timers and what is durable; `()` if nothing. Two nodes that agree in all
    /// of these are taken for one by the walk. If their cores differ, something is left out here,
    /// and that is a divergence. Times do not belong here: only differences of times matter to a
    /// core.
    type Memory: Clone + Eq + Hash;

    /// The rules of the specification that the program implements.
    const RULES: Self::Spec;

    /// The numbers that grow for as long as nodes run, for the logs of long runs. To be given where
    /// messages or durable data have such numbers.
    const COUNTERS: Counters<Self> = Counters::NONE;

    /// The rules by which the [logs](crate::validate) of nodes that ran are judged, until one is
    /// [asked](Mapping::when_asked) for something. To be given where the specification keeps what
    /// matters to such nodes only in a world in which something is asked.
    const LOG_RULES: Self::Spec = Self::RULES;

    /// By how much larger the numbers of each kind of the [counters](Mapping::COUNTERS) are in a
    /// [long run](crate::further::long_run), in the order of their kinds; empty if no number can
    /// begin so. To be given together with [`Mapping::began`], where durable data has such numbers.
    const FROM: &'static [u64] = &[];

    /// The number of other sets of durations with which a node may [start
    /// again](crate::further::reconfigured). To be given, with [`Mapping::restart`] and
    /// [`Mapping::period_again`], where a node that starts acts by the durations that it had before
    /// too. Such a mapping has no [environment events](Mapping::environment_event).
    const RESTARTS: usize = 0;

    /// The largest epoch that the specification tells from others: every larger one reads as it.
    const LARGEST_EPOCH: u64 = u64::MAX;

    /// Returns the rules of the specification that this program implements. To be given where one
    /// type is the mapping of several programs, whose rules are known at run time.
    fn own_rules(&self) -> Self::Spec {
        Self::RULES
    }

    /// Returns the rules by which logs are judged until a node is asked for something: see
    /// [`Mapping::LOG_RULES`].
    fn log_rules(&self) -> Self::Spec {
        match self.unplayed_services() {
            Some(_) => self.own_rules(),
            None => Self::LOG_RULES,
        }
    }

    /// Returns the [further](crate::further::further) worlds in which the program is walked.
    fn further(&self) -> Vec<Further<Self>>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Returns the rules nearest to these by which the program can be compared. To be given where
    /// it does the same by several, as where only [services](Mapping::unplayed_services) differ.
    fn nearest_rules(&self, rules: &Self::Spec) -> Self::Spec {
        let _ = rules;
        self.own_rules()
    }

    /// Returns why no node stands beside a [service](bellwether_engine::protocol::Services): the
    /// specification plays them, and they are compared with nothing. `None` if nodes play them.
    fn unplayed_services(&self) -> Option<&'static str> {
        None
    }

    /// Returns a node that has not booted, with what it kept through its last crash. The highest
    /// members are the [services](bellwether_engine::protocol::Services), if there are any.
    ///
    /// # Errors
    /// If the program refuses the configuration.
    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<Self>>,
    ) -> Result<Self::Program, Refusal>;

    /// Returns what happens to a fresh node, and when, before it is in the group that has long
    /// agreed, beginning with [`Input::Boot`] at 0. What it puts out meanwhile is discarded.
    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, ProgramInput<Self>)>;

    /// Returns the program's message for one of the model's; `None` if the program has no such
    /// message, which then must never be sent under [`Mapping::RULES`].
    fn to_program(&self, message: SpecMessage<Self>) -> Option<ProgramMessage<Self>>;

    /// Returns the model's message for one of the program's.
    fn to_model(&self, message: ProgramMessage<Self>) -> SpecMessage<Self>;

    /// Returns the model's message for one that this node sends. To be given where the model's
    /// messages say more of their sender than the program's, which says that once for each
    /// connection.
    fn message_sent(
        &self,
        program: &Self::Program,
        message: ProgramMessage<Self>,
    ) -> SpecMessage<Self> {
        let _ = program;
        self.to_model(message)
    }

    /// Returns whether a message gets as far as this node's core: where it does not, the handshake
    /// has refused the connection, and the specification must do nothing. To be given where the
    /// model's messages say what the program's handshake compares.
    fn reaches(&self, program: &Self::Program, message: SpecMessage<Self>) -> bool {
        let _ = (program, message);
        true
    }

    /// Returns the model's timer for one of the program's.
    fn timer(&self, timer: ProgramTimer<Self>) -> SpecTimer<Self>;

    /// Returns how long the specification's `timer` takes by the configuration of this node; `None`
    /// if the program has no such timer. It is compared with every arming, so it is read from the
    /// [configuration](Mapping::program), never from the program. Two timers have the same period
    /// only where the specification gives them the same duration: otherwise one that takes the
    /// other's would not show.
    ///
    /// What a period counts from, the specification says: the moment at which the timer is armed,
    /// or that at which [another was](bellwether_engine::protocol::Effect::ArmSince).
    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<Self>) -> Option<Duration>;

    /// Returns a node that starts again with the set of durations of this number, below
    /// [`Mapping::RESTARTS`], and with what it kept when its durations were those of
    /// [`Mapping::period`].
    ///
    /// # Errors
    /// If the program refuses the configuration.
    fn restart(
        &self,
        with: usize,
        id: NodeId,
        members: &Members,
        durable: &Durable<Self>,
    ) -> Result<Restart<Self::Program>, Refusal> {
        let _ = with;
        Ok(Restart { program: self.program(id, members, Some(durable))?, written: None })
    }

    /// Returns how long the specification's `timer` takes on [such](Mapping::restart) a node.
    fn period_again(
        &self,
        with: usize,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<Self>,
    ) -> Option<Duration> {
        let _ = with;
        self.period(id, members, timer)
    }

    /// Returns how a node that has kept this starts again with other members than those of its
    /// world, or must not, for probing. To be given where what it may be given depends on that.
    fn starts(
        &self,
        id: NodeId,
        members: &Members,
        durable: &Durable<Self>,
    ) -> Vec<Start<Self::Program, Self::Spec>> {
        let _ = (id, members, durable);
        Vec::new()
    }

    /// Returns how long the specification's `timer` takes on this node; `None` if as long as on
    /// every node with its id, as [`Mapping::period`] says.
    fn own_period(
        &self,
        program: &Self::Program,
        id: NodeId,
        members: &Members,
        timer: SpecTimer<Self>,
    ) -> Option<Duration> {
        let _ = (program, id, members, timer);
        None
    }

    /// Returns the timers that say whether a node may still do what it does, such as a lease. When
    /// the program notices late that several deadlines have passed, nothing follows from the others
    /// that such a one forbids, even if they were due before it: the specification, which has no
    /// clock, is asked for these first, in this order.
    fn checked_first(&self) -> &'static [SpecTimer<Self>] {
        &[]
    }

    /// Returns the node whose failure the specification's `timer` detects, where the program leaves
    /// that to a failure detector outside the core: the timer is armed while the node is
    /// [watched](Program::watched), and its expiry is [`Input::Suspect`]. `None` for all others.
    fn detects(&self, timer: SpecTimer<Self>) -> Option<NodeId> {
        let _ = timer;
        None
    }

    /// Returns what is asked of a node when the specification's `timer` expires, where that stands
    /// for a person or a program that asks for something: [`Input::Request`]. The program has no
    /// such timer. Whether something may be asked is the world's affair, and not compared; what
    /// follows is. `None` for all others.
    fn asks(&self, timer: SpecTimer<Self>) -> Option<Request> {
        let _ = timer;
        None
    }

    /// Returns what a request is to this process, in the log of a node that ran.
    fn when_asked(
        &self,
        request: Request,
        process: &Process<Self>,
        armed: Timers,
    ) -> Asked<Self::Spec> {
        let _ = (process, armed);
        let mut timers = Self::Spec::TIMERS.iter().map(|row| row.timer);
        match timers.find(|timer| self.asks(*timer).as_ref() == Some(&request)) {
            Some(timer) => Asked::Expiry(self.log_rules(), timer),
            None => Asked::Unknown,
        }
    }

    /// Returns what happens to a node when the specification's `timer` expires, where that stands
    /// for something that no [input](Input) says: its disk answers, its process stands still, or it
    /// [chooses](bellwether_engine::protocol::Local::choose) this outcome.
    /// The program has no such timer. Whether it may happen is the world's affair, and not
    /// compared; what follows is. `None` for all others.
    fn environment_event(&self, timer: SpecTimer<Self>) -> Option<EnvironmentEvent<Self::Program>> {
        let _ = timer;
        None
    }

    /// Returns what a node can be asked that stands for this process, for probing: each request is
    /// given twice. Of a program that serves [no requests](Program::REQUESTS) nothing follows in
    /// any case.
    fn orders(&self, of: &ProcessView<'_, Self::Spec>, armed: Timers) -> Vec<Order<Self::Spec>> {
        let _ = (of, armed);
        Vec::new()
    }

    /// Returns what can happen to a node that has booted, and of which nothing shows as long as no
    /// deadline passes meanwhile, for probing: each happens twice.
    fn harmless(&self) -> Vec<Harmless<Self::Program>> {
        Vec::new()
    }

    /// Returns the timers that expire one after the other behind the [script](Mapping::settle),
    /// before a node is in the group that has long agreed. To be given where something has to
    /// [happen](Mapping::environment_event) to it.
    fn settling_timers(&self, id: NodeId, members: &Members) -> &'static [SpecTimer<Self>] {
        let _ = (id, members);
        &[]
    }

    /// Returns the state that a node stands for; the default if it has not booted.
    fn process(&self, program: &Self::Program) -> Process<Self>;

    /// Returns the role and the leader that a node must tell which has booted and stands for this
    /// process; `None` if the mapping does not say. It is a plain table too.
    fn believes(&self, id: Id, process: &Process<Self>) -> Option<(Role, Option<Id>)> {
        let _ = (id, process);
        None
    }

    /// Returns what a node must tell the outside that has booted and stands for this process;
    /// `None` if the mapping does not say. It is a plain table too.
    fn facts(&self, of: &ProcessView<'_, Self::Spec>) -> Option<ExpectedFacts<Self::Spec>> {
        let _ = of;
        None
    }

    /// Returns the durations by which what surrounds a node must act, from the
    /// [configuration](Mapping::program) of this node; `None` if the mapping does not say.
    fn limits(&self, id: NodeId, members: &Members) -> Option<Limits> {
        let _ = (id, members);
        None
    }

    /// Returns the stable state that durable data stands for. It must lose nothing of it.
    fn stable(&self, durable: &Durable<Self>) -> Stable<Self>;

    /// Returns what a node has kept of a long run that stands for a process which has never run:
    /// its numbers are those [from which it counts](Mapping::FROM). `None` if that is nothing.
    fn began(&self, id: NodeId, members: &Members) -> Option<Durable<Self>> {
        let _ = (id, members);
        None
    }

    /// Returns this process of a node that has run for long, with [such](Mapping::FROM) numbers
    /// lowered. To be given where a process has them: what it stands for was too large to be read.
    fn rebase(&self, program: &Self::Program, process: Process<Self>) -> Process<Self> {
        let _ = program;
        process
    }

    /// Returns the node's [`Mapping::Memory`].
    fn memory(&self, program: &Self::Program) -> Self::Memory;

    /// Returns the fields of what the program [remembers](Program::remembers) in which two nodes
    /// may differ that read as one process, each with the reason why nothing depends on it. What
    /// something does depend on belongs into the [memory](Mapping::memory).
    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns every message that the specification knows, for probing.
    fn messages(&self) -> Vec<SpecMessage<Self>>;

    /// Returns every message that the specification knows in a group of `nodes`, for probing. To be
    /// given where messages name members: a program refuses one that names another node.
    fn messages_among(&self, nodes: usize) -> Vec<SpecMessage<Self>> {
        let _ = nodes;
        self.messages()
    }

    /// Returns what no comparison meets, with the reason: `timer`, `message` or `rule`, and its
    /// name. To be given for what no world leads to by these [rules](Mapping::RULES); everything
    /// else must be [met](crate::coverage).
    fn uncovered(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns messages that can arrive and that no correct node sends: they name nodes that are no
    /// members, or numbers that no small world has. To be given where messages have such fields.
    fn invalid_messages(
        &self,
        members: &Members,
    ) -> Vec<(ProgramMessage<Self>, OnInvalid<Self::Spec>)> {
        let _ = members;
        Vec::new()
    }

    /// Returns the name of the [reason](bellwether_core::protocol::Reason) that the program must
    /// give if its belief changes in this step; `None` if it never changes in such a step. A
    /// specification has no reasons, so this is a plain table of what leads to what.
    fn reason(&self, step: &Step<'_, Self::Spec>) -> Option<&'static str>;

    /// Returns the name of the reason for which the program must tell that it ignores the message
    /// that arrives in this step; `None` if it must not. Whether a message comes from the node
    /// itself or from no member is compared for every program, and is not asked here.
    fn ignores(&self, step: &Step<'_, Self::Spec>) -> Option<&'static str>;

    /// Returns the names of the specification's rules that decide what follows from something, for
    /// reports; as they stand in the rules' JSON.
    fn rules(&self, happening: &SpecEvent<Self::Spec>) -> &'static [&'static str] {
        let _ = happening;
        &[]
    }
}

/// What a request is to a process of the model.
#[derive(Clone, Copy, Debug)]
pub enum Asked<P: Specification> {
    /// The specification does not know it.
    Unknown,
    /// Nothing follows.
    Nothing,
    /// This timer expires, and these rules hold from then on.
    Expiry(P, P::Timer),
}

/// An event that happens to a node from outside, and is no input.
pub struct EnvironmentEvent<P> {
    /// How long it takes.
    pub takes: Duration,
    /// What it does to the node. What the node puts out is taken as after an input.
    pub act: fn(&mut P, Time),
}

/// An event of one process of the model, and so of one node of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecEvent<P: Specification> {
    /// The process starts, for the first time or again.
    Boot,
    /// A message arrives.
    Receive {
        /// The process that sent the message.
        from: Id,
        /// The message that was sent.
        message: P::Message,
    },
    /// A timer expires.
    Expire(P::Timer),
    /// The process stops, and loses what is not durable.
    Crash,
}

/// The reaction that must follow from a message that no correct node sends.
#[derive(Clone, Copy, Debug)]
pub enum OnInvalid<P: Specification> {
    /// The message is ignored, for the reason with this name.
    Ignored(&'static str),
    /// The node does the same as on this message.
    Like(P::Message),
}

/// One step of one process of the model.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a, P: Specification> {
    /// The id of the process.
    pub id: Id,
    /// The number of processes, services among them.
    pub nodes: usize,
    /// The process before the step.
    pub before: &'a P::Process,
    /// The stable storage of the process before the step.
    pub stable: &'a P::Stable,
    /// The event that the process handled.
    pub happening: SpecEvent<P>,
    /// The process after the step.
    pub after: &'a P::Process,
}

/// A process, and what it knows of its world.
#[derive(Clone, Copy, Debug)]
pub struct ProcessView<'a, P: Specification> {
    /// The id of the process.
    pub id: Id,
    /// The number of processes, services among them.
    pub nodes: usize,
    /// The process.
    pub process: &'a P::Process,
    /// The stable storage of the process.
    pub stable: &'a P::Stable,
}

/// What a node must tell the outside that stands for a process: the
/// [facts](crate::program::Facts) of the program, in the terms of the specification.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedFacts<P: Specification> {
    /// The epoch of the leader that it follows or is; `None` if it must tell none.
    pub epoch: Option<u64>,
    /// The epoch for which its program is asked to prepare itself; `None` if it is not asked.
    pub prepares: Option<u64>,
    /// The timer at the end of which its lease is over, if it leads by a lease: that of its epoch.
    /// It leads before that moment, and not from then on.
    pub lease: Option<P::Timer>,
    /// The nodes that it waits for.
    pub waits_for: Waits<P>,
    /// The nodes of which it may name one to lead after it. What else decides that, a
    /// specification does not know.
    pub successors: Ids,
    /// The nodes that it has asked to lead instead, and waits for; `None` if that is not said.
    pub awaited: Option<Ids>,
    /// The nodes that may be named to lead; `None` if that is not said.
    pub may_lead: Option<Ids>,
    /// The nodes that vote and never lead.
    pub witnesses: Ids,
}

/// The nodes that a process waits for.
#[derive(Clone, Copy, Debug)]
pub enum Waits<P: Specification> {
    /// The mapping does not say.
    Unsaid,
    /// It waits for none.
    Nothing,
    /// While this timer runs, it waits for these, and for nothing else.
    For(P::Timer, Ids),
}

impl<P: Specification> ExpectedFacts<P> {
    /// The facts of a process that knows no epoch, has no lease and waits for no node.
    pub const NONE: Self = ExpectedFacts {
        epoch: None,
        prepares: None,
        lease: None,
        waits_for: Waits::Nothing,
        successors: Ids::NONE,
        awaited: None,
        may_lead: None,
        witnesses: Ids::NONE,
    };

    /// Returns the same of a process in a group of `nodes`, any of which may lead.
    #[must_use]
    pub fn among_equals(nodes: usize) -> Self {
        ExpectedFacts { may_lead: Some(Ids::all(nodes)), ..Self::NONE }
    }
}

/// A request that a node gets, and then the same once more, for probing.
#[derive(Clone, Debug)]
pub struct Order<P: Specification> {
    /// What the node is asked.
    pub request: Request,
    /// What follows.
    pub first: Reaction<P>,
    /// What follows when it is asked the same again.
    pub again: Reaction<P>,
    /// How the node goes on when it was asked once, if that is another way than before.
    pub then: Option<GoesOn<P>>,
}

/// How a node goes on that was asked for something: it is probed with each message and each of its
/// timers.
#[derive(Clone, Copy, Debug)]
pub struct GoesOn<P: Specification> {
    /// The rules that hold for it from then on.
    pub rules: P,
    /// A timer by the expiry of which its belief changes, and the name of the reason, where the
    /// [table of reasons](Mapping::reason) has another.
    pub reason: Option<(P::Timer, &'static str)>,
}

/// What follows from a request.
#[derive(Clone, Copy, Debug)]
pub enum Reaction<P: Specification> {
    /// The mapping does not say.
    Unsaid,
    /// Nothing but that these timers are cancelled, and that one is armed: no message is sent,
    /// nothing is written, and the process stays what it is.
    Timers {
        /// The timers that are not armed afterwards, whether they were before or not.
        cancelled: Timers,
        /// The timer that is armed anew.
        armed: Option<P::Timer>,
    },
    /// What follows by these rules when this timer expires.
    Expiry(P, P::Timer),
}

impl<P: Specification> Reaction<P> {
    /// Nothing follows.
    pub const NOTHING: Self = Reaction::Timers { cancelled: Timers::NONE, armed: None };
}

/// Something that can happen to a node from outside, and of which nothing shows, for probing.
pub struct Harmless<P> {
    /// What it is, in words.
    pub words: &'static str,
    /// What it does to the node.
    pub event: EnvironmentEvent<P>,
}

/// A node that starts again with other durations than before.
pub struct Restart<P: Program> {
    /// The node, which has not booted.
    pub program: P,
    /// What it must make durable as it boots, before all else, beyond what the specification has
    /// written. It reads as the same stable state as before.
    pub written: Option<P::Durable>,
}

/// A node that starts again with other members than before, for probing.
pub struct Start<P, S: Specification> {
    /// The words for the members that it has.
    pub with: &'static str,
    /// The node, which has not booted; or the refusal of the program.
    pub program: Result<P, Refusal>,
    /// The rules by which it boots; `None` if the program must refuse.
    pub by: Option<S>,
}

/// A further world in which a program is walked, which implements the rules of that world too.
pub struct Further<M> {
    /// The mapping by those rules.
    pub mapping: M,
    /// The world.
    pub scenario: Scenario,
    /// The words for what is other than in the world that is asked for.
    pub happens: &'static str,
}

// Numbers that grow for as long as nodes run, such as epochs, and how those of a long run read as
// the small ones of a specification. A specification asks of numbers which is higher, which are the
// same, and which is the next; so those that one process knows at a time can be called by smaller
// names that keep that.

/// A function that gives each number another name: it gets the kind of the number, counted from 0.
pub type Rename<'a> = &'a mut dyn FnMut(usize, u64) -> u64;

/// A function that renames the numbers of a message, which the node itself sends or not.
type InMessage<M> = fn(ProgramMessage<M>, bool, Rename<'_>) -> ProgramMessage<M>;

/// The numbers of a protocol that grow for as long as nodes run: where they stand.
pub struct Counters<M: Mapping + ?Sized> {
    /// The number of kinds that can have smaller names. Further kinds keep theirs.
    pub kinds: usize,
    /// The kind of the epochs that a node [tells](Mapping::facts), if it tells any.
    pub epochs: Option<usize>,
    /// The largest number that the specification has room for, of a kind that keeps its names.
    pub most: u64,
    /// The function that renames the numbers of a message; whether the node itself sends it is
    /// said, as a number may be of another kind then: one that is only repeated is none of its own.
    pub in_message: InMessage<M>,
    /// The function that renames the numbers of durable data.
    pub in_durable: fn(&Durable<M>, Rename<'_>) -> Durable<M>,
    /// The function that lowers the numbers of one kind in a process, and returns the highest that
    /// is left: 0 if the process has none, or knows none yet.
    pub lower: fn(usize, u64, &mut Process<M>, &mut Stable<M>) -> u64,
    /// The places of ids of nodes in messages and durable data, so that the logs of nodes with any
    /// ids can be judged; `None` if that is not given.
    pub ids: Option<IdsIn<M>>,
    /// The most members, services among them, of which logs can be judged. A judge searches no
    /// world, so it is [`MAX_NODES`] where a process of the specification has room for what it
    /// keeps in a group as large as that.
    pub members: usize,
    /// The function that says whether a node that begins with this, in the list of members with
    /// this number, if that is known, does what it does in a group whose members never change.
    pub is_settled: fn(Option<&Durable<M>>, Option<u64>) -> bool,
    /// The function that returns the process that a node is after it has led, if what it shows then
    /// says all of it: its leader, its stable storage and its timers. `None` if it does not.
    pub after_leading: AfterLeading<M>,
    /// The function that says what a message between a node and a service says of requests and
    /// grants; `None` if it says nothing of them. To be given where a service may be no node.
    pub exchange: fn(ProgramMessage<M>) -> Option<Exchange>,
}

/// The number of a request, of which a node has no other: how often it had started, and which
/// request since then it is. A later one has a higher number.
pub type RequestNumber = (u64, u64);

/// What a message between a node and a service that grants epochs says, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The node asks to keep this epoch, or, if there is none, for a new one.
    Request(RequestNumber, Option<u64>),
    /// The service answers that request: it grants this epoch, or refuses.
    Answer(RequestNumber, Option<u64>),
}

/// A function that gives a node another id.
pub type NameNode<'a> = &'a dyn Fn(NodeId) -> NodeId;

/// The places of ids of nodes in what a program sends and keeps, as far as a process of the
/// specification reads them.
pub struct IdsIn<M: Mapping + ?Sized> {
    /// The function that gives the nodes in a message other ids.
    pub message: fn(ProgramMessage<M>, NameNode<'_>) -> ProgramMessage<M>,
    /// The function that gives the nodes in durable data other ids.
    pub durable: fn(&Durable<M>, NameNode<'_>) -> Durable<M>,
}

impl<M: Mapping + ?Sized> IdsIn<M> {
    /// The places of a protocol that has none.
    pub const NONE: Self =
        IdsIn { message: |message, _| message, durable: |durable, _| durable.clone() };
}

/// A function from what a node shows once it leads no longer to the process that it is then.
type AfterLeading<M> = fn(Option<Id>, &Stable<M>, Timers) -> Option<Process<M>>;

impl<M: Mapping + ?Sized> Counters<M> {
    /// The counters of a protocol that has none.
    pub const NONE: Self = Counters {
        kinds: 0,
        epochs: None,
        most: 200,
        in_message: |message, _, _| message,
        in_durable: |durable, _| durable.clone(),
        lower: |_, _, _, _| 0,
        ids: None,
        members: MAX_SEARCHED,
        is_settled: |_, _| true,
        after_leading: |_, _, _| None,
        exchange: |_| None,
    };

    /// Returns the same for another mapping of the same specification, whose program sends and
    /// keeps the same.
    #[must_use]
    pub const fn of<N>(self) -> Counters<N>
    where
        N: Mapping<Spec = M::Spec> + ?Sized,
        N::Program: Program<Durable = Durable<M>, Message = ProgramMessage<M>>,
    {
        let ids = match self.ids {
            Some(IdsIn { message, durable }) => Some(IdsIn { message, durable }),
            None => None,
        };
        Counters {
            kinds: self.kinds,
            epochs: self.epochs,
            most: self.most,
            in_message: self.in_message,
            in_durable: self.in_durable,
            lower: self.lower,
            ids,
            members: self.members,
            is_settled: self.is_settled,
            after_leading: self.after_leading,
            exchange: self.exchange,
        }
    }
}

/// Returns the program's id of a process.
#[must_use]
pub fn node_id(id: Id) -> NodeId {
    match NodeId::new(u16::from(id.number())) {
        Some(node) => node,
        None => unreachable!("the model's ids begin at 1"),
    }
}

/// Returns the process with this id of the program; `None` if no world has it.
#[must_use]
pub fn process_id(node: NodeId) -> Option<Id> {
    let index = usize::from(node.get()) - 1;
    (index < MAX_NODES).then(|| Id::at(index))
}

/// The program's timers that are armed, as the model's, with their deadlines.
pub(crate) fn armed<M: Mapping + ?Sized>(
    mapping: &M,
    program: &M::Program,
) -> impl Iterator<Item = (SpecTimer<M>, Time)> {
    program.armed().map(|(timer, deadline)| (mapping.timer(timer), deadline))
}

/// Whether the specification's `timer` stands for something that is [asked](Mapping::asks) of a
/// node, or [happens](Mapping::environment_event) to it.
pub(crate) fn is_from_outside<M: Mapping + ?Sized>(mapping: &M, timer: SpecTimer<M>) -> bool {
    mapping.asks(timer).is_some() || mapping.environment_event(timer).is_some()
}

/// These timers but for those that stand for something [from outside](is_from_outside).
pub(crate) fn compared<M: Mapping + ?Sized>(mapping: &M, timers: Timers) -> Timers {
    let outside = M::Spec::TIMERS.iter().filter(|row| is_from_outside(mapping, row.timer));
    outside.fold(timers, |timers, row| timers.without::<M::Spec>(row.timer))
}

pub(crate) fn timers<P: Specification>(armed: impl Iterator<Item = P::Timer>) -> Timers {
    armed.fold(Timers::NONE, Timers::with::<P>)
}

/// What the program does otherwise than by these rules, in words, as in "count=from-receipt, and
/// the program count=before-sending"; `None` if it does all.
pub(crate) fn unlike<M: Mapping + ?Sized>(mapping: &M, rules: &M::Spec) -> Option<String> {
    let (theirs, ours) = (fields(rules), fields(&mapping.nearest_rules(rules)));
    let differs = |(name, value): &(&String, &Value)| ours.get(*name) != Some(*value);
    let (mut asked, mut own) = (Vec::new(), Vec::new());
    for (name, value) in theirs.iter().filter(differs) {
        asked.push(rule(name, value));
        own.push(rule(name, ours.get(name).unwrap_or(&Value::Null)));
    }
    let words = || format!("{}, and the program {}", asked.join(", "), own.join(", "));
    (!asked.is_empty()).then(words)
}

fn fields(rules: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A rule and its value, as the command line of the checker takes them.
fn rule(name: &str, value: &Value) -> String {
    match value {
        Value::String(value) => format!("{name}={value}"),
        other => format!("{name}={other}"),
    }
}
