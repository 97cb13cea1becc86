//! The bully algorithm of 1982, besides the verdicts that `model/verdicts/garcia-molina.toml`
//! lists: no other combination of its rules is better, and what an election costs.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::garcia_molina::{
    Answered, Check, GarciaMolina, Halt, Recovery, Unfinished,
};
use bellwether_model::world::{Faults, Scenario, World};

const REPAIRED: GarciaMolina = GarciaMolina::REPAIRED;

/// Which properties hold.
fn holds(rules: GarciaMolina, scenario: Scenario) -> Vec<bool> {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let properties = property::select(&world, &[]).expect("all exist");
    let report = check(&world, &properties, &Options::default(), &mut |_| {});
    let decisions = report.expect("something is asked").decisions;
    decisions.iter().map(|d| d.verdict == Verdict::Holds).collect()
}

fn struck(nodes: usize, faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(nodes) }
}

fn crashes(nodes: usize, crashes: u8, recoveries: u8) -> Scenario {
    Scenario::calm(nodes).with_crashes(crashes, recoveries)
}

/// Every combination of the rules, in worlds that tell them apart: none keeps all that the repaired
/// rules keep and one property more, and none keeps as much.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn no_combination_of_the_rules_is_better_than_the_repaired_one() {
    let lossy = Faults { crashes: 1, losses: 1.into(), ..Faults::NONE };
    let worlds = [
        crashes(2, 1, 1),
        struck(2, Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE }),
        crashes(3, 1, 1),
        struck(3, lossy),
        struck(3, Faults { recoveries: 1, ..lossy }),
        crashes(3, 3, 1),
        crashes(3, 2, 2),
    ];
    let mut left = combinations();
    assert_eq!(left.len(), 128);
    for scenario in worlds {
        let ours = holds(REPAIRED, scenario);
        left.retain(|&rules| {
            let theirs = holds(rules, scenario);
            let keeps_all = ours.iter().zip(&theirs).all(|(ours, theirs)| !ours || *theirs);
            assert!(!keeps_all || ours == theirs, "{rules:?} is better in {scenario}");
            keeps_all
        });
    }
    assert_eq!(left, [REPAIRED]);
}

fn combinations() -> Vec<GarciaMolina> {
    let mut all = Vec::new();
    for halt in [Halt::Aborts, Halt::GoesOn] {
        for check in [Check::SameTask, Check::LedByMe, Check::Normal, Check::Never] {
            for answered in [Answered::Waits, Answered::Follows] {
                for recovery in [Recovery::Quiet, Recovery::AtOnce] {
                    for unfinished in [Unfinished::Elects, Unfinished::AsksItself] {
                        all.extend([true, false].map(|guard| GarciaMolina {
                            halt,
                            check,
                            answered,
                            recovery,
                            guard,
                            unfinished,
                        }));
                    }
                }
            }
        }
    }
    all
}

/// The most messages that the crash of one process costs. All survivors ask after the dead
/// coordinator (n − 1), all but the highest of them ask the next and are answered, the highest asks
/// the dead one once more, and makes three calls to each of the others: 9n − 16.
#[test]
fn a_crash_costs_at_most_nine_n_minus_sixteen_messages() {
    let rules = GarciaMolina { check: Check::Never, ..GarciaMolina::PUBLISHED };
    for nodes in 2..=5 {
        let world = World::new(rules, crashes(nodes, 1, 0)).expect("the scenario is possible");
        let costs = bounds(&world, Until::Rest, (Limits::NONE, 1), &mut |_| {}).expect("threads");
        let most = |name: &str| {
            let line = costs.lines.iter().find(|line| line.name() == name);
            match line.unwrap_or_else(|| panic!("{name} is not counted")).bound {
                Bound::Most(most, _) => usize::try_from(most).expect("few"),
                Bound::Unbounded(_) => panic!("{name} is unbounded"),
            }
        };
        assert_eq!(most("messages"), 9 * nodes - 16);
        assert_eq!(most("messages/are-you-there"), 2 * (nodes - 1));
        assert_eq!(most("elections"), nodes - 1);
        assert_eq!(most("leaderships"), 1);
    }
}
