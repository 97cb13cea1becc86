//! The lesson's class `LeaseBasedLeader`, translated call for call to a model, for two processes.
//! The lease is taken from a store (`try_atomic_lease_acquisition`), which keeps it for as long as
//! the class counts, and longer when a renewal reaches it (`broadcast_lease_renewal`).

use super::{Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/class_lease.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("lease-class-has-one-holder", FILE, || check(Class { is_cut: false }, one_valid)),
    Program::new("lease-class-cut-off-has-one-holder", FILE, || {
        check(Class { is_cut: true }, one_valid)
    }),
];

const LEASE: u8 = 2;
const END: u8 = 6;

struct Class {
    /// The link of the first process to all others may be cut.
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Tick,
    Cut,
    /// `acquire_lease`.
    Acquire(usize),
    /// `renew_lease`.
    Renew(usize),
}

/// One object of the class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
struct Leader {
    lease_expiry: u8,
    is_leader: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct World {
    now: u8,
    leaders: [Leader; 2],
    /// The process that has the lease by the store, and until when.
    granted: Option<(usize, u8)>,
    cut: bool,
}

impl World {
    fn reaches(&self, at: usize) -> bool {
        at != 0 || !self.cut
    }

    /// `is_lease_valid`.
    fn is_lease_valid(&self, at: usize) -> bool {
        self.leaders[at].is_leader && self.now < self.leaders[at].lease_expiry
    }
}

/// Returns whether no two objects believe in a valid lease.
fn one_valid(_: &Class, world: &World) -> bool {
    !(world.is_lease_valid(0) && world.is_lease_valid(1))
}

impl Model for Class {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::default()]
    }

    fn actions(&self, _: &World, actions: &mut Vec<Action>) {
        actions.extend([Action::Tick, Action::Cut]);
        actions.extend((0..2).flat_map(|at| [Action::Acquire(at), Action::Renew(at)]));
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        let until = world.now + LEASE;
        match action {
            Action::Tick if world.now < END => next.now += 1,
            Action::Cut if self.is_cut && !world.cut => next.cut = true,
            Action::Acquire(at) if world.reaches(at) => {
                if world.granted.is_some_and(|(by, until)| by != at && until > world.now) {
                    return None;
                }
                next.granted = Some((at, until));
                next.leaders[at] = Leader { lease_expiry: until, is_leader: true };
            }
            Action::Renew(at) if world.is_lease_valid(at) => {
                next.leaders[at].lease_expiry = until;
                if world.reaches(at) && world.granted.is_some_and(|(by, _)| by == at) {
                    next.granted = Some((at, until));
                }
            }
            Action::Renew(at) if world.leaders[at].is_leader => next.leaders[at].is_leader = false,
            _ => return None,
        }
        Some(next)
    }

    fn format_step(&self, world: &World, action: Action) -> Option<String> {
        let until = world.now + LEASE;
        Some(match action {
            Action::Tick => format!("t={}", world.now + 1),
            Action::Cut => "process 1 is cut off".to_owned(),
            Action::Acquire(at) => format!("{} acquires the lease, until t={until}", at + 1),
            Action::Renew(at) if world.is_lease_valid(at) => {
                format!("{} renews its lease, until t={until}", at + 1)
            }
            Action::Renew(at) => format!("{} is too late to renew", at + 1),
        })
    }
}
