//! How often something may happen in one execution.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A bound on how often something may happen in one execution; written as a number, or as
/// `unbounded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Budget {
    /// The budget of at most this number of times.
    AtMost(u8),
    /// The budget of any number of times: it costs nothing and is not counted.
    Unbounded,
}

impl Budget {
    /// The budget of what never happens.
    pub const NONE: Budget = Budget::AtMost(0);

    /// Returns whether it may happen once more after it has happened `spent` times.
    #[must_use]
    pub fn allows(self, spent: Budget) -> bool {
        match (self, spent) {
            (Budget::Unbounded, _) => true,
            (Budget::AtMost(most), Budget::AtMost(spent)) => spent < most,
            (Budget::AtMost(_), Budget::Unbounded) => false,
        }
    }

    /// Returns what is spent once it has happened again, which this budget allows: what has no
    /// bound is not counted, so that states do not differ in how often it happened.
    #[must_use]
    pub fn spend(self, spent: Budget) -> Budget {
        match (self, spent) {
            (Budget::AtMost(_), Budget::AtMost(spent)) => Budget::AtMost(spent + 1),
            _ => spent,
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::NONE
    }
}

impl From<u8> for Budget {
    fn from(most: u8) -> Self {
        Budget::AtMost(most)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::AtMost(most) => write!(f, "{most}"),
            Budget::Unbounded => f.write_str("unbounded"),
        }
    }
}

impl FromStr for Budget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "unbounded" => Ok(Budget::Unbounded),
            number => match number.parse() {
                Ok(most) => Ok(Budget::AtMost(most)),
                Err(_) => Err("give a whole number from 0 to 255, or 'unbounded'"),
            },
        }
    }
}

/// How a budget stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u8),
    Word(Word),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Unbounded,
}

impl From<Written> for Budget {
    fn from(written: Written) -> Self {
        match written {
            Written::Number(most) => Budget::AtMost(most),
            Written::Word(Word::Unbounded) => Budget::Unbounded,
        }
    }
}

impl From<Budget> for Written {
    fn from(budget: Budget) -> Self {
        match budget {
            Budget::AtMost(most) => Written::Number(most),
            Budget::Unbounded => Written::Word(Word::Unbounded),
        }
    }
}
