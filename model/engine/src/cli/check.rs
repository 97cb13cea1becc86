//! `check`: decide a protocol's properties in a world, and show what violates them.

use super::table::{Cell, Table};
use super::{
    LimitArgs, ProgressArgs, ProtocolArgs, Tool, UsageError, WorldArgs, searchable_world, seconds,
    shown, status, text, walks, world,
};
use crate::check::{
    self, Decision, Disk, Engine, Hosts, Options, Reason, Reduction, Report, Unfinished, Verdict,
};
use crate::property::Kind;
use crate::trace::Trace;
use anstyle::{AnsiColor, Style};
use clap::{Args, Command, ValueEnum};
use indicatif::{HumanBytes, HumanCount};
use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The flags of `check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    world: WorldArgs,

    /// Check only this property; may be given again [default: all]
    #[arg(short, long = "property", value_name = "NAME")]
    properties: Vec<String>,

    /// The engine that searches
    #[arg(long, value_enum, default_value_t = EngineArg::Exact, help_heading = "Search")]
    engine: EngineArg,

    /// Leave out of every state what changes nothing any more. Counts are then of fewer states, and
    /// only what is asked of every protocol is decided, but for liveness
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Search")]
    reduce: Option<ReduceArg>,

    /// Stop at the first violation, which is a shortest one with the engines exact and bfs; what is
    /// not decided by then is unknown
    #[arg(long, help_heading = "Search")]
    first: bool,

    /// Search on in files in this folder when the memory is used up, and save the search there, now
    /// and then and if it ends early. Liveness is then decided in less memory, and takes longer.
    /// With the engine dataflow a search is only saved, each process in a folder of its own in this
    /// one
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    disk: Option<PathBuf>,

    /// How often the search is saved in the folder of --disk [default: 600, and 60 once the memory
    /// is used up]
    #[arg(long, value_name = "SECONDS", requires = "disk", help_heading = "Search",
          value_parser = seconds, allow_negative_numbers = true)]
    save_every: Option<Duration>,

    /// Go on with the search that was saved in the folder of --disk
    #[arg(long, requires = "disk", help_heading = "Search")]
    resume: bool,

    /// A file that says where each process of the engine dataflow listens: HOST:PORT, one a line.
    /// All are started with the same command, but for --process
    #[arg(long, value_name = "FILE", requires = "process", help_heading = "Search")]
    hosts: Option<PathBuf>,

    /// Which of the hosts this process is; the first is 0
    #[arg(long, value_name = "N", requires = "hosts", help_heading = "Search",
          value_parser = process, allow_negative_numbers = true)]
    process: Option<usize>,

    #[command(flatten)]
    limits: LimitArgs,

    /// The seed of the random walks of --engine simulation [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Search", value_parser = seed)]
    seed: Option<u64>,

    /// How many steps a random walk of --engine simulation takes at most [default: 1000]
    #[arg(long, value_name = "STEPS", help_heading = "Search", value_parser = depth,
          allow_negative_numbers = true)]
    depth: Option<usize>,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Save each counterexample as a trace (NDJSON), a picture (SVG) and a page (HTML) in this
    /// folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    ascii: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model check bully
  bellwether-model check bully --recoveries 1 --out out
  bellwether-model check bully --nodes 4 --max-seconds 60 --memory 4G
  bellwether-model check bully --recoveries 1 --first
  bellwether-model check bully --rule t_coord=false --crashes 2 --property decided
  bellwether-model check bully --variant baseline --network set --engine dfs --json";

/// The values of `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    /// Breadth-first over whole states: what holds is proved for the world
    Exact,
    /// The same as a dataflow, whose workers may be in several processes and on several machines
    Dataflow,
    /// Stateright's breadth-first search
    Bfs,
    /// Stateright's depth-first search
    Dfs,
    /// Random walks, each with budgets and weights of its own: they find violations and prove
    /// nothing
    Simulation,
}

/// The values of `--reduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReduceArg {
    /// Messages that no process heeds any more, whatever happens
    DeadMessages,
}

/// What `check` says of the limits that every search has: it alone has several engines.
pub(super) fn offered(command: Command) -> Command {
    command.mut_args(|arg| match arg.get_id().as_str() {
        "threads" => arg.help(
            "With how many threads, or workers of the engine dataflow; it and exact find the same \
             with any number [default: one for each processor; stateright's engines: 1]",
        ),
        "max_states" => arg.help(
            "Give up after this many states; with random walks, after this many steps [default: \
             walks take a million steps, or as many as --max-seconds allows]",
        ),
        _ => arg,
    })
}

pub(super) fn run(tool: Tool, args: &CheckArgs) -> anyhow::Result<u8> {
    shown::prepare(args.out.as_deref())?;
    let world = match args.engine {
        EngineArg::Simulation => world(tool.registry, &args.protocol, &args.world)?,
        _ => searchable_world(tool.registry, &args.protocol, &args.world)?,
    };
    if args.seed.is_some() && args.engine != EngineArg::Simulation {
        let why = "only --engine simulation walks at random; choose it, or leave the seed out";
        return Err(UsageError::no_effect("--seed", why).into());
    }
    if args.depth.is_some() && args.engine != EngineArg::Simulation {
        let why = "only --engine simulation walks; choose it, or leave the depth out";
        return Err(UsageError::no_effect("--depth", why).into());
    }
    if args.disk.is_some() && !matches!(args.engine, EngineArg::Exact | EngineArg::Dataflow) {
        let why = "only the engines exact and dataflow save a search; choose one of them, or leave \
                   the folder out";
        return Err(UsageError::no_effect("--disk", why).into());
    }
    if args.hosts.is_some() && args.engine != EngineArg::Dataflow {
        let why = "only --engine dataflow searches in several processes; choose it, or leave the \
                   file out";
        return Err(UsageError::no_effect("--hosts", why).into());
    }
    let properties = world.select(&args.named()).map_err(UsageError::Property)?;
    let asked: Vec<_> = properties.iter().map(|asked| (asked.name, asked.kind())).collect();
    args.world.are_asked_about(&asked)?;
    let bar = args.progress.bar(args.json);
    let look = &mut |event| bar.tell("", event);
    let found = check::decide(&*world, &properties, &args.options()?, look);
    bar.finish();
    let report = found?;
    let saved = args.save(tool, &report)?;
    if args.json {
        text::print_json(&report, args.ascii)?;
    } else {
        print(tool, &report, &args.protocol, &saved, args.ascii)?;
        args.print_how_it_goes_on(&report)?;
    }
    Ok(status(report.verdict()))
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give a whole number, at least 0".to_owned())
}

fn process(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give the number of a host, the first is 0".to_owned())
}

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=10_000_000).contains(depth));
    depth.ok_or_else(|| "give a whole number from 1 to 10000000".to_owned())
}

/// Where a property's counterexample was saved.
pub type Saved = Vec<(&'static str, PathBuf)>;

impl CheckArgs {
    /// The properties that were named, each one once.
    fn named(&self) -> Vec<String> {
        let mut named = self.properties.clone();
        let mut known = HashSet::new();
        named.retain(|name| known.insert(name.clone()));
        named
    }

    fn options(&self) -> anyhow::Result<Options> {
        let engine = match self.engine {
            EngineArg::Exact => Engine::Exact,
            EngineArg::Dataflow => Engine::Dataflow,
            EngineArg::Bfs => Engine::Bfs,
            EngineArg::Dfs => Engine::Dfs,
            EngineArg::Simulation => Engine::Simulation,
        };
        let hosts = self.hosts.as_ref().zip(self.process);
        let hosts = hosts.map(|(file, process)| Hosts::read(file, process)).transpose()?;
        Ok(Options {
            engine,
            // Stateright's searches find something else each time with more threads.
            threads: match self.limits.threads {
                None if matches!(engine, Engine::Bfs | Engine::Dfs) => 1,
                _ => self.limits.threads(),
            },
            limits: self.limits.limits(),
            first: self.first,
            seed: self.seed.unwrap_or(1),
            depth: self.depth.unwrap_or(check::DEPTH),
            reduction: match self.reduce {
                None => Reduction::None,
                Some(ReduceArg::DeadMessages) => Reduction::DeadMessages,
            },
            disk: self.disk.as_ref().map(|folder| Disk {
                resume: self.resume,
                every: self.save_every,
                ..Disk::begin(folder)
            }),
            hosts,
        })
    }

    /// Says how the search can go on, if it can.
    fn print_how_it_goes_on(&self, report: &Report) -> anyhow::Result<()> {
        let Report { cut_short, engine, reduction, .. } = *report;
        let is_early = cut_short.is_some_and(|reason| reason != Reason::FirstViolation);
        let told = match &self.disk {
            Some(folder) if is_early && report.trouble.is_none() => {
                format!("It is saved in {}; --resume goes on with it.", folder.display())
            }
            None if cut_short == Some(Reason::Memory)
                && (engine, reduction) == (Engine::Exact, Reduction::None) =>
            {
                "With --disk DIR it takes less memory, and goes on in files.".to_owned()
            }
            _ => return Ok(()),
        };
        writeln!(text::stdout(self.ascii), "{}", text::wrap(&told, text::width()))?;
        Ok(())
    }

    fn save(&self, tool: Tool, report: &Report) -> anyhow::Result<Saved> {
        let Some(dir) = &self.out else { return Ok(Saved::new()) };
        let mut files = Saved::new();
        for (decision, trace) in counterexamples(report) {
            let name =
                format!("{}-{}", report.world.rules().protocol().name(), decision.property.name);
            let file = shown::save(tool, &trace, Some(report), (dir, &name))?;
            files.push((decision.property.name, file));
        }
        Ok(files)
    }
}

/// Prints what was found, and shows what violates it.
pub fn print(
    tool: Tool,
    report: &Report,
    protocol: &ProtocolArgs,
    saved: &Saved,
    ascii: bool,
) -> anyhow::Result<()> {
    let mut out = text::stdout(ascii);
    let rules = report.world.rules();
    writeln!(out, "{}, {}", rules.protocol().name(), rules.variant_name())?;
    let width = text::width();
    writeln!(out, "{}", text::wrap(&report.world.scenario().to_string(), width))?;
    writeln!(out, "{}\n", text::wrap(&searched(report), width))?;
    writeln!(out, "{}", table(report).print(ascii))?;
    if let Some(simulation) = &report.simulation {
        walks::met(&mut out, simulation, ascii)?;
    }
    let mut told: Vec<(&'static str, Trace)> = Vec::new();
    for (decision, trace) in counterexamples(report) {
        let property = &decision.property;
        let formula = property.formula;
        let what = format!("{BOLD}{} is violated{BOLD:#}: {formula}", property.name);
        writeln!(out, "\n{what}")?;
        let same = told.iter().find(|(_, known)| known.steps == trace.steps);
        if let Some((known, _)) = same {
            writeln!(out, "The execution is that of {known}.")?;
        } else {
            shown::tell(&mut out, &trace, ascii)?;
        }
        if let Some((_, file)) = saved.iter().find(|(name, _)| *name == property.name) {
            shown::saved(&mut out, file)?;
        }
        let found = decision.counterexample.as_ref();
        if let Some(found) = found.filter(|_| report.world.is_searchable().is_ok()) {
            shown::browse(&mut out, tool, protocol, &*report.world, (property.name, found))?;
        }
        told.push((property.name, trace));
    }
    if let Some(reason) = report.cut_short {
        writeln!(out, "\n{}", text::wrap(&cut_short(report, reason), width))?;
    }
    if let Some(trouble) = &report.trouble {
        writeln!(out, "{}", text::wrap(trouble, width))?;
    }
    Ok(())
}

const BOLD: Style = Style::new().bold();

/// Why the search ended early, how far it was, and what follows.
fn cut_short(report: &Report, reason: Reason) -> String {
    let far = match report.unfinished {
        Some(Unfinished { levels, waiting }) => {
            let s = if levels == 1 { "" } else { "s" };
            let states = if waiting == 1 { "state" } else { "states" };
            let waiting = HumanCount(waiting);
            format!(" after {levels} level{s}, with {waiting} {states} waiting")
        }
        None if matches!(report.engine, Engine::Exact | Engine::Dataflow) => {
            " after all states were searched".to_owned()
        }
        None => String::new(),
    };
    format!("The search was cut short{far}: {reason}. What is unknown is not claimed.")
}

fn counterexamples(report: &Report) -> impl Iterator<Item = (&Decision, Trace)> {
    report.decisions.iter().filter_map(|decision| {
        let found = decision.counterexample.as_ref()?;
        Some((decision, found.trace(&*report.world, &decision.property)))
    })
}

fn searched(report: &Report) -> String {
    if let Some(simulation) = &report.simulation {
        return walks::searched(report, simulation);
    }
    let counts = report.counts;
    let how = match report.engine {
        Engine::Exact if report.reduction == Reduction::DeadMessages => {
            "exact (whole states, without dead messages)".to_owned()
        }
        Engine::Exact => "exact (whole states)".to_owned(),
        Engine::Dataflow => format!("dataflow (whole states), {}", workers(report)),
        engine if report.threads == 1 => format!("stateright's {engine}"),
        engine => format!("stateright's {engine}, {} threads", report.threads),
    };
    let memory = report.peak_rss_bytes.map(|bytes| format!(", {}", HumanBytes(bytes)));
    let resumed = report.resumed_after.map(|levels| {
        let s = if levels == 1 { "" } else { "s" };
        format!(", resumed after {levels} level{s}")
    });
    format!(
        "engine: {how}{}: {} states, {} generated, {} deep, in {:.2} s{}",
        resumed.unwrap_or_default(),
        HumanCount(counts.distinct),
        HumanCount(counts.generated),
        counts.depth,
        report.elapsed.as_secs_f64(),
        memory.unwrap_or_default()
    )
}

/// The workers of a dataflow, in words.
fn workers(report: &Report) -> String {
    let (workers, processes) = (report.threads, report.processes);
    let s = if workers == 1 { "" } else { "s" };
    match processes {
        1 => format!("{workers} worker{s}"),
        _ => format!("{processes} processes of {workers} worker{s}"),
    }
}

fn table(report: &Report) -> Table {
    let mut table = Table::new(["property", "verdict", "in words"]);
    for decision in &report.decisions {
        table.row([
            Cell::new(decision.property.name),
            verdict(report, decision),
            Cell::new(decision.property.meaning),
        ]);
    }
    table
}

fn verdict(report: &Report, decision: &Decision) -> Cell {
    let (colour, words) = match (decision.verdict, &decision.counterexample) {
        (Verdict::Holds, _) => (AnsiColor::Green, "holds".to_owned()),
        (Verdict::HoldsWithin, _) => (AnsiColor::Yellow, check::holds_within(&report.bounds_met)),
        (Verdict::Violated, None) => (AnsiColor::Red, "violated".to_owned()),
        (Verdict::Violated, Some(found)) => {
            let steps = found.steps.len();
            let s = if steps == 1 { "" } else { "s" };
            (AnsiColor::Red, format!("violated ({steps} step{s})"))
        }
        (Verdict::Unknown, _) if decision.reason == Some(Reason::FirstViolation) => {
            (AnsiColor::Yellow, "not decided".to_owned())
        }
        (Verdict::Unknown, _) if decision.property.kind() != Kind::Liveness => {
            let not_found = report.simulation.as_ref().map(walks::not_found);
            (AnsiColor::Yellow, not_found.unwrap_or_else(|| unknown(report, decision)))
        }
        (Verdict::Unknown, _) => (AnsiColor::Yellow, unknown(report, decision)),
    };
    Cell::new(words).in_colour(colour)
}

fn unknown(report: &Report, decision: &Decision) -> String {
    let why = decision.reason.map(|reason| reason.within(&report.bounds_met));
    format!("unknown: {}", why.unwrap_or_default())
}
