//! `completions` and `man`: what is installed beside a program.

use crate::{out, pages};
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use std::path::PathBuf;

/// What stands in the examples for the name of the program.
const PROGRAM: &str = "PROGRAM";

/// Returns the same program, whose examples of `completions` and `man` have its name.
#[must_use]
pub fn named(program: Command) -> Command {
    let name = program.get_name().to_owned();
    program.mut_subcommands(|below| match below.get_after_help().map(ToString::to_string) {
        Some(help) => below.after_help(help.replace(PROGRAM, &name)),
        None => below,
    })
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  PROGRAM completions bash > ~/.local/share/bash-completion/completions/PROGRAM
  PROGRAM completions zsh > ~/.zfunc/_PROGRAM
  PROGRAM completions fish > ~/.config/fish/completions/PROGRAM.fish")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CompletionsArgs {
    /// Returns the script for a program of this name. The script has no hidden command: `generate`
    /// would offer those too.
    #[must_use]
    pub fn script(&self, name: &'static str, program: &Command) -> String {
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
        let mut shown = Command::new(name).version(env!("CARGO_PKG_VERSION")).subcommands(shown);
        let mut script = Vec::new();
        generate(self.shell, &mut shown, name, &mut script);
        String::from_utf8_lossy(&script).into_owned()
    }
}

/// Print the manual page, or write those of all commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  PROGRAM man | man -l -
  PROGRAM man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl ManArgs {
    /// Returns the page of a whole program, or writes those of all its commands into the folder of
    /// `--out`, and returns nothing to print.
    ///
    /// # Errors
    /// If the pages cannot be made or written.
    pub fn page(&self, program: Command) -> anyhow::Result<String> {
        out::prepare(self.out.as_deref())?;
        let pages = pages::pages(program)?;
        let Some(folder) = &self.out else {
            return Ok(pages.into_iter().next().map(|(_, page)| page).unwrap_or_default());
        };
        for (name, page) in pages {
            out::save(&folder.join(name), page)?;
        }
        Ok(String::new())
    }
}
