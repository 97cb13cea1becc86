//! When timers are due: one that is armed anew is due later, and one that is left alone is not.

use super::group::Faults;
use super::{QUORUM, WHOLE, accepted, judge, leases, quorums};
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::lease::LeaseMapping;
use serde_json::{Value, json};

/// A step of a node at which a timer is armed before and after: the places of log and line, the
/// name of the timer, and when it is due before and after.
struct Kept {
    log: usize,
    line: usize,
    name: String,
    due: [u64; 2],
}

/// Such steps, some time after the step before.
fn kept(logs: &[String]) -> Vec<Kept> {
    let mut all = Vec::new();
    for (log, text) in logs.iter().enumerate() {
        let lines: Vec<Value> = text.lines().map(parsed).collect();
        for line in 1..lines.len() {
            let [before, after] = [&lines[line - 1], &lines[line]];
            let is_later = before["at"].as_u64() < after["at"].as_u64();
            if !is_later || before.get("step").is_none() || after["step"].get("boot").is_some() {
                continue;
            }
            let after = armed(after);
            for (name, old) in armed(before) {
                let new = after.iter().find(|(other, _)| *other == name);
                all.extend(new.map(|&(_, new)| Kept { log, line, name, due: [old, new] }));
            }
        }
    }
    all
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

fn armed(line: &Value) -> Vec<(String, u64)> {
    serde_json::from_value(line["step"]["after"]["armed"].clone()).unwrap_or_default()
}

/// Timers that a step may arm as if another had been armed.
const SINCE: [&str; 3] = ["Asked", "Later", "Lease"];

/// The logs up to a step, after which a timer is due at another time.
fn with(logs: &[String], step: &Kept, due: u64) -> Vec<String> {
    let mut logs = logs.to_vec();
    let mut lines: Vec<String> =
        logs[step.log].lines().take(step.line + 1).map(str::to_owned).collect();
    let mut last = parsed(&lines[step.line]);
    let after = &mut last["step"]["after"];
    for timer in after["armed"].as_array_mut().into_iter().flatten() {
        if timer[0] == json!(step.name) {
            timer[1] = json!(due);
        }
    }
    lines[step.line] = last.to_string();
    logs[step.log] = lines.join("\n") + "\n";
    logs
}

/// What differs first.
fn first_difference(logs: &[String]) -> Option<String> {
    let rejection = judge(&QUORUM, logs, super::Options::default()).rejection?;
    let first = rejection.differences.first()?;
    Some(format!("{:?} {}", first.kind, first.what))
}

#[test]
fn a_timer_that_is_not_armed_anew_shows() {
    let mut tried = 0;
    for seed in 0..40 {
        let logs = quorums(seed, (Faults::SOME, true), 300, None);
        for step in kept(&logs) {
            let [old, new] = step.due;
            if old == new || SINCE.contains(&step.name.as_str()) {
                continue;
            }
            let found = first_difference(&with(&logs, &step, old));
            assert_eq!(found.as_deref(), Some("Missing timer"), "{seed}: {}", step.name);
            tried += 1;
        }
    }
    assert!(tried > 400, "only {tried} timers were armed anew");
}

#[test]
fn a_timer_that_is_armed_anew_and_should_not_be_shows() {
    let mut tried = 0;
    for seed in 0..40 {
        let logs = quorums(seed, (Faults::SOME, true), 300, None);
        let steps = kept(&logs);
        for (at, step) in steps.iter().enumerate() {
            if step.due[0] != step.due[1] || SINCE.contains(&step.name.as_str()) {
                continue;
            }
            // How long it took when it was armed last.
            let same = |other: &&Kept| other.log == step.log && other.name == step.name;
            let armed = steps[..at].iter().rev().filter(same).find(|one| one.due[0] != one.due[1]);
            let Some(armed) = armed else { continue };
            let time = |line: usize| {
                let line = logs[step.log].lines().nth(line).map(parsed);
                line.and_then(|line| line["at"].as_u64()).expect("a time")
            };
            let starts = |line: &str| line.contains("\"start\":");
            if logs[step.log].lines().take(step.line).skip(armed.line).any(starts) {
                continue;
            }
            let due = time(step.line) + (armed.due[1] - time(armed.line));
            let found = first_difference(&with(&logs, step, due));
            assert_eq!(found.as_deref(), Some("Unexpected timer"), "{seed}: {}", step.name);
            tried += 1;
        }
    }
    assert!(tried > 250, "only {tried} timers were left alone");
}

#[test]
fn a_clock_that_is_set_back_at_any_line_is_no_false_alarm() {
    for seed in 0..4 {
        set_back_at_any_line(&QUORUM, &quorums(seed, (Faults::SOME, true), 150, None));
        set_back_at_any_line(&LeaseMapping::new(), &leases(seed, Faults::SOME, 100));
    }
}

/// The clock of one node after the other is set back at each line, by much and by little.
fn set_back_at_any_line<M: Mapping>(mapping: &M, logs: &[String]) {
    let expected = accepted(mapping, logs, WHOLE).summary;
    for (at, log) in logs.iter().enumerate() {
        for line in 1..log.lines().count() {
            for by in [10_000_000_000, 1_000_000] {
                let mut logs = logs.to_vec();
                logs[at] = set_back(log, line, by);
                assert_eq!(accepted(mapping, &logs, WHOLE).summary, expected, "{at}: {line}");
            }
        }
    }
}

/// The log by a clock that is set back by so much at this line.
fn set_back(log: &str, at: usize, by: u64) -> String {
    let parts: Vec<&str> = log.split_inclusive('\n').collect();
    let (before, after) = parts.split_at(at);
    super::shift(&before.concat(), by) + &after.concat()
}
