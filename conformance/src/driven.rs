//! The driver of the program, compared with the specification by the mapping of its protocol.
//!
//! What is compared elsewhere is a node: a pure state machine, whose outputs are taken as they come
//! out of it. Here the loop of the production driver is around that node, with the commit of its
//! states, its lease, and what it tells of the leadership ([`steered`](bellwether::driver::steered)
//! says what is its own there, and what is not). The outputs are what others can see of it:
//!
//! | output | what it is here |
//! |---|---|
//! | a write | a state that the disk has made durable |
//! | a message | what waits in the queue of a connection |
//! | an event | a change that a program reads of the leadership, or a line of the log |
//! | the role and the leader | what a program reads of the leadership |
//! | the state, the timers | those of the node in the loop |
//!
//! A timer expires because the loop wakes up by itself. Only where the model's order is another
//! than that of the durations, its deadline is brought forward, as for a node alone. After each
//! input the disk lets through what is written, one write after the other, and what can be seen
//! before counts as before it. What no output shows, such as when a guard is valid, is a promise
//! that is looked at by itself.

use crate::mapping::bully::BullyMapping;
use crate::mapping::quorum::{AnyQuorum, Preemptive, Recommended};
use crate::mapping::{Mapping, Mappings, Order, ProcessView, Runs};
use bellwether::driver::steered::{Effect, Steered, Told};
use bellwether_bridge::program::{BrokenPromise, Facts, Limits, Program, Refusal, Remembered};
use bellwether_bridge::wraps::Wraps;
use bellwether_core::protocol::{
    Core, Epoch, Event, Input, Members, Node, NodeId, Output, Reason, Role, Status, Time,
};
use bellwether_model::protocol::Timers;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// The mappings of the protocols that are compared through the driver.
pub static DRIVEN: Mappings<dyn Runs> = Mappings(&[
    &Driven(BullyMapping),
    &Driven(AnyQuorum::of::<Recommended>()),
    &Driven(AnyQuorum::of::<Preemptive>()),
]);

/// The mapping of a node, for the driver around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Driven<M>(pub M);

impl<M, C> Wraps for Driven<M>
where
    C: Core,
    M: Mapping<Program = Node<C>>,
{
    type Inner = M;
    type Program = DrivenNode<C>;
    type Memory = ();

    fn inner(&self) -> &M {
        &self.0
    }

    fn inside(program: &DrivenNode<C>) -> &Node<C> {
        program.node()
    }

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&C::Durable>,
    ) -> Result<DrivenNode<C>, Refusal> {
        let node = self.0.program(id, members, durable)?;
        let others = members.iter().filter(|&other| other != id).collect();
        Ok(DrivenNode::new(node, durable.cloned(), others))
    }

    fn memory(&self, _: &DrivenNode<C>) {}

    /// What a person asks for has a way of its own through the driver.
    fn orders(&self, _: &ProcessView<'_, M::Spec>, _: Timers) -> Vec<Order<M::Spec>> {
        Vec::new()
    }
}

/// A node with the driver around it.
///
/// A driver that runs cannot be copied. So a clone shares it with the original, until something
/// happens to one of the two: the other then runs a driver of its own, to which the same has
/// happened.
#[derive(Clone)]
pub struct DrivenNode<C: Core> {
    start: Rc<Start<C>>,
    /// None before the node has started.
    live: Option<Rc<RefCell<Live<C>>>>,
    /// How much has happened to this one.
    happened: usize,
    /// The node in the loop, as it is now.
    node: Node<C>,
    /// What a program reads.
    known: (Role, Option<NodeId>),
    wake: Option<Time>,
    outputs: VecDeque<Output<C::Durable, C::Message>>,
    broken: Option<BrokenPromise>,
}

impl<C: Core> DrivenNode<C> {
    /// Returns one that has not started, with what is on its disk; `others` are all other members.
    #[must_use]
    pub fn new(node: Node<C>, durable: Option<C::Durable>, others: Vec<NodeId>) -> Self {
        Self {
            start: Rc::new(Start { node: node.clone(), durable, others }),
            live: None,
            happened: 0,
            node,
            known: (Role::NotStarted, None),
            wake: None,
            outputs: VecDeque::new(),
            broken: None,
        }
    }

    /// Returns the node in the loop.
    #[must_use]
    pub fn node(&self) -> &Node<C> {
        &self.node
    }

    /// The driver of this one, to which nothing else has happened.
    fn live(&self, now: Time) -> io::Result<Rc<RefCell<Live<C>>>> {
        let live = match &self.live {
            None => Live::begin(&self.start, now)?,
            Some(live) if live.borrow().happened() == self.happened => return Ok(Rc::clone(live)),
            Some(live) => live.borrow().again(&self.start, self.happened)?,
        };
        Ok(Rc::new(RefCell::new(live)))
    }

    /// Takes what has followed for outputs. All that a program reads but that its node leads waits
    /// for nothing, and is put out last.
    fn put_out(&mut self, effects: Effects<C>) {
        let mut last = Vec::new();
        for effect in effects {
            match effect {
                Effect::Saved(state) => self.outputs.push_back(Output::Persist(state)),
                Effect::Sent { to, message } => {
                    self.outputs.push_back(Output::Send { to, message });
                }
                Effect::Told(told) => {
                    let leads = told.leader == Some(self.node.status().id);
                    match self.change(told) {
                        Some(event) if leads => self.outputs.push_back(Output::Event(event)),
                        event => last.extend(event),
                    }
                }
                Effect::Ignored { from, cause } => {
                    match u16::try_from(from).ok().and_then(NodeId::new) {
                        Some(from) => last.push(Event::Ignored { from, cause: reason(cause) }),
                        None => self.breaks("log", "names a node", format!("names node {from}")),
                    }
                }
                Effect::Heartbeat(to) => {
                    self.breaks("heartbeats", "none", format!("one to node {to}"));
                }
            }
        }
        self.outputs.extend(last.into_iter().map(Output::Event));
        let next = self.node.armed().map(|(_, at)| at).min();
        if next != self.wake {
            self.wake = next;
            self.outputs.push_back(Output::WakeAt(next));
        }
    }

    /// The change that a program reads; none if neither the role nor the leader is another.
    fn change(&mut self, told: Told) -> Option<Event> {
        let Told { role: to, leader, reason, .. } = told;
        let (from, before) = (self.known.0, self.known);
        self.known = (to, leader);
        (self.known != before).then_some(Event::RoleChanged { from, to, leader, reason })
    }

    fn breaks(&mut self, what: &'static str, right: &str, wrong: String) {
        let found = promise(what, right, wrong);
        self.broken = self.broken.take().or(found);
    }
}

impl<C: Core> Program for DrivenNode<C> {
    const NAME: &'static str = C::NAME;
    const REQUESTS: bool = C::REQUESTS;
    type Durable = C::Durable;
    type Message = C::Message;
    type Timer = C::Timer;

    fn handle(&mut self, now: Time, input: Input<C::Message>) {
        self.broken = None;
        // There is no loop before a node starts.
        if self.live.is_none() && !matches!(input, Input::Boot) {
            return;
        }
        let live = match self.live(now) {
            Ok(live) => live,
            Err(error) => return self.breaks("driver", "runs", error.to_string()),
        };
        let (effects, broken) = live.borrow_mut().happen(now, input);
        self.node = live.borrow().node().clone();
        self.happened = live.borrow().happened();
        self.live = Some(live);
        self.broken = broken;
        self.put_out(effects);
    }

    fn poll(&mut self) -> Option<Output<C::Durable, C::Message>> {
        self.outputs.pop_front()
    }

    /// What a program reads, not what the node believes.
    fn status(&self) -> Status {
        let (role, leader) = self.known;
        Status { id: self.node.status().id, role, leader }
    }

    fn remembers(&self) -> impl Remembered {
        self.node.core()
    }

    fn armed(&self) -> impl Iterator<Item = (C::Timer, Time)> {
        self.node.armed()
    }

    fn bring_forward(&mut self, timer: C::Timer, deadline: Time) {
        // A node with a timer that is armed has started.
        let Ok(live) = self.live(deadline) else { return };
        live.borrow_mut().force(timer, deadline);
        self.node = live.borrow().node().clone();
        self.happened = live.borrow().happened();
        self.live = Some(live);
    }

    fn timer_named(name: &str) -> Option<C::Timer> {
        <Node<C> as Program>::timer_named(name)
    }

    fn watched(&self) -> impl Iterator<Item = NodeId> {
        self.node.watched()
    }

    fn broken_promise(&self) -> Option<BrokenPromise> {
        self.broken.clone()
    }

    fn facts(&self) -> Facts<C::Timer> {
        self.node.facts()
    }

    fn leads(&self, now: Time) -> Option<Epoch> {
        self.node.leads(now)
    }

    fn awaits_successor(&self, to: NodeId) -> bool {
        self.node.awaits_successor(to)
    }

    fn may_lead(&self, node: NodeId) -> bool {
        Program::may_lead(&self.node, node)
    }

    fn is_witness(&self, node: NodeId) -> bool {
        Program::is_witness(&self.node, node)
    }

    fn limits(&self) -> Option<Limits> {
        self.node.limits()
    }
}

/// The reason that the log names. Of each name there is one, for as long as the program runs.
fn reason(name: String) -> Reason {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = names.get(name.as_str()).copied();
    let name = known.unwrap_or_else(|| {
        let name: &'static str = Box::leak(name.into_boxed_str());
        names.insert(name);
        name
    });
    Reason::new(name, "the log says so")
}

/// No input leads to more writes.
const MOST_WRITES: usize = 16;

struct Start<C: Core> {
    node: Node<C>,
    durable: Option<C::Durable>,
    others: Vec<NodeId>,
}

#[derive(Clone)]
enum Happened<M, T> {
    Input(Time, Input<M>),
    /// The deadline of a timer is brought forward.
    Forced(T, Time),
}

/// What a node has done, as others can see it.
type Effects<C> = Vec<Effect<<C as Core>::Durable, <C as Core>::Message>>;

struct Live<C: Core> {
    steered: Steered<C>,
    happened: Vec<Happened<C::Message, C::Timer>>,
}

impl<C: Core> Live<C> {
    /// The driver around a node that has not started.
    fn begin(start: &Start<C>, now: Time) -> io::Result<Self> {
        let Start { node, durable, others } = start;
        let steered = Steered::new(node.clone(), durable.clone(), others, now)?;
        Ok(Self { steered, happened: Vec::new() })
    }

    /// Another one, to which the same has happened, up to this.
    fn again(&self, start: &Start<C>, until: usize) -> io::Result<Self> {
        let happened = &self.happened[..until];
        let begins = happened.iter().find_map(|happened| match happened {
            Happened::Input(now, _) => Some(*now),
            Happened::Forced(..) => None,
        });
        let mut again = Self::begin(start, begins.unwrap_or(Time::ZERO))?;
        for happened in happened {
            match happened.clone() {
                Happened::Input(now, input) => drop(again.happen(now, input)),
                Happened::Forced(timer, deadline) => again.force(timer, deadline),
            }
        }
        Ok(again)
    }

    fn happened(&self) -> usize {
        self.happened.len()
    }

    fn node(&self) -> &Node<C> {
        self.steered.node()
    }

    /// The deadline of a timer is brought forward.
    fn force(&mut self, timer: C::Timer, deadline: Time) {
        self.happened.push(Happened::Forced(timer, deadline));
        self.steered.bring_forward(timer, deadline);
    }

    /// Something happens, and the disk lets through all that is written because of that. Returns
    /// what has followed, and the first promise that was broken.
    fn happen(
        &mut self,
        now: Time,
        input: Input<C::Message>,
    ) -> (Effects<C>, Option<BrokenPromise>) {
        // First: if the driver panics, this one is of no more use.
        self.happened.push(Happened::Input(now, input.clone()));
        match input {
            Input::Boot => self.steered.boot(now),
            Input::Receive { from, message } => self.steered.receive(now, from, message),
            Input::Wake => self.steered.wait_until(now),
            Input::Suspect(_) | Input::Request(_) => {
                let wrong = "this comes from a failure detector or from a person, and the driver \
                             is not moved by either";
                return (Vec::new(), promise("driver", "can be moved", wrong));
            }
        }
        let mut found = broken(&self.steered, now);
        for _ in 0..MOST_WRITES {
            if self.steered.saving().is_none() {
                break;
            }
            self.steered.finish_save();
            found = found.or_else(|| broken(&self.steered, now));
        }
        if self.steered.is_behind() {
            let wrong = "it waits, and nothing is being written";
            found = found.or_else(|| promise("state of the node", "durable in the end", wrong));
        }
        (self.steered.take_effects(), found)
    }
}

/// The first promise that is broken of those that the driver makes to a program beside the outputs
/// of its node, if one is. They are asked after each input, and whenever a write is durable.
///
/// - The driver goes on.
/// - A program that reads that its node leads can rely on it: the node does.
/// - The epoch that it reads is that of the leader.
/// - A guard is valid for as long as the lease of the node that leads, and for that epoch; and a
///   program gets one that is told that its node leads with a lease.
fn broken<C: Core>(steered: &Steered<C>, now: Time) -> Option<BrokenPromise> {
    if let Some(why) = steered.ended() {
        return promise("driver", "takes part", format!("has stopped: {why}"));
    }
    let (told, node) = (steered.leadership(), steered.node());
    if told.is_self() && node.status().role != Role::Leader {
        return promise("leadership", "that of another node, or none", "that of the node itself");
    }
    let knows = told.leader.is_some() && told.leader == node.status().leader;
    if knows && !steered.is_behind() && told.epoch != node.epoch() {
        return promise("epoch of the leader", epoch(node.epoch()), epoch(told.epoch));
    }
    let lease = node.lease().filter(|lease| lease.until > now);
    let lease = lease.filter(|lease| told.is_self() && told.epoch == Some(lease.epoch));
    let due = lease.map(|lease| (lease.epoch, Some(lease.until)));
    let given = steered.guard().map(|guard| (guard.epoch(), guard.until()));
    let is_late = given.is_none() && steered.is_behind();
    if given != due && !is_late {
        let words = |guard: Option<(Epoch, Option<Time>)>| match guard {
            Some((of, Some(until))) => {
                format!("valid for epoch {}, for {:?}", of.number(), until.since(now))
            }
            Some((of, None)) => format!("one of epoch {} that is over", of.number()),
            None => "none".to_owned(),
        };
        return promise("guard", words(due), words(given));
    }
    None
}

fn epoch(of: Option<Epoch>) -> String {
    of.map_or_else(|| "none".to_owned(), |epoch| epoch.number().to_string())
}

/// A promise that is broken: what it is about, what must be, and what is.
fn promise(
    what: &'static str,
    right: impl Into<String>,
    wrong: impl Into<String>,
) -> Option<BrokenPromise> {
    Some(BrokenPromise { what, right: right.into(), wrong: wrong.into() })
}
