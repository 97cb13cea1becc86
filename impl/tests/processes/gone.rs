//! A leader whose process is gone need not be waited for; one that only hangs must be.

use std::time::{Duration, Instant};

use super::common::{Cluster, Signal};

/// The followers would wait an hour for the leader.
const BULLY: &str = "[bully]\nwatch = \"1h\"\nelection = \"1h\"\ncoordinator = \"3h\"\n";

/// The candidate would wait an hour for the answer of the node that was killed.
const QUORUM: &str = "[quorum]\nelection = \"1h\"\ncoordinator = \"3h\"\nskew = \"500ms\"\n";

/// The connections have to last a moment before their ends mean something.
const TIMEOUT: Duration = Duration::from_millis(1_000);

fn network(more: &str) -> String {
    format!("[network]\ntimeout = \"{}ms\"\n{more}", TIMEOUT.as_millis())
}

/// Three nodes that follow the highest.
fn following(protocol: &str, sections: &str) -> Cluster {
    let mut cluster = Cluster::running(3, protocol, sections);
    // No node waits for the answer of one that has not started: the highest bully leads at once,
    // and with a quorum the highest must find the others.
    let order = if protocol == "bully" { [3, 2, 1] } else { [1, 2, 3] };
    for node in order {
        cluster.start(node);
        cluster.wait_for(node, "is up", |status| protocol != "bully" || status["leader"] == 3);
    }
    cluster.wait_for_leader(3);
    std::thread::sleep(TIMEOUT * 2);
    cluster
}

#[test]
fn the_followers_of_a_leader_that_was_killed_elect_another_at_once() {
    let mut cluster = following("bully", &format!("{BULLY}{}", network("")));
    cluster.take(3).kill();
    cluster.wait_for_leader(2);
    // The next one does not lead for long either.
    cluster.take(2).kill();
    cluster.wait_for_leader(1);
}

#[test]
fn a_candidate_waits_for_no_answer_of_a_node_that_was_killed() {
    let mut cluster = following("quorum", &format!("{QUORUM}{}", network("")));
    cluster.take(3).kill();
    cluster.wait_for_leader(2);
}

#[test]
fn a_leader_that_ends_with_a_word_is_replaced_as_soon() {
    let mut cluster = following("bully", &format!("{BULLY}{}", network("")));
    let mut three = cluster.take(3);
    three.ask_to_end();
    cluster.wait_for_leader(2);
    assert_eq!(three.ended().code(), Some(0));
}

#[test]
fn a_leader_that_hangs_is_waited_for_and_so_is_every_one_if_that_is_configured() {
    let mut cluster = following("bully", &format!("{BULLY}{}", network("")));
    let mut other = following("bully", &format!("{BULLY}{}", network("suspect_refused = false")));
    // Nothing is sent by it, and nothing is closed: the kernel answers for it.
    let three = cluster.take(3);
    three.send(Signal::STOP);
    other.take(3).kill();
    let seen = Instant::now();
    while seen.elapsed() < TIMEOUT * 5 {
        for cluster in [&cluster, &other] {
            let status = cluster.status(2).expect("it is up");
            assert_eq!((&status["role"], &status["leader"]), (&"follower".into(), &3.into()));
        }
    }
    drop(three);
}
