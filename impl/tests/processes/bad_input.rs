//! For everything that is wrong there is one clear message with the remedy, the right exit status,
//! and no panic; and a node that runs goes on running.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use super::common::{Cluster, LIMIT, PROGRAM, bellwether, free_port, wait_until};
use assert_cmd::assert::OutputAssertExt;
use bellwether_docs_runner::script::run_scripts;
use predicates::prelude::*;
use predicates::str::contains;

/// Runs the command, and expects this exit status and all of these parts in its one message.
pub(crate) fn refuses(arguments: &[&str], status: i32, parts: &[&str]) {
    let mut assertion = bellwether().args(arguments).assert().code(status);
    assertion = assertion.stdout("").stderr(contains("panicked").not());
    for &part in parts {
        assertion = assertion.stderr(contains(part));
    }
    let text = String::from_utf8_lossy(&assertion.get_output().stderr).into_owned();
    assert_eq!(text.matches("error: ").count(), 1, "one message, not several: {text}");
}

/// `UPDATE=1 cargo test -p bellwether scripts` writes anew what is printed.
#[test]
fn the_scripts_tell_what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/processes/lines");
    run_scripts(&folder, bellwether);
}

/// Waits for all of `parts` in a log.
pub(crate) fn logs(cluster: &Cluster, name: &str, parts: &[&str]) {
    let look = || parts.iter().all(|part| cluster.log_of(name).contains(part));
    wait_until(&format!("{parts:?} in the log of {name}"), look, || cluster.log_of(name));
    assert!(!cluster.log_of(name).contains("panicked"), "{}", cluster.log_of(name));
}

#[test]
fn configurations_that_cannot_be_are_refused() {
    let cluster = Cluster::new(3);
    let path = cluster.config();
    let file = path.to_str().expect("plain text");
    let run = |more: &[&str], parts: &[&str]| {
        refuses(&[&["run", "--config", file][..], more].concat(), 2, parts);
    };
    run(&[], &["no node id", "--node", "BELLWETHER_NODE"]);
    run(&["--node", "0"], &["`0` is not a node id", "1 to 65535"]);
    run(&["--node", "99"], &["node 99 is not among the members (1, 2, 3)"]);
    run(&["--node", "x"], &["`x` is not a node id"]);
    run(&["--node", "1", "--set", "watch=100ms"], &["bully.heartbeat (50ms)", "try 20ms"]);
    run(&["--node", "1", "--set", "election=2s"], &["bully.coordinator (800ms)", "try 6s"]);
    run(&["--node", "1", "--set", "election=0s"], &["bully.election is 0ns", "more than 0s"]);
    run(&["--node", "1", "--set", "watch=soon"], &["watch=soon", "as in 300ms or 2s"]);
    run(&["--node", "1", "--set", "wach=1s"], &["unknown key `wach` in [bully]", "is `watch`"]);
    run(&["--node", "1", "--set", "watch"], &["--set", "KEY=VALUE"]);
    run(&["--node", "1", "--store"], &["unknown key `store` in [bully]"]);
    run(&["--node", "1", "--protocol", "buly"], &["unknown protocol `buly`", "is `bully`"]);
    run(&["--node", "1", "--protocol", "lease"], &["needs a store", "under [lease]", "--store"]);
    run(&["--node", "1", "--log-level", "loud"], &["--log-level", "debug"]);
    run(&["--node", "1", "--listen", "0.0.0.0:1"], &["0.0.0.0:1", "[security]", "allow_plain"]);
    run(&["--node", "1", "--security", "secrt"], &["unknown mode `secrt`", "is `secret`"]);
    run(&["--node", "1", "--security", "secret"], &["`secret_file`", "--secret-file", "_FILE"]);
    let missing = ["--node", "1", "--security", "secret", "--secret-file", "/no/secret"];
    run(&missing, &["/no/secret", "No such file"]);
    run(&["--node", "1", "--listen", "nowhere"], &["`nowhere` is not an address", "HOST:PORT"]);
    run(&["--node", "1", "--network-timeout", "0s"], &["network.timeout is 0ns", "at most 1h"]);
    run(&["--node", "1", "--network-timeout", "soon"], &["--network-timeout", "as in 300ms"]);
    run(&["--node", "1", "--suspect-refused", "perhaps"], &["--suspect-refused", "true, false"]);
    let second =
        [&missing[..4], &["--secret-file", file, "--second-secret-file", "/no/2"]].concat();
    run(&second, &[file, "chmod 600"]);
    let encrypted = ["--node", "1", "--http", "127.0.0.1:1", "--http-certificate-file", file];
    run(&[&encrypted[..], &["--http-key-file", "/no/key"]].concat(), &[file, "no certificate"]);
    refuses(&["run", "--config", "/no/such/file"], 2, &["/no/such/file", "No such file"]);
    refuses(&["check-config", "/no/such/file"], 2, &["/no/such/file", "No such file"]);
    refuses(&["run"], 2, &["--config"]);
    refuses(&["status"], 2, &["--config FILE", "BELLWETHER_CONFIG", "--help"]);
    refuses(&["completions", "abacus"], 2, &["abacus", "bash"]);

    let mut text = cluster.text("test");
    text.push_str("speed = \"1s\"\n");
    std::fs::write(&path, &text).expect("writable");
    run(&["--node", "1"], &["unknown key `speed` in [bully]", "line ", "`heartbeat`"]);
    std::fs::write(&path, cluster.text("test") + "[security]\nmod = \"tls\"").expect("writable");
    run(&["--node", "1"], &["unknown key `mod` in [security]", "line ", "is `mode`"]);
    let network = cluster.text("test") + "[network]\nsuspect_refused = \"no\"";
    std::fs::write(&path, network).expect("writable");
    run(&["--node", "1"], &["line ", "suspect_refused", "boolean"]);
    let old = cluster.text("test").replace("[bully]", "[timing]");
    std::fs::write(&path, old).expect("writable");
    run(&["--node", "1"], &["line ", "[timing]", "one of [bully], "]);
    let twice = cluster.text("test").replace("[members]", "[members]\n2 = \"127.0.0.1:1\"");
    std::fs::write(&path, twice).expect("writable");
    run(&["--node", "1"], &["line ", "`2 = \"127.0.0.1:", "give each its own id"]);
}

#[test]
fn flags_count_more_than_the_environment_and_that_more_than_the_file() {
    let cluster = Cluster::new(3);
    let check = |more: &[&str]| {
        let mut command = bellwether();
        command.arg("check-config").arg(cluster.config()).args(more);
        command.env("BELLWETHER_NODE", "2").env("BELLWETHER_SET", "watch=5s");
        command.assert().success()
    };
    check(&[])
        .stdout(contains("node = 2"))
        .stdout(contains("watch = \"5s\""))
        .stdout(contains("heartbeat = \"50ms\""));
    check(&["--node", "3", "--set", "watch=6s"])
        .stdout(contains("node = 3"))
        .stdout(contains("watch = \"6s\""))
        .stderr(contains("TWO NODES CAN LEAD AT THE SAME TIME with the protocol bully"));
    let mut command = bellwether();
    let quorum = ["--node", "1", "--protocol", "quorum"];
    command.arg("check-config").arg(cluster.config()).args(quorum);
    command.assert().success().stderr("").stdout(contains("preemption = \"never\""));
}

/// What `check-config` prints of this file, with these further words and variables.
fn explained(file: &Path, more: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = bellwether();
    command.arg("check-config").arg(file).args(more).envs(variables.iter().copied());
    let assertion = command.assert().success();
    String::from_utf8(assertion.get_output().stdout.clone()).expect("text")
}

#[test]
fn check_config_says_where_each_value_is_from_and_what_had_to_fit_together() {
    let cluster = Cluster::running(3, "quorum", "[quorum]\nlease = \"2s\"\n");
    let file = cluster.config();
    let text = fs::read_to_string(&file).expect("ours");
    let flags = ["--node", "2", "--set", "promise=4s,skew=50ms"];
    let variables = [("BELLWETHER_HTTP", "127.0.0.1:1"), ("BELLWETHER_NODE", "1")];
    let told = explained(&file, &flags, &variables);
    let source = |value: &str| {
        let line = told.lines().find(|line| line.starts_with(value));
        let line = line.unwrap_or_else(|| panic!("{value} is missing in: {told}"));
        line.split_once("# ").map(|(_, source)| source.to_owned()).expect("a source")
    };
    let line = |key: &str| {
        let at = text.lines().position(|line| line.starts_with(key)).expect("it is there");
        format!("line {}", at + 1)
    };
    for (value, from) in [
        ("cluster = \"test\"", line("cluster")),
        ("node = 2", "--node".to_owned()),
        ("3 = ", line("3 = ")),
        ("round = \"200ms\"", "default".to_owned()),
        ("lease = \"2s\"", line("lease")),
        ("promise = \"4s\"", "--set".to_owned()),
        ("listen = \"127.0.0.1:1\"", "BELLWETHER_HTTP".to_owned()),
        ("directory = ", line("directory")),
        ("level = \"info\"", "default".to_owned()),
    ] {
        assert_eq!(source(value), from, "{value}");
    }
    for part in [
        "2 * round < lease: 400ms < 2s",
        "promise >= lease * (1 + r) / (1 - r) with r = 10000 / 1000000: 4s >= 2s 40ms 404us 41ns",
        "coordinator > election: 900ms > 300ms",
    ] {
        assert!(told.contains(part), "{part} is missing in: {told}");
    }
    // It is a configuration, and says the same of itself.
    let again = cluster.folder().join("again.toml");
    fs::write(&again, &told).expect("ours");
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split("# ").next().unwrap_or_default().to_owned()).collect()
    };
    let read_back = explained(&again, &[], &[]);
    assert_eq!(values(&read_back), values(&told));
    assert!(!read_back.contains("# default"), "{read_back}");
}

#[test]
fn every_protocol_has_its_inequalities() {
    let cluster = Cluster::new(3);
    for (protocol, more, parts) in [
        ("bully", &[][..], &["coordinator > election: 800ms > 300ms", "< watch: 100ms < 1s"][..]),
        ("garcia-molina", &[], &["silence > call: 1s > 200ms", "silence > check: 1s > 250ms"]),
        ("invitation", &[], &["accept > answer: 450ms > 300ms"]),
        ("chang-roberts", &[], &["lap > 3 * hop: 1s > 60ms", "2 * heartbeat < watch: 400ms < 1s"]),
        ("list-ring", &[], &["heartbeat > 3 * hop: 200ms > 60ms"]),
        ("lease", &["--set", "store=1"], &["hold < keep: 10s < 15s", "2 * renew <= hold: 4s <="]),
    ] {
        let flags = [&["--node", "2", "--protocol", protocol], more].concat();
        let told = explained(&cluster.config(), &flags, &[]);
        for part in parts {
            assert!(told.contains(part), "{part} is missing in: {told}");
        }
    }
}

#[test]
fn completions_are_printed() {
    let complete = |words: &[&str]| bellwether_docs_runner::completed(PROGRAM.as_ref(), words);
    let Some(commands) = complete(&["check"]) else { return };
    assert_eq!(commands, ["check-config"]);
    for (words, offered) in [
        (&["run", "--protocol", "gar"][..], "garcia-molina"),
        (&["run", "--set", "lea"], "lease="),
        (&["check-config", "--protocol", "bully", "--set", "heart"], "heartbeat="),
        (&["keys", "cl"], "client"),
    ] {
        assert_eq!(complete(words), Some(vec![offered.to_owned()]), "{words:?}");
    }
}

#[test]
fn a_port_in_use_is_told_with_its_address() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    let path = cluster.config();
    let address = format!("127.0.0.1:{}", cluster.ports[&2]);
    let arguments = ["run", "--config", path.to_str().expect("plain"), "--node", "2"];
    bellwether()
        .args(arguments)
        .assert()
        .code(1)
        .stderr(contains(format!("cannot listen on {address}: Address already in use")))
        .stderr(contains("is another node running there?").and(contains("--listen")))
        .stderr(contains("panicked").not());
    cluster.wait_for_leader(2);
}

#[test]
fn two_running_processes_with_one_id_are_told_apart() {
    let mut cluster = Cluster::new(3);
    (1..=3).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(3);
    cluster.wait_for(1, "is connected to all", |status| {
        let members = status["members"].as_array().expect("a list");
        members.iter().all(|member| member["received"].as_u64() > Some(0))
    });
    let listen = format!("127.0.0.1:{}", free_port());
    let _impostor = cluster.run("impostor", 2, &["--listen", &listen]);
    let remedy = ["two nodes with one id", "WARN", "stop one of them"];
    logs(&cluster, "1", &remedy);
    logs(&cluster, "impostor", &remedy);
    cluster.wait_for_leader(3);
    let refused =
        |status: &serde_json::Value| status["counters"]["refused_handshakes"].as_u64() > Some(0);
    cluster.wait_for(1, "counts the refusal", refused);
}

#[test]
fn a_process_that_calls_a_node_with_its_own_id_is_refused() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    // A configuration that has node 2 where others have node 1.
    let (one, two) = (cluster.ports[&1].to_string(), cluster.ports[&2].to_string());
    let swapped = cluster.text("test").replace(&one, "ONE").replace(&two, &one);
    std::fs::write(cluster.config(), swapped.replace("ONE", &two)).expect("writable");
    let _impostor = cluster.run("impostor", 2, &[]);
    let remedy = ["WARN", "two nodes with one id", "give one of them another `node`"];
    logs(&cluster, "impostor", &remedy);
    logs(&cluster, "2", &remedy);
}

#[test]
fn a_node_of_another_cluster_is_refused_on_both_sides() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    std::fs::write(cluster.config(), cluster.text("other")).expect("writable");
    let _stranger = cluster.run("stranger", 1, &[]);
    let remedy = ["WARN", "cluster `", "give both", "[members]"];
    logs(&cluster, "stranger", &remedy);
    logs(&cluster, "2", &remedy);
    cluster.wait_for(1, "shows the refusal", |status| status["members"][0]["link"] == "refused");
    cluster.wait_for_leader(2);
}

#[test]
fn a_node_with_another_protocol_is_refused_on_both_sides() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    let _other = cluster.run("other", 1, &["--protocol", "chang-roberts"]);
    logs(&cluster, "other", &["WARN", "runs protocol `bully`", "the same `protocol`"]);
    logs(&cluster, "2", &["WARN", "does not run protocol `bully`", "the same `protocol`"]);
    cluster.wait_for_leader(2);
}

#[test]
fn a_node_with_other_members_is_refused_on_both_sides() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    let more = format!("[members]\n9 = \"127.0.0.1:{}\"\n", free_port());
    let text = cluster.text("test").replace("[members]\n", &more);
    std::fs::write(cluster.config(), text).expect("writable");
    let _other = cluster.run("1", 1, &[]);
    let remedy = ["WARN", "other members", "list the same [members] on every node"];
    logs(&cluster, "1", &remedy);
    logs(&cluster, "2", &remedy);
    cluster.wait_for_leader(2);
}

/// They elect, so that settings can be changed on one node after another; but not without a word.
#[test]
fn nodes_with_other_settings_are_told_apart() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    let _other = cluster.run("1", 1, &["--set", "heartbeat=60ms"]);
    let remedy = ["WARN", "is configured in another way", "give every node the same [bully]"];
    logs(&cluster, "1", &remedy);
    logs(&cluster, "2", &remedy);
    cluster.wait_for(2, "shows the difference", |status| {
        let member = &status["members"][0];
        let problem = member["problem"].as_str().unwrap_or_default();
        member["link"] == "connected" && problem.contains("the same [bully]")
    });
    cluster.wait_for(1, "follows", |status| status["leader"] == 2);
}

#[test]
fn a_node_that_is_no_member_is_refused_on_both_sides() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    let more = format!("[members]\n9 = \"127.0.0.1:{}\"\n", free_port());
    let text = cluster.text("test").replace("[members]\n", &more);
    std::fs::write(cluster.config(), text).expect("writable");
    let _other = cluster.run("9", 9, &[]);
    logs(&cluster, "9", &["WARN", "node 9 is no member there", "`bellwether members add`"]);
    logs(&cluster, "2", &["WARN", "node 9 is no member here", "`bellwether members add`"]);
    cluster.wait_for_leader(2);
}

#[test]
fn garbage_on_the_port_ends_that_connection_and_nothing_else() {
    let mut cluster = Cluster::new(2);
    (1..=2).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(2);
    let garbage: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[0xff; 1000],
        b"\0\0\0\x03abc",
        b"\0\0\0\x08BLWR\0\x01\xff\xff",
        b"\0\0\0\x08BLWR\0\x63\0\x63",
    ];
    for bytes in garbage {
        let mut stream = TcpStream::connect(("127.0.0.1", cluster.ports[&2])).expect("listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream.write_all(bytes).expect("listens");
        // The node hangs up, at once rather than at the end of the time it gives to handshakes.
        let end = stream.read_to_end(&mut Vec::new());
        assert!(end.is_ok() || end.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    }
    logs(&cluster, "2", &["what speaks there is not bellwether", "version 99"]);
    cluster.wait_for(2, "counts them", |status| status["counters"]["bad_frames"] == 5);
    cluster.wait_for_leader(2);
}

#[test]
fn a_port_where_no_node_listens_gives_no_status() {
    // Not a port that the system chose: it might choose the same one for another meanwhile.
    let address = format!("127.0.0.1:{}", free_port());
    refuses(
        &["status", "--address", &address],
        3,
        &["no process answers at", "is the node running?"],
    );
    let listener = std::net::TcpListener::bind(&address).expect("free");
    refuses(
        &["status", "--address", &address, "--timeout", "200ms"],
        3,
        &["no answer from", "within 200ms", "is it a bellwether node?"],
    );
    drop(listener);
}

#[test]
fn a_misspelt_variable_is_told_and_stops_nothing() {
    let cluster = Cluster::new(2);
    let mut command = bellwether();
    command.arg("check-config").arg(cluster.config()).args(["--node", "1"]);
    let output = command.env("BELLWETHER_LOG_LEVLE", "debug").output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("did you mean 'BELLWETHER_LOG_LEVEL'?"), "{told}");
}

/// The names of files may be any bytes; everything else is text.
#[test]
fn what_is_no_text_is_refused() {
    let odd = OsStr::from_bytes(b"1\xff");
    let refused = |command: &mut Command, part: &str| {
        let says = contains(part).and(contains("panicked").not());
        command.assert().code(2).stdout("").stderr(says);
    };
    let run = ["run", "--config", "orders.toml"];
    refused(bellwether().args(run).arg("--node").arg(odd), "'1\u{fffd}' is not UTF-8");
    refused(bellwether().args(run).env("BELLWETHER_NODE", odd), "BELLWETHER_NODE is not UTF-8");
    refused(bellwether().arg(odd), "has no command");
    refused(bellwether().arg("run").arg("--config").arg(odd).args(["--node", "1"]), "cannot read");
}
