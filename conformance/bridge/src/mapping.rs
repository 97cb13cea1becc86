//! The refinement mappings: how a state of the program reads as a state of the model.
//!
//! A mapping is the only place where the two meet, and one mapping serves every direction of the
//! comparison. A mapping is a value: data, and functions that translate and decide nothing. What
//! surrounds a program replaces a function of its mapping, and [may
//! capture](crate::surroundings) the one that stood there.

#![allow(clippy::type_complexity, reason = "each field says its arguments, and what it returns")]

use crate::program::{Limits, Program, Refusal};
use bellwether_core::protocol::{Core, Input, Members, NodeId, Output, Request, Role, Time};
use bellwether_core::trace::Start;
use bellwether_engine::protocol::{
    Id, Ids, MAX_NODES, MAX_SEARCHED, Protocol as Specification, Request as SpecRequest, Timers,
};
use bellwether_engine::world::Scenario;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// The two sides of a comparison, as types: a specification and a program.
pub trait Sides: Clone + Send + Sync + 'static {
    /// The specification, in `bellwether_model`.
    type Spec: Specification;
    /// A node of the program: [`Node`](bellwether_core::protocol::Node) with its core.
    type Program: Program;
}

impl<S: Specification, P: Program> Sides for (S, P) {
    type Spec = S;
    type Program = P;
}

/// The core of a program node.
pub type ProgramCore<T> = <<T as Sides>::Program as Program>::Core;
/// The message that nodes of the program send to each other.
pub type ProgramMessage<T> = <ProgramCore<T> as Core>::Message;
/// The state that a program node keeps through a crash.
pub type Durable<T> = <ProgramCore<T> as Core>::Durable;
/// The timer of a program node: what it waits for.
pub type ProgramTimer<T> = <<T as Sides>::Program as Program>::Timer;
/// The input of a program node: what happens to it.
pub type ProgramInput<T> = Input<ProgramMessage<T>>;
/// The output of a program node.
pub type ProgramOutput<T> = Output<Durable<T>, ProgramMessage<T>>;
/// The volatile state of a process of the model.
pub type Process<T> = <<T as Sides>::Spec as Specification>::Process;
/// The state that a process of the model keeps through a crash.
pub type Stable<T> = <<T as Sides>::Spec as Specification>::Stable;
/// The message that processes of the model send to each other.
pub type SpecMessage<T> = <<T as Sides>::Spec as Specification>::Message;
/// The timer of a process of the model: what it waits for.
pub type SpecTimer<T> = <<T as Sides>::Spec as Specification>::Timer;

/// A node of the program that has not booted, or why the program refuses the configuration.
pub type Built<T> = Result<<T as Sides>::Program, Refusal>;

/// A mapping: how one protocol's program reads as its specification.
///
/// Every function is a plain translation; none of them decides anything. A mapping that is wrong
/// makes the comparison fail, or, if it hides what differs, makes it worthless: keep it short
/// enough to be checked by eye.
#[derive(Clone)]
pub struct Mapping<T: Sides> {
    /// The rules of the specification that the program implements.
    pub rules: T::Spec,
    /// The function that returns a node that has not booted, with what it kept through its last
    /// crash. The highest members are the
    /// [services](bellwether_engine::protocol::Services), if there are any.
    pub program: Arc<dyn Fn(NodeId, &Members, Option<&Durable<T>>) -> Built<T> + Send + Sync>,
    /// The function that returns what happens to a fresh node, and when, before it is in the group
    /// that has long agreed, beginning with [`Input::Boot`] at 0. What the node puts out meanwhile
    /// is compared too.
    pub settle: Arc<dyn Fn(NodeId, &Members) -> Vec<(Duration, ProgramInput<T>)> + Send + Sync>,
    /// The function that returns the program's message for one of the model's; `None` if the
    /// program has no such message, which then must never be sent under these
    /// [rules](Mapping::rules).
    pub to_program: Arc<dyn Fn(SpecMessage<T>) -> Option<ProgramMessage<T>> + Send + Sync>,
    /// The function that returns the model's message for one of the program's, which the node
    /// itself sends or not.
    pub to_model: Arc<dyn Fn(ProgramMessage<T>, bool) -> SpecMessage<T> + Send + Sync>,
    /// The function that returns the model's timer for one of the program's.
    pub timer: Arc<dyn Fn(ProgramTimer<T>) -> SpecTimer<T> + Send + Sync>,
    /// The function that returns how long the specification's timer takes by the configuration of
    /// this node; `None` if the program has no such timer. The period is compared with every
    /// arming, so it is read from the [configuration](Mapping::program), never from the program.
    /// Two timers have the same period only where the specification gives them the same duration:
    /// otherwise one that takes the other's would not show.
    ///
    /// What a period counts from, the specification says: the moment at which the timer is armed,
    /// or that at which [another was](bellwether_engine::protocol::Effect::ArmSince).
    pub period: Arc<dyn Fn(NodeId, &Members, SpecTimer<T>) -> Option<Duration> + Send + Sync>,
    /// The function that returns the state that a node stands for; the default if the node has not
    /// booted.
    pub process: Arc<dyn Fn(&T::Program) -> Process<T> + Send + Sync>,
    /// The function that returns the stable state that durable data stands for. Nothing of the data
    /// may be lost.
    pub stable: Arc<dyn Fn(&Durable<T>) -> Stable<T> + Send + Sync>,
    /// The function that returns the role and the leader that a node must tell which has booted and
    /// stands for this process; `None` if the mapping does not say.
    pub believes: fn(Id, &Process<T>) -> Option<(Role, Option<Id>)>,
    /// The function that returns what a node must tell the outside that has booted and stands for
    /// this process; `None` if the mapping does not say.
    pub facts:
        Arc<dyn Fn(&ProcessView<'_, T::Spec>) -> Option<ExpectedFacts<T::Spec>> + Send + Sync>,
    /// The function that returns every message that the specification knows in a group of so many
    /// nodes, for probing.
    pub messages: Arc<dyn Fn(usize) -> Vec<SpecMessage<T>> + Send + Sync>,
    /// The rest, which most mappings do without.
    pub more: More<T>,
}

/// The parts that most mappings do without. By default, each says nothing.
#[derive(Clone)]
pub struct More<T: Sides> {
    /// The durations by which what surrounds a node acts, and the order of its deadlines.
    pub durations: Durations<T::Spec>,
    /// The numbers that grow for as long as nodes run. To be given where messages or durable data
    /// have such numbers.
    pub counters: Counters<T::Spec, ProgramMessage<T>, Durable<T>>,
    /// The function that returns this process of a node that has run for long, with its
    /// [numbers](Counters::from) lowered. To be given where a process has them: what it stands for
    /// was too large to be read.
    pub rebase: Arc<dyn Fn(&T::Program, Process<T>) -> Process<T> + Send + Sync>,
    /// The function that returns what is asked of a node when the specification's timer expires,
    /// where that stands for a person or a program that asks for something: [`Input::Request`].
    /// The program has no such timer. Whether something may be asked is the world's affair, and
    /// not compared; what follows is. `None` for all others.
    pub asks: Arc<dyn Fn(SpecTimer<T>) -> Option<Request> + Send + Sync>,
    /// The events that happen to a node and are no inputs.
    pub events: Events<T>,
    /// The other durations with which a node may start again.
    pub restarts: Restarts<T>,
    /// The needs of logs of nodes that ran.
    pub logs: Logs<T::Spec, ProgramMessage<T>, Durable<T>>,
    /// The needs of probes, and what they need not meet.
    pub probes: Probes<T::Spec, ProgramMessage<T>>,
    /// The other rules by which the same program can be compared.
    pub variants: Variants<T>,
}

impl<T: Sides> Default for More<T> {
    fn default() -> Self {
        More {
            durations: Durations::default(),
            counters: Counters::default(),
            rebase: Arc::new(|_, process| process),
            asks: Arc::new(|_| None),
            events: Events::default(),
            restarts: Restarts::default(),
            logs: Logs::default(),
            probes: Probes::default(),
            variants: Variants::default(),
        }
    }
}

/// The durations by which what surrounds a node acts, and the order of its deadlines.
#[derive(Clone)]
pub struct Durations<P: Specification> {
    /// The function that returns the durations by which what surrounds a node must act, from the
    /// [configuration](Mapping::program) of this node; `None` if the mapping does not say.
    pub limits: Arc<dyn Fn(NodeId, &Members) -> Option<Limits> + Send + Sync>,
    /// The timers that say whether a node may still do what it does, such as a lease. When the
    /// program notices late that several deadlines have passed, nothing follows from the others
    /// that such a one forbids, even if they were due before it: the specification, which has no
    /// clock, is asked for these first, in this order.
    pub checked_first: &'static [P::Timer],
    /// The function that returns the relations in which the durations of this node must stand, each
    /// with what the program says of configurations on either side of it. A relation follows from
    /// what the specification asks of its durations, and never from the program.
    pub bounds: fn(NodeId, &Members) -> Vec<Bound>,
}

impl<P: Specification> Default for Durations<P> {
    fn default() -> Self {
        Durations { limits: Arc::new(|_, _| None), checked_first: &[], bounds: |_, _| Vec::new() }
    }
}

/// A relation in which durations must stand, and what the program says of two configurations.
pub struct Bound {
    /// The relation, in the specification's names of durations.
    pub relation: &'static str,
    /// The answer to a configuration that just keeps the relation.
    pub kept: Result<(), Refusal>,
    /// The answer to a configuration that just breaks the relation, and no other.
    pub broken: Result<(), Refusal>,
}

/// The events that happen to a node and are no inputs.
#[derive(Clone)]
pub struct Events<T: Sides> {
    /// The function that returns the node whose failure the specification's timer detects, where
    /// the program leaves that to a failure detector outside the core: the timer is armed while the
    /// node is [watched](bellwether_core::protocol::Node::watched), and its expiry is [`Input::Suspect`]. `None` for all
    /// others.
    pub detects: fn(SpecTimer<T>) -> Option<NodeId>,
    /// The function that returns what happens to a node when the specification's timer expires,
    /// where that stands for something that no [input](Input) says: its disk answers, its process
    /// stands still, or it [chooses](bellwether_engine::protocol::Local::choose) this outcome. The
    /// program has no such timer. Whether it may happen is the world's affair, and not compared;
    /// what follows is. `None` for all others.
    pub at: fn(SpecTimer<T>) -> Option<EnvironmentEvent<T::Program>>,
    /// The function that returns what can happen to a node that has booted, and of which nothing
    /// shows as long as no deadline passes meanwhile, for probing: each happens twice.
    pub harmless: fn() -> Vec<Harmless<T::Program>>,
    /// The function that returns the timers that expire one after the other behind the
    /// [script](Mapping::settle), before a node is in the group that has long agreed. To be given
    /// where something has to [happen](Events::at) to it.
    pub settling_timers: fn(NodeId, &Members) -> &'static [SpecTimer<T>],
}

impl<T: Sides> Default for Events<T> {
    fn default() -> Self {
        Events { detects: |_| None, at: |_| None, harmless: Vec::new, settling_timers: |_, _| &[] }
    }
}

/// The other durations with which a node may [start again](crate::surroundings).
#[derive(Clone)]
pub struct Restarts<T: Sides> {
    /// The number of other sets of durations. A mapping that has any has no
    /// [events](Events::at) from outside.
    pub count: usize,
    /// The set with which nodes start again in this comparison; `None` if with the same durations.
    pub now: Option<usize>,
    /// The function that returns a node that starts again with the set of durations of this number,
    /// and with what it kept when its durations were those of [`Mapping::period`].
    pub program: Arc<
        dyn Fn(usize, NodeId, &Members, &Durable<T>) -> Result<Restart<T>, Refusal> + Send + Sync,
    >,
    /// The function that returns how long the specification's timer takes on such a node; `None` if
    /// as long as on each other.
    pub period: Arc<dyn Fn(usize, SpecTimer<T>) -> Option<Duration> + Send + Sync>,
}

impl<T: Sides> Default for Restarts<T> {
    fn default() -> Self {
        Restarts {
            count: 0,
            now: None,
            program: Arc::new(|_, _, _, _| Err("there are no other durations".into())),
            period: Arc::new(|_, _| None),
        }
    }
}

/// A node that starts again with other durations than before.
pub struct Restart<T: Sides> {
    /// The node, which has not booted.
    pub program: T::Program,
    /// The state that the node must make durable as it boots, before all else, beyond what the
    /// specification has written. The state reads as the same stable state as before.
    pub written: Option<Durable<T>>,
}

/// The needs of probes, and what they need not meet.
#[derive(Clone)]
pub struct Probes<P: Specification, M> {
    /// The function that returns messages that can arrive and that no correct node sends: they name
    /// nodes that are no members, or numbers that no small world has. To be given where messages
    /// have such fields.
    pub invalid_messages: Arc<dyn Fn(&Members) -> Vec<(M, OnInvalid<P>)> + Send + Sync>,
    /// The fields of what the program [remembers](Program::remembers) in which two nodes may differ
    /// that read as one process, each with the reason why nothing depends on it.
    pub ignored_fields: Vec<(&'static str, &'static str)>,
    /// The timers and messages that no comparison meets, such as `timer grant`, each with the
    /// reason. To be given for what no world leads to by these [rules](Mapping::rules); everything
    /// else must be [met](crate::coverage).
    pub uncovered: Vec<(&'static str, &'static str)>,
}

impl<P: Specification, M> Default for Probes<P, M> {
    fn default() -> Self {
        Probes {
            invalid_messages: Arc::new(|_| Vec::new()),
            ignored_fields: Vec::new(),
            uncovered: Vec::new(),
        }
    }
}

/// The other rules by which the same program can be compared.
#[derive(Clone)]
pub struct Variants<T: Sides> {
    /// The [further](crate::surroundings) worlds in which the program is walked.
    pub further: Vec<Further<T>>,
    /// The function that returns the rules nearest to these by which the program can be compared.
    /// To be given where it does the same by several, as where only services differ. Without one,
    /// these are the mapping's own.
    pub nearest: Option<fn(&T::Spec) -> T::Spec>,
    /// The reason why no node stands beside a
    /// [service](bellwether_engine::protocol::Services): the specification plays them, and they are
    /// compared with nothing. `None` if nodes play them.
    pub unplayed: Option<&'static str>,
}

impl<T: Sides> Default for Variants<T> {
    fn default() -> Self {
        Variants { further: Vec::new(), nearest: None, unplayed: None }
    }
}

/// The needs of logs of nodes that ran.
#[derive(Clone)]
pub struct Logs<P: Specification, M, D> {
    /// The rules by which the [logs](crate::validate) of nodes that ran are judged. To be given
    /// where the specification keeps what matters to such nodes only in a world in which something
    /// is asked. Without them, these are the mapping's own.
    pub rules: Option<P>,
    /// True if logs of nodes with any ids can be judged: the functions that rename
    /// ([`Counters::in_message`], [`Counters::in_durable`]) reach each node that a process of the
    /// specification reads.
    pub any_ids: bool,
    /// The most members, services among them, of which logs can be judged. A judge searches no
    /// world, so it is [`MAX_NODES`] where a process of the specification has room for what it
    /// keeps in a group as large as that.
    pub members: usize,
    /// The function that says whether a node that begins with this, in the list of members with
    /// this number, if that is known, does what it does in a group whose members never change.
    pub is_settled: fn(Option<&D>, Option<u64>) -> bool,
    /// The function that returns the process that a node is after it has led, if these say all of
    /// it: the process that it was, and what it shows, its leader, its stable storage and its
    /// timers. `None` if they do not.
    pub after_leading: Arc<
        dyn Fn(&P::Process, Option<Id>, &P::Stable, Timers) -> Option<P::Process> + Send + Sync,
    >,
    /// The function that says in words how durable data contradicts what was durable on the node
    /// before it, or the node's start, whatever the node was doing; `None` if it does not. Given
    /// are the start of the node, and, for the data with which it boots, the start before that.
    pub contradicts: fn(&[&Start], Option<&D>, &D) -> Option<String>,
    /// The function that says what a message between a node and a service says of requests and
    /// grants; `None` if it says nothing of them. To be given where a service may be no node.
    pub exchange: fn(M) -> Option<Exchange>,
}

impl<P: Specification, M, D> Default for Logs<P, M, D> {
    fn default() -> Self {
        Logs {
            rules: None,
            any_ids: false,
            members: MAX_SEARCHED,
            is_settled: |_, _| true,
            after_leading: Arc::new(|_, _, _, _| None),
            contradicts: |_, _, _| None,
            exchange: |_| None,
        }
    }
}

impl<T: Sides> Mapping<T> {
    /// Returns the rules by which logs are judged.
    #[must_use]
    pub fn log_rules(&self) -> T::Spec {
        self.more.logs.rules.unwrap_or(self.rules)
    }

    /// Returns whether the specification's `timer` stands for something that is asked of a node, or
    /// happens to it.
    pub(crate) fn is_from_outside(&self, timer: SpecTimer<T>) -> bool {
        (self.more.asks)(timer).is_some() || (self.more.events.at)(timer).is_some()
    }

    /// Returns these timers but for those that stand for something from outside.
    pub(crate) fn compared(&self, timers: Timers) -> Timers {
        let outside = T::Spec::TIMERS.iter().filter(|row| self.is_from_outside(row.timer));
        outside.fold(timers, |timers, row| timers.without::<T::Spec>(row.timer))
    }

    /// Returns the program's timers that are armed, as the model's, with their deadlines.
    pub(crate) fn armed(&self, program: &T::Program) -> impl Iterator<Item = (SpecTimer<T>, Time)> {
        program.armed().map(|(timer, deadline)| ((self.timer)(timer), deadline))
    }

    /// Returns what the program does otherwise than by these rules, in words, as in
    /// "count=from-receipt, and the program count=before-sending"; `None` if it does all.
    pub(crate) fn unlike(&self, rules: &T::Spec) -> Option<String> {
        let nearest = self.more.variants.nearest.map_or(self.rules, |nearest| nearest(rules));
        let (theirs, ours) = (fields(rules), fields(&nearest));
        let differs = |(name, value): &(&String, &Value)| ours.get(*name) != Some(*value);
        let (mut asked, mut own) = (Vec::new(), Vec::new());
        for (name, value) in theirs.iter().filter(differs) {
            asked.push(rule(name, value));
            own.push(rule(name, ours.get(name).unwrap_or(&Value::Null)));
        }
        let words = || format!("{}, and the program {}", asked.join(", "), own.join(", "));
        (!asked.is_empty()).then(words)
    }
}

/// An event that happens to a node from outside, and is no input.
pub struct EnvironmentEvent<P> {
    /// How long it takes.
    pub takes: Duration,
    /// What it does to the node. What the node puts out is taken as after an input.
    pub act: fn(&mut P, Time),
}

/// An event of one process of the model, and so of one node of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// A person, a program or a machine asks something of the process.
    Asked(SpecRequest),
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

/// Something that can happen to a node from outside, and of which nothing shows, for probing.
pub struct Harmless<P> {
    /// What it is, in words.
    pub words: &'static str,
    /// What it does to the node.
    pub event: EnvironmentEvent<P>,
}

/// A further world in which a program is walked, which implements the rules of that world too.
#[derive(Clone)]
pub struct Further<T: Sides> {
    /// The mapping by those rules.
    pub mapping: Mapping<T>,
    /// The world.
    pub scenario: Scenario,
    /// The words for what is other than in the world that is asked for.
    pub happens: &'static str,
}

// Numbers that grow for as long as nodes run, such as epochs, and how those of a long run read as
// the small ones of a specification. A specification asks of numbers which is higher, which are the
// same, and which is the next; so those that one process knows at a time can be called by smaller
// names that keep that.

/// The other names of what stands in messages and in durable data.
pub struct Renaming<'a> {
    /// The function that gives each number another name: it gets the kind of the number, counted
    /// from 0.
    pub number: &'a mut dyn FnMut(usize, u64) -> u64,
    /// The function that gives a node another id.
    pub node: &'a dyn Fn(NodeId) -> NodeId,
}

impl<'a> Renaming<'a> {
    /// Returns the renaming of numbers by which nodes keep their ids.
    pub fn of_numbers(number: &'a mut dyn FnMut(usize, u64) -> u64) -> Self {
        Renaming { number, node: &|node| node }
    }
}

/// The numbers of a protocol that grow for as long as nodes run, and the nodes: where they stand.
#[derive(Clone)]
pub struct Counters<P: Specification, M, D> {
    /// The number of kinds that can have smaller names. Further kinds keep theirs.
    pub kinds: usize,
    /// The kind of the epochs that a node [tells](Mapping::facts), if it tells any.
    pub epochs: Option<usize>,
    /// The largest epoch that the specification tells from others: every larger one reads as it.
    pub largest_epoch: u64,
    /// The largest number that the specification has room for, of a kind that keeps its names.
    pub most: u64,
    /// The function that renames the numbers and nodes of a message; whether the node itself sends
    /// it is said, as a number may be of another kind then: one that is only repeated is none of
    /// its own.
    pub in_message: fn(M, bool, &mut Renaming<'_>) -> M,
    /// The function that renames the numbers and nodes of durable data.
    pub in_durable: fn(&D, &mut Renaming<'_>) -> D,
    /// The function that lowers the numbers of one kind in a process, and returns the highest that
    /// is left: 0 if the process has none, or knows none yet.
    pub lower: fn(usize, u64, &mut P::Process, &mut P::Stable) -> u64,
    /// By how much larger the numbers of each kind are in a [long
    /// run](crate::surroundings::long_run), in the order of their kinds; empty if no number can
    /// begin so. To be given together with [`Counters::began`], where durable data has such
    /// numbers.
    pub from: &'static [u64],
    /// The function that returns what a node has kept of a long run that stands for a process which
    /// has never run: its numbers are those `from` which it counts. `None` if that
    /// is nothing.
    pub began: fn(NodeId, &Members) -> Option<D>,
}

impl<P: Specification, M, D: Clone> Default for Counters<P, M, D> {
    fn default() -> Self {
        Counters {
            kinds: 0,
            epochs: None,
            largest_epoch: u64::MAX,
            most: 200,
            in_message: |message, _, _| message,
            in_durable: |durable, _| durable.clone(),
            lower: |_, _, _, _| 0,
            from: &[],
            began: |_, _| None,
        }
    }
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

/// The time for which a node is asked to stay away by a request of the specification, and so the
/// [period](Mapping::period) of the timer by which its process does.
pub const AWAY: Duration = Duration::from_secs(7);

/// Returns what is asked of a node where this is asked of its process.
#[must_use]
pub fn node_request(request: SpecRequest) -> Request {
    match request {
        SpecRequest::Yield(next) => Request::Yield(next.map(node_id)),
        SpecRequest::Transfer(to) => Request::Transfer(node_id(to)),
        SpecRequest::StepDown(next) => Request::StepDown(next.map(node_id), AWAY),
        SpecRequest::Healthy(healthy) => Request::Healthy(healthy),
        SpecRequest::Tell(to) => Request::Tell(node_id(to)),
    }
}

/// Returns what is asked of a process, one of `nodes`, where this is asked of its node; `None` if
/// the specification does not know that, or has no such process.
#[must_use]
pub fn process_request(request: &Request, nodes: usize) -> Option<SpecRequest> {
    let process = |node| process_id(node).filter(|id| id.index() < nodes);
    let next = |next: Option<NodeId>| match next {
        Some(node) => process(node).map(Some),
        None => Some(None),
    };
    Some(match *request {
        Request::Yield(to) => SpecRequest::Yield(next(to)?),
        // For no time at all, the node does not stay away.
        Request::StepDown(to, time) if time.is_zero() => SpecRequest::Yield(next(to)?),
        Request::StepDown(to, _) => SpecRequest::StepDown(next(to)?),
        Request::Transfer(to) => SpecRequest::Transfer(process(to)?),
        Request::Healthy(healthy) => SpecRequest::Healthy(healthy),
        Request::Tell(to) => SpecRequest::Tell(process(to)?),
        Request::Change(_) => return None,
    })
}

pub(crate) fn timers<P: Specification>(armed: impl Iterator<Item = P::Timer>) -> Timers {
    armed.fold(Timers::NONE, Timers::with::<P>)
}

fn fields(rules: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A rule and its value, as the command line of the checker takes them.
pub(crate) fn rule(name: &str, value: &Value) -> String {
    match value {
        Value::String(value) => format!("{name}={value}"),
        other => format!("{name}={other}"),
    }
}
