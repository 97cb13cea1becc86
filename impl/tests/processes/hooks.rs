//! What a node runs before it leads, and on each change.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::common::{Cluster, is_alive, wait_until};

/// Two nodes of which node 1 runs these scripts; node 2 is down, so the bully's node 1 leads.
struct Hooked {
    cluster: Cluster,
}

impl Hooked {
    /// `scripts` are keys of the section and what the script does; `more` is the rest of it.
    fn new(scripts: &[(&str, &str)], more: &str) -> Self {
        let hooked = Self { cluster: Cluster::new(2) };
        hooked.write(scripts, more);
        hooked
    }

    fn write(&self, scripts: &[(&str, &str)], more: &str) {
        let mut text = self.cluster.text("test") + "[hooks]\n";
        for (key, script) in scripts {
            let path = self.path(key);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writable");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("its own");
            text += &format!("{key} = [\"{}\", \"{}\"]\n", path.display(), key);
        }
        fs::write(self.cluster.config(), text + more).expect("writable");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.cluster.folder().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn waits_for(&self, name: &str, part: &str) {
        let look = || self.text(name).contains(part);
        let explain = || format!("{}\n{}", self.text(name), self.cluster.log_of("1"));
        wait_until(&format!("{name} has {part}"), look, explain);
    }
}

impl Hooked {
    fn epoch(&self, node: u16) -> u64 {
        let status = self.cluster.status(node).expect("it answers");
        status["epoch"].as_u64().expect("its protocol has epochs")
    }

    fn tells(&self, node: u16, line: &str) {
        self.waits_for("told", &format!("on_change node={node} {line}\n"));
    }
}

const TELL: &str = "\
cd \"$(dirname \"$0\")\"
echo \"$1 $BELLWETHER_SEQ $BELLWETHER_OLD_ROLE>$BELLWETHER_ROLE \\
leader=$BELLWETHER_OLD_LEADER>$BELLWETHER_LEADER $BELLWETHER_REASON\" >> told";

#[test]
fn every_change_is_told_once_and_in_order() {
    let hooked = Hooked::new(&[("on_change", TELL)], "");
    let mut process = hooked.cluster.run("1", 1, &[]);
    hooked.waits_for("told", ">leader");
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
    let told = hooked.text("told");
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
    let wait = "cd \"$(dirname \"$0\")\"; until [ -e go ]; do sleep 0.02; done; echo ready";
    let hooked = Hooked::new(&[("before_leading", wait), ("on_change", TELL)], "");
    let mut process = hooked.cluster.run("1", 1, &[]);
    hooked.waits_for("told", "candidate>waiting leader=> preparing");
    let status = hooked.cluster.status(1).expect("it answers");
    assert_eq!((&status["role"], &status["leader"]), (&"waiting".into(), &().into()));
    fs::write(hooked.path("go"), "").expect("writable");
    hooked.cluster.wait_for(1, "leads", |status| status["leader"] == 1);
    hooked.waits_for("1.log", "ready");
    hooked.waits_for("told", "waiting>leader leader=>1 unanswered");
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
}

#[test]
fn a_script_that_takes_too_long_is_killed_with_all_that_it_has_started() {
    let hang = "cd \"$(dirname \"$0\")\"; sleep 60 & echo \"$$ $!\" >> processes; sleep 60";
    let hooked = Hooked::new(&[("on_change", hang)], "timeout = \"1s\"\n");
    let mut process = hooked.cluster.run("1", 1, &[]);
    hooked.waits_for("1.log", "did not end within 1s, and was killed");
    // The election does not wait for it.
    hooked.cluster.wait_for(1, "leads", |status| status["leader"] == 1);
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
    let started = hooked.text("processes");
    assert!(started.contains(' '), "{}", hooked.cluster.log_of("1"));
    let lives = |id: &str| is_alive(id.parse().expect("a number"));
    wait_until("all are killed", || !started.split_whitespace().any(lives), || started.clone());
}

#[test]
fn a_program_that_is_not_there_or_fails_is_logged_and_the_node_does_not_lead() {
    for (script, complaint) in [
        ("exit 3", "the hook failed: exit status: 3"),
        ("echo no more room >&2; exit 1", "no more room"),
    ] {
        let hooked = Hooked::new(&[("before_leading", script)], "");
        let mut process = hooked.cluster.run("1", 1, &[]);
        hooked.waits_for("1.log", complaint);
        let status = hooked.cluster.status(1).expect("it answers");
        assert_eq!(status["role"], "waiting");
        process.ask_to_end();
        assert_eq!(process.ended().code(), Some(0));
    }
    let hooked = Hooked::new(&[], "on_change = [\"/no/such/program\"]\n");
    let mut process = hooked.cluster.run("1", 1, &[]);
    hooked.waits_for("1.log", "/no/such/program: there is no such program");
    hooked.cluster.wait_for(1, "leads", |status| status["leader"] == 1);
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
}

/// With a protocol that has leases and requests: another node leads instead.
#[test]
fn a_leader_that_cannot_prepare_itself_steps_down() {
    let mut hooked = Hooked { cluster: Cluster::running(3, "quorum", "[hooks]\nretry = \"1m\"\n") };
    let text = hooked.cluster.text("test");
    let fails = text.clone() + "before_leading = [\"/bin/false\"]\n";
    fs::write(hooked.cluster.config(), &fails).expect("writable");
    hooked.cluster.found(3);
    hooked.cluster.found(2);
    hooked.waits_for("3.log", "the hook failed");
    hooked.waits_for("2.log", "the hook failed");
    // Both fail, and wait for a minute. A third that has nothing to prepare leads.
    fs::write(hooked.cluster.config(), &text).expect("writable");
    hooked.cluster.found(1);
    hooked.cluster.wait_for_leader(1);
}

const TELL_EPOCHS: &str = "\
cd \"$(dirname \"$0\")\"
echo \"$1 node=$BELLWETHER_NODE epoch=$BELLWETHER_EPOCH $BELLWETHER_OLD_ROLE>$BELLWETHER_ROLE \\
leader=$BELLWETHER_OLD_LEADER>$BELLWETHER_LEADER $BELLWETHER_REASON\" >> told";

/// With a protocol that has epochs: both scripts are told which it is, which node led before, and
/// why the next one leads.
#[test]
fn scripts_are_told_the_epoch_the_old_and_the_new_leader_and_the_reason() {
    let mut hooked = Hooked { cluster: Cluster::running(3, "quorum", "") };
    hooked.write(&[("before_leading", TELL_EPOCHS), ("on_change", TELL_EPOCHS)], "");
    (1..=3).for_each(|node| hooked.cluster.start(node));
    let old = hooked.cluster.wait_for_any_leader();
    let first = hooked.epoch(old);
    let prepares = format!("before_leading node={old} epoch={first} follower>leader leader=>{old}");
    hooked.waits_for("told", &format!("{prepares} granted\n"));
    hooked.tells(old, &format!("epoch={first} waiting>leader leader=>{old} granted"));

    hooked.cluster.take(old).kill();
    let new = hooked.cluster.wait_for_any_leader();
    let (second, other) = (hooked.epoch(new), 6 - old - new);
    assert!(second > first);
    hooked.tells(new, &format!("epoch= follower>follower leader={old}> promise_over"));
    let prepares = format!("before_leading node={new} epoch={second} follower>leader");
    hooked.waits_for("told", &format!("{prepares} leader={old}>{new} granted\n"));
    hooked.tells(new, &format!("epoch={second} waiting>leader leader=>{new} granted"));
    let follows = format!("epoch={second} follower>follower leader=>{new} leader_heard");
    hooked.tells(other, &follows);
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
    let hooked = Hooked { cluster: Cluster::running(3, "quorum", FAST) };
    hooked.write(&[("on_change", TELL)], "");
    let mut process = hooked.cluster.run("1", 1, &["--new-cluster"]);
    hooked.cluster.wait_for(1, "has tried often, and says why", |status| {
        status["counters"]["attempts"].as_u64() > Some(30) && status["problem"].is_string()
    });
    hooked.waits_for("1.log", "no leader for");
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
    let (told, log) = (hooked.text("told"), hooked.cluster.log_of("1"));
    let lines: Vec<_> = told.lines().collect();
    let [started, left] = lines[..] else { panic!("{told}") };
    assert!(started.starts_with("on_change 1 not_started>follower"), "{told}");
    assert!(left.starts_with("on_change 2 follower>not_started"), "{told}");
    assert_eq!(log.matches("role changed").count(), 1, "{log}");
    let cause: Vec<_> = log.lines().filter(|line| line.contains("no leader")).collect();
    let [cause] = cause[..] else { panic!("{log}") };
    assert!(cause.contains("WARN") && cause.contains("1 of 3 voters"), "{cause}");
    for other in [2, 3] {
        let port = hooked.cluster.ports[&other];
        let refused = format!("node {other} (127.0.0.1:{port}): Connection refused");
        assert!(cause.contains(&refused), "{cause}");
    }
}
