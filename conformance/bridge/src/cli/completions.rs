//! `completions`: a script that completes the command line.

use super::CONFORMS;
use bellwether_tool::cli::Exit;
use clap::{Args, Command};
use clap_complete::Shell;
use std::io::Write;

/// The flags of `completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(mut command: Command, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    Ok(Exit::with(CONFORMS).told(std::io::stdout().write_all(&script)))
}
