//! The recommended rules are no matter of taste: no combination of the bully's rules keeps, in
//! the worlds below, everything that they keep and something more.

use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::bully::{
    Accept, Announce, Bully, Challenged, Highest, Incumbent, Initiate, Restart, Watch,
};
use bellwether_model::protocol::variant_name;
use bellwether_model::world::{Faults, Heals, Network, Scenario, World};

/// Five times what the recommended rules need: a combination that needs more keeps nothing there.
const MOST_STATES: u64 = 60_000;

/// Cheap worlds first, so that most combinations are ruled out early.
fn worlds() -> Vec<Scenario> {
    let with = |faults: Faults| Scenario { faults, ..Scenario::calm(3) };
    vec![
        with(Faults { crashes: 1, ..Faults::NONE }),
        Scenario {
            network: Network::Set,
            heals: Heals::Must,
            ..with(Faults { cuts: 1, ..Faults::NONE })
        },
        with(Faults { losses: 1.into(), ..Faults::NONE }),
        with(Faults { suspicions: 1, ..Faults::NONE }),
        with(Faults { crashes: 2, ..Faults::NONE }),
        with(Faults { crashes: 1, losses: 1.into(), ..Faults::NONE }),
        with(Faults { crashes: 1, recoveries: 1, ..Faults::NONE }),
    ]
}

/// Which properties hold in a world.
fn holds(rules: Bully, scenario: Scenario) -> Vec<bool> {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let limits = Limits { states: Some(MOST_STATES), ..Limits::NONE };
    let options = Options { limits, ..Options::default() };
    let properties = property::all::<Bully>();
    let report = check(&world, &properties, &options, &mut |_| {}).expect("something is asked");
    report.decisions.iter().map(|d| d.verdict == Verdict::Holds).collect()
}

fn combinations() -> Vec<Bully> {
    let mut all = vec![Bully::TEXTBOOK];
    let mut vary = |change: &[&dyn Fn(&mut Bully)]| {
        let changed = all.iter().flat_map(|rules| {
            change.iter().map(|set| {
                let mut rules = *rules;
                set(&mut rules);
                rules
            })
        });
        all = changed.collect();
    };
    vary(&[&|r| r.guard = true, &|r| r.guard = false]);
    vary(&[&|r| r.t_coord = true, &|r| r.t_coord = false]);
    vary(&[
        &|r| r.accept = Accept::Any,
        &|r| r.accept = Accept::NotLowerThanSelf,
        &|r| r.accept = Accept::NotLowerThanKnown,
        &|r| r.accept = Accept::LowerStartsElection,
    ]);
    vary(&[&|r| r.announce = Announce::Lower, &|r| r.announce = Announce::All]);
    vary(&[&|r| r.initiate = Initiate::Always, &|r| r.initiate = Initiate::AboveFailed]);
    vary(&[
        &|r| r.restart = Restart::Election,
        &|r| r.restart = Restart::ImBack,
        &|r| r.restart = Restart::CheckFirst,
        &|r| r.restart = Restart::Nothing,
    ]);
    vary(&[&|r| r.highest = Highest::Announces, &|r| r.highest = Highest::Waits]);
    vary(&[&|r| r.watch = Watch::Answer, &|r| r.watch = Watch::Heartbeat, &|r| {
        r.watch = Watch::Announcement;
    }]);
    vary(&[&|r| r.incumbent = Incumbent::Answers, &|r| r.incumbent = Incumbent::Elects]);
    vary(&[&|r| r.challenged = Challenged::Answers, &|r| r.challenged = Challenged::Elects]);
    all
}

#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn no_combination_of_rules_keeps_more_than_the_recommended_one() {
    let worlds = worlds();
    let ours: Vec<Vec<bool>> = worlds.iter().map(|d| holds(Bully::RECOMMENDED, *d)).collect();
    assert!(ours.iter().flatten().any(|&kept| kept), "the recommended rules keep nothing");
    assert!(ours.iter().flatten().any(|&kept| !kept), "there is nothing left to gain");
    let combinations = combinations();
    assert_eq!(combinations.len(), 6144);
    let mut equals = Vec::new();
    for rules in combinations {
        let mut more = Vec::new();
        let keeps_all = worlds.iter().zip(&ours).all(|(scenario, ours)| {
            let theirs = holds(rules, *scenario);
            let gained = theirs.iter().zip(ours).any(|(theirs, ours)| *theirs && !*ours);
            if gained {
                more.push(scenario.to_string());
            }
            theirs.iter().zip(ours).all(|(theirs, ours)| *theirs || !*ours)
        });
        assert!(!keeps_all || more.is_empty(), "{rules:?} keeps more, in {more:?}");
        if keeps_all {
            equals.push(variant_name(&rules));
        }
    }
    assert_eq!(equals.len(), 70, "docs/protocols/bully.md says how many there are: {equals:#?}");
    assert_eq!(equals[0], "recommended");
}
