//! Bounds of the search: a property that is kept as far as it goes holds only within them. And a
//! search that grows without end says what grows, and what to do about it.

use crate::asked::{question, report_by};
use crate::cli::run;
use bellwether_model::check::{Engine, Event, Growing, Limits, Options, Report, Verdict, check};
use serde_json::{Value, json};

/// Worlds in which an execution exceeds a bound: of terms, of tasks, of links; and the flags with
/// which none does.
const BOUNDED: [(&str, &str, &str, &str); 3] = [
    (
        "raft-election --variant paper -p election-safety -p votes-stand",
        "--nodes 4 --crashes 0 --without 1-4 --without 2-4",
        "2 terms between a candidate and the next higher term",
        "",
    ),
    (
        "garcia-molina --nodes 2 --crashes 4 --recoveries 4 -p assertion-1-task",
        "--symmetry concrete",
        "7 tasks of a process told apart",
        "--symmetry reduced",
    ),
    (
        "invitation --nodes 2 --crashes 0 --losses 1 --duplicates 1 --start cold -p assertion-3",
        "--capacity 2",
        "2 messages on a link",
        "--capacity 3",
    ),
];

/// Where no execution exceeds a bound, it does not matter. Stateright's searches say the same as
/// ours. That no verdict depends on where a bound is: `differential/searches.rs`.
#[test]
fn what_is_kept_up_to_a_bound_holds_within_it() {
    for (line, exceeds, bound, fits) in BOUNDED {
        for engine in [Engine::Exact, Engine::Bfs, Engine::Dfs] {
            let found = |flags: &str| {
                let options = Options { engine, ..Options::default() };
                report_by(&format!("{line} {flags}"), &options)
            };
            let (within, whole) = (found(exceeds), found(fits));
            let all =
                |report: &Report, is: Verdict| report.decisions.iter().all(|one| one.verdict == is);
            assert!(all(&within, Verdict::HoldsWithin), "{line} {exceeds}");
            assert_eq!(within.bounds_met, [bound], "{line} {exceeds}");
            assert!(all(&whole, Verdict::Holds), "{line} {fits}");
            assert!(whole.bounds_met.is_empty(), "{line} {fits}");
        }
    }
}

fn object(line: &str) -> Value {
    serde_json::from_str(&run(line).stdout).expect("JSON")
}

/// Router 1 hears nothing, and advertises as often as it likes.
const ENDLESS: &str = "vrrp --nodes 2 --crashes 0 --without 2>1 --timing asynchronous";

/// What a search of so many states finds, and what it tells meanwhile.
fn searched(capacity: &str, threads: usize, states: u64) -> (Report, Vec<&'static str>) {
    let line = format!("{ENDLESS} --capacity {capacity} -p stabilises");
    let (world, properties) = question(&line);
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
    let (report, told) = searched("none", 2, 3_000);
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
    let (again, told_again) = searched("none", 1, 3_000);
    assert_eq!((again.growth, told_again), (report.growth, told), "whatever the threads");
    // With what is proposed, the search ends.
    let (ends, told) = searched("2", 1, 20_000);
    assert_eq!((ends.cut_short, ends.growth, told.len()), (None, Vec::new(), 0));
}

#[test]
fn the_report_says_in_words_and_in_json_what_grows() {
    let world = format!("check {ENDLESS} --capacity none --property stabilises --max-states 5000");
    let text = run(&world).stdout;
    let line = text.lines().find(|line| line.starts_with("It may have no end: 1 -> 2 holds "));
    assert!(line.is_some_and(|line| line.contains("add --capacity K")), "{text}");
    let growth = &object(&format!("{world} --json"))["growth"][0];
    assert_eq!((&growth["grows"], &growth["from"]), (&json!("link"), &json!(1)), "{growth}");
    assert!(growth["number"].as_u64() > growth["number_before"].as_u64(), "{growth}");
    // Without the symmetry, terms grow for ever.
    let terms = object(
        "check raft-election --variant paper --start cold --timing asynchronous --capacity 1 \
         --nodes 2 --crashes 0 --symmetry concrete --property election-safety --max-states 60000 \
         --json",
    );
    let growth = terms["growth"].as_array().unwrap_or_else(|| panic!("nothing grows: {terms}"));
    let number = growth.iter().find(|one| one["grows"] == "number").expect("a number grows");
    assert!(number["variable"].as_str().expect("a name").contains("term"), "{number}");
    assert_eq!(number["remedy"], "leave --symmetry concrete out");
    // What is finite, and was only stopped, has nothing that grows.
    for world in ["check bully --nodes 4 --max-states 3000", "check bully --recoveries 1"] {
        assert_eq!(object(&format!("{world} --json")).get("growth"), None, "{world}");
    }
}
