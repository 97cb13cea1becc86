//! The command, with files; and logs that a program in another language writes.

use super::{Faults, quorums};
use assert_cmd::Command;
use bellwether_docs_runner::{object_of, root};
use predicates::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

fn command(logs: &[PathBuf]) -> Command {
    let mut command = Command::cargo_bin("bellwether-conformance").expect("built");
    command.env("NO_COLOR", "1").arg("validate").args(logs);
    command
}

fn write(folder: &Path, logs: &[String]) -> Vec<PathBuf> {
    let write = |(log, at): (&String, usize)| {
        let file = folder.join(format!("node-{at}.ndjson"));
        fs::write(&file, log).expect("ours");
        file
    };
    logs.iter().zip(1..).map(write).collect()
}

#[test]
fn the_kinds_of_steps_that_were_judged_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = quorums(1, (Faults::NONE, true), 300, None);
    let files = write(folder.path(), &logs);
    let output = command(&files).arg("--json").output().expect("ran");
    let object = object_of("bellwether-conformance-validate", &output.stdout);
    let (judged, met) = (&object["judged"], object["judged"]["met"].as_array().expect("a list"));
    let count = |action: &str| -> u64 {
        let of_it = met.iter().filter(|met| met["action"] == action);
        of_it.filter_map(|met| met["transitions"].as_u64()).sum()
    };
    for (action, step) in [("deliver", "receive"), ("expire", "expire")] {
        let steps = judged["steps"][step].as_u64().expect("a number");
        assert!((1..=steps).contains(&count(action)), "{action}: {steps}, {met:?}");
    }
    let starts = count("start") + count("recover");
    assert!(starts > 0 && Some(starts) <= judged["incarnations"].as_u64(), "{met:?}");
}

#[test]
fn the_command_accepts_rejects_and_refuses() {
    let folder = tempfile::tempdir().expect("a folder");
    let says = |what: &'static str| predicate::str::contains(what);
    let logs = quorums(1, (Faults::NONE, true), 300, None);
    let files = write(folder.path(), &logs);
    command(&files).assert().code(0).stderr("").stdout(
        says("quorum, recommended: logs and model\n\n3 logs of 3 members,")
            .and(says("The logs are accepted")),
    );
    let mut wrong = logs.clone();
    wrong[0] = wrong[0].replacen("\"Support\":1", "\"Support\":2", 1);
    let files = write(folder.path(), &wrong);
    command(&files).assert().code(1).stdout(says("The logs are rejected.").and(says("line ")));
    let output = command(&files).arg("--json").output().expect("ran");
    let object = object_of("bellwether-conformance-validate", &output.stdout);
    assert_eq!(object["verdict"], "rejected");
    assert!(object["rejection"]["line"].as_u64().is_some_and(|line| line > 1));
    let small = folder.path().join("small");
    let reduces = || {
        let mut command = command(&files);
        command.arg("--reduce").arg(&small);
        command
    };
    reduces().assert().code(1).stderr("").stdout(says("Saved: ").and(says(" lines of ")));
    let smaller = fs::read_dir(&small).expect("a folder");
    let smaller: Vec<_> = smaller.map(|file| file.expect("a file").path()).collect();
    command(&smaller).assert().code(1).stdout(says("The logs are rejected."));
    reduces().assert().code(1).stderr(says("cannot write"));
    let mut malformed = logs;
    malformed[1] = malformed[1].replacen("\"n\":5,", "\"n\":five,", 1);
    let files = write(folder.path(), &malformed);
    command(&files).assert().code(2).stdout(says("node-2.ndjson, line 6 (byte "));
    let none = [folder.path().join("none.ndjson")];
    command(&none).assert().code(2).stdout("").stderr(says("cannot read"));
}

#[test]
fn a_program_in_another_language_can_have_its_logs_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = root().join("examples/clients/bully_log.py");
    let ran = std::process::Command::new("python3").arg(&script).arg(folder.path()).output();
    let Ok(ran) = ran else { return };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let files: Vec<_> = (1..=3).map(|node| folder.path().join(format!("{node}.ndjson"))).collect();
    let accepted = predicate::str::contains("bully, recommended: logs and model")
        .and(predicate::str::contains("The logs are accepted"));
    command(&files).assert().code(0).stdout(accepted);
    let log = fs::read_to_string(&files[0]).expect("text");
    fs::write(&files[0], log.replace("\"to\": 2", "\"to\": 3")).expect("ours");
    command(&files).assert().code(1);
}
