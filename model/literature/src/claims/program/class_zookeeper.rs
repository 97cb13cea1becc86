//! The lesson's class `ZooKeeperLeaderElection`, translated call for call to a model, with as much
//! of a ZooKeeper as the class uses. The client library keeps a watch over the end of a session:
//! with the next session it looks at what is watched, and calls the function again.

use super::{Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/class_zookeeper.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("zookeeper-class-loses-its-node-with-its-session", FILE, || {
        check(Class { crashes: 1, ..EXPIRY }, |_, world| world.first_leads())
    }),
    Program::new("zookeeper-class-has-one-leader", FILE, || {
        check(EXPIRY, |_, world| world.count(|client| !client.down && client.is_leader) <= 1)
    }),
    Program::new("zookeeper-class-notices-the-end-of-its-session", FILE, || {
        check(EXPIRY, |_, world| {
            let stale = world.count(|client| client.session_lost && client.is_leader);
            !world.is_quiescent() || stale == 0
        })
    }),
    Program::new("zookeeper-class-wakes-one", FILE, || {
        check(Class { expiries: 0, crashes: 1, resignations: 0 }, |_, world| {
            world.notified.iter().filter(|&&notified| notified).count() <= 1
        })
    }),
    Program::new("zookeeper-class-raises-nothing", FILE, || {
        check(Class { expiries: 2, ..EXPIRY }, |_, world| {
            world.count(|client| client.raised.is_some()) == 0
        })
    }),
    Program::new("zookeeper-class-tells-only-leaders", FILE, || {
        check(Class { expiries: 0, crashes: 0, resignations: 1 }, |_, world| {
            world.count(|client| client.told_for_nothing) == 0
        })
    }),
];

const CLIENTS: usize = 3;

/// How many sessions, clients and leaderships may end.
struct Class {
    expiries: usize,
    crashes: usize,
    resignations: u8,
}

const EXPIRY: Class = Class { expiries: 1, crashes: 0, resignations: 0 };

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    /// The session of this client ends, though the client lives; its node is deleted.
    SessionExpires(usize),
    /// The client crashes; then its session ends.
    Crash(usize),
    /// The client hears that the node that it watches is deleted.
    Watched(usize),
    /// `resign_leadership`.
    Resign(usize),
}

/// One object of the class.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct Client {
    down: bool,
    is_leader: bool,
    /// The node that the client watches, by whose it is.
    watches: Option<usize>,
    /// Its first session has ended.
    session_lost: bool,
    /// The client was told that it has lost a leadership (`lost_callback`), and had none.
    told_for_nothing: bool,
    /// The exception that its last call raised.
    raised: Option<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct World {
    clients: [Client; CLIENTS],
    /// The clients of which the node is there. Nodes are numbered like clients.
    nodes: [bool; CLIENTS],
    /// Clients that have not been called yet for a node that was deleted.
    notified: [bool; CLIENTS],
    resigned: u8,
}

impl World {
    /// `_check_leadership`.
    fn check_leadership(&mut self, at: usize) {
        let children: Vec<usize> = (0..CLIENTS).filter(|&node| self.nodes[node]).collect();
        let client = &mut self.clients[at];
        match children.iter().position(|&node| node == at) {
            Some(0) => client.is_leader = true,
            Some(index) => client.watches = Some(children[index - 1]),
            None if children.is_empty() => {
                client.raised = Some("IndexError: list index out of range");
            }
            None => client.raised = Some("ValueError: its node is not in list"),
        }
    }

    /// Deletes a node, and notifies the clients that watch it.
    fn delete(&mut self, node: usize) {
        self.nodes[node] = false;
        for (client, notified) in self.clients.iter().zip(&mut self.notified) {
            *notified |= !client.down && client.watches == Some(node);
        }
    }

    fn is_quiescent(&self) -> bool {
        self.notified == [false; CLIENTS]
    }

    fn count(&self, of: fn(&Client) -> bool) -> usize {
        self.clients.iter().filter(|client| of(client)).count()
    }

    /// Returns whether no node is there without the session of its client and, where nothing is
    /// under way, the client of the first node leads.
    fn first_leads(&self) -> bool {
        let leads = |at: usize| !self.clients[at].down && self.clients[at].is_leader;
        let first = (0..CLIENTS).find(|&node| self.nodes[node]);
        let gone = |client: &Client| client.down || client.session_lost;
        (!self.is_quiescent() || first.is_some_and(leads))
            && self.clients.iter().zip(&self.nodes).all(|(client, node)| !gone(client) || !node)
    }
}

impl Model for Class {
    type State = World;
    type Action = Action;

    /// All have called `start`, one after the other.
    fn init_states(&self) -> Vec<World> {
        let mut world = World { nodes: [true; CLIENTS], ..World::default() };
        (0..CLIENTS).for_each(|at| world.check_leadership(at));
        vec![world]
    }

    fn actions(&self, _: &World, actions: &mut Vec<Action>) {
        actions.extend((0..CLIENTS).flat_map(|at| {
            [Action::SessionExpires(at), Action::Crash(at), Action::Watched(at), Action::Resign(at)]
        }));
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        match action {
            Action::SessionExpires(at) => {
                let spent = world.count(|client| client.session_lost) == self.expiries;
                if world.clients[at].down || !world.nodes[at] || spent {
                    return None;
                }
                next.clients[at].session_lost = true;
                next.delete(at);
            }
            Action::Crash(at) => {
                let spent = world.count(|client| client.down) == self.crashes;
                if world.clients[at].down || !world.nodes[at] || spent {
                    return None;
                }
                (next.clients[at].down, next.notified[at]) = (true, false);
                next.delete(at);
            }
            Action::Watched(at) if world.notified[at] => {
                (next.clients[at].watches, next.notified[at]) = (None, false);
                next.check_leadership(at);
            }
            Action::Resign(at) if !world.clients[at].down && world.resigned < self.resignations => {
                next.resigned += 1;
                if world.nodes[at] {
                    next.delete(at);
                    next.clients[at].is_leader = false;
                    next.clients[at].told_for_nothing |= !world.clients[at].is_leader;
                } else {
                    next.clients[at].raised = Some("NoNodeError");
                }
            }
            Action::Watched(_) | Action::Resign(_) => return None,
        }
        Some(next)
    }

    fn format_step(&self, world: &World, action: Action) -> Option<String> {
        Some(match action {
            Action::SessionExpires(at) => {
                format!("the session of {} expires, and its node is deleted", at + 1)
            }
            Action::Crash(at) => {
                format!("{} crashes, its session ends, and its node is deleted", at + 1)
            }
            Action::Watched(at) => {
                let Client { raised, is_leader, .. } = self.next_state(world, action)?.clients[at];
                let does = if is_leader { "it leads" } else { "it watches another" };
                let what = raised.unwrap_or(does);
                format!("{} hears that the node before its own is gone: {what}", at + 1)
            }
            Action::Resign(at) => {
                let led = world.clients[at].is_leader;
                let before = if led { "which leads" } else { "which does not lead" };
                format!("{}, {before}, resigns, and lost_callback is called", at + 1)
            }
        })
    }
}
