//! `completions`: a script that completes the command line.

use super::CONFORMS;
use clap::{Args, Command};
use clap_complete::Shell;
use std::io::Write;

/// The flags of `completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(mut command: Command, args: &CompletionsArgs) -> anyhow::Result<u8> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(CONFORMS)
}
