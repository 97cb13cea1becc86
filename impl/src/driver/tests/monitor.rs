//! A node with a program that judges its steps while it runs. Here the program is a script.

use std::fs;
use std::time::Instant;

use rustix::process::{Pid, test_kill_process};

use super::whole::joined;
use super::*;
use crate::report::MonitorMeasurements;
use crate::trace::{Deed, Entry, Line};

/// Judges each line, adds it to a file, and finds a difference where the node starts.
const JUDGE: &str = r#"
n=0
while read -r line; do
  n=$((n + 1))
  printf '%s\n' "$line" >> "$0"
  printf '{"event":"judged","lines":1,"steps":%s,"not_judged":0}\n' "$n"
  case "$line" in
    *'{"boot":'*) printf 'no JSON\n{"event":"difference","report":["it differs",""]}\n' ;;
  esac
done
echo '{"event":"ended","verdict":"rejected"}'
printf 'ended\n' >> "$0"
"#;

/// Says which process it is, reads nothing, and does not end.
const STUCK: &str = r#"echo $$ > "$0.part" && mv "$0.part" "$0" && exec sleep 600"#;

/// A node whose monitor is this script, with a file as its name.
async fn judged(script: &str, file: &std::path::Path) -> Election {
    let file = file.to_str().expect("plain text");
    let (election, _) = joined(|config| config.with_monitor(["sh", "-c", script, file])).await;
    election
}

/// Waits until this is so of the monitor.
async fn until(election: &Election, is_so: impl Fn(&MonitorMeasurements) -> bool) {
    let started = Instant::now();
    loop {
        let seen = election.handle().measurements().monitor.expect("the node has one");
        if is_so(&seen) {
            return;
        }
        assert!(started.elapsed() < LIMIT, "{seen:?}");
        tokio::time::sleep(ms(10)).await;
    }
}

#[tokio::test]
async fn the_monitor_has_every_line_and_its_differences_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("seen");
    let election = judged(JUDGE, &file).await;
    until(&election, |seen| seen.differences == 1 && seen.judged >= 2 && seen.runs).await;
    election.leave().await.expect("nothing failed");

    let text = fs::read_to_string(&file).expect("text");
    let lines = text.strip_suffix("ended\n").expect("it reads to the end, and ends then");
    let read = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    let lines: Vec<Line<(What, u64), Order>> = lines.lines().map(read).collect();
    assert!(lines.iter().map(|line| line.n).eq(0..lines.len() as u64), "{lines:?}");
    assert!(matches!(lines[0].entry, Entry::Start(_)), "{lines:?}");
    assert_eq!(lines.last().map(|line| &line.entry), Some(&Entry::Did(Deed::Ended)));
}

#[tokio::test]
async fn a_node_goes_on_without_a_monitor_that_has_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let election = judged("read -r line; exit 3", &folder.path().join("none")).await;
    until(&election, |seen| !seen.runs).await;
    assert_eq!(election.handle().status().node, id(1));
    election.leave().await.expect("nothing failed");
}

#[tokio::test]
async fn a_monitor_that_cannot_be_started_does_not_keep_the_node_from_starting() {
    let (election, _) = joined(|config| config.with_monitor(["/none/judge"])).await;
    until(&election, |seen| !seen.runs && seen.judged == 0).await;
    election.leave().await.expect("nothing failed");
}

#[tokio::test]
async fn a_monitor_that_does_not_end_is_killed_and_the_file_has_the_trace_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, trace) = (folder.path().join("number"), folder.path().join("trace"));
    let name = file.to_str().expect("plain text");
    let (election, _) =
        joined(|config| config.with_trace(&trace).with_monitor(["sh", "-c", STUCK, name])).await;
    let started = Instant::now();
    let number = loop {
        if let Ok(text) = fs::read_to_string(&file) {
            break text.trim().parse().ok().and_then(Pid::from_raw).expect("a process");
        }
        assert!(started.elapsed() < LIMIT, "it does not start");
        tokio::time::sleep(ms(10)).await;
    };
    assert!(test_kill_process(number).is_ok(), "it runs");
    tokio::time::timeout(LIMIT, election.leave()).await.expect("soon").expect("it leaves");
    assert!(test_kill_process(number).is_err(), "it was killed, and reaped");
    let text = fs::read_to_string(&trace).expect("text");
    assert!(text.ends_with("\"did\":\"ended\"}\n"), "{text}");
}

#[tokio::test]
async fn a_node_without_a_monitor_measures_none() {
    let (election, _) = joined(|config| config).await;
    assert_eq!(election.handle().measurements().monitor, None);
    election.leave().await.expect("nothing failed");
}
