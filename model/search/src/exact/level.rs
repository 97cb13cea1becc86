//! The breadth-first levels of a search, and the states that are looked for in them.

use crate::space::Answers;
use serde::{Deserialize, Serialize};

/// How far a search is, whatever its states look like.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reached {
    /// The initial states, one after the other.
    pub(super) initial: Vec<u64>,
    pub(super) levels: Vec<Level>,
    pub(super) generated: u64,
    pub(super) leaves_boundary: bool,
}

/// The facts about all states of one breadth-first level.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Level {
    /// The number of states that were expanded.
    pub states: u64,
    /// The answers that all of the states that were expanded have.
    pub all: Answers,
    /// The answers that one of the states that were expanded has.
    pub any: Answers,
}

/// The goal of a path: the first state in breadth-first order for which bit `question` of the
/// answers is `answer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The number of the bit.
    pub question: u32,
    /// Whether the bit is to be set.
    pub answer: bool,
}

impl Goal {
    pub(super) fn reached(self, answers: Answers) -> bool {
        (answers & (1 << self.question) != 0) == self.answer
    }

    /// Decides whether a state of this level that was expanded has the answer.
    #[must_use]
    pub fn reached_in(self, level: &Level) -> bool {
        self.reached(if self.answer { level.any } else { level.all })
    }
}

/// The breadth-first level in which a goal is first reached, the initial states being 0.
pub(super) fn level_of(levels: &[Level], goal: Goal) -> Option<usize> {
    levels.iter().position(|level| goal.reached_in(level))
}
