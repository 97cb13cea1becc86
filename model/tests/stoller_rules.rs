//! The recommended rules of Stoller's election are no matter of taste: no combination of its rules
//! keeps, in the worlds below, everything that they keep and something more.

use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::stoller::{
    Again, Answer, Begins, Halted, Query, Stoller, Unanswered,
};
use bellwether_model::protocol::variant_name;
use bellwether_model::world::{Faults, Heals, Scenario, Start, World};

/// A combination that needs so many times the states that the recommended rules need in a world is
/// taken to keep nothing there.
const AT_MOST_TIMES: u64 = 5;

/// Cheap worlds first, so that most combinations are ruled out early.
fn worlds() -> Vec<Scenario> {
    let with = |faults: Faults| Scenario { faults, ..Scenario::calm(3) };
    let crash_and_recovery = with(Faults { crashes: 1, recoveries: 1, ..Faults::NONE });
    vec![
        with(Faults { crashes: 1, ..Faults::NONE }),
        with(Faults { suspicions: 1, ..Faults::NONE }),
        with(Faults { crashes: 1, losses: 1.into(), ..Faults::NONE }),
        with(Faults { suspicions: 2, ..Faults::NONE }),
        crash_and_recovery,
        Scenario {
            heals: Heals::Must,
            capacity: Some(3),
            ..with(Faults { cuts: 1, ..Faults::NONE })
        },
        Scenario { start: Start::Cold, ..crash_and_recovery },
    ]
}

/// Which properties hold in a world, and how many states it has, up to a limit. All rules are asked
/// for the highest process, also those that would keep a lower one in office.
fn holds(rules: Stoller, scenario: Scenario, limit: Option<u64>) -> (Vec<bool>, u64) {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let limits = Limits { states: limit, ..Limits::NONE };
    let options = Options { limits, ..Options::default() };
    let names = [
        "at-most-one-leader",
        "follower-bound",
        "agreement",
        "validity",
        "decided",
        "stabilises",
        "sle1",
        "sle2",
    ];
    let properties = property::select(&world, &names.map(str::to_owned)).expect("all exist");
    let report = check(&world, &properties, &options, &mut |_| {}).expect("something is asked");
    let kept = report.decisions.iter().map(|d| d.verdict == Verdict::Holds).collect();
    (kept, report.counts.distinct)
}

fn combinations() -> Vec<Stoller> {
    let mut all = vec![Stoller::RECOMMENDED];
    let mut vary = |change: &[&dyn Fn(&mut Stoller)]| {
        let changed = all.iter().flat_map(|rules| {
            change.iter().map(|set| {
                let mut rules = *rules;
                set(&mut rules);
                rules
            })
        });
        all = changed.collect();
    };
    vary(&[&|r| r.begins = Begins::StageOne, &|r| r.begins = Begins::StageTwo]);
    vary(&[&|r| r.halted = Halted::Yields, &|r| r.halted = Halted::Rejects, &|r| {
        r.halted = Halted::TellsLeader;
    }]);
    vary(&[&|r| r.query = Query::Lower, &|r| r.query = Query::Down, &|r| {
        r.query = Query::None;
    }]);
    vary(&[
        &|r| r.answer = Answer::NotFollowing,
        &|r| r.answer = Answer::NotNorm,
        &|r| r.answer = Answer::LedByLower,
        &|r| r.answer = Answer::GivesWay,
    ]);
    vary(&[&|r| r.again = Again::Elects, &|r| r.again = Again::Halts, &|r| {
        r.again = Again::Announces;
    }]);
    vary(&[
        &|r| r.unanswered = Unanswered::Elects,
        &|r| r.unanswered = Unanswered::Repeats,
        &|r| {
            r.unanswered = Unanswered::Waits;
        },
    ]);
    vary(&[&|r| r.plays_dead = false, &|r| r.plays_dead = true]);
    all
}

#[test]
fn no_combination_of_rules_keeps_more_than_the_recommended_one() {
    let worlds = worlds();
    let ours: Vec<_> = worlds.iter().map(|d| holds(Stoller::RECOMMENDED, *d, None)).collect();
    assert!(
        ours.iter().any(|(kept, _)| kept.contains(&true)),
        "the recommended rules keep nothing"
    );
    assert!(ours.iter().any(|(kept, _)| kept.contains(&false)), "there is nothing left to gain");
    let combinations = combinations();
    assert_eq!(combinations.len(), 1296);
    let mut equals = Vec::new();
    for rules in combinations {
        let mut more = Vec::new();
        let keeps_all = worlds.iter().zip(&ours).all(|(scenario, (ours, states))| {
            let (theirs, _) = holds(rules, *scenario, Some(AT_MOST_TIMES * states));
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
    assert_eq!(equals.len(), 4, "docs/protocols/stoller.md says how many there are: {equals:#?}");
    assert_eq!(equals[0], "recommended");
}
