//! Measures the failure detectors on made-up networks, and says how they compare.
//!
//! `cargo run --release -p bellwether --example detectors` prints the tables of
//! `docs/detectors.md`; with `--out DIR` it also draws the picture.

mod network;
mod plot;
mod report;
#[cfg(test)]
mod tests;
mod trial;

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;

/// Measure the failure detectors on made-up networks: how fast they notice a crash, and how often
/// they suspect a process that is up.
#[derive(Parser)]
#[command(name = "detectors")]
struct Args {
    /// Also draw detection time against mistakes, as an SVG file in this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let Args { out } = Args::parse();
    let tables = report::tables()?;
    if let Some(folder) = out {
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        let file = folder.join("detectors.svg");
        std::fs::write(&file, plot::draw()?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        let _ = writeln!(io::stderr(), "drew {}", file.display());
    }
    match io::stdout().write_all(tables.as_bytes()) {
        // A reader that has gone has read enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
