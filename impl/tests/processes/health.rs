//! The check of a node: it is fit to lead while a program says so.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::bad_input::refuses;
use super::common::{Cluster, bellwether, is_alive, wait_until};

/// Succeeds while there is a file for the node.
const FILE: &str = "test -e $0/fit-$BELLWETHER_NODE || { echo no file >&2; exit 3; }";

/// Often enough for a test, and with time enough for a machine that is busy.
const OFTEN: &str = "interval = \"2s\"\ntimeout = \"2s\"\nrise = 2\nfall = 2\n";

/// Nodes that run the quorum bully, each with this script as its check; its `$0` is their folder.
struct Checked(Cluster);

impl Checked {
    fn new(size: u16, script: &str, more: &str) -> Self {
        let checked = Self(Cluster::running(size, "quorum", ""));
        let folder = checked.0.folder().display().to_string();
        let check = toml::Value::from(vec!["sh", "-c", script, folder.as_str()]);
        let text = format!("{}[health]\ncheck = {check}\n{more}", checked.0.text("test"));
        fs::write(checked.0.config(), text).expect("writable");
        checked
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.folder().join(name)
    }

    fn set_fit(&self, node: u16, fit: bool) {
        let path = self.path(&format!("fit-{node}"));
        let done = if fit { fs::write(path, "") } else { fs::remove_file(path) };
        done.expect("ours");
    }

    fn log_has(&self, node: u16, part: &str) {
        let log = || self.0.log_of(&node.to_string());
        wait_until(&format!("node {node} logs {part}"), || log().contains(part), log);
    }
}

/// What a status says is wrong with the node.
fn problem(status: &Value) -> &str {
    status["problem"].as_str().unwrap_or_default()
}

#[test]
fn a_leader_whose_check_fails_makes_way_and_is_fit_again_once_it_succeeds() {
    let mut checked = Checked::new(3, FILE, OFTEN);
    for node in 1..=3 {
        checked.set_fit(node, true);
        checked.0.start(node);
    }
    let old = checked.0.wait_for_any_leader();
    checked.set_fit(old, false);
    let other = |status: &Value| status["leader"].as_u64().is_some_and(|id| id != u64::from(old));
    checked.0.wait_for(old % 3 + 1, "another leads", other);
    let unfit = "not fit to lead: the check failed: exit status: 3: no file";
    checked.0.wait_for(old, "it is not fit", |status| problem(status).contains(unfit));
    // Further failures are no news.
    std::thread::sleep(Duration::from_secs(5));
    let log = checked.0.log_of(&old.to_string());
    assert_eq!(log.matches("not fit to lead: the check failed").count(), 1, "{log}");
    assert_eq!(log.matches("fit to lead: the check succeeds").count(), 1, "{log}");
    assert!(log.contains("reason=\"unfit\""), "{log}");

    checked.set_fit(old, true);
    checked.0.wait_for(old, "it is fit", |status| status["problem"].is_null());
    let log = || checked.0.log_of(&old.to_string());
    let told = || log().matches("fit to lead: the check succeeds").count() == 2;
    wait_until("it says so once more", told, log);
    // No other is fit: it leads again.
    (1..=3).filter(|&node| node != old).for_each(|node| checked.set_fit(node, false));
    checked.0.wait_for_leader(old);
}

#[test]
fn a_node_is_not_fit_before_its_check_has_succeeded() {
    let waits = "until test -e $0/fit-$BELLWETHER_NODE; do sleep 0.05; done";
    let mut checked = Checked::new(2, waits, "interval = \"1m\"\ntimeout = \"1m\"\n");
    (1..=2).for_each(|node| checked.0.start(node));
    let unknown = |status: &Value| problem(status).contains("has not succeeded yet");
    (1..=2).for_each(|node| checked.0.wait_for(node, "nothing is known", unknown));
    checked.set_fit(1, true);
    // Without checks, the higher one would lead.
    checked.0.wait_for_leader(1);
    checked.0.wait_for(2, "nothing is known", unknown);
    checked.set_fit(2, true);
    checked.0.wait_for(2, "the first success is enough", |status| status["problem"].is_null());
}

#[test]
fn a_check_that_takes_too_long_has_failed_and_is_killed_with_all_that_it_has_started() {
    let hangs = "sleep 60 & echo $! > $0/started-$BELLWETHER_NODE; echo hangs >&2; sleep 60";
    let mut checked = Checked::new(2, hangs, "interval = \"1m\"\ntimeout = \"3s\"\n");
    (1..=2).for_each(|node| checked.0.start(node));
    checked.log_has(1, "not fit to lead: the check did not end within 3s, and was killed: hangs");
    let started = fs::read_to_string(checked.path("started-1")).expect("written");
    let started = started.trim().parse().expect("a number");
    wait_until("it is killed", || !is_alive(started), String::new);
    let status = checked.0.status(1).expect("it answers");
    assert_eq!(status["leader"], Value::Null, "no node is fit");
}

#[test]
fn a_check_that_cannot_run_has_failed() {
    let mut checked = Checked::new(2, "", "");
    let text = checked.0.text("test") + "[health]\ncheck = [\"/no/such/check\"]\n";
    fs::write(checked.0.config(), text).expect("writable");
    checked.0.start(1);
    checked.log_has(1, "the check cannot run: /no/such/check: there is no such program");
    let mut command = bellwether();
    let output = command.arg("check-config").arg(checked.0.config()).args(["--node", "1"]).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("/no/such/check cannot be used"), "{said}");
}

#[test]
fn a_protocol_whose_leaders_cannot_step_down_has_no_check() {
    let checked = Checked::new(2, "true", "");
    let config = checked.0.config();
    let config = config.to_str().expect("plain text");
    let run = ["run", "--config", config, "--node", "1", "--protocol", "bully"];
    refuses(&run, 2, &["health.check", "a node of protocol bully", "the protocol quorum"]);
}
