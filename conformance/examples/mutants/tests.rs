//! That the set does not rot, without building any of it.

use crate::judge::Found;
use crate::set::{Bug, By, Mutant, Way, protocol, read, root};
use bellwether_conformance::mapping;
use bellwether_docs_runner::is_shown;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

/// No set of fewer says anything.
const LEAST: usize = 60;

/// No catalogue of fewer bugs does.
const LEAST_BUGS: usize = 30;

/// The part that must be caught.
const RATE: f64 = 0.95;

/// Each mistake can still be made, or reading the set fails.
static SET: LazyLock<Vec<Mutant>> = LazyLock::new(|| match read() {
    Ok(set) => set,
    Err(error) => panic!("{error:#}"),
});

/// What only the tests of the set ask.
impl By {
    /// The protocols of which it sees the program or the model. A commit runs the bully.
    fn seen(&self) -> BTreeSet<&str> {
        let sees = matches!(self.way, Way::Lockstep | Way::Check);
        let named = self.what.iter().filter(|_| sees).map(|what| protocol(what));
        let named: BTreeSet<&str> = named.collect();
        let commits = named.iter().any(|name| name.ends_with("-commit"));
        named.into_iter().chain(commits.then_some("bully")).collect()
    }
}

/// The bugs that happened, each with a mutant that makes it again.
fn bugs() -> Vec<(&'static Bug, &'static Mutant)> {
    let mut bugs: Vec<_> =
        SET.iter().filter_map(|mutant| Some((mutant.bug.as_ref()?, mutant))).collect();
    bugs.dedup_by_key(|&mut (_, mutant)| (&mutant.list, &mutant.name));
    bugs
}

#[test]
fn there_are_enough_and_nearly_all_are_caught() {
    let survivors = SET.iter().filter(|mutant| mutant.survives.is_some()).count();
    let all = SET.len();
    assert!(all >= LEAST, "only {all}");
    let caught = (all - survivors) as f64 / all as f64;
    assert!(caught >= RATE, "{survivors} of {all} are not caught");
}

#[test]
fn no_core_has_few_nor_have_driver_and_transport() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for mutant in SET.iter().filter(|mutant| mutant.file.starts_with("impl/")) {
        match mutant.by.way {
            Way::Lockstep => {
                mutant.by.seen().into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
            }
            Way::Tests => *counts.entry("tests").or_default() += 1,
            Way::Simulation => *counts.entry("simulation").or_default() += 1,
            Way::Check | Way::Clusters => panic!("{}: it is no model", mutant.title()),
        }
    }
    assert!(counts.contains_key("tests") && counts.len() > 7, "{counts:?}");
    assert!(counts.values().all(|&count| count >= 8), "{counts:?}");
    assert!(counts["simulation"] >= 12, "{counts:?}");
}

#[test]
fn every_protocol_has_its_mapping() {
    for protocol in SET.iter().flat_map(|mutant| mutant.by.seen()) {
        assert!(mapping::mappings().names().contains(&protocol), "{protocol} has no mapping");
    }
}

#[test]
fn names_and_sentences_say_what_is_wrong() {
    for mutant in &*SET {
        let title = mutant.title();
        let simple = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(mutant.name.chars().all(simple), "{title}");
        assert!(mutant.wrong.ends_with('.'), "{title}: {}", mutant.wrong);
        assert!(mutant.survives.as_ref().is_none_or(|reason| reason.ends_with('.')), "{title}");
    }
}

#[test]
fn the_tests_that_are_named_are_there() {
    for mutant in SET.iter().filter(|mutant| mutant.by.way == Way::Tests) {
        let filter = &mutant.by.what[0];
        let Some((_, source)) = mutant.by.tested() else { panic!("{}: where?", mutant.title()) };
        let file = |path: &str| {
            let path = path.replace("::", "/");
            let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
            files.iter().find_map(|file| fs::read_to_string(root().join(source).join(file)).ok())
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
    let of = |folder: &str, protocol: &str| {
        let about = |mutant: &&Mutant| {
            mutant.file.starts_with(folder) && mutant.by.seen().contains(protocol)
        };
        SET.iter().filter(about).count()
    };
    for protocol in mapping::mappings().names() {
        assert!(of("model/", protocol) >= 3, "{protocol} has fewer than three wrong models");
        assert!(of("conformance/src/mapping/", protocol) >= 1, "{protocol} has no wrong mapping");
    }
    for mutant in SET.iter().filter(|mutant| mutant.file.starts_with("model/")) {
        assert!(mutant.by.way == Way::Check, "{}", mutant.title());
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
fn there_are_enough_bugs_of_the_program() {
    let bugs = bugs();
    assert!(bugs.len() >= LEAST_BUGS, "only {}", bugs.len());
    for (_, mutant) in bugs {
        assert!(mutant.file.starts_with("impl/"), "{}", mutant.title());
    }
}

#[test]
fn most_bugs_can_be_looked_for_in_clusters() {
    let bugs = SET.iter().filter(|mutant| mutant.bug.is_some()).cloned();
    let clusters: Vec<Mutant> = bugs.filter_map(Mutant::in_clusters).collect();
    assert!(clusters.len() >= LEAST_BUGS, "only {}", clusters.len());
    for mutant in &clusters {
        let (title, each) = (mutant.title(), mutant.by.each().count());
        assert_eq!(each, 1, "{title}: one protocol for the right program");
    }
}

#[test]
fn the_page_of_bugs_is_current() {
    let cell = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").replace('|', "\\|")
    };
    let row = |(Bug { title, happened, sources }, mutant): (&Bug, &Mutant)| {
        let sources = sources.iter().map(|[name, address]| format!("[{name}]({address})"));
        let sources = sources.collect::<Vec<_>>().join("; ");
        let (title, happened, wrong) = (cell(title), cell(happened), cell(&mutant.wrong));
        let (list, name) = (&mutant.list, &mutant.name);
        let link = format!("[{name}](../conformance/mutants/{list}.toml)");
        format!("| **{title}.** {happened} | {sources} | {link}: {wrong} |\n")
    };
    let rows: String = bugs().into_iter().map(row).collect();
    let head = "| what happened | source | the mistake in our program |\n|---|---|---|";
    let marks = ("<!-- bugs -->\n", "<!-- /bugs -->");
    is_shown("docs/bugs.md", Some(marks), |_| format!("\n{head}\n{rows}\n"));
}
