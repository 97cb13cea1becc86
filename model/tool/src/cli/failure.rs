//! A command that could not do what it was asked: what is wrong, for people on standard error, or,
//! with `--json`, for programs on standard output, where they read.

use super::{USAGE, complain, text};
use bellwether_cli::asks;
use bellwether_cli::json::{halves, typed};
use bellwether_engine::expression::ExpressionError;
use bellwether_engine::machine::UnknownProtocol;
use bellwether_engine::property::PropertyError;
use bellwether_engine::protocol::RuleError;
use bellwether_engine::words::{instead_of, perhaps};
use bellwether_engine::world::WorldError;
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::process::ExitCode;

/// The error that what was asked for cannot be.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The rules cannot be had.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The scenario is not possible.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A rule is given two values.
    #[error("--rule {rule}=... is given twice, and only one value can hold; leave one of them out")]
    RuleTwice {
        /// The name of the rule.
        rule: String,
    },
    /// A flag changes nothing: who gives it expects otherwise.
    #[error("{flag} has no effect: {why}")]
    NoEffect {
        /// The flag that was given.
        flag: String,
        /// The reason why it changes nothing, and what to do.
        why: String,
    },
    /// A flag of timed worlds is given where there are none.
    #[error("--{flag}: {why}")]
    NoClock {
        /// The flag that was given.
        flag: String,
        /// The reason why there are none, and what to do.
        why: String,
    },
    /// The properties cannot be asked.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// The expression that is to be shown has no meaning.
    #[error("--show: {0}")]
    Show(ExpressionError),
    /// The protocol is not known.
    #[error(transparent)]
    Protocol(#[from] UnknownProtocol),
}

impl UsageError {
    /// Returns the error of a flag that changes nothing: why, and what to do.
    pub fn no_effect(flag: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NoEffect { flag: flag.into(), why: why.into() }
    }
}

/// What is wrong with a command line, where, and what to do about it, in one line: messages of clap
/// give no next command, and explain no flag with one dash, behind `--` or before the command.
/// Nothing if clap's own serves. The next command begins as the program is `called`.
pub(super) fn complaint(
    command: &Command,
    called: &str,
    words: &[&str],
    error: &clap::Error,
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
            no_command(command, called, words, &wrong)
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
fn no_command(command: &Command, called: &str, words: &[&str], wrong: &str) -> String {
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
fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(all) => Some(all.join(" and ")),
        _ => None,
    }
}

/// Whether the command line asks for JSON. It need not be one that can be read.
pub(super) fn as_json() -> bool {
    asks("--json")
}

/// Tells what is wrong, from the whole to its causes, and returns the exit status.
pub(super) fn told(parts: &[String]) -> ExitCode {
    let object = || object(parts, &typed());
    let is_told = as_json() && text::print_json(&object()).is_ok();
    if !is_told {
        complain(&parts.join(": "));
    }
    ExitCode::from(USAGE)
}

/// The object. What is to be done stands behind a semicolon in the first line of a message; the
/// next lines show what was typed. If several messages have some, those after the first keep it.
fn object(parts: &[String], typed: &[String]) -> Value {
    let mut help = None;
    let mut wrong = Vec::new();
    for part in parts {
        wrong.push(match halves(part, typed) {
            (wrong, Some(what)) if help.is_none() && !wrong.contains('\n') => {
                help = Some(what);
                wrong
            }
            _ => part.as_str(),
        });
    }
    let message = wrong.first();
    let causes = wrong.get(1..).unwrap_or_default();
    json!({
        "error": { "message": message, "causes": causes, "help": help },
        "status": USAGE,
    })
}

#[cfg(test)]
mod tests {
    use super::object;
    use serde_json::json;

    #[test]
    fn what_is_wrong_why_and_what_to_do_are_apart() {
        let parts = ["cannot write a; give --out a file", "no room"].map(str::to_owned);
        let told = object(&parts, &[]);
        let error = json!({
            "message": "cannot write a", "causes": ["no room"], "help": "give --out a file",
        });
        assert_eq!(told, json!({ "error": error, "status": 2 }));
        let told = object(&["it is wrong".to_owned()], &[]);
        assert_eq!(told["error"], json!({ "message": "it is wrong", "causes": [], "help": null }));
    }

    #[test]
    fn nothing_that_was_typed_is_taken_for_help_and_no_help_is_lost() {
        let typed = "';' has no meaning in an expression\n  a; b\n   ^".to_owned();
        let told = object(&[typed.clone(), "no; do".to_owned(), "none; try".to_owned()], &[]);
        let error = json!({ "message": typed, "causes": ["no", "none; try"], "help": "do" });
        assert_eq!(told["error"], error);
    }

    #[test]
    fn a_path_that_was_typed_is_in_one_half() {
        let parts = ["cannot open a; b: no; name c; d".to_owned(), "e; f".to_owned()];
        let told = object(&parts, &["a; b".to_owned()]);
        let error =
            json!({ "message": "cannot open a; b: no", "causes": ["e; f"], "help": "name c; d" });
        assert_eq!(told["error"], error);
        let told = object(&parts, &[]);
        assert_eq!(told["error"]["message"], "cannot open a", "it was not typed");
    }
}
