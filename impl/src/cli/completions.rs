//! `bellwether completions`: what a shell needs to complete these commands.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Failure, print};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  bellwether completions bash > ~/.local/share/bash-completion/completions/bellwether")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bellwether", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
