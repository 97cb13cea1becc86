//! A capacity, and one more: what is decided within the smaller is decided alike within the larger.

use super::explore;
use super::scenario::{Case, cases, every_protocol, verdicts};
use bellwether_model::check::Verdict;
use bellwether_model::world::Scenario;

/// The most states that are searched within the smaller capacity, and within the larger.
const MOST: [u64; 2] = [5_000, 20_000];

/// Compares both; whether they could be.
fn differ((case, capacity): &(Case, usize)) -> Result<bool, String> {
    let within = |capacity, most| {
        case.with(Scenario { capacity: Some(capacity), ..case.scenario }).check(&[], most)
    };
    let small = within(*capacity, MOST[0]);
    let both = small.and_then(|small| Some((small, within(capacity + 1, MOST[1])?)));
    let Some((small, large)) = both else { return Ok(false) };
    if small.counts.distinct > large.counts.distinct {
        return Err(format!("a capacity of {capacity} allows more states than one more"));
    }
    for ((name, _, a), (_, _, b)) in verdicts(&small).into_iter().zip(verdicts(&large)) {
        let decided = [Verdict::Holds, Verdict::Violated].contains(&a);
        if decided && a != b {
            return Err(format!(
                "{name}: {a:?} with a capacity of {capacity}, {b:?} with one more"
            ));
        }
    }
    Ok(true)
}

#[test]
fn one_more_in_flight_changes_no_verdict_that_was_decided() {
    explore(50, (cases(&every_protocol()), 1..=2_usize), differ);
}
