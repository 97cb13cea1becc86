//! Questions on states, written as text: `exists p, q: p != q && leads(p) && leads(q)`.
//!
//! The language is the same for every protocol. It speaks of what each process believes, of its
//! role, its timers and its links, and of every field of what a process of the protocol knows and
//! stores. What a field is called is learned from a few executions of the world that is asked
//! about, so that a name that nothing has is an error, and not an answer.

mod known;
mod meaning;
mod read;
mod value;

pub use read::ExpressionError;

use crate::world::{Action, Condition, Reads, State, World};
use known::TRUTH;
use meaning::{Resolver, Term};
use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;
use value::{Evaluation, Value};

/// An expression on the states of one world.
#[derive(Clone)]
pub struct Expression(Arc<Meant>);

/// A text, and what it means.
struct Meant {
    text: String,
    term: Term,
    reads: Reads,
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
                let what = known::words(kinds);
                let wrong = format!("this is {what}; ask for something that is true or false");
                Err(ExpressionError::new(text, node.at.clone(), wrong))
            }
            _ => Ok(()),
        })
    }

    fn with(
        text: &str,
        world: &World,
        fits: impl Fn(&str, &read::Node, known::Kinds) -> Result<(), ExpressionError>,
    ) -> Result<Expression, ExpressionError> {
        let text = one_line(text);
        let node = read::read(&text)?;
        let known = OnceCell::new();
        let mut resolver = Resolver::new(&text, world, &known);
        let typed = resolver.resolve(&node)?;
        fits(&text, &node, typed.kinds)?;
        let reads = resolver.reads();
        let term = typed.term;
        Ok(Expression(Arc::new(Meant { text, term, reads })))
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
    pub fn json(&self, world: &World, state: &State) -> serde_json::Value {
        Value::json(Evaluation::new(world, state).value(&self.0.term))
    }

    /// Returns the values of the expression, as JSON, in the initial state and after each of
    /// `actions`, with the names that the processes use.
    ///
    /// # Panics
    /// If one of the actions is not enabled when its turn comes.
    #[must_use]
    pub fn values(&self, world: &World, actions: &[Action]) -> Vec<serde_json::Value> {
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
        let (of, reads) = (self.clone(), self.0.reads);
        let judge = move |world: &World, state: &State| of.holds(world, state) == wanted;
        Condition::Made(Arc::new(judge), reads)
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
