//! Reads the command line and the environment, and says from which of them a bad value is.

use std::ffi::OsString;
use std::process::ExitCode;

use bellwether_cli::{brief, first_words};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use super::{CONFIGURATION, Cli, complaint, environment, is_read, json, log};

/// What was asked, and which flags and variables of the environment have a part in it.
pub(crate) struct Line {
    pub(crate) cli: Cli,
    pub(crate) given: Vec<Given>,
}

/// An argument that is not left to its default.
pub(crate) struct Given {
    /// The name of its field.
    pub(crate) id: String,
    /// The flag or the variable.
    pub(crate) from: String,
    /// What the variable is; none if it is a flag.
    value: Option<String>,
}

impl Line {
    /// What goes behind the message about a configuration that is wrong: the variables may be.
    pub(crate) fn sources(&self) -> String {
        let variables: Vec<_> = self
            .given
            .iter()
            .filter_map(|given| Some(format!("{}={}", given.from, given.value.as_ref()?)))
            .collect();
        match &variables[..] {
            [] => String::new(),
            variables => format!("\nset in the environment: {}", variables.join(", ")),
        }
    }
}

/// Reads both. What is asked of the help is printed, and what is wrong is told; then there is only
/// an exit status.
pub(crate) fn read() -> Result<Line, ExitCode> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let mut command = brief(with_negative_numbers(Cli::command()));
    let read = command.try_get_matches_from_mut(&words);
    let read = read.and_then(|matches| {
        let given = given(&command, &matches);
        Ok(Line { cli: Cli::from_arg_matches(&matches)?, given })
    });
    let line = read.map_err(|error| {
        let plain: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let message = no_text(&words, &error);
        let message = message.or_else(|| in_environment(&command, &words, &error));
        let status = u8::try_from(error.exit_code()).unwrap_or(CONFIGURATION);
        match message.or_else(|| complaint::complaint(&command, &plain, &error)) {
            Some(message) => json::complain(message, &[], status),
            None if error.use_stderr() && json::is_asked() => {
                json::complain(first_words(&error), &[], status);
            }
            None => {
                if let Err(failure) = is_read(error.print())
                    && status == 0
                {
                    log::complain(failure.error.to_string());
                    return ExitCode::from(failure.status);
                }
            }
        }
        ExitCode::from(status)
    })?;
    let is_set_to_nothing = |given: &&Given| given.value.as_deref() == Some("");
    let Some(empty) = line.given.iter().find(is_set_to_nothing) else { return Ok(line) };
    json::complain(is_empty(&empty.from), &[], CONFIGURATION);
    Err(ExitCode::from(CONFIGURATION))
}

/// A value such as `-1` is a wrong number, and not a flag.
fn with_negative_numbers(command: Command) -> Command {
    let takes = |arg: &Arg| arg.get_action().takes_values() && arg.get_long().is_some();
    let command = command.mut_args(|arg| {
        let negative = takes(&arg);
        arg.allow_negative_numbers(negative)
    });
    command.mut_subcommands(with_negative_numbers)
}

/// The arguments that say something.
fn given(command: &Command, matches: &ArgMatches) -> Vec<Given> {
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let Some(command) = command.find_subcommand(name) else { return Vec::new() };
    let said = |arg: &Arg| {
        let id = arg.get_id().as_str();
        matches.try_contains_id(id).ok()?;
        let (from, value) = match matches.value_source(id)? {
            ValueSource::CommandLine => (format!("--{}", arg.get_long()?), None),
            ValueSource::EnvVariable => {
                let name = arg.get_env()?;
                let value = std::env::var_os(name)?.to_string_lossy().into_owned();
                (name.to_string_lossy().into_owned(), Some(value))
            }
            _ => return None,
        };
        Some(Given { id: id.to_owned(), from, value })
    };
    let mut all: Vec<Given> = command.get_arguments().filter_map(said).collect();
    all.extend(given(command, matches));
    all
}

fn is_empty(variable: &str) -> String {
    format!("the environment variable {variable} is empty: set or unset it")
}

/// The message about words, or variables, that are no text where only the name of a file may be
/// none.
fn no_text(words: &[OsString], error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidUtf8 {
        return None;
    }
    let of_words = words.iter().filter(|word| word.to_str().is_none());
    let mut wrong: Vec<String> = of_words.map(|word| format!("'{}'", word.display())).collect();
    let variables = std::env::vars_os().filter(|(_, value)| value.to_str().is_none());
    let variables = variables.filter_map(|(name, _)| name.into_string().ok());
    wrong.extend(variables.filter(|name| name.starts_with(environment::OURS)));
    let wrong = wrong.join(" or ");
    Some(format!("{wrong} is not UTF-8, and only the name of a file may be that; set it again"))
}

/// The message about a value that is not from the command line, but from a variable.
fn in_environment(command: &Command, words: &[OsString], error: &clap::Error) -> Option<String> {
    if ![ErrorKind::InvalidValue, ErrorKind::ValueValidation].contains(&error.kind()) {
        return None;
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let flag = context(ContextKind::InvalidArg)?.split(' ').next()?;
    let typed = |word: &OsString| {
        word.to_str().is_some_and(|word| word == flag || word.starts_with(&format!("{flag}=")))
    };
    let words: Vec<_> = words.iter().skip(1).take_while(|word| *word != "--").collect();
    if words.iter().any(|word| typed(word)) {
        return None;
    }
    let name = words.iter().find_map(|word| command.find_subcommand(word))?;
    let long = flag.strip_prefix("--");
    let arg = name.get_arguments().find(|arg| arg.get_long() == long || long.is_none())?;
    let variable = arg.get_env().filter(|name| std::env::var_os(name).is_some())?;
    let variable = variable.to_string_lossy();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    if value.is_empty() {
        return Some(is_empty(&variable));
    }
    let why = match (std::error::Error::source(error), error.get(ContextKind::ValidValue)) {
        (Some(why), _) => why.to_string(),
        (None, Some(ContextValue::Strings(known))) => format!("use {}", known.join(" or ")),
        _ => return None,
    };
    Some(format!("the environment variable {variable} is '{value}': {why}"))
}
