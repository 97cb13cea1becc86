//! What is not shown of a process: its rules never use it.

use bellwether_model::explore::moments;
use bellwether_model::protocol::lease::{Lease, Reads, StoreFault, Term};
use bellwether_model::world::{Scenario, State, World};
use serde_json::Value;
use std::collections::{BTreeSet, HashSet, VecDeque};

/// So many states of each world are looked at.
const STATES: usize = 3_000;

/// The states of a world that are nearest to its beginning.
fn nearest(world: &World) -> HashSet<State> {
    let first = world.initial();
    let (mut known, mut next) = (HashSet::from([first.clone()]), VecDeque::from([first]));
    while let Some(state) = next.pop_front() {
        for action in world.actions(&state) {
            let after = world.apply(&state, &action).state;
            if known.len() < STATES && known.insert(after.clone()) {
                next.push_back(after);
            }
        }
    }
    known
}

/// All rules of the lease on which it depends what is used.
fn all_rules() -> impl Iterator<Item = Lease> {
    use {StoreFault::*, Term::*};
    let stores = [Lives, CrashesAndKeeps, CrashesAndForgets, FailsOverAndLosesTheLast];
    let terms = [Expires, Never, Observed, Session];
    let with = |store, term, reads| Lease { store, term, reads, asked: true, ..Lease::RECOMMENDED };
    stores.into_iter().flat_map(move |store| {
        terms.into_iter().flat_map(move |term| {
            [Reads::Primary, Reads::Replica].map(|reads| with(store, term, reads))
        })
    })
}

#[test]
fn what_is_not_shown_of_a_lease_never_changes() {
    let mut left_out = BTreeSet::new();
    for rules in all_rules() {
        let which = format!("{:?}, {:?}, {:?}", rules.store, rules.term, rules.reads);
        let world = World::new(rules, Scenario::calm(2).with_crashes(1, 1));
        let world = world.expect("possible").concrete();
        let machine = world.machine();
        let (crashed, blank) = (machine.crashed().json(), machine.blank().json());
        for state in nearest(&world) {
            for id in state.ids() {
                let unused = machine.unused(id);
                for name in unused.process {
                    let value = &state.process(id).json()[name];
                    assert_eq!(value, &crashed[name], "{which}: {name}");
                    left_out.insert(name.to_owned());
                }
                for name in unused.stable {
                    let value = &state.stable(id).json()[name];
                    assert_eq!(value, &blank[name], "{which}: stored {name}");
                    left_out.insert(format!("stored {name}"));
                }
            }
        }
    }
    let all = "replica stored-holder stored-token stored-version stored-written version";
    let all: Vec<_> = all.split(' ').map(|name| name.replace('-', " ")).collect();
    assert_eq!(left_out.into_iter().collect::<Vec<_>>(), all);
}

fn names(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("fields").keys().map(String::as_str).collect()
}

#[test]
fn the_explorer_shows_the_fields_that_the_rules_use() {
    let shown = |rules: Lease| {
        let world = World::new(rules, Scenario::calm(2)).expect("possible");
        moments(&world, &[], &[]).remove(0).processes.remove(2)
    };
    let usual = ["accepted", "granted", "holder", "requests", "role", "token", "written"];
    let store = shown(Lease::RECOMMENDED);
    assert_eq!(names(store.variables.as_ref().expect("it is up")), BTreeSet::from(usual));
    assert_eq!(names(&store.stable), BTreeSet::from(["incarnation"]));
    let all = Lease {
        reads: Reads::Replica,
        term: Term::Observed,
        store: StoreFault::CrashesAndKeeps,
        ..Lease::RECOMMENDED
    };
    let store = shown(all);
    let more: BTreeSet<_> = usual.into_iter().chain(["replica", "version"]).collect();
    assert_eq!(names(store.variables.as_ref().expect("it is up")), more);
    let stored = ["holder", "incarnation", "token", "version", "written"];
    assert_eq!(names(&store.stable), BTreeSet::from(stored));
}
