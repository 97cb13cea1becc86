//! The command line: what the [checker's](bellwether_model::cli) can do, and `claims`, `gallery`,
//! `history` and `like`.

mod claims;
mod gallery;
mod history;
mod like;

use crate::case::CHECKER;
use crate::claims::{Runner, Subject};
use anstyle::{AnsiColor, Style};
use bellwether_model::check::Limits;
use bellwether_model::cli::{
    self, HOLDS, LimitArgs, More, Tool, UNKNOWN, VIOLATED, WorldArgs, called, text, tool,
};
use bellwether_model::world::Scenario;
use clap::{Args, Command, FromArgMatches};
use std::io::{self, Write};
use std::process::ExitCode;

const EXAMPLES: &[&str] =
    &["claims --source chapter", "history forgotten-vote", "gallery", "like etcd"];

const MORE: &[More] = &[
    More {
        command: || {
            let about = "Check the literature: run the checks that confirm or refute what it says";
            claims::ClaimsArgs::augment_args(Command::new("claims")).about(about).display_order(0)
        },
        run: |_, flags| claims::run(&claims::ClaimsArgs::from_arg_matches(flags)?),
    },
    More {
        command: || {
            let about = "Find executions that are worth a look, and write a page for each";
            let gallery = gallery::GalleryArgs::augment_args(Command::new("gallery"));
            gallery.about(about).display_order(0)
        },
        run: |tool, flags| gallery::run(tool, &gallery::GalleryArgs::from_arg_matches(flags)?),
    },
    More {
        command: || {
            let about = "Run election bugs of real systems: the rule that has each, and without";
            let history = history::HistoryArgs::augment_args(Command::new("history"));
            history.about(about).display_order(0)
        },
        run: |_, flags| history::run(&history::HistoryArgs::from_arg_matches(flags)?),
    },
    More {
        command: || {
            let about = "Say what happens when something fails, in the words of a product";
            like::LikeArgs::augment_args(Command::new("like")).about(about).display_order(0)
        },
        run: |_, flags| like::run(&like::LikeArgs::from_arg_matches(flags)?),
    },
];

/// This program.
const NAME: &str = "bellwether-literature";

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let cargo = "-p bellwether-literature";
    cli::main(Tool { name: NAME, examples: EXAMPLES, more: MORE, cargo, ..tool() })
}

/// No entry needs so many states. One that does has no bound where it needs one.
const ENOUGH_STATES: u64 = 8_000_000;

fn runner(limits: &LimitArgs) -> Runner {
    let (threads, limits) = (limits.threads(), limits.limits());
    let states = limits.states.or(Some(ENOUGH_STATES));
    Runner { threads, limits: Limits { states, ..limits } }
}

/// Returns the exit status that says whether all came out as it is written: of each, whether it
/// did, or nothing if that was not decided.
fn as_written(agree: impl Iterator<Item = Option<bool>>) -> u8 {
    let agree: Vec<_> = agree.collect();
    if agree.contains(&Some(false)) {
        VIOLATED
    } else if agree.contains(&None) {
        UNKNOWN
    } else {
        HOLDS
    }
}

/// Returns the command that checks one property.
fn check_command(subject: &Subject, scenario: &Scenario, property: &str) -> String {
    let flags = WorldArgs::typed(scenario);
    format!("{CHECKER} check {} {flags} --property {property}", typed(subject))
}

/// Returns protocol, variant and rules as they are typed.
fn typed(subject: &Subject) -> String {
    let Subject { protocol, variant, rules, .. } = subject;
    let variant = variant.as_ref().map(|name| format!(" --variant {name}")).unwrap_or_default();
    let rules: String =
        rules.iter().map(|(rule, value)| format!(" --rule {rule}={value}")).collect();
    format!("{protocol}{variant}{rules}")
}

/// Returns a command of the checker, or of this program, as the user types it.
fn again(command: &str) -> String {
    let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
    let cargo = if name == NAME { "-p bellwether-literature" } else { "" };
    format!("{} {rest}", called(name, cargo))
}

const BOLD: Style = Style::new().bold();
const WRONG: Style = AnsiColor::Red.on_default().bold();

/// Prints that an entry does not come out as it says.
fn disagrees(out: &mut impl Write, name: &str, says: &str, found: &str) -> io::Result<()> {
    writeln!(out, "\n{WRONG}This does not agree.{WRONG:#}")?;
    let wrong = format!("{name}\n  its entry says: {says}\n  found: {found}\n");
    write!(out, "{}", text::wrap(&wrong, text::width()))
}
