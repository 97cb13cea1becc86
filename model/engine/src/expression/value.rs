//! The value of a term in one state.

use super::meaning::{Ask, Term};
use super::read::{Quantifier, Sign};
use crate::protocol::{Belief, Id};
use crate::trace::DOWN;
use crate::world::{Budget, State, World};
use serde_json::Value as Json;
use smallvec::SmallVec;

/// A value. What is asked of a process that does not exist, or of a field that a process does not
/// have at the moment, is nothing; and what is nothing is not true.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
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

    pub(super) fn json(self) -> Json {
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
pub(super) struct Evaluation<'a> {
    world: &'a World,
    state: &'a State,
    /// The processes that variables stand for.
    bound: SmallVec<[i64; 8]>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(world: &'a World, state: &'a State) -> Self {
        Evaluation { world, state, bound: SmallVec::new() }
    }

    pub(super) fn truth(&mut self, term: &'a Term) -> bool {
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

    pub(super) fn value(&mut self, term: &'a Term) -> Value<'a> {
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
            Ask::Leads => Value::Truth(belief == Some(Belief::Leads)),
            Ask::Follows => Value::Truth(belief == Some(Belief::Follows(other??))),
            Ask::Connected => Value::Truth(state.connected(id, other??)),
            Ask::Leader => match belief? {
                Belief::Leads => Value::Number(id.number().into()),
                Belief::Follows(leader) => Value::Number(leader.number().into()),
                Belief::Undecided => Value::Nothing,
            },
            Ask::Role => Value::Word(if state.up(id) { state.process(id).role() } else { DOWN }),
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
