//! A case of a suite: the flags of `check`, read and decided as `check` does it, and whether what
//! was found is what the file expects.

use super::file::{Count, Expected, Mistake, OTHERS, Place, Written, found, steps};
use crate::cli::check::CheckArgs;
use crate::cli::{Tool, shown, with_durations};
use bellwether_cli::failure::first_words;
use bellwether_engine::check::{self, Engine, Event, Limits, Options, Reason, Report};
use bellwether_engine::property::Property;
use bellwether_engine::world::World;
use clap::{Args, Command, FromArgMatches};
use std::sync::Arc;
use std::time::Duration;

/// The command line of `check`, as every program has it that does not search in its own way.
pub(super) fn check_command(tool: Tool) -> Command {
    let check = CheckArgs::augment_args(Command::new("check"));
    let check = match tool.registry.names()[..] {
        [only] => check.mut_arg("protocol", |arg| arg.default_value(only).required(false)),
        _ => check,
    };
    with_durations(Command::new(tool.name).subcommand(check), tool.registry)
}

/// Where, of what and how `check` is asked by these words.
type Asked = (Arc<World>, Vec<Property>, Options);

fn asked(
    tool: Tool,
    command: &Command,
    written: &Written,
    words: &[(String, Place)],
) -> Result<Asked, Mistake> {
    let wrong = |problem: String| Mistake::new(written.place_of(&problem), problem);
    let typed = words.iter().map(|(word, _)| word.as_str());
    let typed: Vec<&str> = [tool.name, "check"].into_iter().chain(typed).collect();
    let flags = command.clone().try_get_matches_from(&typed).and_then(|matches| {
        let (_, flags) = matches.subcommand().unwrap_or(("", &matches));
        CheckArgs::from_arg_matches(flags)
    });
    let flags = flags.map_err(|error| wrong(first_words(&error)))?;
    flags.asked(tool).map_err(|error| wrong(format!("{error:#}")))
}

/// A case that can be run.
pub struct Case {
    pub(super) name: String,
    /// The command that decides the same.
    pub command: String,
    /// The protocol and the flags, as `check` gets them.
    words: Vec<String>,
    world: Arc<World>,
    properties: Vec<Property>,
    options: Options,
    expected: Vec<Expected>,
    states: Option<Count>,
    transitions: Option<Count>,
}

impl Case {
    /// Returns the case that is written, if `check` takes its words.
    pub(super) fn of(tool: Tool, command: &Command, written: Written) -> Result<Case, Mistake> {
        let line_of = |words: &[(String, Place)]| asked(tool, command, &written, words);
        let mut expected = written.expected.clone();
        if let Some(others) = expected.pop_if(|one| one.property == OTHERS) {
            let (_, usual, _) = line_of(&written.words)?;
            let named = |name: &str| expected.iter().any(|one| one.property == name);
            let others: Vec<_> = usual
                .iter()
                .filter(|usual| !named(usual.name))
                .map(|usual| Expected { property: usual.name.to_string(), ..others.clone() })
                .collect();
            expected.extend(others);
        }
        let properties = expected.iter().map(|one| {
            let word = format!("--property={}", one.property);
            (word, one.place.clone())
        });
        let words: Vec<(String, Place)> = written.words.iter().cloned().chain(properties).collect();
        let (world, properties, options) = line_of(&words)?;
        let count = written.states.as_ref().or(written.transitions.as_ref());
        if options.engine == Engine::Simulation
            && let Some(count) = count
        {
            let problem = "random walks count neither states nor transitions; leave it out";
            return Err(Mistake::new(count.place.clone(), problem));
        }
        let usual = line(&written.words);
        let command = format!("{} check {}", tool.called(), line(&words));
        let words = written.words.iter().map(|(word, _)| word.clone()).collect();
        let Written { name, states, transitions, .. } = written;
        Ok(Case {
            name: name.unwrap_or(usual),
            command,
            words,
            world,
            properties,
            options,
            expected,
            states,
            transitions,
        })
    }

    /// Returns the world of the case.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns the number of threads that search the case.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.options.threads
    }

    /// Returns the limits of the case.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Returns the flags of the case as they are typed, of those whose names, without their dashes,
    /// are taken.
    #[must_use]
    pub fn flags(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let taken = self.words.iter().filter(|word| flag(word).is_some_and(&is_taken));
        taken.map(|word| typed(word)).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn run(&self, on_event: &mut (dyn FnMut(Event) + Send)) -> Ran {
        match check::check(&self.world, &self.properties, &self.options, on_event) {
            Ok(report) => self.compare(&report),
            Err(error) => {
                let failed = Some(format!("{:#}", anyhow::Error::from(error)));
                Ran { failed, ..Ran::default() }
            }
        }
    }

    /// What is found otherwise than expected, and what is not decided.
    fn compare(&self, report: &Report) -> Ran {
        let mut ran = Ran { elapsed: report.elapsed, ..Ran::default() };
        // Properties are decided in the order in which they are asked.
        for (expected, decision) in self.expected.iter().zip(&report.decisions) {
            let Expected { property, wanted, story, .. } = expected;
            let found = found(report, decision);
            if let Some(story) = story
                && let Some(shown) = &decision.counterexample
            {
                let steps: Vec<String> = shown.steps.iter().map(ToString::to_string).collect();
                if *story != steps {
                    let (story, steps) = (story.join("; "), steps.join("; "));
                    ran.differs.push(format!("{property}: expected '{story}', found '{steps}'"));
                }
            }
            match wanted.agrees(decision) {
                Some(true) => {}
                Some(false) => {
                    ran.differs.push(format!("{property}: expected {wanted}, found {found}"));
                }
                None => ran.undecided.push(format!("{property}: {found}")),
            }
            let (wanted, steps) = (wanted.to_string(), steps(decision));
            ran.properties.push(Found { property: property.clone(), wanted, found, steps });
        }
        let counts = report.counts;
        // The initial state is counted as generated, and no transition leads to it.
        let transitions = counts.generated.saturating_sub(1);
        (ran.states, ran.transitions) = (Some(counts.distinct), Some(transitions));
        let is_whole = matches!(report.cut_short, None | Some(Reason::FirstViolation));
        for (what, expected, found) in [
            ("states", &self.states, counts.distinct),
            ("transitions", &self.transitions, transitions),
        ] {
            let Some(Count { number, .. }) = expected else { continue };
            if !is_whole {
                let why = report.cut_short.map(|reason| reason.to_string()).unwrap_or_default();
                ran.undecided.push(format!("{what}: unknown: {why}"));
            } else if *number != found {
                ran.differs.push(format!("{what}: expected {number}, found {found}"));
            }
        }
        ran
    }
}

impl Written {
    /// Where the flag, the property or the value stands of which a message speaks; else the case.
    fn place_of(&self, problem: &str) -> Place {
        let by = |is_told: &dyn Fn(&str) -> bool| {
            let told = self.words.iter().find(|(word, _)| is_told(word));
            told.map(|(_, place)| place)
        };
        // A message on the value of a flag may name the protocol as well, which stands first.
        let last = |is_told: &dyn Fn(&str) -> bool| {
            let told = self.words.iter().rfind(|(word, _)| is_told(word));
            told.map(|(_, place)| place)
        };
        let flag = |word: &str| {
            let flag = word.split('=').next().unwrap_or_default();
            flag.starts_with("--") && names(problem, flag)
        };
        let value = |word: &str| {
            let values = word.split('=').filter(|part| !part.starts_with("--"));
            values.map(|value| format!("'{value}'")).any(|value| names(problem, &value))
        };
        let property = || {
            let named = |one: &&Expected| names(problem, &format!("'{}'", one.property));
            self.expected.iter().find(named).map(|one| &one.place)
        };
        by(&flag).or_else(property).or_else(|| last(&value)).unwrap_or(&self.place).clone()
    }
}

/// Whether a message has this name in it, and not as a part of another.
fn names(problem: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    problem.match_indices(name).any(|(at, _)| !problem[at + name.len()..].starts_with(is_part))
}

/// The name of the flag that a word is.
fn flag(word: &str) -> Option<&str> {
    word.strip_prefix("--")?.split('=').next()
}

/// A word of a command as it is typed.
fn typed(word: &str) -> String {
    match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => {
            format!("{flag} {}", shown::quoted(value))
        }
        _ => shown::quoted(word),
    }
}

/// The words of a command as they are typed.
fn line(words: &[(String, Place)]) -> String {
    words.iter().map(|(word, _)| typed(word)).collect::<Vec<_>>().join(" ")
}

/// The result of a case.
#[derive(Debug, Default)]
pub struct Ran {
    /// The reason why the program leaves the case out, if it does.
    pub left_out: Option<String>,
    /// The list of what is found otherwise than expected.
    pub differs: Vec<String>,
    /// The list of what is not decided, and why.
    pub undecided: Vec<String>,
    /// The reason why it could not be run, if it could not.
    pub failed: Option<String>,
    /// The findings, one for each property.
    pub properties: Vec<Found>,
    /// The number of states that were met, if they were counted.
    pub states: Option<u64>,
    /// The number of transitions that were taken, if they were counted.
    pub transitions: Option<u64>,
    /// The time that it took.
    pub elapsed: Duration,
}

/// What was found of a property.
#[derive(Debug, serde::Serialize)]
pub struct Found {
    /// The name of the property.
    #[serde(rename = "name")]
    pub property: String,
    /// The verdict that was expected, in words.
    #[serde(rename = "expected")]
    pub wanted: String,
    /// The verdict that was found, in words.
    pub found: String,
    /// The number of steps of the execution that shows it, if one does.
    pub steps: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    AsExpected,
    Differs,
    Failed,
    Unknown,
    /// It was stopped before this case.
    NotRun,
    /// The program has no part in it.
    LeftOut,
}

impl End {
    /// The word for it in JSON.
    pub(super) fn key(self) -> String {
        self.words().replace(' ', "-")
    }

    /// The words for it.
    pub(super) fn words(self) -> &'static str {
        match self {
            End::AsExpected => "as expected",
            End::Differs => "differs",
            End::Failed => "error",
            End::Unknown => "unknown",
            End::NotRun => "not run",
            End::LeftOut => "left out",
        }
    }
}

/// A case that was run, or was not because the suite was stopped.
pub(super) struct Done<'c> {
    pub(super) case: &'c Case,
    pub(super) ran: Option<Ran>,
}

impl Done<'_> {
    pub(super) fn end(&self) -> End {
        match &self.ran {
            None => End::NotRun,
            Some(ran) if ran.left_out.is_some() => End::LeftOut,
            Some(ran) if !ran.differs.is_empty() => End::Differs,
            Some(ran) if ran.failed.is_some() => End::Failed,
            Some(ran) if !ran.undecided.is_empty() => End::Unknown,
            Some(_) => End::AsExpected,
        }
    }

    /// What is wrong, not known, or left out: nothing if all is as expected.
    pub(super) fn problems(&self) -> String {
        let Some(ran) = &self.ran else { return String::new() };
        let all = ran.differs.iter().chain(&ran.failed).chain(&ran.undecided);
        let all = all.chain(&ran.left_out);
        all.map(String::as_str).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn seconds(&self) -> f64 {
        self.ran.as_ref().map_or(0.0, |ran| ran.elapsed.as_secs_f64())
    }
}
