//! Reads the command line and the environment, and says what is wrong with them, and from which of
//! the two a bad value is.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use bellwether_cli::failure::refuse;
use bellwether_cli::{brief, shell};
use bellwether_stores::private_file::endless;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use super::{CONFIGURATION, Cli, is_read, json, log};

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
    let mut command = brief(with_negative_numbers(shell::named(Cli::command())));
    let read = command.try_get_matches_from_mut(std::env::args_os());
    let mut wrong = None;
    let read = read.and_then(|matches| {
        log::keep_asked(&matches);
        let starts = ["run", "exec", "check-config"];
        if matches.subcommand_name().is_some_and(|name| starts.contains(&name)) {
            wrong = no_file(&command, &matches);
        }
        let given = given(&command, &matches);
        Ok(Line { cli: Cli::from_arg_matches(&matches)?, given })
    });
    let line = read.map_err(|error| {
        if error.use_stderr() {
            return refuse(&error, in_environment(&error).as_deref(), json::is_asked());
        }
        match is_read(error.print()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(failure) => {
                log::complain(&failure.error.to_string());
                ExitCode::from(failure.status)
            }
        }
    })?;
    let is_set_to_nothing = |given: &&Given| given.value.as_deref() == Some("");
    let empty = line.given.iter().find(is_set_to_nothing).map(|empty| is_empty(&empty.from));
    let Some(wrong) = empty.or(wrong) else { return Ok(line) };
    json::complain(&wrong, &[], CONFIGURATION);
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

/// The message about a file that is a pipe or a device: to read it could take for ever.
fn no_file(command: &Command, matches: &ArgMatches) -> Option<String> {
    let (name, matches) = matches.subcommand()?;
    let command = command.find_subcommand(name)?;
    let wrong = |arg: &Arg| {
        arg.get_value_names()?.iter().find(|name| *name == "FILE")?;
        let path = Path::new(matches.try_get_raw(arg.get_id().as_str()).ok()??.next()?);
        let kind = endless(path, arg.get_id() != "log.trace")?;
        Some(format!("{} is {kind}; name a file", path.display()))
    };
    command.get_arguments().find_map(wrong).or_else(|| no_file(command, matches))
}

fn is_empty(variable: &str) -> String {
    format!("the environment variable {variable} is empty: set or unset it")
}

/// The line about a variable with the value that clap refuses: clap names a flag, as if that were
/// typed.
fn in_environment(error: &Error) -> Option<String> {
    let mut ours = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(OURS));
    let (name, _) = match (error.kind(), error.get(ContextKind::InvalidValue)) {
        (ErrorKind::InvalidUtf8, _) => ours.find(|(_, held)| held.to_str().is_none()),
        (_, Some(ContextValue::String(value))) => {
            let is_typed = |word: OsString| {
                let word = word.to_string_lossy();
                *word == **value || word.ends_with(&format!("={value}"))
            };
            let is_typed = std::env::args_os().any(is_typed);
            ours.find(|(_, held)| !is_typed && held.to_str() == Some(value.as_str()))
        }
        _ => None,
    }?;
    Some(format!("The environment variable {} has this value; set or unset it.", name.display()))
}

/// The question whether another name was meant, with a space behind it, if one comes near.
fn perhaps(name: &str, known: &[&str]) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    let near = |known: &&str| distance(known) <= 1 + name.len().max(known.len()) / 5;
    let nearest = known.iter().copied().filter(near).min_by_key(|known| distance(known));
    nearest.map(|known| format!("did you mean '{known}'? ")).unwrap_or_default()
}

/// How the names of all variables of this program begin.
const OURS: &str = "BELLWETHER_";

/// How those of tests begin.
const TESTS: &str = "BELLWETHER_TEST_";

/// The variables that a hook, or the command of `exec`, finds in its environment: a node below it
/// does so as well.
const GIVEN: [&str; 11] = [
    "BELLWETHER_CLUSTER",
    "BELLWETHER_EPOCH",
    "BELLWETHER_GROUP",
    "BELLWETHER_LEADER",
    "BELLWETHER_LEASE_UNTIL",
    "BELLWETHER_OLD_LEADER",
    "BELLWETHER_OLD_ROLE",
    "BELLWETHER_REASON",
    "BELLWETHER_RIVAL",
    "BELLWETHER_ROLE",
    "BELLWETHER_SEQ",
];

/// Returns the complaints about the variables of this process: one that is misspelt has no effect.
/// The program goes on all the same, as others may set variables whose names begin so: Kubernetes
/// does for a service that is called so.
pub(crate) fn warnings() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    complaints(names)
}

/// What is to be said of variables with these names.
pub(super) fn complaints(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known: Vec<String> = GIVEN.map(str::to_owned).into();
    collect(&Cli::command(), &mut known);
    let ours = |name: &String| name.starts_with(OURS) && !name.starts_with(TESTS);
    let unknown = names.filter(|name| ours(name) && !known.contains(name));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let told = |name: String| {
        let meant = perhaps(&name, &known);
        let text = format!("there is no variable {name}, so it has no effect; {meant}");
        text.trim_end_matches([' ', ';']).to_owned()
    };
    unknown.map(told).collect()
}

/// The variables of a command and of all below it.
fn collect(command: &Command, known: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(clap::Arg::get_env);
    known.extend(variables.map(|name| name.to_string_lossy().into_owned()));
    command.get_subcommands().for_each(|below| collect(below, known));
}
