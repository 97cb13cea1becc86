//! `check`: decide a protocol's properties in a world, and show what violates them.

use super::table::{Cell, Table};
use super::{Exit, ProtocolArgs, QuestionArgs, Tool, UsageError, shown, text};
use anstyle::{AnsiColor, Style};
use bellwether_engine::check::{
    self, CheckError, Counterexample, Counterexamples, Decision, DistinctCounterexample, Engine,
    Options, Reason, Report, Simulation, Unfinished, Verdict,
};
use bellwether_engine::property::{Kind, Property};
use bellwether_engine::trace::Trace;
use bellwether_engine::world::World;
use clap::{Args, Command, ValueEnum};
use indicatif::{HumanBytes, HumanCount};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// The flags of `check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    question: QuestionArgs,

    /// The engine that searches
    #[arg(long, value_enum, default_value_t = EngineArg::Exact, help_heading = "Search",
          display_order = 0)]
    #[arg(hide_short_help = true)]
    engine: EngineArg,

    /// Show up to this many different counterexamples to each property, shortest first: they need
    /// other kinds of faults, or end with another kind of step. Cycles differ in their faults only
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = all,
          conflicts_with_all = ["first", "disk"], allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    all: Option<usize>,

    /// The seed of the random walks of --engine simulation [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Search", value_parser = seed)]
    #[arg(hide_short_help = true)]
    seed: Option<u64>,

    /// How many steps a random walk of --engine simulation takes at most [default: 1000]
    #[arg(long, value_name = "STEPS", help_heading = "Search", value_parser = depth,
          allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    depth: Option<usize>,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model check bully
  bellwether-model check bully --recoveries 1 --out out
  bellwether-model check bully --nodes 4 --max-seconds 60 --memory 4G
  bellwether-model check bully --recoveries 1 --first
  bellwether-model check bully --recoveries 1 --losses 1 --all 3
  bellwether-model check bully --recoveries 1 --never 'leads(2)&&leads(3)' --show 'leader(1)'
  bellwether-model check bully --rule t_coord=false --crashes 2 --property decided
  bellwether-model check bully --variant baseline --network set --engine dfs --json";

/// The values of `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    /// Breadth-first over whole states: what holds is proved for the world
    Exact,
    /// The same as a dataflow: that is a program of its own
    #[value(hide = true)]
    Dataflow,
    /// Stateright's breadth-first search
    Bfs,
    /// Stateright's depth-first search
    Dfs,
    /// Random walks, each with budgets and weights of its own: they find violations and prove
    /// nothing
    Simulation,
}

/// What `check` says of the flags that every search has, if it has several engines.
pub(super) fn offered(command: Command) -> Command {
    if !command.get_arguments().any(|arg| arg.get_id() == "engine") {
        return command;
    }
    command.mut_args(|arg| match arg.get_id().as_str() {
        "first" => arg.help(
            "Stop at the first violation, which is a shortest one with the engines exact and bfs; \
             what is not decided by then is unknown",
        ),
        "threads" => arg.help(
            "With how many threads; the engine exact finds the same with any number [default: one \
             for each processor; stateright's engines: 1]",
        ),
        "max_states" => arg.help(
            "Give up after this many states; with random walks, after this many steps [default: \
             walks take a million steps, or as many as --max-seconds allows]",
        ),
        _ => arg,
    })
}

pub(super) fn run(tool: Tool, args: &CheckArgs) -> anyhow::Result<Exit> {
    let (world, properties, options) = args.asked(tool)?;
    args.question.answer(tool, |on_event| check::check(&world, &properties, &options, on_event))
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give a whole number, at least 0".to_owned())
}

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=10_000_000).contains(depth));
    depth.ok_or_else(|| "give a whole number from 1 to 10000000".to_owned())
}

fn all(text: &str) -> Result<usize, String> {
    let all = text.parse().ok().filter(|all| (1..=1_000).contains(all));
    all.ok_or_else(|| "give a whole number from 1 to 1000".to_owned())
}

/// The places where counterexamples were saved, in the order in which they are told.
pub type Saved = Vec<PathBuf>;

impl CheckArgs {
    /// What is asked of which world, and how it is searched for the answer.
    ///
    /// # Errors
    /// If there is no such world or property, or if a flag has no effect.
    pub(super) fn asked(&self, tool: Tool) -> anyhow::Result<(Arc<World>, Vec<Property>, Options)> {
        if self.engine == EngineArg::Dataflow {
            return Err(CheckError::NoDataflow.into());
        }
        let world = match self.engine {
            EngineArg::Simulation => self.question.world_of_walks(tool)?,
            _ => self.question.world(tool)?,
        };
        if self.seed.is_some() && self.engine != EngineArg::Simulation {
            let why = "only --engine simulation walks at random; choose it, or leave the seed out";
            return Err(UsageError::no_effect("--seed", why).into());
        }
        if self.depth.is_some() && self.engine != EngineArg::Simulation {
            let why = "only --engine simulation walks; choose it, or leave the depth out";
            return Err(UsageError::no_effect("--depth", why).into());
        }
        if self.all.is_some() && self.engine != EngineArg::Exact {
            let why = "only the engine exact looks for several; choose it, or leave the number out";
            return Err(UsageError::no_effect("--all", why).into());
        }
        if self.question.disk().is_some() && self.engine != EngineArg::Exact {
            let why = "only the engine exact saves a search; choose it, or leave the folder out";
            return Err(UsageError::no_effect("--disk", why).into());
        }
        let properties = self.question.properties(&world)?;
        Ok((world, properties, self.options()))
    }

    fn options(&self) -> Options {
        let engine = match self.engine {
            EngineArg::Exact => Engine::Exact,
            EngineArg::Dataflow => Engine::Dataflow,
            EngineArg::Bfs => Engine::Bfs,
            EngineArg::Dfs => Engine::Dfs,
            EngineArg::Simulation => Engine::Simulation,
        };
        let usual = self.question.options();
        Options {
            engine,
            // Stateright's searches find something else each time with more threads.
            threads: match self.question.threads() {
                None if matches!(engine, Engine::Bfs | Engine::Dfs) => 1,
                _ => usual.threads,
            },
            seed: self.seed.unwrap_or(1),
            depth: self.depth.unwrap_or(check::DEPTH),
            all: self.all,
            ..usual
        }
    }
}

/// Prints what was found, and shows what violates it.
///
/// The shortest execution is told in full, and so are those to the `wanted` properties; each other
/// one has a line. If several to one property were asked for, all are told.
pub fn print(
    tool: Tool,
    report: &Report,
    wanted: &[&str],
    protocol: &ProtocolArgs,
    saved: &Saved,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    let rules = report.world.machine();
    writeln!(out, "{}, {}", rules.protocol().name(), rules.variant_name())?;
    let width = text::width();
    writeln!(out, "{}", text::wrap(&report.world.scenario().to_string(), width))?;
    writeln!(out, "{}", text::wrap(&searched(report), width))?;
    let named = report.ask_for_names();
    if !named.is_empty() {
        let why = format!("no states are one for a symmetry: {} asks for names", named.join(", "));
        writeln!(out, "{}", text::wrap(&why, width))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", table(report))?;
    for caveat in report.caveats() {
        writeln!(out, "{}", text::wrap(&caveat.to_string(), width))?;
    }
    if let Some(simulation) = &report.simulation {
        met(&mut out, simulation)?;
    }
    let all: Vec<Execution<'_>> = executions(report).collect();
    let shortest = (0..all.len()).min_by_key(|&at| all[at].trace.steps.len());
    let (told, others): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(at, execution)| {
        let is_wanted = wanted.contains(&execution.property().name);
        shortest == Some(*at) || execution.number.is_some() || is_wanted
    });
    for (at, execution) in told {
        let name = execution.property().name;
        writeln!(out, "\n{BOLD}{name} is violated{BOLD:#}")?;
        if let Some(difference) = execution.difference(report) {
            writeln!(out, "{}", text::wrap(&difference, width))?;
        }
        shown::tell(&mut out, &execution.trace)?;
        let actions = execution.found.actions();
        if let Some(values) = shown::values(&report.world, &actions, &report.shown) {
            writeln!(out, "{values}")?;
        }
        if let Some(file) = saved.get(at) {
            shown::saved(&mut out, file)?;
        }
        if report.world.is_searchable().is_ok() {
            shown::browse(&mut out, tool, protocol, &report.world, name, execution.found)?;
        }
    }
    let lines = others.iter().map(|(at, execution)| execution.line(saved.get(*at)));
    let lines: String = lines.map(|line| format!("\n{line}")).collect();
    if !lines.is_empty() {
        writeln!(out, "{}", text::wrap(&lines, width))?;
    }
    if let Some(reason) = report.cut_short {
        writeln!(out, "\n{}", text::wrap(&cut_short(report, reason), width))?;
    }
    for growth in &report.growth {
        writeln!(out, "{}", text::wrap(&format!("It may have no end: {growth}."), width))?;
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

/// An execution that violates a property.
pub(super) struct Execution<'r> {
    decision: &'r Decision,
    found: &'r Counterexample,
    /// Its number among those to the same property, from 1, if several were asked for.
    pub(super) number: Option<usize>,
    pub(super) trace: Trace,
}

/// The executions that violate properties.
pub(super) fn executions(report: &Report) -> impl Iterator<Item = Execution<'_>> {
    report.decisions.iter().flat_map(move |decision| {
        let listed = decision.several.iter().flat_map(|several| &several.listed);
        let mut found: Vec<_> =
            listed.enumerate().map(|(at, one)| (Some(at + 1), &one.found)).collect();
        if found.is_empty() {
            found.extend(decision.counterexample.as_ref().map(|found| (None, found)));
        }
        found.into_iter().map(move |(number, found)| {
            let trace = found.trace(&report.world, &decision.property);
            Execution { decision, found, number, trace }
        })
    })
}

impl<'r> Execution<'r> {
    pub(super) fn property(&self) -> &'r Property {
        &self.decision.property
    }

    /// The property and its formula in a line, with the way to the execution.
    fn line(&self, saved: Option<&PathBuf>) -> String {
        let Property { name, formula, .. } = self.property();
        let way = match saved {
            Some(file) => format!("saved as {}", file.display()),
            None => format!("--show {} tells how", shown::quoted(name)),
        };
        format!("{BOLD}{name} is violated{BOLD:#}: {formula} ({way})")
    }

    /// What is different in this one, if there are several.
    fn difference(&self, report: &Report) -> Option<String> {
        let Counterexamples { listed, known, incomplete } = self.decision.several.as_ref()?;
        let why = incomplete.map(|reason| reason.within(&report.bounds_met));
        let Some(number) = self.number else {
            return why.map(|why| format!("Whether there are others is not known: {why}."));
        };
        let of = match why {
            Some(why) => format!("{known} that are known ({why})"),
            None => known.to_string(),
        };
        let DistinctCounterexample { faults, ends, .. } = &listed[number - 1];
        let ends = ends.as_ref().map(|ends| format!("; last, {ends}")).unwrap_or_default();
        Some(format!("Counterexample {number} of {of}. Faults: {faults}{ends}."))
    }
}

fn searched(report: &Report) -> String {
    if let Some(simulation) = &report.simulation {
        return walked(report, simulation);
    }
    let counts = report.counts;
    let how = match report.engine {
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
            let steps = found.length();
            let s = if steps == 1 { "" } else { "s" };
            (AnsiColor::Red, format!("violated ({steps} step{s})"))
        }
        (Verdict::Unknown, _) if decision.reason == Some(Reason::FirstViolation) => {
            (AnsiColor::Yellow, "not decided".to_owned())
        }
        (Verdict::Unknown, _) if decision.property.kind() != Kind::Liveness => {
            let not_found = report.simulation.as_ref().map(not_found);
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

/// How far random walks went.
fn walked(report: &Report, simulation: &Simulation) -> String {
    let Simulation { walks, steps, longest, about_states, .. } = *simulation;
    let seconds = report.elapsed.as_secs_f64();
    let s = |count| if count == 1 { "" } else { "s" };
    let threads = format!("{} thread{}", report.threads, s(report.threads as u64));
    let memory = report.peak_rss_bytes.map(|bytes| format!(", {}", HumanBytes(bytes)));
    format!(
        "engine: random walks, {threads}: {} walk{}, {} step{}, at most {longest} in a walk, about \
         {} states, in {seconds:.2} s ({:.0} steps a second){}",
        HumanCount(walks),
        s(walks),
        HumanCount(steps),
        s(steps),
        HumanCount(about_states),
        steps as f64 / seconds.max(1e-9),
        memory.unwrap_or_default()
    )
}

/// What is said of a property that no walk decides.
fn not_found(simulation: &Simulation) -> String {
    let Simulation { walks, steps, .. } = *simulation;
    let s = if walks == 1 { "" } else { "s" };
    format!("not found in {} walk{s}, {} steps", HumanCount(walks), HumanCount(steps))
}

/// How often each kind of action happened to a process in each role, and the rules that no step
/// depended on.
fn met(out: &mut impl Write, simulation: &Simulation) -> io::Result<()> {
    let taken = &simulation.actions;
    let kinds = taken.kinds();
    let header = std::iter::once("steps of a process").chain(kinds.iter().map(|k| k.name()));
    let mut table = Table::new(header).at_the_right();
    for role in taken.roles() {
        let count = |&kind| match taken.of(kind, role) {
            0 => Cell::new(""),
            count => Cell::new(HumanCount(count)),
        };
        let name = Cell::new(role.unwrap_or("(no process)"));
        table.row(std::iter::once(name).chain(kinds.iter().map(count)));
    }
    writeln!(out, "\n{table}")?;
    let unmet = simulation.rules_not_met();
    let (rules, looked) = (simulation.rules.len(), HumanCount(simulation.looked));
    let decided = rules - unmet.len();
    let unmet = match &unmet[..] {
        [] => String::new(),
        unmet => format!("; none on {}", unmet.join(", ")),
    };
    let s = if simulation.looked == 1 { "" } else { "s" };
    let line = format!(
        "Rules: in {looked} walk{s} that looked, some step depended on {decided} of {rules}{unmet}."
    );
    writeln!(out, "{}", text::wrap(&line, text::width()))
}
