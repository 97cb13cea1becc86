//! The rules of a protocol as people choose them: what each decides, its values and what they mean.
//!
//! The rules are the fields of one struct, so what is said of them is its documentation:
//! `#[derive(RuleDocs)]` reads that of the fields, and of the values of enums.

use crate::words::instead_of;
use serde_json::{Value, json};

/// The documentation of a struct whose fields are rules: what it says of them.
pub trait RuleDocs {
    /// The rows of the rules: one for each field, in their order.
    const ROWS: &'static [RuleRow];

    /// The names of all rules but those that are `#[rule(of_all)]`, for
    /// [`Options::own`](super::Options::own) of a protocol whose processes may have rules of their
    /// own.
    const OWN: &'static [&'static str];
}

/// The documentation of an enum whose variants are values of a rule: what it says of them.
pub trait RuleValues {
    /// The row of the values.
    const VALUES: ValuesRow;
}

impl RuleValues for bool {
    const VALUES: ValuesRow = ValuesRow::Truth;
}

/// A [rule](Rule) as `#[derive(RuleDocs)]` writes it down.
#[derive(Clone, Copy, Debug)]
pub struct RuleRow {
    /// The name of the rule.
    pub name: &'static str,
    /// The meaning: what the rule decides.
    pub meaning: &'static str,
    /// The values that the rule can have.
    pub values: ValuesRow,
}

/// The [values](Values) of a rule as `#[derive(RuleDocs)]` writes them down.
#[derive(Clone, Copy, Debug)]
pub enum ValuesRow {
    /// The values true and false.
    Truth,
    /// The names of the values, each with its meaning.
    Names(&'static [(&'static str, &'static str)]),
    /// The values that these words describe.
    Other(&'static str),
}

/// A rule of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name of the rule, as in `--rule NAME=VALUE`.
    pub name: String,
    /// The meaning: what the rule decides; empty if the protocol does not say.
    pub meaning: String,
    /// The values that the rule can have.
    pub values: Values,
}

/// The values that a rule can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// The values true and false.
    Truth,
    /// The names of the values, each with its meaning.
    Names(Vec<(String, String)>),
    /// The values that these words describe.
    Other(String),
}

impl Rule {
    /// Returns the rules of a protocol that derives [`RuleDocs`].
    #[must_use]
    pub fn all_of<P: RuleDocs>() -> Vec<Rule> {
        P::ROWS.iter().map(Rule::of).collect()
    }

    fn of(row: &RuleRow) -> Rule {
        let values = match row.values {
            ValuesRow::Truth => Values::Truth,
            ValuesRow::Names(names) => {
                let owned = |&(name, meaning): &(&str, &str)| (name.to_owned(), meaning.to_owned());
                Values::Names(names.iter().map(owned).collect())
            }
            ValuesRow::Other(words) => Values::Other(words.to_owned()),
        };
        Rule { name: row.name.to_owned(), meaning: row.meaning.to_owned(), values }
    }

    /// What can be told of rules from the variants alone: names, and the values that they have.
    #[must_use]
    pub(crate) fn from_variants(variants: &[Value]) -> Vec<Rule> {
        let Some(Value::Object(first)) = variants.first() else { return Vec::new() };
        let rule = |(name, value): (&String, &Value)| {
            let values = if value.is_boolean() {
                Values::Truth
            } else {
                let mut known: Vec<(String, String)> = Vec::new();
                for value in variants.iter().map(|rules| &rules[name]) {
                    let value = value.as_str().map_or(value.to_string(), str::to_owned);
                    if known.iter().all(|(name, _)| *name != value) {
                        known.push((value, String::new()));
                    }
                }
                Values::Names(known)
            };
            Rule { name: name.clone(), meaning: String::new(), values }
        };
        first.iter().map(rule).collect()
    }

    /// Returns the rule as JSON.
    #[must_use]
    pub fn view(&self) -> Value {
        let one = |name: &str, meaning: &str| json!({ "value": name, "meaning": meaning });
        let values = match &self.values {
            Values::Truth => json!([{ "value": true }, { "value": false }]),
            Values::Names(names) => names.iter().map(|(name, what)| one(name, what)).collect(),
            Values::Other(words) => json!(words),
        };
        json!({ "name": self.name, "meaning": self.meaning, "values": values })
    }
}

impl Values {
    /// Returns what to say to a value that is none of these.
    #[must_use]
    pub fn instead_of(&self, value: &str) -> String {
        match self {
            Values::Truth => "it is true or false".to_owned(),
            Values::Names(names) => {
                let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
                instead_of(value, &names)
            }
            Values::Other(words) => format!("it is {words}"),
        }
    }
}

/// The error that a rule has a value that makes no sense with this number of processes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule '{rule}' cannot be '{value}' with {nodes} nodes: {instead}")]
pub struct Misfit {
    /// The name of the rule.
    pub rule: &'static str,
    /// The value of the rule.
    pub value: String,
    /// The number of processes that elect.
    pub nodes: usize,
    /// The values that the rule can have.
    pub instead: String,
}
