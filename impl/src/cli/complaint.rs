//! What is wrong with a command line, where, and what to do about it, in one line. Messages of clap
//! list no commands, and name no variable that can be set instead of a flag that is missing.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};

/// The message; nothing if clap's own serves, which is where help is asked for.
pub(super) fn complaint(program: &Command, words: &[&str], error: &Error) -> Option<String> {
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
pub(super) fn perhaps(name: &str, known: &[&str]) -> String {
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
