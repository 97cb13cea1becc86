//! The second way: random expressions, each evaluated by other code in every state that a plain
//! breadth-first walk of the world finds.

use crate::asked::world;
use crate::differential::explore;
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property::{self, never};
use bellwether_model::protocol::{Belief, Id};
use bellwether_model::world::{State, World};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{HashSet, VecDeque};

/// How many states are evaluated at most.
const MOST: usize = 4_000;

/// What is asked; processes are numbers, which stand for variables as long as there are so many.
#[derive(Clone, Debug)]
enum Asked {
    /// Of two processes and a number.
    Of(usize, [usize; 2], usize),
    Not(Box<Asked>),
    Both(usize, Box<Asked>, Box<Asked>),
    /// Of how many processes: of some, of at least so many, or of all.
    Count(Box<Asked>, Option<usize>),
}

/// A moment, the processes of which something is asked, and a field or a number.
struct Moment<'s> {
    meaning: &'s Meaning<'s>,
    state: &'s State,
    of: [Id; 2],
    number: usize,
}

impl Moment<'_> {
    fn belief(&self, at: usize) -> Option<Belief> {
        self.state.belief(self.of[at])
    }

    fn leader(&self, at: usize) -> Option<Id> {
        match self.belief(at)? {
            Belief::Leads => Some(self.of[at]),
            Belief::Follows(leader) => Some(leader),
            Belief::Undecided => None,
        }
    }

    fn field(&self, at: usize) -> Value {
        let (id, field) = (self.of[at], self.meaning.field(self.number));
        let own = serde_json::to_value(self.state.process(id)).expect("JSON");
        let stable = serde_json::to_value(self.state.stable(id)).expect("JSON");
        match own.get(field) {
            Some(_) if !self.state.up(id) => Value::Null,
            Some(value) => value.clone(),
            None => stable[field].clone(),
        }
    }
}

/// What a question is worth at a moment.
type Worth = fn(&Moment<'_>) -> bool;

/// What two questions together are worth.
type Joined = fn(bool, bool) -> bool;

/// How each question on processes A and B is written, with #A and #B where fields are asked of
/// them, and what it is worth.
const QUESTIONS: [(&str, Worth); 9] = [
    ("leads(A)", |m| m.belief(0) == Some(Belief::Leads)),
    ("up(A)", |m| m.state.up(m.of[0])),
    ("follows(A, B)", |m| m.belief(0) == Some(Belief::Follows(m.of[1]))),
    ("leader(A) == leader(B)", |m| m.leader(0) == m.leader(1)),
    ("quiescent", |m| m.meaning.world.is_quiescent(m.state)),
    ("crashes > NUMBER", |m| usize::from(m.state.spent().crashes) > m.number % 2),
    ("#A.FIELD == #B.FIELD", |m| m.field(0) == m.field(1)),
    ("leader(A) < leader(B)", |m| m.leader(0).zip(m.leader(1)).is_some_and(|(a, b)| a < b)),
    ("A <= nodes", |m| m.of[0].index() < m.meaning.world.scenario().nodes),
];

/// How two questions are put together.
const BOTH: [(&str, Joined); 3] =
    [("&&", |a, b| a && b), ("||", |a, b| a || b), ("=>", |a, b| !a || b)];

/// Protocols, with fields that their processes have.
const FIELDS: [(&str, &[&str]); 5] = [
    ("bully", &["role", "leader"]),
    ("garcia-molina", &["status", "coordinator", "halter"]),
    ("raft-election", &["role", "leader", "term", "vote"]),
    ("quorum", &["role", "leader", "epoch", "granted_to"]),
    ("vrrp", &["phase", "active", "asserted"]),
];

fn asked() -> impl Strategy<Value = Asked> {
    let leaf = (0..QUESTIONS.len(), [0..3_usize, 0..3], 0..4_usize);
    let leaf = leaf.prop_map(|(question, of, number)| Asked::Of(question, of, number));
    leaf.prop_recursive(4, 12, 2, |inner| {
        let one = || inner.clone().prop_map(Box::new);
        let count = prop_oneof![Just(None), (0..3_usize).prop_map(Some)];
        prop_oneof![
            1 => one().prop_map(Asked::Not),
            3 => (0..BOTH.len(), one(), one()).prop_map(|(how, a, b)| Asked::Both(how, a, b)),
            3 => (one(), count).prop_map(|(a, most)| Asked::Count(a, most)),
        ]
    })
}

/// An expression in a world: how it is written, and what it is worth.
struct Meaning<'w> {
    world: &'w World,
    fields: &'static [&'static str],
}

impl Meaning<'_> {
    fn field(&self, field: usize) -> &'static str {
        self.fields[field % self.fields.len()]
    }

    fn written(&self, asked: &Asked, bound: usize) -> String {
        let inner = |asked: &Asked| self.written(asked, bound);
        match asked {
            Asked::Of(question, of, number) => {
                let named = of.map(|process| match process < bound {
                    true => format!("v{process}"),
                    false => format!("{}", process % self.world.scenario().nodes + 1),
                });
                // A process as fields are asked of it.
                let whose = [0, 1].map(|at: usize| match of[at] < bound {
                    true => named[at].clone(),
                    false => format!("p{}", named[at]),
                });
                let text = QUESTIONS[*question].0.replace("NUMBER", &(number % 2).to_string());
                let text = text.replace("#A", &whose[0]).replace("#B", &whose[1]);
                let text = text.replace('A', &named[0]).replace('B', &named[1]);
                text.replace("FIELD", self.field(*number))
            }
            Asked::Not(a) => format!("!({})", inner(a)),
            Asked::Both(how, a, b) => format!("({}) {} ({})", inner(a), BOTH[*how].0, inner(b)),
            Asked::Count(a, most) => {
                let deeper = self.written(a, bound + 1);
                match most {
                    None => format!("(forall v{bound}: {deeper})"),
                    Some(0) => format!("(exists v{bound}: {deeper})"),
                    Some(most) => format!("count(v{bound}: {deeper}) >= {most}"),
                }
            }
        }
    }

    fn worth(&self, state: &State, asked: &Asked, bound: &[Id]) -> bool {
        let inner = |asked: &Asked| self.worth(state, asked, bound);
        match asked {
            Asked::Of(question, of, number) => {
                let nodes = self.world.scenario().nodes;
                let id = |at: usize| bound.get(at).copied().unwrap_or(Id::at(at % nodes));
                let of = of.map(id);
                QUESTIONS[*question].1(&Moment { meaning: self, state, of, number: *number })
            }
            Asked::Not(a) => !inner(a),
            Asked::Both(how, a, b) => BOTH[*how].1(inner(a), inner(b)),
            Asked::Count(a, most) => {
                let fits = |id: &Id| self.worth(state, a, &[bound, &[*id]].concat());
                let count = state.members().filter(fits).count();
                count >= most.map_or(state.members().count(), |most| most.max(1))
            }
        }
    }

    /// After how many steps a state first satisfies it, if one does; nothing if there are too many.
    fn first(&self, asked: &Asked) -> Option<Option<usize>> {
        let initial = self.world.initial();
        let mut known = HashSet::from([initial.clone()]);
        let mut queue = VecDeque::from([(initial, 0)]);
        while let Some((state, depth)) = queue.pop_front() {
            if self.worth(&state, asked, &[]) {
                return Some(Some(depth));
            }
            for action in self.world.actions(&state) {
                let next = self.world.apply(&state, &action).state;
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
        let world = world(&format!("{name} --nodes {nodes} --recoveries {recoveries}"));
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
