//! The rules of a protocol as people choose them: what each decides, its values and what they mean.
//!
//! The rules are the fields of one struct, so what is said of them is its documentation:
//! `#[derive(RuleDocs)]` reads that of the fields, and of the values of enums.

use crate::words::instead_of;
use serde_json::{Value, json};

/// What the documentation of a struct says of the rules that are its fields.
pub trait RuleDocs {
    /// A row for each field, in their order.
    const ROWS: &'static [RuleRow];
}

/// What the documentation of an enum says of the values that are its variants.
pub trait RuleValues {
    /// The values.
    const VALUES: ValuesRow;
}

impl RuleValues for bool {
    const VALUES: ValuesRow = ValuesRow::Truth;
}

/// A [rule](Rule) as `#[derive(RuleDocs)]` writes it down.
#[derive(Clone, Copy, Debug)]
pub struct RuleRow {
    /// Its name.
    pub name: &'static str,
    /// What it decides.
    pub meaning: &'static str,
    /// The values that it can have.
    pub values: ValuesRow,
}

/// The [values](Values) of a rule as `#[derive(RuleDocs)]` writes them down.
#[derive(Clone, Copy, Debug)]
pub enum ValuesRow {
    /// True or false.
    Truth,
    /// One of these names, each with its meaning.
    Names(&'static [(&'static str, &'static str)]),
    /// What these words describe.
    Other(&'static str),
}

/// A rule of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, as in `--rule NAME=VALUE`.
    pub name: String,
    /// What it decides; empty if the protocol does not say.
    pub meaning: String,
    /// The values that it can have.
    pub values: Values,
}

/// The values that a rule can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// True or false.
    Truth,
    /// One of these names, each with its meaning.
    Names(Vec<(String, String)>),
    /// What these words describe.
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

    /// The rule as JSON.
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
    /// What to say to a value that is none of these.
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

/// A rule has a value that makes no sense with so many processes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rule '{rule}' cannot be '{value}' with {nodes} nodes: {instead}")]
pub struct Misfit {
    /// The rule.
    pub rule: &'static str,
    /// Its value.
    pub value: String,
    /// How many processes elect.
    pub nodes: usize,
    /// The values that it can have.
    pub instead: String,
}
