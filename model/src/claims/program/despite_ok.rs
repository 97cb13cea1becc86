//! The chapter's candidates, with one thing changed: an OK does not stop one. Of three processes
//! the third is down. A time-out expires only when no answer can come any more.

use super::Account;
use super::search::{Steps, search};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower,
    Candidate,
    Electing,
    Leader,
}

/// What can happen to the processes 1 and 2.
#[derive(Clone, Copy, Debug)]
enum Event {
    Notices(usize),
    ElectionArrives,
    OkArrives,
    CoordinatorArrives,
    /// T_elec is over.
    Expires(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pair {
    roles: [Role; 2],
    /// On their way: ELECTION of 1, OK and COORDINATOR of 2.
    election: bool,
    ok: bool,
    coordinator: bool,
    /// A candidate takes no notice of an OK.
    despite_ok: bool,
}

impl Pair {
    const fn start(despite_ok: bool) -> Pair {
        let roles = [Role::Follower; 2];
        Pair { roles, election: false, ok: false, coordinator: false, despite_ok }
    }
}

impl Steps for Pair {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        vec![
            Event::Notices(0),
            Event::Notices(1),
            Event::ElectionArrives,
            Event::OkArrives,
            Event::CoordinatorArrives,
            Event::Expires(0),
            Event::Expires(1),
        ]
    }

    fn after(&self, event: Event) -> Option<(Pair, String)> {
        let mut next = *self;
        let words = match event {
            Event::Notices(0) if self.roles[0] == Role::Follower => {
                (next.roles[0], next.election) = (Role::Candidate, true);
                "1 notices that 3 is down and sends ELECTION to 2"
            }
            Event::Notices(1) if self.roles[1] == Role::Follower => {
                next.roles[1] = Role::Candidate;
                "2 notices that 3 is down and asks it"
            }
            Event::ElectionArrives if self.election => {
                (next.election, next.ok) = (false, true);
                if self.roles[1] != Role::Leader {
                    next.roles[1] = Role::Candidate;
                }
                "2 gets ELECTION, sends OK, and asks 3"
            }
            Event::OkArrives if self.ok => {
                next.ok = false;
                if self.roles[0] == Role::Candidate && !self.despite_ok {
                    next.roles[0] = Role::Electing;
                }
                "1 gets OK"
            }
            Event::CoordinatorArrives if self.coordinator => {
                (next.roles[0], next.coordinator) = (Role::Follower, false);
                "1 gets COORDINATOR of 2 and follows it"
            }
            Event::Expires(0) if self.roles[0] == Role::Candidate && !self.election && !self.ok => {
                next.roles[0] = Role::Leader;
                "T_elec of 1 is over: it declares itself"
            }
            Event::Expires(1) if self.roles[1] == Role::Candidate => {
                (next.roles[1], next.coordinator) = (Role::Leader, true);
                "T_elec of 2 is over: it declares itself and sends COORDINATOR"
            }
            _ => return None,
        };
        Some((next, words.to_owned()))
    }
}

fn one_leader(pair: &Pair) -> bool {
    pair.roles != [Role::Leader; 2]
}

/// At most one process leads.
pub(super) fn as_written() -> Account {
    search(Pair::start(false), usize::MAX, one_leader)
}

/// The same if a candidate declares itself although it has an OK.
pub(super) fn despite_ok() -> Account {
    search(Pair::start(true), usize::MAX, one_leader)
}
