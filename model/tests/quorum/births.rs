//! Processes that start without a state: as founders, or after their state was lost.

use super::{CRASH, Holds, SAFETY, report, rules, with};
use bellwether_model::check::Verdict::HoldsWithin;
use bellwether_model::world::Faults;

/// Whether it leads at first or follows, a process that has lost its state is let in, and costs no
/// promise.
#[test]
fn a_process_that_has_lost_its_state_is_let_in() {
    for wiped in ["wiped=1", "wiped=3"] {
        let names = [&SAFETY[..], &["at-most-one-leader", "forgotten-vote-again"]].concat();
        let report = report(rules("recommended", &[wiped]), with(CRASH), &names);
        assert!(matches!(report.verdict(), Holds | HoldsWithin), "{wiped}: {:?}", report.verdict());
    }
}

#[test]
fn processes_that_have_all_met_found_a_cluster() {
    let rules = rules("recommended", &["founding=all-met"]);
    let met = report(rules, with(Faults::NONE), &["founders-vote", "stable-leader"]);
    assert_eq!(met.verdict(), Holds);
    let safe = [&SAFETY[..], &["at-most-one-leader"]].concat();
    let crashed = report(rules, with(CRASH), &safe);
    assert!(matches!(crashed.verdict(), Holds | HoldsWithin), "{:?}", crashed.verdict());
}
