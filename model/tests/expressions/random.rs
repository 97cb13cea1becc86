//! The second way: random expressions, each evaluated by other code in every state that a plain
//! breadth-first walk of the world finds.

use super::world;
use crate::differential::explore;
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property::{self, never};
use bellwether_model::protocol::{Belief, Id};
use bellwether_model::world::{Scenario, State, World};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{HashSet, VecDeque};

/// How many states are evaluated at most.
const MOST: usize = 4_000;

/// What is asked; processes are numbers, which stand for variables as long as there are so many.
#[derive(Clone, Debug)]
enum Asked {
    Leads(usize),
    Up(usize),
    Follows(usize, usize),
    SameLeader(usize, usize),
    Quiescent,
    Crashed(u8),
    SameField(usize, usize, usize),
    LowerLeader(usize, usize),
    IsMember(usize),
    Not(Box<Asked>),
    And(Box<Asked>, Box<Asked>),
    Or(Box<Asked>, Box<Asked>),
    Implies(Box<Asked>, Box<Asked>),
    Exists(Box<Asked>),
    Forall(Box<Asked>),
    AtLeast(Box<Asked>, usize),
}

/// Protocols, with fields that their processes have.
const FIELDS: [(&str, &[&str]); 5] = [
    ("bully", &["role", "leader"]),
    ("garcia-molina", &["status", "coordinator", "halter"]),
    ("raft-election", &["role", "leader", "term", "vote"]),
    ("quorum", &["role", "leader", "epoch", "granted_to"]),
    ("vrrp", &["phase", "active", "asserted"]),
];

fn asked() -> impl Strategy<Value = Asked> {
    let p = || 0..3_usize;
    let leaf = prop_oneof![
        p().prop_map(Asked::Leads),
        p().prop_map(Asked::Up),
        (p(), p()).prop_map(|(a, b)| Asked::Follows(a, b)),
        (p(), p()).prop_map(|(a, b)| Asked::SameLeader(a, b)),
        Just(Asked::Quiescent),
        (0..2_u8).prop_map(Asked::Crashed),
        (p(), p(), 0..4_usize).prop_map(|(a, b, field)| Asked::SameField(a, b, field)),
        (p(), p()).prop_map(|(a, b)| Asked::LowerLeader(a, b)),
        p().prop_map(Asked::IsMember),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let pair = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        let one = || inner.clone().prop_map(Box::new);
        prop_oneof![
            one().prop_map(Asked::Not),
            pair().prop_map(|(a, b)| Asked::And(a, b)),
            pair().prop_map(|(a, b)| Asked::Or(a, b)),
            pair().prop_map(|(a, b)| Asked::Implies(a, b)),
            one().prop_map(Asked::Exists),
            one().prop_map(Asked::Forall),
            (one(), 1..3_usize).prop_map(|(a, most)| Asked::AtLeast(a, most)),
        ]
    })
}

/// An expression in a world: how it is written, and what it is worth.
struct Meaning<'w> {
    world: &'w World,
    fields: &'static [&'static str],
}

impl Meaning<'_> {
    fn process(&self, process: usize, bound: usize) -> String {
        match process < bound {
            true => format!("v{process}"),
            false => format!("{}", process % self.world.scenario().nodes + 1),
        }
    }

    fn field(&self, field: usize) -> &'static str {
        self.fields[field % self.fields.len()]
    }

    /// A process as fields are asked of it.
    fn whose(&self, process: usize, bound: usize) -> String {
        let named = self.process(process, bound);
        if process < bound { named } else { format!("p{named}") }
    }

    fn written(&self, asked: &Asked, bound: usize) -> String {
        let p = |process| self.process(process, bound);
        let of = |process| self.whose(process, bound);
        let deeper = |inner: &Asked| self.written(inner, bound + 1);
        let inner = |inner: &Asked| self.written(inner, bound);
        match asked {
            Asked::Leads(a) => format!("leads({})", p(*a)),
            Asked::Up(a) => format!("up({})", p(*a)),
            Asked::Follows(a, b) => format!("follows({}, {})", p(*a), p(*b)),
            Asked::SameLeader(a, b) => format!("leader({}) == leader({})", p(*a), p(*b)),
            Asked::Quiescent => "quiescent".to_owned(),
            Asked::Crashed(times) => format!("crashes > {times}"),
            Asked::SameField(a, b, at) => {
                let field = self.field(*at);
                format!("{}.{field} == {}.{field}", of(*a), of(*b))
            }
            Asked::LowerLeader(a, b) => format!("leader({}) < leader({})", p(*a), p(*b)),
            Asked::IsMember(a) => format!("{} <= nodes", p(*a)),
            Asked::Not(a) => format!("!({})", inner(a)),
            Asked::And(a, b) => format!("({}) && ({})", inner(a), inner(b)),
            Asked::Or(a, b) => format!("({}) || ({})", inner(a), inner(b)),
            Asked::Implies(a, b) => format!("({}) => ({})", inner(a), inner(b)),
            Asked::Exists(a) => format!("(exists v{bound}: {})", deeper(a)),
            Asked::Forall(a) => format!("(forall v{bound}: {})", deeper(a)),
            Asked::AtLeast(a, most) => format!("count(v{bound}: {}) >= {most}", deeper(a)),
        }
    }

    fn id(&self, process: usize, bound: &[Id]) -> Id {
        let nodes = self.world.scenario().nodes;
        bound.get(process).copied().unwrap_or(Id::at(process % nodes))
    }

    fn value(&self, state: &State, id: Id, field: usize) -> Value {
        let field = self.field(field);
        let own = serde_json::to_value(state.process(id)).expect("JSON");
        let stable = serde_json::to_value(state.stable(id)).expect("JSON");
        match own.get(field) {
            Some(_) if !state.up(id) => Value::Null,
            Some(value) => value.clone(),
            None => stable[field].clone(),
        }
    }

    fn worth(&self, state: &State, asked: &Asked, bound: &mut Vec<Id>) -> bool {
        let here = bound.clone();
        let id = |process: usize| self.id(process, &here);
        let leader = |process: usize| match state.belief(id(process)) {
            Some(Belief::Leads) => Some(id(process)),
            Some(Belief::Follows(leader)) => Some(leader),
            Some(Belief::Undecided) | None => None,
        };
        match asked {
            Asked::Leads(a) => state.belief(id(*a)) == Some(Belief::Leads),
            Asked::Up(a) => state.up(id(*a)),
            Asked::Follows(a, b) => state.belief(id(*a)) == Some(Belief::Follows(id(*b))),
            Asked::SameLeader(a, b) => leader(*a) == leader(*b),
            Asked::Quiescent => self.world.is_quiescent(state),
            Asked::Crashed(times) => state.spent().crashes > *times,
            Asked::SameField(a, b, field) => {
                self.value(state, id(*a), *field) == self.value(state, id(*b), *field)
            }
            Asked::LowerLeader(a, b) => leader(*a).zip(leader(*b)).is_some_and(|(a, b)| a < b),
            Asked::IsMember(a) => id(*a).index() < self.world.scenario().nodes,
            Asked::Not(a) => !self.worth(state, a, bound),
            Asked::And(a, b) => self.worth(state, a, bound) && self.worth(state, b, bound),
            Asked::Or(a, b) => self.worth(state, a, bound) || self.worth(state, b, bound),
            Asked::Implies(a, b) => !self.worth(state, a, bound) || self.worth(state, b, bound),
            Asked::Exists(a) => self.count(state, a, bound) > 0,
            Asked::Forall(a) => self.count(state, a, bound) == state.members().count(),
            Asked::AtLeast(a, most) => self.count(state, a, bound) >= *most,
        }
    }

    fn count(&self, state: &State, asked: &Asked, bound: &mut Vec<Id>) -> usize {
        let mut count = 0;
        for id in state.members() {
            bound.push(id);
            count += usize::from(self.worth(state, asked, bound));
            bound.pop();
        }
        count
    }

    /// After how many steps a state first satisfies it, if one does; nothing if there are too many.
    fn first(&self, asked: &Asked) -> Option<Option<usize>> {
        let initial = self.world.initial();
        let (mut known, mut enabled) = (HashSet::from([initial.clone()]), Vec::new());
        let mut queue = VecDeque::from([(initial, 0)]);
        while let Some((state, depth)) = queue.pop_front() {
            if self.worth(&state, asked, &mut Vec::new()) {
                return Some(Some(depth));
            }
            enabled.clear();
            self.world.enabled(&state, &mut enabled);
            for action in &enabled {
                let next = self.world.apply(&state, action).state;
                if known.insert(next.clone()) {
                    queue.push_back((next, depth + 1));
                }
            }
            if known.len() > MOST {
                return None;
            }
        }
        Some(None)
    }
}

/// A search says what the evaluation of all states says, with as few steps.
#[test]
fn random_expressions_are_decided_as_an_evaluation_of_all_states_does() {
    let cases = (0..FIELDS.len(), 2..=3_usize, 0..=1_u8, asked());
    explore(300, cases, |(protocol, nodes, recoveries, asked)| {
        let (name, fields) = FIELDS[*protocol];
        let world = world(name, Scenario::calm(*nodes).with_crashes(1, *recoveries));
        let meaning = Meaning { world: &world.concrete(), fields };
        let text = meaning.written(asked, 0);
        let Some(expected) = meaning.first(asked) else { return Ok(false) };
        let property = match property::select(&world, &[never(&text)]) {
            Ok(property) => property,
            // Some draw more than there is room for.
            Err(why) if why.to_string().contains(" at most ") => return Ok(false),
            Err(why) => return Err(why.to_string()),
        };
        let limits = Limits { states: Some(1_000_000), ..Limits::NONE };
        let options = Options { limits, ..Options::default() };
        let report = check(&world, &property, &options, &mut |_| {}).map_err(|e| e.to_string())?;
        if !report.bounds_met.is_empty() {
            return Ok(false);
        }
        let decision = &report.decisions[0];
        let found = decision.counterexample.as_ref().map(|found| found.steps.len());
        let holds = decision.verdict == Verdict::Holds;
        match holds == expected.is_none() && found == expected {
            true => Ok(true),
            false => Err(format!("{name}: {text}: {found:?}, but states say {expected:?}")),
        }
    });
}
