//! The file of a suite: its cases as they are written, and what is said of one that is wrong.
//!
//! A key of a case is a flag of `check`, without its dashes. Which flags there are, and what their
//! values may be, is not said here: the words go to `check`, which knows.

use bellwether_engine::check::{Counterexample, Decision, Report, Verdict, holds_within};
use bellwether_engine::words::perhaps;
use clap::{Arg, ArgAction, Command};
use std::collections::HashSet;
use std::fmt;
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

/// A case as it is written; one for each world if it has several.
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
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// The name of the property, or [`OTHERS`].
    pub(super) property: String,
    pub(super) wanted: Wanted,
    /// The steps of the execution that violates it, in words, if they are written.
    pub(super) story: Option<Vec<String>>,
    pub(super) place: Place,
}

/// The verdict that is expected of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It holds.
    Holds,
    /// It holds within the bounds of the search.
    HoldsWithin,
    /// It is violated, by an execution of so many steps if a number is given.
    Violated(Option<usize>),
}

impl Wanted {
    /// Returns the verdict that these words of a file say.
    ///
    /// # Errors
    /// If they say none: what to write instead.
    pub fn read(words: &str) -> Result<Wanted, String> {
        const KNOWN: [&str; 3] = ["holds", "holds within", "violated"];
        let steps = words.strip_prefix("violated in ").and_then(|rest| {
            let number = rest.strip_suffix(" steps").or_else(|| rest.strip_suffix(" step"))?;
            number.parse().ok()
        });
        match words {
            "holds" => Ok(Wanted::Holds),
            "holds within" => Ok(Wanted::HoldsWithin),
            "violated" => Ok(Wanted::Violated(None)),
            _ if steps.is_some() => Ok(Wanted::Violated(steps)),
            _ => Err(format!(
                "no verdict is '{words}'; {}there are: {}, violated in N steps",
                perhaps(words, &KNOWN),
                KNOWN.join(", ")
            )),
        }
    }

    /// Returns whether this is what a check has found; nothing if it has not decided it.
    #[must_use]
    pub fn agrees(self, decision: &Decision) -> Option<bool> {
        Some(match (self, decision.verdict) {
            (_, Verdict::Unknown) => return None,
            (Wanted::Holds, Verdict::Holds)
            | (Wanted::HoldsWithin, Verdict::HoldsWithin)
            | (Wanted::Violated(None), Verdict::Violated) => true,
            (Wanted::Violated(wanted), Verdict::Violated) => wanted == steps(decision),
            _ => false,
        })
    }
}

/// The number of steps of what violates a property.
pub(super) fn steps(decision: &Decision) -> Option<usize> {
    decision.counterexample.as_ref().map(Counterexample::length)
}

/// What a check has found of a property, in the words of a file where it has words for it.
pub(super) fn found(report: &Report, decision: &Decision) -> String {
    match decision.verdict {
        Verdict::Holds => Wanted::Holds.to_string(),
        Verdict::HoldsWithin => holds_within(&report.bounds_met),
        Verdict::Violated => Wanted::Violated(steps(decision)).to_string(),
        Verdict::Unknown => {
            let why = decision.reason.map(|reason| reason.within(&report.bounds_met));
            format!("unknown: {}", why.unwrap_or_default())
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Holds => f.write_str("holds"),
            Wanted::HoldsWithin => f.write_str("holds within"),
            Wanted::Violated(None) => f.write_str("violated"),
            Wanted::Violated(Some(1)) => f.write_str("violated in 1 step"),
            Wanted::Violated(Some(steps)) => write!(f, "violated in {steps} steps"),
        }
    }
}

/// The name that stands for every property that `check` decides if none is named, and the case does
/// not name.
pub(super) const OTHERS: &str = "*";

/// A number that is expected, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Count {
    pub(super) number: u64,
    pub(super) place: Place,
}

/// The keys of a case that are no flags of `check`.
const OWN: [&str; 7] = ["name", "protocol", "expect", "story", "each", "states", "transitions"];

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
        Some(defaults) => {
            let all = table(defaults, "defaults")?;
            let protocol = self::text(all, "protocol")?;
            Defaults { protocol, flags: flags(all, check, &["protocol"])? }
        }
        None => Defaults::default(),
    };
    let no_case = |place| Mistake::new(place, "there is no case; write [[case]], and what it has");
    let cases = root.get("case").ok_or_else(|| no_case(0..0))?;
    let DeValue::Array(all) = cases.get_ref() else { return Err(no_case(cases.span())) };
    let mut names = HashSet::new();
    let mut written = Vec::new();
    for one in all {
        for case in cases_of(one, check, &defaults)? {
            if let Some(name) = &case.name
                && !names.insert(name.clone())
            {
                let problem = format!("another case has the name '{name}'; give each its own");
                return Err(Mistake::new(case.place, problem));
            }
            written.push(case);
        }
    }
    if written.is_empty() { Err(no_case(cases.span())) } else { Ok(written) }
}

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

/// The protocol and the flags that a case has if it does not say otherwise.
#[derive(Default)]
struct Defaults {
    protocol: Option<(String, Place)>,
    flags: Vec<Flag>,
}

/// The case that is written: one for each of its worlds, if it has several.
fn cases_of(
    value: &Spanned<DeValue<'_>>,
    check: &Command,
    defaults: &Defaults,
) -> Result<Vec<Written>, Mistake> {
    let table = table(value, "a case")?;
    let own = flags(table, check, &OWN)?;
    let protocol = text(table, "protocol")?.or_else(|| defaults.protocol.clone());
    let name = text(table, "name")?;
    let begin = name.as_ref().or(protocol.as_ref()).map(|(_, place)| place.clone());
    let begin = begin.or_else(|| own.first().map(|flag| flag.place.clone()));
    let place = begin.unwrap_or_else(|| value.span());
    let Some(expect) = table.get("expect") else {
        let problem = "the case says nothing of what is expected; write expect = { PROPERTY = \
                       \"holds\" }";
        return Err(Mistake::new(place, problem));
    };
    let each = each(table, check)?;
    let number = each.as_ref().map_or(1, Vec::len);
    let mut expected = expected(expect, number)?;
    if let Some(stories) = table.get("story") {
        tell_stories(stories, &mut expected)?;
    }
    let (states, transitions) =
        (counts(table, "states", number)?, counts(table, "transitions", number)?);
    let no_flags = || vec![Vec::new()];
    let worlds = each.unwrap_or_else(no_flags).into_iter().zip(states).zip(transitions);
    let case = |(((world, states), transitions), expected): (((Vec<Flag>, _), _), _)| {
        let mut kept: Vec<&Flag> = Vec::new();
        for flag in defaults.flags.iter().chain(&own).chain(&world) {
            kept.retain(|other| other.name != flag.name);
            kept.push(flag);
        }
        let words = kept
            .iter()
            .flat_map(|flag| flag.words.iter().map(|word| (word.clone(), flag.place.clone())));
        let named = |(name, _): &(String, Place)| {
            let flags: Vec<&str> =
                world.iter().flat_map(|flag| &flag.words).map(String::as_str).collect();
            if flags.is_empty() { name.clone() } else { format!("{name}: {}", flags.join(" ")) }
        };
        Written {
            name: name.as_ref().map(named),
            expected,
            states,
            transitions,
            place: place.clone(),
            words: protocol.iter().cloned().chain(words).collect(),
        }
    };
    Ok(worlds.zip(expected).map(case).collect())
}

/// The flags of each world of a case that has several.
fn each(table: &DeTable<'_>, check: &Command) -> Result<Option<Vec<Vec<Flag>>>, Mistake> {
    let Some(value) = table.get("each") else { return Ok(None) };
    let problem = "each has a table of flags for each world; write each = [{ KEY = VALUE }, …]";
    let DeValue::Array(worlds) = value.get_ref() else {
        return Err(Mistake::new(value.span(), problem));
    };
    if worlds.is_empty() {
        return Err(Mistake::new(value.span(), problem));
    }
    let flags_of = |world: &Spanned<DeValue<'_>>| match world.get_ref() {
        DeValue::Table(flags_of_world) => flags(flags_of_world, check, &[]),
        _ => Err(Mistake::new(world.span(), problem)),
    };
    worlds.iter().map(flags_of).collect::<Result<_, _>>().map(Some)
}

/// What is written of each of so many worlds: a value for all of them, or an array with as many.
fn for_each<'t, 'd>(
    value: &'t Spanned<DeValue<'d>>,
    name: &str,
    worlds: usize,
) -> Result<Vec<&'t Spanned<DeValue<'d>>>, Mistake> {
    match value.get_ref() {
        DeValue::Array(all) if all.len() == worlds => Ok(all.iter().collect()),
        DeValue::Array(all) => {
            let (found, s) = (all.len(), if worlds == 1 { "" } else { "s" });
            let problem = format!(
                "{name} has {found} values, and the case has {worlds} world{s}; give one value \
                 for all, or as many as 'each' has"
            );
            Err(Mistake::new(value.span(), problem))
        }
        _ => Ok(vec![value; worlds]),
    }
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

/// The number with this name for each of so many worlds, if there is one.
fn counts(table: &DeTable<'_>, name: &str, worlds: usize) -> Result<Vec<Option<Count>>, Mistake> {
    let Some(value) = table.get(name) else { return Ok(vec![None; worlds]) };
    let count = |value: &Spanned<DeValue<'_>>| {
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
    };
    for_each(value, name, worlds)?.into_iter().map(count).collect()
}

/// What is expected in each of so many worlds: of each property, in the order of the file.
fn expected(value: &Spanned<DeValue<'_>>, worlds: usize) -> Result<Vec<Vec<Expected>>, Mistake> {
    let properties = table(value, "expect")?;
    if properties.is_empty() {
        let problem = "no property is named; write expect = { PROPERTY = \"holds\" }";
        return Err(Mistake::new(value.span(), problem));
    }
    let mut expected = vec![Vec::new(); worlds];
    for (property, verdicts) in properties {
        let (name, place) = (word(property).to_owned(), property.span());
        let verdicts = for_each(verdicts, &name, worlds)?;
        for (expected, verdict) in expected.iter_mut().zip(verdicts) {
            let words = match verdict.get_ref() {
                DeValue::String(words) => &**words,
                _ => "",
            };
            let wanted =
                Wanted::read(words).map_err(|problem| Mistake::new(verdict.span(), problem))?;
            let (property, place) = (name.clone(), place.clone());
            expected.push(Expected { property, wanted, story: None, place });
        }
    }
    // Every other one is known when all that are named are.
    let order = |one: &Expected| (one.property == OTHERS, one.place.start);
    expected.iter_mut().for_each(|one| one.sort_by_key(order));
    Ok(expected)
}

/// Adds the steps that are written of executions: the same in each world in which the property is
/// violated.
fn tell_stories(
    value: &Spanned<DeValue<'_>>,
    expected: &mut [Vec<Expected>],
) -> Result<(), Mistake> {
    for (property, steps) in table(value, "story")? {
        let problem = "a story is the steps of an execution, each as 'check' prints it; write \
                       story = { PROPERTY = [\"3 crashes\", …] }";
        let wrong = || Mistake::new(steps.span(), problem);
        let DeValue::Array(all) = steps.get_ref() else { return Err(wrong()) };
        let story = all.iter().map(|step| match step.get_ref() {
            DeValue::String(step) => Ok(step.to_string()),
            _ => Err(wrong()),
        });
        let story = story.collect::<Result<Vec<_>, _>>()?;
        let mut told = false;
        let of_property = |one: &&mut Expected| {
            one.property == word(property) && matches!(one.wanted, Wanted::Violated(_))
        };
        for one in expected.iter_mut().flatten().filter(of_property) {
            (one.story, told) = (Some(story.clone()), true);
        }
        if !told {
            let name = word(property);
            let problem = format!("no world violates '{name}' here; a story is of a violation");
            return Err(Mistake::new(property.span(), problem));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn what_is_written_is_what_is_read() {
        for words in ["holds", "holds within", "violated", "violated in 1 step"] {
            assert_eq!(Wanted::read(words).expect("a verdict").to_string(), words);
        }
        assert_eq!(Wanted::read("violated in 12 steps"), Ok(Wanted::Violated(Some(12))));
    }

    #[test]
    fn what_is_no_verdict_is_told_what_there_is() {
        for (words, says) in [
            ("hold", "did you mean 'holds'? there are: holds, holds within, violated, "),
            ("violated in few steps", "no verdict is 'violated in few steps'; there are: "),
            ("unknown", "no verdict is 'unknown'; there are: "),
            ("", "no verdict is ''; there are: "),
        ] {
            let told = Wanted::read(words).expect_err("it is no verdict");
            assert!(told.contains(says), "{told}");
        }
    }
}
