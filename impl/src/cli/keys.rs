//! `bellwether keys`: make what nodes prove themselves with.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether::config::SHORTEST_SECRET;
use clap::Subcommand;

use super::{Failure, print};

/// Make what the nodes of a cluster prove themselves with
///
/// No file is overwritten, and no other user can read one that must be kept secret.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether keys secret /etc/bellwether/secret")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a secret, for `mode = "secret"`: give every node a copy of the file
    Secret {
        /// The file to write
        file: PathBuf,
    },
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.what {
        What::Secret { file } => secret(file)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn secret(file: &Path) -> Result<(), Failure> {
    let bytes: [u8; SHORTEST_SECRET] = rand::random();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    create(file, &(digits + "\n"), 0o600)?;
    print(&format!("{}\n", file.display()))
}

/// Writes a file that did not exist.
fn create(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::runtime(anyhow!("cannot write {}: {error}", path.display())))
}
