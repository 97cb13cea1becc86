//! Runs of the programs as they are: no invariant breaks, and nothing is left to chance.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bellwether_sim::Code;
use bellwether_sim::batch::{Limits, Summary, batch};
use bellwether_sim::run::run;

fn many(code: &str, runs: u64, threads: usize) -> Summary {
    let first: Code = code.parse().expect("a code");
    let threads = NonZeroUsize::new(threads).expect("not zero");
    let limits = Limits { stop: &AtomicBool::new(false), time: None };
    let summary = batch(&first, runs, threads, limits, &|| {});
    if let Some((code, broken)) = &summary.failed {
        panic!("{broken:?}; repeat it: bellwether-sim replay '{code}' --trace");
    }
    assert_eq!(summary.runs, runs);
    summary
}

#[test]
fn the_quorum_bully_keeps_its_promises_with_all_faults() {
    let summary = many("quorum:5:all:10000", 400, 2);
    let counts = summary.counts;
    // It is no success if nothing was tried.
    assert!(counts.faults > 20_000 && counts.leaders > 1_000, "{counts:?}");
    assert!(counts.lost > 10_000 && counts.starts > 3_000 && counts.syncs > 5_000, "{counts:?}");
    assert!(counts.beside > 5_000 && counts.unseen > 500, "{counts:?}");
    many("quorum:9:all:10000", 50, 2);
    many("quorum:3:all:900", 200, 2);
    for protocol in ["quorum-preemptive", "quorum-dwell"] {
        many(&format!("{protocol}:5:all:1"), 100, 2);
        many(&format!("{protocol}:3:all:1"), 100, 2);
    }
}

/// A node canvasses at most once in the time for which it waits afterwards, and a canvass is one
/// question and one answer for each other node. Rounds are far fewer.
#[test]
fn messages_for_each_canvass_are_linear_in_the_number_of_nodes_with_all_faults() {
    let (nodes, shortest_wait, run_of) = (50, Duration::from_millis(600), Duration::from_secs(36));
    let canvasses = run_of.div_duration_f64(shortest_wait) as u64;
    for seed in 1..=8 {
        let code: Code = format!("quorum:{nodes}:all:{seed:08x}").parse().expect("a code");
        let outcome = run(&code, false);
        assert_eq!(outcome.broken, None, "{code}");
        let each = outcome.counts.sent / nodes;
        assert!(each <= canvasses * 2 * nodes, "{code}: {each} messages for each node");
    }
}

#[test]
fn the_bullies_agree_in_the_end() {
    many("bully:5:all:10000", 100, 2);
    many("garcia-molina:5:all:10000", 100, 2);
}

/// The stores in turn, with all that can happen to nodes and on the way to the store.
#[test]
fn a_lease_has_one_holder_whichever_store_grants_it() {
    for store in ["sqlite", "postgres", "redis", "etcd", "kubernetes"] {
        let counts = many(&format!("lease-{store}:5:all+outages+twins:1"), 30, 2).counts;
        assert!(counts.leaders > 30 && counts.lost > 100, "{store}: {counts:?}");
    }
}

/// Mistakes of people, each kind alone.
#[test]
fn a_lease_has_one_holder_whatever_people_do_to_its_store() {
    for store in ["sqlite", "postgres", "redis", "etcd", "kubernetes"] {
        for faults in ["mistakes", "restores", "twins"] {
            let counts = many(&format!("lease-{store}:5:{faults}:1"), 20, 2).counts;
            assert!(counts.leaders >= 20 && counts.faults > 200, "{store}: {counts:?}");
        }
    }
    many("lease:5:all+mistakes:1", 50, 2);
    for (nodes, faults) in [(2, "mistakes"), (3, "cuts+pauses+mistakes")] {
        many(&format!("lease:{nodes}:{faults}:1"), 500, 2);
    }
}

/// Where a store breaks its word there may be two leaders. Tokens grow for each process all the
/// same, and all agree in the end.
#[test]
fn nodes_agree_again_after_a_store_has_broken_its_word() {
    for faults in ["rewinds", "expiries", "all+mistakes+restores+rewinds+expiries"] {
        many(&format!("lease:5:{faults}:1"), 25, 2);
    }
}

#[test]
fn a_node_that_flaps_deposes_no_leader() {
    let summary = many("quorum:5:flap:10000", 100, 2);
    assert_eq!(summary.counts.leaders, 100, "one for each run");
}

/// Nodes that have lost their disks, alone, as members change, and with all that can happen: what
/// was granted stands, and each of them votes again in the end.
#[test]
fn the_quorum_bully_keeps_its_promises_whichever_disks_are_lost() {
    let counts = many("quorum:5:wipe:1", 100, 2).counts;
    assert!(counts.wipes > 150 && counts.changes > 100, "{counts:?}");
    let counts = many("quorum:3:all+wipe:1", 100, 2).counts;
    assert!(counts.wipes > 50, "{counts:?}");
    let counts = many("quorum:7:members+wipe+losses:1", 100, 2).counts;
    assert!(counts.wipes > 30, "{counts:?}");
    assert_eq!(many("quorum:2:wipe:1", 20, 2).counts.wipes, 0, "the other has no majority");
}

/// What operators do, each kind alone, and then with all that can happen to a node.
#[test]
fn the_quorum_bully_keeps_its_promises_whatever_operators_do() {
    let counts = many("quorum:5:transfers:1", 100, 2).counts;
    assert!(counts.transfers > 100, "{counts:?}");
    let counts = many("quorum:7:members:1", 100, 2).counts;
    assert!(counts.changes > 200, "{counts:?}");
    let counts = many("quorum:2:members:1", 50, 2).counts;
    assert!(counts.changes > 50, "one becomes two, and two one: {counts:?}");
    let counts = many("quorum:5:reloads:1", 50, 2).counts;
    assert!(counts.changes > 100, "{counts:?}");
    for code in ["quorum:5:all+transfers+members+reloads:1", "quorum:4:all+operators:1"] {
        many(code, 100, 2);
    }
}

#[test]
fn a_leader_stays_although_a_round_trip_takes_longer_than_a_round() {
    for nodes in [3, 5] {
        let summary = many(&format!("quorum:{nodes}:distances:1"), 50, 2);
        assert!(summary.counts.leaders < 100, "{:?}", summary.counts);
    }
    many("quorum:5:all+distances:1", 100, 2);
}

#[test]
fn hundreds_of_nodes_elect_one_leader() {
    let summary = many("quorum:300:none:1", 1, 1);
    assert_eq!(summary.counts.leaders, 1);
}

#[test]
fn the_same_code_gives_the_same_bytes() {
    let codes = [
        "quorum:5:all:00c0ffee",
        "bully:4:all:00c0ffee",
        "garcia-molina:3:all:00c0ffee",
        "lease:5:all+mistakes+twins:00c0ffee",
    ];
    for code in codes {
        let code: Code = code.parse().expect("a code");
        let (one, other) = (run(&code, true), run(&code, true));
        assert!(one.trace.len() > 1_000);
        assert_eq!(one, other);
        let silent = run(&code, false);
        assert_eq!((silent.digest, silent.counts), (one.digest, one.counts), "a trace changes it");
        let next = Code { seed: code.seed + 1, ..code };
        assert_ne!(run(&next, false).digest, one.digest);
    }
}

/// The number is that of another machine as well: nothing depends on the word length, the order of
/// a hash table, or the mathematics of a library.
#[test]
fn a_run_is_the_same_on_every_machine() {
    let code: Code = "bully:5:all:00c0ffee".parse().expect("a code");
    assert_eq!(format!("{:016x}", run(&code, false).digest), "0d91a92e8e8bcd43");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let [one, three] = [1, 3].map(|threads| many("quorum:3:crashes+losses:1", 40, threads));
    assert_eq!((one.digest, one.counts), (three.digest, three.counts));
    assert_eq!(one.slowest, three.slowest);
}
