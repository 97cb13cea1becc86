//! Cases of bugs, executions and products, written as those of a [suite](bellwether_model::cli::suite):
//! a key is a flag of `check`, without its dashes.

use crate::claims::{Finding, Ran, Runner};
use crate::entries::{EntryError, word};
use anyhow::{Context, anyhow};
use bellwether_model::check::{self, Options, Report};
use bellwether_model::cli::shown::quoted;
use bellwether_model::cli::suite::Wanted;
use bellwether_model::cli::{
    ProtocolArgs, WorldArgs, first_words, searchable_world, with_durations,
};
use bellwether_model::in_parallel::in_parallel;
use bellwether_model::property::{self, Property};
use bellwether_model::protocol::specifications;
use bellwether_model::world::World;
use clap::{Args, Command, FromArgMatches};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Spanned, Value};

/// The program that checks, as commands name it.
pub(crate) const CHECKER: &str = "bellwether-model";

/// A `check` of one property.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "BTreeMap<String, Spanned<Value>>")]
pub struct Case {
    /// The protocol and the flags in the order of the file.
    words: Vec<String>,
    /// The name of the property.
    pub property: String,
    /// The verdict that is expected; nothing of a question, which names the property alone.
    pub expected: Option<Wanted>,
}

impl TryFrom<BTreeMap<String, Spanned<Value>>> for Case {
    type Error = String;

    fn try_from(mut keys: BTreeMap<String, Spanned<Value>>) -> Result<Case, String> {
        let mut take = |key: &str| keys.remove(key).map(Spanned::into_inner);
        let protocol = take("protocol").map(word).ok_or("'protocol' is missing")?;
        let written = take("never").or_else(|| take("always"));
        let asked = match (take("expect"), take("property"), written) {
            (Some(Value::Table(all)), None, None) if all.len() == 1 => {
                all.into_iter().next().map(|(property, verdict)| (property, Some(word(verdict))))
            }
            (None, Some(property), None) => Some((word(property), None)),
            _ => None,
        };
        let (property, verdict) = asked.ok_or(
            "a case asks one property; write expect = { PROPERTY = \"violated in N steps\" }, or \
             property = \"PROPERTY\" if nothing is expected; PROPERTY may be \"never(EXPR)\" or \
             \"always(EXPR)\"",
        )?;
        let expected = verdict.map(|verdict| Wanted::read(&verdict)).transpose()?;
        let mut flags: Vec<(String, Spanned<Value>)> = keys.into_iter().collect();
        flags.sort_by_key(|(_, value)| value.span().start);
        let mut words = vec![protocol];
        for (flag, value) in flags {
            let values: Vec<String> = match value.into_inner() {
                Value::Array(all) => all.into_iter().map(word).collect(),
                Value::Table(rules) => {
                    let typed = |(rule, value)| format!("{rule}={}", word(value));
                    rules.into_iter().map(typed).collect()
                }
                one => vec![word(one)],
            };
            words.extend(values.into_iter().map(|value| format!("--{flag}={value}")));
        }
        Ok(Case { words, property, expected })
    }
}

impl Case {
    /// Returns the name of the protocol.
    #[must_use]
    pub fn protocol(&self) -> &str {
        &self.words[0]
    }

    /// Returns the number of steps that the execution has, if one is expected.
    #[must_use]
    pub fn steps(&self) -> Option<usize> {
        match self.expected {
            Some(Wanted::Violated(steps)) => steps,
            _ => None,
        }
    }

    /// Returns the finding that is expected, in words; nothing of a question.
    #[must_use]
    pub fn says(&self) -> String {
        match self.expected {
            Some(Wanted::Violated(steps)) => Finding::Violated { steps }.to_string(),
            Some(holds) => holds.to_string(),
            None => String::new(),
        }
    }

    /// Returns the command that decides the case, as it is typed.
    #[must_use]
    pub fn command(&self) -> String {
        let typed = |word: &String| match word.split_once('=') {
            Some((flag @ "--without", value)) => format!(" {flag} '{value}'"),
            Some((flag, value)) => format!(" {flag} {value}"),
            None => format!(" {word}"),
        };
        let words: String = self.words.iter().map(typed).collect();
        let never = self.property.strip_prefix("never(").and_then(|rest| rest.strip_suffix(')'));
        let property = match never {
            Some(never) => format!("--never {}", quoted(never)),
            None => format!("--property {}", quoted(&self.property)),
        };
        format!("{CHECKER} check{words} {property}")
    }

    /// Refuses a case that `check` does not take. `name` is that of its entry in the `file`.
    pub(crate) fn possible(&self, file: &str, name: impl Into<String>) -> Result<(), EntryError> {
        let refuse = |error: anyhow::Error| EntryError::entry(file, name, format!("{error:#}"));
        self.asked().map(drop).map_err(refuse)
    }

    /// Returns the world, and the property as the only one.
    fn asked(&self) -> anyhow::Result<(Arc<World>, Vec<Property>)> {
        let check = WorldArgs::augment_args(ProtocolArgs::augment_args(Command::new("check")));
        // The flags of durations are those of a subcommand.
        let command = with_durations(Command::new(CHECKER).subcommand(check), specifications());
        let words = [CHECKER, "check"].into_iter().chain(self.words.iter().map(String::as_str));
        let flags = command.try_get_matches_from(words).and_then(|matches| {
            let (_, flags) = matches.subcommand().unwrap_or(("", &matches));
            Ok((ProtocolArgs::from_arg_matches(flags)?, WorldArgs::from_arg_matches(flags)?))
        });
        let (protocol, scenario) = flags.map_err(|error| anyhow!(first_words(&error)))?;
        let world = searchable_world(specifications(), &protocol, &scenario)?;
        let properties = property::select(&world, std::slice::from_ref(&self.property))?;
        let asked: Vec<_> = properties.iter().map(|one| (one.name, one.kind())).collect();
        scenario.are_asked_about(&asked)?;
        Ok((world, properties))
    }

    fn decide(&self, runner: &Runner) -> anyhow::Result<Decided> {
        let (world, properties) = self.asked()?;
        let options = Options { limits: runner.limits, ..Options::default() };
        let report = check::check(&world, &properties, &options, &mut |_| {})?;
        let ran = Ran::of(&world, &report).context("nothing was decided")?;
        Ok(Decided { ran, report })
    }
}

/// A case after its search.
pub struct Decided {
    /// The finding, and the execution that shows it.
    pub ran: Ran,
    /// The report of the search.
    pub report: Report,
}

impl Decided {
    /// Returns whether the verdict is what the case expects; `None` if the search was cut short, or
    /// nothing is expected.
    #[must_use]
    pub fn agrees(&self, case: &Case) -> Option<bool> {
        case.expected?.agrees(self.report.decisions.first()?)
    }
}

impl Runner {
    /// Runs these cases, each with the name of its entry. `done` is called with the name whenever
    /// one is done.
    ///
    /// # Errors
    /// If a world cannot be searched, or the system gives no threads.
    pub fn cases(
        &self,
        cases: &[(&str, &Case)],
        done: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Vec<Decided>> {
        let one = |&(name, case): &(&str, &Case)| {
            let decided = case.decide(self);
            done(name);
            decided.with_context(|| name.to_owned())
        };
        let threads = self.threads;
        let decided = in_parallel(threads, cases, &one).map_err(|error| {
            anyhow!("cannot search {threads} worlds at a time: {error}; try --threads 1")
        })?;
        decided.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Case;
    use bellwether_model::cli::suite::Wanted;

    fn read(text: &str) -> Result<Case, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn a_case_is_a_command_in_the_order_of_the_file() {
        let text = "protocol = 'bully'\nvariant = 'chapter'\nrule = { t_coord = false }\nnodes = 3\n\
                    crashes = 0\nwithout = ['3>1', '3>2']\n\
                    expect = { 'never(leads(1) && leads(2))' = 'violated in 4 steps' }\n";
        let case = read(text).expect("it can be read");
        let command = "bellwether-model check bully --variant chapter --rule t_coord=false --nodes 3 --crashes 0 \
                       --without '3>1' --without '3>2' --never 'leads(1) && leads(2)'";
        assert_eq!(case.command(), command);
        assert_eq!((case.protocol(), case.steps()), ("bully", Some(4)));
        assert_eq!(case.says(), "violated (4 steps)");
        let question = read("protocol = 'bully'\nproperty = 'decided'\n").expect("it can be read");
        assert_eq!(question.command(), "bellwether-model check bully --property decided");
        assert_eq!((question.expected, question.says()), (None, String::new()));
        let written = read("protocol = 'bully'\nproperty = 'always(leads(1) -> leads(2))'\n");
        let command = written.expect("it can be read").command();
        assert!(command.ends_with(" --property 'always(leads(1) -> leads(2))'"), "{command}");
        let held = read("protocol = 'bully'\nexpect = { decided = 'holds within' }\n");
        assert_eq!(held.expect("it can be read").expected, Some(Wanted::HoldsWithin));
    }

    #[test]
    fn a_case_that_asks_nothing_or_much_is_refused() {
        for (text, says) in [
            ("expect = { decided = 'holds' }", "'protocol' is missing"),
            ("protocol = 'bully'", "a case asks one property"),
            ("protocol = 'bully'\nexpect = {}", "a case asks one property"),
            ("protocol = 'bully'\nexpect = { a = 'holds', b = 'holds' }", "asks one property"),
            ("protocol = 'bully'\nalways = 'a'\nexpect = { a = 'holds' }", "asks one property"),
            ("protocol = 'bully'\nexpect = { a = 'hold' }", "no verdict is 'hold'"),
        ] {
            let told = read(text).expect_err(text).to_string();
            assert!(told.contains(says), "{told}");
        }
    }
}
