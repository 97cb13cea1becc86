//! What has to be known with a verdict is printed with it, and only where it applies.

use assert_cmd::Command;
use bellwether_model::check::Caveat;
use serde_json::Value;

/// For each caveat a run to which it applies and one to which it does not, which differ in little;
/// and the properties that it is about.
const RUNS: &[(Caveat, &str, &str, &[&str])] = &[
    (
        Caveat::RenamedMessages,
        "check garcia-molina --network unordered --nodes 2 --property assertion-1 \
         --property assertion-2",
        "check garcia-molina --network unordered --nodes 2 --property assertion-1 \
         --property assertion-2 --symmetry concrete",
        &["assertion-2"],
    ),
    (
        Caveat::HashedStates,
        "check bully --engine bfs --property agreement --property stabilises",
        "check bully --property agreement --property stabilises",
        &["agreement"],
    ),
    (
        Caveat::NotShortest,
        "check bully --recoveries 1 --engine dfs --property at-most-one-leader",
        "check bully --recoveries 1 --engine bfs --property at-most-one-leader",
        &["at-most-one-leader"],
    ),
    (
        Caveat::Chance,
        "check raft-election --variant paper --rule timeouts=random --property stabilises",
        "check raft-election --variant paper --rule timeouts=fixed --property stabilises",
        &["stabilises"],
    ),
    (
        Caveat::DriftingClocks,
        "check bully --variant baseline --timing timed --delay 1 --t-elec 3 --t-coord 30 \
         --t-detect 2 --drift 1/5 --property timeouts-accurate --property agreement",
        "check bully --variant baseline --timing timed --delay 1 --t-elec 2 --t-coord 30 \
         --t-detect 2 --property timeouts-accurate --property agreement",
        &["timeouts-accurate"],
    ),
    (
        Caveat::TrueAtFirst,
        "check raft-election --variant paper --nodes 2 --crashes 0 --property leader-emerges",
        "check raft-election --variant paper --nodes 2 --crashes 0 --property leader-emerges \
         --start cold",
        &["leader-emerges"],
    ),
    (
        Caveat::AccurateIsNotPerfect,
        "check bully --variant baseline --network set --timing timed --delay 1 --t-elec 3 \
         --t-coord 8 --t-detect 2 --property timeouts-accurate",
        "check bully --variant baseline --timing timed --delay 1 --t-elec 3 --t-coord 8 \
         --t-detect 2 --property timeouts-accurate",
        &["timeouts-accurate"],
    ),
    (
        Caveat::UncountedFaults,
        "check bully --losses unbounded --timing timed --delay 1 --t-heartbeat 3 --t-elec 3 \
         --t-coord 10 --t-detect 4 --property stabilises --all 2",
        "check bully --losses unbounded --timing timed --delay 1 --t-heartbeat 3 --t-elec 3 \
         --t-coord 10 --t-detect 4 --property stabilises",
        &["stabilises"],
    ),
    (
        Caveat::LossesNotAwaited,
        "check bully --losses unbounded --timing asynchronous --capacity 1 --nodes 2 \
         --property leader-recurs",
        "check bully --losses 1 --timing asynchronous --capacity 1 --nodes 2 \
         --property leader-recurs",
        &["leader-recurs"],
    ),
    (
        Caveat::LossesBeginNothing,
        "bounds bully --variant baseline --losses unbounded --timing asynchronous --capacity 1 \
         --nodes 2",
        "bounds bully --variant baseline --losses 1 --timing asynchronous --capacity 1 --nodes 2",
        &[],
    ),
];

/// What a run prints.
fn printed(run: &str, more: &[&str]) -> String {
    let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
    let output = command.args(run.split_whitespace()).arg("--quiet").args(more).output();
    String::from_utf8(output.expect("it runs").stdout).expect("UTF-8")
}

/// The names of the caveats of a run, and what they are about.
fn caveats(run: &str) -> Vec<(Value, Value)> {
    let json: Value = serde_json::from_str(&printed(run, &["--json"])).expect(run);
    let all = json["caveats"].as_array().expect("a list").iter();
    all.map(|one| (one["caveat"].clone(), one["properties"].clone())).collect()
}

#[test]
fn each_caveat_stands_in_the_reports_of_the_runs_to_which_it_applies() {
    let known: Vec<Caveat> = RUNS.iter().map(|(caveat, ..)| *caveat).collect();
    assert_eq!(known, Caveat::ALL, "a run for each");
    for (caveat, with, without, properties) in RUNS {
        let name = serde_json::to_value(caveat).expect("a name");
        let about = serde_json::to_value(properties).expect("a list");
        assert!(caveats(with).contains(&(name.clone(), about)), "{with}: {:?}", caveats(with));
        let others = caveats(without);
        assert!(others.iter().all(|(other, _)| *other != name), "{without}: {others:?}");
        let line = match properties {
            [] => format!("With care: {}.", caveat.words()),
            _ => format!("With care: {}: {}.", properties.join(", "), caveat.words()),
        };
        assert!(printed(with, &[]).contains(&line), "{with}: no {line:?}");
        assert!(!printed(without, &[]).contains(caveat.words()), "{without}");
    }
}

#[test]
fn most_runs_have_none() {
    for run in [
        "check bully",
        "check bully --recoveries 1",
        "check bully --variant baseline --network set",
        "check garcia-molina --nodes 2 --recoveries 1",
        "bounds bully",
    ] {
        assert!(caveats(run).is_empty(), "{run}: {:?}", caveats(run));
        assert!(!printed(run, &[]).contains("With care"), "{run}");
    }
}

/// The table of the manual has all of them.
#[test]
fn the_manual_has_each_caveat() {
    let manual = include_str!("../../docs/model.md");
    for caveat in Caveat::ALL {
        let name = serde_json::to_value(caveat).expect("a name");
        let row = format!("| `{}` |", name.as_str().expect("a text"));
        assert!(manual.contains(&row), "no row {row}");
    }
}
