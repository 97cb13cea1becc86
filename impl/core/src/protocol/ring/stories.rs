//! What the tests of the protocols on a ring share: outputs as words, and a few nodes on virtual
//! time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Config, RingCore, Timer, Timing};
use crate::protocol::{Core, Input, Members, Node, NodeId, Nothing, Output, Time};

/// A message as it stands in a story.
pub(in crate::protocol) trait Words {
    fn words(&self) -> String;
}

pub(in crate::protocol) fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

pub(in crate::protocol) fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

pub(in crate::protocol) fn config(node: u16, members: &[u16]) -> Config {
    let members = Members::new(members.iter().map(|&number| id(number))).expect("valid");
    Config { id: id(node), members, timing: Timing::DEFAULT }
}

/// One node of 1, 2, 3, 4, told what happens at which millisecond. It has started and listened as
/// long as it does: at 0 its watch time-out is due.
pub(in crate::protocol) struct Story<C: Core>(Node<C>);

impl<C: RingCore<Durable = Nothing, Message: Words>> Story<C> {
    pub(in crate::protocol) fn of(number: u16) -> Self {
        let mut core = Node::new(config(number, &[1, 2, 3, 4]), None, 0).expect("valid");
        core.handle(Time::ZERO, Input::Boot);
        while core.poll().is_some() {}
        Self(core)
    }

    /// The outputs, on one line.
    pub(in crate::protocol) fn at(
        &mut self,
        milliseconds: u64,
        input: Input<C::Message>,
    ) -> String {
        self.0.handle(ms(milliseconds) + Timing::DEFAULT.watch, input);
        let outputs = std::iter::from_fn(|| self.0.poll());
        outputs.map(|output| words(&output)).collect::<Vec<_>>().join(", ")
    }

    pub(in crate::protocol) fn hears(
        &mut self,
        milliseconds: u64,
        from: u16,
        message: C::Message,
    ) -> String {
        self.at(milliseconds, Input::Receive { from: id(from), message })
    }

    pub(in crate::protocol) fn leader(&self) -> Option<u16> {
        self.0.status().leader.map(NodeId::get)
    }

    pub(in crate::protocol) fn armed(&self) -> Vec<Timer> {
        self.0.armed().map(|(timer, _)| timer).collect()
    }
}

fn words<M: Words>(output: &Output<Nothing, M>) -> String {
    match output {
        Output::Persist(nothing) => match *nothing {},
        Output::Send { to, message } => format!("{} to {to}", message.words()),
        Output::Event(event) => event.to_string(),
        Output::WakeAt(None) => "no timer".to_owned(),
        Output::WakeAt(Some(time)) => {
            let zero = Time::ZERO + Timing::DEFAULT.watch;
            format!("wake at {}", time.since(zero).as_millis())
        }
    }
}

/// A few nodes and the messages between them, which take one millisecond.
pub(in crate::protocol) struct Ring<C: Core> {
    nodes: BTreeMap<NodeId, Node<C>>,
    in_flight: VecDeque<(Time, NodeId, NodeId, C::Message)>,
    members: Vec<u16>,
    now: Time,
    /// How many messages were sent.
    pub(in crate::protocol) messages: usize,
}

impl<C: RingCore> Ring<C> {
    pub(in crate::protocol) fn of(members: &[u16]) -> Self {
        let mut ring = Self {
            nodes: BTreeMap::new(),
            in_flight: VecDeque::new(),
            members: members.to_vec(),
            now: Time::ZERO,
            messages: 0,
        };
        for &member in members {
            ring.start(member);
        }
        ring
    }

    pub(in crate::protocol) fn start(&mut self, number: u16) {
        let node = Node::new(config(number, &self.members), None, 0).expect("valid");
        assert!(self.nodes.insert(id(number), node).is_none(), "not up already");
        self.handle(id(number), Input::Boot);
    }

    pub(in crate::protocol) fn crash(&mut self, number: u16) {
        self.nodes.remove(&id(number)).expect("up");
    }

    fn handle(&mut self, to: NodeId, input: Input<C::Message>) {
        let Some(node) = self.nodes.get_mut(&to) else {
            return;
        };
        node.handle(self.now, input);
        while let Some(output) = node.poll() {
            if let Output::Send { to: peer, message } = output {
                let arrival = self.now + Duration::from_millis(1);
                self.in_flight.push_back((arrival, to, peer, message));
                self.messages += 1;
            }
        }
    }

    pub(in crate::protocol) fn run(&mut self, milliseconds: u64) {
        let end = self.now + Duration::from_millis(milliseconds);
        loop {
            let arrival = self.in_flight.front().map(|flight| flight.0);
            let nodes = self.nodes.iter();
            let wake = nodes.filter_map(|(&id, n)| Some((n.armed().map(|a| a.1).min()?, id))).min();
            match (arrival, wake) {
                (Some(time), _) if wake.is_none_or(|w| time <= w.0) && time <= end => {
                    let (time, from, to, message) = self.in_flight.pop_front().expect("seen");
                    self.now = time;
                    self.handle(to, Input::Receive { from, message });
                }
                (_, Some((time, id))) if time <= end => {
                    self.now = time;
                    self.handle(id, Input::Wake);
                }
                _ => break,
            }
        }
        self.now = end;
    }

    /// The node that each one that is up takes for the leader.
    pub(in crate::protocol) fn leaders(&self) -> Vec<Option<u16>> {
        self.nodes.values().map(|node| node.status().leader.map(NodeId::get)).collect()
    }
}
