//! The file of a suite: its cases as they are written, and what is said of one that is wrong.
//!
//! A key of a case is a flag of `check`, without its dashes. Which flags there are, and what their
//! values may be, is not said here: the words go to `check`, which knows.

use super::wanted::Wanted;
use bellwether_engine::words::perhaps;
use clap::{Arg, ArgAction, Command};
use std::collections::HashSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// Where something stands in the file, in bytes.
pub(super) type Place = Range<usize>;

/// What is wrong with a file, and where.
#[derive(Debug)]
pub(super) struct Mistake {
    place: Place,
    problem: String,
}

impl Mistake {
    pub(super) fn new(place: Place, problem: impl Into<String>) -> Mistake {
        Mistake { place, problem: problem.into() }
    }

    /// The message, with the line and the column of the `text` that it is about, from 1.
    pub(super) fn tell(&self, file: &str, text: &str) -> String {
        let before = text.get(..self.place.start).unwrap_or(text);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
        format!("{file}:{line}:{column}: {}", self.problem)
    }
}

/// A case as it is written.
#[derive(Debug)]
pub(super) struct Written {
    /// Its name, if it has one.
    pub(super) name: Option<String>,
    /// Where it begins.
    pub(super) place: Place,
    /// The words that `check` gets, each with the place where it stands.
    pub(super) words: Vec<(String, Place)>,
    /// Each property, with what is expected of it.
    pub(super) expected: Vec<Expected>,
    /// How many states are expected.
    pub(super) states: Option<Count>,
    /// How many transitions are expected.
    pub(super) transitions: Option<Count>,
}

/// What is expected of a property.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) property: String,
    pub(super) wanted: Wanted,
    pub(super) place: Place,
}

/// A number that is expected, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Count {
    pub(super) number: u64,
    pub(super) place: Place,
}

/// The keys of a case that are no flags of `check`.
const OWN: [&str; 5] = ["name", "protocol", "expect", "states", "transitions"];

/// The keys at the top of the file.
const TOP: [&str; 2] = ["case", "defaults"];

/// Returns the cases that are written in `text`, for a `check` with these flags.
pub(super) fn read(text: &str, check: &Command) -> Result<Vec<Written>, Mistake> {
    let wrong = |error: toml::de::Error| {
        let remedy =
            "write KEY = VALUE, each key once and texts in quotation marks, below [[case]]";
        Mistake::new(error.span().unwrap_or_default(), format!("{}; {remedy}", error.message()))
    };
    let root = DeTable::parse(text).map_err(wrong)?;
    let root = root.get_ref();
    if let Some(key) = root.keys().find(|key| !TOP.contains(&word(key))) {
        let (name, place) = (word(key), key.span());
        let perhaps = perhaps(name, &TOP);
        let problem = format!(
            "there is no key '{name}' here; {perhaps}write [[case]] above what a case has, and \
             [defaults] above what all have"
        );
        return Err(Mistake::new(place, problem));
    }
    let defaults = match root.get("defaults") {
        Some(defaults) => flags(table(defaults, "defaults")?, check, &[])?,
        None => Vec::new(),
    };
    let no_case = |place| Mistake::new(place, "there is no case; write [[case]], and what it has");
    let cases = root.get("case").ok_or_else(|| no_case(0..0))?;
    let DeValue::Array(all) = cases.get_ref() else { return Err(no_case(cases.span())) };
    let mut names = HashSet::new();
    let mut written = Vec::new();
    for one in all {
        let case = case(one, check, &defaults)?;
        if let Some(name) = &case.name
            && !names.insert(name.clone())
        {
            let problem = format!("another case has the name '{name}'; give each its own");
            return Err(Mistake::new(case.place, problem));
        }
        written.push(case);
    }
    if written.is_empty() { Err(no_case(cases.span())) } else { Ok(written) }
}

/// The word of a key.
fn word<'t>(key: &'t Spanned<DeString<'_>>) -> &'t str {
    key.get_ref()
}

fn table<'t, 'd>(value: &'t Spanned<DeValue<'d>>, name: &str) -> Result<&'t DeTable<'d>, Mistake> {
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        _ => {
            let problem = format!("{name} is a table; write a line KEY = VALUE for each key");
            Err(Mistake::new(value.span(), problem))
        }
    }
}

fn case(
    value: &Spanned<DeValue<'_>>,
    check: &Command,
    defaults: &[Flag],
) -> Result<Written, Mistake> {
    let table = table(value, "a case")?;
    let own = flags(table, check, &OWN)?;
    let stays = |flag: &&Flag| !own.iter().any(|other| other.name == flag.name);
    let protocol = text(table, "protocol")?;
    let mut words: Vec<_> = protocol.into_iter().collect();
    for flag in defaults.iter().filter(stays).chain(&own) {
        words.extend(flag.words.iter().map(|word| (word.clone(), flag.place.clone())));
    }
    let name = text(table, "name")?;
    let begin = name.as_ref().or(words.first()).map(|(_, place)| place.clone());
    let place = begin.unwrap_or_else(|| value.span());
    let Some(expect) = table.get("expect") else {
        let problem = "the case says nothing of what is expected; write expect = { PROPERTY = \
                       \"holds\" }";
        return Err(Mistake::new(place, problem));
    };
    Ok(Written {
        name: name.map(|(name, _)| name),
        expected: expected(expect)?,
        states: count(table, "states")?,
        transitions: count(table, "transitions")?,
        place,
        words,
    })
}

/// The text with this name, if there is one, and where it stands.
fn text(table: &DeTable<'_>, name: &str) -> Result<Option<(String, Place)>, Mistake> {
    let Some(value) = table.get(name) else { return Ok(None) };
    match value.get_ref() {
        DeValue::String(text) if !text.is_empty() => Ok(Some((text.to_string(), value.span()))),
        _ => {
            let problem = format!("{name} is a text; write it in quotation marks");
            Err(Mistake::new(value.span(), problem))
        }
    }
}

fn count(table: &DeTable<'_>, name: &str) -> Result<Option<Count>, Mistake> {
    let Some(value) = table.get(name) else { return Ok(None) };
    let number = match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
        _ => None,
    };
    match number {
        Some(number) => Ok(Some(Count { number, place: value.span() })),
        None => {
            let problem = format!("{name} is a number; give a whole number, at least 0");
            Err(Mistake::new(value.span(), problem))
        }
    }
}

/// What is expected of each property, in the order of the file.
fn expected(value: &Spanned<DeValue<'_>>) -> Result<Vec<Expected>, Mistake> {
    let mut expected = Vec::new();
    for (property, verdict) in table(value, "expect")? {
        let words = match verdict.get_ref() {
            DeValue::String(words) => &**words,
            _ => "",
        };
        let wanted =
            Wanted::read(words).map_err(|problem| Mistake::new(verdict.span(), problem))?;
        let (property, place) = (word(property).to_owned(), property.span());
        expected.push(Expected { property, wanted, place });
    }
    if expected.is_empty() {
        let problem = "no property is named; write expect = { PROPERTY = \"holds\" }";
        return Err(Mistake::new(value.span(), problem));
    }
    expected.sort_by_key(|one| one.place.start);
    Ok(expected)
}

/// A flag as it is written, and the words that `check` gets for it.
#[derive(Debug)]
struct Flag {
    name: String,
    words: Vec<String>,
    place: Place,
}

/// The flags among the keys of a table that has these keys besides, in the order of the file.
fn flags(table: &DeTable<'_>, check: &Command, besides: &[&str]) -> Result<Vec<Flag>, Mistake> {
    let mut flags = Vec::new();
    for (key, value) in table {
        let name = word(key);
        if besides.contains(&name) {
            continue;
        }
        let is_own = OWN.contains(&name);
        let arg = check.get_arguments().find(|arg| arg.get_long() == Some(name));
        let arg = match arg {
            Some(arg) if is_flag_of_a_case(arg) => arg,
            _ => {
                return Err(Mistake::new(
                    key.span(),
                    no_flag(name, check, arg.is_some() || is_own),
                ));
            }
        };
        let words = words(arg, name, value)?;
        flags.push(Flag { name: name.to_owned(), words, place: key.span() });
    }
    flags.sort_by_key(|flag| flag.place.start);
    Ok(flags)
}

/// Whether a case may have the flag: not what it asks, which stands below `expect`, and not what is
/// printed.
fn is_flag_of_a_case(arg: &Arg) -> bool {
    let asks = ["property", "never", "always"];
    let asked = arg.get_long().is_some_and(|long| asks.contains(&long));
    !asked && arg.get_help_heading() != Some("Output")
}

/// That there is no such key, or not here.
fn no_flag(name: &str, check: &Command, is_known: bool) -> String {
    match name {
        "property" | "never" | "always" => {
            return format!(
                "'{name}' is no key of a case; write expect = {{ PROPERTY = \"holds\" }}, where \
                 PROPERTY may be \"never(EXPR)\" or \"always(EXPR)\""
            );
        }
        _ if is_known => return format!("'{name}' is no key here; leave it out"),
        _ => {}
    }
    let flags = check.get_arguments().filter(|arg| !arg.is_hide_set() && is_flag_of_a_case(arg));
    let known: Vec<&str> = flags.filter_map(Arg::get_long).chain(OWN).collect();
    let perhaps = perhaps(name, &known);
    let own = OWN.join(", ");
    format!(
        "there is no key '{name}'; {perhaps}there are: {own}, and the flags of check without \
         their dashes"
    )
}

/// The words that `check` gets for a flag.
fn words(arg: &Arg, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Mistake> {
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return match value.get_ref() {
            DeValue::Boolean(true) => Ok(vec![format!("--{name}")]),
            DeValue::Boolean(false) => Ok(Vec::new()),
            _ => {
                let problem = format!("{name} is true or false; write one of them");
                Err(Mistake::new(value.span(), problem))
            }
        };
    }
    let flag = |text: String| format!("--{name}={text}");
    match value.get_ref() {
        DeValue::Array(all) => all.iter().map(|one| scalar(name, one).map(flag)).collect(),
        DeValue::Table(all) if name == "rule" => all
            .iter()
            .map(|(rule, one)| {
                scalar(name, one).map(|value| flag(format!("{}={value}", word(rule))))
            })
            .collect(),
        _ => Ok(vec![flag(scalar(name, value)?)]),
    }
}

/// A value as it is typed.
fn scalar(name: &str, value: &Spanned<DeValue<'_>>) -> Result<String, Mistake> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        DeValue::Boolean(truth) => Ok(truth.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            let problem = format!("{name} has a value that no flag has; write it as a text");
            Err(Mistake::new(value.span(), problem))
        }
    }
}
