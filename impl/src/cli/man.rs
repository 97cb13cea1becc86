//! `bellwether man`: the manual pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::CommandFactory;
use clap_mangen::Man;

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
    let mut command = Cli::command().disable_help_subcommand(true);
    // So that each page names its command as it is typed.
    command.build();
    match &args.out {
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page).map_err(Failure::runtime)?;
            print(&String::from_utf8_lossy(&page))?;
        }
        Some(folder) => {
            let written = std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder));
            let cannot = |error| {
                anyhow!(
                    "cannot write manual pages to {}: {error}; give --out another folder",
                    folder.display()
                )
            };
            written.map_err(|error| Failure::runtime(cannot(error)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
