//! Saved executions in the formats of other programs: a finite one, and one with steps that repeat
//! for ever.

use crate::cli::run_in;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Two processes lead after five steps.
const FINITE: (&str, &str) =
    ("check bully --recoveries 1 --property at-most-one-leader", "bully-at-most-one-leader");

/// After three steps, five repeat for ever; one link has one direction.
const LASSO: (&str, &str) =
    ("check vrrp --nodes 2 --crashes 0 --without 2>1 --property stabilises", "vrrp-stabilises");

/// What `trace` prints of an execution in this format.
fn printed((check, name): (&str, &str), format: &str) -> String {
    let dir = TempDir::new().expect("a folder");
    let saved = run_in(dir.path(), &format!("{check} --out ."));
    assert_eq!(saved.status, 1, "{}", saved.stderr);
    traced(dir.path(), name, format)
}

fn traced(dir: &Path, name: &str, format: &str) -> String {
    let ran = run_in(dir, &format!("trace {name}.ndjson --format {format}"));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{format}");
    ran.stdout
}

#[test]
fn mermaid_has_an_arrow_for_each_message_and_a_loop_for_a_cycle() {
    let told = printed(FINITE, "mermaid");
    let expected = "\
sequenceDiagram
    title bully, variant recommended
    participant p1 as process 1
    participant p2 as process 2
    participant p3 as process 3
    Note over p1: follower of 3
    Note over p2: follower of 3
    Note over p3: leader
    Note over p3: 1. 3, the leader, crashes.
";
    assert!(told.starts_with(expected), "{told}");
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    assert!(lines.contains(&"p2-xp3: 3. ELECTION (it is down)"), "{told}");
    let last = "Note over p1,p3: ";
    assert!(lines.last().is_some_and(|line| line.starts_with(last)), "{told}");
    assert!(!lines.contains(&"loop for ever"), "{told}");
    let told = printed(LASSO, "mermaid");
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    let at = |wanted: &str| {
        let found = lines.iter().position(|line| line.contains(wanted));
        found.unwrap_or_else(|| panic!("no {wanted} in: {told}"))
    };
    assert!(at(": 3. ") < at("loop for ever") && at("loop for ever") < at(": 4. "), "{told}");
    assert_eq!(lines[at("4. ADVERTISEMENT")], "p1->>p2: 4. ADVERTISEMENT");
    assert!(at(": 8. ") < lines.iter().position(|line| *line == "end").expect("an end"), "{told}");
}

#[test]
fn plantuml_says_the_same() {
    let told = printed(FINITE, "plantuml");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines.first(), lines.last()), (Some(&"@startuml"), Some(&"@enduml")), "{told}");
    for line in [
        "title bully, variant recommended",
        "participant \"process 3\" as p3",
        "note over p3 : 1. 3, the leader, crashes.",
        "p2 ->x p3 : 3. ELECTION (it is down)",
    ] {
        assert!(lines.contains(&line), "{line} in: {told}");
    }
    let told = printed(LASSO, "plantuml");
    let lines: Vec<&str> = told.lines().collect();
    let at = |wanted: &str| lines.iter().position(|line| *line == wanted).expect(wanted);
    assert!(at("loop for ever") < at("p1 -> p2 : 4. ADVERTISEMENT"), "{told}");
    assert!(at("p1 -> p2 : 7. ADVERTISEMENT") < at("end"), "{told}");
}

/// The lines of a log, each with its host and its clock.
fn events(log: &str) -> Vec<(String, String, BTreeMap<String, u64>)> {
    let mut lines = log.lines();
    assert_eq!(lines.next(), Some("(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})"));
    assert_eq!(lines.next(), Some(""));
    let mut events = Vec::new();
    while let Some(event) = lines.next() {
        let (host, clock) = lines.next().expect("a clock").split_once(' ').expect("two words");
        let clock = serde_json::from_str(clock).expect("a clock");
        events.push((event.to_owned(), host.to_owned(), clock));
    }
    events
}

/// Each host counts its own events from 1, and knows of others only what was there before.
#[test]
fn a_log_for_shiviz_has_clocks_that_messages_carry() {
    for execution in [FINITE, LASSO] {
        let mut latest = BTreeMap::<String, BTreeMap<String, u64>>::new();
        for (event, host, clock) in events(&printed(execution, "shiviz")) {
            let before = latest.get(&host).cloned().unwrap_or_default();
            assert_eq!(clock[&host], before.get(&host).copied().unwrap_or(0) + 1, "{event}");
            for (other, time) in clock.iter().filter(|(other, _)| **other != host) {
                assert!(before.get(other).copied().unwrap_or(0) <= *time, "{event}");
                assert!(latest[other][other] >= *time, "{event} knows what has not happened");
            }
            latest.insert(host, clock);
        }
    }
    let finite = events(&printed(FINITE, "shiviz"));
    let step = |number: &str| finite.iter().find(|(event, ..)| event.starts_with(number));
    let (event, host, clock) = step("3. ").expect("a step");
    assert_eq!(
        (&**host, clock.len()),
        ("process3", 1),
        "a crashed process learns nothing: {event}"
    );
    let lasso = events(&printed(LASSO, "shiviz"));
    let heard = lasso.iter().find(|(event, ..)| event.starts_with("2. 2 gets ADVERTISEMENT"));
    let (_, host, clock) = heard.expect("a step");
    assert_eq!((&**host, clock["process1"], clock["process2"]), ("process2", 2, 2));
    let repeats = lasso.iter().filter(|(event, ..)| event.ends_with("(and again, for ever)"));
    assert_eq!(repeats.count(), 5);
}

fn itf(execution: (&str, &str)) -> Value {
    serde_json::from_str(&printed(execution, "itf")).expect("JSON")
}

/// The value of a variable at a process.
fn at<'v>(state: &'v Value, name: &str, id: usize) -> &'v Value {
    &state[name]["#map"][id - 1][1]
}

#[test]
fn itf_has_every_state_with_every_variable() {
    let some = |id: &str| json!({ "tag": "Some", "value": { "#bigint": id } });
    let finite = itf(FINITE);
    let states = finite["states"].as_array().expect("states");
    assert_eq!((states.len(), finite.get("loop")), (6, None));
    for execution in [&finite, &itf(LASSO)] {
        let vars = execution["vars"].as_array().expect("variables");
        assert!(vars.len() >= 10, "{vars:?}");
        for (index, state) in execution["states"].as_array().expect("states").iter().enumerate() {
            assert_eq!(state["#meta"]["index"], index);
            let state = state.as_object().expect("a state");
            let has = |name: &Value| state.contains_key(name.as_str().expect("a name"));
            assert!(vars.iter().all(has), "{state:?}");
            assert_eq!(state.len(), vars.len() + 1);
            let text = serde_json::to_string(state).expect("JSON");
            assert!(!text.contains("null"), "{text}");
        }
    }
    let (first, last) = (&states[0], &states[5]);
    assert_eq!(first["up"]["#map"][2], json!([{ "#bigint": "3" }, true]));
    assert_eq!((at(first, "leader", 3), at(last, "leader", 2)), (&some("3"), &some("2")));
    assert_eq!(
        (at(&states[1], "up", 3), at(&states[1], "role", 3)),
        (&json!(false), &json!("down"))
    );
    assert_eq!(states[1]["faults"]["crashes"], json!({ "#bigint": "1" }));
    assert_eq!(last["step"], "3 recovers");
    let flying = last["in_flight"].as_array().expect("messages");
    assert_eq!(flying.len(), 3, "{flying:?}");
    assert_eq!(finite["#meta"]["property"], "at-most-one-leader");
}

/// The loop ends in the last state, from which its first state follows again.
#[test]
fn itf_says_where_a_loop_begins() {
    let lasso = itf(LASSO);
    assert_eq!(lasso["loop"], 3);
    let states = lasso["states"].as_array().expect("states");
    assert_eq!(states.len(), 8, "the beginning, and seven of eight steps");
    let cut = json!({ "#set": [{ "#tup": [{ "#bigint": "2" }, { "#bigint": "1" }] }] });
    assert!(states.iter().all(|state| state["unlinked"] == cut));
}

/// Where numbers in the cycle go on growing, no state of it comes again.
#[test]
fn a_cycle_that_a_symmetry_closes_is_no_loop() {
    let check = "check raft-election --variant sticky --rule answer_lower=false --crashes 0 \
                 --cuts 2 --heals must --property settles";
    let endless = (check, "raft-election-settles");
    let told = printed(endless, "itf");
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told.get("loop"), None);
    assert!(printed(endless, "story").contains("for ever."));
}

#[test]
fn what_shows_states_asks_the_model() {
    let dir = TempDir::new().expect("a folder");
    let (check, name) = FINITE;
    assert_eq!(run_in(dir.path(), &format!("{check} --out .")).status, 1);
    let file = dir.path().join(format!("{name}.ndjson"));
    let text = fs::read_to_string(&file).expect("a trace");
    fs::write(&file, text.replacen("\"role\":\"leader\"", "\"role\":\"lea;<b>#\"", 1))
        .expect("written");
    let line = |flags: &str| run_in(dir.path(), &format!("trace {name}.ndjson {flags}"));
    assert_eq!(line("--format itf").status, 2);
    let refused = line("--format itf --unchecked");
    assert!(refused.stderr.contains("--unchecked has no effect"), "{}", refused.stderr);
    // What comes from anywhere ends no statement of the language.
    let drawn = line("--format mermaid --unchecked");
    assert_eq!(drawn.status, 0, "{}", drawn.stderr);
    assert!(drawn.stdout.contains("lea#59;#lt;b#gt;#35;"), "{}", drawn.stdout);
}
