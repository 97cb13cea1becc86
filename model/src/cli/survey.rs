//! `survey`: every protocol in the worlds that matter, as one matrix of verdicts.

use super::table::{Cell, Table};
use super::{
    Exit, HOLDS, LimitArgs, ProgressArgs, ProtocolArgs, Tool, UNKNOWN, WorldArgs,
    print as print_report, status, text,
};
use crate::check::{Limits, Reason, Verdict};
use crate::protocol::REGISTRY;
use crate::survey::matrix::{self, Name};
use crate::survey::{
    Most, Row, Rung, Standing, Surrounding, SurveyOptions, climb, surroundings, survey,
};
use crate::words::instead_of;
use anstyle::AnsiColor;
use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// The flags of `survey`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SurveyArgs {
    /// Only these protocols (`list` shows them) [default: all]
    #[arg(value_name = "PROTOCOL")]
    protocols: Vec<String>,

    /// How many processes elect
    #[arg(short, long, default_value_t = 3, value_name = "N", help_heading = "World",
          value_parser = nodes, allow_negative_numbers = true)]
    nodes: u8,

    /// Show what goes wrong in one cell: the counterexample of each property that is violated
    #[arg(long, num_args = 2, value_names = ["PROTOCOL", "WORLD"],
          conflicts_with_all = ["protocols", "json", "markdown", "svg"])]
    show: Option<Vec<String>>,

    /// Search up to five million states of each world, and let up to three time-outs be early where
    /// one in which all may be is too large; takes about half an hour
    #[arg(long, help_heading = "Limits")]
    deep: bool,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output", conflicts_with = "markdown")]
    json: bool,

    /// Print the matrix as a table in Markdown and nothing else
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    markdown: bool,

    /// Draw the matrix as a picture (SVG) into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    svg: Option<PathBuf>,

    #[command(flatten)]
    progress: ProgressArgs,
}

fn nodes(text: &str) -> Result<u8, String> {
    let nodes = text.parse().ok().filter(|nodes| (2..=5).contains(nodes));
    nodes.ok_or_else(|| "give a whole number from 2 to 5".to_owned())
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model survey
  bellwether-model survey bully --nodes 4
  bellwether-model survey --show bully crash-recovery
  bellwether-model survey --svg survey.svg --json
  bellwether-model survey --deep --markdown

Without a limit, the search of a world stops after a quarter of a million states, or with --deep
after five million. What is not decided by then is asked in narrower worlds: where time-outs expire
at any moment, in one with one that is early, and then where links hold two messages, and one. A
property that holds is asked again with one more fault of the world's kind. The cell names the
bounds within which a property holds. Exit status: 3 if the survey was interrupted, otherwise 0;
with --show that of 'check'.";

const LEGEND: &str = "\
A cell counts the properties that are asked there: those that fail, that are unknown, that are \
vacuous because their premise is never true, that hold within bounds, that fail and were never \
promised, and that hold. The bounds are the budget of the column where one more fault of its kind \
violates the property, and those of a narrower world where a world is too large to search.";

/// How many states of a world are searched by default.
const STATES: u64 = 250_000;

/// How many are in a deep survey.
const DEEP: u64 = 5_000_000;

/// How many time-outs are early at most in narrower worlds, and how many in those of a deep survey.
const EARLY: [u8; 2] = [1, 3];

pub(super) fn run(tool: Tool, args: &SurveyArgs) -> anyhow::Result<Exit> {
    if let Some([protocol, world]) = args.show.as_deref() {
        return show(tool, args, protocol, world);
    }
    let named = args.protocols.iter().map(|name| tool.registry.find(name));
    let mut protocols = named.collect::<Result<Vec<_>, _>>()?;
    if protocols.is_empty() {
        // The survey is of elections.
        protocols.extend(REGISTRY.iter());
    }
    let worlds = surroundings(args.nodes.into());
    let bar = args.progress.steps(protocols.len() * (worlds.len() + 1), args.json);
    let rows = survey(&protocols, args.settings(), &|name| bar.step(name));
    bar.finish();
    let rows = rows?;
    let exit = Exit::with(if rows.iter().any(was_interrupted) { UNKNOWN } else { HOLDS });
    let saved = match &args.svg {
        Some(file) => std::fs::write(file, matrix::svg(&worlds, &rows))
            .with_context(|| format!("writing {}; give --svg another file", file.display())),
        None => Ok(()),
    };
    Ok(exit.note_saved(saved).note_printed(print(tool, args, &worlds, &rows)))
}

/// Whether something is unknown because the search was interrupted.
fn was_interrupted(row: &Row) -> bool {
    row.messages == Most::Unknown(Reason::Interrupted)
        || row.cells.iter().any(crate::survey::Cell::was_interrupted)
}

impl SurveyArgs {
    fn settings(&self) -> SurveyOptions {
        let limits = self.limits.limits();
        let limits = if self.limits.are_default() {
            Limits { states: Some(if self.deep { DEEP } else { STATES }), ..limits }
        } else {
            limits
        };
        let most_early = EARLY[usize::from(self.deep)];
        let (nodes, threads) = (self.nodes.into(), self.limits.threads());
        SurveyOptions { nodes, limits, threads, most_early }
    }
}

fn described(world: &Surrounding) -> serde_json::Value {
    json!({ "name": world.name, "budget": world.budget(), "meaning": world.meaning })
}

fn print(
    tool: Tool,
    args: &SurveyArgs,
    worlds: &[Surrounding],
    rows: &[Row],
) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    if args.json {
        let worlds: Vec<_> = worlds.iter().map(described).collect();
        let object = json!({ "nodes": args.nodes, "worlds": worlds, "protocols": rows });
        text::print_json(&object)
    } else if args.markdown {
        Ok(write!(out, "{}", matrix::markdown(worlds, rows))?)
    } else {
        print_table(tool, &mut out, worlds, rows)
    }
}

fn print_table(
    tool: Tool,
    out: &mut impl Write,
    worlds: &[Surrounding],
    rows: &[Row],
) -> anyhow::Result<()> {
    let names = worlds.iter().map(|world| format!("{} ({})", world.name, world.budget()));
    let last = ["messages", "every n"].map(str::to_owned);
    let mut table = Table::new(["protocol".to_owned()].into_iter().chain(names).chain(last));
    for row in rows {
        let cells = row.cells.iter().map(|cell| {
            let colour = match cell.standing() {
                Some(Standing::Holds) => AnsiColor::Green,
                Some(Standing::Fails) => AnsiColor::Red,
                Some(Standing::NotPromised) => AnsiColor::Cyan,
                _ => AnsiColor::Yellow,
            };
            Cell::new(cell.words()).in_colour(colour)
        });
        let name = Cell::new(row.protocol);
        let proved = Cell::new(row.proved_words()).in_colour(AnsiColor::Green);
        let last = [Cell::new(row.messages.words()), proved];
        table.row(std::iter::once(name).chain(cells).chain(last));
    }
    writeln!(out, "{table}\n")?;
    let mut explained: Vec<_> =
        worlds.iter().map(|world| format!("{}: {}", world.name, world.meaning)).collect();
    explained.push(
        "messages: the most that an execution sends from a crash until the world is quiescent"
            .to_owned(),
    );
    explained.push(
        "every n: what bellwether-prove proves for every number of processes, faults and messages"
            .to_owned(),
    );
    explained.push(format!("\n{LEGEND}"));
    for Name { shown, property, meaning, .. } in matrix::names(rows) {
        let also = if shown == property { String::new() } else { format!(" ({property})") };
        explained.push(format!("{shown}{also}: {meaning}"));
    }
    let called = tool.called();
    explained.push(format!("\nWhat is behind a cell: {called} survey --show PROTOCOL WORLD"));
    writeln!(out, "{}", text::wrap(&explained.join("\n"), text::width()))?;
    Ok(())
}

/// Shows what goes wrong in one cell.
fn show(tool: Tool, args: &SurveyArgs, name: &str, world: &str) -> anyhow::Result<Exit> {
    let protocol = tool.registry.find(name)?;
    let worlds = surroundings(args.nodes.into());
    let Some(found) = worlds.iter().find(|known| known.name == world) else {
        let known: Vec<_> = worlds.iter().map(|world| world.name).collect();
        return Err(anyhow!("there is no world '{world}'; {}", instead_of(world, &known)));
    };
    let Some(whole) = found.scenario(protocol)? else {
        return Err(anyhow!(
            "it is not known how long is enough for {name}; try 'check {name} --timing timed' with \
             durations of your own"
        ));
    };
    let bar = args.progress.bar(args.json);
    let mut searched = Vec::new();
    let settings = args.settings();
    climb(protocol, found, settings, &mut |event| bar.tell("", event), &mut |rung, report| {
        searched.push((rung.clone(), report));
    })?;
    bar.finish();
    let asked = searched.iter().filter(|(rung, _)| !rung.is_further);
    let exit = Exit::with(status(Verdict::all(asked.map(|(_, report)| report.verdict()))));
    let mut out = anstream::stdout();
    let named = ProtocolArgs { protocol: name.to_owned(), variant: None, rules: Vec::new() };
    let mut tell = || {
        writeln!(out, "{} ({}): {}", found.name, found.budget(), found.meaning)?;
        for (Rung { scenario, is_further, .. }, report) in &searched {
            if *is_further {
                writeln!(out, "What holds, with one more fault:")?;
            }
            write!(out, "{} check {name} {}", tool.called(), WorldArgs::typed(scenario))?;
            // Another world is asked for some properties only.
            for decision in report.decisions.iter().filter(|_| *scenario != whole) {
                write!(out, " --property {}", decision.property.name)?;
            }
            writeln!(out, "\n")?;
            print_report(tool, report, &[], &named, &Vec::new())?;
        }
        Ok::<(), anyhow::Error>(())
    };
    Ok(exit.note_printed(tell()))
}
