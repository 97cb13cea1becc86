//! `lockstep`: every transition of a bounded world, in model and program.

use super::{BOLD, CONFORMS, CUT_SHORT, DIVERGES, ERROR, GOOD, dispatch, save, writable};
use crate::lockstep::{Outcome, Summary, lockstep};
use crate::mapping::{Mapping, NAMES, Visitor};
use bellwether_model::cli::{Bar, LimitArgs, WorldArgs};
use bellwether_model::protocol::{Protocol as Specification, variant_name};
use bellwether_model::world::{Scenario, World};
use clap::Args;
use indicatif::HumanCount;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// The flags of `lockstep`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LockstepArgs {
    /// The protocol (`list` shows them)
    #[arg(value_name = "PROTOCOL", default_value = NAMES[0])]
    protocol: String,

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

    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    ascii: bool,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-conformance lockstep --recoveries 1
  bellwether-conformance lockstep --nodes 4 --network unordered --suspicions 1
  bellwether-conformance lockstep --timing asynchronous --capacity 2 --json";

pub(super) fn run(args: &LockstepArgs) -> anyhow::Result<u8> {
    if let Some(out) = &args.out {
        writable(out)?;
    }
    dispatch(&args.protocol, Walk(args))
}

struct Walk<'a>(&'a LockstepArgs);

impl Visitor for Walk<'_> {
    type Output = anyhow::Result<u8>;

    fn visit<M: Mapping>(self, mapping: M) -> anyhow::Result<u8> {
        let args = self.0;
        let world = World::new(M::RULES, args.world.scenario()?)?.concrete();
        let limits = args.limits.limits();
        let bar = Bar::new();
        let walked = lockstep(&world, &mapping, &limits, &mut |p| bar.look("comparing", p));
        let recounted = match &walked {
            Ok(outcome) => {
                let look = &mut |p| bar.look("counting the model alone", p);
                outcome.summary.recount(&world, look)
            }
            Err(_) => Ok(()),
        };
        bar.finish();
        let outcome = walked?;
        recounted?;
        if let (Some(divergence), Some(out)) = (&outcome.divergence, &args.out) {
            save(&divergence.trace, out)?;
        }
        if args.json {
            json::<M>(&world.scenario(), &outcome)?;
        } else {
            args.print::<M>(&world.scenario(), &outcome)?;
        }
        Ok(match (&outcome.divergence, outcome.summary.cut_short) {
            (Some(_), _) => DIVERGES,
            (None, Some(_)) => CUT_SHORT,
            (None, None) => CONFORMS,
        })
    }
}

fn json<M: Mapping>(scenario: &Scenario, outcome: &Outcome) -> anyhow::Result<()> {
    let Outcome { summary, divergence } = outcome;
    let verdict = match (divergence, summary.cut_short) {
        (Some(_), _) => "diverges",
        (None, Some(_)) => "unknown",
        (None, None) => "conforms",
    };
    let object = json!({
        "protocol": M::Spec::NAME,
        "variant": variant_name(&M::RULES),
        "world": scenario,
        "verdict": verdict,
        "compared": summary,
        "rate": summary.rate().round(),
        "divergence": divergence,
    });
    writeln!(std::io::stdout(), "{object}")?;
    Ok(())
}

impl LockstepArgs {
    fn print<M: Mapping>(&self, scenario: &Scenario, outcome: &Outcome) -> anyhow::Result<()> {
        let Outcome { summary, divergence } = outcome;
        let mut out = anstream::stdout();
        writeln!(out, "{}, {}: model and program", M::Spec::NAME, variant_name(&M::RULES))?;
        writeln!(out, "{scenario}\n")?;
        figures(&mut out, summary)?;
        if let Some(divergence) = divergence {
            writeln!(out, "\n{ERROR}The program diverges.{ERROR:#}\n")?;
            write!(out, "{}", divergence.report(self.ascii))?;
            if let Some(file) = &self.out {
                writeln!(out, "Saved: {}", file.display())?;
            }
        } else if let Some(reason) = summary.cut_short {
            writeln!(out, "\n{BOLD}Cut short: {reason}.{BOLD:#} No difference so far, no claim.")?;
        } else {
            writeln!(
                out,
                "\n{GOOD}The program conforms:{GOOD:#} every transition was taken in both, and \
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
    if summary.outside > 0 {
        let outside = HumanCount(summary.outside);
        writeln!(out, "  compared, and not followed (a link was full): {outside}")?;
    }
    writeln!(
        out,
        "distinct pairs:       {} ({} states of the model, {} program nodes), {} deep",
        HumanCount(summary.pairs),
        HumanCount(summary.states),
        HumanCount(summary.nodes),
        summary.depth
    )?;
    writeln!(out, "off-path probes:      {}", HumanCount(summary.probes))
}
