//! A node that vanishes without a word, as a machine does that loses its power, and starts again.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use super::common::{Cluster, free_port};

/// Where a member can be reached, whichever process it is: connections go on to a port that can
/// change. Those that there are stay as they are. Everything is late by the same time.
struct Way(Arc<AtomicU16>);

impl Way {
    fn open(port: u16, late: Duration) -> Self {
        let to = Arc::<AtomicU16>::default();
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a free port");
        let target = Arc::clone(&to);
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                let port = target.load(Ordering::Relaxed);
                let Ok(to) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                for (mut from, mut to) in [(&from, &to), (&to, &from)].map(|(a, b)| {
                    (a.try_clone().expect("a socket"), b.try_clone().expect("a socket"))
                }) {
                    thread::spawn(move || {
                        let _ = pass_on(&mut from, &mut to, late);
                        let _ = to.shutdown(std::net::Shutdown::Both);
                    });
                }
            }
        });
        Self(to)
    }

    fn leads_to(&self, port: u16) {
        self.0.store(port, Ordering::Relaxed);
    }
}

/// Passes on what comes, each part after this time.
fn pass_on(from: &mut TcpStream, to: &mut TcpStream, late: Duration) -> std::io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        let read = from.read(&mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        thread::sleep(late);
        to.write_all(&bytes[..read])?;
    }
}

/// The first process of node 2 is gone for the others, but no connection to it has ended. The next
/// one is no double: it is the one that answers where node 2 is.
#[test]
fn a_node_that_vanished_without_a_word_is_let_in_when_it_starts_again() {
    vanishes_and_starts_again(Duration::ZERO);
}

/// To ask it takes three times there and back: more than a second.
#[test]
fn so_is_one_that_is_far_away() {
    vanishes_and_starts_again(Duration::from_millis(260));
}

fn vanishes_and_starts_again(late: Duration) {
    let cluster = Cluster::new(2);
    let way = Way::open(cluster.ports[&2], late);
    let start = |name: &str| {
        let port = free_port();
        way.leads_to(port);
        cluster.run(name, 2, &["--listen", &format!("127.0.0.1:{port}")])
    };
    let vanished = start("vanished");
    let one = cluster.run("1", 1, &[]);
    cluster.wait_for(1, "follows", |status| status["leader"] == 2);
    vanished.send("-STOP");
    cluster.wait_for(1, "leads", |status| status["leader"] == 1);

    let received = |status: &serde_json::Value| status["members"][0]["received"].as_u64();
    let before = cluster.status(1).as_ref().and_then(received);
    let again = start("again");
    cluster.wait_for(1, "follows again", |status| {
        status["leader"] == 2
            && received(status) > before
            && status["members"][0]["link"] == "connected"
    });
    assert!(!cluster.log_of("1").contains("two nodes with one id"), "{}", cluster.log_of("1"));
    drop((one, again, vanished));
}
