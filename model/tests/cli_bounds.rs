//! The command line of `bounds`, and of losses without bound.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

fn bellwether() -> Command {
    let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
    command.env("NO_COLOR", "1");
    command
}

#[test]
fn bounds_are_told_drawn_saved_and_printed_as_json() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let args = ["bounds", "bully", "--variant", "baseline"];
    let mut shown = bellwether();
    shown.args(args).args(["--show", "messages", "--out", "out"]).current_dir(&folder);
    shown.assert().code(0).stdout(contains("This is an example of the most messages: 6"));
    let saved = folder.path().join("out/bully-messages-election.ndjson");
    bellwether().arg("trace").arg(saved).assert().code(0);
    let json = bellwether().args(args).arg("--json").assert().code(0);
    let json: Value = serde_json::from_slice(&json.get_output().stdout).expect("JSON");
    assert_eq!(json["until"], "rest");
    let messages = &json["bounds"][0];
    assert_eq!((&messages["name"], &messages["most"]), (&json!("messages"), &json!(6)));
    assert_eq!(messages["execution"]["steps"].as_array().map(Vec::len), Some(5));
}

#[test]
fn bounds_say_what_they_do_not_know() {
    let cut = bellwether().args(["bounds", "bully", "--max-states", "5"]).assert().code(3);
    cut.stdout(contains("No bound is claimed."));
    let args = ["bounds", "bully", "--cuts", "1", "--capacity", "1"];
    let hidden = bellwether().args(args).assert().code(3);
    hidden.stdout(contains("or more").and(contains("A bound may be larger in truth")));
    let wrong = bellwether().args(["bounds", "bully", "--show", "coffee"]).assert().code(2);
    wrong.stderr(contains("--show coffee: nothing of that name is counted here; there are:"));
}

#[test]
fn counting_may_end_where_a_property_of_the_end_holds() {
    let bounds = |until| {
        let mut command = bellwether();
        command.args(["bounds", "quorum", "--start", "cold", "--crashes", "0"]);
        command.args(["--without", "3>1", "--until", until, "--json"]).assert()
    };
    let json = bounds("stable-leader").code(0);
    let json: Value = serde_json::from_slice(&json.get_output().stdout).expect("JSON");
    assert_eq!(json["until"], "stable-leader");
    bounds("one-leader-per-epoch").code(2).stdout(contains("is not of the form ◇□ P"));
    bounds("coffee").code(2).stdout(contains("there is no property 'coffee'"));
}

#[test]
fn losses_may_be_without_bound() {
    let args = ["check", "bully", "--losses", "unbounded", "--fairness", "strong", "--json"];
    let with = |more: &[&str]| bellwether().args(args).args(more).assert();
    let clock = ["--timing", "timed", "--delay", "1", "--t-elec", "3", "--t-coord", "10"];
    let more = ["--t-detect", "4", "--t-heartbeat", "3", "--property", "stabilises"];
    let json = with(&[&clock[..], &more].concat()).code(0);
    let json: Value = serde_json::from_slice(&json.get_output().stdout).expect("JSON");
    assert_eq!(json["faults"]["losses"], "unbounded");
    assert_eq!(
        (&json["fairness"], &json["properties"][0]["kind"]),
        (&json!("strong"), &json!("liveness"))
    );
    let wrong = bellwether().args(["check", "bully", "--losses", "many"]).assert().code(2);
    wrong.stderr(contains("give a whole number from 0 to 255, or 'unbounded'"));
    with(&[]).code(2).stdout(contains("heartbeat timer").and(contains("give a number of losses")));
}
