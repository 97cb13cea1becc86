//! Processes that do not belong to the cluster: a node that is configured in another way is refused
//! with the remedy on both sides, and connections of others disturb nothing, however many there
//! are.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

use super::common::{Cluster, LIMIT, Signal, free_address};
use super::security::{certified_cluster, secret_cluster};

/// Starts a process beside node 2, which leads. Both logs must have what is said of that, and the
/// status of the one that is refused shows it.
fn is_refused(node: u16, more: &[&str], text: impl FnOnce(&Cluster) -> String, said: [&[&str]; 2]) {
    let cluster = Cluster::new(2).led(2..=2);
    cluster.write(&text(&cluster));
    let _other = cluster.run("other", node, more);
    for (name, parts) in ["other", "2"].into_iter().zip(said) {
        cluster.logs_of(name, &[&["WARN"][..], parts].concat());
    }
    cluster.wait_for(node, "shows the refusal", |status| {
        let mut members = status["members"].as_array().into_iter().flatten();
        members.any(|member| member["link"] == "refused")
    });
    cluster.configure("");
    cluster.wait_for_leader(2);
}

/// The configuration with one member more.
fn with_another(cluster: &Cluster) -> String {
    let more = format!("[members]\n9 = \"{}\"\n", free_address());
    cluster.text("test").replace("[members]\n", &more)
}

#[test]
fn a_process_that_calls_a_node_with_its_own_id_is_refused() {
    // A configuration that has node 2 where others have node 1.
    let swapped = |cluster: &Cluster| {
        let [one, two] = [1, 2].map(|node| cluster.ports[&node].to_string());
        cluster.text("test").replace(&one, "ONE").replace(&two, &one).replace("ONE", &two)
    };
    let remedy: &[&str] = &["two nodes with one id", "give one of them another `node`"];
    is_refused(2, &[], swapped, [remedy; 2]);
}

#[test]
fn a_node_of_another_cluster_is_refused_on_both_sides() {
    let remedy: &[&str] = &["cluster `", "give both", "[members]"];
    is_refused(1, &[], |cluster| cluster.text("other"), [remedy; 2]);
}

#[test]
fn a_node_with_another_protocol_is_refused_on_both_sides() {
    let own = &["runs protocol `bully`", "the same `protocol`"][..];
    let others = &["does not run protocol `bully`", "the same `protocol`"][..];
    let flags = ["--protocol", "chang-roberts"];
    is_refused(1, &flags, |cluster| cluster.text("test"), [own, others]);
}

#[test]
fn a_node_with_other_members_is_refused_on_both_sides() {
    let remedy: &[&str] = &["other members", "list the same [members] on every node"];
    is_refused(1, &[], with_another, [remedy; 2]);
}

#[test]
fn a_node_that_is_no_member_is_refused_on_both_sides() {
    let own = &["node 9 is no member there", "`bellwether members add`"][..];
    let others = &["node 9 is no member here", "`bellwether members add`"][..];
    is_refused(9, &[], with_another, [own, others]);
}

/// A second process at the port of another, and one at a port of its own.
#[test]
fn two_running_processes_with_one_id_are_told_apart() {
    let cluster = Cluster::new(3).led(1..=3);
    cluster.wait_for(1, "is connected to all", |status| {
        let members = status["members"].as_array().expect("a list");
        members.iter().all(|member| member["received"].as_u64() > Some(0))
    });
    let mut second = cluster.run("second", 2, &[]);
    assert_eq!(second.ended().code(), Some(1));
    let address = format!("cannot listen on 127.0.0.1:{}: Address already", cluster.ports[&2]);
    cluster.logs_of("second", &[&address, "is another node running there?", "--listen"]);

    let _impostor = cluster.run("impostor", 2, &["--listen", &free_address()]);
    let remedy = ["two nodes with one id", "WARN", "stop one of them"];
    cluster.logs_of("1", &remedy);
    cluster.logs_of("impostor", &remedy);
    cluster.wait_for_leader(3);
    let refused = |status: &Value| status["counters"]["refused_handshakes"].as_u64() > Some(0);
    cluster.wait_for(1, "counts the refusal", refused);
}

/// They elect, so that settings can be changed on one node after another; but not without a word.
#[test]
fn nodes_with_other_settings_are_told_apart() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    let _other = cluster.run("1", 1, &["--set", "heartbeat=60ms"]);
    let remedy = ["WARN", "is configured in another way", "give every node the same [bully]"];
    cluster.logs_of("1", &remedy);
    cluster.logs_of("2", &remedy);
    cluster.wait_for(2, "shows the difference", |status| {
        let member = &status["members"][0];
        let problem = member["problem"].as_str().unwrap_or_default();
        member["link"] == "connected" && problem.contains("the same [bully]")
    });
    cluster.follows(1, 2);
}

#[test]
fn garbage_on_the_port_ends_that_connection_and_nothing_else() {
    let cluster = Cluster::new(2).led(1..=2);
    let garbage: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        &[0xff; 1000],
        b"\0\0\0\x03abc",
        b"\0\0\0\x08BLWR\0\x02\xff\xff",
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
    cluster.logs_of("2", &["what speaks there is not bellwether", "version 99"]);
    cluster.wait_for(2, "counts them", |status| status["counters"]["bad_frames"] == 5);
    cluster.wait_for_leader(2);
}
/// How many say nothing.
const SILENT: usize = 1_000;

/// Lets this process have as many files as it may: each connection is one.
fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum.map_or(Some(4_096), |maximum| Some(maximum.min(4_096)));
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).expect("no more than the maximum");
}

/// Asks node 2 for its status for so long: it answers soon, or is late now and then on a machine
/// that has much to do.
fn answers(cluster: &Cluster, time: Duration) {
    let (until, mut soon, mut late) = (Instant::now() + time, 0, 0);
    while Instant::now() < until {
        let answered = cluster.ask(2, &["--json", "--timeout", "1s"]).status.success();
        (soon, late) = if answered { (soon + 1, late) } else { (soon, late + 1) };
    }
    assert!(late <= soon / 4, "{late} late, {soon} soon: {}", cluster.log_of("2"));
}

#[test]
fn a_thousand_silent_connections_and_a_port_scanner_disturb_nothing() {
    allow_many_files();
    let mut cluster = Cluster::new(3).led(1..=3);
    let before = cluster.changes([1, 2, 3]);
    let port = cluster.ports[&2];
    let connect = || TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let silent: Vec<_> = (0..SILENT).map(|_| connect()).collect();

    let done = Arc::new(AtomicBool::new(false));
    let scanner = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            while !done.load(Ordering::Relaxed) {
                // One that looks and goes, one that begins a greeting, and one that babbles.
                for bytes in [&b""[..], b"\0\0\0\x27BLWR", b"GET / HTTP/1.0\r\n\r\n"] {
                    let stream = TcpStream::connect(("127.0.0.1", port));
                    let _ = stream.and_then(|mut stream| stream.write_all(bytes));
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    });
    answers(&cluster, Duration::from_secs(3));
    assert_eq!(cluster.changes([1, 2, 3]), before, "not one change of role");
    cluster.logs_of("2", &["too many connections say nothing"]);

    // A member gets in as if there were none of them.
    cluster.take(1).kill();
    cluster.start(1);
    cluster.wait_for(2, "hears node 1", |status| status["members"][0]["link"] == "connected");
    cluster.wait_for_leader(3);
    done.store(true, Ordering::Relaxed);
    scanner.join().expect("no panic");
    drop(silent);
}

/// Three nodes, of which the lowest falls silent without a word, while a hundred handshakes a
/// second with node 2 begin with these bytes and go no further.
fn half_open_connections_disturb_nothing(cluster: Cluster, begins: &'static [&'static [u8]]) {
    allow_many_files();
    let mut cluster = cluster.led(1..=3);
    let before = cluster.changes([2, 3]);
    let one = cluster.take(1);
    one.send(Signal::STOP);
    let port = cluster.ports[&2];
    let begin = move |bytes: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.write_all(bytes).map(|()| stream)
    };
    let mut stuck: Vec<_> = (0..400).map(|i| begin(begins[i % begins.len()])).collect();
    let done = Arc::new(AtomicBool::new(false));
    let more = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            for bytes in begins.iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    return stuck.len();
                }
                stuck.push(begin(bytes));
                thread::sleep(Duration::from_millis(10));
            }
            unreachable!("they come again and again")
        }
    });
    answers(&cluster, Duration::from_secs(4));
    assert_eq!(cluster.changes([2, 3]), before, "not one change of role");
    one.send(Signal::CONT);
    done.store(true, Ordering::Relaxed);
    assert!(more.join().expect("no panic") > 450);
    cluster.follows(1, 3);
}

/// The length of a greeting, and what it begins with.
const GREETING: &[u8] = b"\0\0\0\x27BLWR\0\x01\x01";

/// A whole greeting: the node has proved itself, and waits for the proof of the other.
const GREETED: &[u8] = b"\0\0\0\x27BLWR\0\x01\x01................................";

/// The head of a TLS record, and the type of a ClientHello that does not follow.
const RECORD: &[u8] = &[22, 3, 1, 2, 0, 1];

#[test]
fn handshakes_with_a_secret_that_stop_half_way_disturb_nothing() {
    assert_eq!(GREETED.len(), 4 + 39);
    half_open_connections_disturb_nothing(secret_cluster(3), &[GREETING, GREETED, b"\0"]);
}

#[test]
fn handshakes_with_certificates_that_stop_half_way_disturb_nothing() {
    half_open_connections_disturb_nothing(certified_cluster(3).0, &[RECORD, &[22], GREETED]);
}

/// Nothing in this protocol keeps it from leading: it has no quorum. It says what is wrong.
#[test]
fn a_leader_that_all_others_refuse_says_so() {
    let cluster = Cluster::new(3).led(1..=3);
    let address = free_address();
    let _double = cluster.run("double", 3, &["--listen", &address]);
    let parts = ["WARN", "this node leads, and is refused", "two nodes with one id"];
    cluster.logs_of("double", &parts);
    let status = cluster.ask_at(&address);
    let problem = status["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("this node leads, and is refused"), "{status}");
    let leader = cluster.status(3).expect("it answers");
    assert!(leader["problem"].is_null(), "{leader}");
}

#[test]
fn a_leader_that_is_alone_says_so_and_when_it_is_not() {
    let mut cluster = Cluster::new(2);
    cluster.start(2);
    let alone = "this node leads, and can neither reach nor hear any other";
    cluster.logs_of("2", &[alone]);
    cluster.wait_for(2, "tells it", |status| status["problem"] == alone);
    cluster.start(1);
    cluster.logs_of("2", &["this node is no longer alone"]);
    cluster.wait_for(2, "tells it", |status| status["problem"].is_null());
}
