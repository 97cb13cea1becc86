//! The daemon as a service: what it tells its service manager, and what SIGHUP changes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::{Cluster, LIMIT, Process, Signal, keys, wait_until};

/// A service manager that listens, and a node that tells it how it is.
fn managed(cluster: &Cluster, command: &mut Command) -> (UnixDatagram, Process) {
    let path = cluster.folder().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(LIMIT)).expect("a limit");
    (socket, Process::start(command.env("NOTIFY_SOCKET", path)))
}

/// Reads notices until one has this line.
fn told(socket: &UnixDatagram, line: &str) {
    let mut buffer = [0; 4096];
    let mut heard = Vec::new();
    let start = Instant::now();
    while !heard.iter().any(|notice: &String| notice.lines().any(|told| told == line)) {
        let length = socket.recv(&mut buffer);
        let length = length.unwrap_or_else(|error| panic!("{error}: no `{line}` in {heard:?}"));
        heard.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        assert!(start.elapsed() < LIMIT, "no `{line}` in {heard:?}");
    }
}

#[test]
fn a_service_manager_is_told_of_the_start_the_leader_a_reload_and_the_end() {
    let cluster = Cluster::new(2);
    let (socket, mut process) = managed(&cluster, &mut cluster.command("run", 1));
    told(&socket, "READY=1");
    told(&socket, "STATUS=node 1: leads");
    process.send(Signal::HUP);
    told(&socket, "RELOADING=1");
    told(&socket, "READY=1");
    process.ask_to_end();
    told(&socket, "STOPPING=1");
    assert_eq!(process.ended().code(), Some(0));
}

/// Every half of the time; and not while the process stands still.
#[test]
fn a_watchdog_hears_of_the_loop_around_the_node() {
    let cluster = Cluster::new(2);
    let mut command = cluster.command("run", 1);
    let (socket, mut process) = managed(&cluster, command.env("WATCHDOG_USEC", "200000"));
    told(&socket, "READY=1");
    for _ in 0..5 {
        told(&socket, "WATCHDOG=1");
    }
    process.send(Signal::STOP);
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a limit");
    while socket.recv(&mut [0; 4096]).is_ok() {}
    socket.set_read_timeout(Some(LIMIT)).expect("a limit");
    process.send(Signal::CONT);
    told(&socket, "WATCHDOG=1");
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
}

/// `exec` says the same, and what it runs cannot speak for it.
#[test]
fn a_service_manager_hears_of_a_command_that_only_the_leader_runs() {
    let cluster = Cluster::running(2, "quorum", "");
    let mut command = cluster.command("exec", 2);
    // SIGHUP is forwarded, and ends no command that ignores it.
    let script = "trap '' HUP; env > \"$0.new\"; mv \"$0.new\" \"$0\"; exec sleep 100";
    command.args(["--", "sh", "-c", script]);
    command.arg(cluster.path("environment")).env("WATCHDOG_USEC", "200000");
    let (socket, mut process) = managed(&cluster, &mut command);
    told(&socket, "READY=1");
    // The other votes, and does not run before it.
    let _other = cluster.run("1", 1, &["--set", "skew=20s"]);
    told(&socket, "STATUS=node 2: leads");
    let environment = || cluster.text_of("environment");
    wait_until("the command runs", || !environment().is_empty(), || cluster.log_of("1"));
    let environment = environment();
    for kept in ["NOTIFY_SOCKET", "WATCHDOG_USEC"] {
        assert!(!environment.contains(kept), "{environment}");
    }
    told(&socket, "WATCHDOG=1");
    process.send(Signal::HUP);
    told(&socket, "RELOADING=1");
    told(&socket, "READY=1");
    process.ask_to_end();
    told(&socket, "STOPPING=1");
    assert!(process.ended().code().is_some());
}

/// The first signal waits for a script that does not end.
#[test]
fn a_second_signal_ends_a_node_at_once() {
    let cluster = Cluster::new(2);
    cluster.configure("[hooks]\non_change = [\"sleep\", \"100\"]\ntimeout = \"100s\"\n");
    for (signal, status) in [(Signal::TERM, 128 + 15), (Signal::INT, 128 + 2)] {
        let log = &status.to_string();
        let mut process = cluster.run(log, 1, &[]);
        cluster.follows(1, 1);
        process.ask_to_end();
        cluster.logs_of(log, &["leaving"]);
        process.send(signal);
        assert_eq!(process.ended().code(), Some(status), "{}", cluster.log_of(log));
        assert!(cluster.log_of(log).contains("asked to end again"));
    }
}

/// A file on a server that is gone does not answer, whatever is in it.
#[test]
fn a_node_ends_although_what_it_reads_again_does_not_answer() {
    for reads_the_secret in [false, true] {
        let folder = tempfile::tempdir().expect("a directory");
        let secret = folder.path().join("secret");
        keys(&["secret", secret.to_str().expect("plain text")]);
        let file = secret.display();
        let section = format!("[security]\nmode = \"secret\"\nsecret_file = \"{file}\"\n");
        let cluster = Cluster::secured(2, &section);
        let mut process = cluster.run("1", 1, &[]);
        cluster.follows(1, 1);
        let hangs = if reads_the_secret { secret } else { cluster.config() };
        cluster.replace_by_pipe(&hangs);
        process.send(Signal::HUP);
        cluster.logs_of("1", &["no answer within"]);
        process.ask_to_end();
        assert_eq!(process.ended().code(), Some(0), "{}", cluster.log_of("1"));
        assert!(!cluster.log_of("1").contains("was read again"), "{}", cluster.log_of("1"));
    }
}

/// A socket that no process reads, or that is gone, is no reason not to elect.
#[test]
fn a_service_manager_that_is_gone_disturbs_nothing() {
    let mut cluster = Cluster::new(2);
    let mut command = cluster.command("run", 1);
    command.env("NOTIFY_SOCKET", cluster.path("nowhere"));
    let mut process = Process::start(&mut command);
    cluster.follows(1, 1);
    process.ask_to_end();
    assert_eq!(process.ended().code(), Some(0));
    cluster.start(1);
    cluster.wait_for_leader(1);
}

#[test]
fn the_level_of_the_log_changes_while_the_node_runs() {
    let mut cluster = Cluster::new(2).led(1..=1);
    cluster.configure("[log]\nlevel = \"info,bellwether::transport=debug\"\n");
    cluster.send(1, Signal::HUP);
    cluster.logs_of("1", &["was read again", "log.level"]);
    cluster.configure("[log]\nlevel = \"error,bellwether::reload=info\"\n");
    cluster.send(1, Signal::HUP);
    let again = || cluster.log_of("1").matches("was read again").count() == 2;
    wait_until("it is read once more", again, || cluster.log_of("1"));
    cluster.end(1);
    assert!(!cluster.log_of("1").contains("leaving"), "{}", cluster.log_of("1"));
}

/// The targets of the lines for debugging in a log.
fn debugs(log: &str) -> BTreeSet<String> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let debug = lines.filter(|line| line["level"] == "DEBUG");
    debug.filter_map(|line| Some(line["target"].as_str()?.to_owned())).collect()
}

/// What is logged of each module is what its own level says, before and after.
#[test]
fn levels_of_modules_change_while_the_node_runs() {
    let mut cluster = Cluster::new(2);
    let with = |cluster: &Cluster, level: &str| {
        let hook = "[hooks]\non_change = [\"true\"]\n";
        cluster.configure(&format!("{hook}[log]\nformat = \"json\"\nlevel = \"{level}\"\n"));
    };
    with(&cluster, "info,bellwether::transport=debug");
    cluster.start(1);
    cluster.follows(1, 1);
    cluster.logs_of("1", &["cannot reach peer"]);
    std::thread::sleep(Duration::from_millis(300));
    let log = cluster.log_of("1");
    let all = debugs(&log);
    assert!(!all.is_empty() && all.iter().all(|name| name.contains("::transport")), "{log}");

    with(&cluster, "debug,bellwether::transport=info");
    cluster.send(1, Signal::HUP);
    cluster.logs_of("1", &["was read again"]);
    let place = cluster.log_of("1").find("was read again").expect("it is there");
    // Its hook runs, which is logged for debugging, and so is the connection.
    cluster.start(2);
    cluster.follows(1, 2);
    let rest = || cluster.log_of("1")[place..].to_owned();
    wait_until("hooks are logged", || rest().contains("the hook succeeded"), rest);
    let rest = rest();
    let all = debugs(&rest);
    assert!(all.contains("bellwether::hooks"), "{rest}");
    assert!(!all.iter().any(|name| name.contains("::transport")), "{rest}");
    cluster.end(1);
}

#[test]
fn a_configuration_that_cannot_be_used_changes_nothing() {
    let mut cluster = Cluster::new(2).led(1..=1);
    let before = cluster.text("test");
    let another = cluster.text("another").replace("watch = \"1s\"", "watch = \"2s\"");
    for (text, more, complaint) in [
        (&before, "[log]\nlevl = \"error\"\n", "the nearest is `level`"),
        (&before, "[log]\nlevel = \"loud\"\n", "unknown level `loud`"),
        (
            &another,
            "[log]\nlevel = \"error\"\n",
            "`bully.watch`, `cluster` cannot change while the node runs",
        ),
    ] {
        cluster.write(&format!("{text}{more}"));
        cluster.send(1, Signal::HUP);
        cluster.logs_of("1", &[complaint]);
    }
    fs::remove_file(cluster.config()).expect("it is there");
    cluster.send(1, Signal::HUP);
    cluster.logs_of("1", &["cannot read the configuration"]);
    cluster.end(1);
    cluster.logs_of("1", &["leaving"]);
}
