//! That the set does not rot, without building any of it.

use crate::set::{By, Mutant, PACKAGES, Set, root};
use bellwether_conformance::mapping::MAPPINGS;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// No set of fewer says anything.
const LEAST: usize = 60;

/// The part that must be caught.
const RATE: f64 = 0.95;

fn set() -> Set {
    Set::read().expect("the set can be read")
}

#[test]
fn every_mistake_can_still_be_made() {
    let wrong = |mutant: &Mutant| {
        let source = fs::read_to_string(root().join(&mutant.file)).expect("a file of the source");
        mutant.apply(&source).err().map(|error| format!("{}: {error}", mutant.title()))
    };
    let wrong: Vec<String> = set().mutants.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_enough_and_nearly_all_are_caught() {
    let set = set();
    let survivors = set.mutants.iter().filter(|mutant| mutant.survives.is_some()).count();
    let all = set.mutants.len();
    assert!(all >= LEAST, "only {all}");
    let caught = (all - survivors) as f64 / all as f64;
    assert!(caught >= RATE, "{survivors} of {all} are not caught");
}

#[test]
fn no_core_has_few_nor_have_driver_and_transport() {
    let set = set();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for mutant in &set.mutants {
        match &mutant.by {
            By::Lockstep(protocols) => {
                protocols.iter().for_each(|name| *counts.entry(name.as_str()).or_default() += 1);
            }
            By::Tests(_) => *counts.entry("tests").or_default() += 1,
            By::Simulation(_) => *counts.entry("simulation").or_default() += 1,
            By::Suite(_) => *counts.entry("suite").or_default() += 1,
        }
    }
    assert!(counts.contains_key("tests") && counts.len() > 7, "{counts:?}");
    assert!(counts.values().all(|&count| count >= 8), "{counts:?}");
    assert!(counts["simulation"] >= 12, "{counts:?}");
}

#[test]
fn every_protocol_has_its_worlds() {
    let set = set();
    let named = set.mutants.iter().flat_map(|mutant| mutant.by.protocols());
    for protocol in named {
        assert!(set.worlds.get(protocol).is_some_and(|worlds| !worlds.is_empty()), "{protocol}");
    }
    let driven = set.mutants.iter().flat_map(|mutant| mutant.by.suites());
    for protocol in set.worlds.keys().chain(driven) {
        assert!(MAPPINGS.names().contains(&protocol.as_str()), "{protocol} has no mapping");
    }
}

#[test]
fn names_and_sentences_say_what_is_wrong() {
    let mut titles = BTreeSet::new();
    for mutant in set().mutants {
        let title = mutant.title();
        let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(mutant.name.chars().all(simple), "{title}");
        assert!(mutant.wrong.ends_with('.'), "{title}: {}", mutant.wrong);
        assert!(mutant.survives.is_none_or(|reason| reason.ends_with('.')), "{title}");
        assert!(titles.insert(title.clone()), "{title} twice");
    }
}

#[test]
fn what_could_be_taken_for_another_is_not_built_with_it() {
    let walk = |names: &[&str]| By::Lockstep(names.iter().map(ToString::to_string).collect());
    let tests = |filter: &str| By::Tests(filter.to_owned());
    let simulation = |code: &str| By::Simulation(vec![code.to_owned()]);
    for (one, other, apart) in [
        (walk(&["bully"]), walk(&["lease"]), true),
        (walk(&["bully", "lease"]), walk(&["lease"]), false),
        (walk(&["bully"]), tests("driver::clock"), false),
        (tests("driver::clock"), tests("driver::watch"), true),
        (tests("driver::clock"), tests("driver::clock"), false),
        (tests("driver::tests"), tests("driver::clock"), false),
        (tests("driver::tests::one"), tests("driver::tests::two"), false),
        (tests("driver::tests::one"), tests("transport::tests"), true),
        (tests("driver::tests::one"), tests("member::tests"), false),
        (simulation("bully:3:all"), simulation("quorum:3:all"), false),
        (simulation("bully:3:all"), walk(&["lease"]), false),
        (By::Suite(vec!["bully".to_owned()]), tests("driver::clock"), false),
    ] {
        assert_eq!(one.is_apart_from(&other), apart, "{one:?}, {other:?}");
        assert_eq!(other.is_apart_from(&one), apart, "{other:?}, {one:?}");
    }
}

#[test]
fn the_tests_that_are_named_are_there() {
    for mutant in set().mutants {
        let Some(filter) = mutant.by.tests() else { continue };
        let package = mutant.by.package();
        let source = PACKAGES.into_iter().find(|(name, _)| package == Some(*name));
        let Some((_, source)) = source else { panic!("{}: no package", mutant.title()) };
        let file = |path: &str| {
            let path = root().join(source).join(path.replace("::", "/") + ".rs");
            fs::read_to_string(path).ok()
        };
        let (module, test) = filter.rsplit_once("::").expect("a module and what is in it");
        // The tests of a small file are in it.
        let module =
            module.strip_suffix("::tests").filter(|_| file(module).is_none()).unwrap_or(module);
        let there = file(module).is_some_and(|text| text.contains(&format!("fn {test}")));
        assert!(there || file(filter).is_some(), "{}: no test is called {filter}", mutant.title());
    }
}
