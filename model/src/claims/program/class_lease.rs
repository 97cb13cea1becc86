//! The lesson's class `LeaseBasedLeader`, call for call, for two processes. The lease is taken from
//! a store (`try_atomic_lease_acquisition`), which keeps it for as long as the class counts, and
//! longer when a renewal reaches it (`broadcast_lease_renewal`).

use super::Account;
use super::search::{Steps, search};

const LEASE: u8 = 2;
const END: u8 = 6;

#[derive(Clone, Copy, Debug)]
enum Event {
    Tick,
    /// `acquire_lease`.
    Acquire(usize),
    /// `renew_lease`.
    Renew(usize),
    /// The link of the first process to all others is cut.
    Cut,
}

/// One object of the class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Leader {
    lease_expiry: u8,
    is_leader: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct World {
    now: u8,
    leaders: [Leader; 2],
    /// The process that has the lease by the store, and until when.
    granted: Option<(usize, u8)>,
    cut: bool,
    /// How many cuts there may be.
    cuts: u8,
}

impl World {
    fn start(cuts: u8) -> World {
        World { now: 0, leaders: [Leader::default(); 2], granted: None, cut: false, cuts }
    }

    fn reaches(&self, at: usize) -> bool {
        at != 0 || !self.cut
    }

    /// `is_lease_valid`.
    fn is_lease_valid(&self, at: usize) -> bool {
        self.leaders[at].is_leader && self.now < self.leaders[at].lease_expiry
    }
}

impl Steps for World {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        let each = (0..2).flat_map(|at| [Event::Acquire(at), Event::Renew(at)]);
        [Event::Tick, Event::Cut].into_iter().chain(each).collect()
    }

    fn after(&self, event: Event) -> Option<(World, String)> {
        let mut next = *self;
        let words = match event {
            Event::Tick if self.now < END => {
                next.now += 1;
                format!("t={}", next.now)
            }
            Event::Cut if !self.cut && self.cuts > 0 => {
                (next.cut, next.cuts) = (true, self.cuts - 1);
                "process 1 is cut off".to_owned()
            }
            Event::Acquire(at) if self.reaches(at) => {
                let free = self.granted.is_none_or(|(by, until)| by == at || until <= self.now);
                if !free {
                    return None;
                }
                next.granted = Some((at, self.now + LEASE));
                next.leaders[at] = Leader { lease_expiry: self.now + LEASE, is_leader: true };
                format!("{} acquires the lease, until t={}", at + 1, self.now + LEASE)
            }
            Event::Renew(at) if self.leaders[at].is_leader => {
                if self.now >= self.leaders[at].lease_expiry {
                    next.leaders[at].is_leader = false;
                    format!("{} is too late to renew", at + 1)
                } else {
                    next.leaders[at].lease_expiry = self.now + LEASE;
                    if self.reaches(at) && self.granted.is_some_and(|(by, _)| by == at) {
                        next.granted = Some((at, self.now + LEASE));
                    }
                    format!("{} renews its lease, until t={}", at + 1, self.now + LEASE)
                }
            }
            _ => return None,
        };
        Some((next, words))
    }
}

fn one_valid(world: &World) -> bool {
    !(world.is_lease_valid(0) && world.is_lease_valid(1))
}

/// No two objects believe in a valid lease, where nothing is cut.
pub(super) fn without_a_cut() -> Account {
    search(World::start(0), usize::MAX, one_valid)
}

/// The same where a process may be cut off.
pub(super) fn with_a_cut() -> Account {
    search(World::start(1), usize::MAX, one_valid)
}
