//! What is wrong with a command line, where, and what to do about it, in our own words.

use crate::words::{instead_of, perhaps};
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// The message; nothing if clap's own serves.
pub(super) fn complaint(command: &Command, words: &[&str], error: &Error) -> Option<String> {
    let program = command.get_name();
    let of = words.iter().skip(1).find_map(|word| command.find_subcommand(word));
    let name = of.map(|of| format!("{program} {}", of.get_name()));
    let called = name.as_deref().unwrap_or(program);
    let see = format!("'{called} --help' shows what there is");
    let flag = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    Some(match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let wrong = context(error, ContextKind::InvalidSubcommand)?;
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            format!("there is no command '{wrong}'; {}", instead_of(&wrong, &known))
        }
        ErrorKind::UnknownArgument => {
            let wrong = flag?;
            if !wrong.starts_with('-') {
                return Some(format!("'{wrong}' is one argument too many for {called}; {see}"));
            }
            let known = of.unwrap_or(command).get_arguments().filter(|arg| !arg.is_hide_set());
            let known: Vec<String> =
                known.filter_map(clap::Arg::get_long).map(|long| format!("--{long}")).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!("{called} has no flag '{wrong}'; {}{see}", perhaps(&wrong, &known))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = bare(&flag?);
            let see = match missing == "PROTOCOL" {
                true => format!("'{program} list' shows the protocols"),
                false => see,
            };
            format!("{called} needs {missing}; {see}")
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
            format!("{} takes all of these values, or is left out", bare(&flag?))
        }
        ErrorKind::ArgumentConflict => {
            let other = context(error, ContextKind::PriorArg)?;
            let (one, other) = (first(&flag?), first(&other));
            format!("{one} and {other} exclude each other; leave one of them out")
        }
        _ => return None,
    })
}

/// A flag with the names of its values, or the name of an argument, as clap writes it, without its
/// brackets.
fn bare(flag: &str) -> String {
    flag.replace(['<', '>'], "")
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
