//! Connections of processes that are no members: however many there are, they disturb nothing.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::bad_input::logs;
use super::common::{Cluster, Signal, free_port};
use super::security::{certified_cluster, secret_cluster};

/// How many say nothing.
const SILENT: usize = 1_000;

/// Lets this process have as many files as it may: each connection is one.
fn allow_many_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum.map_or(Some(4_096), |maximum| Some(maximum.min(4_096)));
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).expect("no more than the maximum");
}

fn changes(cluster: &Cluster, node: u16) -> usize {
    cluster.log_of(&node.to_string()).matches("role changed").count()
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
    let mut cluster = Cluster::new(3);
    (1..=3).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(3);
    let before = [1, 2, 3].map(|node| changes(&cluster, node));
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
    assert_eq!([1, 2, 3].map(|node| changes(&cluster, node)), before, "not one change of role");
    logs(&cluster, "2", &["too many connections say nothing"]);

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
fn half_open_connections_disturb_nothing(mut cluster: Cluster, begins: &'static [&'static [u8]]) {
    allow_many_files();
    (1..=3).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(3);
    let before = [2, 3].map(|node| changes(&cluster, node));
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
    let now = [2, 3].map(|node| changes(&cluster, node));
    assert_eq!(now, before, "not one change of role");
    one.send(Signal::CONT);
    done.store(true, Ordering::Relaxed);
    assert!(more.join().expect("no panic") > 450);
    cluster.wait_for(1, "follows", |status| status["leader"] == 3);
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
    let mut cluster = Cluster::new(3);
    (1..=3).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(3);
    let address = format!("127.0.0.1:{}", free_port());
    let _double = cluster.run("double", 3, &["--listen", &address]);
    logs(&cluster, "double", &["WARN", "this node leads, and is refused", "two nodes with one id"]);
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
    logs(&cluster, "2", &[alone]);
    cluster.wait_for(2, "tells it", |status| status["problem"] == alone);
    cluster.start(1);
    logs(&cluster, "2", &["this node is no longer alone"]);
    cluster.wait_for(2, "tells it", |status| status["problem"].is_null());
}
