//! The lesson's `FencedStorage` and `FencedLeader`, translated call for call to a model, and every
//! sequence of calls to them.

use super::{Account, Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/fencing.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("storage-accepts-no-older-epoch", FILE, || check(STORAGE, never_older)),
    Program::new("storage-that-counts-writes-accepts-no-older-epoch", FILE, || {
        check(Fenced { remembers_writes: true, ..STORAGE }, never_older)
    }),
    Program::new("storage-refuses-who-was-succeeded", FILE, || check(RISING, none_after_election)),
    Program::new("storage-has-one-writer-for-each-epoch", FILE, || check(LEADERS, one_leader)),
    Program::new("storage-has-one-writer-for-each-rising-epoch", FILE, || {
        check(RISING, one_leader)
    }),
    Program::new("storage-accepts-no-older-epoch-of-leaders", FILE, || check(RISING, never_older)),
    Program::new("storage-told-by-the-election-refuses-who-was-succeeded", FILE, || {
        check(Fenced { registers: true, ..RISING }, none_after_election)
    }),
    Program::new("storage-accepts-the-bullys-winners", FILE, numbers_of_the_bully),
];

/// Epochs that are tried.
const EPOCHS: u8 = 3;

/// The changes against the code as it is printed, and which calls are tried.
struct Fenced {
    /// An accepted write raises the storage's epoch.
    remembers_writes: bool,
    /// The election gives every epoch once, in rising order.
    rising: bool,
    /// The election registers the epoch that it gives.
    registers: bool,
    /// Calls go through the two leaders, and not to the storage itself.
    leaders: bool,
}

const STORAGE: Fenced =
    Fenced { remembers_writes: false, rising: false, registers: false, leaders: false };
const LEADERS: Fenced = Fenced { leaders: true, ..STORAGE };
const RISING: Fenced = Fenced { rising: true, ..LEADERS };

/// A call to the storage or to one of two leaders, `A` and `B`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    /// The election gives an epoch to a leader.
    Elect(usize, u8),
    /// The leader learns of its epoch, and registers it (`become_leader`).
    Become(usize),
    /// The leader writes, with its epoch (`write`).
    Write(usize),
    /// A process calls the storage's `register_leader`.
    Register(u8),
    /// A process calls the storage's `conditional_write`.
    Store(u8),
}

/// `FencedLeader`: its `current_epoch` and `is_leader`.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct Leader {
    epoch: Option<u8>,
    leads: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
struct State {
    /// The highest epoch that was given to a leader.
    elected: u8,
    /// The highest epoch that was registered (`max_registered_epoch`).
    registered: u8,
    /// The epoch that each leader was given and has not registered yet.
    given: [Option<u8>; 2],
    leaders: [Leader; 2],
    /// The epoch of the last accepted write.
    last: u8,
    /// A write was accepted with a lower epoch than the one before.
    fell: bool,
    /// A write was accepted with a lower epoch than had been given to a leader.
    stale: bool,
    /// The leaders whose writes were accepted, by epoch.
    writers: [[bool; 2]; EPOCHS as usize + 1],
}

impl Fenced {
    /// Calls as printed, but for what is changed, and returns whether the call was accepted.
    fn call(&self, state: &mut State, call: Call) -> bool {
        match call {
            Call::Elect(leader, epoch) => {
                let fits = epoch > state.elected || !self.rising;
                if fits {
                    state.elected = state.elected.max(epoch);
                    state.given[leader] = Some(epoch);
                    if self.registers {
                        state.register(epoch);
                    }
                }
                fits
            }
            Call::Become(leader) => match state.given[leader].take() {
                Some(epoch) => self.become_leader(state, leader, epoch),
                None => false,
            },
            Call::Write(leader) => self.write(state, leader),
            Call::Register(epoch) => state.register(epoch),
            Call::Store(epoch) => self.store(state, 0, epoch),
        }
    }

    /// `FencedLeader.become_leader`: the leader believes first, and registers then.
    fn become_leader(&self, state: &mut State, leader: usize, epoch: u8) -> bool {
        if state.leaders[leader].epoch.is_some_and(|own| epoch <= own) {
            return false;
        }
        state.leaders[leader] = Leader { epoch: Some(epoch), leads: true };
        // An election that registers has done so already.
        self.registers && epoch == state.registered || state.register(epoch)
    }

    /// `FencedLeader.write`: a write that is refused ends the leadership (`step_down`).
    fn write(&self, state: &mut State, leader: usize) -> bool {
        let Leader { epoch: Some(epoch), leads: true } = state.leaders[leader] else {
            return false;
        };
        state.leaders[leader].leads = self.store(state, leader, epoch);
        state.leaders[leader].leads
    }

    /// `FencedStorage.conditional_write`.
    fn store(&self, state: &mut State, leader: usize, epoch: u8) -> bool {
        let accepted = epoch >= state.registered;
        if accepted {
            state.fell |= epoch < state.last;
            state.stale |= epoch < state.elected;
            state.writers[usize::from(epoch)][leader] = true;
            state.last = epoch;
            if self.remembers_writes {
                state.registered = epoch;
            }
        }
        accepted
    }

    /// Returns the state after this call, whether it was accepted, and the call in words.
    fn after(&self, state: &State, call: Call) -> (State, bool, String) {
        let mut next = state.clone();
        let accepted = self.call(&mut next, call);
        let name = |leader: usize| ["A", "B"][leader];
        let words = match call {
            Call::Elect(leader, epoch) => format!("{} is given epoch {epoch}", name(leader)),
            Call::Become(leader) => format!("{} learns of it and registers", name(leader)),
            Call::Write(leader) => format!("{} writes", name(leader)),
            Call::Register(epoch) => format!("epoch {epoch} is registered"),
            Call::Store(epoch) => format!("a write with epoch {epoch}"),
        };
        (next, accepted, if accepted { words } else { format!("{words}: refused") })
    }
}

impl State {
    /// `FencedStorage.register_leader`.
    fn register(&mut self, epoch: u8) -> bool {
        let accepted = epoch > self.registered;
        self.registered = self.registered.max(epoch);
        accepted
    }
}

/// Returns whether the epochs of the writes that the storage accepted never decreased.
fn never_older(_: &Fenced, state: &State) -> bool {
    !state.fell
}

/// Returns whether no write was accepted from a leader after another was elected.
fn none_after_election(_: &Fenced, state: &State) -> bool {
    !state.stale
}

/// Returns whether the writes of each epoch are one leader's.
fn one_leader(_: &Fenced, state: &State) -> bool {
    !state.writers.contains(&[true; 2])
}

impl Model for Fenced {
    type State = State;
    type Action = Call;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, _: &State, actions: &mut Vec<Call>) {
        if self.leaders {
            let epochs = |leader| (1..=EPOCHS).map(move |epoch| Call::Elect(leader, epoch));
            actions.extend((0..2).flat_map(epochs));
            actions.extend((0..2).flat_map(|leader| [Call::Become(leader), Call::Write(leader)]));
        } else {
            let both = |epoch| [Call::Register(epoch), Call::Store(epoch)];
            actions.extend((1..=EPOCHS).flat_map(both));
        }
    }

    fn next_state(&self, state: &State, call: Call) -> Option<State> {
        Some(self.after(state, call).0)
    }

    fn format_step(&self, state: &State, call: Call) -> Option<String> {
        Some(self.after(state, call).2)
    }
}

/// The bully names a winner and no epoch. If the winner's number is taken for one, the processes 2
/// (`A`) and 3 (`B`) lead one after the other, and the second can write.
fn numbers_of_the_bully() -> Account {
    let calls = [(1, 3), (0, 2)].into_iter().flat_map(|(leader, epoch)| {
        [Call::Elect(leader, epoch), Call::Become(leader), Call::Write(leader)]
    });
    let (mut state, mut last, mut story) = (State::default(), false, Vec::new());
    for call in calls {
        let words;
        (state, last, words) = LEADERS.after(&state, call);
        story.push(words);
    }
    Account::of(last, story)
}
