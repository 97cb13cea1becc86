//! `tune`: the shortest time-outs that keep a property, for given message delays.

mod answer;
mod section;

pub use section::Section;

use super::timed_args::{any_delay, any_range, tick};
use super::{
    DelayArg, Exit, LimitArgs, ProgressArgs, ProtocolArgs, TickRange, TimingArg, Tool, WorldArgs,
    shown, text,
};
use crate::tune::{self, Question};
use answer::Answer;
use anyhow::anyhow;
use bellwether_engine::check::{Event, Options};
use bellwether_engine::machine::Machine;
use bellwether_engine::property::TIMEOUTS_ACCURATE;
use bellwether_engine::words::instead_of;
use bellwether_engine::world::{Delay, MAX_TICKS, Timed, Timing};
use clap::{Args, Command};
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

    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    ascii: bool,

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
fn nothing_to_find(called: &str, rules: &dyn Machine) -> String {
    let protocol = rules.protocol();
    let name = protocol.name();
    if protocol.durations().is_empty() {
        return nothing_timed(called, name);
    }
    let check = checked(called, rules, (&[], &[]));
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
    rules: &dyn Machine,
    (given, apart): (&[(&'static str, u8)], &[&str]),
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
    shown::prepare(args.out.as_deref())?;
    let (delays, processing) = args.ranges()?;
    let question = args.question(tool, (delays, processing))?;
    let bar = args.progress.bar(args.json);
    let mut rows = Vec::new();
    for delay in delays.iter() {
        for processing in processing.iter() {
            let row = question.row((delay, processing), &mut |name, ticks, progress| {
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
        true => text::print_json(&answer.json(), args.ascii),
        false => answer.print(&files),
    };
    Ok(exit.saved(saved).told(told))
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
        (delays, processing): (TickRange, TickRange),
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
    fn sought(&self, called: &str, rules: &dyn Machine) -> anyhow::Result<Vec<&'static str>> {
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
                checked(called, rules, (given, apart))
            ));
        }
        Ok(sought)
    }
}
