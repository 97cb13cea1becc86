//! Published programs, translated to models and to Rust functions: the code that a text prints is
//! run, not argued about. The models are [stateright](https://docs.rs/stateright)'s, whose
//! breadth-first search decides.

mod announcer;
mod bank;
mod class_bully;
mod class_detector;
mod class_lease;
mod class_ring;
mod class_ring_run;
mod class_zookeeper;
mod despite_ok;
mod fencing;
mod fencing_lock;
mod first_claim;
mod hold_election;
mod majority_lease;
mod monitoring;
mod raft_commit;
mod simulator;
mod time_outs;

use super::demand::Finding;
use stateright::{Checker, Model, Property};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

/// A published program, or an experiment with one.
#[derive(Debug)]
pub struct Program {
    /// Its name in the ledger.
    pub name: &'static str,
    /// The file that holds it.
    pub file: &'static str,
    /// Runs it.
    pub run: fn() -> Account,
}

/// What a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// What came out.
    pub finding: Finding,
    /// What happened, line by line.
    pub story: Vec<String>,
}

impl Program {
    const fn new(name: &'static str, file: &'static str, run: fn() -> Account) -> Program {
        Program { name, file, run }
    }

    /// Returns every program.
    pub(super) fn all() -> impl Iterator<Item = &'static Program> {
        let all = [
            fencing::PROGRAMS,
            fencing_lock::PROGRAMS,
            simulator::PROGRAMS,
            first_claim::PROGRAMS,
            class_bully::PROGRAMS,
            class_ring::PROGRAMS,
            hold_election::PROGRAMS,
            despite_ok::PROGRAMS,
            class_lease::PROGRAMS,
            announcer::PROGRAMS,
            raft_commit::PROGRAMS,
            majority_lease::PROGRAMS,
            class_detector::PROGRAMS,
            time_outs::PROGRAMS,
            class_zookeeper::PROGRAMS,
            class_ring_run::PROGRAMS,
            monitoring::PROGRAMS,
            bank::PROGRAMS,
        ];
        all.into_iter().flatten()
    }

    /// Returns the program of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Program> {
        Program::all().find(|program| program.name == name)
    }
}

impl Account {
    /// Returns what came out if something was expected.
    fn of(holds: bool, story: Vec<String>) -> Account {
        let finding = if holds { Finding::Holds } else { Finding::Violated { steps: None } };
        Account { finding, story }
    }
}

/// A model, and what must always hold.
struct Checked<M: Model> {
    model: M,
    always: fn(&M, &M::State) -> bool,
}

impl<M: Model> Model for Checked<M> {
    type State = M::State;
    type Action = M::Action;

    fn init_states(&self) -> Vec<M::State> {
        self.model.init_states()
    }

    fn actions(&self, state: &M::State, actions: &mut Vec<M::Action>) {
        self.model.actions(state, actions);
    }

    fn next_state(&self, state: &M::State, action: M::Action) -> Option<M::State> {
        self.model.next_state(state, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = |checked: &Self, state: &M::State| (checked.always)(&checked.model, state);
        vec![Property::<Self>::always("always", always)]
    }
}

/// Returns whether a condition always holds, or the shortest execution of the model to a state where
/// it does not.
fn check<M>(model: M, always: fn(&M, &M::State) -> bool) -> Account
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + PartialEq,
{
    let checker = Checked { model, always }.checker().spawn_bfs().join();
    let Some(path) = checker.discovery("always") else {
        return Account::of(true, Vec::new());
    };
    let model = &checker.model().model;
    let steps = path.into_vec().into_iter();
    let story: Vec<String> =
        steps.filter_map(|(state, action)| model.format_step(&state, action?)).collect();
    Account { finding: Finding::Violated { steps: Some(story.len()) }, story }
}

/// The clock of a program with one execution, and its events by time; at one time, in the order in
/// which they were planned.
struct Agenda<E> {
    now: u32,
    planned: usize,
    events: BTreeSet<(u32, usize, E)>,
}

impl<E: Ord> Agenda<E> {
    fn new() -> Agenda<E> {
        Agenda { now: 0, planned: 0, events: BTreeSet::new() }
    }

    fn plan(&mut self, after: u32, event: E) {
        self.planned += 1;
        self.events.insert((self.now + after, self.planned, event));
    }

    /// Moves the clock to the next event, if `end` is no earlier.
    fn next(&mut self, end: u32) -> Option<E> {
        let (at, ..) = *self.events.first()?;
        if at > end {
            return None;
        }
        self.now = at;
        self.events.pop_first().map(|(.., event)| event)
    }
}

#[cfg(test)]
mod tests {
    use super::{Program, check};
    use crate::claims::Finding;
    use stateright::Model;
    use std::path::Path;

    #[test]
    fn each_program_has_a_name_of_its_own_and_a_file_that_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (at, program) in Program::all().enumerate() {
            let same = |other: &Program| other.name == program.name;
            assert_eq!(Program::all().position(same), Some(at), "{}", program.name);
            assert!(root.join(program.file).is_file(), "{}", program.file);
        }
    }

    /// Counts up to 40 by two and by three.
    struct Sums;

    impl Model for Sums {
        type State = u8;
        type Action = u8;

        fn init_states(&self) -> Vec<u8> {
            vec![0]
        }

        fn actions(&self, _: &u8, actions: &mut Vec<u8>) {
            actions.extend([2, 3]);
        }

        fn next_state(&self, sum: &u8, by: u8) -> Option<u8> {
            Some(sum + by).filter(|&sum| sum <= 40)
        }

        fn format_step(&self, sum: &u8, by: u8) -> Option<String> {
            Some(format!("{sum} and {by}"))
        }
    }

    #[test]
    fn the_shortest_execution_is_found_and_no_other() {
        let found = check(Sums, |_, &sum| sum != 7);
        assert_eq!(found.finding, Finding::Violated { steps: Some(3) });
        assert_eq!(found.story, ["0 and 2", "2 and 2", "4 and 3"]);
        assert_eq!(check(Sums, |_, &sum| sum != 1).finding, Finding::Holds);
        assert_eq!(check(Sums, |_, &sum| sum != 0).finding, Finding::Violated { steps: Some(0) });
    }
}
