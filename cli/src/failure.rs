//! A command that could not do what it was asked: what is wrong, for people on standard error, or,
//! with `--json`, for programs on standard output, where they read.

use crate::exit::{Exit, USAGE, complain};
use crate::json;
use serde::Serialize;
use std::io::Write;
use std::process::ExitCode;

/// Ends the program: with what a command has found, or with what went wrong before that.
#[must_use]
pub fn ends(done: anyhow::Result<Exit>) -> ExitCode {
    match done {
        Ok(exit) => exit.code(),
        Err(error) => {
            let parts: Vec<String> = error.chain().map(ToString::to_string).collect();
            if !told_as_json(&parts, USAGE) {
                complain(&format!("{error:#}"));
            }
            ExitCode::from(USAGE)
        }
    }
}

/// Prints what clap has to say in place of a command: help, or what is wrong with the command line,
/// and `ours` in a line below; an error is an object if `as_json`. Returns the exit status that
/// goes with it.
#[must_use]
pub fn refuse(error: &clap::Error, ours: Option<&str>, as_json: bool) -> ExitCode {
    let status = u8::try_from(error.exit_code()).unwrap_or(USAGE);
    if error.use_stderr() && as_json {
        let text = error.to_string();
        let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
        let (message, help) = (first_words(error), ours.or(tip));
        let error = Parts { causes: Vec::new(), help, message: &message };
        if json::print(&Wrong { error, status }).is_ok() {
            return ExitCode::from(status);
        }
    }
    let exit = Exit::with(status).note_printed(error.print());
    if let Some(ours) = ours {
        let _ = writeln!(anstream::stderr(), "{ours}");
    }
    exit.code()
}

/// Returns what clap says is wrong, without its label, the usage and what help there is.
#[must_use]
pub fn first_words(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.trim_start_matches("error: ");
    text.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
}

/// Prints what is wrong, from the whole to its causes, as an object on standard output, if the
/// command line asks for JSON. Returns whether it did.
#[must_use]
pub fn told_as_json(parts: &[String], status: u8) -> bool {
    asks_for_json() && json::print(&Wrong::of(parts, status)).is_ok()
}

/// Returns whether the command line has the flag `--json`; behind `--` there are none. The line
/// need not be one that can be read.
#[must_use]
pub fn asks_for_json() -> bool {
    let words = std::env::args_os().skip(1);
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// The object that says what is wrong, and what to do.
#[derive(Debug, PartialEq, Serialize)]
pub struct Wrong<'t> {
    error: Parts<'t>,
    status: u8,
}

#[derive(Debug, PartialEq, Serialize)]
struct Parts<'t> {
    causes: Vec<&'t str>,
    help: Option<&'t str>,
    message: &'t str,
}

impl<'t> Wrong<'t> {
    /// Returns the object of these messages, from the whole to its causes, and this exit status.
    #[must_use]
    pub fn of(parts: &'t [String], status: u8) -> Wrong<'t> {
        Wrong::parted(parts, &typed(), status)
    }

    /// What is to be done stands behind a semicolon in the first line of a message; the next lines
    /// show what was typed. If several messages have some, those after the first keep it.
    fn parted(parts: &'t [String], typed: &[String], status: u8) -> Wrong<'t> {
        let mut help = None;
        let mut wrong = parts.iter().map(|part| match halves(part, typed) {
            (wrong, Some(what)) if help.is_none() && !wrong.contains('\n') => {
                help = Some(what);
                wrong
            }
            _ => part.as_str(),
        });
        let message = wrong.next().unwrap_or_default();
        let causes = wrong.collect();
        Wrong { error: Parts { causes, help, message }, status }
    }
}

/// What was typed, or set in the environment, and could be taken for two halves of a message: a
/// path may have a semicolon.
fn typed() -> Vec<String> {
    let ours = std::env::vars_os()
        .filter(|(name, _)| name.to_string_lossy().starts_with("BELLWETHER_"))
        .map(|(_, value)| value);
    let words = std::env::args_os().skip(1).chain(ours);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    // A message has a word with its flag in front, or without.
    let values = |word: String| {
        let value = word.split_once('=').map(|(_, value)| value.to_owned());
        [Some(word), value].into_iter().flatten()
    };
    words.flat_map(values).filter(|word| word.contains("; ")).collect()
}

/// What is wrong, and what is to be done: that stands in a message behind the first semicolon that
/// is no part of what was typed.
fn halves<'t>(text: &'t str, typed: &[String]) -> (&'t str, Option<&'t str>) {
    let is_typed = |at: usize| {
        let mut places = typed.iter().flat_map(|word| text.match_indices(word.as_str()));
        places.any(|(from, word)| (from..from + word.len()).contains(&at))
    };
    let mut ends = text.match_indices("; ").map(|(at, _)| at);
    match ends.find(|&at| !is_typed(at)) {
        Some(end) => (&text[..end], Some(&text[end + 2..])),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Parts, Wrong, first_words, halves};
    use clap::{Arg, Command};

    #[test]
    fn of_an_error_only_what_is_wrong_is_left() {
        let command = Command::new("go").arg(Arg::new("far").long("far"));
        let error = command.try_get_matches_from(["go", "--fat"]).expect_err("there is none");
        assert!(error.to_string().contains("Usage"), "{error}");
        assert_eq!(first_words(&error), "unexpected argument '--fat' found");
    }

    #[test]
    fn a_path_that_was_typed_is_in_one_half() {
        let typed = ["a; b.toml".to_owned()];
        let told = halves("cannot read a; b.toml: it is away; name a; b.toml or c; d", &typed);
        assert_eq!(told, ("cannot read a; b.toml: it is away", Some("name a; b.toml or c; d")));
        assert_eq!(halves("cannot read a; b.toml", &typed), ("cannot read a; b.toml", None));
        assert_eq!(halves("no a; b", &typed), ("no a", Some("b")), "it was not typed");
    }

    /// What is told of these messages.
    fn told(parts: &[String], message: &str, causes: &[&str], help: Option<&str>) {
        let error = Parts { causes: causes.to_vec(), help, message };
        assert_eq!(Wrong::parted(parts, &[], 2), Wrong { error, status: 2 });
    }

    #[test]
    fn what_is_wrong_why_and_what_to_do_are_apart() {
        let parts = ["cannot write a; give --out a file", "no room"].map(str::to_owned);
        told(&parts, "cannot write a", &["no room"], Some("give --out a file"));
        told(&["it is wrong".to_owned()], "it is wrong", &[], None);
    }

    #[test]
    fn nothing_that_was_typed_is_taken_for_help_and_no_help_is_lost() {
        let typed = "';' has no meaning in an expression\n  a; b\n   ^";
        let parts = [typed, "no; do", "none; try"].map(str::to_owned);
        told(&parts, typed, &["no", "none; try"], Some("do"));
    }
}
