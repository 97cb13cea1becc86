//! `completions` and `man`: what is installed beside a program.

use super::{Exit, HOLDS, Tool, command, shown};
use anyhow::Context;
use bellwether_cli::pages;
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  bellwether-model completions bash > ~/.local/share/bash-completion/completions/bellwether-model
  bellwether-model completions zsh > ~/.zfunc/_bellwether-model
  bellwether-model completions fish > ~/.config/fish/completions/bellwether-model.fish";

pub(super) fn completions(tool: Tool, args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    generate(args.shell, &mut command(tool), tool.name, &mut script);
    Exit::with(HOLDS).told(io::stdout().write_all(&script))
}

/// The flags of `man`, which writes the manual: one page for each command.
#[derive(Debug, Args)]
#[command(after_help = PAGES)]
pub struct ManArgs {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const PAGES: &str = "\
Examples:
  bellwether-model man | man -l -
  bellwether-model man --out ~/.local/share/man/man1";

impl ManArgs {
    /// Prints the page of a whole program, or writes those of all its commands into a folder.
    ///
    /// # Errors
    /// If the pages cannot be made, or the folder cannot be written.
    pub fn run(&self, program: Command) -> anyhow::Result<Exit> {
        shown::prepare(self.out.as_deref())?;
        let pages = pages(program)?;
        let exit = Exit::with(HOLDS);
        Ok(match &self.out {
            Some(folder) => exit.saved(save(folder, &pages)),
            None => {
                let whole = pages.first().map(|(_, page)| page.as_bytes()).unwrap_or_default();
                exit.told(io::stdout().write_all(whole))
            }
        })
    }
}

fn save(folder: &Path, pages: &[(String, String)]) -> anyhow::Result<()> {
    for (name, page) in pages {
        let file = folder.join(name);
        fs::write(&file, page).with_context(|| {
            format!("cannot write {}; give --out a folder that has room", file.display())
        })?;
    }
    Ok(())
}
