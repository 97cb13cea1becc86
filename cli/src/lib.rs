//! What the command lines of the programs have in common: `-h` that fits on a screen, what is wrong,
//! exit statuses and signals, objects as JSON, folders of `--out`, the manual and completions.
//!
//! It knows no command of theirs but the last two, and neither a protocol nor a model.

pub mod exit;
pub mod failure;
pub mod json;
pub mod out;
#[cfg(feature = "shell")]
mod pages;
#[cfg(feature = "shell")]
pub mod shell;

use clap::{Arg, Command};

/// The last line of `-h`.
pub const MORE: &str = "--help tells all: every option, and more of each";

/// The number of characters that a help may have to be left as it is.
const SHORT: usize = 60;

/// The number of examples in `-h`.
const EXAMPLES: usize = 3;

/// Returns the same command, whose `-h` is short, and so is that of the commands below it. What is
/// left out is in `--help`. Flags that are seldom given are marked where they stand
/// (`hide_short_help`).
#[must_use]
pub fn brief(command: Command) -> Command {
    let whole = command.get_after_long_help().or_else(|| command.get_after_help());
    let whole = whole.map(ToString::to_string).unwrap_or_default();
    let short = format!("{}{MORE}", few(&whole).unwrap_or_default());
    let command = command.after_help(short).after_long_help(whole);
    command.mut_args(in_one_clause).mut_subcommands(brief)
}

/// The first of the examples in a text.
fn few(text: &str) -> Option<String> {
    let (_, examples) = text.split_once("Examples:\n")?;
    let lines = examples.lines().take_while(|line| line.starts_with(' ')).take(EXAMPLES);
    let lines: Vec<&str> = lines.collect();
    Some(format!("Examples:\n{}\n\n", lines.join("\n")))
}

/// The same argument: if its help is long, `-h` has the first clause of it.
fn in_one_clause(arg: Arg) -> Arg {
    let Some(whole) = arg.get_help().map(ToString::to_string) else { return arg };
    if whole.chars().count() <= SHORT {
        return arg;
    }
    let ends = ["; ", ". ", " ["].into_iter().filter_map(|end| whole.find(end));
    let Some(end) = ends.min() else { return arg };
    let first = whole[..end].to_owned();
    let arg = if arg.get_long_help().is_none() { arg.long_help(whole) } else { arg };
    arg.help(first)
}

#[cfg(test)]
mod tests {
    use super::brief;
    use clap::{Arg, Command};

    #[test]
    fn the_short_help_has_first_clauses_and_few_examples_and_the_long_one_all() {
        let text = "How often a message may be lost on its way from one process to another; \
                    'unbounded' for no limit";
        let examples = "Examples:\n  one\n  two\n  three\n  four\n\nExit status: 0";
        let command = Command::new("check").after_help(examples);
        let command = command.arg(Arg::new("losses").long("losses").help(text));
        let command = command.arg(Arg::new("seldom").long("seldom").hide_short_help(true));
        let mut command = brief(command).term_width(100);
        let (short, long) = (command.render_help(), command.render_long_help());
        let (short, long) = (short.to_string(), long.to_string());
        assert!(short.contains("to another\n") && !short.contains("no limit"), "{short}");
        assert!(!short.contains("--seldom") && !short.contains("Exit status"), "{short}");
        assert!(short.contains("  three\n\n--help tells all"), "{short}");
        assert!(!long.contains("tells all") && long.contains("--seldom"), "{long}");
        for part in ["'unbounded' for no", "  four\n", "Exit status: 0"] {
            assert!(long.contains(part), "{part} is not in\n{long}");
        }
    }
}
