//! Mistakes of people with a lease in a store: a machine is copied, and the record is deleted.

use bellwether_docs_runner::object_of;
use bellwether_testbed::mistakes::Mistake;
use bellwether_testbed::probe::Probe;
use bellwether_testbed::process::copy_files;
use bellwether_testbed::servers::{Server, Store};

use super::common::{Cluster, bellwether, free_address, wait_until};

const DURATIONS: &str = "hold = \"2s\"\nkeep = \"2500ms\"\nrenew = \"200ms\"\nretry = \"200ms\"\n";

/// The output of `bellwether store`.
#[track_caller]
fn store(cluster: &Cluster, what: &str) -> Vec<u8> {
    let mut command = bellwether();
    command.args(["store", what, "--json", "--config"]).arg(cluster.config());
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Each of the three processes may have the lease after the deletion, and none has it before the
/// first lease is over.
#[test]
fn a_copy_of_the_leader_waits_and_a_deleted_record_makes_no_second_leader() {
    let server = Server::start(Store::Sqlite).expect("a folder");
    let section = format!("[lease]\nstore = \"{}\"\n{DURATIONS}", server.address());
    let cluster = Cluster::running(2, "lease", &section);
    let [first, second, copy] = [(); 3].map(|()| free_address());
    let probe = Probe::start([(1, first.clone()), (2, second.clone()), (3, copy.clone())]);
    store(&cluster, "init");
    let _first = cluster.run("1", 1, &["--http", &first]);
    cluster.follows(1, 1);
    let _second = cluster.run("2", 2, &["--http", &second]);
    cluster.follows(2, 1);
    let token = || {
        let shown = object_of("bellwether-store", store(&cluster, "show"));
        shown["leases"][0]["token"].as_u64().expect("a number")
    };
    let before = token();

    let (data, listen) = (cluster.folder().join("copy"), free_address());
    copy_files(&cluster.folder().join("lease-1"), &data).expect("ours");
    let more = ["--http", &copy, "--listen", &listen, "--data-dir", data.to_str().expect("text")];
    let _copy = cluster.run("copy", 1, &more);
    let twin = "another process with the name 1 holds the lease";
    cluster.logs_of("copy", &[twin]);
    let status = cluster.ask_at(&listen);
    assert!(status["problem"].as_str().is_some_and(|problem| problem.contains(twin)), "{status}");
    assert_eq!((&status["role"], token()), (&"candidate".into(), before), "{status}");

    Mistake::Deleted.make(&server, "test").expect("a record");
    cluster.wait_for(1, "tells that the record is lost", |status| {
        let problem = status["problem"].as_str().unwrap_or_default();
        problem.contains(&format!("has token 0, and token {before} was granted before"))
            && status["counters"]["store_regressions"] == 1
    });
    let newer = || {
        let token = token();
        token > before && probe.leader_of(token).is_some()
    };
    wait_until("a newer token is granted", newer, || cluster.logs());
    assert_eq!(probe.leader_of(before), Some(1));
    assert_eq!(probe.judge().1, [""; 0]);
}
