//! The quorum bully's core against its model, in each way to take over from a leader.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::quorum::{
    AnyQuorum, AtOnce, Declines, Joins, Observed, Overlooks, Preemptive, Promotes, Recommended,
    Resigns, StepsAside, StepsDown, Transfers, Variant, Witnessed,
};
use bellwether_model::world::{Faults, Scenario};

use crate::compared;

/// The program conforms in this world; every transition of the model was taken, and no timer,
/// message or rule was left unmet, but for the second round that a leader waits for: while a
/// majority answers, there is none.
#[track_caller]
fn conforms<V: Variant>(scenario: Scenario) -> Summary {
    let summary = compared::conforms(&AnyQuorum::of::<V>(), scenario);
    let missing = summary.coverage.missing.iter().filter(|&name| name != "timer later");
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "{scenario}");
    summary
}

#[test]
fn a_leader_waits_for_two_rounds() {
    let summary = conforms::<Recommended>(Scenario::calm(3).with_crashes(2, 0));
    let met = &summary.coverage.timers["later"];
    assert!(met.walked + met.probed > 0, "{:?}", summary.coverage);
}

/// A higher process recovers, and takes over from the lower leader: the hand-over is on the way.
#[track_caller]
fn hands_over(summary: &Summary, messages: &[&str]) {
    for &message in messages {
        let met = summary.coverage.messages.get(message).map_or(0, |met| met.walked);
        assert!(met > 0, "{message}: {:?}", summary.coverage);
    }
}

#[test]
fn a_higher_process_takes_over_after_a_dwell_time() {
    let summary = conforms::<Preemptive>(Scenario::calm(3).with_crashes(1, 1));
    hands_over(&summary, &["challenge", "yield", "entrust"]);
}

#[test]
fn a_higher_process_takes_over_at_once() {
    let summary = conforms::<AtOnce>(Scenario::calm(3).with_crashes(1, 1));
    hands_over(&summary, &["challenge", "yield", "entrust"]);
}

#[test]
fn messages_of_the_handover_are_lost() {
    let faults = Faults { losses: 1.into(), ..Scenario::calm(2).with_crashes(1, 1).faults };
    let lossy = Scenario { faults, ..Scenario::calm(2) };
    // Of two, the leader's grant is enough.
    hands_over(&conforms::<Preemptive>(lossy), &["challenge", "yield"]);
    hands_over(&conforms::<AtOnce>(lossy), &["challenge", "yield"]);
}

/// What a leader is asked, it does whenever that comes; if the node that is next is gone, the
/// others start an election.
#[test]
fn a_leader_hands_over_when_it_is_asked_to() {
    let crash = Scenario::calm(3).with_crashes(1, 1);
    let asked = |summary: Summary| {
        let met = summary.coverage.timers.get("request").map_or(0, |met| met.walked);
        assert!(met > 0, "{:?}", summary.coverage);
    };
    asked(conforms::<Transfers>(crash));
    asked(conforms::<Resigns>(crash));
    asked(conforms::<StepsDown>(crash));
    asked(conforms::<StepsAside>(Scenario::calm(2).with_crashes(1, 1)));
}

/// A node joins, and the others restart with the list that has it; some do so before it has a
/// leader.
#[test]
fn a_node_joins() {
    conforms::<Joins>(Scenario::calm(3).with_crashes(2, 2));
}

/// One of three only observes: the highest, which would take over at once otherwise, or the lowest,
/// which is to lead instead.
#[test]
fn a_node_observes() {
    conforms::<Observed>(Scenario::calm(3).with_crashes(1, 1));
    let faults = Faults { suspicions: 1, ..Faults::NONE };
    compared::conforms(&AnyQuorum::of::<Observed>(), Scenario { faults, ..Scenario::calm(3) });
    conforms::<Overlooks>(Scenario::calm(3).with_crashes(1, 1));
}

/// One of three votes and never leads: the highest, which would take over at once otherwise, or the
/// lowest, which is to lead instead. With two crashes, a process canvasses without a majority.
#[test]
fn a_node_is_a_witness() {
    conforms::<Witnessed>(Scenario::calm(3).with_crashes(2, 1));
    conforms::<Declines>(Scenario::calm(3).with_crashes(2, 1));
}

/// A node that has observed becomes a voter, and all restart with the list that says so.
#[test]
fn a_node_that_observes_becomes_a_voter() {
    conforms::<Promotes>(Scenario::calm(3).with_crashes(2, 2));
}
