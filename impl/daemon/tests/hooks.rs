//! What a node runs before it leads, and on each change; and its check: the node is fit to lead
//! while that succeeds.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use super::common::{Cluster, is_alive, wait_until};

impl Cluster {
    /// Has the nodes run these scripts: keys of the section, and what the script does. `more` is
    /// the rest of the section.
    pub(super) fn hook(&self, scripts: &[(&str, &str)], more: &str) {
        let mut section = "[hooks]\n".to_owned();
        for (key, script) in scripts {
            let path = self.at(key);
            fs::write(&path, format!("#!/bin/sh\ncd {}\n{script}\n", self.folder().display()))
                .expect("writable");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("its own");
            section += &format!("{key} = [\"{}\", \"{key}\"]\n", path.display());
        }
        self.configure(&(section + more));
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    #[track_caller]
    pub(super) fn waits_for(&self, name: &str, part: &str) {
        let look = || self.text_of(name).contains(part);
        let explain = || format!("{}\n{}", self.text_of(name), self.log_of("1"));
        wait_until(&format!("{name} has {part}"), look, explain);
    }

    /// Has each node run this script as its check; its `$0` is the folder.
    pub(super) fn check(&self, script: &str, more: &str) {
        let folder = self.path("");
        let check = toml::Value::from(vec!["sh", "-c", script, folder.as_str()]);
        self.configure(&format!("[health]\ncheck = {check}\n{more}"));
    }

    pub(super) fn set_fit(&self, node: u16, fit: bool) {
        let path = self.at(&format!("fit-{node}"));
        let done = if fit { fs::write(path, "") } else { fs::remove_file(path) };
        done.expect("ours");
    }

    fn epoch(&self, node: u16) -> u64 {
        let status = self.status(node).expect("it answers");
        status["epoch"].as_u64().expect("its protocol has epochs")
    }

    fn tells(&self, node: u16, line: &str) {
        self.waits_for("told", &format!("on_change node={node} {line}\n"));
    }
}

const TELL: &str = "\
echo \"$1 $BELLWETHER_SEQ $BELLWETHER_OLD_ROLE>$BELLWETHER_ROLE \\
leader=$BELLWETHER_OLD_LEADER>$BELLWETHER_LEADER $BELLWETHER_REASON\" >> told";

/// Two nodes of which node 1 runs these scripts; node 2 is down, so the bully's node 1 leads.
fn hooked(scripts: &[(&str, &str)], more: &str) -> Cluster {
    let mut cluster = Cluster::new(2);
    cluster.hook(scripts, more);
    cluster.start(1);
    cluster
}

#[test]
fn every_change_is_told_once_and_in_order() {
    let mut cluster = hooked(&[("on_change", TELL)], "");
    cluster.waits_for("told", ">leader");
    cluster.end(1);
    let told = cluster.text_of("told");
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(
        lines,
        [
            "on_change 1 not_started>candidate leader=> booted",
            "on_change 2 candidate>leader leader=>1 unanswered",
            "on_change 3 leader>not_started leader=1> left",
        ]
    );
}

/// It leads for the others from the start, and for its own users from the end of the script on.
#[test]
fn a_node_leads_only_once_its_script_has_succeeded() {
    let wait = "until [ -e go ]; do sleep 0.02; done; echo ready";
    let mut cluster = hooked(&[("before_leading", wait), ("on_change", TELL)], "");
    cluster.waits_for("told", "candidate>waiting leader=> preparing");
    let status = cluster.status(1).expect("it answers");
    assert_eq!((&status["role"], &status["leader"]), (&"waiting".into(), &().into()));
    fs::write(cluster.at("go"), "").expect("writable");
    cluster.follows(1, 1);
    cluster.waits_for("1.log", "ready");
    cluster.waits_for("told", "waiting>leader leader=>1 unanswered");
    cluster.end(1);
}

#[test]
fn a_script_that_takes_too_long_is_killed_with_all_that_it_has_started() {
    let hang = "sleep 60 & echo \"$$ $!\" >> processes; sleep 60";
    let mut cluster = hooked(&[("on_change", hang)], "timeout = \"1s\"\n");
    cluster.waits_for("1.log", "did not end within 1s, and was killed");
    // The election does not wait for it.
    cluster.follows(1, 1);
    cluster.end(1);
    let started = cluster.text_of("processes");
    assert!(started.contains(' '), "{}", cluster.log_of("1"));
    let lives = |id: &str| is_alive(id.parse().expect("a number"));
    wait_until("all are killed", || !started.split_whitespace().any(lives), || started.clone());
}

#[test]
fn a_program_that_is_not_there_or_fails_is_logged_and_the_node_does_not_lead() {
    for (script, complaint) in [
        ("exit 3", "the hook failed: exit status: 3"),
        ("echo no more room >&2; exit 1", "no more room"),
    ] {
        let mut cluster = hooked(&[("before_leading", script)], "");
        cluster.waits_for("1.log", complaint);
        assert_eq!(cluster.status(1).expect("it answers")["role"], "waiting");
        cluster.end(1);
    }
    let mut cluster = hooked(&[], "on_change = [\"/no/such/program\"]\n");
    cluster.waits_for("1.log", "/no/such/program: there is no such program");
    cluster.follows(1, 1);
    cluster.end(1);
}

/// With a protocol that has leases and requests: another node leads instead.
#[test]
fn a_leader_that_cannot_prepare_itself_steps_down() {
    let mut cluster = Cluster::running(3, "quorum", "");
    let retry = "[hooks]\nretry = \"1m\"\n";
    cluster.configure(&format!("{retry}before_leading = [\"/bin/false\"]\n"));
    cluster.found(3);
    cluster.found(2);
    cluster.waits_for("3.log", "the hook failed");
    cluster.waits_for("2.log", "the hook failed");
    // Both fail, and wait for a minute. A third that has nothing to prepare leads.
    cluster.configure(retry);
    cluster.found(1);
    cluster.wait_for_leader(1);
}

const TELL_EPOCHS: &str = "\
echo \"$1 node=$BELLWETHER_NODE epoch=$BELLWETHER_EPOCH $BELLWETHER_OLD_ROLE>$BELLWETHER_ROLE \\
leader=$BELLWETHER_OLD_LEADER>$BELLWETHER_LEADER $BELLWETHER_REASON\" >> told";

/// With a protocol that has epochs: both scripts are told which it is, which node led before, and
/// why the next one leads.
#[test]
fn scripts_are_told_the_epoch_the_old_and_the_new_leader_and_the_reason() {
    let mut cluster = Cluster::running(3, "quorum", "");
    cluster.hook(&[("before_leading", TELL_EPOCHS), ("on_change", TELL_EPOCHS)], "");
    cluster.start_all(1..=3);
    let old = cluster.wait_for_any_leader();
    let first = cluster.epoch(old);
    let prepares = format!("before_leading node={old} epoch={first} follower>leader leader=>{old}");
    cluster.waits_for("told", &format!("{prepares} granted\n"));
    cluster.tells(old, &format!("epoch={first} waiting>leader leader=>{old} granted"));

    cluster.take(old).kill();
    let new = cluster.wait_for_any_leader();
    let (second, other) = (cluster.epoch(new), 6 - old - new);
    assert!(second > first);
    cluster.tells(new, &format!("epoch= follower>follower leader={old}> promise_over"));
    let prepares = format!("before_leading node={new} epoch={second} follower>leader");
    cluster.waits_for("told", &format!("{prepares} leader={old}>{new} granted\n"));
    cluster.tells(new, &format!("epoch={second} waiting>leader leader=>{new} granted"));
    let follows = format!("epoch={second} follower>follower leader=>{new} leader_heard");
    cluster.tells(other, &follows);
}

/// How long elections take: so little that there are many in a second.
const FAST: &str = "\
[quorum]
round = \"20ms\"
lease = \"100ms\"
promise = \"120ms\"
election = \"100ms\"
coordinator = \"200ms\"
backoff = \"40ms\"
skew = \"15ms\"
";

/// Alone of three: it looks for a leader again and again, and tells that once, with the cause.
#[test]
fn a_node_without_a_majority_runs_its_script_and_logs_for_no_attempt() {
    let mut cluster = Cluster::running(3, "quorum", FAST);
    cluster.hook(&[("on_change", TELL)], "");
    cluster.found(1);
    cluster.wait_for(1, "has tried often, and says why", |status| {
        status["counters"]["attempts"].as_u64() > Some(30) && status["problem"].is_string()
    });
    cluster.waits_for("1.log", "no leader for");
    cluster.end(1);
    let (told, log) = (cluster.text_of("told"), cluster.log_of("1"));
    let lines: Vec<_> = told.lines().collect();
    let [started, left] = lines[..] else { panic!("{told}") };
    assert!(started.starts_with("on_change 1 not_started>follower"), "{told}");
    assert!(left.starts_with("on_change 2 follower>not_started"), "{told}");
    assert_eq!(log.matches(" was=").count(), 1, "{log}");
    let cause: Vec<_> = log.lines().filter(|line| line.contains("no leader for")).collect();
    let [cause] = cause[..] else { panic!("{log}") };
    assert!(cause.contains("WARN") && cause.contains("1 of 3 voters"), "{cause}");
    for other in [2, 3] {
        let port = cluster.ports[&other];
        let refused = format!("node {other} (127.0.0.1:{port}): Connection refused");
        assert!(cause.contains(&refused), "{cause}");
    }
}

/// Succeeds while there is a file for the node.
pub(super) const FILE: &str = "test -e $0/fit-$BELLWETHER_NODE || { echo no file >&2; exit 3; }";

/// Often enough for a test, and with time enough for a machine that is busy.
pub(super) const OFTEN: &str = "interval = \"2s\"\ntimeout = \"2s\"\nrise = 2\nfall = 2\n";

/// What a status says is wrong with the node.
fn problem(status: &Value) -> &str {
    status["problem"].as_str().unwrap_or_default()
}

#[test]
fn a_leader_whose_check_fails_makes_way_and_is_fit_again_once_it_succeeds() {
    let mut cluster = Cluster::running(3, "quorum", "");
    cluster.check(FILE, OFTEN);
    (1..=3).for_each(|node| cluster.set_fit(node, true));
    cluster.start_all(1..=3);
    let old = cluster.wait_for_any_leader();
    cluster.set_fit(old, false);
    let other = |status: &Value| status["leader"].as_u64().is_some_and(|id| id != u64::from(old));
    cluster.wait_for(old % 3 + 1, "another leads", other);
    let unfit = "not fit to lead: the check failed: exit status: 3: no file";
    cluster.wait_for(old, "it is not fit", |status| problem(status).contains(unfit));
    // Further failures are no news.
    sleep(Duration::from_secs(5));
    let log = || cluster.log_of(&old.to_string());
    let times = |part: &str| log().matches(part).count();
    assert_eq!(times("not fit to lead: the check failed"), 1, "{}", log());
    assert_eq!(times("fit to lead: the check succeeds"), 1, "{}", log());
    assert!(log().contains("reason=\"unfit\""), "{}", log());

    cluster.set_fit(old, true);
    cluster.wait_for(old, "it is fit", |status| status["problem"].is_null());
    let again = || times("fit to lead: the check succeeds") == 2;
    wait_until("it says so once more", again, log);
    // No other is fit: it leads again.
    (1..=3).filter(|&node| node != old).for_each(|node| cluster.set_fit(node, false));
    cluster.wait_for_leader(old);
}

#[test]
fn a_node_is_not_fit_before_its_check_has_succeeded() {
    let waits = "until test -e $0/fit-$BELLWETHER_NODE; do sleep 0.05; done";
    let mut cluster = Cluster::running(2, "quorum", "");
    cluster.check(waits, "interval = \"1m\"\ntimeout = \"1m\"\n");
    cluster.start_all(1..=2);
    let unknown = |status: &Value| problem(status).contains("has not succeeded yet");
    (1..=2).for_each(|node| cluster.wait_for(node, "nothing is known", unknown));
    cluster.set_fit(1, true);
    // Without checks, the higher one would lead.
    cluster.wait_for_leader(1);
    cluster.wait_for(2, "nothing is known", unknown);
    cluster.set_fit(2, true);
    cluster.wait_for(2, "the first success is enough", |status| status["problem"].is_null());
}

#[test]
fn a_check_that_takes_too_long_has_failed_and_is_killed_with_all_that_it_has_started() {
    let hangs = "sleep 60 & echo $! > $0/started-$BELLWETHER_NODE; echo hangs >&2; sleep 60";
    let mut cluster = Cluster::running(2, "quorum", "");
    cluster.check(hangs, "interval = \"1m\"\ntimeout = \"3s\"\n");
    cluster.start_all(1..=2);
    let part = "not fit to lead: the check did not end within 3s, and was killed: hangs";
    cluster.logs_of("1", &[part]);
    let started = cluster.text_of("started-1").trim().parse().expect("a number");
    wait_until("it is killed", || !is_alive(started), String::new);
    let status = cluster.status(1).expect("it answers");
    assert_eq!(status["leader"], Value::Null, "no node is fit");
}

#[test]
fn a_check_that_cannot_run_has_failed() {
    let mut cluster = Cluster::running(2, "quorum", "");
    cluster.configure("[health]\ncheck = [\"/no/such/check\"]\n");
    cluster.start(1);
    let part = "the check cannot run: /no/such/check: there is no such program";
    cluster.logs_of("1", &[part]);
}
