//! `suite`: run the cases of a file, each a `check` with what is expected of it, and say which of
//! them come out otherwise. Other programs can run the cases in a way of their own.

mod case;
mod file;
mod tables;

use super::{Bar, Exit, HOLDS, ProgressArgs, Tool, UNKNOWN, USAGE, VIOLATED, stopped, text};
use anstyle::{AnsiColor, Style};
use anyhow::{Context, anyhow, bail};
use bellwether_engine::check::Event;
use case::{Done, End};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use case::{Case, Found, Ran};
pub use file::Wanted;

/// The flags of `suite`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SuiteArgs {
    /// The file with the cases
    #[arg(default_value = "bellwether.toml", value_name = "SUITE")]
    file: PathBuf,

    /// Run only the cases whose names have this text in them
    #[arg(long, value_name = "NAME")]
    case: Option<String>,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write what came of each case to this file, in the XML that CI systems read of JUnit
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,

    /// Write a summary to this file, as a table in Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model suite
  bellwether-model suite election.toml --junit junit.xml --markdown summary.md

A file with one case, whose keys are flags of 'check':
  [[case]]
  protocol = \"bully\"
  recoveries = 1
  expect = { agreement = \"holds\", at-most-one-leader = \"violated in 5 steps\" }

Exit status: 0 every case comes out as expected; 1 one does not; 2 wrong usage, an error in the
file, or a case that cannot be run; 3 a search was cut short, so nothing is claimed.";

/// Where it is told what came of the cases of a file.
#[derive(Clone, Copy, Debug)]
pub struct Reports<'a> {
    /// The path of the file with the cases.
    pub file: &'a Path,
    /// Whether one JSON object is printed, and nothing else.
    pub json: bool,
    /// The path of the file for the XML of JUnit, if that is asked for.
    pub junit: Option<&'a Path>,
    /// The path of the file for the table in Markdown, if that is asked for.
    pub markdown: Option<&'a Path>,
    /// Whether progress is shown.
    pub progress: ProgressArgs,
}

/// A function that runs a case, and calls another one with its progress.
pub type RunCase<'r> = dyn Fn(&Case, &mut (dyn FnMut(Event) + Send)) -> Ran + 'r;

pub(super) fn run(tool: Tool, args: &SuiteArgs) -> anyhow::Result<Exit> {
    let mut cases = read(tool, &args.file)?;
    if let Some(name) = &args.case {
        cases.retain(|case| case.name.contains(name));
        if cases.is_empty() {
            let (called, file) = (tool.called(), args.file.display());
            bail!("no case of {file} has '{name}' in its name; '{called} suite' tells the names");
        }
    }
    let reports = Reports {
        file: &args.file,
        json: args.json,
        junit: args.junit.as_deref(),
        markdown: args.markdown.as_deref(),
        progress: args.progress,
    };
    Ok(reports.run(&cases, &|case, on_event| case.run(on_event)))
}

impl Reports<'_> {
    /// Runs the cases in their order, and tells what comes of each. The exit status is [`HOLDS`] if
    /// all come out as expected, [`VIOLATED`] if one does not, [`USAGE`] if one cannot be run, or
    /// all are left out, and [`UNKNOWN`] if one is not decided.
    pub fn run(self, cases: &[Case], run: &RunCase<'_>) -> Exit {
        let bar = self.progress.steps(cases.len(), self.json);
        let mut printed: io::Result<()> = Ok(());
        let mut done = Vec::with_capacity(cases.len());
        for case in cases {
            let one = decide(case, run, &bar);
            if !self.json && printed.is_ok() {
                printed = bar.suspend(|| tell(&one));
            }
            if one.ran.is_some() {
                bar.step(&case.name);
            }
            done.push(one);
        }
        bar.finish();
        let exit = Exit::with(status(&done)).note_printed(printed);
        let file = self.file.display().to_string();
        let exit = save(exit, self.junit, "junit", || tables::junit(&file, &done));
        let exit = save(exit, self.markdown, "markdown", || tables::markdown(&file, &done));
        match self.json {
            true => exit.note_printed(text::print_json(&tables::json(&file, &done))),
            false => exit.note_printed(summary(&done)),
        }
    }
}

/// Reads all cases of a file, so that what is wrong with one is known before any is run.
///
/// # Errors
/// If the file cannot be read, or what is wrong with a case, with its line and column.
pub fn read(tool: Tool, file: &Path) -> anyhow::Result<Vec<Case>> {
    let name = file.display().to_string();
    let written = fs::read_to_string(file).map_err(|why| {
        let help = format!("'{} suite --help' shows what stands in it", tool.called());
        anyhow!("cannot read {name}: {why}; write it, or give another file; {help}")
    })?;
    let command = case::check_command(tool);
    let check = command.find_subcommand("check").unwrap_or(&command);
    let cases = file::read(&written, check).and_then(|cases| {
        cases.into_iter().map(|case| Case::of(tool, &command, case)).collect::<Result<Vec<_>, _>>()
    });
    cases.map_err(|mistake| anyhow!(mistake.tell(&name, &written)))
}

/// Decides a case, unless the suite was stopped.
fn decide<'c>(case: &'c Case, run: &RunCase<'_>, bar: &Bar) -> Done<'c> {
    if stopped().is_due() {
        return Done { case, ran: None };
    }
    let doing = format!("{}: ", case.name);
    let ran = run(case, &mut |event| {
        // A violation may be what is expected.
        if !matches!(event, Event::Violated { .. }) {
            bar.tell(&doing, event);
        }
    });
    Done { case, ran: Some(ran) }
}

/// That what was found differs says more than what is unknown.
fn status(done: &[Done<'_>]) -> u8 {
    let ends = |end: End| done.iter().any(|one| one.end() == end);
    if ends(End::Differs) {
        VIOLATED
    } else if ends(End::Failed) || done.iter().all(|one| one.end() == End::LeftOut) {
        USAGE
    } else if ends(End::Unknown) || ends(End::NotRun) {
        UNKNOWN
    } else {
        HOLDS
    }
}

/// Writes a file, if one is asked for.
fn save(exit: Exit, file: Option<&Path>, flag: &str, content: impl FnOnce() -> String) -> Exit {
    let Some(file) = file else { return exit };
    exit.note_saved(
        fs::write(file, content()).with_context(|| {
            format!("cannot write {}; give --{flag} another file", file.display())
        }),
    )
}

/// Prints what came of a case: in a line, and one more with the command that shows a difference.
fn tell(one: &Done<'_>) -> io::Result<()> {
    let mut out = anstream::stdout();
    let (style, words) = (colour(one.end()), one.end().words());
    let problems = one.problems();
    let told = match &one.ran {
        _ if !problems.is_empty() => format!(": {problems}"),
        Some(ran) => {
            let s = if ran.properties.len() == 1 { "property" } else { "properties" };
            let states = ran.states.map(|states| format!(", {} states", text::count(states)));
            let (count, states) = (ran.properties.len(), states.unwrap_or_default());
            format!(" ({count} {s}{states}, {:.2} s)", one.seconds())
        }
        None => String::new(),
    };
    writeln!(out, "{style}{words}{style:#}: {}{told}", one.case.name)?;
    if matches!(one.end(), End::Differs | End::Failed) {
        writeln!(out, "  see it: {}", one.case.command)?;
    }
    Ok(())
}

fn colour(end: End) -> Style {
    let colour = match end {
        End::AsExpected => AnsiColor::Green,
        End::Differs | End::Failed => AnsiColor::Red,
        End::Unknown | End::NotRun | End::LeftOut => AnsiColor::Yellow,
    };
    colour.on_default()
}

/// Prints how many cases end how.
fn summary(done: &[Done<'_>]) -> io::Result<()> {
    writeln!(anstream::stdout(), "{}", tables::counted(done))
}
