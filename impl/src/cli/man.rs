//! `bellwether man`: the manual pages.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether_cli::pages;
use clap::CommandFactory;

use super::{Cli, Failure, print};

/// Print the manual page, or write those of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether man | man -l -
  bellwether man --out /usr/local/share/man/man1")]
pub(crate) struct Args {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let pages = pages(Cli::command()).map_err(Failure::runtime)?;
    match &args.out {
        None => print(pages.first().map(|(_, page)| page.as_str()).unwrap_or_default())?,
        Some(folder) => {
            let cannot = |error| {
                anyhow!(
                    "cannot write manual pages to {}: {error}; give --out another folder",
                    folder.display()
                )
            };
            let written = save(folder, &pages);
            written.map_err(|error| Failure::runtime(cannot(error)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn save(folder: &Path, pages: &[(String, String)]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    pages.iter().try_for_each(|(name, page)| std::fs::write(folder.join(name), page))
}
