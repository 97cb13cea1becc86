//! A search that grows without end says what grows, and what to do about it.

use crate::cli::run;
use bellwether_model::check::{Event, Growing, Limits, Options, Report, check};
use bellwether_model::property;
use bellwether_model::protocol::vrrp::Vrrp;
use bellwether_model::world::{Scenario, Timing, World};
use serde_json::{Value, json};

/// Router 1 hears nothing, and advertises as often as it likes.
fn endless() -> Scenario {
    let missing = "2>1".parse().expect("a link");
    Scenario { missing, timing: Timing::Asynchronous, capacity: None, ..Scenario::calm(2) }
}

/// What a search of so many states finds, and what it tells meanwhile.
fn searched(scenario: Scenario, threads: usize, states: u64) -> (Report, Vec<&'static str>) {
    let world = World::new(Vrrp::RFC9568, scenario).expect("a possible world");
    let properties = property::select(&world, &["stabilises".to_owned()]).expect("it exists");
    let limits = Limits { states: Some(states), ..Limits::NONE };
    let options = Options { limits, threads, ..Options::default() };
    let mut told = Vec::new();
    let report = check(&world, &properties, &options, &mut |event| {
        if let Event::Grows { what } = event {
            told.push(what);
        }
    });
    (report.expect("it begins"), told)
}

#[test]
fn the_link_that_fills_is_named() {
    let (report, told) = searched(endless(), 2, 3_000);
    let [growth, ..] = &report.growth[..] else { panic!("nothing grows: {told:?}") };
    let Growing::Link { from, to, message, of_it } = &growth.what else { panic!("{growth}") };
    assert_eq!((from.number(), to.number(), message.as_str()), (1, 2, "ADVERTISEMENT"));
    assert!(*of_it <= growth.number && growth.number > growth.number_before, "{growth}");
    assert!(growth.level_before < growth.level, "{growth}");
    assert!(growth.remedy.starts_with("add --capacity K"), "{growth}");
    // It is told while the search goes on, after about 200 levels and whenever they have doubled.
    let levels = report.unfinished.expect("it is cut short").levels;
    assert!(levels >= 200, "only {levels} levels: choose a narrower world");
    assert!(!told.is_empty() && told.len() <= 6, "{told:?}");
    assert!(told.iter().all(|told| told.starts_with("1 -> 2 holds ")), "{told:?}");
    let (again, told_again) = searched(endless(), 1, 3_000);
    assert_eq!((again.growth, told_again), (report.growth, told), "whatever the threads");
}

/// With what is proposed, the search ends.
#[test]
fn the_remedy_helps() {
    let (report, told) = searched(Scenario { capacity: Some(2), ..endless() }, 1, 20_000);
    assert_eq!((report.cut_short, report.growth, told.len()), (None, Vec::new(), 0));
}

#[test]
fn the_report_says_it_in_words_and_in_json() {
    let world = "check vrrp --nodes 2 --crashes 0 --without 2>1 --timing asynchronous \
                 --capacity none --property stabilises --max-states 5000";
    let text = run(world).stdout;
    let line = text.lines().find(|line| line.starts_with("It may have no end: 1 -> 2 holds "));
    assert!(line.is_some_and(|line| line.contains("add --capacity K")), "{text}");
    let json: Value = serde_json::from_str(&run(&format!("{world} --json")).stdout).expect("JSON");
    let growth = &json["growth"][0];
    assert_eq!((&growth["grows"], &growth["from"]), (&json!("link"), &json!(1)), "{growth}");
    assert!(growth["number"].as_u64() > growth["number_before"].as_u64(), "{growth}");
}

/// Without the symmetry, terms grow for ever.
#[test]
fn a_number_that_only_grows_is_named() {
    let world = "check raft-election --variant paper --start cold --timing asynchronous \
                 --capacity 1 --nodes 2 --crashes 0 --symmetry concrete \
                 --property election-safety --max-states 60000 --json";
    let json: Value = serde_json::from_str(&run(world).stdout).expect("JSON");
    let growth = json["growth"].as_array().unwrap_or_else(|| panic!("nothing grows: {json}"));
    let number = growth.iter().find(|one| one["grows"] == "number").expect("a number grows");
    let variable = number["variable"].as_str().expect("a name");
    assert!(variable.contains("term"), "{number}");
    assert_eq!(number["remedy"], "leave --symmetry concrete out");
}

/// What is finite, and was only stopped, has nothing that grows.
#[test]
fn a_search_that_would_end_accuses_nothing() {
    for world in ["check bully --nodes 4 --max-states 3000", "check bully --recoveries 1"] {
        let json: Value =
            serde_json::from_str(&run(&format!("{world} --json")).stdout).expect("JSON");
        assert_eq!(json.get("growth"), None, "{world}: {json}");
    }
}
