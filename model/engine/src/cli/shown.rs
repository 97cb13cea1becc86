//! Counterexamples as text, drawn and saved: the same for every command that finds some.

use super::{ProtocolArgs, Tool, WorldArgs, explore, text};
use crate::check::Counterexample;
use crate::erased::AnyWorld;
use crate::report::{diagram, story, svg};
use crate::trace::Trace;
use anyhow::Context;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Makes the folder of `--out`, and finds out before the search whether it can be written.
pub fn prepare(out: Option<&Path>) -> anyhow::Result<()> {
    let Some(out) = out else { return Ok(()) };
    fs::create_dir_all(out)
        .and_then(|()| writable(out))
        .with_context(|| format!("cannot write into {}; give --out another folder", out.display()))
}

fn writable(dir: &Path) -> io::Result<()> {
    let probe = dir.join(".bellwether-can-write");
    fs::write(&probe, b"")?;
    fs::remove_file(probe)
}

/// Writes a trace and its picture into a folder; where the trace is.
pub fn save(trace: &Trace, dir: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let file = dir.join(format!("{name}.ndjson"));
    let mut lines = Vec::new();
    trace.write(&mut lines)?;
    let picture = dir.join(format!("{name}.svg"));
    for (file, content) in [(&file, &lines), (&picture, &svg::draw(trace).into_bytes())] {
        fs::write(file, content).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(file)
}

/// The story and the diagram.
pub fn tell(out: &mut impl Write, trace: &Trace, ascii: bool) -> io::Result<()> {
    let width = text::width();
    let story = text::wrap(&story::tell(trace), width);
    let options = diagram::Options { ascii, colour: true, width, bare: true };
    write!(out, "\n{story}\n{}\n", diagram::draw(trace, options))
}

/// Where it was saved.
pub fn saved(out: &mut impl Write, file: &Path) -> io::Result<()> {
    let picture = file.with_extension("svg");
    writeln!(out, "Saved: {}\n       {}", file.display(), picture.display())
}

/// How to browse it.
pub fn browse(
    out: &mut impl Write,
    tool: Tool,
    protocol: &ProtocolArgs,
    (world, found): (&dyn AnyWorld, &Counterexample),
) -> io::Result<()> {
    let link = explore::link(world, &found.actions(), explore::ADDRESS);
    let flags = WorldArgs::typed(&world.scenario());
    let explore = format!("{} explore {} {flags}", tool.name, protocol.typed());
    writeln!(out, "Browse it: {explore}\n       at: {link}")
}
