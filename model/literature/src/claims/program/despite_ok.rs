//! The chapter's candidates as a model translated from its text, with one thing changed: an OK does
//! not stop a candidate. Of three processes the third is down. A time-out expires only when no
//! answer can come any more.

use super::{Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/despite_ok.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("candidates-lead-one-at-a-time", FILE, || {
        check(Candidates { despite_ok: false }, one_leader)
    }),
    Program::new("candidates-despite-ok-lead-one-at-a-time", FILE, || {
        check(Candidates { despite_ok: true }, one_leader)
    }),
];

struct Candidates {
    /// A candidate takes no notice of an OK.
    despite_ok: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower,
    Candidate,
    Electing,
    Leader,
}

/// Each action of the processes 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Notices(usize),
    ElectionArrives,
    OkArrives,
    CoordinatorArrives,
    /// T_elec is over.
    Expires(usize),
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct Pair {
    roles: [Role; 2],
    /// ELECTION of 1 is on its way; then OK and COORDINATOR of 2.
    election: bool,
    ok: bool,
    coordinator: bool,
}

fn one_leader(_: &Candidates, pair: &Pair) -> bool {
    pair.roles != [Role::Leader; 2]
}

impl Model for Candidates {
    type State = Pair;
    type Action = Action;

    fn init_states(&self) -> Vec<Pair> {
        let roles = [Role::Follower; 2];
        vec![Pair { roles, election: false, ok: false, coordinator: false }]
    }

    fn actions(&self, _: &Pair, actions: &mut Vec<Action>) {
        actions.extend([Action::Notices(0), Action::Notices(1), Action::ElectionArrives]);
        actions.extend([Action::OkArrives, Action::CoordinatorArrives]);
        actions.extend([Action::Expires(0), Action::Expires(1)]);
    }

    fn next_state(&self, pair: &Pair, action: Action) -> Option<Pair> {
        let mut next = pair.clone();
        match action {
            Action::Notices(at) if pair.roles[at] == Role::Follower => {
                next.roles[at] = Role::Candidate;
                next.election |= at == 0;
            }
            Action::ElectionArrives if pair.election => {
                (next.election, next.ok) = (false, true);
                if pair.roles[1] != Role::Leader {
                    next.roles[1] = Role::Candidate;
                }
            }
            Action::OkArrives if pair.ok => {
                next.ok = false;
                if pair.roles[0] == Role::Candidate && !self.despite_ok {
                    next.roles[0] = Role::Electing;
                }
            }
            Action::CoordinatorArrives if pair.coordinator => {
                (next.roles[0], next.coordinator) = (Role::Follower, false);
            }
            Action::Expires(at) if pair.roles[at] == Role::Candidate => {
                if at == 0 && (pair.election || pair.ok) {
                    return None;
                }
                next.roles[at] = Role::Leader;
                next.coordinator |= at == 1;
            }
            _ => return None,
        }
        Some(next)
    }

    fn format_step(&self, _: &Pair, action: Action) -> Option<String> {
        let words = match action {
            Action::Notices(0) => "1 notices that 3 is down and sends ELECTION to 2",
            Action::Notices(_) => "2 notices that 3 is down and asks it",
            Action::ElectionArrives => "2 gets ELECTION, sends OK, and asks 3",
            Action::OkArrives => "1 gets OK",
            Action::CoordinatorArrives => "1 gets COORDINATOR of 2 and follows it",
            Action::Expires(0) => "T_elec of 1 is over: it declares itself",
            Action::Expires(_) => "T_elec of 2 is over: it declares itself and sends COORDINATOR",
        };
        Some(words.to_owned())
    }
}
