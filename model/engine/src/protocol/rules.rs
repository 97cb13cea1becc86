//! The rules of a protocol as people choose them: what each decides, its values and what they mean.
//!
//! The rules are the fields of one struct, so what is said of them is its documentation: clap reads
//! that of the fields, and of the values of enums. Nothing is said twice.

use crate::words::instead_of;
use clap::{Arg, ArgAction, Args, Command};
use serde_json::{Value, json};

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
    /// The rules of a protocol that derives [`clap::Args`], and its enums [`clap::ValueEnum`]. A
    /// field of another type says by `#[arg(value_name = "...")]` what it can be.
    #[must_use]
    pub fn all_of<P: Args>() -> Vec<Rule> {
        let fields = P::augment_args(Command::new("rules"));
        fields.get_arguments().map(Rule::of).collect()
    }

    fn of(field: &Arg) -> Rule {
        let names = field.get_possible_values();
        let values = if matches!(field.get_action(), ArgAction::SetTrue) {
            Values::Truth
        } else if names.is_empty() {
            let words = field.get_value_names().unwrap_or_default();
            Values::Other(words.iter().map(ToString::to_string).collect())
        } else {
            let meaning = |name: &clap::builder::PossibleValue| plain(name.get_help());
            let names = names.iter().map(|name| (name.get_name().to_owned(), meaning(name)));
            Values::Names(names.collect())
        };
        Rule { name: field.get_id().to_string(), meaning: plain(field.get_help()), values }
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

/// Documentation without its marks.
fn plain(help: Option<&clap::builder::StyledStr>) -> String {
    help.map(ToString::to_string).unwrap_or_default().replace('`', "")
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
