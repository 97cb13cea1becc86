//! What `history` prints for people.

use super::{HistoryArgs, commands};
use crate::cli::claims::command::NAME;
use crate::cli::table::{Cell, Table};
use crate::cli::{called, shown, text};
use crate::history::Rerun;
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

const BOLD: Style = Style::new().bold();
const WRONG: Style = AnsiColor::Red.on_default().bold();

/// A table, or with names or `--show` each bug in full; then how many there are, and which does not
/// come out as its entry says.
pub(super) fn all(out: &mut impl Write, args: &HistoryArgs, rerun: &[Rerun<'_>]) -> io::Result<()> {
    if args.show || !args.names.is_empty() {
        for one in rerun {
            bug(out, args, one)?;
        }
    } else {
        writeln!(out, "{}\n", table(rerun).print(args.ascii))?;
    }
    let s = if rerun.len() == 1 { "" } else { "s" };
    writeln!(out, "{} bug{s}, each with its rules and without.", rerun.len())?;
    for one in rerun.iter().filter(|one| one.agrees() != Some(true)) {
        let difference = format!(
            "{}\n  its entry says: violated ({} steps), and {} without\n  found: {}, and {}\n",
            one.bug.name,
            one.bug.steps,
            if one.bug.within { "holds within" } else { "holds" },
            one.broken.finding,
            one.repaired.finding
        );
        writeln!(out, "\n{WRONG}This does not agree.{WRONG:#}")?;
        write!(out, "{}", text::wrap(&difference, text::width()))?;
    }
    Ok(())
}

fn table(rerun: &[Rerun<'_>]) -> Table {
    let mut table = Table::new(["name", "systems", "with it", "without", "what went wrong"]);
    for one in rerun {
        let colour = |found: Cell, as_said: bool| {
            found.in_colour(if as_said { AnsiColor::Green } else { AnsiColor::Red })
        };
        let agrees = one.agrees() == Some(true);
        table.row([
            Cell::new(&one.bug.name),
            Cell::new(&one.bug.systems),
            colour(Cell::new(&one.broken.finding), agrees),
            colour(Cell::new(&one.repaired.finding), agrees),
            Cell::new(&one.bug.title),
        ]);
    }
    table
}

/// The bug, where it is told, and what both worlds found.
fn bug(out: &mut impl Write, args: &HistoryArgs, one: &Rerun<'_>) -> io::Result<()> {
    let (bug, width) = (one.bug, text::width());
    let head = format!("{BOLD}{}{BOLD:#} ({}): {}.", bug.name, bug.systems, bug.title);
    writeln!(out, "{}", text::wrap(&head, width))?;
    writeln!(out, "{}", text::wrap(&format!("    {}", bug.story), width))?;
    writeln!(out, "{}", text::wrap(&format!("    {}", bug.model), width))?;
    for place in &bug.sources {
        writeln!(out, "    {}: {}", place.what, place.url)?;
    }
    let [broken, repaired] = commands(one);
    for (what, ran, command) in
        [("with it", &one.broken, broken), ("without", &one.repaired, repaired)]
    {
        let line = format!("  {what}: {} {}", bug.property, ran.finding);
        writeln!(out, "{}", text::wrap(&line, width))?;
        writeln!(out, "    {}", command.replacen(NAME, &called(NAME, ""), 1))?;
    }
    if let Some(trace) = one.broken.trace.as_ref().filter(|_| args.show) {
        shown::tell(out, trace, args.ascii)?;
    }
    writeln!(out)
}
