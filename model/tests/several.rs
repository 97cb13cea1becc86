//! Several different counterexamples to one property, compared with what a plain walk of all
//! executions finds.

use bellwether_model::check::{Decision, Options, Verdict, check};
use bellwether_model::property::{self, Condition, Liveness, Property, Temporal};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::world::swarm::Kind;
use bellwether_model::world::{Action, Budget, Faults, Scenario, State, World};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

type Kinds = BTreeSet<&'static str>;

fn struck(state: &State) -> Kinds {
    let named = state.spent().named().into_iter();
    named.filter(|(_, times)| *times != Budget::NONE).map(|(name, _)| name).collect()
}

fn worlds() -> Vec<World> {
    let faults = |crashes, recoveries, losses, suspicions| Faults {
        crashes,
        recoveries,
        losses: Budget::AtMost(losses),
        suspicions,
        ..Faults::NONE
    };
    let of = |(protocol, nodes, faults): (&str, usize, Faults)| {
        let rules = REGISTRY.find(protocol).expect("it exists").rules(None, &[]).expect("rules");
        let capacity = ((faults.cuts, faults.one_way_cuts) != (0, 0)).then_some(2);
        let scenario = Scenario { faults, capacity, ..Scenario::calm(nodes) };
        World::of(rules, scenario).expect("it is possible")
    };
    let worlds = [
        ("bully", 3, faults(1, 1, 0, 0)),
        ("bully", 2, faults(1, 1, 1, 1)),
        ("bully", 3, faults(1, 0, 1, 1)),
        ("chang-roberts", 2, faults(1, 1, 1, 0)),
        ("vrrp", 2, faults(1, 1, 1, 0)),
        ("raft-election", 2, faults(1, 1, 1, 0)),
        ("raft-election", 2, Faults { cuts: 1, ..faults(1, 0, 0, 0) }),
        ("raft-election", 2, Faults { one_way_cuts: 1, ..faults(1, 0, 0, 0) }),
    ];
    worlds.map(of).into()
}

fn decide(world: &World, properties: &[Property], all: Option<usize>) -> Vec<Decision> {
    let options = Options { all, ..Options::default() };
    check(world, properties, &options, &mut |_| {}).expect("it is decided").decisions
}

/// The kind of a last step: what happens, and of which message or timer.
fn last(action: &Action) -> (Kind, String) {
    let of = match action {
        Action::Deliver(e) | Action::Lose(e) | Action::Duplicate(e) => {
            e.message.label().split('(').next().unwrap_or_default().to_owned()
        }
        Action::Expire { timer, .. } => timer.plain().to_owned(),
        _ => String::new(),
    };
    (Kind::of(action), of)
}

/// For each kind of last step, the smallest sets of kinds of faults, and the fewest steps of each.
fn walked(world: &World, condition: &Condition) -> Vec<(Kinds, usize)> {
    let initial = world.initial();
    let mut first: BTreeMap<((Kind, String), Kinds), usize> = BTreeMap::new();
    let (mut known, mut enabled) = (HashSet::from([initial.clone()]), Vec::new());
    let mut queue = VecDeque::from([(initial, 0)]);
    while let Some((state, depth)) = queue.pop_front() {
        enabled.clear();
        world.enabled(&state, &mut enabled);
        for action in &enabled {
            let next = world.apply(&state, action).state;
            if !condition.holds(world, &next) {
                first.entry((last(action), struck(&next))).or_insert(depth + 1);
            } else if known.insert(next.clone()) {
                queue.push_back((next, depth + 1));
            }
        }
    }
    let smallest = first.iter().filter(|((last, kinds), _)| {
        let mut others = first.keys().filter(|(other, _)| other == last);
        !others.any(|(_, other)| other != kinds && other.is_subset(kinds))
    });
    let mut found: Vec<_> = smallest.map(|((_, kinds), steps)| (kinds.clone(), *steps)).collect();
    found.sort();
    found
}

#[test]
fn every_difference_that_a_walk_finds_is_listed() {
    let mut violated = 0;
    for world in worlds() {
        let properties = property::select(&world, &[]).expect("the usual ones");
        for decision in decide(&world, &properties, Some(1_000)) {
            let Temporal::Always(condition) = &decision.property.temporal else { continue };
            if decision.verdict != Verdict::Violated {
                assert_eq!(decision.several, None);
                continue;
            }
            violated += 1;
            let several = decision.several.expect("they were asked for");
            assert_eq!((several.known, several.incomplete), (several.listed.len(), None));
            let kinds = |one: &bellwether_model::check::DistinctCounterexample| {
                one.needs().collect::<Kinds>()
            };
            let steps: Vec<_> = several.listed.iter().map(|one| one.found.steps.len()).collect();
            assert!(steps.is_sorted(), "{steps:?}");
            assert_eq!(decision.counterexample.as_ref(), Some(&several.listed[0].found));
            let mut found: Vec<_> = several.listed.iter().map(kinds).zip(steps).collect();
            found.sort();
            assert_eq!(found, walked(&world, condition), "{} in {world:?}", decision.property.name);
        }
    }
    assert!(violated >= 5, "only {violated} properties are violated");
}

/// A cycle with only these kinds of faults exists if and only if a listed set is among them: that
/// is what the property says that excuses executions with others.
#[test]
fn the_faults_of_cycles_are_the_smallest_that_suffice() {
    let mut violated = 0;
    for world in worlds() {
        let usual = property::select(&world, &[]).expect("the usual ones");
        let asked = |property: &&Property| matches!(property.name, "stabilises" | "settles");
        for property in usual.iter().filter(asked) {
            let Temporal::Liveness(Liveness::EventuallyAlways(goal)) = &property.temporal else {
                panic!("{} is of this form", property.name)
            };
            let decision = decide(&world, std::slice::from_ref(property), Some(100)).remove(0);
            let several = decision.several.as_ref().map(|several| &several.listed[..]);
            let smallest: Vec<Kinds> =
                several.unwrap_or_default().iter().map(|one| one.needs().collect()).collect();
            violated += smallest.len();
            let kinds = world.scenario().faults.named().into_iter();
            let kinds: Vec<_> = kinds.filter(|(_, b)| *b != Budget::NONE).map(|k| k.0).collect();
            for set in 0..1_u32 << kinds.len() {
                let only: Kinds = kinds
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| set & 1 << at != 0)
                    .map(|k| *k.1)
                    .collect();
                let expected = smallest.iter().any(|small| small.is_subset(&only));
                let (goal, among) = (goal.clone(), only.clone());
                let judge = move |world: &World, state: &State| {
                    goal.holds(world, state) || !struck(state).is_subset(&among)
                };
                let excused = Condition::Made { judge: Arc::new(judge), asks_for_names: false };
                let temporal = Temporal::Liveness(Liveness::EventuallyAlways(excused));
                let excused = Property { temporal, premise: None, ..property.clone() };
                let verdict = decide(&world, &[excused], None).remove(0).verdict;
                assert_eq!(verdict == Verdict::Violated, expected, "{only:?} in {world:?}");
            }
        }
    }
    assert!(violated >= 2, "only {violated} cycles");
}
