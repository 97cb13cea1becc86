//! `check`, whose states are searched as a dataflow.

use crate::{Hosts, decide};
use bellwether_tool::cli::{Exit, More, QuestionArgs, Tool};
use clap::{Args, Command, FromArgMatches};
use std::path::PathBuf;

/// The command `check` of a program that searches as a dataflow.
pub const CHECK: More =
    More { command, run: |tool, flags| run(tool, &CheckArgs::from_arg_matches(flags)?) };

/// The flags of `check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct CheckArgs {
    #[command(flatten)]
    question: QuestionArgs,

    /// A file that says where each process listens: HOST:PORT, one a line. All are started with the
    /// same command, but for --process
    #[arg(long, value_name = "FILE", requires = "process", help_heading = "Search")]
    hosts: Option<PathBuf>,

    /// Which of the hosts this process is; the first is 0
    #[arg(long, value_name = "N", requires = "hosts", help_heading = "Search",
          value_parser = process, allow_negative_numbers = true)]
    process: Option<usize>,
}

/// The command line puts in how the program is called.
const EXAMPLES: &str = "\
Examples:
  bellwether-model check bully --property agreement
  bellwether-model check bully --recoveries 1 --first --threads 2
  bellwether-model check bully --first --hosts hosts --process 0";

fn command() -> Command {
    let command = CheckArgs::augment_args(Command::new("check"));
    let about = "Decide a protocol's properties in a world, its states parted among workers";
    command.about(about).display_order(0).mut_args(|arg| match arg.get_id().as_str() {
        "disk" => arg.help(
            "Save the search in this folder, now and then and if it ends early; each process has a \
             folder of its own in this one",
        ),
        "threads" => arg.help(
            "With how many workers in each process; what is found is the same with any number \
             [default: one for each processor]",
        ),
        _ => arg,
    })
}

fn process(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give the number of a host, the first is 0".to_owned())
}

fn run(tool: Tool, args: &CheckArgs) -> anyhow::Result<Exit> {
    let world = args.question.world(tool)?;
    let properties = args.question.properties(&world)?;
    let options = args.question.options();
    let hosts = args.hosts.as_deref().zip(args.process);
    let hosts = hosts.map(|(file, process)| Hosts::read(file, process)).transpose()?;
    let hosts = hosts.as_ref();
    args.question.answer(tool, |on_event| decide(&world, &properties, &options, hosts, on_event))
}
