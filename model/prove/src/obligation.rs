//! What has to be proved, one question for a solver each, and what comes of it.
//!
//! The invariant holds at the beginning; each action keeps each of its parts, if all held before;
//! and each property follows from it. Then the properties hold in every state that can be reached,
//! with any number of things of each sort. For each action it is also shown that it can happen
//! where the invariant holds, so that no proof is about nothing.
//!
//! A part that some action breaks is left out, and so is what cannot be proved without it, until
//! what is left proves itself. A property that follows from what is left is proved.

use super::relation::{Expr, Kind, Relation, Sort, Symbol};
use super::sexp::Sexp;
use super::smt::{When, Writer};
use super::solver::{Answer, Solver, SolverError, Try};
use super::structure::Structure;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// This part of the invariant holds at the beginning.
    Begins(usize),
    /// This action keeps this part of the invariant.
    Keeps {
        /// The action.
        action: usize,
        /// The part.
        part: usize,
    },
    /// This property follows from the invariant.
    Follows(usize),
    /// This action can happen in a state in which the invariant holds.
    Happens(usize),
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It is so.
    Proved,
    /// It is not; if it is about a step or a state, this is one that shows it.
    Fails(Option<Box<Shown>>),
    /// The solver did not decide it.
    Unknown(Why),
}

/// Why something is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The solver gave up.
    GaveUp,
    /// The time was over.
    Time,
    /// A signal came.
    Stopped,
}

/// A state, or a step, that shows that something is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The state, or the one before the step.
    pub before: Structure,
    /// Of a step, its action, the parameters, and the state after it.
    pub step: Option<(usize, Vec<i64>, Structure)>,
}

/// A question and its answer.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// What is asked.
    pub goal: Goal,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

/// What is proved of a relation, and how.
#[derive(Clone, Debug)]
pub struct Proof {
    /// All questions about the whole invariant, with their answers.
    pub obligations: Vec<Obligation>,
    /// The parts of the invariant that are left in the end.
    pub kept: Vec<bool>,
    /// Of each property, whether it follows from what is left.
    pub properties: Vec<Obligation>,
}

/// How many things there are of each sort at most where a state is sought that shows something.
const MOST_THINGS: usize = 4;
/// How long is tried to prove something before a state is sought that shows the opposite.
const FIRST_TRY: Duration = Duration::from_secs(2);

/// Proves what can be proved, and calls `done` after each of the [`questions`].
///
/// # Errors
/// If the solver cannot be used.
pub fn prove(
    relation: &Relation,
    solver: &Solver,
    done: &mut dyn FnMut(&Obligation),
) -> Result<Proof, SolverError> {
    let asker = Asker { relation, solver };
    let mut ask = |goal, kept: &[bool]| -> Result<Obligation, SolverError> {
        let one = asker.timed(goal, kept)?;
        done(&one);
        Ok(one)
    };
    let parts = relation.invariant.len();
    let whole = vec![true; parts];
    let mut obligations = Vec::new();
    for part in 0..parts {
        obligations.push(ask(Goal::Begins(part), &whole)?);
    }
    for action in 0..relation.actions.len() {
        obligations.push(ask(Goal::Happens(action), &whole)?);
        for part in 0..parts {
            obligations.push(ask(Goal::Keeps { action, part }, &whole)?);
        }
    }
    let mut kept = whole;
    let mut broken = drop_broken(&mut kept, &obligations);
    while broken {
        let mut again = Vec::new();
        for action in 0..relation.actions.len() {
            for part in (0..parts).filter(|&part| kept[part]) {
                again.push(asker.timed(Goal::Keeps { action, part }, &kept)?);
            }
        }
        broken = drop_broken(&mut kept, &again);
    }
    let properties = (0..relation.properties.len()).map(|at| ask(Goal::Follows(at), &kept));
    let properties = properties.collect::<Result<_, _>>()?;
    Ok(Proof { obligations, kept, properties })
}

/// How many questions there are about the whole invariant and the properties.
#[must_use]
pub fn questions(relation: &Relation) -> usize {
    let (actions, parts) = (relation.actions.len(), relation.invariant.len());
    parts + actions * (1 + parts) + relation.properties.len()
}

/// Leaves out the parts that are not proved; whether there was one.
fn drop_broken(kept: &mut [bool], obligations: &[Obligation]) -> bool {
    let before = kept.to_vec();
    for Obligation { goal, outcome, .. } in obligations {
        if let (Goal::Begins(part) | Goal::Keeps { part, .. }, false) =
            (goal, matches!(outcome, Outcome::Proved))
        {
            kept[*part] = false;
        }
    }
    before != kept
}

struct Asker<'a> {
    relation: &'a Relation,
    solver: &'a Solver,
}

impl Asker<'_> {
    fn timed(&self, goal: Goal, kept: &[bool]) -> Result<Obligation, SolverError> {
        let begun = Instant::now();
        let outcome = self.ask(goal, kept)?;
        Ok(Obligation { goal, outcome, took: begun.elapsed() })
    }

    fn ask(&self, goal: Goal, kept: &[bool]) -> Result<Outcome, SolverError> {
        if let Goal::Happens(_) = goal {
            return Ok(match self.seek(goal, kept)? {
                Sought::Found(_) => Outcome::Proved,
                Sought::Nothing => Outcome::Fails(None),
                Sought::Unknown(why) => Outcome::Unknown(why),
            });
        }
        let script = script(self.relation, goal, kept, None);
        let first = self.solver.ask(&script, Try::First, FIRST_TRY)?;
        if first == Answer::Unsat {
            return Ok(Outcome::Proved);
        }
        if first == Answer::Stopped {
            return Ok(Outcome::Unknown(Why::Stopped));
        }
        match self.seek(goal, kept)? {
            Sought::Found(shown) => return Ok(Outcome::Fails(Some(Box::new(shown)))),
            Sought::Unknown(Why::Stopped) => return Ok(Outcome::Unknown(Why::Stopped)),
            Sought::Unknown(_) | Sought::Nothing => {}
        }
        Ok(match self.solver.ask(&script, Try::Second, self.solver.limit)? {
            Answer::Unsat => Outcome::Proved,
            Answer::Sat(_) | Answer::Unknown => Outcome::Unknown(Why::GaveUp),
            Answer::TooLate => Outcome::Unknown(Why::Time),
            Answer::Stopped => Outcome::Unknown(Why::Stopped),
        })
    }

    /// The smallest state or step that satisfies the question.
    fn seek(&self, goal: Goal, kept: &[bool]) -> Result<Sought, SolverError> {
        let mut why = None;
        for sizes in sizes(self.relation) {
            let script = script(self.relation, goal, kept, Some(&sizes));
            match self.solver.ask(&script, Try::First, self.solver.limit)? {
                Answer::Unsat => {}
                Answer::Sat(Some(values)) => {
                    let shown = self.shown(goal, kept, &sizes, &values);
                    return shown
                        .map(Sought::Found)
                        .map_err(|said| SolverError::Strange { path: self.solver.name(), said });
                }
                Answer::Sat(None) | Answer::Unknown => why = Some(Why::GaveUp),
                // With more things it takes longer.
                Answer::TooLate => return Ok(Sought::Unknown(Why::Time)),
                Answer::Stopped => return Ok(Sought::Unknown(Why::Stopped)),
            }
        }
        Ok(why.map_or(Sought::Nothing, Sought::Unknown))
    }

    /// What the solver has found. Whether it satisfies the question is found out again, without
    /// the solver.
    fn shown(
        &self,
        goal: Goal,
        kept: &[bool],
        sizes: &[usize],
        values: &Sexp,
    ) -> Result<Shown, String> {
        let relation = self.relation;
        let action = action_of(goal).map(|at| (at, &relation.actions[at]));
        let writer = Writer::new(relation, Some(sizes));
        let (before, after, params) = writer.read(action.map(|(_, action)| action), values)?;
        let steps =
            action.is_none_or(|(_, action)| before.is_step(relation, action, &params, &after));
        let assumed = match goal {
            Goal::Begins(_) => before.holds(relation, &relation.init, &[]),
            _ => before.satisfies(relation, |part| kept[part]),
        };
        let breaks = match goal {
            Goal::Begins(part) => !before.holds(relation, &relation.invariant[part].formula, &[]),
            Goal::Keeps { part, .. } => {
                !after.holds(relation, &relation.invariant[part].formula, &[])
            }
            Goal::Follows(at) => !before.holds(relation, &relation.properties[at].formula, &[]),
            Goal::Happens(_) => true,
        };
        if !(before.is_possible(relation) && steps && assumed && breaks) {
            return Err(format!("{goal:?} is not shown by what was found"));
        }
        Ok(Shown { before, step: action.map(|(at, _)| (at, params, after)) })
    }
}

enum Sought {
    Found(Shown),
    Nothing,
    Unknown(Why),
}

fn action_of(goal: Goal) -> Option<usize> {
    match goal {
        Goal::Keeps { action, .. } | Goal::Happens(action) => Some(action),
        Goal::Begins(_) | Goal::Follows(_) => None,
    }
}

/// How many things of each sort are tried, few first.
fn sizes(relation: &Relation) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in &relation.sorts {
        let longer =
            |sizes: Vec<usize>| (1..=MOST_THINGS).map(move |size| [&sizes[..], &[size]].concat());
        all = all.into_iter().flat_map(longer).collect();
    }
    // No sort has much more than another.
    all.retain(|sizes| sizes.iter().max() <= sizes.iter().min().map(|least| least + 2).as_ref());
    all.sort_by_key(|sizes| (sizes.iter().sum::<usize>(), sizes.clone()));
    all
}

/// The question as SMT-LIB text: the goal is proved if it is not satisfiable; an action can happen
/// if it is.
#[must_use]
pub fn script(relation: &Relation, goal: Goal, kept: &[bool], sizes: Option<&[usize]>) -> String {
    let writer = Writer::new(relation, sizes);
    let mut out = String::new();
    if sizes.is_some() {
        out += "(set-option :produce-models true)\n";
    }
    out += "(set-logic ALL)\n";
    out += &writer.declarations();
    let mut assert = |formula: &Expr, when| {
        let _ = writeln!(out, "(assert {})", writer.formula(formula, when));
    };
    match goal {
        Goal::Begins(_) => assert(&relation.init, When::Before),
        _ => {
            for (part, _) in relation.invariant.iter().zip(kept).filter(|(_, kept)| **kept) {
                assert(&part.formula, When::Before);
            }
        }
    }
    let not = |formula: &Expr| formula.clone().negated();
    match goal {
        Goal::Begins(part) => assert(&not(&relation.invariant[part].formula), When::Before),
        Goal::Follows(at) => assert(&not(&relation.properties[at].formula), When::Before),
        Goal::Keeps { part, .. } => assert(&not(&relation.invariant[part].formula), When::After),
        Goal::Happens(_) => {}
    }
    let action = action_of(goal).map(|at| &relation.actions[at]);
    if let Some(action) = action {
        out += &writer.step(action);
    }
    out += "(check-sat)\n";
    if sizes.is_some() {
        let _ = writeln!(out, "(get-value ({}))", writer.values(action).join(" "));
    }
    out
}

fn name(relation: &Relation, sort: Sort, value: i64) -> String {
    match sort {
        Sort::Of(sort) => format!("{}{}", relation.sorts[sort].letter, value + 1),
        Sort::Truth | Sort::Number => value.to_string(),
    }
}

/// What a symbol gives, in words: where it holds, or its value for each argument.
fn told(relation: &Relation, structure: &Structure, at: usize) -> String {
    let symbol = &relation.symbols[at];
    let row = |(place, args): (usize, Vec<i64>)| {
        let args = args.iter().zip(&symbol.args);
        let args: Vec<_> = args.map(|(&arg, &sort)| name(relation, Sort::Of(sort), arg)).collect();
        let value = structure.tables[at][place];
        match (symbol.result, args.join(" ")) {
            (Sort::Truth, _) if value == 0 => None,
            (Sort::Truth, args) if symbol.args.is_empty() => Some(format!("yes{args}")),
            (Sort::Truth, args) if symbol.args.len() == 1 => Some(args),
            (Sort::Truth, args) => Some(format!("({args})")),
            (sort, args) if args.is_empty() => Some(name(relation, sort, value)),
            (sort, args) => Some(format!("{args}: {}", name(relation, sort, value))),
        }
    };
    let rows: Vec<_> = structure.each(&symbol.args).enumerate().filter_map(row).collect();
    let between = if symbol.result == Sort::Truth { " " } else { ", " };
    if rows.is_empty() { "-".to_owned() } else { rows.join(between) }
}

/// A row for each symbol: its name, and what it gives before and after; of what cannot change,
/// once.
#[must_use]
pub fn pair(
    relation: &Relation,
    before: &Structure,
    after: Option<&Structure>,
) -> Vec<(String, String, Option<String>)> {
    let row = |(at, symbol): (usize, &Symbol)| {
        let changes = symbol.kind != Kind::Rigid;
        let after = after.filter(|_| changes).map(|after| told(relation, after, at));
        (symbol.name.clone(), told(relation, before, at), after)
    };
    relation.symbols.iter().enumerate().map(row).collect()
}

/// The step in words: the action with its parameters.
#[must_use]
pub fn step_words(relation: &Relation, shown: &Shown) -> Option<String> {
    let (action, params, _) = shown.step.as_ref()?;
    let action = &relation.actions[*action];
    let given = action.params.iter().zip(params).map(|((param, sort), &value)| {
        format!("{param} = {}", name(relation, Sort::Of(*sort), value))
    });
    let given: Vec<_> = given.collect();
    Some(match given.is_empty() {
        true => action.name.clone(),
        false => format!("{}, {}", action.name, given.join(", ")),
    })
}
