//! Two nodes that lead at the same time, as after a cut, and then hear each other.

use std::time::Duration;

use bellwether_core::protocol::{Core, Event, Input, Node, NodeId, Output, Role, Time};

use super::{Tested, node};

/// The protocols in which no two nodes lead at the same time: with a majority, or a store.
const NONE: [&str; 2] = ["lease", "quorum"];

/// How long anything may take, in milliseconds.
const LIMIT: usize = 10_000;

/// Nodes 1 and 2 of a group whose other nodes are down. A message takes a millisecond.
struct Pair<C: Core> {
    nodes: [Node<C>; 2],
    now: Time,
    connected: bool,
    in_flight: Vec<(NodeId, NodeId, C::Message)>,
    /// Which node has heard of which rival.
    heard: Vec<(NodeId, NodeId)>,
}

impl<C: Tested> Pair<C> {
    /// Both have started, and hear no other.
    fn cut_off() -> Self {
        let (nodes, now) = ([1, 2].map(node::<C>), Time::from_nanos(1 << 40));
        let (in_flight, heard) = (Vec::new(), Vec::new());
        let mut pair = Self { nodes, now, connected: false, in_flight, heard };
        (0..2).for_each(|at| pair.handle(at, Input::Boot));
        pair
    }

    fn handle(&mut self, at: usize, input: Input<C::Message>) {
        let node = &mut self.nodes[at];
        let me = node.status().id;
        node.handle(self.now, input);
        while let Some(output) = node.poll() {
            match output {
                Output::Send { to, message } if self.connected => {
                    self.in_flight.push((me, to, message));
                }
                Output::Event(Event::RivalHeard { rival }) => self.heard.push((me, rival)),
                _ => {}
            }
        }
    }

    /// The place of this node, if it is up.
    fn place(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|other| other.status().id == node)
    }

    /// A millisecond passes. A detector reports at once all nodes that cannot be heard.
    fn pass(&mut self) {
        self.now = self.now + Duration::from_millis(1);
        for (from, to, message) in std::mem::take(&mut self.in_flight) {
            if let Some(at) = self.place(to) {
                self.handle(at, Input::Receive { from, message });
            }
        }
        for at in 0..2 {
            self.handle(at, Input::Wake);
            let lost = |node: &NodeId| !self.connected || self.place(*node).is_none();
            let lost: Vec<_> = self.nodes[at].watched().filter(lost).collect();
            lost.into_iter().for_each(|node| self.handle(at, Input::Suspect(node)));
        }
    }

    fn leaders(&self) -> usize {
        self.nodes.iter().filter(|node| node.status().role == Role::Leader).count()
    }
}

/// At least one of the two says that the other leads as well, and none does before.
pub(super) fn at_least_one_hears_of_the_other<C: Tested>() {
    let mut pair = Pair::<C>::cut_off();
    let both = (0..LIMIT).any(|_| {
        pair.pass();
        pair.leaders() == 2
    });
    assert_eq!(both, !NONE.contains(&C::NAME), "{}", C::NAME);
    assert!(pair.heard.is_empty(), "{}: {:?}", C::NAME, pair.heard);
    if !both {
        return;
    }
    let ids = pair.nodes.each_ref().map(|node| node.status().id);
    pair.connected = true;
    (0..LIMIT).for_each(|_| pair.pass());
    assert_eq!(pair.leaders(), 1, "{}", C::NAME);
    assert!(!pair.heard.is_empty(), "{}: no node hears of its rival", C::NAME);
    let each_other = |pair: &(NodeId, NodeId)| [(ids[0], ids[1]), (ids[1], ids[0])].contains(pair);
    assert!(pair.heard.iter().all(each_other), "{}: {:?}", C::NAME, pair.heard);
}
