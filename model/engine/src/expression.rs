//! Questions on states, written as text: `exists p, q: p != q && leads(p) && leads(q)`.
//!
//! The language is the same for every protocol. It speaks of what each process believes, of its
//! role, its timers and its links, and of every field of what a process of the protocol knows and
//! stores. What a field is called is learned from a few executions of the world that is asked
//! about, so that a name that nothing has is an error, and not an answer.

mod meaning;
mod read;

pub use read::ExpressionError;

use crate::protocol::{Belief, Id};
use crate::world::{Action, Budget, Condition, State, World};
use meaning::{Ask, Kinds, Resolver, TRUTH, Term, words};
use read::{Node, Quantifier, Sign, read};
use serde_json::Value as Json;
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

/// An expression on the states of one world.
#[derive(Clone)]
pub struct Expression(Arc<Meant>);

/// A text, and what it means.
struct Meant {
    text: String,
    term: Term,
    asks_for_names: bool,
}

impl Expression {
    /// Reads an expression on the states of `world`, whatever its values are.
    ///
    /// # Errors
    /// Where the text is no such expression, and why.
    pub fn read(text: &str, world: &World) -> Result<Expression, ExpressionError> {
        Self::with(text, world, |_, _, _| Ok(()))
    }

    /// Reads an expression that is true or false in each state of `world`.
    ///
    /// # Errors
    /// As [`Expression::read`], and if its values are not true and false.
    pub fn read_truth(text: &str, world: &World) -> Result<Expression, ExpressionError> {
        Self::with(text, world, |text, node, kinds| match kinds & TRUTH {
            0 => {
                let what = words(kinds);
                let wrong = format!("this is {what}; ask for something that is true or false");
                Err(ExpressionError::new(text, node.at.clone(), wrong))
            }
            _ => Ok(()),
        })
    }

    fn with(
        text: &str,
        world: &World,
        fits: impl Fn(&str, &Node, Kinds) -> Result<(), ExpressionError>,
    ) -> Result<Expression, ExpressionError> {
        let text = one_line(text);
        let node = read(&text)?;
        let known = OnceCell::new();
        let mut resolver = Resolver::new(&text, world, &known);
        let typed = resolver.resolve(&node)?;
        fits(&text, &node, typed.kinds)?;
        let (term, asks_for_names) = (typed.term, resolver.asks_for_names());
        Ok(Expression(Arc::new(Meant { text, term, asks_for_names })))
    }

    /// Returns the text of the expression, on one line.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns whether the expression is true in `state`.
    #[must_use]
    pub fn holds(&self, world: &World, state: &State) -> bool {
        Evaluation::new(world, state).truth(&self.0.term)
    }

    /// Returns the value of the expression in `state`, as JSON.
    #[must_use]
    pub fn json(&self, world: &World, state: &State) -> Json {
        Value::json(Evaluation::new(world, state).value(&self.0.term))
    }

    /// Returns the values of the expression, as JSON, in the initial state and after each of
    /// `actions`, with the names that the processes use.
    ///
    /// # Panics
    /// If one of the actions is not enabled when its turn comes.
    #[must_use]
    pub fn values(&self, world: &World, actions: &[Action]) -> Vec<Json> {
        let (actions, world) = (world.in_concrete_terms(actions), world.concrete());
        let mut state = world.initial();
        let mut values = vec![self.json(&world, &state)];
        for action in &actions {
            state = world.apply(&state, action).state;
            values.push(self.json(&world, &state));
        }
        values
    }

    /// Returns the condition that the expression is true, or that it is false.
    #[must_use]
    pub fn condition(&self, wanted: bool) -> Condition {
        let (of, asks_for_names) = (self.clone(), self.0.asks_for_names);
        let judge = move |world: &World, state: &State| of.holds(world, state) == wanted;
        Condition::Made { judge: Arc::new(judge), asks_for_names }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Returns the text with one space between words, and nothing that a terminal obeys.
#[must_use]
pub fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").replace(char::is_control, "\u{FFFD}")
}

/// A value. What is asked of a process that does not exist, or of a field that a process does not
/// have at the moment, is nothing; and what is nothing is not true.
#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Nothing,
    Truth(bool),
    Number(i64),
    Word(&'a str),
    Data(&'a Json),
}

impl<'a> Value<'a> {
    fn of(json: &'a Json) -> Self {
        match json {
            Json::Null => Value::Nothing,
            Json::Bool(truth) => Value::Truth(*truth),
            Json::Number(number) => number.as_i64().map_or(Value::Nothing, Value::Number),
            Json::String(word) => Value::Word(word),
            Json::Array(_) | Json::Object(_) => Value::Data(json),
        }
    }

    fn json(self) -> Json {
        match self {
            Value::Nothing => Json::Null,
            Value::Truth(truth) => truth.into(),
            Value::Number(number) => number.into(),
            Value::Word(word) => word.into(),
            Value::Data(json) => json.clone(),
        }
    }

    /// Whether two values are equal. A word with data equals the word.
    fn equals(self, other: Value<'_>) -> bool {
        match (self, other) {
            (Value::Nothing, Value::Nothing) => true,
            (Value::Nothing, Value::Word(word)) | (Value::Word(word), Value::Nothing) => {
                word == "none"
            }
            (Value::Truth(one), Value::Truth(other)) => one == other,
            (Value::Number(one), Value::Number(other)) => one == other,
            (Value::Word(one), Value::Word(other)) => same_word(one, other),
            (Value::Data(Json::Object(fields)), Value::Word(word))
            | (Value::Word(word), Value::Data(Json::Object(fields))) => {
                fields.len() == 1 && fields.keys().all(|name| same_word(name, word))
            }
            (Value::Data(one), Value::Data(other)) => one == other,
            _ => false,
        }
    }
}

/// Words of several parts are written with `-` between them, and are shown with a space.
fn same_word(one: &str, other: &str) -> bool {
    fn bytes(word: &str) -> impl Iterator<Item = u8> {
        word.bytes().map(|byte| if byte == b' ' { b'-' } else { byte })
    }
    bytes(one).eq(bytes(other))
}

/// Computes values in one state.
struct Evaluation<'a> {
    world: &'a World,
    state: &'a State,
    /// The processes that variables stand for.
    bound: SmallVec<[i64; 8]>,
}

impl<'a> Evaluation<'a> {
    fn new(world: &'a World, state: &'a State) -> Self {
        Evaluation { world, state, bound: SmallVec::new() }
    }

    fn truth(&mut self, term: &'a Term) -> bool {
        matches!(self.value(term), Value::Truth(true))
    }

    fn number(&mut self, term: &'a Term) -> Option<i64> {
        match self.value(term) {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn process(&mut self, term: &'a Term) -> Option<Id> {
        let number = self.number(term)?;
        self.state.ids().find(|id| i64::from(id.number()) == number)
    }

    fn value(&mut self, term: &'a Term) -> Value<'a> {
        match term {
            Term::Nothing => Value::Nothing,
            Term::Truth(truth) => Value::Truth(*truth),
            Term::Number(number) => Value::Number(*number),
            Term::Word(word) => Value::Word(word),
            Term::Variable(place) => Value::Number(self.bound[*place]),
            Term::Quiescent => Value::Truth(self.world.is_quiescent(self.state)),
            Term::Struck(kind) => match self.state.spent().named()[*kind].1 {
                Budget::AtMost(times) => Value::Number(times.into()),
                Budget::Unbounded => Value::Nothing,
            },
            Term::Ask(ask, of) => self.ask(*ask, of).unwrap_or(match ask {
                Ask::Leader | Ask::Role | Ask::Size | Ask::Own | Ask::Stable => Value::Nothing,
                _ => Value::Truth(false),
            }),
            Term::Armed(of, timer) => {
                let id = self.process(of);
                let armed = |id| self.state.armed(id).any(|armed| armed == *timer);
                Value::Truth(id.is_some_and(armed))
            }
            Term::Field(of, name) => match self.value(of) {
                Value::Data(Json::Object(fields)) => {
                    fields.get(name).map_or(Value::Nothing, Value::of)
                }
                _ => Value::Nothing,
            },
            Term::Index(of, at) => match (self.value(of), self.number(at)) {
                (Value::Data(Json::Array(all)), Some(at)) => {
                    let place = usize::try_from(at).ok().and_then(|at| at.checked_sub(1));
                    place.and_then(|at| all.get(at)).map_or(Value::Nothing, Value::of)
                }
                _ => Value::Nothing,
            },
            Term::Not(inner) => Value::Truth(!self.truth(inner)),
            Term::Binary(sign, left, right) => self.binary(*sign, left, right),
            Term::Quantified(quantifier, body) => self.quantified(*quantifier, body),
        }
    }

    /// The answer of processes; none if one of them does not exist.
    fn ask(&mut self, ask: Ask, of: &'a [Term]) -> Option<Value<'a>> {
        if ask == Ask::Size {
            let Value::Data(Json::Array(all)) = self.value(&of[0]) else { return None };
            return Some(Value::Number(all.len() as i64));
        }
        let id = self.process(&of[0])?;
        let other = of.get(1).map(|other| self.process(other));
        let state = self.state;
        let belief = state.belief(id);
        Some(match ask {
            Ask::Up => Value::Truth(state.up(id)),
            Ask::Paused => Value::Truth(state.paused(id)),
            Ask::Leads => Value::Truth(state.leads(id)),
            Ask::Follows => Value::Truth(belief == Some(Belief::Follows(other??))),
            Ask::Connected => Value::Truth(state.connected(id, other??)),
            Ask::Leader => {
                belief?;
                let leader = state.leader(id);
                leader.map_or(Value::Nothing, |leader| Value::Number(leader.number().into()))
            }
            Ask::Role => Value::Word(state.role(id)),
            Ask::Own if !state.up(id) => Value::Nothing,
            Ask::Own => Value::of(state.process(id).json()),
            Ask::Stable => Value::of(state.stable(id).json()),
            Ask::Size => return None,
        })
    }

    fn binary(&mut self, sign: Sign, left: &'a Term, right: &'a Term) -> Value<'a> {
        let compared = |this: &mut Self, holds: fn(&i64, &i64) -> bool| {
            let numbers = this.number(left).zip(this.number(right));
            Value::Truth(numbers.is_some_and(|(left, right)| holds(&left, &right)))
        };
        let sum = |this: &mut Self, add: fn(i64, i64) -> i64| {
            let numbers = this.number(left).zip(this.number(right));
            numbers.map_or(Value::Nothing, |(left, right)| Value::Number(add(left, right)))
        };
        match sign {
            Sign::Implies => Value::Truth(!self.truth(left) || self.truth(right)),
            Sign::Or => Value::Truth(self.truth(left) || self.truth(right)),
            Sign::And => Value::Truth(self.truth(left) && self.truth(right)),
            Sign::Equal => Value::Truth(self.value(left).equals(self.value(right))),
            Sign::Unequal => Value::Truth(!self.value(left).equals(self.value(right))),
            Sign::Less => compared(self, i64::lt),
            Sign::AtMost => compared(self, i64::le),
            Sign::More => compared(self, i64::gt),
            Sign::AtLeast => compared(self, i64::ge),
            Sign::Plus => sum(self, i64::saturating_add),
            Sign::Minus => sum(self, i64::saturating_sub),
            Sign::In => {
                let one = self.value(left);
                let Value::Data(Json::Array(all)) = self.value(right) else {
                    return Value::Truth(false);
                };
                Value::Truth(all.iter().any(|other| one.equals(Value::of(other))))
            }
        }
    }

    fn quantified(&mut self, quantifier: Quantifier, body: &'a Term) -> Value<'a> {
        let mut count = 0;
        for id in self.state.members() {
            self.bound.push(id.number().into());
            let holds = self.truth(body);
            self.bound.pop();
            match (quantifier, holds) {
                (Quantifier::Exists, true) => return Value::Truth(true),
                (Quantifier::Forall, false) => return Value::Truth(false),
                _ => count += i64::from(holds),
            }
        }
        match quantifier {
            Quantifier::Exists => Value::Truth(false),
            Quantifier::Forall => Value::Truth(true),
            Quantifier::Count => Value::Number(count),
        }
    }
}
