//! That new names for terms change nothing: the world with them and the world without walk side by
//! side, and can do the same everywhere.

use super::{RaftElection, world};
use bellwether_model::property;
use bellwether_model::protocol::raft_election::Message;
use bellwether_model::world::{Action, Scenario, State, World};
use std::collections::{HashSet, VecDeque};
use std::mem::{Discriminant, discriminant};

type Pair = (State, State);

/// An action without the names in it.
#[derive(Debug, PartialEq)]
enum Nameless {
    Message(Discriminant<Action>, u8, u8, Discriminant<Message>),
    Other(Action),
}

fn nameless(action: &Action) -> Nameless {
    match action {
        Action::Deliver(e) | Action::Lose(e) | Action::Duplicate(e) => {
            let (from, to) = (e.from.number(), e.to.number());
            Nameless::Message(
                discriminant(action),
                from,
                to,
                discriminant(e.message.get::<RaftElection>()),
            )
        }
        other => Nameless::Other(*other),
    }
}

/// Walks both, breadth first, through at most `most` pairs of states. What any property asks of a
/// state must have the same answer in both. Returns how many pairs had different names.
pub(crate) fn walk(rules: RaftElection, scenario: Scenario, most: usize) -> usize {
    let named = world(rules, scenario);
    let plain = world(rules, scenario).concrete();
    let mut known: HashSet<Pair> = HashSet::from([(named.initial(), plain.initial())]);
    let mut todo: VecDeque<Pair> = known.iter().cloned().collect();
    let mut different = 0;
    while let Some((a, b)) = todo.pop_front() {
        different += usize::from(a != b);
        compare(&named, &plain, (&a, &b));
        let actions = |world: &World, state| {
            let mut actions = Vec::new();
            world.enabled(state, &mut actions);
            actions
        };
        let (can, could) = (actions(&named, &a), actions(&plain, &b));
        let names = |actions: &[_]| actions.iter().map(nameless).collect::<Vec<_>>();
        assert_eq!(names(&can), names(&could), "{rules:?}; {scenario}\n{a:?}\n{b:?}");
        for (one, other) in can.iter().zip(&could) {
            let next = (named.apply(&a, one).state, plain.apply(&b, other).state);
            if named.within_bounds(&next.0) && known.len() < most && known.insert(next.clone()) {
                todo.push_back(next);
            }
        }
    }
    different
}

fn compare(named: &World, plain: &World, (a, b): (&State, &State)) {
    for property in property::all::<RaftElection>() {
        property.temporal.map(|asked| {
            let answers = (asked.holds(named, a), asked.holds(plain, b));
            assert_eq!(answers.0, answers.1, "{}:\n{a:?}\n{b:?}", property.name);
        });
    }
}
