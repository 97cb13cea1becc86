//! The lesson's `FencedStorage` and `FencedLeader`, and every short sequence of calls to them.

use super::{Account, Finding};
use std::collections::HashSet;

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

/// The storage, and what each leader believes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Fenced {
    /// The highest epoch that was given to a leader.
    elected: u8,
    /// The highest epoch that was registered.
    registered: u8,
    /// The epoch that each leader was given and has not registered yet.
    given: [Option<u8>; 2],
    /// The epoch with which each leader writes, once it believes to lead.
    own: [Option<u8>; 2],
    /// The accepted writes: by which leader, with which epoch, and the highest epoch that had been
    /// given to a leader, and registered, by then.
    accepted: Vec<(usize, u8, u8, u8)>,
    /// The accepted registrations.
    registrations: Vec<u8>,
}

/// What is changed against the code as it is printed.
#[derive(Clone, Copy, Default)]
struct Rules {
    /// An accepted write raises the storage's epoch.
    remembers_writes: bool,
    /// The election gives every epoch once, in rising order.
    rising: bool,
}

impl Fenced {
    /// As printed, but for the rules; whether the call was accepted.
    fn call(&mut self, call: Call, rules: Rules) -> bool {
        match call {
            Call::Elect(leader, epoch) => {
                let rises = epoch > self.elected;
                if rises || !rules.rising {
                    self.elected = self.elected.max(epoch);
                    self.given[leader] = Some(epoch);
                    return true;
                }
                false
            }
            Call::Become(leader) => {
                let Some(epoch) = self.given[leader].take() else { return false };
                if self.own[leader].is_some_and(|own| epoch <= own) {
                    return false;
                }
                // The printed code believes first and registers then.
                self.own[leader] = Some(epoch);
                self.register(epoch)
            }
            Call::Write(leader) => match self.own[leader] {
                Some(epoch) => self.store(leader, epoch, rules),
                None => false,
            },
            Call::Register(epoch) => self.register(epoch),
            Call::Store(epoch) => self.store(0, epoch, rules),
        }
    }

    fn register(&mut self, epoch: u8) -> bool {
        let accepted = epoch > self.registered;
        if accepted {
            self.registered = epoch;
            self.registrations.push(epoch);
        }
        accepted
    }

    fn store(&mut self, leader: usize, epoch: u8, rules: Rules) -> bool {
        let accepted = epoch >= self.registered;
        if accepted {
            self.accepted.push((leader, epoch, self.elected, self.registered));
            if rules.remembers_writes {
                self.registered = epoch;
            }
        }
        accepted
    }
}

/// What the two leaders can do, and the election to them.
fn leaders() -> Vec<Call> {
    let elect = (0..2).flat_map(|leader| (1..=EPOCHS).map(move |e| Call::Elect(leader, e)));
    elect.chain((0..2).flat_map(|leader| [Call::Become(leader), Call::Write(leader)])).collect()
}

/// What any process can ask of the storage.
fn storage() -> Vec<Call> {
    (1..=EPOCHS).flat_map(|epoch| [Call::Register(epoch), Call::Store(epoch)]).collect()
}

/// The shortest sequence of calls after which `kept` is not true.
fn search(calls: &[Call], rules: Rules, kept: fn(&Fenced) -> bool) -> Account {
    let mut known = HashSet::from([Fenced::default()]);
    let mut level = vec![(Vec::new(), Fenced::default())];
    for _ in 0..CALLS {
        let mut next = Vec::new();
        for (path, state) in &level {
            for &call in calls {
                let (mut path, mut after): (Vec<(Call, bool)>, Fenced) =
                    (path.clone(), state.clone());
                path.push((call, after.call(call, rules)));
                if !kept(&after) {
                    let steps = Some(path.len());
                    return Account { finding: Finding::Violated { steps }, story: story(&path) };
                }
                if known.insert(after.clone()) {
                    next.push((path, after));
                }
            }
        }
        level = next;
    }
    Account { finding: Finding::Holds, story: Vec::new() }
}

fn story(path: &[(Call, bool)]) -> Vec<String> {
    let name = |leader: usize| ["A", "B"][leader];
    let one = |&(call, accepted): &(Call, bool)| {
        let what = match call {
            Call::Elect(leader, epoch) => format!("{} is given epoch {epoch}", name(leader)),
            Call::Become(leader) => format!("{} learns of it and registers", name(leader)),
            Call::Write(leader) => format!("{} writes", name(leader)),
            Call::Register(epoch) => format!("epoch {epoch} is registered"),
            Call::Store(epoch) => format!("a write with epoch {epoch}"),
        };
        if accepted { what } else { format!("{what}: refused") }
    };
    path.iter().map(one).collect()
}

fn never_older(state: &Fenced) -> bool {
    state.accepted.windows(2).all(|pair| pair[0].1 <= pair[1].1)
}

/// The epochs of the writes that the storage accepts never decrease.
pub(super) fn as_printed() -> Account {
    search(&storage(), Rules::default(), never_older)
}

/// The same if an accepted write counts as seen.
pub(super) fn remembering() -> Account {
    search(&storage(), Rules { remembers_writes: true, ..Rules::default() }, never_older)
}

/// Registered epochs rise.
pub(super) fn registering() -> Account {
    let rising = |state: &Fenced| state.registrations.windows(2).all(|pair| pair[0] < pair[1]);
    search(&storage(), Rules::default(), rising)
}

const RISING: Rules = Rules { remembers_writes: false, rising: true };

/// No write is accepted from a leader after another was elected.
pub(super) fn after_election() -> Account {
    let none =
        |state: &Fenced| state.accepted.iter().all(|&(_, epoch, elected, _)| epoch >= elected);
    search(&leaders(), RISING, none)
}

/// No write is accepted from a leader after another has registered.
pub(super) fn after_registration() -> Account {
    let none = |state: &Fenced| state.accepted.iter().all(|&(_, epoch, _, known)| epoch >= known);
    search(&leaders(), RISING, none)
}

fn one_leader(state: &Fenced) -> bool {
    let all = &state.accepted;
    all.iter().all(|a| all.iter().all(|b| a.1 != b.1 || a.0 == b.0))
}

/// Writes of one epoch are one leader's, if the election may give an epoch twice.
pub(super) fn one_leader_for_each_epoch() -> Account {
    search(&leaders(), Rules::default(), one_leader)
}

/// The same if the election gives every epoch once.
pub(super) fn one_leader_for_each_rising_epoch() -> Account {
    search(&leaders(), RISING, one_leader)
}
