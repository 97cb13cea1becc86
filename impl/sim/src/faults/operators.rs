//! The faults of operators, and how far nodes are from each other.

use std::time::Duration;

use clap::ValueEnum;

use super::{Blow, Fault, Kind, Stage};
use crate::clock::Moment;
use crate::random::Random;

/// How long a message takes on a slow link, besides what it takes on any, at least and at most. A
/// round trip takes longer than the 200 ms between two rounds, and less than the 300 ms for which a
/// candidate waits.
const FAR: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(130));

/// How long a message takes at most on a slow link, besides what it takes on any.
pub(crate) const FARTHEST: Duration = FAR.1;

/// How many voters a list of members has at most that changes.
pub(crate) const VOTERS: usize = 6;

/// How many sets of durations an operator chooses from.
pub(crate) const DURATIONS: usize = 3;

/// In which condition the node is that is to lead instead of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Condition {
    /// The node can lead.
    Fit,
    /// The node was asked not to stand for election.
    Frozen,
    /// Its machine is unfit to lead.
    Unfit,
    /// Its process stands still.
    Stopped,
    /// Its process has crashed.
    Down,
    /// The node is cut off from all others.
    CutOff,
    /// There is no such node.
    Unknown,
}

/// The part of a node in the next list of members. A node that has the part already leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The node votes, and may lead.
    Voter,
    /// The node votes, and never leads.
    Witness,
    /// The node only observes.
    Observer,
    /// The node votes instead of the voter at this place.
    Instead(usize),
}

/// Returns what an operator does about a node.
pub(super) fn operated(kind: Kind, stage: Stage, random: &mut Random) -> Blow {
    let node = random.place(stage.nodes);
    match kind {
        Kind::Transfers => {
            let all = Condition::value_variants();
            let other = all[random.place(all.len())];
            let condition = if random.chance(400) { Condition::Fit } else { other };
            Blow::Transfer(node, condition)
        }
        Kind::Reloads => Blow::Reload(random.place(DURATIONS)),
        _ => Blow::Change(
            node,
            match random.below(7) {
                0 => Part::Observer,
                1 => Part::Witness,
                2 => Part::Instead(random.place(stage.nodes)),
                _ => Part::Voter,
            },
        ),
    }
}

/// The links that are slow, from the beginning to the end: a few, many, or all.
pub(super) fn distances(stage: Stage, seed: u64) -> Vec<Fault> {
    let mut random = Random::of(&[seed, 0x00d1_57a2]);
    let share = [300, 600, 1_000][random.place(3)];
    let mut far = Vec::new();
    for one in 0..stage.nodes {
        for other in one + 1..stage.nodes {
            let [there, back] = [(); 2].map(|()| random.duration(FAR.0, FAR.1));
            if random.chance(share) {
                let blow = Blow::Far { one, other, there, back };
                far.push(Fault { from: Moment(0), until: Moment(u64::MAX), blow });
            }
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::{DURATIONS, Moment, Part, Stage, distances};
    use crate::faults::{Blow, Faults, plan};

    const STAGE: Stage =
        Stage { nodes: 5, from: Moment(5), until: Moment(20_000_000_000), drift_ppm: 100 };

    #[test]
    fn a_distance_does_not_change_what_else_happens() {
        let planned = |faults: &str| plan(&Faults::named(faults).expect("a name"), STAGE, 7);
        let mut both = planned("all+distances");
        let far = |blow: &Blow| matches!(blow, Blow::Far { .. });
        assert!(both.iter().any(|one| far(&one.blow)));
        both.retain(|one| !far(&one.blow));
        assert_eq!(both, planned("all"));
        assert!(planned("distances").iter().all(|one| far(&one.blow)));
    }

    #[test]
    fn in_some_runs_no_node_has_a_majority_nearby() {
        let all = STAGE.nodes * (STAGE.nodes - 1) / 2;
        let counts: Vec<_> = (0..50).map(|seed| distances(STAGE, seed).len()).collect();
        assert!(counts.contains(&all));
        assert!(counts.iter().any(|&count| count < all / 2));
    }

    #[test]
    fn operators_do_everything() {
        let faults = Faults::named("transfers+members+reloads").expect("a name");
        let plans: Vec<_> = (0..50).flat_map(|seed| plan(&faults, STAGE, seed)).collect();
        assert!(plans.iter().any(|one| matches!(one.blow, Blow::Transfer(..))));
        assert!(plans.iter().any(|one| matches!(one.blow, Blow::Change(..))));
        assert!(plans.iter().any(|one| matches!(one.blow, Blow::Change(_, Part::Instead(_)))));
        for step in 0..DURATIONS {
            assert!(plans.iter().any(|one| one.blow == Blow::Reload(step)));
        }
        assert!(plans.iter().all(|one| one.until <= STAGE.until));
    }
}
