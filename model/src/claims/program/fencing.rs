//! The lesson's `FencedStorage` and `FencedLeader`, call for call, and every short sequence of
//! calls to them.

use super::Account;
use super::search::{Steps, search};

/// How long the sequences of calls are.
const CALLS: usize = 6;
/// Epochs that are tried.
const EPOCHS: u8 = 3;

/// Something that happens to the storage or to one of two leaders, `A` and `B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// The election gives an epoch to a leader.
    Elect(usize, u8),
    /// The leader learns of it, and registers its epoch (`become_leader`).
    Become(usize),
    /// The leader writes, with its epoch (`write`).
    Write(usize),
    /// A process calls the storage's `register_leader`.
    Register(u8),
    /// A process calls the storage's `conditional_write`.
    Store(u8),
}

/// `FencedLeader`: its `current_epoch` and `is_leader`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Leader {
    epoch: Option<u8>,
    leads: bool,
}

/// The storage, and what each leader believes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Fenced {
    /// The highest epoch that was given to a leader.
    elected: u8,
    /// The highest epoch that was registered (`max_registered_epoch`).
    registered: u8,
    /// The epoch that each leader was given and has not registered yet.
    given: [Option<u8>; 2],
    leaders: [Leader; 2],
    /// The accepted writes: by which leader, with which epoch, and the highest epoch that had been
    /// given to a leader by then.
    accepted: Vec<(usize, u8, u8)>,
    rules: Rules,
}

/// What is changed against the code as it is printed, and which calls are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Rules {
    /// An accepted write raises the storage's epoch.
    remembers_writes: bool,
    /// The election gives every epoch once, in rising order.
    rising: bool,
    /// The election registers the epoch that it gives.
    registers: bool,
    /// Calls go through the two leaders, and not to the storage itself.
    leaders: bool,
}

impl Steps for Fenced {
    type Event = Call;

    fn events(&self) -> Vec<Call> {
        if !self.rules.leaders {
            let both = |epoch| [Call::Register(epoch), Call::Store(epoch)];
            return (1..=EPOCHS).flat_map(both).collect();
        }
        let elect = (0..2).flat_map(|leader| (1..=EPOCHS).map(move |e| Call::Elect(leader, e)));
        let act = (0..2).flat_map(|leader| [Call::Become(leader), Call::Write(leader)]);
        elect.chain(act).collect()
    }

    fn after(&self, call: Call) -> Option<(Fenced, String)> {
        let mut next = self.clone();
        let accepted = next.call(call);
        let words = words(call);
        Some((next, if accepted { words } else { format!("{words}: refused") }))
    }
}

impl Fenced {
    fn start(rules: Rules) -> Fenced {
        Fenced {
            elected: 0,
            registered: 0,
            given: [None; 2],
            leaders: [Leader::default(); 2],
            accepted: Vec::new(),
            rules,
        }
    }

    /// As printed, but for the rules; whether the call was accepted.
    fn call(&mut self, call: Call) -> bool {
        match call {
            Call::Elect(leader, epoch) => {
                let fits = epoch > self.elected || !self.rules.rising;
                if fits {
                    self.elected = self.elected.max(epoch);
                    self.given[leader] = Some(epoch);
                    if self.rules.registers {
                        self.register(epoch);
                    }
                }
                fits
            }
            Call::Become(leader) => match self.given[leader].take() {
                Some(epoch) => self.become_leader(leader, epoch),
                None => false,
            },
            Call::Write(leader) => self.write(leader),
            Call::Register(epoch) => self.register(epoch),
            Call::Store(epoch) => self.store(0, epoch),
        }
    }

    /// `FencedLeader.become_leader`: it believes first, and registers then.
    fn become_leader(&mut self, leader: usize, epoch: u8) -> bool {
        if self.leaders[leader].epoch.is_some_and(|own| epoch <= own) {
            return false;
        }
        self.leaders[leader] = Leader { epoch: Some(epoch), leads: true };
        // The election has registered it already, if it does that.
        self.rules.registers && epoch == self.registered || self.register(epoch)
    }

    /// `FencedLeader.write`: a write that is refused ends the leadership (`step_down`).
    fn write(&mut self, leader: usize) -> bool {
        let Leader { epoch: Some(epoch), leads: true } = self.leaders[leader] else {
            return false;
        };
        let accepted = self.store(leader, epoch);
        self.leaders[leader].leads = accepted;
        accepted
    }

    /// `FencedStorage.register_leader`.
    fn register(&mut self, epoch: u8) -> bool {
        let accepted = epoch > self.registered;
        if accepted {
            self.registered = epoch;
        }
        accepted
    }

    /// `FencedStorage.conditional_write`.
    fn store(&mut self, leader: usize, epoch: u8) -> bool {
        let accepted = epoch >= self.registered;
        if accepted {
            self.accepted.push((leader, epoch, self.elected));
            if self.rules.remembers_writes {
                self.registered = epoch;
            }
        }
        accepted
    }
}

fn words(call: Call) -> String {
    let name = |leader: usize| ["A", "B"][leader];
    match call {
        Call::Elect(leader, epoch) => format!("{} is given epoch {epoch}", name(leader)),
        Call::Become(leader) => format!("{} learns of it and registers", name(leader)),
        Call::Write(leader) => format!("{} writes", name(leader)),
        Call::Register(epoch) => format!("epoch {epoch} is registered"),
        Call::Store(epoch) => format!("a write with epoch {epoch}"),
    }
}

fn never_older(state: &Fenced) -> bool {
    state.accepted.windows(2).all(|pair| pair[0].1 <= pair[1].1)
}

const STORAGE: Rules =
    Rules { remembers_writes: false, rising: false, registers: false, leaders: false };
const LEADERS: Rules = Rules { leaders: true, ..STORAGE };
const RISING: Rules = Rules { rising: true, ..LEADERS };

/// The epochs of the writes that the storage accepts never decrease.
pub(super) fn as_printed() -> Account {
    search(Fenced::start(STORAGE), CALLS, never_older)
}

/// The same if an accepted write counts as seen.
pub(super) fn remembering() -> Account {
    search(Fenced::start(Rules { remembers_writes: true, ..STORAGE }), CALLS, never_older)
}

/// The same if only leaders write, and the election gives every epoch once.
pub(super) fn from_leaders() -> Account {
    search(Fenced::start(RISING), CALLS, never_older)
}

fn none_after_election(state: &Fenced) -> bool {
    state.accepted.iter().all(|&(_, epoch, elected)| epoch >= elected)
}

/// No write is accepted from a leader after another was elected.
pub(super) fn after_election() -> Account {
    search(Fenced::start(RISING), CALLS, none_after_election)
}

/// The same if the election tells the storage of the epoch that it gives.
pub(super) fn after_registered_election() -> Account {
    search(Fenced::start(Rules { registers: true, ..RISING }), CALLS, none_after_election)
}

fn one_leader(state: &Fenced) -> bool {
    let all = &state.accepted;
    all.iter().all(|a| all.iter().all(|b| a.1 != b.1 || a.0 == b.0))
}

/// Writes of one epoch are one leader's, if the election may give an epoch twice.
pub(super) fn one_leader_for_each_epoch() -> Account {
    search(Fenced::start(LEADERS), CALLS, one_leader)
}

/// The same if the election gives every epoch once.
pub(super) fn one_leader_for_each_rising_epoch() -> Account {
    search(Fenced::start(RISING), CALLS, one_leader)
}

/// The bully names a winner and no epoch. If the winner's number is taken for one, the processes 2
/// (`A`) and 3 (`B`) lead one after the other, and the second can write.
pub(super) fn numbers_of_the_bully() -> Account {
    let mut state = Fenced::start(LEADERS);
    let calls = [
        Call::Elect(1, 3),
        Call::Become(1),
        Call::Write(1),
        Call::Elect(0, 2),
        Call::Become(0),
        Call::Write(0),
    ];
    let mut story = Vec::new();
    let mut last = false;
    for call in calls {
        last = state.call(call);
        story.push(if last { words(call) } else { format!("{}: refused", words(call)) });
    }
    Account::of(last, story)
}
