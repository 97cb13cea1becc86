//! Counterexamples as text, drawn and saved: the same for every command that finds some.

use super::{ProtocolArgs, Tool, WorldArgs, explore, text};
use crate::check::Counterexample;
use crate::erased::AnyWorld;
use crate::explore::Walk;
use crate::report::{diagram, story};
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

/// Writes a trace, its picture and its page into a folder; where the trace is.
pub fn save(tool: Tool, trace: &Trace, dir: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let walk = walk(tool, trace)?;
    let file = |end| dir.join(format!("{name}.{end}"));
    let contents = [("ndjson", &walk.trace), ("svg", &walk.svg), ("html", &walk.html())];
    for (end, content) in contents {
        let file = file(end);
        fs::write(&file, content).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(file("ndjson"))
}

/// Takes the steps of a trace in today's model.
pub fn walk(tool: Tool, trace: &Trace) -> anyhow::Result<Walk> {
    let world = tool.registry.find(&trace.header.protocol)?.world_of(trace)?;
    let (actions, properties) = (world.replay(trace)?, world.select(&[])?);
    Ok(Walk::of(&*world, &properties, &actions, trace.header.shows.clone()))
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
    let [picture, page] = ["svg", "html"].map(|end| file.with_extension(end));
    let (file, picture, page) = (file.display(), picture.display(), page.display());
    writeln!(out, "Saved: {file}\n       {picture}\n       {page}")
}

/// How to browse it.
pub fn browse(
    out: &mut impl Write,
    tool: Tool,
    protocol: &ProtocolArgs,
    (world, found): (&dyn AnyWorld, &Counterexample),
) -> io::Result<()> {
    let link = explore::link(&world.positions(&found.actions()), explore::ADDRESS);
    let flags = WorldArgs::typed(&world.scenario());
    let explore = format!("{} explore {} {flags}", tool.called(), protocol.typed());
    // Neither is broken where a line ends: both are there to be copied.
    writeln!(out, "Browse it: {explore}\n       at: {link}")
}
