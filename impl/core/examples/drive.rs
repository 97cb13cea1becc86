//! A program that drives members itself, without the library `bellwether`: three nodes on a thread
//! each, with channels for a network, the clock of the system, and a disk that is always fast.
//!
//! `cargo run -p bellwether-core --example drive`

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use bellwether_core::member::{Action, Event, Member, Setup, StorageAnswer};
use bellwether_core::protocol::quorum::{Config, Message, Quorum, Timing};
use bellwether_core::protocol::{Core as _, Members, Node, NodeId, Time};
use bellwether_core::trace::Received;

const RUNS: Duration = Duration::from_secs(5);

type Network = BTreeMap<NodeId, Sender<Event<Message>>>;

/// Tells a member what happens, does what it wants done, and waits for no longer than it says.
fn drive(node: Node<Quorum>, network: &Network, inbox: &Receiver<Event<Message>>) {
    let start = Instant::now();
    let now = || Time::ZERO + start.elapsed();
    let id = node.status().id;
    let setup = Setup { stores: true, ..Setup::of::<Quorum>(node.config(), network.len()) };
    let mut member = Member::new(node, &setup, now());
    let mut events = VecDeque::from([Event::Start]);
    while start.elapsed() < RUNS {
        while let Some(event) = events.pop_front() {
            for action in member.handle(now(), event) {
                match action {
                    Action::Send(sent) => {
                        // A message may be lost, here to a node that has ended.
                        let received = Received::unnumbered(id, sent.message);
                        let _ = network[&sent.to].send(Event::Received(received));
                    }
                    // Write the state, sync it, and answer then. The thread may go on meanwhile.
                    Action::Save(_) | Action::Probe => {
                        events.push_front(Event::StorageAnswered(StorageAnswer::Done));
                    }
                    Action::Publish(view) => {
                        let (role, leader, epoch) = (view.role(), view.leader(), view.epoch());
                        println!("node {id} is {role}, leader {leader:?}, epoch {epoch:?}");
                    }
                    // The work of the leader stops here, if there is some.
                    Action::EndWork(_) => events.push_front(Event::WorkEnded),
                    // Leases that are renewed, lists that change, answers, and lines of a log.
                    _ => {}
                }
            }
        }
        match inbox.recv_timeout(member.wait(now())) {
            Ok(event) => events.push_back(event),
            Err(_) => events.extend([Event::Wake, Event::Drained { gone: BTreeSet::new() }]),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let ids = (1..=3_u16).map(NodeId::try_from).collect::<Result<Vec<_>, _>>()?;
    let members = Members::new(ids.iter().copied())?;
    let (mut network, mut nodes) = (Network::new(), Vec::new());
    for id in ids {
        let config = Config { id, members: members.clone(), timing: Timing::DEFAULT };
        // The cluster is new. Later, a node starts with the state that it saved last, or with none.
        let node = Node::<Quorum>::new(config, Quorum::founder(), u64::from(id.get()))?;
        let (sender, inbox) = channel();
        network.insert(id, sender);
        nodes.push((node, inbox));
    }
    thread::scope(|scope| {
        for (node, inbox) in nodes {
            let network = &network;
            scope.spawn(move || drive(node, network, &inbox));
        }
    });
    Ok(())
}
