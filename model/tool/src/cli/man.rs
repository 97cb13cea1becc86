//! `man`: the manual, one page for each command.

use super::{Exit, HOLDS, shown};
use anyhow::Context;
use bellwether_cli::pages;
use clap::{Args, Command};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
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
