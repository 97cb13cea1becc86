//! The bugs that happened: each comes out as its entry says, the page that is made of them is the
//! one in `docs`, and the commands that it prints find the same again.

use crate::cli::{run, run_args};
use crate::some;
use bellwether_docs_runner::{is_shown, object_of, root, words};
use bellwether_literature::history::History;
use serde_json::Value;

/// Bugs that people asked for by name.
const WANTED: [&str; 10] = [
    "waiter-without-a-key",
    "silence-alone",
    "deaf-candidate",
    "known-leader",
    "promoted-learner",
    "delay-before-the-first",
    "clock-under-a-lease",
    "majority-of-stores-restarted",
    "paused-without-a-fence",
    "dead-in-one-direction",
];

#[test]
fn each_bug_is_told_in_sentences_with_an_address() {
    let history = History::load(None).expect("the entries can be read");
    assert!(history.bugs.len() >= 24, "{}", history.bugs.len());
    for name in WANTED {
        assert!(history.bugs.iter().any(|bug| bug.name == name), "{name}");
    }
    for bug in &history.bugs {
        let name = &bug.name;
        assert!(bug.story.ends_with('.') && bug.model.ends_with('.'), "{name}");
        assert!(!bug.title.ends_with('.'), "{name}");
        assert!(bug.sources.iter().all(|place| place.url.starts_with("http")), "{name}");
    }
    assert!(!history.unsaid.is_empty());
    for unsaid in &history.unsaid {
        assert!(unsaid.what.ends_with('.') && unsaid.why.ends_with('.'), "{}", unsaid.what);
    }
}

/// This runs every bug with its rules and without. `UPDATE_DOCS=1 cargo test history` writes the
/// page anew.
#[test]
fn the_page_is_what_the_bugs_find_today() {
    let ran = run("history --markdown");
    assert_eq!(ran.status, 0, "a bug does not come out as its entry says: run `history`");
    is_shown("docs/history.md", None, |_| ran.stdout);
}

#[test]
fn the_commands_beside_each_bug_find_the_same_again() {
    let history = History::load(None).expect("the bugs can be read");
    let names: Vec<_> = some(&history.bugs, 6).map(|bug| bug.name.as_str()).collect();
    let ran = run(&format!("history --json {}", names.join(" ")));
    let whole = object_of("bellwether-literature-history", &ran.stdout);
    for bug in whole["bugs"].as_array().expect("bugs") {
        for world in ["broken", "repaired"] {
            let command = bug[world]["command"].as_str().expect("a command");
            let typed = words(&format!("{command} --json"));
            let typed: Vec<_> = typed.iter().skip(1).map(String::as_str).collect();
            let again = run_args(&root(), &typed);
            let found: Value = serde_json::from_str(&again.stdout)
                .unwrap_or_else(|error| panic!("{command}: {error}: {}", again.stderr));
            let property = &found["properties"][0];
            let steps = property["counterexample"]["steps"].as_array().map(Vec::len);
            match world {
                "broken" => {
                    assert_eq!(steps.map(Value::from), Some(bug["broken"]["steps"].clone()));
                }
                _ => assert_eq!(property["verdict"], verdict(&bug[world]["found"]), "{command}"),
            }
        }
    }
}

/// The name of a finding: what it is, or the key under which it says more.
fn verdict(found: &Value) -> &str {
    let key = found.as_object().and_then(|found| found.keys().next());
    found.as_str().or(key.map(String::as_str)).expect("a finding")
}
