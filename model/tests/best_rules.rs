//! Recommended rules are no matter of taste: no combination of a protocol's rules keeps, in the
//! worlds below, everything that they keep and something more.

use crate::asked::{Asked, values};
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::machine::{AnyProtocol, DynProtocol};
use bellwether_model::property::{self, Property};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Scenario, World};
use std::sync::Arc;

/// Rules that are recommended, and those that they are compared with.
struct Best {
    protocol: &'static str,
    variant: &'static str,
    /// The rules that stay as they are.
    kept: &'static [&'static str],
    /// Cheap worlds first, so that most combinations are ruled out early.
    worlds: &'static [&'static str],
    asked: fn(&World) -> Vec<Property>,
    /// How many states are searched at most, by how many the recommended rules need: a combination
    /// that needs more is taken to keep nothing there.
    limit: fn(u64) -> Option<u64>,
}

impl Best {
    fn protocol(&self) -> &'static dyn AnyProtocol {
        REGISTRY.find(self.protocol).expect("it exists")
    }

    fn rules(&self, other: &[(String, String)]) -> Arc<dyn DynProtocol> {
        self.protocol().rules(Some(self.variant), other).expect("there are such rules")
    }

    fn combinations(&self) -> Vec<Vec<(String, String)>> {
        let rows = self.protocol().rule_rows();
        let varied = rows.iter().filter(|row| !self.kept.contains(&row.name.as_str()));
        varied.fold(vec![Vec::new()], |all, row| {
            let mut more = Vec::new();
            for rules in &all {
                for value in values(row, &[]) {
                    let mut rules: Vec<(String, String)> = rules.clone();
                    rules.push((row.name.clone(), value));
                    more.push(rules);
                }
            }
            more
        })
    }

    /// Which properties hold in a world, and how many states it has, up to a limit.
    fn holds(
        &self,
        rules: &Arc<dyn DynProtocol>,
        scenario: Scenario,
        limit: Option<u64>,
    ) -> (Vec<bool>, u64) {
        let world = World::of(Arc::clone(rules), scenario).expect("the scenario is possible");
        let limits = Limits { states: limit, ..Limits::NONE };
        let options = Options { limits, ..Options::default() };
        let report = check(&world, &(self.asked)(&world), &options, &mut |_| {});
        let report = report.expect("something is asked");
        let kept = report.decisions.iter().map(|one| one.verdict == Verdict::Holds).collect();
        (kept, report.counts.distinct)
    }

    /// How many combinations there are, and the names of those that keep as much as the recommended
    /// one; none keeps more.
    fn compare(&self) -> (usize, Vec<String>) {
        let usual = self.rules(&[]);
        let worlds = self.worlds.iter().map(|world| {
            let asked = Asked::read(&format!("{} {world}", self.protocol));
            let scenario = asked.world.scenario().expect("a scenario");
            let (ours, states) = self.holds(&usual, scenario, None);
            (scenario, ours, (self.limit)(states))
        });
        let worlds: Vec<_> = worlds.collect();
        let kept = |kept: bool| worlds.iter().any(|(_, ours, _)| ours.contains(&kept));
        assert!(kept(true), "the recommended rules keep nothing");
        assert!(kept(false), "there is nothing left to gain");
        let combinations = self.combinations();
        let mut equals = Vec::new();
        for other in &combinations {
            let (rules, mut more) = (self.rules(other), Vec::new());
            let keeps_all = worlds.iter().all(|(scenario, ours, limit)| {
                let (theirs, _) = self.holds(&rules, *scenario, *limit);
                let mut pairs = theirs.iter().zip(ours);
                if pairs.clone().any(|(theirs, ours)| *theirs && !*ours) {
                    more.push(scenario.to_string());
                }
                pairs.all(|(theirs, ours)| *theirs || !*ours)
            });
            let name = rules.variant_name();
            assert!(!keeps_all || more.is_empty(), "{name} keeps more, in {more:?}");
            equals.extend(keeps_all.then_some(name));
        }
        assert!(equals.iter().any(|name| name == self.variant), "{equals:#?}");
        (combinations.len(), equals)
    }
}

fn usual(world: &World) -> Vec<Property> {
    property::select(world, &[]).expect("all exist")
}

#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn no_combination_of_the_rules_of_the_bully_is_better() {
    let bully = Best {
        protocol: "bully",
        variant: "recommended",
        kept: &["awaits", "remembers", "transfer"],
        worlds: &[
            "",
            "--crashes 0 --cuts 1 --heals must --network set",
            "--crashes 0 --losses 1",
            "--crashes 0 --suspicions 1",
            "--crashes 2",
            "--losses 1",
            "--recoveries 1",
        ],
        asked: |_| property::all::<Bully>(),
        // Five times what the recommended rules need.
        limit: |_| Some(60_000),
    };
    let (combinations, equals) = bully.compare();
    assert_eq!(combinations, 6144);
    assert_eq!(equals.len(), 70, "docs/protocols/bully.md says how many there are: {equals:#?}");
}

/// All rules of Stoller's election are asked for the highest process, also those that would keep a
/// lower one in office.
#[test]
fn no_combination_of_the_rules_of_stoller_is_better() {
    let stoller = Best {
        protocol: "stoller",
        variant: "recommended",
        kept: &["counter", "incarnation", "restart"],
        worlds: &[
            "",
            "--crashes 0 --suspicions 1",
            "--losses 1",
            "--crashes 0 --suspicions 2",
            "--recoveries 1",
            "--crashes 0 --cuts 1 --heals must --capacity 3",
            "--recoveries 1 --start cold",
        ],
        asked: |world| {
            let general = "at-most-one-leader follower-bound agreement validity decided stabilises";
            let names = general.split(' ').chain(["sle1", "sle2"]).map(str::to_owned);
            property::select(world, &names.collect::<Vec<_>>()).expect("all exist")
        },
        limit: |ours| Some(5 * ours),
    };
    let (combinations, equals) = stoller.compare();
    assert_eq!(combinations, 1296);
    assert_eq!(equals.len(), 4, "docs/protocols/stoller.md says how many there are: {equals:#?}");
}

/// No other combination of the rules of 1982 keeps as much as the repaired one.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn no_combination_of_the_rules_of_garcia_molina_is_better() {
    let repaired = Best {
        protocol: "garcia-molina",
        variant: "repaired",
        kept: &[],
        worlds: &[
            "--nodes 2 --recoveries 1",
            "--nodes 2 --recoveries 1 --suspicions 1",
            "--recoveries 1",
            "--losses 1",
            "--losses 1 --recoveries 1",
            "--crashes 3 --recoveries 1",
            "--crashes 2 --recoveries 2",
        ],
        asked: usual,
        limit: |_| None,
    };
    assert_eq!(repaired.compare(), (128, vec!["repaired".to_owned()]));
}
