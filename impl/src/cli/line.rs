//! Reads the command line and the environment, and says what is wrong with them, and from which of
//! the two a bad value is.

use std::ffi::OsString;
use std::process::ExitCode;

use bellwether_cli::{brief, first_words};
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
        match message.or_else(|| complaint(&command, &plain, &error)) {
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
fn no_text(words: &[OsString], error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidUtf8 {
        return None;
    }
    let of_words = words.iter().filter(|word| word.to_str().is_none());
    let mut wrong: Vec<String> = of_words.map(|word| format!("'{}'", word.display())).collect();
    let variables = std::env::vars_os().filter(|(_, value)| value.to_str().is_none());
    let variables = variables.filter_map(|(name, _)| name.into_string().ok());
    wrong.extend(variables.filter(|name| name.starts_with(OURS)));
    let wrong = wrong.join(" or ");
    Some(format!("{wrong} is not UTF-8, and only the name of a file may be that; set it again"))
}

/// The message about a value that is not from the command line, but from a variable.
fn in_environment(command: &Command, words: &[OsString], error: &Error) -> Option<String> {
    if ![ErrorKind::InvalidValue, ErrorKind::ValueValidation].contains(&error.kind()) {
        return None;
    }
    let flag = context(error, ContextKind::InvalidArg)?;
    let flag = flag.split(' ').next()?;
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
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
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

/// Returns the message about a command line that is wrong: where, and what to do about it, in one
/// line. A message of clap lists no commands, and names no variable that can be set instead of a
/// flag that is missing. Nothing if clap's own serves, which is where help is asked for.
fn complaint(program: &Command, words: &[&str], error: &Error) -> Option<String> {
    let (called, command) = called(program, words);
    let see = format!("'{called} --help' shows what there is");
    let flag = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    Some(match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let wrong = context(error, ContextKind::InvalidSubcommand)?;
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            let known: Vec<&str> = shown.map(Command::get_name).collect();
            let all = known.join(", ");
            format!(
                "{called} has no command '{wrong}'; {}there are: {all}",
                perhaps(&wrong, &known)
            )
        }
        ErrorKind::UnknownArgument => {
            let wrong = flag?;
            if !wrong.starts_with('-') {
                return Some(format!("'{wrong}' is one argument too many for {called}; {see}"));
            }
            let known: Vec<String> = command
                .get_arguments()
                .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
                .collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!("{called} has no flag '{wrong}'; {}{see}", perhaps(&wrong, &known))
        }
        ErrorKind::MissingRequiredArgument => {
            let all = flag?;
            let all: Vec<String> = all.lines().map(|missing| needs(command, missing)).collect();
            format!("{called} needs {}; {see}", all.join(", and "))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let flag = bare(&flag?);
            let (flag, value) = flag.split_once(' ').unwrap_or((&flag, "a value"));
            format!("{flag} needs {value} behind it; {see}")
        }
        ErrorKind::InvalidValue => {
            let Some(ContextValue::Strings(known)) = error.get(ContextKind::ValidValue) else {
                return None;
            };
            let near: Vec<&str> = known.iter().map(String::as_str).collect();
            let (flag, all) = (first(&flag?), known.join(", "));
            format!("{flag} cannot be '{value}'; {}there are: {all}", perhaps(&value, &near))
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error)?;
            format!("{} cannot be '{value}': {why}", first(&flag?))
        }
        ErrorKind::ArgumentConflict => {
            let (one, other) = (first(&flag?), first(&context(error, ContextKind::PriorArg)?));
            format!("{one} and {other} exclude each other; leave one of them out")
        }
        _ => return None,
    })
}

/// The command that the words name, and how it is called.
fn called<'c>(program: &'c Command, words: &[&str]) -> (String, &'c Command) {
    let (mut name, mut command) = (program.get_name().to_owned(), program);
    for word in words.iter().skip(1).take_while(|&&word| word != "--") {
        if let Some(below) = command.find_subcommand(word) {
            name = format!("{name} {}", below.get_name());
            command = below;
        }
    }
    (name, command)
}

/// What is missing, what it is, and where else it can be said.
fn needs(command: &Command, missing: &str) -> String {
    let missing = bare(missing);
    let long = first(&missing);
    let is = |arg: &&Arg| match long.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.is_positional(),
    };
    let Some(arg) = command.get_arguments().find(is) else { return missing };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut letters = help.lines().next().unwrap_or_default().chars();
    let begin = letters.next().map(|letter| letter.to_ascii_lowercase());
    let what: String = begin.into_iter().chain(letters).collect();
    match arg.get_env() {
        Some(variable) => {
            format!("{missing}, {what}, or the variable {}", variable.to_string_lossy())
        }
        None => format!("{missing}, {what}"),
    }
}

/// The question whether another name was meant, with a space behind it, if one comes near.
fn perhaps(name: &str, known: &[&str]) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(name, known);
    let near = |known: &&str| distance(known) <= 1 + name.len().max(known.len()) / 5;
    let nearest = known.iter().copied().filter(near).min_by_key(|known| distance(known));
    nearest.map(|known| format!("did you mean '{known}'? ")).unwrap_or_default()
}

/// A flag with the names of its values, or the name of an argument, as clap writes it, without its
/// brackets and dots.
fn bare(flag: &str) -> String {
    flag.replace(['<', '>', '[', ']'], "").trim_end_matches("...").to_owned()
}

/// The same without the names of values.
fn first(flag: &str) -> String {
    bare(flag).split(' ').next().unwrap_or_default().to_owned()
}

/// A part of what clap found, a line for each if it is several.
fn context(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(all) => Some(all.join("\n")),
        _ => None,
    }
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
