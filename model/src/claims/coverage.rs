//! What a text says may happen must be in the runs by which a claim holds, or holds only if: each
//! alone, and every two.

use super::assumption::{Departure, Says, Standing, strike_an_election};
use super::demand::Demand;
use super::entry::{Check, Claim, LeftOut, Source};
use super::quantifier::Quantifier;
use std::collections::BTreeSet;

type Departures = BTreeSet<Departure>;

/// What is wrong with a claim of which these runs say where it holds: what may happen, by the text,
/// and is in none of them, and is not listed with a reason.
///
/// # Errors
/// If the world of a check is none.
pub(super) fn flaws(
    source: &Source,
    claim: &Claim,
    runs: &[(&Check, &Standing)],
) -> Result<Vec<String>, String> {
    if claim.quantifier.is_none_or(|quantifier| quantifier == Quantifier::CanHappen) {
        return Ok(Vec::new());
    }
    let inside = || runs.iter().filter(|(_, standing)| **standing == Standing::Inside);
    // An execution that goes wrong is one as well where more may happen.
    let wrong = |check: &Check| matches!(check.demands, Demand::Violated | Demand::Unbounded);
    if inside().next().is_some() && inside().all(|(check, _)| wrong(check)) {
        return Ok(Vec::new());
    }
    let run = inside().map(|(check, _)| Departure::met_by(check));
    let run = run.collect::<Result<Vec<Departures>, String>>()?;
    let may = |departure: &Departure| Says::of(source, claim, *departure) == Says::ItMayHappen;
    let admitted: Vec<Departure> = Departure::ALL.into_iter().filter(may).collect();
    // Where the text is silent on a crash during an election, no run inside has one.
    let can_be_inside = |set: &Departures| {
        admitted.contains(&Departure::CrashInElection) || !strike_an_election(set)
    };
    let missing: Vec<Departures> = wanted(&admitted)
        .into_iter()
        .filter(can_be_inside)
        .filter(|set| !run.iter().any(|has| covers(has, set)))
        .collect();
    let excused = |set: &Departures| claim.left_out.iter().any(|left| excuses(left, set));
    let named = |set: &Departures| {
        set.iter().map(|departure| departure.words().0).collect::<Vec<_>>().join(" and ")
    };
    let mut flaws: Vec<String> = missing
        .iter()
        .filter(|set| !excused(set))
        .map(|set| {
            let what = named(set);
            format!("It holds by its runs, and no run that decides has {what}, which may happen.")
        })
        .collect();
    let idle = claim.left_out.iter().filter(|left| !missing.iter().any(|set| excuses(left, set)));
    flaws.extend(
        idle.map(|left| format!("It is said to be left out, and is not: {}.", named(&left.of))),
    );
    Ok(flaws)
}

/// Each of these alone, and every two.
fn wanted(admitted: &[Departure]) -> Vec<Departures> {
    let alone = admitted.iter().map(|&one| BTreeSet::from([one]));
    let pairs = admitted.iter().enumerate().flat_map(|(at, &one)| {
        admitted[at + 1..].iter().map(move |&other| BTreeSet::from([one, other]))
    });
    alone.chain(pairs).collect()
}

/// Whether a run with `has` has `set` among its executions. Most departures are budgets: with one
/// crash allowed there are executions without. A cold start and a missing link are in all.
fn covers(has: &Departures, set: &Departures) -> bool {
    let always = [Departure::AllStart, Departure::MissingLink];
    set.is_subset(has) && always.iter().all(|one| !has.contains(one) || set.contains(one))
}

fn excuses(left: &LeftOut, set: &Departures) -> bool {
    match left.of.len() {
        0 => false,
        1 => left.of.is_subset(set),
        _ => set.len() > 1 && set.is_subset(&left.of),
    }
}

#[cfg(test)]
mod tests {
    use super::{LeftOut, covers, excuses, wanted};
    use crate::claims::Departure::{AllStart, Crash, Cut, Loss};
    use std::collections::BTreeSet;

    #[test]
    fn each_alone_and_every_two_are_wanted() {
        let sets = wanted(&[Crash, Loss, Cut]);
        assert_eq!(sets.len(), 6);
        assert!(sets.contains(&BTreeSet::from([Loss])));
        assert!(sets.contains(&BTreeSet::from([Crash, Cut])));
    }

    #[test]
    fn a_cold_start_does_not_stand_for_a_converged_one() {
        let crash = BTreeSet::from([Crash]);
        assert!(covers(&BTreeSet::from([Crash, Loss]), &crash));
        assert!(!covers(&BTreeSet::from([Crash, AllStart]), &crash));
        assert!(covers(&BTreeSet::from([Crash, AllStart]), &BTreeSet::from([AllStart])));
        assert!(!covers(&crash, &BTreeSet::from([Crash, Loss])));
    }

    #[test]
    fn what_is_left_out_is_one_thing_or_no_two_of_several() {
        let left = |of: &[_]| LeftOut { of: of.iter().copied().collect(), why: "w".to_owned() };
        let (one, pair) = (BTreeSet::from([Loss]), BTreeSet::from([Loss, Cut]));
        assert!(excuses(&left(&[Loss]), &one) && excuses(&left(&[Loss]), &pair));
        assert!(!excuses(&left(&[Loss, Cut]), &one) && excuses(&left(&[Loss, Cut, Crash]), &pair));
        assert!(!excuses(&left(&[]), &one) && !excuses(&left(&[Crash]), &pair));
    }
}
