//! `completions`: a script that completes the command line.

use super::{CONFORMS, command};
use clap::Args;
use clap_complete::Shell;
use std::io::Write;

/// The flags of `completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "bellwether-conformance", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(CONFORMS)
}
