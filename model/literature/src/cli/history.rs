//! `history`: run the bugs that elections of real systems had.

use super::claims::markdown::{capital, wrapped};
use super::{BOLD, again, as_written, disagrees, runner};
use crate::case::{Case, Decided};
use crate::claims::Finding;
use crate::entries::Place;
use crate::history::{Bug, History, Unsaid};
use anstyle::AnsiColor;
use bellwether_model::cli::table::{Cell, Table};
use bellwether_model::cli::{Exit, LimitArgs, ProgressArgs, shown, text};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

/// The flags of `history`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HistoryArgs {
    /// Run these bugs, and print each in full [default: all, as a table]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Read the bugs from this file (in a clone, model/literature/history/bugs.toml) instead of
    /// those compiled in
    #[arg(long, value_name = "FILE")]
    #[arg(hide_short_help = true)]
    file: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print each bug in full, and draw the execution that shows it
    #[arg(long, help_heading = "Output")]
    show: bool,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output", conflicts_with_all = ["show", "markdown"])]
    json: bool,

    /// Print the page docs/history.md
    #[arg(long, help_heading = "Output", conflicts_with_all = ["show", "names"])]
    #[arg(hide_short_help = true)]
    markdown: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model history
  bellwether-model history forgotten-vote --show
  bellwether-model history --markdown > docs/history.md

Exit status: 0 every bug comes out as its entry says; 1 one does not; 2 wrong usage or an error in
the entries; 3 a search was cut short, so nothing is claimed.";

/// A bug after both of its worlds were searched.
struct Rerun<'a> {
    bug: &'a Bug,
    broken: Decided,
    repaired: Decided,
}

impl Rerun<'_> {
    /// Each world in words, with its case and what was found.
    fn worlds(&self) -> [(&'static str, &Case, &Finding); 2] {
        let Rerun { bug, broken, repaired } = self;
        [
            ("with it", &bug.broken, &broken.ran.finding),
            ("without", &bug.repaired, &repaired.ran.finding),
        ]
    }

    /// Returns whether both cases came out as the entry says; `None` if a search was cut short.
    fn agrees(&self) -> Option<bool> {
        let broken = self.broken.agrees(&self.bug.broken)?;
        Some(self.repaired.agrees(&self.bug.repaired)? && broken)
    }
}

pub(super) fn run(args: &HistoryArgs) -> anyhow::Result<Exit> {
    let history = History::load(args.file.as_deref())?;
    let bugs = history.select(&args.names)?;
    let both = bugs.iter().flat_map(|bug| [(&bug.name, &bug.broken), (&bug.name, &bug.repaired)]);
    let cases: Vec<(&str, &Case)> = both.map(|(name, case)| (name.as_str(), case)).collect();
    let bar = args.progress.steps(cases.len(), args.json);
    let decided = runner(&args.limits).cases(&cases, &|name| bar.step(name));
    bar.finish();
    let mut decided = decided?.into_iter();
    let mut rerun = Vec::new();
    for bug in bugs {
        let (Some(broken), Some(repaired)) = (decided.next(), decided.next()) else { break };
        rerun.push(Rerun { bug, broken, repaired });
    }
    Ok(Exit::with(as_written(rerun.iter().map(Rerun::agrees)))
        .note_printed(print(args, &history, &rerun)))
}

fn print(args: &HistoryArgs, history: &History, rerun: &[Rerun<'_>]) -> anyhow::Result<()> {
    if args.json {
        return text::print_json(&object(rerun));
    }
    let mut out = anstream::stdout();
    if args.markdown {
        write!(out, "{}", markdown(rerun, &history.unsaid))?;
    } else {
        print_all(&mut out, args, rerun)?;
    }
    Ok(())
}

/// A table, or with names or `--show` each bug in full; then how many there are, and which does not
/// come out as its entry says.
fn print_all(out: &mut impl Write, args: &HistoryArgs, rerun: &[Rerun<'_>]) -> io::Result<()> {
    if args.show || !args.names.is_empty() {
        for one in rerun {
            print_bug(out, args, one)?;
        }
    } else {
        writeln!(out, "{}\n", table(rerun))?;
    }
    let s = if rerun.len() == 1 { "" } else { "s" };
    writeln!(out, "{} bug{s}, each with its rules and without.", rerun.len())?;
    for one in rerun.iter().filter(|one| one.agrees() != Some(true)) {
        let says = format!("{}, and {} without", one.bug.broken.says(), one.bug.repaired.says());
        let found = format!("{}, and {}", one.broken.ran.finding, one.repaired.ran.finding);
        disagrees(out, &one.bug.name, &says, &found)?;
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
            colour(Cell::new(&one.broken.ran.finding), agrees),
            colour(Cell::new(&one.repaired.ran.finding), agrees),
            Cell::new(&one.bug.title),
        ]);
    }
    table
}

/// The bug, where it is told, and what both worlds found.
fn print_bug(out: &mut impl Write, args: &HistoryArgs, one: &Rerun<'_>) -> io::Result<()> {
    let (bug, width) = (one.bug, text::width());
    let head = format!("{BOLD}{}{BOLD:#} ({}): {}.", bug.name, bug.systems, bug.title);
    writeln!(out, "{}", text::wrap(&head, width))?;
    writeln!(out, "{}", text::wrap(&format!("    {}", bug.story), width))?;
    writeln!(out, "{}", text::wrap(&format!("    {}", bug.model), width))?;
    for place in &bug.sources {
        writeln!(out, "    {}: {}", place.what, place.url)?;
    }
    for (what, case, found) in one.worlds() {
        let line = format!("  {what}: {} {found}", case.property);
        writeln!(out, "{}", text::wrap(&line, width))?;
        writeln!(out, "    {}", again(&case.command()))?;
    }
    if let Some(trace) = one.broken.ran.trace.as_ref().filter(|_| args.show) {
        shown::tell(out, trace)?;
    }
    writeln!(out)
}

/// The object that `--json` prints.
fn object(rerun: &[Rerun<'_>]) -> Value {
    json!({ "bugs": rerun.iter().map(bug_view).collect::<Vec<_>>() })
}

fn bug_view(one: &Rerun<'_>) -> Value {
    let Bug { name, title, systems, story, model, sources, broken, repaired } = one.bug;
    json!({
        "name": name, "title": title, "systems": systems, "story": story, "model": model,
        "sources": sources, "property": broken.property, "agrees": one.agrees(),
        "broken": {
            "command": broken.command(), "steps": broken.steps(),
            "found": one.broken.ran.finding,
        },
        "repaired": { "command": repaired.command(), "found": one.repaired.ran.finding },
    })
}

const HEAD: &str = "\
# Bugs that happened

This page is for people who build or run elections. It lists bugs that elections of real systems
had, each with where it is told, in our words. Some struck in production, some were found by
reading. The model says each by a rule value, a variant, or a duration. With it, a
[property](model.md#properties) is violated, and a shortest execution has so many steps (of what is
to happen in the end: until a cycle begins that can go on for ever). Without, the property holds. So
each shows what keeps it out.

`bellwether-literature history --markdown > docs/history.md` prints this page, `history NAME --show`
draws an execution, and a test runs every bug and fails when the page is out of date. In a clone,
`cargo run --release --` stands for `bellwether-model`, and with `-p bellwether-literature` for
that.

`holds` is proved for the world that the command names, and for no larger one. Where executions
exceed the bounds of the search, it says within which: beyond is not claimed. That a system is named
here does not say that it has the bug today; its source says what became of it.
";

const UNSAID: &str = "\
## What cannot be said here

These happened too, and no rule has them.
";

/// The page `docs/history.md`.
fn markdown(rerun: &[Rerun<'_>], unsaid: &[Unsaid]) -> String {
    let mut page = format!("{HEAD}\n| bug | systems | property | steps |\n|---|---|---|---|\n");
    for one in rerun {
        let bug = one.bug;
        let _ = writeln!(
            page,
            "| [{}](#{}) | {} | `{}` | {} |",
            bug.title,
            bug.name,
            bug.systems,
            bug.broken.property,
            steps(one)
        );
    }
    for one in rerun {
        tell_bug(&mut page, one);
    }
    let _ = write!(page, "\n{UNSAID}\n");
    for Unsaid { what, why, sources } in unsaid {
        page.push_str(&wrapped("- ", &format!("**{what}** {why} {}", places(sources))));
    }
    page
}

fn steps(one: &Rerun<'_>) -> String {
    match one.broken.ran.finding {
        Finding::Violated { steps: Some(steps) } => steps.to_string(),
        _ => "-".to_owned(),
    }
}

fn tell_bug(page: &mut String, one: &Rerun<'_>) {
    let bug = one.bug;
    let _ = writeln!(page, "\n## {}\n", bug.name);
    page.push_str(&wrapped("", &format!("**{}** ({}). {}", bug.title, bug.systems, bug.story)));
    let _ = write!(page, "\n{}\n", wrapped("", &format!("Told in {}", places(&bug.sources))));
    page.push_str(&wrapped("", &bug.model));
    page.push('\n');
    for (what, case, found) in one.worlds() {
        let line = format!("{}, `{}`: **{found}**.", capital(what), case.property);
        page.push_str(&wrapped("- ", &line));
        page.push_str(&wrapped("  ", &format!("`{}`", case.command())));
    }
}

fn places(sources: &[Place]) -> String {
    let links: Vec<String> =
        sources.iter().map(|Place { what, url }| format!("[{what}]({url})")).collect();
    format!("{}.", links.join("; "))
}
