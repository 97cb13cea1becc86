//! A node with the driver around it, as the bridge drives it.

use super::live::{Effects, Live, Start};
use super::promises::promise;
use bellwether::driver::steered::{Effect, Told};
use bellwether_bridge::program::{BrokenPromise, Facts, Limits, Program, Remembered};
use bellwether_core::protocol::{
    Core, Epoch, Event, Input, Node, NodeId, Output, Reason, Role, Status, Time,
};
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

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
