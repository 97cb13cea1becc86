//! Exactly the leader works, and each job is done once, whatever happens to the leader.

use std::collections::BTreeMap;

use crate::cluster::{Cluster, Done, NODES};
use crate::server::Server;

const JOBS: u64 = 12;

fn others(node: u16) -> Vec<u16> {
    NODES.into_iter().filter(|&other| other != node).collect()
}

fn of(job: u64, done: &[Done]) -> Done {
    *done.iter().find(|done| done.job == job).expect("all are done")
}

/// Each job once; each epoch by one node; no epoch after a later one.
fn is_exactly_once(done: &[Done]) {
    let mut jobs: Vec<u64> = done.iter().map(|done| done.job).collect();
    jobs.sort_unstable();
    assert!(jobs.into_iter().eq(1..=JOBS), "{done:?}");
    assert!(done.is_sorted_by_key(|done| done.epoch), "{done:?}");
    let mut leaders = BTreeMap::new();
    for one in done {
        assert_eq!(*leaders.entry(one.epoch).or_insert(one.node), one.node, "{done:?}");
    }
}

/// A leader is paused in the middle of job 4, for longer than its lease. It goes on once the next
/// leader has come so far with job 4, and then it writes. Returns the old one, and the table.
fn pause_the_leader(
    database: Option<String>,
    until: &str,
    more: &'static [&'static str],
) -> (u16, Vec<Done>) {
    let cluster = Cluster::start(database, JOBS, &["4=2000"], more);
    let old = cluster.wait_for(&NODES, "begins job 4 ");
    cluster.pause(old);
    cluster.wait_for(&others(old), until);
    cluster.go_on(old);
    let late = if more.is_empty() { "stops: epoch" } else { "has done job 4 " };
    cluster.wait_for(&[old], late);
    (old, cluster.results(JOBS))
}

fn a_paused_leader_is_refused(database: Option<String>, until: &str) {
    let (old, done) = pause_the_leader(database, until, &[]);
    is_exactly_once(&done);
    let (before, after) = (of(3, &done), of(4, &done));
    assert!(before.node == old && after.node != old, "{done:?}");
    assert!(before.epoch < after.epoch, "{done:?}");
}

/// The same without the fence: this is what it is for.
fn a_paused_leader_writes_twice_without_the_fence(database: Option<String>) {
    let (old, done) = pause_the_leader(database, "has done job 4 ", &["--unfenced"]);
    let of_four: Vec<&Done> = done.iter().filter(|done| done.job == 4).collect();
    let [by_new, by_old] = of_four[..] else { panic!("not twice: {done:?}") };
    assert!(by_new.node != old && by_old.node == old, "{done:?}");
    assert!(by_old.epoch < by_new.epoch, "{done:?}");
}

/// Each ends in the middle of a job: one by SIGKILL, and starts again; the next by SIGKILL; the
/// third by SIGTERM, which lets it finish its job.
fn leaders_end(database: Option<String>) {
    let long = ["4=1000", "8=1000", "10=1000"];
    let mut cluster = Cluster::start(database, JOBS, &long, &[]);
    let first = cluster.wait_for(&NODES, "begins job 4 ");
    cluster.kill(first);
    let second = cluster.wait_for(&others(first), "begins job 8 ");
    cluster.run(first);
    cluster.kill(second);
    let third = cluster.wait_for(&others(second), "begins job 10 ");
    cluster.run(second);
    assert!(cluster.ask_to_end(third), "node {third}");
    let done = cluster.results(JOBS);
    is_exactly_once(&done);
    assert_eq!(of(10, &done).node, third, "{done:?}");
    for (before, after) in [(3, 4), (7, 8), (10, 11)] {
        assert!(of(before, &done).epoch < of(after, &done).epoch, "{done:?}");
    }
}

#[test]
fn sqlite_refuses_a_paused_leader() {
    a_paused_leader_is_refused(None, "has done job 4 ");
}

/// The next leader has raised the fence before it read which job is next.
#[test]
fn sqlite_refuses_a_paused_leader_before_the_next_one_has_written() {
    a_paused_leader_is_refused(None, "begins job 4 ");
}

#[test]
fn sqlite_without_the_fence_has_a_job_done_twice() {
    a_paused_leader_writes_twice_without_the_fence(None);
}

#[test]
fn sqlite_has_each_job_done_once_when_leaders_end() {
    leaders_end(None);
}

#[test]
fn postgresql_refuses_a_paused_leader() {
    let Some(server) = Server::running() else { return };
    a_paused_leader_is_refused(Some(server.database()), "has done job 4 ");
}

#[test]
fn postgresql_refuses_a_paused_leader_before_the_next_one_has_written() {
    let Some(server) = Server::running() else { return };
    a_paused_leader_is_refused(Some(server.database()), "begins job 4 ");
}

#[test]
fn postgresql_without_the_fence_has_a_job_done_twice() {
    let Some(server) = Server::running() else { return };
    a_paused_leader_writes_twice_without_the_fence(Some(server.database()));
}

#[test]
fn postgresql_has_each_job_done_once_when_leaders_end() {
    let Some(server) = Server::running() else { return };
    leaders_end(Some(server.database()));
}
