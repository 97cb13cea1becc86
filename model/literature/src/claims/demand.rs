//! What a claim demands of a run, and what the run finds.

use super::formula::{Formula, FormulaError};
use bellwether_model::check::{Reason, holds_within};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What must come out of a check if the claim is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// The property holds.
    Holds,
    /// The property is violated.
    Violated,
    /// The number has a bound.
    Bounded,
    /// The number has no bound.
    Unbounded,
    /// The number is this large.
    Exactly(Formula),
    /// The number is no larger.
    AtMost(Formula),
    /// The number is no smaller.
    AtLeast(Formula),
}

/// What one run found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The property holds.
    Holds,
    /// The property holds within these bounds of the search, which executions exceed.
    HoldsWithin(Vec<String>),
    /// The property is violated.
    Violated {
        /// The steps of the execution that shows it, if one does.
        steps: Option<usize>,
    },
    /// A number.
    Count(u64),
    /// No number is large enough.
    Unbounded,
    /// The search did not decide it.
    Unknown(Reason),
    /// Its protocol does not exist here yet.
    Absent,
}

/// For what a run was made: the values of the variables that formulas may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point(pub Vec<(&'static str, i64)>);

/// What the ledger says that a run finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Expectation {
    /// A number.
    Count(u64),
    /// `holds`, `holds-within`, `violated` or `unbounded`.
    Word(Word),
}

/// A finding without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The property holds.
    Holds,
    /// It holds within the bounds of the search, which executions exceed.
    HoldsWithin,
    /// It is violated.
    Violated,
    /// No number is large enough.
    Unbounded,
}

impl Demand {
    /// Whether this finding is what is demanded; `None` if the run decided nothing.
    ///
    /// # Errors
    /// If the formula has no value there.
    pub fn met(&self, point: &Point, finding: &Finding) -> Result<Option<bool>, FormulaError> {
        let compare = |formula: &Formula, fits: fn(u64, u64) -> bool| {
            let wanted = u64::try_from(formula.value(&point.0)?);
            let wanted = wanted.map_err(|_| FormulaError::NotWhole(formula.to_string()))?;
            Ok(Some(match finding {
                Finding::Count(count) => fits(*count, wanted),
                Finding::Unbounded => fits(u64::MAX, wanted),
                _ => false,
            }))
        };
        if matches!(finding, Finding::Unknown(_) | Finding::Absent) {
            return Ok(None);
        }
        match self {
            Demand::Holds => Ok(Some(matches!(finding, Finding::Holds | Finding::HoldsWithin(_)))),
            // A violation may lie beyond the bounds.
            Demand::Violated if finding.is_within_bounds() => Ok(None),
            Demand::Violated => Ok(Some(matches!(finding, Finding::Violated { .. }))),
            Demand::Bounded => Ok(Some(matches!(finding, Finding::Count(_)))),
            Demand::Unbounded => Ok(Some(*finding == Finding::Unbounded)),
            Demand::Exactly(formula) => compare(formula, |found, wanted| found == wanted),
            Demand::AtMost(formula) => compare(formula, |found, wanted| found <= wanted),
            Demand::AtLeast(formula) => compare(formula, |found, wanted| found >= wanted),
        }
    }

    /// What it asks for, as the beginning of a sentence.
    #[must_use]
    pub fn asks(&self) -> String {
        match self {
            Demand::Holds => "must hold".to_owned(),
            Demand::Violated => "needs a counterexample".to_owned(),
            number => format!("must be {number}"),
        }
    }

    /// What a run found, as an answer to that.
    #[must_use]
    pub fn answer(&self, finding: &Finding) -> String {
        match (self, finding) {
            (Demand::Violated, Finding::Violated { steps: None }) => "found".to_owned(),
            (Demand::Violated, Finding::Violated { steps: Some(1) }) => "found, 1 step".to_owned(),
            (Demand::Violated, Finding::Violated { steps: Some(steps) }) => {
                format!("found, {steps} steps")
            }
            (Demand::Violated, Finding::Holds) => "there is none".to_owned(),
            (Demand::Violated, Finding::HoldsWithin(_)) => format!("none found, it {finding}"),
            _ => finding.to_string(),
        }
    }

    /// Whether it is about a number, and not about a property.
    #[must_use]
    pub fn is_of_a_number(&self) -> bool {
        !matches!(self, Demand::Holds | Demand::Violated)
    }
}

/// Why a demand cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DemandError {
    /// The words are unknown.
    #[error(
        "nothing is demanded by '{0}'; write holds, violated, bounded, unbounded, exactly F, \
         at most F or at least F, with a formula F"
    )]
    Words(String),
    /// The formula is none.
    #[error(transparent)]
    Formula(#[from] FormulaError),
}

impl FromStr for Demand {
    type Err = DemandError;

    fn from_str(text: &str) -> Result<Self, DemandError> {
        type Form = fn(Formula) -> Demand;
        let words = [
            ("holds", Demand::Holds),
            ("violated", Demand::Violated),
            ("bounded", Demand::Bounded),
            ("unbounded", Demand::Unbounded),
        ];
        if let Some((_, demand)) = words.into_iter().find(|(word, _)| *word == text) {
            return Ok(demand);
        }
        let forms: [(&str, Form); 3] = [
            ("exactly ", Demand::Exactly),
            ("at most ", Demand::AtMost),
            ("at least ", Demand::AtLeast),
        ];
        let (form, formula) = forms
            .into_iter()
            .find_map(|(words, form)| Some((form, text.strip_prefix(words)?)))
            .ok_or_else(|| DemandError::Words(text.to_owned()))?;
        Ok(form(Formula::parse(formula)?))
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Demand::Holds => f.write_str("holds"),
            Demand::Violated => f.write_str("violated"),
            Demand::Bounded => f.write_str("bounded"),
            Demand::Unbounded => f.write_str("unbounded"),
            Demand::Exactly(formula) => write!(f, "exactly {formula}"),
            Demand::AtMost(formula) => write!(f, "at most {formula}"),
            Demand::AtLeast(formula) => write!(f, "at least {formula}"),
        }
    }
}

impl Finding {
    /// Whether it says nothing of executions that exceed the bounds of the search.
    #[must_use]
    pub fn is_within_bounds(&self) -> bool {
        matches!(self, Finding::HoldsWithin(_))
    }

    /// Whether it is what the ledger says.
    #[must_use]
    pub fn is(&self, expected: &Expectation) -> bool {
        match (self, expected) {
            (Finding::Count(found), Expectation::Count(expected)) => found == expected,
            (Finding::Holds, Expectation::Word(Word::Holds))
            | (Finding::HoldsWithin(_), Expectation::Word(Word::HoldsWithin))
            | (Finding::Violated { .. }, Expectation::Word(Word::Violated))
            | (Finding::Unbounded, Expectation::Word(Word::Unbounded)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Holds => f.write_str("holds"),
            Finding::HoldsWithin(bounds) => f.write_str(&holds_within(bounds)),
            Finding::Violated { steps: None } => f.write_str("violated"),
            Finding::Violated { steps: Some(1) } => f.write_str("violated (1 step)"),
            Finding::Violated { steps: Some(steps) } => write!(f, "violated ({steps} steps)"),
            Finding::Count(count) => write!(f, "{count}"),
            Finding::Unbounded => f.write_str("unbounded"),
            Finding::Unknown(reason) => write!(f, "unknown: {reason}"),
            Finding::Absent => f.write_str("not run: the protocol is not there yet"),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        f.write_str(&all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Demand, Finding, Point};
    use bellwether_model::check::Reason;

    fn within() -> Finding {
        Finding::HoldsWithin(vec!["2 messages on a link".to_owned()])
    }

    /// A search that decides nothing meets nothing and contradicts nothing. A property that holds
    /// within bounds refutes no violation.
    #[test]
    fn what_is_found_is_compared_with_what_is_demanded() {
        let (six, unknown) = (Finding::Count(6), Finding::Unknown(Reason::States));
        for (demand, finding, met) in [
            ("exactly n*(n-1)", &six, Some(true)),
            ("exactly n^2", &six, Some(false)),
            ("at most n^2", &six, Some(true)),
            ("at least n^2", &six, Some(false)),
            ("at most n^2", &Finding::Unbounded, Some(false)),
            ("at least n^2", &Finding::Unbounded, Some(true)),
            ("bounded", &six, Some(true)),
            ("unbounded", &six, Some(false)),
            ("holds", &Finding::Holds, Some(true)),
            ("violated", &Finding::Holds, Some(false)),
            ("holds", &within(), Some(true)),
            ("violated", &within(), None),
            ("holds", &unknown, None),
            ("violated", &unknown, None),
            ("exactly 3", &unknown, None),
            ("holds", &Finding::Absent, None),
        ] {
            let read: Demand = demand.parse().expect("it can be read");
            let found = read.met(&Point(vec![("n", 3)]), finding).expect("it has a value");
            assert_eq!(found, met, "{demand}: {finding}");
        }
    }

    #[test]
    fn what_is_found_answers_what_is_asked() {
        let answer = |demand: &str, finding: Finding| {
            let demand: Demand = demand.parse().expect("it can be read");
            format!("{}: {}", demand.asks(), demand.answer(&finding))
        };
        let violated = |steps| Finding::Violated { steps };
        for (found, words) in [
            (answer("violated", violated(Some(3))), "needs a counterexample: found, 3 steps"),
            (answer("violated", violated(Some(1))), "needs a counterexample: found, 1 step"),
            (answer("violated", violated(None)), "needs a counterexample: found"),
            (answer("violated", Finding::Holds), "needs a counterexample: there is none"),
            (answer("holds", violated(Some(7))), "must hold: violated (7 steps)"),
            (answer("at most n^2", Finding::Count(6)), "must be at most n^2: 6"),
            (answer("unbounded", Finding::Count(6)), "must be unbounded: 6"),
        ] {
            assert_eq!(found, words);
        }
        let words = "holds within 2 messages on a link, beyond is not claimed";
        assert_eq!(within().to_string(), words);
        assert!(answer("violated", within()).ends_with(&format!("none found, it {words}")));
    }

    #[test]
    fn words_that_demand_nothing_are_refused() {
        let error = "perhaps".parse::<Demand>().expect_err("no demand").to_string();
        assert!(error.contains("at most F"), "{error}");
        assert!("at most n +".parse::<Demand>().is_err());
    }
}
