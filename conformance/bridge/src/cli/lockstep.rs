//! `lockstep`: every transition of a bounded world, in model and program.

use super::{
    BOLD, CONFORMS, CUT_SHORT, DIVERGES, ERROR, GOOD, describe_divergence, save, writable,
};
use crate::comparison::{Comparison, Description, Mappings};
use crate::coverage::MetCount;
use crate::lockstep::{Outcome, Summary, Unplayed};
use anyhow::Context;
use bellwether_engine::check::Event;
use bellwether_engine::world::{Scenario, Symmetry};
use bellwether_tool::cli::{Exit, LimitArgs, ProgressArgs, UsageError, WorldArgs, text};
use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// The flags of `lockstep`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LockstepArgs {
    /// The protocol (`list` shows them) [default: the first]
    #[arg(value_name = "PROTOCOL")]
    pub(super) protocol: Option<String>,

    /// Which rules, if the program can be configured for several (`list`) [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(super) variant: Option<String>,

    /// Compare the nodes, or the member around each of them
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Through::Core)]
    pub(super) through: Through,

    #[command(flatten)]
    world: WorldArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Save the execution that leads to a difference as a trace (NDJSON) in this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Print all of a difference, and not only 60 lines
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    verbose: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

/// The part of the program that takes the transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Through {
    /// The nodes, which own no clock, disk or network
    Core,
    /// The members around them, whose disks answer at once
    Member,
}

/// Why `--through member` is refused.
pub(super) const NO_MEMBER: &str = "this program has no member around its nodes; leave out \
                                    --through";

const EXAMPLES: &str = "\
Examples:
  bellwether-model lockstep --recoveries 1
  bellwether-model lockstep --network unordered --suspicions 1
  bellwether-model lockstep --timing asynchronous --json";

/// Why a flag of timed worlds is refused.
const NO_CLOCK: &str = "the comparison sets the clocks of the program itself; leave it out, and \
                        compare with --timing perfect or asynchronous, which let timers expire in \
                        every order";

pub(super) fn run(
    mappings: Mappings,
    members: Option<Mappings>,
    args: &LockstepArgs,
) -> anyhow::Result<Exit> {
    let (protocol, variant) = (args.protocol.as_deref(), args.variant.as_deref());
    match args.through {
        Through::Core => args.walk(mappings.find(protocol, variant)?),
        Through::Member => args.walk(members.context(NO_MEMBER)?.find(protocol, variant)?),
    }
}

/// The world that the flags ask for, if model and program can be compared in it.
pub(super) fn scenario(world: &WorldArgs) -> Result<Scenario, UsageError> {
    world.refuse_clock(NO_CLOCK)?;
    world.change_something()?;
    world.change_what_happens()?;
    let scenario = world.scenario()?;
    if scenario.symmetry == Symmetry::Concrete {
        let why = "the comparison knows no other world; leave it out";
        return Err(UsageError::no_effect("--symmetry concrete", why));
    }
    Ok(scenario)
}

impl LockstepArgs {
    pub(super) fn walk(&self, mapping: &dyn Comparison) -> anyhow::Result<Exit> {
        if let Some(out) = &self.out {
            writable(out)?;
        }
        let scenario = scenario(&self.world)?;
        let bar = self.progress.bar(self.json);
        let (threads, limits) = (self.limits.threads(), self.limits.limits());
        let walked = mapping.lockstep(scenario, threads, &limits, &mut |phase, p| {
            bar.tell(&format!("{phase}: "), Event::Progress(p));
        });
        bar.finish();
        let outcome = walked?;
        let exit = Exit::with(verdict(&outcome).1);
        let saved = match (&outcome.divergence, &self.out) {
            (Some(divergence), Some(out)) => save(&divergence.trace, out),
            _ => Ok(()),
        };
        let description = mapping.description();
        let told = match self.json {
            true => text::print_json(&self.json(&description, &scenario, &outcome)),
            false => self.print(&description, &scenario, &outcome, saved.is_ok()),
        };
        Ok(exit.note_saved(saved).note_printed(told))
    }
}

/// The verdict, and the status that goes with it.
fn verdict(Outcome { summary, divergence, large_group }: &Outcome) -> (&'static str, u8) {
    match summary.cut_short {
        _ if divergence.is_some() || large_group.wrong.is_some() => ("diverges", DIVERGES),
        Some(_) => ("unknown", CUT_SHORT),
        None if !summary.coverage.missing.is_empty() => ("incomplete", CUT_SHORT),
        None => ("conforms", CONFORMS),
    }
}

impl LockstepArgs {
    fn json(&self, of: &Description, scenario: &Scenario, outcome: &Outcome) -> serde_json::Value {
        let Outcome { summary, divergence, large_group } = outcome;
        json!({
            "protocol": of.protocol,
            "variant": of.variant,
            "world": scenario,
            "through": self.through,
            "verdict": verdict(outcome).0,
            "compared": summary,
            "rate": summary.rate().round(),
            "divergence": divergence,
            "large_group": large_group,
        })
    }

    fn print(
        &self,
        of: &Description,
        scenario: &Scenario,
        outcome: &Outcome,
        is_saved: bool,
    ) -> anyhow::Result<()> {
        let Outcome { summary, divergence, large_group } = outcome;
        let mut out = anstream::stdout();
        let compared = match self.through {
            Through::Core => "program",
            Through::Member => "member",
        };
        writeln!(out, "{}, {}: model and {compared}", of.protocol, of.variant)?;
        writeln!(out, "{scenario}\n")?;
        figures(&mut out, summary)?;
        if large_group.inputs > 0 {
            let group = format!("a group of {}:", large_group.size);
            writeln!(
                out,
                "{group:<21} {} inputs until all follow one",
                HumanCount(large_group.inputs)
            )?;
        }
        if let Some(divergence) = divergence {
            writeln!(out, "\n{ERROR}The program diverges.{ERROR:#}\n")?;
            write!(out, "{}", describe_divergence(divergence, self.verbose))?;
            if let Some(file) = self.out.as_ref().filter(|_| is_saved) {
                writeln!(out, "Saved: {}", file.display())?;
            }
        } else if let Some(wrong) = &large_group.wrong {
            let size = large_group.size;
            writeln!(out, "\n{ERROR}The program fails in a group of {size}:{ERROR:#} {wrong}.")?;
        } else if let Some(reason) = summary.cut_short {
            let (probed, nodes) = (HumanCount(summary.probed), HumanCount(summary.nodes));
            writeln!(
                out,
                "\n{BOLD}Cut short: {reason}.{BOLD:#} No difference so far, no claim. Probed: \
                 {probed} of the {nodes} nodes that were met."
            )?;
        } else if !summary.coverage.missing.is_empty() {
            let missing = summary.coverage.missing.join(", ");
            writeln!(
                out,
                "\n{BOLD}Not met: {missing}.{BOLD:#} No difference, no claim: this world does not \
                 lead there. One with more faults, another start or --timing asynchronous may."
            )?;
        } else {
            let of = if summary.unplayed.is_some() { " of what it plays" } else { "" };
            writeln!(
                out,
                "\n{GOOD}The program conforms:{GOOD:#} every transition{of} was taken in both, and \
                 the model alone counts the same."
            )?;
        }
        Ok(())
    }
}

fn figures(out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
    let kinds = summary.kinds.iter().map(|(kind, count)| format!("{kind} {}", HumanCount(*count)));
    writeln!(
        out,
        "transitions compared: {} ({}/s, {:.2} s)",
        HumanCount(summary.transitions),
        HumanCount(summary.rate() as u64),
        summary.seconds
    )?;
    writeln!(out, "  by action:          {}", kinds.collect::<Vec<_>>().join(", "))?;
    if let Some(Unplayed { why, transitions }) = summary.unplayed {
        writeln!(out, "  compared with nothing: {} ({why})", HumanCount(transitions))?;
    }
    if summary.outside > 0 {
        let outside = HumanCount(summary.outside);
        writeln!(out, "  compared, and not followed (beyond the bounds): {outside}")?;
    }
    writeln!(
        out,
        "distinct pairs:       {} ({} states of the model, {} program nodes), {} deep",
        HumanCount(summary.pairs),
        HumanCount(summary.states),
        HumanCount(summary.nodes),
        summary.depth
    )?;
    writeln!(out, "off-path probes:      {}", HumanCount(summary.probes))?;
    writeln!(out, "met (walked + probed):")?;
    for (what, list) in summary.coverage.lists() {
        let met = list.iter().filter(|(_, met)| **met != MetCount::default());
        let met = met.map(|(name, met)| {
            format!("{name} {} + {}", HumanCount(met.walked), HumanCount(met.probed))
        });
        writeln!(out, "  {:<19} {}", format!("{what}s:"), met.collect::<Vec<_>>().join(", "))?;
    }
    for (name, why) in &summary.coverage.never {
        writeln!(out, "  never {name}: {why}")?;
    }
    Ok(())
}
