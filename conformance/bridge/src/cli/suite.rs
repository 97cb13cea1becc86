//! `suite`: executions that together take every transition of a bounded world, in model and
//! program.

mod cases;
mod processes;

use super::lockstep::scenario;
use super::{BOLD, CONFORMS, CUT_SHORT, DIVERGES, ERROR, GOOD, describe_divergence, save};
use super::{Known, Processes};
use crate::comparison::{Comparison, Description};
use crate::suite::{Met, Ran, Suite, Summary};
use anyhow::Context;
use bellwether_engine::check::Event;
use bellwether_engine::world::Scenario;
use bellwether_tool::cli::table::{Cell, Table};
use bellwether_tool::cli::{Exit, LimitArgs, ProgressArgs, UsageError, WorldArgs, out, text};
use clap::{ArgMatches, Args, ValueEnum};
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The flags of `suite`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SuiteArgs {
    /// The protocol (`list` shows them), or a .toml file of cases [default: the first protocol]
    #[arg(value_name = "PROTOCOL|FILE")]
    protocol: Option<String>,

    /// Which rules, if the program can be configured for several (`list`) [default: the first]
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,

    /// Find the executions, and do not drive the program through them
    #[arg(long)]
    no_run: bool,

    /// What is driven through the executions
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Through::Core)]
    through: Through,

    /// The program of the processes [default: `bellwether`, beside this program]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,

    /// For how long the processes run [default: 60]
    #[arg(long, value_name = "COUNT")]
    seconds: Option<u32>,

    #[command(flatten)]
    world: WorldArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Save each execution as a trace (NDJSON) in this folder, and one that shows a difference
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Save so many executions at most, the shortest ones
    #[arg(long, value_name = "COUNT", help_heading = "Output",
          value_parser = count, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    limit: Option<usize>,

    /// With a file: what came of each case, in the XML that CI systems read of JUnit
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    junit: Option<PathBuf>,

    /// With a file: what came of each case, as a table in Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    markdown: Option<PathBuf>,

    /// Print all of a difference, and not only 60 lines
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    verbose: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

/// What is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Through {
    /// The nodes, which own no clock, disk or network
    Core,
    /// Real processes, which show what they can of the executions
    Processes,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model suite --recoveries 1
  bellwether-model suite quorum --crashes 1 --recoveries 1 --json
  bellwether-model suite --recoveries 1 --no-run --out executions --limit 10
  bellwether-model suite bellwether.toml --junit junit.xml

A file has the cases of the checker's 'suite'. Each whose rules a program implements is compared as
'lockstep' does it, and must conform.";

fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| "give a whole number of executions, at least 1".to_owned())
}

/// Runs a suite; `flags` are those of `args`, as they were given.
pub(super) fn run(
    known: Known,
    processes: Option<Processes>,
    args: &SuiteArgs,
    flags: &ArgMatches,
) -> anyhow::Result<Exit> {
    if let Some(file) = args.file() {
        return cases::run(known, file, args, flags);
    }
    let idle = "nothing is driven; leave out --no-run, or this";
    let alone = "there are no processes; add --through processes, or leave it out";
    let no_file = "no file of cases is run; name one, or leave it out";
    let is_alone = args.through != Through::Processes;
    let without_effect = [
        ("--through", args.no_run && args.through != Through::Core, idle),
        ("--program", is_alone && args.program.is_some(), alone),
        ("--seconds", is_alone && args.seconds.is_some(), alone),
        ("--junit", args.junit.is_some(), no_file),
        ("--markdown", args.markdown.is_some(), no_file),
    ];
    if let Some((flag, _, why)) = without_effect.into_iter().find(|&(_, is_given, _)| is_given) {
        return Err(UsageError::no_effect(flag, why).into());
    }
    let mapping = known.mappings.find(args.protocol.as_deref(), args.variant.as_deref())?;
    match args.through {
        Through::Core => args.cover(mapping),
        Through::Processes => {
            let runs = processes.context("this program runs no processes")?;
            processes::run(mapping, runs, args)
        }
    }
}

/// What was found: the executions, and what came of them if they were run.
struct Outcome<'a> {
    of: Description,
    scenario: Scenario,
    summary: &'a Summary,
    ran: Option<Ran>,
}

impl SuiteArgs {
    /// The file of cases, if one is named in the place of a protocol.
    fn file(&self) -> Option<&Path> {
        let file = self.protocol.as_deref().map(Path::new)?;
        file.extension().is_some_and(|ending| ending == "toml").then_some(file)
    }

    /// Finds the suite of a mapping, and drives the program through it.
    fn cover(&self, mapping: &dyn Comparison) -> anyhow::Result<Exit> {
        if self.limit.is_some() && self.out.is_none() {
            let why = "no execution is saved; add --out DIR, or leave it out";
            return Err(UsageError::no_effect("--limit", why).into());
        }
        let scenario = scenario(&self.world)?;
        out::prepare(self.out.as_deref())?;
        let (threads, limits) = (self.limits.threads(), self.limits.limits());
        let suite = self.find(mapping, scenario)?;
        let runs = !self.no_run && suite.summary().cut_short.is_none();
        let ran = if runs {
            let bar = self.progress.steps(suite.len(), self.json);
            let ran = mapping.run(&suite, threads, &limits, &|steps| {
                bar.step(&format!("{} steps", HumanCount(steps as u64)));
            });
            bar.finish();
            Some(ran?)
        } else {
            None
        };
        let summary = suite.summary();
        let outcome = Outcome { of: mapping.description(), scenario, summary, ran };
        let exit = Exit::with(outcome.verdict().1);
        let saved = self.out.as_deref().map_or(Ok(()), |out| self.save(&suite, &outcome, out));
        let told = match self.json {
            true => text::print_json(&outcome.json()),
            false => outcome.print(self, saved.is_ok()),
        };
        Ok(exit.note_saved(saved).note_printed(told))
    }

    /// Finds the suite of a mapping.
    fn find(&self, mapping: &dyn Comparison, scenario: Scenario) -> anyhow::Result<Suite> {
        let (threads, limits) = (self.limits.threads(), self.limits.limits());
        let bar = self.progress.bar(self.json);
        let found = mapping.suite(scenario, threads, &limits, &mut |progress| {
            bar.tell("", Event::Progress(progress));
        });
        bar.finish();
        found
    }

    /// Saves the executions, and the one that shows a difference.
    fn save(&self, suite: &Suite, outcome: &Outcome<'_>, out: &Path) -> anyhow::Result<()> {
        if let Some(divergence) = outcome.ran.as_ref().and_then(|ran| ran.divergence.as_ref()) {
            save(&divergence.trace, &out.join(DIVERGENCE))?;
        }
        let digits = suite.len().to_string().len();
        for at in 0..self.saved(suite.len()) {
            save(&suite.trace(at), &out.join(format!("{:0digits$}.ndjson", at + 1)))?;
        }
        Ok(())
    }

    /// How many of so many executions are saved.
    fn saved(&self, executions: usize) -> usize {
        self.limit.map_or(executions, |limit| limit.min(executions))
    }
}

/// The file of the execution that shows a difference.
const DIVERGENCE: &str = "divergence.ndjson";

impl Outcome<'_> {
    /// The verdict, and the status that goes with it.
    fn verdict(&self) -> (&'static str, u8) {
        match &self.ran {
            Some(Ran { divergence: Some(_), .. }) => ("diverges", DIVERGES),
            _ if self.summary.cut_short.is_some() => ("unknown", CUT_SHORT),
            Some(Ran { cut_short: Some(_), .. }) => ("unknown", CUT_SHORT),
            Some(_) => ("conforms", CONFORMS),
            None => ("not run", CONFORMS),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "protocol": self.of.protocol,
            "variant": self.of.variant,
            "world": self.scenario,
            "through": Through::Core,
            "verdict": self.verdict().0,
            "suite": self.summary,
            "ratio": self.summary.ratio(),
            "ran": self.ran,
            "divergence": self.ran.as_ref().and_then(|ran| ran.divergence.as_ref()),
        })
    }

    fn print(&self, args: &SuiteArgs, is_saved: bool) -> anyhow::Result<()> {
        let mut out = anstream::stdout();
        writeln!(out, "{}, {}: a suite for model and program", self.of.protocol, self.of.variant)?;
        writeln!(out, "{}\n", self.scenario)?;
        figures(&mut out, self.summary)?;
        if !self.summary.met.is_empty() {
            writeln!(out, "\n{}", table(&self.summary.met))?;
        }
        let saved = args.out.as_ref().filter(|_| is_saved);
        if let (Some(out_dir), executions @ 1..) = (saved, self.summary.executions) {
            let count = args.saved(usize::try_from(executions).unwrap_or(usize::MAX));
            let s = if count == 1 { "" } else { "s" };
            let count = HumanCount(count as u64);
            writeln!(out, "\nSaved: {count} execution{s} in {}", out_dir.display())?;
        }
        if let Some(reason) = self.summary.cut_short {
            writeln!(out, "\n{BOLD}Cut short: {reason}.{BOLD:#} No executions, no claim.")?;
        }
        match &self.ran {
            Some(ran) => self.print_ran(&mut out, ran, args, saved),
            None => Ok(()),
        }
    }

    fn print_ran(
        &self,
        out: &mut impl Write,
        ran: &Ran,
        args: &SuiteArgs,
        saved: Option<&PathBuf>,
    ) -> anyhow::Result<()> {
        let rate = HumanCount((ran.steps as f64 / ran.seconds.max(1e-9)) as u64);
        let steps = HumanCount(ran.steps);
        writeln!(out, "\nsteps compared: {steps} ({rate}/s, {:.2} s)", ran.seconds)?;
        let all = HumanCount(self.summary.executions);
        if let (Some(divergence), Some(at)) = (&ran.divergence, ran.diverged) {
            let at = HumanCount(at as u64);
            writeln!(out, "\n{ERROR}The program diverges in execution {at} of {all}.{ERROR:#}\n")?;
            write!(out, "{}", describe_divergence(divergence, args.verbose))?;
            if let Some(folder) = saved {
                writeln!(out, "Saved: {}", folder.join(DIVERGENCE).display())?;
            }
        } else if let Some(reason) = ran.cut_short {
            let taken = HumanCount(ran.executions);
            writeln!(
                out,
                "\n{BOLD}Cut short: {reason}.{BOLD:#} No difference in {taken} of {all} \
                 executions, no claim."
            )?;
        } else {
            writeln!(
                out,
                "\n{GOOD}The program conforms to each execution:{GOOD:#} together they take every \
                 transition."
            )?;
        }
        Ok(())
    }
}

fn figures(out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
    writeln!(out, "states:      {}", HumanCount(summary.states))?;
    writeln!(out, "transitions: {}", HumanCount(summary.transitions))?;
    if summary.outside > 0 {
        let outside = HumanCount(summary.outside);
        writeln!(out, "not taken (beyond the bounds): {outside}")?;
    }
    let Some(ratio) = summary.ratio() else { return Ok(()) };
    writeln!(
        out,
        "executions:  {} ({:.2} s), the longest of {} steps",
        HumanCount(summary.executions),
        summary.seconds,
        HumanCount(summary.longest)
    )?;
    writeln!(
        out,
        "steps:       {}; no executions do with fewer than {} ({ratio:.3} times as many)",
        HumanCount(summary.steps),
        HumanCount(summary.bound)
    )
}

/// The transitions by kind of action, with its message or timer, and by role.
fn table(met: &[Met]) -> Table {
    let mut roles: Vec<_> = met.iter().map(|met| met.role).collect();
    roles.sort_unstable_by_key(|role| (role.is_none(), *role));
    roles.dedup();
    let mut rows = Vec::<(String, BTreeMap<_, u64>)>::new();
    for Met { action, of, role, transitions, .. } in met {
        let name = of.as_ref().map_or((*action).to_owned(), |of| format!("{action} {of}"));
        if rows.last().is_none_or(|(last, _)| *last != name) {
            rows.push((name, BTreeMap::new()));
        }
        if let Some((_, row)) = rows.last_mut() {
            *row.entry(*role).or_default() += *transitions;
        }
    }
    let names = roles.iter().map(|role| role.unwrap_or("(no process)"));
    let mut table = Table::new(std::iter::once("transitions").chain(names)).at_the_right();
    for (name, row) in rows {
        let count = |role| row.get(role).map_or(Cell::new(""), |&count| HumanCount(count).into());
        table.row(std::iter::once(Cell::new(name)).chain(roles.iter().map(count)));
    }
    table
}
