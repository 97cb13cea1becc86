//! States that differ only in names are one, or they are not: the verdicts are the same.

use super::explore;
use super::scenario::{Case, cases, verdicts};
use bellwether_model::check::Verdict;
use bellwether_model::property::Kind;
use bellwether_model::world::{Network, Scenario, Symmetry};

/// The most states that are searched.
const MOST: u64 = 6_000;

/// The protocols whose states have names that can be reduced.
const NAMING: [&str; 7] =
    ["garcia-molina", "invitation", "stoller", "lease", "queue", "raft-election", "quorum"];

/// On a network that is not FIFO, a message can get the name of another that was delivered, and
/// a fair execution is then taken for one that is not.
fn may_miss(case: &Case, kind: Kind) -> bool {
    kind == Kind::Liveness && case.scenario.network != Network::Fifo
}

/// Compares both; whether they could be.
pub(super) fn differ(case: &Case) -> Result<bool, String> {
    let with = |symmetry| {
        let report = case.with(Scenario { symmetry, ..case.scenario }).check(&[], MOST)?;
        report.bounds_met.is_empty().then(|| verdicts(&report))
    };
    // What holds within bounds may be violated beyond, and numbers grow in one of them only.
    let both = with(Symmetry::Reduced).zip(with(Symmetry::Concrete));
    let Some((reduced, concrete)) = both else { return Ok(false) };
    for ((name, kind, a), (_, _, b)) in reduced.into_iter().zip(concrete) {
        let declared = a == Verdict::Holds && may_miss(case, kind);
        if a != b && !declared {
            return Err(format!("{name}: reduced {a:?}, concrete {b:?}"));
        }
    }
    Ok(true)
}

#[test]
fn reduced_and_concrete_states_have_the_same_verdicts() {
    explore(50, cases(&NAMING), differ);
}
