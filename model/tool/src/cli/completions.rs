//! `completions`: a script that completes the command line.

use super::{Exit, HOLDS, Tool, command};
use clap::Args;
use clap_complete::Shell;
use std::io::Write;

/// The flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model completions bash > ~/.local/share/bash-completion/completions/bellwether-model
  bellwether-model completions zsh > ~/.zfunc/_bellwether-model
  bellwether-model completions fish > ~/.config/fish/completions/bellwether-model.fish";

pub(super) fn run(tool: Tool, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(tool), tool.name, &mut script);
    Ok(Exit::with(HOLDS).told(std::io::stdout().write_all(&script)))
}
