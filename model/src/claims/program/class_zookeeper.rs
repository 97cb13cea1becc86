//! The lesson's class `ZooKeeperLeaderElection`, call for call, with as much of a ZooKeeper as it
//! uses. The client library keeps a watch over the end of a session: with the next session it
//! looks at what is watched, and calls the function again.

use super::Account;
use super::search::{Steps, search};

const CLIENTS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Event {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Client {
    up: bool,
    is_leader: bool,
    /// The node that it watches, by whose it is.
    watches: Option<usize>,
    /// Its first session has ended.
    session_lost: bool,
    /// It was told that it has lost a leadership (`lost_callback`), and had none.
    told_for_nothing: bool,
    /// What its last call raised.
    raised: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct World {
    clients: [Client; CLIENTS],
    /// The clients of which the node is there. Nodes are numbered like clients.
    nodes: [bool; CLIENTS],
    /// Clients that have not been called yet for a node that was deleted.
    notified: [bool; CLIENTS],
    /// How many sessions, clients and leaderships may end.
    budget: Budget,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Budget {
    expiries: u8,
    crashes: u8,
    resignations: u8,
}

impl World {
    /// All have called `start`, one after the other.
    fn start(budget: Budget) -> World {
        let client = Client {
            up: true,
            is_leader: false,
            watches: None,
            session_lost: false,
            told_for_nothing: false,
            raised: None,
        };
        let mut world = World {
            clients: [client; CLIENTS],
            nodes: [true; CLIENTS],
            notified: [false; CLIENTS],
            budget,
        };
        for at in 0..CLIENTS {
            world.check_leadership(at);
        }
        world
    }

    /// `_check_leadership`.
    fn check_leadership(&mut self, at: usize) {
        let children: Vec<usize> = (0..CLIENTS).filter(|&node| self.nodes[node]).collect();
        let client = &mut self.clients[at];
        match children.first() {
            None => client.raised = Some("IndexError: list index out of range"),
            Some(&first) if first == at => client.is_leader = true,
            Some(_) => match children.iter().position(|&node| node == at) {
                None => client.raised = Some("ValueError: its node is not in list"),
                Some(index) => client.watches = Some(children[index - 1]),
            },
        }
    }

    /// The store deletes a node, and notifies those that watch it.
    fn delete(&mut self, node: usize) {
        self.nodes[node] = false;
        for (client, notified) in self.clients.iter().zip(&mut self.notified) {
            *notified |= client.up && client.watches == Some(node);
        }
    }

    fn leaders(&self) -> usize {
        self.clients.iter().filter(|client| client.up && client.is_leader).count()
    }

    fn is_quiescent(&self) -> bool {
        self.notified == [false; CLIENTS]
    }

    fn first(&self) -> Option<usize> {
        (0..CLIENTS).find(|&node| self.nodes[node])
    }
}

impl Steps for World {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        let each = |at| {
            [Event::SessionExpires(at), Event::Crash(at), Event::Watched(at), Event::Resign(at)]
        };
        (0..CLIENTS).flat_map(each).collect()
    }

    fn after(&self, event: Event) -> Option<(World, String)> {
        let mut next = *self;
        let words = match event {
            Event::SessionExpires(at) => {
                let client = &mut next.clients[at];
                if !client.up || client.session_lost || !self.nodes[at] {
                    return None;
                }
                client.session_lost = true;
                next.budget.expiries = self.budget.expiries.checked_sub(1)?;
                next.delete(at);
                format!("the session of {} expires, and its node is deleted", at + 1)
            }
            Event::Crash(at) if self.clients[at].up && self.nodes[at] => {
                next.clients[at].up = false;
                next.notified[at] = false;
                next.budget.crashes = self.budget.crashes.checked_sub(1)?;
                next.delete(at);
                format!("{} crashes, its session ends, and its node is deleted", at + 1)
            }
            Event::Watched(at) if self.notified[at] => {
                next.notified[at] = false;
                next.clients[at].watches = None;
                next.check_leadership(at);
                let Client { raised, is_leader, .. } = next.clients[at];
                let what = match (raised, is_leader) {
                    (Some(raised), _) => raised.to_owned(),
                    (None, true) => "it leads".to_owned(),
                    (None, false) => "it watches another".to_owned(),
                };
                format!("{} hears that the node before its own is gone: {what}", at + 1)
            }
            Event::Resign(at) if self.clients[at].up => {
                next.budget.resignations = self.budget.resignations.checked_sub(1)?;
                let led = self.clients[at].is_leader;
                if self.nodes[at] {
                    next.delete(at);
                    next.clients[at].is_leader = false;
                    next.clients[at].told_for_nothing |= !led;
                } else {
                    next.clients[at].raised = Some("NoNodeError");
                }
                let before = if led { "which leads" } else { "which does not lead" };
                format!("{}, {before}, resigns, and lost_callback is called", at + 1)
            }
            _ => return None,
        };
        Some((next, words))
    }
}

const EXPIRY: Budget = Budget { expiries: 1, crashes: 0, resignations: 0 };
const CRASH: Budget = Budget { expiries: 0, crashes: 1, resignations: 0 };

/// Where nothing is under way any more, the client whose node is the first leads.
fn first_leads(world: &World) -> bool {
    let leads = |first: usize| world.clients[first].up && world.clients[first].is_leader;
    !world.is_quiescent() || world.first().is_some_and(leads)
}

/// A session ends, with its client or without: its node is deleted, and the next one leads.
pub(super) fn deletes() -> Account {
    let budget = Budget { expiries: 1, crashes: 1, resignations: 0 };
    search(World::start(budget), usize::MAX, |world| {
        let gone = |(client, node): (&Client, &bool)| client.up && !client.session_lost || !node;
        first_leads(world) && world.clients.iter().zip(&world.nodes).all(gone)
    })
}

/// A session ends while its client lives: one client leads at a time.
pub(super) fn one_leader() -> Account {
    search(World::start(EXPIRY), usize::MAX, |world| world.leaders() <= 1)
}

/// In the end a client whose session has ended does not lead.
pub(super) fn notices() -> Account {
    search(World::start(EXPIRY), usize::MAX, |world| {
        let stale = |client: &Client| client.session_lost && client.is_leader;
        !world.is_quiescent() || !world.clients.iter().any(stale)
    })
}

/// One crash wakes one client at most.
pub(super) fn wakes_one() -> Account {
    let woken = |world: &World| world.notified.iter().filter(|&&notified| notified).count() <= 1;
    search(World::start(CRASH), usize::MAX, woken)
}

/// Two sessions end: no call raises an exception.
pub(super) fn raises_nothing() -> Account {
    let budget = Budget { expiries: 2, crashes: 0, resignations: 0 };
    search(World::start(budget), usize::MAX, |world| {
        world.clients.iter().all(|client| client.raised.is_none())
    })
}

/// Only a client that led is told that it leads no longer.
pub(super) fn tells_leaders() -> Account {
    let budget = Budget { expiries: 0, crashes: 0, resignations: 1 };
    search(World::start(budget), usize::MAX, |world| {
        world.clients.iter().all(|client| !client.told_for_nothing)
    })
}
