//! The lesson's lease by a majority as a model, translated from its text: two candidates ask, and
//! each process promises its support to one of the two at a time, for a while. An answer may take
//! any time or be lost. Clocks run alike, and a leader whose lease is over stops at once.

use super::{Program, check};
use crate::claims::Finding;
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/majority_lease.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("lease-by-a-majority-has-one-leader", FILE, || {
        let of =
            |nodes, enough| check(Lease { nodes, enough, promise: LEASE }, Lease::has_one_leader);
        let three = of(3, 2);
        if three.finding == Finding::Holds { of(4, 3) } else { three }
    }),
    Program::new("lease-by-half-has-one-leader", FILE, || {
        check(Lease { nodes: 4, enough: 2, promise: LEASE }, Lease::has_one_leader)
    }),
    Program::new("lease-by-short-promises-has-one-leader", FILE, || {
        check(Lease { nodes: 3, enough: 2, promise: LEASE - 1 }, Lease::has_one_leader)
    }),
];

/// The most processes; the first and the last are the candidates.
const MOST: usize = 4;
/// How long a lease is, from the moment at which its holder asks.
const LEASE: u8 = 2;

struct Lease {
    nodes: usize,
    /// How many have to support a leader.
    enough: u32,
    /// How long a promise lasts.
    promise: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Tick,
    /// The question reaches this process, which promises, if it has promised nothing else.
    Promise(usize, usize),
    /// The promise reaches the candidate.
    Arrive(usize, usize),
    /// A candidate asks all for their support.
    Ask(usize),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
struct Candidate {
    /// How long its lease lasts yet, if the candidate gets it.
    left: u8,
    promised: u8,
    arrived: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct Group {
    candidates: [Candidate; 2],
    /// To which candidate each process has promised its support, and for how long yet.
    promises: [Option<(usize, u8)>; MOST],
}

impl Lease {
    fn leads(&self, by: Candidate) -> bool {
        by.left > 0 && by.arrived.count_ones() >= self.enough
    }

    fn has_one_leader(&self, group: &Group) -> bool {
        !group.candidates.iter().all(|&by| self.leads(by))
    }
}

impl Model for Lease {
    type State = Group;
    type Action = Action;

    fn init_states(&self) -> Vec<Group> {
        vec![Group::default()]
    }

    fn actions(&self, _: &Group, actions: &mut Vec<Action>) {
        actions.push(Action::Tick);
        for by in 0..2 {
            let each = |at| [Action::Promise(at, by), Action::Arrive(at, by)];
            actions.extend((0..self.nodes).flat_map(each));
            actions.push(Action::Ask(by));
        }
    }

    fn next_state(&self, group: &Group, action: Action) -> Option<Group> {
        let mut next = group.clone();
        match action {
            Action::Tick => {
                for candidate in &mut next.candidates {
                    candidate.left = candidate.left.saturating_sub(1);
                    if candidate.left == 0 {
                        *candidate = Candidate::default();
                    }
                }
                for promise in &mut next.promises {
                    *promise = promise.and_then(|(to, left)| (left > 1).then(|| (to, left - 1)));
                }
            }
            Action::Ask(by) if group.candidates[by].left == 0 => next.candidates[by].left = LEASE,
            Action::Promise(at, by) => {
                let Candidate { left, promised, .. } = group.candidates[by];
                let to_another = group.promises[at].is_some_and(|(to, _)| to != by);
                if left == 0 || promised & 1 << at != 0 || to_another {
                    return None;
                }
                next.promises[at] = Some((by, self.promise));
                next.candidates[by].promised |= 1 << at;
            }
            Action::Arrive(at, by) => {
                let Candidate { promised, arrived, .. } = group.candidates[by];
                if promised & !arrived & 1 << at == 0 {
                    return None;
                }
                next.candidates[by].arrived |= 1 << at;
            }
            Action::Ask(_) => return None,
        }
        Some(next)
    }

    fn format_step(&self, group: &Group, action: Action) -> Option<String> {
        let name = |by: usize| [1, self.nodes][by];
        Some(match action {
            Action::Tick => "a tick".to_owned(),
            Action::Ask(by) => format!("{} asks for the lease", name(by)),
            Action::Promise(at, by) => format!("{} promises {} its support", at + 1, name(by)),
            Action::Arrive(at, by) => {
                let leads = self.leads(self.next_state(group, action)?.candidates[by]);
                let leads = if leads { ", which leads now" } else { "" };
                format!("the promise of {} reaches {}{leads}", at + 1, name(by))
            }
        })
    }
}
