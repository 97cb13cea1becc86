//! `trace`: print or draw a saved trace again.

use super::{Exit, HOLDS, Tool, UsageError, shown, text};
use crate::explore::itf;
use crate::report::{diagram, sequence, shiviz, story, svg};
use anyhow::{Context, anyhow};
use bellwether_engine::check::CertificateError;
use bellwether_engine::trace::{Trace, TraceError};
use clap::{Args, ValueEnum};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::PathBuf;

/// The flags of `trace`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TraceArgs {
    /// The trace, as `check --out` saves it
    file: PathBuf,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write to this file instead
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Show what this expression is worth after each step, such as 'leads(1) && leads(2)'; may be
    /// given again
    #[arg(long, value_name = "EXPR")]
    show: Vec<String>,

    /// Do not ask whether the trace is an execution of today's model
    #[arg(long)]
    #[arg(hide_short_help = true)]
    unchecked: bool,
}

/// The values of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The story and the diagram
    Text,
    /// The numbered story
    Story,
    /// The sequence diagram in characters
    Diagram,
    /// The sequence diagram as a picture
    Svg,
    /// A page that shows every state of it, and needs no server
    Html,
    /// The Explorer's address of its last state
    Link,
    /// A sequence diagram in the language of Mermaid
    Mermaid,
    /// A log for ShiViz, with vector clocks
    Shiviz,
    /// Every state with all variables, as JSON in Apalache's Informal Trace Format
    Itf,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model trace out/bully-at-most-one-leader.ndjson
  bellwether-model trace out/bully-at-most-one-leader.ndjson --show 'leader(1)'
  bellwether-model trace out/bully-at-most-one-leader.ndjson --format svg --output picture.svg
  bellwether-model trace out/bully-at-most-one-leader.ndjson --format html --output page.html
  bellwether-model trace out/bully-at-most-one-leader.ndjson --format link
  bellwether-model trace out/bully-at-most-one-leader.ndjson --format mermaid";

pub(super) fn run(tool: Tool, args: &TraceArgs) -> anyhow::Result<Exit> {
    let needed = matches!(args.format, Format::Html | Format::Link | Format::Itf);
    if args.unchecked && needed {
        let why = "pages, links and itf show states, which only today's model knows; leave it out";
        return Err(UsageError::no_effect("--unchecked", why).into());
    }
    if !args.show.is_empty() {
        args.can_show()?;
    }
    is_served(args.format, cfg!(feature = "explore"))?;
    let name = args.file.display();
    let saves =
        format!("'{} check PROTOCOL --out DIR' saves traces as DIR/NAME.ndjson", tool.called());
    let file =
        File::open(&args.file).map_err(|why| anyhow!("cannot open {name}: {why}; {saves}"))?;
    let trace =
        Trace::read(BufReader::new(file)).map_err(|wrong| unreadable(&name, wrong, &saves))?;
    let walk = if args.unchecked {
        None
    } else {
        let remedy = if needed { "" } else { " (--unchecked shows it all the same)" };
        let walk = shown::certified(tool, &trace);
        Some(walk.map_err(|wrong| refused(wrong, &name, remedy, &saves))?)
    };
    // What the model knows of each step besides.
    let trace = if args.unchecked { trace } else { shown::retold(tool, &trace)? };
    let walk = || walk.as_ref().expect("it was taken");
    let width = args.output.is_none().then(text::width).flatten();
    let options =
        diagram::Options { colour: args.output.is_none(), width, ..diagram::Options::default() };
    let values = args.values(tool, &trace)?;
    let story = || text::wrap(&story::tell(&trace), width) + &values;
    let text = match args.format {
        Format::Text => {
            let heading = text::wrap(&story::heading(&trace), width);
            let bare = diagram::Options { bare: true, ..options };
            format!("{heading}\n{}\n{}", story(), diagram::draw(&trace, bare))
        }
        Format::Story => story(),
        Format::Diagram => diagram::draw(&trace, options) + &values,
        Format::Svg => svg::draw(&trace),
        Format::Html => walk().html(),
        Format::Link => shown::link(&walk().places, shown::ADDRESS),
        Format::Mermaid => sequence::mermaid(&trace),
        Format::Shiviz => shiviz::log(&trace),
        Format::Itf => states(tool, &trace)?,
    };
    let text = text.trim_end();
    let exit = Exit::with(HOLDS);
    Ok(match &args.output {
        Some(file) => exit.note_saved(fs::write(file, format!("{text}\n")).with_context(|| {
            format!("cannot write {}; give --output another file", file.display())
        })),
        None => exit.note_printed(writeln!(anstream::stdout(), "{text}")),
    })
}

/// Refuses an address at which a program without the Explorer shows nothing.
fn is_served(format: Format, has_explorer: bool) -> anyhow::Result<()> {
    if format == Format::Link && !has_explorer {
        return Err(anyhow!(
            "this program was built without the Explorer, so nothing would be at the address; use \
             --format html, or build it with the feature 'explore' of bellwether-tool"
        ));
    }
    Ok(())
}

/// Every state, in the format of Apalache.
fn states(tool: Tool, trace: &Trace) -> anyhow::Result<String> {
    let world = trace.world_of(tool.registry.find(&trace.header.protocol)?)?;
    let states = itf(&world, trace, &trace.actions(&world)?);
    Ok(serde_json::to_string_pretty(&states)?)
}

impl TraceArgs {
    /// Whether there is a place for what is to be shown.
    fn can_show(&self) -> Result<(), UsageError> {
        if self.unchecked {
            let why = "states are those of today's model, which is not asked; leave it out";
            return Err(UsageError::no_effect("--show", why));
        }
        if !matches!(self.format, Format::Text | Format::Story | Format::Diagram) {
            let why = "what other programs draw or read has no place for it; leave it out";
            return Err(UsageError::no_effect("--show", why));
        }
        Ok(())
    }

    /// What the expressions are worth after each step.
    fn values(&self, tool: Tool, trace: &Trace) -> anyhow::Result<String> {
        if self.show.is_empty() {
            return Ok(String::new());
        }
        let world = trace.world_of(tool.registry.find(&trace.header.protocol)?)?;
        let shown = shown::expressions(&self.show, &world)?;
        let values = shown::values(&world, &trace.actions(&world)?, &shown);
        Ok(values.map(|table| format!("\n{table}\n")).unwrap_or_default())
    }
}

/// The error of a trace that is no execution, or does not show what it says.
fn refused(wrong: anyhow::Error, name: &impl Display, remedy: &str, saves: &str) -> anyhow::Error {
    match wrong.downcast_ref() {
        Some(CertificateError::Claim { .. }) => anyhow!(
            "{name} does not show what it says{remedy}: {wrong:#}; correct the file, or use \
             another: {saves}"
        ),
        _ => wrong.context(format!("{name} is no execution of today's model{remedy}")),
    }
}

/// Returns the error of a file that is no trace: what is wrong, where, and what to do.
pub fn unreadable(name: &impl Display, wrong: TraceError, saves: &str) -> anyhow::Error {
    let wrong = anyhow::Error::from(wrong);
    anyhow!("{name}: {wrong:#}; correct the file, or use another: {saves}")
}

#[cfg(test)]
mod tests {
    use super::{Format, is_served};

    #[test]
    fn an_address_that_nothing_serves_is_refused_with_the_name_of_the_feature() {
        let refused = is_served(Format::Link, false).expect_err("there is no Explorer");
        assert!(refused.to_string().contains("the feature 'explore'"), "{refused}");
        assert!(is_served(Format::Link, true).is_ok());
        assert!(is_served(Format::Html, false).is_ok(), "a page needs no server");
    }
}
