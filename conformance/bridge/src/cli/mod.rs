//! The command line: one file for each larger subcommand.

mod lockstep;
mod replay;
mod suite;
mod validate;

use self::lockstep::{NO_MEMBER, Through};
use crate::comparison::{Comparison, Description, Mappings, no_variant};
use crate::divergence::Divergence;
use crate::error::Error;
use crate::mapping::rule;
pub use crate::processes::Processes;
use anyhow::{Context, bail};
use bellwether_cli::shell::{self, CompletionsArgs, ManArgs};
use bellwether_engine::machine::Registry;
use bellwether_engine::trace::Trace;
use bellwether_engine::words::instead_of;
use bellwether_tool::cli::{
    About, Exit, called, ends, parse, tell_when_stopped, text, with_durations, without_clock,
};
use clap::{ArgMatches, Args, Command as Clap, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit status if the program does what the model does, or the command did what it was asked.
pub const CONFORMS: u8 = 0;
/// The exit status if the program does something else.
pub const DIVERGES: u8 = 1;
/// The exit status if the arguments, a file or the surroundings do not allow what was asked.
pub const USAGE: u8 = 2;
/// The exit status if the walk was cut short, or did not meet all that it should, or steps of logs
/// were not judged, so nothing is claimed.
pub const CUT_SHORT: u8 = 3;

/// Compare a program with its formal model, transition by transition
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "\
Exit status: 0 the program does what the model does; 1 it does something else; 2 wrong usage,
configuration, trace or log; 3 the walk was cut short or
did not meet each timer and message, or steps of logs were not judged, so nothing is claimed.
What cannot be printed or saved turns 0 into 2 and changes no other status. A reader that has gone
changes none.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Take every transition of a bounded world in model and program, and compare
    Lockstep(Box<lockstep::LockstepArgs>),
    /// Drive the program through a saved trace of the model, and compare every step
    Replay(replay::ReplayArgs),
    /// Find few executions that take every transition of a bounded world, and take them in both
    Suite(Box<suite::SuiteArgs>),
    /// Judge the logs of nodes that ran by the model
    Validate(validate::ValidateArgs),
    /// Show the protocols that have a mapping, and the rules that their programs implement
    List(ListArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The flags of `list`.
#[derive(Debug, Args)]
struct ListArgs {
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

/// The whole command line of a program called `name`, with a flag for each duration.
fn command(name: &'static str, registry: Registry) -> Clap {
    let called = called_again(name);
    let named = |command: Clap| match command.get_after_help().map(ToString::to_string) {
        Some(help) => command.after_help(help.replace(WRITTEN_FOR, &called)),
        None => command,
    };
    let command = shell::named(Cli::command().name(name)).mut_subcommands(named);
    let command = command.mut_subcommand("suite", offered);
    with_durations(command.mut_subcommand("lockstep", offered), registry)
}

/// How the program is called again: it need not be the package that cargo runs by default.
fn called_again(name: &str) -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| name.to_owned());
    called(name, &format!("-p {package}"))
}

/// What every comparison offers of the flags of worlds: none of those with a clock, and no
/// symmetry, because a program calls everything by its own names.
fn offered(command: Clap) -> Clap {
    without_clock(command).mut_arg("symmetry", |arg| arg.hide(true))
}

/// What the help says of one protocol.
fn about(mappings: Mappings, protocol: &str) -> anyhow::Result<About> {
    mappings.find(Some(protocol), None)?;
    let of_it = mappings.0.iter().filter(|mapping| mapping.description().protocol == protocol);
    let mut text = format!("Rules that the program of {protocol} implements (--variant NAME):\n");
    for Description { variant, rules, .. } in of_it.map(|mapping| mapping.description()) {
        let rules = rules.as_object().into_iter().flatten();
        let rules = rules.map(|(name, value)| rule(name, value));
        text += &format!("  {variant}: {}\n", rules.collect::<Vec<_>>().join(", "));
    }
    Ok(About { text: text.trim_end().to_owned(), durations: Vec::new(), symmetry: false })
}

/// The program that the examples of the subcommands name.
const WRITTEN_FOR: &str = "bellwether-model";

/// A program: its name, the mappings that it has, and the protocols that they are of.
#[derive(Clone, Copy)]
struct Known {
    name: &'static str,
    mappings: Mappings,
    registry: Registry,
}

impl Known {
    fn called(self) -> String {
        called_again(self.name)
    }
}

/// The further things that a program can compare, beside its nodes.
#[derive(Clone, Copy, Default)]
pub struct Further {
    /// The mappings for the member around a node.
    pub members: Option<Mappings>,
    /// The function that runs real processes, to take a suite.
    pub processes: Option<Processes>,
}

/// Runs the command line of a program that knows these mappings, of the protocols of `registry`;
/// what it returns is the exit status.
#[must_use]
pub fn main(
    name: &'static str,
    mappings: Mappings,
    further: Further,
    registry: Registry,
) -> ExitCode {
    let tells = |_: &str, protocol: &str| about(mappings, protocol);
    let matches = match parse(&command(name, registry), &tells) {
        Ok(matches) => matches,
        Err(status) => return status,
    };
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    tell_when_stopped();
    ends(match cli.command {
        Command::Lockstep(args) => lockstep::run(mappings, further.members, &args),
        Command::Replay(args) => replay::run(mappings, &args),
        Command::Suite(args) => {
            let flags = matches.subcommand_matches("suite").unwrap_or(&matches);
            suite::run(Known { name, mappings, registry }, further.processes, &args, flags)
        }
        Command::Validate(args) => validate::run(mappings, &args),
        Command::List(args) => Ok(Exit::with(CONFORMS).note_printed(print_list(mappings, &args))),
        Command::Completions(args) => {
            Ok(Exit::with(CONFORMS).tell(&args.script(name, &command(name, registry))))
        }
        Command::Man(args) => {
            args.page(command(name, registry)).map(|page| Exit::with(CONFORMS).tell(&page))
        }
    })
}

fn print_list(mappings: Mappings, args: &ListArgs) -> anyhow::Result<()> {
    let all: Vec<_> = mappings.0.iter().map(|mapping| mapping.description()).collect();
    if args.json {
        return text::print_json(&json!({ "protocols": all }));
    }
    let mut out = std::io::stdout();
    for one in &all {
        writeln!(out, "{}: {}", one.protocol, one.summary)?;
        writeln!(out, "  the program implements the variant '{}':", one.variant)?;
        for (rule, value) in one.rules.as_object().into_iter().flatten() {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            writeln!(out, "    {rule} = {value}")?;
        }
    }
    Ok(())
}

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
const BOLD: anstyle::Style = anstyle::Style::new().bold();
const GOOD: anstyle::Style = anstyle::AnsiColor::Green.on_default().bold();

/// Returns the subcommand `lockstep`, for the [further](bellwether_tool::cli::More) ones of the
/// engine's command line.
#[must_use]
pub fn lockstep_command() -> Clap {
    let about = "Take every transition of a bounded world in model and program, and compare";
    let command = lockstep::LockstepArgs::augment_args(Clap::new("lockstep"));
    offered(command.about(about)).mut_arg("through", |arg| arg.hide(true))
}

/// Runs that subcommand with one mapping of your own.
///
/// # Errors
/// If the arguments are wrong, or nothing can be compared.
pub fn lockstep(mapping: &dyn Comparison, flags: &ArgMatches) -> anyhow::Result<Exit> {
    let args = lockstep::LockstepArgs::from_arg_matches(flags)?;
    let known = mapping.description();
    match (args.protocol.as_deref(), args.variant.as_deref()) {
        (Some(name), _) if name != known.protocol => Err(Error::Protocol {
            name: name.to_owned(),
            known: instead_of(name, &[known.protocol]),
        }
        .into()),
        (_, Some(name)) if name != known.variant => {
            let named = mapping.variant(name);
            Err(no_variant(known.protocol, name, &[known.variant], named.as_ref()).into())
        }
        _ if args.through == Through::Member => bail!(NO_MEMBER),
        _ => args.walk(mapping),
    }
}

/// Returns the subcommand `replay`.
#[must_use]
pub fn replay_command() -> Clap {
    let about = "Drive the program through a saved trace, and compare every step";
    replay::ReplayArgs::augment_args(Clap::new("replay")).about(about)
}

/// Runs that subcommand with one mapping of your own.
///
/// # Errors
/// If the trace cannot be read, or is of another protocol.
pub fn replay(mapping: &dyn Comparison, flags: &ArgMatches) -> anyhow::Result<Exit> {
    let args = replay::ReplayArgs::from_arg_matches(flags)?;
    args.replay(&args.trace()?, mapping)
}

/// What people read of a difference: all of it, or what fits.
fn describe_divergence(divergence: &Divergence, all: bool) -> String {
    if all { divergence.full_report() } else { divergence.report() }
}

/// Whether a trace can be saved there, found out before the work rather than after it.
fn writable(out: &Path) -> anyhow::Result<()> {
    let existed = out.exists();
    let tried = File::options().append(true).create(true).open(out);
    tried.with_context(|| {
        format!("cannot write {}; give --out a file in a folder that can be written", out.display())
    })?;
    if !existed {
        fs::remove_file(out)?;
    }
    Ok(())
}

fn save(trace: &Trace, out: &Path) -> anyhow::Result<()> {
    let write = || trace.write(BufWriter::new(File::create(out)?));
    write().with_context(|| {
        format!("cannot write {}; give --out a file where there is room", out.display())
    })
}
