//! The folder of `--out`: each execution as a trace and as a picture.

use crate::report::svg;
use crate::trace::Trace;
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// Makes the folder, and finds out before a search, not after it, whether it can be written to.
pub(super) fn prepare(dir: &Path) -> anyhow::Result<()> {
    let probe = dir.join(".bellwether-can-write");
    fs::create_dir_all(dir)
        .and_then(|()| fs::write(&probe, b""))
        .and_then(|()| fs::remove_file(&probe))
        .with_context(|| format!("cannot write into {}; give --out another folder", dir.display()))
}

/// Saves the trace as `name.ndjson`, whose path is returned, and its picture as `name.svg`.
pub(super) fn save(dir: &Path, name: &str, trace: &Trace) -> anyhow::Result<PathBuf> {
    let file = dir.join(format!("{name}.ndjson"));
    let mut lines = Vec::new();
    trace.write(&mut lines)?;
    let picture = dir.join(format!("{name}.svg"));
    for (file, content) in [(&file, &lines), (&picture, &svg::draw(trace).into_bytes())] {
        fs::write(file, content).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(file)
}
