//! `bounds`: what executions of a world cost at most, and an execution that costs as much; or what
//! one calm election costs.

use super::table::{Cell, Table};
use super::{
    Exit, HOLDS, LimitArgs, ProgressArgs, ProtocolArgs, Tool, UNKNOWN, UsageError, WorldArgs, out,
    searchable_world, shown, text, world,
};
use anstyle::AnsiColor;
use anyhow::anyhow;
use bellwether_engine::check::Reason;
use bellwether_engine::check::bounds::{Bound, Bounds, Line, Until, bounds};
use bellwether_engine::round::{Group, Starters, costs};
use bellwether_engine::words::{instead_of, plain};
use bellwether_engine::world::{Budget, Faults, Scenario, Start};
use clap::{Args, Command};
use indicatif::{HumanBytes, HumanCount};
use std::io::Write;
use std::path::PathBuf;

/// The flags of `bounds`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BoundsArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    world: WorldArgs,

    /// When counting stops: at 'rest', when only faults can still happen; 'agreed', when every live
    /// process takes the highest live one for the leader; or when what a ◇□-property of this name
    /// comes to holds. It starts with the first fault (after a cold start, or where links are
    /// missing or processes down, at once), and every fault counts
    #[arg(long, default_value = "rest", value_name = "WHEN", help_heading = "Counting")]
    until: String,

    /// Count one calm election instead, in which everything that was sent is delivered before
    /// anything expires. WHO notices that the processes of '--down' are down: a process, or of
    /// those that are up 'lowest', 'highest' or 'all'. Or 'restarted': the lowest crashes and
    /// recovers; 'returned': the highest crashes, and recovers when another leads; 'none': all
    /// start, with '--start cold'
    #[arg(long, value_name = "WHO", value_parser = starters, help_heading = "Counting",
          conflicts_with_all = ["until", "show", "json", "out"])]
    calm: Option<Starters>,

    /// Print and draw the execution that attains this bound, such as messages or messages/election;
    /// may be given again
    #[arg(long, value_name = "METRIC", help_heading = "Output")]
    show: Vec<String>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Save an execution that attains each bound as a trace (NDJSON) and a picture (SVG) here
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model bounds bully
  bellwether-model bounds bully --variant coulouris --nodes 4 --show messages
  bellwether-model bounds bully --nodes 5 --down 5 --calm lowest
  bellwether-model bounds bully --recoveries 1 --until agreed --out out";

/// What `bounds` offers of the flags of worlds: not those that only properties depend on.
pub(super) fn offered(command: Command) -> Command {
    command.mut_args(|arg| match arg.get_id().as_str() {
        "fairness" | "within" => arg.hide(true),
        _ => arg,
    })
}

pub(super) fn run(tool: Tool, args: &BoundsArgs) -> anyhow::Result<Exit> {
    args.world.change_what_happens()?;
    if let Some(starters) = args.calm {
        return count(tool, args, starters);
    }
    out::prepare(args.out.as_deref())?;
    let world = searchable_world(tool.registry, &args.protocol, &args.world)?;
    let until = Until::named(&args.until, &world)?;
    let bar = args.progress.bar(args.json);
    let search = (args.limits.limits(), args.limits.threads());
    let found = bounds(&world, until, search, &mut |event| bar.tell("", event));
    bar.finish();
    let found = found?;
    let shown = args.shown(&found)?;
    let exit = Exit::with(if found.incomplete.is_some() { UNKNOWN } else { HOLDS });
    let saved = args.save(tool, &found);
    let told = match args.json {
        true => text::print_json(&found),
        false => args.print(&found, &shown, saved.is_ok()),
    };
    Ok(exit.note_saved(saved).note_printed(told))
}

/// The processes that start a calm election with one execution.
const WORDS: [Group; 6] =
    [Group::Lowest, Group::Highest, Group::All, Group::Restarted, Group::Returned, Group::None];

fn starters(text: &str) -> Result<Starters, String> {
    if let Ok(number) = text.parse() {
        return Ok(Starters::One(number));
    }
    let named = WORDS.into_iter().find(|group| plain(group) == text);
    named.map(Starters::Some).ok_or_else(|| {
        let known = WORDS.map(|group| plain(&group)).join(", ");
        format!("give the number of a process, or one of: {known}")
    })
}

/// Counts one calm election.
fn count(tool: Tool, args: &BoundsArgs, starters: Starters) -> anyhow::Result<Exit> {
    let world = world(tool.registry, &args.protocol, &args.world)?;
    let scenario = world.scenario();
    let struck = |&(name, budget): &(&str, Budget)| name != "crashes" && budget != Budget::NONE;
    if let Some((fault, _)) = scenario.faults.named().into_iter().find(struck) {
        let why = "no fault strikes in a calm election; leave it out";
        return Err(UsageError::no_effect(format!("--{fault}"), why).into());
    }
    let who = plain(&starters);
    let all_start = matches!(starters, Starters::Some(Group::None));
    if all_start != (scenario.start == Start::Cold) {
        let why = "--calm none and --start cold belong together: all start, and no process notices";
        return Err(anyhow!("--calm {who}: {why}; give both, or neither"));
    }
    let costs = costs(&world, starters).map_err(|wrong| anyhow!("--calm {who}: {wrong}"))?;
    let mut table = Table::new(["counted", "number", "what it is"]);
    for cost in costs {
        table.row([cost.metric, cost.count.to_string(), cost.meaning.to_owned()]);
    }
    let mut out = anstream::stdout();
    let machine = world.machine();
    writeln!(out, "{}, {}", machine.protocol().name(), machine.variant_name())?;
    let struck = Scenario { faults: Faults::NONE, ..scenario };
    writeln!(out, "{}", text::wrap(&struck.to_string(), text::width()))?;
    writeln!(out, "counted: one calm election, started by: {who}\n\n{table}")?;
    Ok(Exit::with(HOLDS))
}

/// Whether a limit was reached before everything was counted.
fn was_cut_short(found: &Bounds) -> bool {
    found.incomplete.is_some_and(|reason| reason != Reason::Bounds)
}

/// The lines whose executions are saved: no execution shows that something costs nothing.
fn saved(found: &Bounds) -> impl Iterator<Item = &Line> {
    found.lines.iter().filter(|line| !matches!(line.bound, Bound::Most(0, _)))
}

fn name(found: &Bounds) -> &'static str {
    found.world.machine().protocol().name()
}

impl BoundsArgs {
    /// The lines that `--show` names. After a limit was reached some are missing.
    fn shown<'b>(&self, found: &'b Bounds) -> anyhow::Result<Vec<&'b Line>> {
        if was_cut_short(found) {
            let named = |line: &&Line| self.show.contains(&line.name());
            return Ok(found.lines.iter().filter(named).collect());
        }
        let names: Vec<String> = found.lines.iter().map(Line::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let one = |name: &String| {
            found.lines.iter().find(|line| line.name() == *name).ok_or_else(|| {
                let known = instead_of(name, &names);
                anyhow!("--show {name}: nothing of that name is counted here; {known}")
            })
        };
        self.show.iter().map(one).collect()
    }

    fn save(&self, tool: Tool, found: &Bounds) -> anyhow::Result<()> {
        let Some(dir) = &self.out else { return Ok(()) };
        saved(found).try_for_each(|line| {
            let name = format!("{}-{}", name(found), line.name().replace('/', "-"));
            shown::save(tool, &line.trace(&found.world), None, dir, &name).map(drop)
        })
    }

    fn print(&self, found: &Bounds, shown: &[&Line], is_saved: bool) -> anyhow::Result<()> {
        let mut out = anstream::stdout();
        let width = text::width();
        writeln!(out, "{}, {}", name(found), found.world.machine().variant_name())?;
        writeln!(out, "{}", text::wrap(&found.world.scenario().to_string(), width))?;
        writeln!(out, "{}", text::wrap(&searched(found), width))?;
        let counted = format!("counted: {}", counted(found));
        writeln!(out, "{}\n", text::wrap(&counted, width))?;
        if !found.lines.is_empty() {
            writeln!(out, "{}", table(found))?;
        }
        for caveat in found.caveats() {
            writeln!(out, "{}", text::wrap(&caveat.to_string(), width))?;
        }
        for line in shown {
            let trace = line.trace(&found.world);
            shown::tell(&mut out, &trace)?;
        }
        if let Some(reason) = found.incomplete {
            let claim = match (found.lines.is_empty(), was_cut_short(found)) {
                (true, _) => "No bound is claimed.",
                (false, true) => "What is missing is not known.",
                (false, false) => "A bound may be larger in truth; what is unbounded is.",
            };
            let why = reason.within(&found.bounds_met);
            writeln!(out, "\n{}", text::wrap(&format!("Incomplete: {why}. {claim}"), width))?;
        }
        if let Some(dir) = self.out.as_ref().filter(|_| is_saved) {
            writeln!(out, "\nSaved: {} executions in {}", saved(found).count(), dir.display())?;
        }
        Ok(())
    }
}

fn searched(found: &Bounds) -> String {
    let memory = found.peak_rss_bytes.map(|bytes| format!(", {}", HumanBytes(bytes)));
    format!(
        "engine: exact (whole states): {} states, {} generated, in {:.2} s{}",
        HumanCount(found.counts.distinct),
        HumanCount(found.counts.generated),
        found.elapsed.as_secs_f64(),
        memory.unwrap_or_default()
    )
}

fn counted(found: &Bounds) -> String {
    let from = match found.world.scenario().begins_in_trouble() {
        false => "from the first fault on",
        true => "from the beginning on",
    };
    format!("{from}, {}", found.until)
}

fn table(found: &Bounds) -> Table {
    let mut table = Table::new(["counted", "at most", "first reached in", "what it is"]);
    for line in &found.lines {
        let (most, steps) = match &line.bound {
            Bound::Most(most, steps) => {
                let more = if found.bounds_met.is_empty() { "" } else { " or more" };
                (Cell::new(format!("{most}{more}")), format!("{} steps", steps.len()))
            }
            Bound::Unbounded(lasso) => {
                let steps = format!("{} + {} steps", lasso.stem.len(), lasso.cycle.len());
                (Cell::new("unbounded").in_colour(AnsiColor::Red), steps)
            }
        };
        let what = if line.kind.is_none() { line.meaning } else { "" };
        table.row([Cell::new(line.name()), most, Cell::new(steps), Cell::new(what)]);
    }
    table
}
