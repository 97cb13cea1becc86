//! The two calls of the lesson's `FencedStorage`, translated step by step to a model, by two
//! threads at once: take the lock, compare, assign, release it. With the lock left out another call
//! may come between.

use super::{Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/fencing_lock.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("storage-registers-rising-epochs", FILE, || {
        check(Storage { locked: true }, |_, state| !state.fell)
    }),
    Program::new("storage-without-its-lock-registers-rising-epochs", FILE, || {
        check(Storage { locked: false }, |_, state| !state.fell)
    }),
    Program::new("storage-refuses-once-the-successor-has-registered", FILE, || {
        check(Storage { locked: true }, |_, state| !state.stale)
    }),
    Program::new(
        "storage-without-its-lock-refuses-once-the-successor-has-registered",
        FILE,
        || check(Storage { locked: false }, |_, state| !state.stale),
    ),
];

/// Epochs that are tried.
const EPOCHS: u8 = 3;

struct Storage {
    /// The calls are made under the lock, as printed.
    locked: bool,
}

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
    /// The thread is in no call.
    #[default]
    Outside,
    /// The thread has the lock, if there is one, and has not compared.
    Before(Call),
    /// The thread has compared, and its epoch was high enough.
    Compared(Call),
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct State {
    /// `max_registered_epoch`.
    registered: u8,
    /// The highest epoch that was ever assigned to `max_registered_epoch`.
    highest: u8,
    /// A registration has lowered `max_registered_epoch`.
    fell: bool,
    /// A write was made with an epoch below the highest registered.
    stale: bool,
    threads: [At; 2],
}

impl State {
    /// Returns what the printed comparison says.
    fn is_high_enough(&self, call: Call) -> bool {
        match call {
            Call::Register(epoch) => epoch > self.registered,
            Call::Write(epoch) => epoch >= self.registered,
        }
    }
}

impl Model for Storage {
    type State = State;
    /// The thread that goes on, and its call.
    type Action = (usize, Call);

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<(usize, Call)>) {
        for (thread, at) in state.threads.iter().enumerate() {
            match *at {
                At::Outside => actions.extend(
                    (1..=EPOCHS)
                        .flat_map(|epoch| [Call::Register(epoch), Call::Write(epoch)])
                        .map(|call| (thread, call)),
                ),
                At::Before(call) | At::Compared(call) => actions.push((thread, call)),
            }
        }
    }

    fn next_state(&self, state: &State, (thread, call): (usize, Call)) -> Option<State> {
        let mut next = state.clone();
        next.threads[thread] = match state.threads[thread] {
            At::Outside if self.locked && state.threads[1 - thread] != At::Outside => return None,
            At::Outside => At::Before(call),
            At::Before(_) if state.is_high_enough(call) => At::Compared(call),
            At::Before(_) => At::Outside,
            At::Compared(Call::Register(epoch)) => {
                next.registered = epoch;
                next.fell |= epoch <= state.highest;
                next.highest = epoch.max(state.highest);
                At::Outside
            }
            At::Compared(Call::Write(epoch)) => {
                next.stale |= epoch < state.highest;
                At::Outside
            }
        };
        Some(next)
    }

    fn format_step(&self, state: &State, (thread, call): (usize, Call)) -> Option<String> {
        let who = ["A", "B"][thread];
        let what = match call {
            Call::Register(epoch) => format!("register {epoch}"),
            Call::Write(epoch) => format!("write with {epoch}"),
        };
        Some(match state.threads[thread] {
            At::Outside => format!("{who} calls: {what}"),
            At::Before(_) if state.is_high_enough(call) => {
                format!("{who} compares: {what} is allowed")
            }
            At::Before(_) => format!("{who} compares: {what} is refused"),
            At::Compared(_) => format!("{who}: {what} is done"),
        })
    }
}
