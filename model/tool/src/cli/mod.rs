//! The command line: one file for each subcommand. Some need a package that no other does, and are
//! there only with a feature. Which those are is said in this file alone; besides,
//! [`shown::browse`] shows no command that is not there, and `trace` no address.

mod bounds;
mod check;
#[cfg(feature = "explore")]
mod explore;
mod failure;
mod help;
mod limit_args;
mod list;
mod progress;
mod question;
pub mod shown;
#[cfg(feature = "suite")]
pub mod suite;
pub mod table;
pub mod text;
mod timed_args;
mod trace;
mod tune;
mod world_args;

pub use bellwether_cli::exit::{Exit, tell_when_stopped};
pub use bellwether_cli::failure::{ends, first_words};
pub use bellwether_cli::out;
pub use check::{Saved, print};
pub use failure::UsageError;
pub use help::{About, Tells, parse};
pub use limit_args::{LimitArgs, seconds, states};
pub use progress::{Bar, ProgressArgs};
pub use question::QuestionArgs;
pub use timed_args::{DelayArg, DurationArgs, TickRange, TimedArgs, with_durations};
pub use trace::unreadable;
pub use world_args::{
    FairnessArg, HealsArg, NetworkArg, ProtocolArgs, RecoveriesArg, StartArg, TimingArg, WorldArgs,
    searchable_world, without_clock, world,
};

use bellwether_cli::exit;
#[cfg(feature = "shell")]
use bellwether_cli::shell::{self, CompletionsArgs, ManArgs};
use bellwether_engine::check::{Cancel, Verdict};
use bellwether_engine::machine::Registry;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

/// The exit status if every checked property holds, or the command did what it was asked.
pub const HOLDS: u8 = 0;
/// The exit status if a checked property is violated.
pub const VIOLATED: u8 = 1;
/// The exit status if the arguments, a file or the surroundings do not allow what was asked.
pub const USAGE: u8 = 2;
/// The exit status if something is not known, so nothing is claimed of it.
pub const UNKNOWN: u8 = 3;
/// The exit status if what was checked holds, but something only within the bounds of the search.
pub const HOLDS_WITHIN: u8 = 4;

/// Returns the exit status that says what was found.
#[must_use]
pub fn status(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Holds => HOLDS,
        Verdict::HoldsWithin => HOLDS_WITHIN,
        Verdict::Violated => VIOLATED,
        Verdict::Unknown => UNKNOWN,
    }
}

/// Check leader elections: every interleaving of crashes, recoveries, message orders and time-outs
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Exit status: 0 every checked property holds; 1 one is violated; 2 wrong usage or configuration;
3 none is violated, but one is unknown; 4 all hold, but one only within the bounds of the search.
Ctrl-C, SIGTERM or a limit ends a search, and what is known by then is printed; the status is then
1 or 3. A second Ctrl-C ends the program at once (130), and so does a second SIGTERM (143); once 1,
3 or 4 is known, with that. What cannot be printed or saved turns 0 into 2 and changes no other
status. A reader that has gone (| head, | grep -q) changes none.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Decide a protocol's properties in a world, and show what violates them
    Check(check::CheckArgs),
    /// Find the shortest time-outs that keep a property, for given message delays
    Tune(tune::TuneArgs),
    /// Compute what executions cost at most: messages, time-outs, elections, leaderships
    Bounds(bounds::BoundsArgs),
    /// Run the checks of a file, and say which come out otherwise than it expects
    #[cfg(feature = "suite")]
    Suite(suite::SuiteArgs),
    /// Browse a world's states, verdicts and counterexamples in a web page
    #[cfg(feature = "explore")]
    Explore(explore::ExploreArgs),
    /// Show the protocols; of one, its variants, rules and properties
    List(list::ListArgs),
    /// Print or draw a saved trace again
    Trace(trace::TraceArgs),
    #[cfg(feature = "shell")]
    Completions(CompletionsArgs),
    #[cfg(feature = "shell")]
    Man(ManArgs),
}

/// A command line: its name, what it knows, and what it can do besides.
#[derive(Clone, Copy)]
pub struct Tool {
    /// The name of the program.
    pub name: &'static str,
    /// The protocols that the program knows.
    pub registry: Registry,
    /// The examples in the help of the whole, a line each, without the name of the program.
    pub examples: &'static [&'static str],
    /// The subcommands besides those that every command line has, or in the place of one of them.
    pub more: &'static [More],
    /// The arguments of `cargo run` besides `--release` to run the program, such as `-p PACKAGE`.
    pub cargo: &'static str,
    /// The sections of the file of another program, which runs some of the protocols.
    pub sections: &'static [Section],
}

/// The section of a protocol in the file of the program that runs it.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The name of the protocol, and of the section.
    pub protocol: &'static str,
    /// The keys that set durations, each with the duration of the specification.
    pub keys: &'static [(&'static str, &'static str)],
}

/// A subcommand that only one program has, or has in its own way.
pub struct More {
    /// The function that returns the subcommand: its name and its flags.
    pub command: fn() -> clap::Command,
    /// The function that runs the subcommand.
    ///
    /// # Errors
    /// Whatever goes wrong before something is found; the exit status is then [`USAGE`].
    pub run: fn(Tool, &ArgMatches) -> anyhow::Result<Exit>,
}

/// The whole command line of a program, with a flag for each duration of its protocols.
fn command(tool: Tool) -> clap::Command {
    let (own, more): (Vec<_>, Vec<_>) = tool
        .more
        .iter()
        .map(|more| (more.command)())
        .partition(|more| Cli::command().find_subcommand(more.get_name()).is_some());
    let in_its_way = |command: clap::Command| {
        let own = own.iter().find(|own| own.get_name() == command.get_name());
        own.cloned().unwrap_or(command)
    };
    let command = Cli::command().name(tool.name).mut_subcommands(in_its_way).subcommands(more);
    let called = tool.called();
    let examples: String =
        tool.examples.iter().map(|example| format!("  {called} {example}\n")).collect();
    let help = format!(
        "Examples:\n{examples}('help COMMAND' shows more, 'help COMMAND PROTOCOL' also what only \
         that protocol has)\n\n{EXIT_STATUS}"
    );
    let command = command.after_help(help).mut_subcommands(|command| tool.named(command));
    #[cfg(feature = "shell")]
    let command = shell::named(command);
    let command = with_durations(command, tool.registry).mut_subcommands(|command| {
        match command.get_name() {
            "check" => check::offered(command),
            "tune" => tune::offered(command),
            "bounds" => bounds::offered(command),
            _ => command,
        }
    });
    let [only] = tool.registry.names()[..] else { return command };
    // There is but one protocol, so it need not be named.
    command.mut_subcommands(|command| {
        let takes = ["check", "tune", "bounds", "explore"].contains(&command.get_name());
        let default = |arg: clap::Arg| arg.default_value(only).required(false);
        if takes { command.mut_arg("protocol", default) } else { command }
    })
}

impl Tool {
    /// Returns a command line that can do what every one can.
    #[must_use]
    pub const fn new(name: &'static str, registry: Registry) -> Tool {
        let examples = &["list", "help check", "help tune"];
        Tool { name, registry, examples, more: &[], cargo: "", sections: &[] }
    }

    /// Returns how the program is called again.
    #[must_use]
    pub fn called(self) -> String {
        called(self.name, self.cargo)
    }

    /// A subcommand with examples that call this program and a protocol that it knows. Those that
    /// name a variant or a rule are of use only to the program that they were written for.
    fn named(self, command: clap::Command) -> clap::Command {
        let Some(help) = command.get_after_help().map(ToString::to_string) else { return command };
        let first = self.registry.names().first().copied().unwrap_or("PROTOCOL");
        let known = self.registry.find(WRITTEN_FOR.1).is_ok();
        let lines = help.lines().filter(|line| {
            known || !["--variant", "--rule", "--t-"].iter().any(|flag| line.contains(flag))
        });
        let lines: Vec<_> = lines.collect();
        let called = format!("  {} ", self.called());
        let mut help = lines.join("\n").replace(&format!("  {} ", WRITTEN_FOR.0), &called);
        help = help.replace(WRITTEN_FOR.0, self.name);
        if !known {
            help = help.replace(WRITTEN_FOR.1, first);
        }
        command.after_help(help)
    }
}

/// Returns the beginning of a command that calls this program again: under `cargo run` that of
/// cargo with these arguments of its own, such as `-p PACKAGE`; otherwise what was typed.
#[must_use]
pub fn called(name: &str, cargo: &str) -> String {
    let typed = env::args_os().next().unwrap_or_default();
    let by_cargo = env::var_os("CARGO").is_some() && is_built(Path::new(&typed));
    match typed.to_str() {
        _ if by_cargo && cargo.is_empty() => "cargo run --release --".to_owned(),
        _ if by_cargo => format!("cargo run --release {cargo} --"),
        Some(typed) if !typed.is_empty() && !typed.contains(char::is_whitespace) => {
            typed.to_owned()
        }
        _ => name.to_owned(),
    }
}

/// Whether the program is where cargo builds it, rather than where it is installed.
fn is_built(program: &Path) -> bool {
    let folder = program.parent().and_then(Path::file_name);
    folder.is_some_and(|folder| [OsStr::new("debug"), OsStr::new("release")].contains(&folder))
}

/// The program and the protocol that the examples of the subcommands name.
const WRITTEN_FOR: (&str, &str) = ("bellwether-model", "bully");

/// Runs a command line; what it returns is the exit status.
///
/// With a protocol of your own, this is the whole of your `main`:
///
/// ```no_run
/// # use bellwether_protocols::bully::Bully as Mine;
/// use bellwether_tool::cli::{self, Tool};
/// use bellwether_engine::machine::{ProtocolEntry, Registry};
///
/// static REGISTRY: Registry = Registry(&[&ProtocolEntry::<Mine>::NEW]);
///
/// fn main() -> std::process::ExitCode {
///     cli::main(Tool::new("check-mine", REGISTRY))
/// }
/// ```
#[must_use]
pub fn main(tool: Tool) -> ExitCode {
    let tells = |command: &str, protocol: &str| help::about(tool, command, protocol);
    let matches = match parse(&command(tool), &tells) {
        Ok(matches) => matches,
        Err(status) => return status,
    };
    // The Explorer serves until it is killed.
    if matches.subcommand_name() != Some("explore") {
        tell_when_stopped();
    }
    let more = matches.subcommand().and_then(|(name, flags)| {
        let named = |more: &&More| (more.command)().get_name() == name;
        tool.more.iter().find(named).map(|more| (more, flags))
    });
    let done = match more {
        Some((more, flags)) => (more.run)(tool, flags),
        None => run(tool, &matches),
    };
    ends(done)
}

/// Returns what ends every search of the command line [on a signal](tell_when_stopped).
#[must_use]
pub fn stopped() -> Cancel {
    Cancel::when(exit::stopped())
}

fn run(tool: Tool, matches: &ArgMatches) -> anyhow::Result<Exit> {
    let cli = Cli::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
    match cli.command {
        Command::Check(args) => check::run(tool, &args),
        Command::Tune(args) => tune::run(tool, &args),
        Command::Bounds(args) => bounds::run(tool, &args),
        #[cfg(feature = "suite")]
        Command::Suite(args) => suite::run(tool, &args),
        #[cfg(feature = "explore")]
        Command::Explore(args) => explore::run(tool, &args),
        Command::List(args) => list::run(tool, &args),
        Command::Trace(args) => trace::run(tool, &args),
        #[cfg(feature = "shell")]
        Command::Completions(args) => {
            Ok(Exit::with(HOLDS).tell(&args.script(tool.name, &command(tool))))
        }
        #[cfg(feature = "shell")]
        Command::Man(args) => args.page(command(tool)).map(|page| Exit::with(HOLDS).tell(&page)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_built;
    use std::path::Path;

    #[test]
    fn what_cargo_builds_is_told_from_what_is_installed() {
        for built in ["target/release/tool", "/home/of/me/target/debug/tool"] {
            assert!(is_built(Path::new(built)), "{built}");
        }
        for installed in ["tool", "./tool", "/usr/local/bin/tool", ""] {
            assert!(!is_built(Path::new(installed)), "{installed}");
        }
    }
}
