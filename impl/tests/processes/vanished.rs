//! A node that vanishes without a word, as a machine does that loses its power, and starts again.

use std::sync::Arc;
use std::time::Duration;

use bellwether_testbed::relay::Relay;
use tokio::runtime::Runtime;

use super::common::{Cluster, Signal, free_port};

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
    // Where node 2 can be reached, whichever process it is. Everything is late by the same time.
    let runtime = Runtime::new().expect("a runtime");
    let way = Relay::listen(runtime.handle(), cluster.ports[&2], 0, &Arc::default());
    let way = way.expect("a free port");
    way.there(|there| there.delay = late);
    way.back(|back| back.delay = late);
    let start = |name: &str| {
        let port = free_port();
        way.aim(port);
        cluster.run(name, 2, &["--listen", &format!("127.0.0.1:{port}")])
    };
    let vanished = start("vanished");
    let one = cluster.run("1", 1, &[]);
    cluster.wait_for(1, "follows", |status| status["leader"] == 2);
    vanished.send(Signal::STOP);
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
