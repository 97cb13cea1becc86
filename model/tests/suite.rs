//! `suite` runs the checks of a file, and finds what comes out otherwise than the file expects.

use crate::cli::{Ran, run_in};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// What holds, what is violated, and what the search counts.
const RIGHT: &str = r#"
[defaults]
threads = 2

[[case]]
name = "a crash and a recovery"
protocol = "bully"
recoveries = 1
states = 629
transitions = 1841

[case.expect]
decided = "holds"
stabilises = "holds"
at-most-one-leader = "violated in 5 steps"
"never(leads(2) && leads(3))" = "violated"

[[case]]
protocol = "bully"
rule = { t_coord = false, guard = true }
property-of-nothing-else = true
expect = { at-most-one-leader = "holds" }
"#;

/// The file without the key that no `check` knows.
fn right() -> String {
    RIGHT.replace("property-of-nothing-else = true\n", "")
}

fn suite(text: &str, flags: &str) -> Ran {
    let dir = TempDir::new().expect("a folder");
    run(dir.path(), text, flags)
}

fn run(dir: &Path, text: &str, flags: &str) -> Ran {
    fs::write(dir.join("bellwether.toml"), text).expect("writable");
    run_in(dir, format!("suite {flags}").trim())
}

#[test]
fn what_comes_out_as_expected_is_a_success() {
    let ran = suite(&right(), "");
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    let mut lines = ran.stdout.lines();
    let first = lines.next().expect("a line");
    let begins = "as expected: a crash and a recovery (4 properties, 629 states, ";
    assert!(first.starts_with(begins), "{first}");
    let second = lines.next().expect("a line");
    let begins = "as expected: bully --threads 2 --rule ";
    assert!(second.starts_with(begins), "{second}");
    assert_eq!(lines.next(), Some("2 cases: 2 as expected"));
    assert_eq!(lines.next(), None);
}

/// A suite that cannot fail has shown nothing: each of these is one thing that is otherwise.
#[test]
fn each_difference_is_found_and_told() {
    for (written, instead, told) in [
        ("decided = \"holds\"", "decided = \"violated\"", "expected violated, found holds"),
        ("decided = \"holds\"", "decided = \"holds within\"", "expected holds within, found holds"),
        ("in 5 steps", "in 4 steps", "expected violated in 4 steps, found violated in 5 steps"),
        ("\"violated in 5 steps\"", "\"holds\"", "expected holds, found violated in 5 steps"),
        ("states = 629", "states = 630", "states: expected 630, found 629"),
        ("= 1841", "= 1842", "transitions: expected 1842, found 1841"),
        ("recoveries = 1", "recoveries = 0", "found holds"),
    ] {
        let text = right();
        assert!(text.contains(written), "{written}");
        let ran = suite(&text.replacen(written, instead, 1), "");
        assert_eq!(ran.status, 1, "{instead}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(told), "{told} in: {}", ran.stdout);
        assert!(ran.stdout.starts_with("differs: a crash and a recovery: "), "{}", ran.stdout);
        assert!(ran.stdout.contains("\n  see it: "), "{}", ran.stdout);
        assert!(ran.stdout.ends_with("2 cases: 1 as expected, 1 differs\n"), "{}", ran.stdout);
    }
}

/// The command that is printed shows what is different.
#[test]
fn the_command_of_a_difference_works_as_it_stands() {
    let ran = suite(&right().replacen("in 5 steps", "in 4 steps", 1), "");
    let see = ran.stdout.lines().find_map(|line| line.split_once(" check "));
    let (_, words) = see.expect("a command");
    let words = bellwether_docs_runner::words(&format!("check {words}"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = crate::cli::run_args(Path::new("."), &words);
    assert_eq!(shown.status, 1, "{}", shown.stderr);
    assert!(shown.stdout.contains("violated (5 steps)"), "{}", shown.stdout);
}

/// Several worlds in one case, each with what is expected of it; every property that is not named;
/// and the steps of an execution.
const SEVERAL: &str = r#"
[defaults]
protocol = "bully"

[[case]]
name = "crashes"
each = [{ crashes = 1 }, { crashes = 1, recoveries = 1 }]
states = [96, 629]
expect = { "*" = "holds", at-most-one-leader = ["holds", "violated in 5 steps"], follower-bound = ["holds", "violated"] }

[case.story]
at-most-one-leader = [
    "3 crashes",
    "2's watch timer expires",
    "3 gets ELECTION from 2",
    "2's election timer expires",
    "3 recovers",
]
"#;

#[test]
fn a_case_with_several_worlds_is_decided_in_each() {
    let ran = suite(SEVERAL, "");
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    for line in [
        "as expected: crashes: --crashes=1 (",
        "as expected: crashes: --crashes=1 --recoveries=1 (",
        "2 cases: 2 as expected",
    ] {
        assert!(ran.stdout.lines().any(|told| told.starts_with(line)), "{line}: {}", ran.stdout);
    }
    for (written, instead, told) in [
        ("96, 629", "95, 629", "crashes: --crashes=1: states: expected 95, found 96"),
        (
            "[\"holds\", \"violated\"]",
            "\"holds\"",
            "follower-bound: expected holds, found violated",
        ),
        ("3 crashes", "2 crashes", "expected '2 crashes; 2's watch timer expires; "),
    ] {
        let ran = suite(&SEVERAL.replacen(written, instead, 1), "");
        assert_eq!(ran.status, 1, "{instead}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(told), "{told} in: {}", ran.stdout);
        assert!(ran.stdout.ends_with("2 cases: 1 as expected, 1 differs\n"), "{}", ran.stdout);
    }
    let one = suite(SEVERAL, "--case recoveries");
    assert!(one.stdout.ends_with("\n1 case: 1 as expected\n"), "{}", one.stdout);
    let none = suite(SEVERAL, "--case twins");
    assert_eq!((none.status, &*none.stdout), (2, ""));
    assert!(none.stderr.contains("no case of bellwether.toml has 'twins' in its name"));
}

#[test]
fn what_is_not_decided_is_no_success() {
    let cut = right().replacen("threads = 2", "max-states = 20", 1);
    let ran = suite(&cut, "--json");
    assert_eq!(ran.status, 3, "{}{}", ran.stdout, ran.stderr);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(found["cases"][0]["end"], "unknown");
    let unknown = found["cases"][0]["unknown"].to_string();
    assert!(unknown.contains("decided: unknown: the limit on states was reached"), "{unknown}");
    assert!(unknown.contains("states: unknown: "), "{unknown}");
}

#[test]
fn json_says_what_was_expected_and_what_was_found() {
    let ran = suite(&right(), "--json");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(found["suite"], "bellwether.toml");
    let case = &found["cases"][0];
    assert_eq!((&case["states"], &case["transitions"]), (&json!(629), &json!(1841)));
    assert_eq!((&case["end"], &case["differs"]), (&json!("as-expected"), &json!([])));
    let leader = &case["properties"][2];
    assert_eq!(leader["name"], "at-most-one-leader");
    assert_eq!(leader["found"], "violated in 5 steps");
    assert_eq!(leader["steps"], 5);
}

#[test]
fn the_files_for_a_ci_say_the_same() {
    let dir = TempDir::new().expect("a folder");
    let text = right().replacen("in 5 steps", "in 4 steps", 1);
    let text = text.replacen("a crash and", "a | crash & <", 1);
    let ran = run(dir.path(), &text, "--junit junit.xml --markdown summary.md");
    assert_eq!(ran.status, 1, "{}{}", ran.stdout, ran.stderr);
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("it was written");
    let xml = read("junit.xml");
    let document = roxmltree::Document::parse(&xml).expect("XML");
    let root = document.root_element();
    assert_eq!(root.attribute("tests"), Some("2"));
    assert_eq!(root.attribute("failures"), Some("1"));
    let named = |name: &str| document.descendants().filter(|one| one.has_tag_name(name)).count();
    assert_eq!((named("testcase"), named("failure"), named("error")), (2, 1, 0));
    let failed = document.descendants().find(|one| one.has_tag_name("testcase"));
    assert_eq!(failed.expect("a case").attribute("name"), Some("a | crash & < a recovery"));
    let failure = document.descendants().find(|one| one.has_tag_name("failure"));
    let message = failure.and_then(|one| one.attribute("message")).expect("a message");
    assert!(message.contains("expected violated in 4 steps, found violated in 5"), "{message}");
    let page = read("summary.md");
    assert!(page.starts_with("**bellwether.toml**: 2 cases: 1 as expected, 1 differs."), "{page}");
    assert!(page.contains("| a \\| crash & \\< a recovery | differs | "), "{page}");
}

/// What is wrong, where, and what to do: the place is that of the word that is wrong.
#[test]
fn a_wrong_file_is_told_its_line_its_column_and_the_remedy() {
    let case = "[[case]]\nprotocol = \"bully\"\n";
    let expect = "expect = { decided = \"holds\" }\n";
    let at = |line: &str| format!("{case}{line}\n{expect}");
    for (text, says) in [
        (String::new(), &["bellwether.toml:1:1: ", "there is no case; write [[case]]"][..]),
        (at("crashs = 1"), &[":3:1: ", "no key 'crashs'; did you mean 'crashes'?"]),
        (at("crashes = \"many\""), &[":3:1: ", "--crashes cannot be 'many': give a whole number"]),
        (at("heals = \"must\""), &[":3:1: ", "--heals must has no effect", "add --cuts"]),
        (at("json = true"), &[":3:1: ", "'json' is no key here; leave it out"]),
        (at("property = \"decided\""), &[":3:1: ", "write expect = { PROPERTY = \"holds\" }"]),
        (at("first = 1"), &[":3:9: ", "first is true or false"]),
        (at("states = -1"), &[":3:10: ", "states is a number"]),
        (at("states = 5\nengine = \"simulation\""), &[":3:10: ", "leave it out"]),
        (at("nodes = ["), &["bellwether.toml:", "write KEY = VALUE"]),
        (at("rule = \"gard=true\""), &[":3:1: ", "did you mean 'guard'?"]),
        (at("[case.expect]\ndecided = \"hold\""), &[":4:11: ", "did you mean 'holds'?"]),
        (case.replace("bully", "buly") + expect, &[":2:12: ", "did you mean 'bully'?"]),
        (format!("[[case]]\n{expect}"), &["bellwether.toml:", "needs PROTOCOL"]),
        (case.to_owned(), &[":2:12: ", "write expect = { PROPERTY = \"holds\" }"]),
        (format!("{case}expect = {{}}\n"), &[":3:10: ", "no property is named"]),
        (case.to_owned() + "expect = { decidd = \"holds\" }", &[":3:12: ", "mean 'decided'?"]),
        (
            format!("[[cases]]\n{}", at("")),
            &[":1:3: ", "no key 'cases' here; did you mean 'case'?"],
        ),
        (format!("[defaults]\nname = \"x\"\n{}", at("")), &[":2:1: ", "leave it out"]),
        (at("each = 1"), &[":3:8: ", "write each = [{ KEY = VALUE }, …]"]),
        (at("each = [{ crashs = 1 }]"), &[":3:11: ", "did you mean 'crashes'?"]),
        (at("each = [{ crashes = 2 }]\nstates = [1, 2]"), &[":4:10: ", "states has 2 values"]),
        (at("story = { decided = [\"1 crashes\"] }"), &[":3:11: ", "no world violates 'decided'"]),
        (at("name = \"x\"") + &at("name = \"x\""), &[":7:8: ", "another case has the name 'x'"]),
    ] {
        let Ran { status, stdout, stderr } = suite(&text, "");
        assert_eq!((status, &*stdout), (2, ""), "{text}");
        assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
        for part in says {
            assert!(stderr.contains(part), "'{part}' is missing in: {stderr}\nof:\n{text}");
        }
    }
    let none = run_in(TempDir::new().expect("a folder").path(), "suite");
    assert_eq!(none.status, 2);
    assert!(none.stderr.contains("cannot read bellwether.toml: "), "{}", none.stderr);
    let unknown = suite(RIGHT, "");
    assert!(unknown.stderr.contains("no key 'property-of-nothing-else'"), "{}", unknown.stderr);
}
