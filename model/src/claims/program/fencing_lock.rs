//! The two calls of the lesson's `FencedStorage` in steps, by two threads at once: take the lock,
//! compare, assign, release it. With the lock left out another call may come between.

use super::Account;
use super::search::{Steps, search};

/// How many steps the executions have at most: four calls with a lock.
const STEPS: usize = 16;
/// Epochs that are tried.
const EPOCHS: u8 = 3;

/// What a thread calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    /// `register_leader`.
    Register(u8),
    /// `conditional_write`.
    Write(u8),
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum At {
    /// In no call.
    #[default]
    Outside,
    /// It has the lock, if there is one, and has not compared.
    Before(Call),
    /// It has compared, and its epoch was high enough.
    Compared(Call),
}

/// The storage and the threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Storage {
    /// `max_registered_epoch`.
    registered: u8,
    /// The highest epoch that was ever assigned to it.
    highest: u8,
    /// A registration has lowered it.
    fell: bool,
    /// A write was made with an epoch below the highest registered.
    stale: bool,
    threads: [At; 2],
    /// The calls are made under the lock, as printed.
    locked: bool,
}

impl Steps for Storage {
    /// Which thread goes on, and what it calls if it is in no call.
    type Event = (usize, Call);

    fn events(&self) -> Vec<(usize, Call)> {
        let calls = |thread| {
            let both = |epoch| [Call::Register(epoch), Call::Write(epoch)];
            let first = match self.threads[thread] {
                At::Outside => (1..=EPOCHS).flat_map(both).collect(),
                At::Before(call) | At::Compared(call) => vec![call],
            };
            first.into_iter().map(move |call| (thread, call))
        };
        (0..2).flat_map(calls).collect()
    }

    fn after(&self, (thread, call): (usize, Call)) -> Option<(Storage, String)> {
        let mut next = self.clone();
        let who = ["A", "B"][thread];
        let what = match call {
            Call::Register(epoch) => format!("register {epoch}"),
            Call::Write(epoch) => format!("write with {epoch}"),
        };
        let (at, words) = match self.threads[thread] {
            At::Outside if self.locked && self.threads[1 - thread] != At::Outside => return None,
            At::Outside => (At::Before(call), format!("{who} calls: {what}")),
            At::Before(_) if self.is_high_enough(call) => {
                (At::Compared(call), format!("{who} compares: {what} is allowed"))
            }
            At::Before(_) => (At::Outside, format!("{who} compares: {what} is refused")),
            At::Compared(_) => {
                next.assign(call);
                (At::Outside, format!("{who}: {what} is done"))
            }
        };
        next.threads[thread] = at;
        Some((next, words))
    }
}

impl Storage {
    fn start(locked: bool) -> Storage {
        Storage {
            registered: 0,
            highest: 0,
            fell: false,
            stale: false,
            threads: [At::Outside; 2],
            locked,
        }
    }

    /// The comparison, as printed.
    fn is_high_enough(&self, call: Call) -> bool {
        match call {
            Call::Register(epoch) => epoch > self.registered,
            Call::Write(epoch) => epoch >= self.registered,
        }
    }

    /// The assignment, as printed.
    fn assign(&mut self, call: Call) {
        match call {
            Call::Register(epoch) => {
                self.registered = epoch;
                self.fell |= epoch <= self.highest;
                self.highest = self.highest.max(epoch);
            }
            Call::Write(epoch) => self.stale |= epoch < self.highest,
        }
    }
}

/// Every registration raises the highest registered epoch.
pub(super) fn registrations_rise() -> Account {
    search(Storage::start(true), STEPS, |storage| !storage.fell)
}

/// The same without the lock.
pub(super) fn unlocked_registrations_rise() -> Account {
    search(Storage::start(false), STEPS, |storage| !storage.fell)
}

/// No write is made with a lower epoch than one that was registered before it.
pub(super) fn none_below_the_registered() -> Account {
    search(Storage::start(true), STEPS, |storage| !storage.stale)
}

/// The same without the lock.
pub(super) fn unlocked_none_below_the_registered() -> Account {
    search(Storage::start(false), STEPS, |storage| !storage.stale)
}
