//! The lesson's class `RingElection`, call for call: three objects in a ring, of which any may call
//! `start_election`, and calls arrive in the order in which they were made.

use super::Account;
use super::search::{Steps, search};

const NODES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    /// `on_election_received`.
    Election(usize),
    /// `on_coordinator_received`.
    Coordinator(usize),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Start(usize),
    /// The oldest call to this object is made.
    Deliver(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Object {
    leader_id: Option<usize>,
    participant: bool,
    started: bool,
    calls: Vec<Call>,
}

/// The objects 1, 2 and 3; the successor of each is the next one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ring {
    objects: [Object; NODES],
    /// The process of the highest object is down: a call to it is lost.
    highest_is_down: bool,
}

impl Ring {
    fn start(highest_is_down: bool) -> Ring {
        Ring { objects: std::array::from_fn(|_| Object::default()), highest_is_down }
    }

    fn is_up(&self, at: usize) -> bool {
        at + 1 != NODES || !self.highest_is_down
    }

    fn send(&mut self, from: usize, call: Call) {
        let to = (from + 1) % NODES;
        if self.is_up(to) {
            self.objects[to].calls.push(call);
        }
    }

    fn on_election_received(&mut self, at: usize, candidate: usize) -> &'static str {
        let (id, participant) = (at + 1, self.objects[at].participant);
        if candidate > id {
            self.objects[at].participant = true;
            self.send(at, Call::Election(candidate));
            "forwards it"
        } else if candidate < id && !participant {
            self.objects[at].participant = true;
            self.send(at, Call::Election(id));
            "replaces it"
        } else if candidate < id {
            "drops it"
        } else {
            self.objects[at].leader_id = Some(id);
            self.objects[at].participant = false;
            self.send(at, Call::Coordinator(id));
            "is the leader"
        }
    }

    fn on_coordinator_received(&mut self, at: usize, leader: usize) -> &'static str {
        self.objects[at].leader_id = Some(leader);
        self.objects[at].participant = false;
        if leader == at + 1 {
            return "stops it";
        }
        self.send(at, Call::Coordinator(leader));
        "forwards it"
    }

    /// An election was started, and no call is under way.
    fn is_over(&self) -> bool {
        let live = |at: &usize| self.is_up(*at);
        (0..NODES).filter(live).any(|at| self.objects[at].started)
            && self.objects.iter().all(|object| object.calls.is_empty())
    }

    fn all_follow(&self, leader: usize) -> bool {
        let live = |at: &usize| self.is_up(*at);
        (0..NODES).filter(live).all(|at| self.objects[at].leader_id == Some(leader))
    }
}

impl Steps for Ring {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        (0..NODES).flat_map(|at| [Event::Start(at), Event::Deliver(at)]).collect()
    }

    fn after(&self, event: Event) -> Option<(Ring, String)> {
        let mut next = self.clone();
        let words = match event {
            Event::Start(at) if self.is_up(at) && !self.objects[at].started => {
                next.objects[at].started = true;
                next.objects[at].participant = true;
                next.send(at, Call::Election(at + 1));
                let lost = if self.is_up((at + 1) % NODES) { "" } else { ", which is down" };
                format!("{} starts an election, and calls {}{lost}", at + 1, (at + 1) % NODES + 1)
            }
            Event::Deliver(at) if !self.objects[at].calls.is_empty() => {
                match next.objects[at].calls.remove(0) {
                    Call::Election(candidate) => {
                        let what = next.on_election_received(at, candidate);
                        format!("{} gets the candidate {candidate}, and {what}", at + 1)
                    }
                    Call::Coordinator(leader) => {
                        let what = next.on_coordinator_received(at, leader);
                        format!("{} gets the leader {leader}, and {what}", at + 1)
                    }
                }
            }
            _ => return None,
        };
        Some((next, words))
    }
}

/// Any of them may start: in the end all objects follow the highest.
pub(super) fn elects() -> Account {
    search(Ring::start(false), usize::MAX, |ring| !ring.is_over() || ring.all_follow(NODES))
}

/// The same of the two that are left if the highest is down.
pub(super) fn elects_without_the_highest() -> Account {
    search(Ring::start(true), usize::MAX, |ring| !ring.is_over() || ring.all_follow(NODES - 1))
}
