//! What a failover costs, and that `docs/performance.md` shows it.

use std::time::Duration;

use bellwether_docs_runner::is_shown;
use bellwether_sim::failover::{Cost, SIZES, handover, measure, table};
use bellwether_sim::run::flapping_highest;

/// The longest delay of a message, and the longest sync.
const DELAY: Duration = Duration::from_millis(5);
const SYNC: Duration = Duration::from_millis(2);
const WAKES_LATE: Duration = Duration::from_millis(1);

/// The quorum bully waits that long for nodes that are higher.
const ELECTION: Duration = Duration::from_millis(300);

fn costs() -> Vec<Cost> {
    let rows = SIZES.iter().flat_map(|&(nodes, names)| names.iter().map(move |name| (name, nodes)));
    rows.map(|(name, nodes)| measure(name, nodes).expect("it is simulated")).collect()
}

#[test]
fn the_document_shows_what_failovers_cost() {
    let made = format!("\n\n{}\n", table(&costs()));
    let marks = ("<!-- failover -->", "<!-- end of failover -->");
    is_shown("docs/performance.md", Some(marks), |_| made);
}

#[test]
fn messages_of_the_quorum_bully_are_linear_in_the_number_of_nodes() {
    for nodes in [5, 20, 100, 400] {
        let cost = measure("quorum", nodes).expect("it is simulated");
        assert!(cost.messages <= 11 * nodes as u64, "{cost:?}");
    }
    let [few, many] = [50, 100].map(|nodes| measure("bully", nodes).expect("it is simulated"));
    assert!(many.messages > 3 * few.messages, "those of the bully are not: {few:?} {many:?}");
}

#[test]
fn a_new_leader_comes_within_two_delays_of_the_time_for_higher_nodes() {
    for nodes in [3, 5, 20, 100] {
        let cost = measure("quorum", nodes).expect("it is simulated");
        // Both the claim and a grant are synced on the way, and the wake-up is late.
        assert!(cost.election <= ELECTION + DELAY * 2 + SYNC * 2 + WAKES_LATE, "{cost:?}");
    }
}

#[test]
fn no_node_leads_for_a_round_trip_at_most_while_a_leader_hands_over() {
    let gaps = (1..=50).filter_map(|seed| handover(5, seed));
    let gaps: Vec<_> = gaps.collect();
    assert_eq!(gaps.len(), 50, "all of them hand over");
    let longest = gaps.into_iter().max().expect("there are some");
    println!("{longest:?}");
    // The leader, another voter and the successor each sync once.
    assert!(longest <= DELAY * 2 + SYNC * 3, "{longest:?}");
}

/// A takeover needs the dwell time, and ends one leadership and begins another.
#[test]
fn a_flapping_highest_node_changes_the_leader_no_oftener_than_the_dwell_time_allows() {
    let leaders = |protocol: &str| {
        let runs = (1..=40).map(|seed| flapping_highest(protocol, 5, seed).expect("simulated"));
        let runs: Vec<_> = runs.collect();
        assert!(runs.iter().all(|run| run.broken.is_none()), "{protocol}: {:?}", runs[0].broken);
        let counts = runs.iter().map(|run| run.counts.leaders);
        (counts.clone().max().expect("some"), counts.sum::<u64>())
    };
    let [never, dwell, at_once] = ["quorum", "quorum-dwell", "quorum-preemptive"].map(leaders);
    println!("{never:?} {dwell:?} {at_once:?}");
    // Thirty seconds of faults, and a dwell time of two.
    assert!(dwell.0 <= 1 + 2 * (30 / 2), "{dwell:?}");
    assert!(never.1 < dwell.1 && dwell.1 < at_once.1, "{never:?} {dwell:?} {at_once:?}");
}
