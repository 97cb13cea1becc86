//! `tune`: the shortest time-outs that keep a property, for given message delays.

use super::table::Table;
use super::timed_args::{any_delay, any_range, tick};
use super::{
    DelayArg, Exit, LimitArgs, ProgressArgs, ProtocolArgs, TickRange, TimingArg, Tool, WorldArgs,
    out, shown, status, text,
};
use crate::tune::{self, Fit, Question, Row, TooShort, TunedDuration};
use anyhow::anyhow;
use bellwether_engine::check::{Counterexample, Event, Options, Verdict, holds_within};
use bellwether_engine::machine::DynProtocol;
use bellwether_engine::property::{PERIODS_ACCURATE, TIMEOUTS_ACCURATE};
use bellwether_engine::trace::{Step, Trace};
use bellwether_engine::words::instead_of;
use bellwether_engine::world::{Delay, Durations, MAX_TICKS, Recovers, Timed, Timing};
use clap::{Args, Command};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// The flags of `tune`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TuneArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    world: WorldArgs,

    /// The property that the durations must keep
    #[arg(short, long, value_name = "NAME", default_value = TIMEOUTS_ACCURATE)]
    property: String,

    /// Look for the smallest duration of this name; may be given again, and then each is looked for
    /// with those before it as found [default: every time-out that no flag sets]
    #[arg(long, value_name = "DURATION")]
    find: Vec<String>,

    /// The longest duration that is tried; if there are several durations, the first is looked for
    /// with the others as long as this [default: 32, or more for detectors that are not given]
    #[arg(long, value_name = "TICKS", help_heading = "Search", value_parser = up_to,
          allow_negative_numbers = true)]
    up_to: Option<u8>,

    /// How long a tick is: for a delay in milliseconds, and in the section for the daemon
    #[arg(long, value_name = "TIME", default_value = "1ms", help_heading = "Timing",
          value_parser = tick, allow_negative_numbers = true)]
    tick: u32,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Draw what goes wrong one tick below for every delay, not only for the first
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    show: bool,

    /// Save each counterexample as a trace (NDJSON) and a picture (SVG) in this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model tune bully --delay 1..3
  bellwether-model tune bully --delay 5ms..15ms --tick 5ms
  bellwether-model tune bully --variant baseline --delay 1..3 --processing 0..2 --find t-elec
  bellwether-model tune bully --variant baseline --delay 2 --t-elec 5 --out out

What is repeated, such as a heartbeat, takes what the specification says is enough, for the longest
delay, if it is not given; whatever notices that it is missing, twice that and a delay. Anything
else that is neither looked for nor given may take as long as the longest that is tried.";

/// What `tune` offers of the flags of worlds: ranges, and only worlds with a clock.
pub(super) fn offered(command: Command) -> Command {
    command.mut_args(|arg| {
        match arg.get_id().as_str() {
        "delay" => arg.help(
            "Tm: how many ticks a message may be on its way, or a range such as 1..3; or \
             milliseconds, such as 5ms..15ms, with --tick [default: 1..3]",
        )
        .value_parser(any_delay)
        .hide_short_help(false),
        "processing" => arg.help(
            "Tp: how many ticks may pass before what is sent in answer to a message leaves, or a \
             range such as 0..2 [default: 0]",
        )
        .value_parser(any_range)
        .hide_short_help(false),
        "timing" => arg.hide(true),
        _ => arg,
    }
    })
}

/// Why there is nothing to find for a protocol whose timers take no time.
pub(super) fn nothing_timed(called: &str, protocol: &str) -> String {
    format!(
        "protocol {protocol} does not say how long its timers take, so there is nothing to tune; \
         '{called} check {protocol} --timing asynchronous' shows what holds whatever they take"
    )
}

/// Why there is nothing to find where no timer that waits for others takes a fixed time.
fn nothing_to_find(called: &str, rules: &dyn DynProtocol) -> String {
    let protocol = rules.protocol();
    let name = protocol.name();
    if protocol.durations().is_empty() {
        return nothing_timed(called, name);
    }
    let check = checked(called, rules, &[], &[]);
    format!(
        "by these rules {name} has no time-out that could be too short, only failure detectors and \
         what repeats, so there is nothing to find; \
         '{check}' shows what follows from their durations"
    )
}

/// The command that asks what durations do, with those that are given, and with what sets time-outs
/// apart.
fn checked(
    called: &str,
    rules: &dyn DynProtocol,
    given: &[(&'static str, u8)],
    apart: &[&str],
) -> String {
    let waits = rules.waits();
    let is_taken =
        |name: &str| waits.iter().any(|wait| wait.duration() == name) || apart.contains(&name);
    let mut command =
        format!("{called} check {} --timing timed --delay TICKS", rules.protocol().name());
    for one in rules.protocol().durations() {
        let ticks = given.iter().find(|(name, _)| *name == one.name);
        if is_taken(one.name) {
            let ticks = ticks.map_or("TICKS".to_owned(), |(_, ticks)| ticks.to_string());
            command += &format!(" --{} {ticks}", one.name);
        }
    }
    command
}

/// What is tried by default.
const DELAYS: TickRange = TickRange { from: 1, to: 3 };
const NO_PROCESSING: TickRange = TickRange { from: 0, to: 0 };

/// The longest duration that is tried by default.
const UP_TO: u8 = 32;

pub(super) fn run(tool: Tool, args: &TuneArgs) -> anyhow::Result<Exit> {
    out::prepare(args.out.as_deref())?;
    let (delays, processing) = args.ranges()?;
    let question = args.question(tool, delays, processing)?;
    let bar = args.progress.bar(args.json);
    let mut rows = Vec::new();
    for delay in delays.iter() {
        for processing in processing.iter() {
            let row = question.row(delay, processing, &mut |name, ticks, progress| {
                let doing = format!("Tm {delay}, Tp {processing}, {name} {ticks}: ");
                bar.tell(&doing, Event::Progress(progress));
            });
            rows.push(row.inspect_err(|_| bar.finish())?);
        }
    }
    bar.finish();
    let answer = Answer { tool, args, question, rows };
    let exit = Exit::with(answer.status());
    let (files, saved) = answer.save();
    let told = match args.json {
        true => text::print_json(&answer.json()),
        false => answer.print(&files),
    };
    Ok(exit.note_saved(saved).note_printed(told))
}

/// How long durations may have to be that begin with one as long as this, and with some messages.
fn longest_tried(longest: u8, delay: u8, processing: u8) -> u8 {
    let messages = delay.saturating_mul(6).saturating_add(processing.saturating_mul(4));
    longest.saturating_add(messages).saturating_add(4).clamp(UP_TO, MAX_TICKS)
}

fn up_to(text: &str) -> Result<u8, String> {
    let ticks = text.parse().ok().filter(|ticks| (1..=MAX_TICKS).contains(ticks));
    ticks.ok_or_else(|| format!("give a whole number of ticks from 1 to {MAX_TICKS}"))
}

impl TuneArgs {
    fn ranges(&self) -> anyhow::Result<(TickRange, TickRange)> {
        if self.world.timing == TimingArg::Asynchronous {
            return Err(anyhow!(
                "with asynchronous timing no time-out is long enough, and no ticks are counted; \
                 leave --timing out"
            ));
        }
        let delays = match self.world.timed.delay.unwrap_or(DelayArg::Ticks(DELAYS)) {
            DelayArg::Ticks(delays) => delays,
            DelayArg::Millis { from, to } => {
                TickRange { from: self.ticks(from)?, to: self.ticks(to)? }
            }
            DelayArg::Unbounded => {
                return Err(anyhow!(
                    "no time-out is longer than an unbounded delay; give --delay TICKS, or a \
                     range such as 1..3"
                ));
            }
        };
        Ok((delays, self.world.timed.processing.unwrap_or(NO_PROCESSING)))
    }

    /// As many ticks as a message may take that takes so many milliseconds at most.
    fn ticks(&self, millis: u32) -> anyhow::Result<u8> {
        let ticks = u8::try_from(millis.div_ceil(self.tick)).ok();
        ticks.filter(|&ticks| ticks <= MAX_TICKS).ok_or_else(|| {
            let tick = self.tick;
            anyhow!(
                "--delay {millis}ms is more than {MAX_TICKS} ticks of {tick}ms; give a longer \
                 --tick"
            )
        })
    }

    fn question(
        &self,
        tool: Tool,
        delays: TickRange,
        processing: TickRange,
    ) -> anyhow::Result<Question> {
        let rules = self.protocol.rules(tool.registry)?;
        self.world.have_effect(tool.registry.find(&self.protocol.protocol)?)?;
        let set = self.world.timed.durations.durations()?;
        let sought = self.sought(&tool.called(), &*rules)?;
        let (usual, timed) = rules.protocol().properties();
        let asked = usual.iter().chain(&timed).find(|asked| asked.name == self.property);
        // What there is not is told when it is asked for.
        if let Some(asked) = asked {
            self.world.are_asked_about(&[(asked.name, asked.kind())])?;
        }
        let usual = tune::usual(&*rules, set, &sought, delays.to)?;
        let most = self.up_to.unwrap_or_else(|| {
            let filled = usual.iter().filter(|(name, _)| set.get(name).is_none());
            let longest = filled.map(|(_, ticks)| ticks).max();
            longest.map_or(UP_TO, |longest| longest_tried(longest, delays.to, processing.to))
        });
        let timed = Timed {
            delay: Delay::AtMost(delays.from),
            slow: self.world.timed.slow(),
            processing: 0,
            drift: self.world.timed.drift.unwrap_or_default(),
            durations: tune::complete(&*rules, usual, &sought, most)?,
            within: self.world.timed.within,
        };
        Ok(Question {
            rules,
            scenario: self.world.scenario_with(Timing::Timed(timed)),
            given: timed,
            sought,
            property: self.property.clone(),
            most,
            options: Options {
                threads: self.limits.threads(),
                limits: self.limits.limits(),
                ..Options::default()
            },
        })
    }

    /// The durations to look for: those that are named, or all that no flag sets.
    fn sought(&self, called: &str, rules: &dyn DynProtocol) -> anyhow::Result<Vec<&'static str>> {
        let time_outs = &*tune::time_outs(rules);
        if time_outs.is_empty() {
            return Err(anyhow!(nothing_to_find(called, rules)));
        }
        let apart = &*tune::staggers(rules, self.world.nodes);
        let all = [time_outs, apart].concat();
        let given = &self.world.timed.durations.usual;
        let set = |name: &str| given.iter().any(|&(known, _)| known == name);
        let mut sought = Vec::new();
        for name in &self.find {
            let known = all.iter().copied().find(|known| known == name).ok_or_else(|| {
                let known = instead_of(name, &all);
                anyhow!("--find {name}: no time-out takes it by these rules; {known}")
            })?;
            if set(known) {
                return Err(anyhow!("--find {name}: it is set already; leave --{name} out"));
            }
            if !sought.contains(&known) {
                sought.push(known);
            }
        }
        if self.find.is_empty() {
            sought.extend(time_outs.iter().copied().filter(|name| !set(name)));
        }
        if sought.is_empty() {
            return Err(anyhow!(
                "every time-out is set, so there is nothing to find; leave out the one to look \
                 for: --{}; or ask with '{}' whether these are long enough",
                time_outs.join(", --"),
                checked(called, rules, given, apart)
            ));
        }
        Ok(sought)
    }
}

/// What was found, and how it was asked for.
struct Answer<'a> {
    tool: Tool,
    args: &'a TuneArgs,
    question: Question,
    rows: Vec<Row>,
}

/// Something to show: what is too short, where, and where it was saved.
struct Saved {
    row: usize,
    name: &'static str,
    file: PathBuf,
}

impl Answer<'_> {
    fn name(&self) -> &'static str {
        self.question.rules.protocol().name()
    }

    fn status(&self) -> u8 {
        status(Verdict::all(self.rows.iter().map(Row::verdict)))
    }

    /// What is too short, each with the number of its row.
    fn counterexamples(
        &self,
    ) -> impl Iterator<Item = (usize, &TunedDuration, &TooShort, &Counterexample)> {
        self.rows.iter().enumerate().flat_map(|(at, row)| {
            row.found.iter().filter_map(move |found| {
                let below = found.below.as_ref()?;
                Some((at, found, below, below.counterexample.as_ref()?))
            })
        })
    }

    /// Saves the counterexamples; where one could not be saved, with the error.
    fn save(&self) -> (Vec<Saved>, anyhow::Result<()>) {
        let mut files = Vec::new();
        let Some(dir) = &self.args.out else { return (files, Ok(())) };
        for (row, found, below, counterexample) in self.counterexamples() {
            let Row { delay, processing, .. } = self.rows[row];
            let (name, ticks) = (found.name, below.ticks);
            let file = format!("{}-{name}-{ticks}-tm-{delay}-tp-{processing}", self.name());
            match shown::save(self.tool, &trace(below, counterexample), None, dir, &file) {
                Ok(file) => files.push(Saved { row, name, file }),
                Err(error) => return (files, Err(error)),
            }
        }
        (files, Ok(()))
    }

    /// The form of each duration that was looked for.
    fn forms(&self) -> impl Iterator<Item = (&'static str, Fit)> {
        self.question.sought.iter().map(|&name| {
            let numbers: Option<Vec<(u8, u8, u8)>> = self
                .rows
                .iter()
                .map(|row| Some((row.delay, row.processing, row.ticks(name)?)))
                .collect();
            (name, numbers.map_or(Fit::None, |numbers| Fit::of(&numbers)))
        })
    }

    fn json(&self) -> serde_json::Value {
        let Question { rules, scenario, given, property, most, .. } = &self.question;
        let rows: Vec<_> = self.rows.iter().map(row_view).collect();
        let forms: serde_json::Map<_, _> =
            self.forms().map(|(name, fit)| (name.to_owned(), json!(fit))).collect();
        let mut answer = json!({
            "protocol": self.name(), "variant": rules.variant_name(), "rules": rules.json(),
            "nodes": scenario.nodes, "faults": scenario.faults, "heals": scenario.heals,
            "network": scenario.network, "start": scenario.start, "capacity": scenario.capacity,
            "property": property, "given": given.durations, "within": given.within,
            "up_to": most, "rows": rows, "forms": forms,
        });
        if !given.drift.is_none() {
            answer["drift"] = json!(given.drift);
        }
        if scenario.recovers != Recovers::May {
            answer["recovers"] = json!(scenario.recovers);
        }
        if !scenario.down.is_empty() {
            answer["down"] = json!(scenario.down);
        }
        if scenario.jump > 0 {
            answer["jump"] = json!(scenario.jump);
        }
        answer
    }

    fn print(&self, saved: &[Saved]) -> anyhow::Result<()> {
        let mut out = anstream::stdout();
        let width = text::width();
        let question = &self.question;
        writeln!(out, "{}, {}", self.name(), question.rules.variant_name())?;
        writeln!(out, "{}", text::wrap(&self.assumptions(), width))?;
        let table = self.table();
        writeln!(out, "{}\n\n{table}", text::wrap(&self.asked(), width))?;
        for row in self.rows.iter().filter(|row| !row.bounds_met().is_empty()) {
            let Row { delay, processing, .. } = row;
            let within = holds_within(row.bounds_met());
            let line =
                format!("With Tm {delay} and Tp {processing}, {} {within}.", self.args.property);
            writeln!(out, "{}", text::wrap(&line, width))?;
        }
        for (name, fit) in self.forms() {
            let says = match fit {
                Fit::Form(form) => format!("{name} = {form}, in every row."),
                Fit::None => format!("{name}: no a·Tm + b·Tp + c gives all rows."),
                Fit::TooFew => continue,
            };
            writeln!(out, "{says}")?;
        }
        if let Some(remark) = self.too_soon() {
            writeln!(out, "{}", text::wrap(&remark, width))?;
        }
        for (at, found, below, counterexample) in self.counterexamples() {
            if at > 0 && !self.args.show {
                continue;
            }
            writeln!(out, "\n{}", text::wrap(&self.too_short(at, found, below), width))?;
            shown::tell(&mut out, &trace(below, counterexample))?;
            let file = saved.iter().find(|saved| (saved.row, saved.name) == (at, found.name));
            if let Some(Saved { file, .. }) = file {
                shown::saved(&mut out, file)?;
            }
            let (protocol, property) = (&self.args.protocol, below.property.name);
            shown::browse(&mut out, self.tool, protocol, &below.world, property, counterexample)?;
        }
        if let Some(section) = self.section() {
            writeln!(out, "\n{section}")?;
        }
        self.blames().try_for_each(|blame| writeln!(out, "\n{}", text::wrap(&blame, width)))?;
        Ok(())
    }

    /// The section of the file of a program that runs the protocol, such as the daemon: it sets
    /// what was found for the longest delay. Nothing if no program has one, if the rules are not
    /// the recommended ones, or if something was not found.
    fn section(&self) -> Option<String> {
        let (question, tick, row) = (&self.question, self.args.tick, self.rows.last()?);
        let protocol = question.rules.protocol();
        let mut sections = self.tool.sections.iter();
        let section = sections.find(|section| section.protocol == protocol.name())?;
        let first = protocol.variants().first().map(|first| first.name.to_owned());
        let found = matches!(row.verdict(), Verdict::Holds | Verdict::HoldsWithin);
        if first != Some(question.rules.variant_name()) || !found {
            return None;
        }
        let millis = |ticks: u8| u32::from(ticks) * tick;
        let (delay, processing) = (millis(row.delay), millis(row.processing));
        let mut text = format!(
            "# The shortest for Tm {delay}ms and Tp {processing}ms, with ticks of {tick}ms \
             (--tick).\n# 'bellwether check-config FILE' says whether they fit together.\n[{}]\n",
            section.protocol
        );
        for &(key, duration) in section.keys {
            let ticks = row.ticks(duration).or_else(|| question.given.durations.get(duration));
            if let Some(ticks) = ticks {
                text += &format!("{key} = \"{}ms\"\n", millis(ticks));
            }
        }
        Some(text.trim_end().to_owned())
    }

    /// What goes wrong with each duration of which an execution is shown, in a sentence.
    fn blames(&self) -> impl Iterator<Item = String> {
        let shown = self.counterexamples().filter(|(at, ..)| *at == 0 || self.args.show);
        shown.filter_map(|(at, found, below, _)| {
            let Row { delay, processing, .. } = self.rows[at];
            let (name, ticks, blame) = (found.name, below.ticks, below.blame()?);
            Some(format!("With {name} {ticks}, Tm {delay} and Tp {processing}, {blame}."))
        })
    }

    /// Where perfect timing says nothing of these durations, because something is repeated sooner
    /// than it assumes.
    fn too_soon(&self) -> Option<String> {
        let rows = self.rows.iter().filter(|row| row.periods == Some(Verdict::Violated));
        let rows: Vec<_> =
            rows.map(|row| format!("Tm {}, Tp {}", row.delay, row.processing)).collect();
        let property = PERIODS_ACCURATE;
        (!rows.is_empty()).then(|| {
            let rows = rows.join("; ");
            format!(
                "{property} is violated with {rows}: something is repeated sooner than perfect \
                 timing assumes, so what holds with perfect timing need not hold there."
            )
        })
    }

    /// The surrounding, and the durations that are not looked for.
    fn assumptions(&self) -> String {
        let Question { scenario, given, .. } = &self.question;
        let surrounding = scenario.to_string();
        let surrounding = surrounding.split("; timing:").next().unwrap_or_default();
        let drift = Some(given.drift).filter(|drift| !drift.is_none());
        let mut set: Vec<_> = drift.iter().map(|drift| format!("drift {drift}")).collect();
        set.extend(given.durations.words());
        set.extend(given.within.map(|within| format!("within {within}")));
        let set = if set.is_empty() { String::new() } else { format!(" ({})", set.join(", ")) };
        format!("{surrounding}; timing: timed{set}")
    }

    /// The question as a sentence.
    fn asked(&self) -> String {
        let Question { rules, sought, property, most, .. } = &self.question;
        let (usual, timed) = rules.protocol().properties();
        let known = usual.iter().chain(&timed).find(|p| p.name == property);
        let formula = known.map_or("", |p| p.formula);
        let sought = sought.join(" and ");
        format!("the smallest {sought} up to {most} that keep {property}: {formula}")
    }

    fn table(&self) -> Table {
        let sought = self.question.sought.iter().copied();
        let header = ["Tm", "Tp"].into_iter().chain(sought.clone()).chain(["states"]);
        let mut table = Table::new(header).at_the_right();
        for row in &self.rows {
            let mut cells = vec![row.delay.to_string(), row.processing.to_string()];
            cells.extend(sought.clone().map(|name| self.cell(row, name)));
            let states = row.found.last().map_or(0, |found| found.states);
            cells.push(indicatif::HumanCount(states).to_string());
            table.row(cells);
        }
        table
    }

    fn cell(&self, row: &Row, name: &str) -> String {
        match (row.found.iter().find(|found| found.name == name), row.unknown) {
            (Some(TunedDuration { ticks: Some(ticks), .. }), _) => ticks.to_string(),
            (Some(_), _) => format!("none up to {}", self.question.most),
            (None, Some(reason)) => format!("unknown: {reason}"),
            (None, None) => "not asked".to_owned(),
        }
    }

    fn too_short(&self, at: usize, found: &TunedDuration, below: &TooShort) -> String {
        let Row { delay, processing, .. } = self.rows[at];
        let (name, ticks, property) = (found.name, below.ticks, below.property.name);
        let durations = below.world.scenario().timing.timed().map(|timed| timed.durations);
        let looked_for = format!("{name} {ticks}");
        let words = durations.iter().flat_map(Durations::words);
        let others: Vec<_> = words.filter(|word| *word != looked_for).collect();
        let others = if others.is_empty() { "all else".to_owned() } else { others.join(", ") };
        format!(
            "With Tm {delay} and Tp {processing}, {name} {ticks} is too short, given {others}: \
             {property} is violated."
        )
    }
}

fn trace(below: &TooShort, counterexample: &Counterexample) -> Trace {
    counterexample.trace(&below.world, &below.property)
}

fn row_view(row: &Row) -> serde_json::Value {
    let durations: serde_json::Map<_, _> =
        row.found.iter().map(|f| (f.name.to_owned(), json!(f.ticks))).collect();
    let below: Vec<_> = row
        .found
        .iter()
        .filter_map(|found| {
            let below = found.below.as_ref()?;
            let steps: Option<Vec<Step>> =
                below.counterexample.as_ref().map(|one| trace(below, one).steps);
            Some(json!({ "name": found.name, "ticks": below.ticks, "blame": below.blame(),
                         "timing": below.world.scenario().timing.timed(), "steps": steps }))
        })
        .collect();
    json!({ "delay": row.delay, "processing": row.processing, "verdict": row.verdict(),
            "reason": row.unknown, "bounds_met": row.bounds_met(), "durations": durations,
            "periods": row.periods,
            "states": row.found.last().map(|found| found.states), "too_short": below })
}
