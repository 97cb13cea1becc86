//! `bellwether completions` and `bellwether man`: what is installed beside the program.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether_cli::pages;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use super::{Cli, Failure, found};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether completions bash > ~/.local/share/bash-completion/completions/bellwether
  bellwether completions zsh > ~/.zfunc/_bellwether
  bellwether completions fish > ~/.config/fish/completions/bellwether.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the script, which has no hidden command: `generate` would offer those too.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let whole = Cli::command();
    let (name, version) = ("bellwether", env!("CARGO_PKG_VERSION"));
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut shown = Command::new(name).version(version).subcommands(shown);
    let mut script = Vec::new();
    generate(args.shell, &mut shown, name, &mut script);
    found(0, &String::from_utf8_lossy(&script))
}

/// Print the manual page, or write those of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether man | man -l -
  bellwether man --out /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &ManArgs) -> Result<ExitCode, Failure> {
    let pages = pages(Cli::command()).map_err(Failure::runtime)?;
    let Some(folder) = &args.out else {
        return found(0, pages.first().map(|(_, page)| page.as_str()).unwrap_or_default());
    };
    save(folder, &pages).map_err(|error| {
        let folder = folder.display();
        Failure::runtime(anyhow!(
            "cannot write manual pages to {folder}: {error}; give --out another folder"
        ))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn save(folder: &Path, pages: &[(String, String)]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    pages.iter().try_for_each(|(name, page)| std::fs::write(folder.join(name), page))
}
