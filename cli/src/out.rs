//! What `--out` names: a folder, and the files in it.

use anyhow::Context;
use std::fs;
use std::io;
use std::path::Path;

/// Makes the folder of `--out`, if there is one, and finds out before the work whether it can be
/// written.
///
/// # Errors
/// If the folder cannot be written.
pub fn prepare(folder: Option<&Path>) -> anyhow::Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    let cannot = || format!("cannot write into {}; give --out another folder", folder.display());
    fs::create_dir_all(folder).and_then(|()| writable(folder)).with_context(cannot)
}

fn writable(folder: &Path) -> io::Result<()> {
    let probe = folder.join(".bellwether-can-write");
    fs::write(&probe, b"")?;
    fs::remove_file(probe)
}

/// Writes a file in the folder of `--out`.
///
/// # Errors
/// If the file cannot be written.
pub fn save(file: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs::write(file, content).with_context(|| {
        format!("cannot write {}; give --out a folder that has room", file.display())
    })
}
