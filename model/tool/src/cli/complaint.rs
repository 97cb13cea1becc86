//! What is wrong with a command line, where, and what to do about it, in one line. Messages of clap
//! give no next command, and explain no flag with one dash, behind `--` or before the command.

use bellwether_engine::words::{instead_of, perhaps};
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use std::ffi::OsString;

/// The message; nothing if clap's own serves. What it gives as the next command begins as the
/// program is `called`.
pub(super) fn complaint(
    (command, called): (&Command, &str),
    words: &[&str],
    error: &Error,
) -> Option<String> {
    let program = command.get_name();
    let of = words.iter().skip(1).find_map(|word| command.find_subcommand(word));
    let name = of.map_or(program.to_owned(), |of| format!("{program} {}", of.get_name()));
    let next = of.map_or(called.to_owned(), |of| format!("{called} {}", of.get_name()));
    let see = format!("'{next} --help' shows what there is");
    let known = of.unwrap_or(command).get_arguments().filter(|arg| !arg.is_hide_set());
    let known: Vec<String> =
        known.filter_map(clap::Arg::get_long).map(|long| format!("--{long}")).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    // Else its letters are read as short flags, and the rest as a value.
    let one_dash = |word: &&&str| word.len() > 2 && known.contains(&&*format!("-{word}"));
    if let Some(word) = words.iter().find(one_dash) {
        return Some(format!("{name} has no flag '{word}'; did you mean '-{word}'? {see}"));
    }
    let flag = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    Some(match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let wrong = context(error, ContextKind::InvalidSubcommand)?;
            no_command((command, called), words, &wrong)
        }
        ErrorKind::UnknownArgument => {
            let wrong = flag?;
            if known.contains(&&*wrong) {
                elsewhere(&wrong, &name, words)
            } else if wrong.starts_with('-') {
                format!("{name} has no flag '{wrong}'; {}{see}", perhaps(&wrong, &known))
            } else {
                format!("'{wrong}' is one argument too many for {name}; {see}")
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = bare(&flag?);
            let see = match missing == "PROTOCOL" {
                true => format!("'{called} list' shows the protocols"),
                false => see,
            };
            format!("{name} needs {missing}; {see}")
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let flag = bare(&flag?);
            let (flag, value) = flag.split_once(' ').unwrap_or((&flag, "a value"));
            format!("{flag} needs {value} behind it; {see}")
        }
        ErrorKind::InvalidValue => {
            let known = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(known)) => known.clone(),
                _ => return None,
            };
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!("{} cannot be '{value}'; {}", first(&flag?), instead_of(&value, &known))
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error)?;
            format!("{} cannot be '{value}': {why}", first(&flag?))
        }
        ErrorKind::WrongNumberOfValues => {
            format!("{} takes all of these values; give them, or leave it out", bare(&flag?))
        }
        ErrorKind::ArgumentConflict => {
            let other = context(error, ContextKind::PriorArg)?;
            let (one, other) = (first(&flag?), first(&other));
            if one == other {
                return Some(format!("{one} is given more than once; give it once"));
            }
            format!("{one} and {other} exclude each other; leave one of them out")
        }
        _ => return None,
    })
}

/// Words that are no text are given where only the name of a file may be.
pub(super) fn no_text(words: &[OsString]) -> String {
    let wrong = words.iter().filter(|word| word.to_str().is_none());
    let wrong: Vec<String> = wrong.map(|word| format!("'{}'", word.display())).collect();
    let wrong = wrong.join(" or ");
    format!("{wrong} is not UTF-8, and only the name of a file may be that; type it again")
}

/// There is no such command, or too much behind `help`.
fn no_command((command, called): (&Command, &str), words: &[&str], wrong: &str) -> String {
    if let [_, "help", of, .., last] = words
        && command.find_subcommand(of).is_some()
    {
        let program = command.get_name();
        return format!(
            "'{last}' is one argument too many for {program} help; '{called} help {of}' shows what \
             there is"
        );
    }
    let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    format!("there is no command '{wrong}'; {}", instead_of(wrong, &known))
}

/// A flag of the command `name` that stands where flags are none, or before the command.
fn elsewhere(flag: &str, name: &str, words: &[&str]) -> String {
    match words.contains(&"--") {
        true => format!("'{flag}' is no flag behind '--'; leave '--' out"),
        false => format!("'{flag}' is a flag of {name}; write it behind that"),
    }
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

/// A part of what clap found.
fn context(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(all) => Some(all.join(" and ")),
        _ => None,
    }
}
