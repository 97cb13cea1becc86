//! The lesson's class `RingElection`, translated call for call to a model: three objects in a ring,
//! of which any may call `start_election`, and calls arrive in the order in which they were made.

use super::{Program, check};
use stateright::Model;
use std::cmp::Ordering;

const FILE: &str = "model/literature/src/claims/program/class_ring_run.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("ring-class-elects-the-highest", FILE, || {
        check(Ring { live: NODES }, Ring::all_follow_the_highest)
    }),
    Program::new("ring-class-elects-without-the-highest", FILE, || {
        check(Ring { live: NODES - 1 }, Ring::all_follow_the_highest)
    }),
];

const NODES: usize = 3;

/// The objects 1, 2 and 3; the successor of each is the next one.
struct Ring {
    /// The processes of so many, the lowest, are up; a call to another is lost.
    live: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Hash)]
enum Call {
    /// `on_election_received`.
    Election(usize),
    /// `on_coordinator_received`.
    Coordinator(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Start(usize),
    /// The oldest call to this object is made.
    Deliver(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct Object {
    leader_id: Option<usize>,
    participant: bool,
    started: bool,
    calls: Vec<Call>,
}

type Objects = [Object; NODES];

impl Ring {
    /// Returns whether, when an election is over, all live objects follow the highest of them.
    fn all_follow_the_highest(&self, objects: &Objects) -> bool {
        let live = &objects[..self.live];
        let is_over = live.iter().any(|object| object.started)
            && live.iter().all(|object| object.calls.is_empty());
        !is_over || live.iter().all(|object| object.leader_id == Some(self.live))
    }

    fn send(&self, objects: &mut Objects, from: usize, call: Call) {
        let to = (from + 1) % NODES;
        if to < self.live {
            objects[to].calls.push(call);
        }
    }

    fn on_election_received(&self, objects: &mut Objects, at: usize, candidate: usize) {
        let (id, object) = (at + 1, &mut objects[at]);
        if candidate == id {
            (object.leader_id, object.participant) = (Some(id), false);
            self.send(objects, at, Call::Coordinator(id));
        } else if candidate > id || !object.participant {
            object.participant = true;
            self.send(objects, at, Call::Election(candidate.max(id)));
        }
    }

    fn on_coordinator_received(&self, objects: &mut Objects, at: usize, leader: usize) {
        (objects[at].leader_id, objects[at].participant) = (Some(leader), false);
        if leader != at + 1 {
            self.send(objects, at, Call::Coordinator(leader));
        }
    }
}

impl Model for Ring {
    type State = Objects;
    type Action = Action;

    fn init_states(&self) -> Vec<Objects> {
        vec![Objects::default()]
    }

    fn actions(&self, _: &Objects, actions: &mut Vec<Action>) {
        actions.extend((0..self.live).flat_map(|at| [Action::Start(at), Action::Deliver(at)]));
    }

    fn next_state(&self, objects: &Objects, action: Action) -> Option<Objects> {
        let mut next = objects.clone();
        match action {
            Action::Start(at) if !objects[at].started => {
                (next[at].started, next[at].participant) = (true, true);
                self.send(&mut next, at, Call::Election(at + 1));
            }
            Action::Deliver(at) if !objects[at].calls.is_empty() => {
                match next[at].calls.remove(0) {
                    Call::Election(candidate) => {
                        self.on_election_received(&mut next, at, candidate);
                    }
                    Call::Coordinator(leader) => {
                        self.on_coordinator_received(&mut next, at, leader);
                    }
                }
            }
            Action::Start(_) | Action::Deliver(_) => return None,
        }
        Some(next)
    }

    fn format_step(&self, objects: &Objects, action: Action) -> Option<String> {
        Some(match action {
            Action::Start(at) => {
                let (id, to) = (at + 1, (at + 1) % NODES);
                let lost = if to < self.live { "" } else { ", which is down" };
                format!("{id} starts an election, and calls {}{lost}", to + 1)
            }
            Action::Deliver(at) => match (*objects[at].calls.first()?, at + 1) {
                (Call::Election(candidate), id) => {
                    let what = match candidate.cmp(&id) {
                        Ordering::Greater => "forwards it",
                        Ordering::Equal => "is the leader",
                        Ordering::Less if objects[at].participant => "drops it",
                        Ordering::Less => "replaces it",
                    };
                    format!("{id} gets the candidate {candidate}, and {what}")
                }
                (Call::Coordinator(leader), id) => {
                    let what = if leader == id { "stops it" } else { "forwards it" };
                    format!("{id} gets the leader {leader}, and {what}")
                }
            },
        })
    }
}
