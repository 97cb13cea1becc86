//! `man`: the manual, one page for each command.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_cli::pages;
use clap::Command;

use super::HOLDS;
use super::exit::Exit;
use super::signals::Stop;

/// Print the manual page, or write those of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether-sim man | man -l -
  bellwether-sim man --out ~/.local/share/man/man1")]
pub(super) struct Args {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, program: Command, stop: &Stop) -> anyhow::Result<Exit> {
    let pages = pages(program)?;
    if let Some(folder) = &args.out {
        let cannot = || format!("cannot write into {}; give --out another", folder.display());
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    let exit = Exit::with(HOLDS, stop);
    Ok(match &args.out {
        Some(folder) => exit.saved(save(folder, &pages)),
        None => exit.tell(pages.first().map(|(_, page)| page.as_str()).unwrap_or_default()),
    })
}

fn save(folder: &Path, pages: &[(String, String)]) -> anyhow::Result<()> {
    for (name, page) in pages {
        let file = folder.join(name);
        std::fs::write(&file, page).with_context(|| {
            format!("cannot write {}; give --out a folder that has room", file.display())
        })?;
    }
    Ok(())
}
