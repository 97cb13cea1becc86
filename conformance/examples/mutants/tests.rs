//! That the set does not rot, without building any of it.

use crate::bugs::{Bug, UPDATE, page, report};
use crate::found::Found;
use crate::set::{By, Mutant, Set, protocol, root};
use bellwether_conformance::mapping::MAPPINGS;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// No set of fewer says anything.
const LEAST: usize = 60;

/// No catalogue of fewer bugs does.
const LEAST_BUGS: usize = 30;

/// The part that must be caught.
const RATE: f64 = 0.95;

/// What only the tests of the set ask.
impl By {
    /// The lists of worlds of which one must differ; none if only tests can see the mistake.
    fn lists(&self) -> &[String] {
        match self {
            Self::Lockstep(lists) => lists,
            _ => &[],
        }
    }

    /// The protocols of whose suites, through the driver, one must differ.
    fn suites(&self) -> &[String] {
        match self {
            Self::Suite(protocols) => protocols,
            _ => &[],
        }
    }

    /// The protocols of which it sees the program or the model. A commit runs the bully.
    fn seen(&self) -> BTreeSet<&str> {
        let named: Vec<&str> = match self {
            Self::Lockstep(lists) | Self::Suite(lists) => {
                lists.iter().map(|list| protocol(list)).collect()
            }
            Self::Check(commands) | Self::Bridge(commands) => {
                commands.iter().filter_map(|command| command.split_whitespace().nth(1)).collect()
            }
            Self::Tests(_) | Self::Simulation(_) | Self::Clusters(_) => Vec::new(),
        };
        let commits = named.iter().any(|name| name.ends_with("-commit"));
        named.into_iter().chain(commits.then_some("bully")).collect()
    }
}

fn set() -> Set {
    Set::read().expect("the set can be read")
}

fn bugs() -> Vec<Bug> {
    Bug::read_all().expect("the catalogue can be read")
}

#[test]
fn every_mistake_can_still_be_made() {
    let wrong = |mutant: &Mutant| {
        let source = fs::read_to_string(root().join(&mutant.file)).expect("a file of the source");
        mutant.apply(&source).err().map(|error| format!("{}: {error}", mutant.title()))
    };
    let of_bugs = bugs().into_iter().map(|bug| bug.mutant);
    let mutants: Vec<Mutant> = set().mutants.into_iter().chain(of_bugs).collect();
    let wrong: Vec<String> = mutants.iter().filter_map(wrong).collect();
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
    for mutant in set.mutants.iter().filter(|mutant| mutant.file.starts_with("impl/")) {
        match &mutant.by {
            By::Lockstep(protocols) => {
                protocols.iter().for_each(|name| *counts.entry(name.as_str()).or_default() += 1);
            }
            By::Tests(_) => *counts.entry("tests").or_default() += 1,
            By::Simulation(_) => *counts.entry("simulation").or_default() += 1,
            By::Suite(_) => *counts.entry("suite").or_default() += 1,
            By::Check(_) | By::Bridge(_) | By::Clusters(_) => {
                panic!("{}: it is no model, and no bug", mutant.title())
            }
        }
    }
    assert!(counts.contains_key("tests") && counts.len() > 7, "{counts:?}");
    assert!(counts.values().all(|&count| count >= 8), "{counts:?}");
    assert!(counts["simulation"] >= 12, "{counts:?}");
}

#[test]
fn every_protocol_has_its_worlds() {
    let set = set();
    let named = set.mutants.iter().flat_map(|mutant| mutant.by.lists());
    for list in named {
        assert!(set.worlds.get(list).is_some_and(|worlds| !worlds.is_empty()), "{list}");
    }
    let driven = set.mutants.iter().flat_map(|mutant| mutant.by.suites());
    for list in set.worlds.keys().chain(driven) {
        assert!(MAPPINGS.names().contains(&protocol(list)), "{list} has no mapping");
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
fn the_tests_that_are_named_are_there() {
    for mutant in set().mutants {
        let Some(filter) = mutant.by.tests() else { continue };
        let Some((_, source)) = mutant.by.tested() else { panic!("{}: where?", mutant.title()) };
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

#[test]
fn models_and_mappings_have_their_wrong_ones() {
    let set = set();
    let of = |folder: &str, protocol: &str| {
        let about = |mutant: &&Mutant| {
            mutant.file.starts_with(folder) && mutant.by.seen().contains(protocol)
        };
        set.mutants.iter().filter(about).count()
    };
    for protocol in MAPPINGS.names() {
        assert!(of("model/", protocol) >= 3, "{protocol} has fewer than three wrong models");
        assert!(of("conformance/src/mapping/", protocol) >= 1, "{protocol} has no wrong mapping");
    }
    for mutant in set.mutants.iter().filter(|mutant| mutant.file.starts_with("model/")) {
        let checks = mutant.by.checks();
        let known = checks.iter().all(|command| command.starts_with("check "));
        assert!(known && !checks.is_empty(), "{}", mutant.title());
    }
}

#[test]
fn a_wrong_model_is_known_by_what_is_found_of_it() {
    let found = |leader: &str, settles: &str, states: u64| {
        let text = format!(
            r#"{{"properties":[{{"name":"one-leader","verdict":"{leader}"}},
                {{"name":"settles","verdict":"{settles}"}}],"states":{{"distinct":{states}}}}}"#
        );
        Found::read(&text.replace('\n', "")).expect("what a check prints")
    };
    let right = found("holds", "violated", 96);
    assert_eq!(right.differs(&found("holds", "violated", 96)), None);
    let told = |wrong: Found| wrong.differs(&right).expect("it differs");
    assert_eq!(told(found("violated", "violated", 96)), "one-leader is violated");
    assert_eq!(told(found("violated", "holds", 90)), "one-leader is violated");
    assert_eq!(told(found("holds", "holds", 96)), "settles is holds");
    assert_eq!(told(found("holds", "violated", 90)), "90 states in place of 96");
    assert!(Found::read("error: no protocol is called so").is_none());
}

#[test]
fn a_report_is_what_the_bridge_says_of_the_difference() {
    let walked = "bully: model and program\n\ntransitions compared: 7 (9/s, 0.8 s)\n";
    let command = "lockstep bully";
    let head = "$ bellwether-conformance lockstep bully\n\n";
    let diverges = format!("{walked}\nThe program diverges.\n\nmissing: it  \n  an output\n");
    assert_eq!(report(command, &diverges), Some(format!("{head}missing: it\n  an output\n")));
    let fails = format!("{walked}\nThe program fails in a group of 40: no leader.\n");
    let told = format!("{head}The program fails in a group of 40: no leader.\n");
    assert_eq!(report(command, &fails), Some(told));
    assert_eq!(report(command, walked), None);
    assert_eq!(report(command, "The program diverges.\n\n"), None);
}

#[test]
fn each_bug_says_what_happened_and_where_that_is_told() {
    let bugs = bugs();
    assert!(bugs.len() >= LEAST_BUGS, "only {}", bugs.len());
    for Bug { name, title, happened, sources, mutant } in &bugs {
        let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(simple), "{name}");
        assert!(!title.ends_with('.'), "{name}: {title}");
        let sentences = [happened.trim_end(), mutant.wrong.as_str()];
        assert!(sentences.iter().all(|text| text.ends_with('.')), "{name}: {sentences:?}");
        assert!(!happened.contains('`') && !title.contains('`'), "{name}: no code in its words");
        let told = |[named, address]: &[String; 2]| {
            !named.is_empty() && address.starts_with("https://") && !address.contains([' ', ')'])
        };
        assert!(!sources.is_empty() && sources.iter().all(told), "{name}: {sources:?}");
        assert!(mutant.file.starts_with("impl/"), "{name}: {}", mutant.file);
        assert!(!mutant.by.commands().is_empty(), "{name} has no command");
        let known = mutant.by.seen();
        let known = known.iter().all(|protocol| MAPPINGS.names().contains(protocol));
        assert!(known, "{name}: {:?}", mutant.by);
    }
}

/// What three nodes meet is chance: a bug that they do not meet is no failure, and neither is
/// another report. The right program must pass there too.
#[test]
fn a_cluster_need_not_meet_a_bug() {
    let clusters: Vec<Mutant> = bugs().iter().filter_map(Bug::in_a_cluster).collect();
    assert!(clusters.len() >= LEAST_BUGS, "only {}", clusters.len());
    for mutant in &clusters {
        let title = mutant.title();
        assert!(mutant.survives.is_some() && mutant.keeps("another each time"), "{title}");
        assert_eq!(mutant.by.each().len(), 1, "{title}: one protocol for the right program");
    }
    let bug = bugs().swap_remove(0).mutant;
    assert!(bug.survives.is_none() && !bug.keeps("another each time"), "{}", bug.name);
}

#[test]
fn each_bug_has_its_report() {
    let bugs = bugs();
    let missing: Vec<&str> =
        bugs.iter().filter(|bug| bug.report().is_none()).map(|bug| bug.name.as_str()).collect();
    assert!(missing.is_empty(), "no report of {missing:?}: run `{UPDATE}`");
    for bug in bugs {
        let text = bug.report().unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let known = bug.mutant.by.commands().iter();
        let mut known = known.map(|command| format!("$ bellwether-conformance {command}"));
        assert!(known.any(|known| known == first), "{}: run `{UPDATE}`", bug.name);
    }
}

#[test]
fn the_page_of_bugs_is_current() {
    let shown = fs::read_to_string(root().join("docs/bugs.md")).expect("the page of bugs");
    assert!(shown == page(&bugs()), "docs/bugs.md is out of date: run `{UPDATE}`");
}
