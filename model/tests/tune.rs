//! `tune`, as a library and on the command line.

use assert_cmd::Command;
use bellwether_model::check::Options;
use bellwether_model::machine::machine;
use bellwether_model::property::TIMEOUTS_ACCURATE;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::tune::{self, Fit, Question};
use bellwether_model::world::{Delay, Durations, Scenario, Timed};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

fn question(rules: Bully, property: &str, nodes: usize) -> Question {
    let most = 24;
    let given = Durations::of([("t-detect", 3)]).expect("one");
    let given = Timed::of(Delay::AtMost(1), given);
    Question {
        rules: machine(rules),
        scenario: Scenario::calm(nodes).with_crashes(1, 0),
        given,
        sought: tune::time_outs(&*machine(rules)),
        property: property.to_owned(),
        most,
        options: Options::default(),
    }
}

#[test]
fn the_shortest_time_outs_are_linear_in_the_delays() {
    let question = question(Bully::BASELINE, TIMEOUTS_ACCURATE, 3);
    let mut found = [Vec::new(), Vec::new()];
    for tm in 1..=3 {
        for tp in 0..=2 {
            let row = question.row(tm, tp, &mut |_, _, _| {}).expect("possible");
            for (name, numbers) in ["t-elec", "t-coord"].iter().zip(&mut found) {
                numbers.push((tm, tp, row.ticks(name).expect("there is one")));
            }
        }
    }
    let forms = found.map(|numbers| match Fit::of(&numbers) {
        Fit::Form(form) => form.to_string(),
        other => format!("{other:?}"),
    });
    assert_eq!(forms, ["2·Tm + Tp + 1", "3·Tm + Tp + 2"]);
}

/// By the recommended rules a candidate may believe the last heartbeat of a leader that is gone,
/// and have to notice that again.
#[test]
fn a_stale_heartbeat_makes_detection_a_part_of_the_wait() {
    for t_detect in [0, 2, 5] {
        let given = Durations::of([("t-detect", t_detect), ("t-heartbeat", 3)]).expect("two");
        let mut question = question(Bully::RECOMMENDED, TIMEOUTS_ACCURATE, 3);
        question.given.durations = given;
        for (tm, tp) in [(1, 0), (1, 1), (2, 0), (3, 1)] {
            let row = question.row(tm, tp, &mut |_, _, _| {}).expect("possible");
            let found = (row.ticks("t-elec"), row.ticks("t-coord"));
            assert_eq!(found, (Some(2 * tm + tp + 1), Some(4 * tm + tp + t_detect + 2)));
        }
    }
}

/// Two leaders at the same time are a matter of `T_elec`; a `T_coord` that is too short only holds
/// elections that no process needs.
#[test]
fn which_time_out_matters_depends_on_the_property() {
    let row = |property| {
        let row = question(Bully::BASELINE, property, 3).row(2, 0, &mut |_, _, _| {});
        let row = row.expect("possible");
        (row.ticks("t-elec"), row.ticks("t-coord"))
    };
    assert_eq!(row("at-most-one-leader"), (Some(5), Some(1)));
    assert_eq!(row("stabilises"), (Some(1), Some(1)));
}

/// What a run prints and returns. Only usage errors are told on standard error.
fn tune(dir: &TempDir, flags: &str) -> (i32, String) {
    let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
    command.current_dir(dir).env_remove("CLICOLOR_FORCE").args(["tune", "bully", "--quiet"]);
    let output = command.args(flags.split_whitespace()).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{flags}");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code().expect("it ends by itself"), printed)
}

fn json_of(flags: &str) -> (i32, Value) {
    let dir = TempDir::new().expect("a folder");
    let (status, printed) = tune(&dir, &format!("{flags} --json"));
    assert_eq!(printed.lines().count(), 1, "one line");
    (status, serde_json::from_str(&printed).expect("one JSON object"))
}

#[test]
fn the_table_has_the_form_that_the_textbooks_give() {
    let dir = TempDir::new().expect("a folder");
    let (status, printed) =
        tune(&dir, "--variant baseline --delay 1..3 --processing 0..2 --find t-elec --t-coord 20");
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("t-elec = 2·Tm + Tp + 1, in every row."), "{printed}");
    assert!(printed.contains("t-elec 2 is too short"), "{printed}");
    assert!(printed.contains("process 1") && printed.contains("Browse it:"), "{printed}");
    assert_eq!(printed.matches("is too short").count(), 1, "{printed}");
}

/// The first try of most people: nothing but a delay is given.
#[test]
fn a_delay_alone_has_an_answer_with_a_section_for_the_daemon_and_what_goes_wrong() {
    let dir = TempDir::new().expect("a folder");
    let (status, printed) = tune(&dir, "--delay 5ms..10ms --tick 5ms");
    assert_eq!(status, 0, "{printed}");
    // A heartbeat of 2·Tm, and a watch of two heartbeats, a delay and a tick, for Tm 2.
    assert!(printed.contains("t-detect 11, t-heartbeat 4"), "{printed}");
    let section = "\n[bully]\nelection = \"25ms\"\ncoordinator = \"105ms\"\nwatch = \"55ms\"\n\
                   heartbeat = \"20ms\"\n";
    assert!(printed.contains(section), "{printed}");
    let blame = "With t-elec 2, Tm 1 and Tp 0, 1's election timer would expire now, though OK from \
                 2 is still on its way.\n";
    assert!(printed.contains(blame), "{printed}");
    let last = printed.lines().last().unwrap_or_default();
    assert!(last.starts_with("With t-coord 16, Tm 1 and Tp 0, "), "{printed}");
    assert!(last.contains("timer would expire now, though"), "{printed}");
    // Rules that the daemon does not have make no section.
    let (_, printed) = tune(&dir, "--variant baseline --delay 1");
    assert!(!printed.contains("[bully]") && printed.contains("would expire now"), "{printed}");
}

#[test]
fn every_row_is_shown_and_saved_if_that_is_wanted() {
    let dir = TempDir::new().expect("a folder");
    let (status, printed) =
        tune(&dir, "--variant baseline --delay 1..2 --show --out saved --ascii");
    assert_eq!(status, 0, "{printed}");
    assert_eq!(printed.matches("is too short").count(), 4, "{printed}");
    assert!(printed.contains("Saved: saved/bully-t-elec-2-tm-1-tp-0.ndjson"), "{printed}");
    let saved = fs::read_dir(dir.path().join("saved")).expect("the folder").count();
    assert_eq!(saved, 12, "four traces, each with its picture and its page");
    let mut again = Command::cargo_bin("bellwether-model").expect("the binary is built");
    let trace = "saved/bully-t-coord-7-tm-2-tp-0.ndjson";
    again.current_dir(&dir).args(["trace", trace]).assert().code(0);
}

#[test]
fn json_has_every_row_and_the_forms() {
    let (status, found) = json_of("--variant baseline --delay 1..3 --t-detect 2");
    assert_eq!(status, 0);
    assert_eq!(found["forms"], json!({ "t-elec": "2·Tm + 1", "t-coord": "3·Tm + 2" }));
    assert_eq!(found["given"], json!({ "t-detect": 2 }));
    let rows = found["rows"].as_array().expect("a list");
    let numbers: Vec<&Value> = rows.iter().map(|row| &row["durations"]).collect();
    let expected = [(3, 5), (5, 8), (7, 11)].map(|(e, c)| json!({ "t-elec": e, "t-coord": c }));
    assert_eq!(numbers, expected.iter().collect::<Vec<_>>());
    for row in rows {
        assert_eq!(row["verdict"], "holds");
        let below = row["too_short"].as_array().expect("a list");
        assert_eq!(below.len(), 2);
        assert!(below.iter().all(|b| b["steps"].as_array().is_some_and(|s| !s.is_empty())));
    }
}

#[test]
fn what_is_not_found_is_said_and_shown() {
    let dir = TempDir::new().expect("a folder");
    let (status, printed) = tune(&dir, "--variant baseline --delay 3 --up-to 4");
    assert_eq!(status, 1, "{printed}");
    assert!(printed.contains("none up to 4") && printed.contains("not asked"), "{printed}");
    assert!(printed.contains("t-elec 4 is too short"), "{printed}");
    let (status, found) = json_of("--variant baseline --delay 3 --up-to 4");
    assert_eq!(status, 1);
    assert_eq!(found["rows"][0]["durations"], json!({ "t-elec": null }));
    assert_eq!(found["rows"][0]["verdict"], "violated");
}

#[test]
fn what_was_cut_short_is_not_claimed() {
    let dir = TempDir::new().expect("a folder");
    let (status, printed) = tune(&dir, "--variant baseline --delay 2 --max-states 20");
    assert_eq!(status, 3, "{printed}");
    assert!(printed.contains("unknown: the limit on states was reached"), "{printed}");
    let (status, found) = json_of("--variant baseline --delay 2 --crashes 0");
    assert_eq!((status, &found["rows"][0]["reason"]), (3, &json!("vacuous")));
}
