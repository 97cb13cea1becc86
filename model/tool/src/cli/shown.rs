//! Counterexamples as text, drawn and saved: the same for every command that finds some.

use super::table::{Cell, Table};
use super::{ProtocolArgs, Tool, UsageError, WorldArgs, text};
use crate::explore::Walk;
use crate::report::{diagram, story};
use bellwether_cli::out;
use bellwether_engine::check::{Counterexample, Report, certify};
use bellwether_engine::expression::Expression;
use bellwether_engine::property::PropertyError;
use bellwether_engine::property::{self, Property};
use bellwether_engine::trace::Trace;
use bellwether_engine::words::plain_value;
use bellwether_engine::world::{Action, World};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the Explorer listens if nothing else is said.
pub(super) const ADDRESS: &str = "127.0.0.1:3000";

/// Writes a trace, its picture and its page into a folder, and returns where the trace is. The page
/// says what is known of the other properties.
pub fn save(
    tool: Tool,
    trace: &Trace,
    known: Option<&Report>,
    dir: &Path,
    name: &str,
) -> anyhow::Result<PathBuf> {
    let mut walk = walk(tool, trace)?;
    known.into_iter().for_each(|report| walk.know(report));
    let file = |end| dir.join(format!("{name}.{end}"));
    let contents = [("ndjson", &walk.trace), ("svg", &walk.svg), ("html", &walk.html())];
    for (end, content) in contents {
        out::save(&file(end), content)?;
    }
    Ok(file("ndjson"))
}

/// Takes the steps of a trace in today's model, if it [shows what it says](certify).
pub fn certified(tool: Tool, trace: &Trace) -> anyhow::Result<Walk> {
    certify(trace, &trace.world_of(tool.registry.find(&trace.header.protocol)?)?)?;
    walk(tool, trace)
}

/// Returns the same trace with what today's model knows of its steps besides.
pub fn retold(tool: Tool, trace: &Trace) -> anyhow::Result<Trace> {
    let world = trace.world_of(tool.registry.find(&trace.header.protocol)?)?;
    Ok(Trace::record(&world, &trace.actions(&world)?, trace.header.shows.clone()))
}

/// Takes the steps of a trace in today's model.
pub fn walk(tool: Tool, trace: &Trace) -> anyhow::Result<Walk> {
    let world = trace.world_of(tool.registry.find(&trace.header.protocol)?)?;
    // What a bound shows is no property.
    let shown = trace.header.shows.as_ref().map(|shows| shows.property.clone());
    let shown = shown.filter(|name| property::select(&world, std::slice::from_ref(name)).is_ok());
    let (actions, properties) = (trace.actions(&world)?, asked(&world, shown.as_slice())?);
    Ok(Walk::of(&world, &properties, &actions, trace.header.shows.clone()))
}

/// Returns the properties that this world is asked if nothing else is said, and these.
pub fn asked(world: &World, more: &[String]) -> Result<Vec<Property>, PropertyError> {
    let mut asked = property::select(world, &[])?;
    let named = if more.is_empty() { Vec::new() } else { property::select(world, more)? };
    for property in named {
        if !asked.iter().any(|one| one.name == property.name) {
            asked.push(property);
        }
    }
    Ok(asked)
}

/// Writes the story and the diagram.
pub fn tell(out: &mut impl Write, trace: &Trace) -> io::Result<()> {
    let width = text::width();
    let story = text::wrap(&story::tell(trace), width);
    let options = diagram::Options { colour: true, width, bare: true };
    write!(out, "\n{story}\n{}\n", diagram::draw(trace, options))
}

/// Reads the expressions of `--show`.
pub fn expressions(texts: &[String], world: &World) -> Result<Vec<Expression>, UsageError> {
    let read = |text: &String| Expression::read(text, world).map_err(UsageError::Show);
    texts.iter().map(read).collect()
}

/// Returns what expressions are worth at the beginning and after each of these actions, as a table.
pub fn values(world: &World, actions: &[Action], expressions: &[Expression]) -> Option<Table> {
    if expressions.is_empty() {
        return None;
    }
    let names = expressions.iter().map(|expression| Cell::new(expression.text()));
    let mut table = Table::new([Cell::new("after step")].into_iter().chain(names));
    let columns: Vec<_> = expressions.iter().map(|one| one.values(world, actions)).collect();
    for step in 0..=actions.len() {
        let row = columns.iter().map(|values| Cell::new(plain_value(&values[step])));
        table.row([Cell::new(step)].into_iter().chain(row));
    }
    Some(table)
}

/// Returns the part of a name of a file that stands for a property.
pub fn file_name(property: &str) -> String {
    const LONGEST: usize = 60;
    let words =
        property.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("-");
    name.truncate(LONGEST);
    name
}

/// Returns a word as a shell reads it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// Writes where the trace was saved.
pub fn saved(out: &mut impl Write, file: &Path) -> io::Result<()> {
    let [picture, page] = ["svg", "html"].map(|end| file.with_extension(end));
    let (file, picture, page) = (file.display(), picture.display(), page.display());
    writeln!(out, "Saved: {file}\n       {picture}\n       {page}")
}

/// The address at which an Explorer that listens at `address` shows the execution that takes
/// these places.
pub(super) fn link(places: &[usize], address: &str) -> String {
    places.iter().fold(format!("http://{address}/#/steps/0"), |link, at| format!("{link}/{at}"))
}

/// Writes how to browse the counterexample to a property, if the program can show that.
pub fn browse(
    out: &mut impl Write,
    tool: Tool,
    protocol: &ProtocolArgs,
    world: &World,
    property: &str,
    found: &Counterexample,
) -> anyhow::Result<()> {
    if cfg!(not(feature = "explore")) {
        return Ok(());
    }
    let link = link(&world.positions(&found.actions()), ADDRESS);
    let mut flags = WorldArgs::typed(&world.scenario());
    if !asked(world, &[])?.iter().any(|one| one.name == property) {
        flags += &format!(" --property {}", quoted(property));
    }
    let explore = format!("{} explore {} {flags}", tool.called(), protocol.typed());
    // Neither is broken where a line ends: both are there to be copied.
    Ok(writeln!(out, "Browse it: {explore}\n       at: {link}")?)
}
