//! `replay`: the program, driven through a saved trace.

use super::{CONFORMS, DIVERGES, ERROR, GOOD, describe_divergence};
use crate::comparison::{Comparison, Mappings};
use crate::replay::Replayed;
use anyhow::{Context, anyhow};
use bellwether_engine::trace::Trace;
use bellwether_tool::cli::{Exit, text, unreadable};
use clap::Args;
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

/// The flags of `replay`.
#[derive(Debug, Args)]
pub(super) struct ReplayArgs {
    /// A trace that `check --out` or `lockstep --out` saved (NDJSON)
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,

    /// Print all of a difference, and not only 60 lines
    #[arg(long)]
    #[arg(hide_short_help = true)]
    verbose: bool,
}

pub(super) fn run(mappings: Mappings, args: &ReplayArgs) -> anyhow::Result<Exit> {
    let trace = args.trace()?;
    let (name, variant) = (&trace.header.protocol, &trace.header.variant);
    // What no mapping implements is told by the first, which compares the rules.
    let found =
        mappings.find(Some(name), Some(variant)).or_else(|_| mappings.find(Some(name), None));
    let mapping = found.with_context(|| args.name())?;
    args.replay(&trace, mapping)
}

impl ReplayArgs {
    fn name(&self) -> String {
        self.file.display().to_string()
    }

    pub(super) fn trace(&self) -> anyhow::Result<Trace> {
        let saved = "'check --out DIR' saves traces as DIR/NAME.ndjson";
        let file = File::open(&self.file)
            .map_err(|why| anyhow!("cannot open {}: {why}; {saved}", self.name()))?;
        Trace::read(BufReader::new(file)).map_err(|wrong| unreadable(&self.name(), wrong, saved))
    }

    pub(super) fn replay(&self, trace: &Trace, mapping: &dyn Comparison) -> anyhow::Result<Exit> {
        let replayed = mapping.replay(trace).with_context(|| self.name())?;
        let conforms = replayed.divergence.is_none();
        let exit = Exit::with(if conforms { CONFORMS } else { DIVERGES });
        let told = match self.json {
            true => text::print_json(&json(trace, &replayed)),
            false => self.print(trace, &replayed),
        };
        Ok(exit.note_printed(told))
    }
}

fn json(trace: &Trace, replayed: &Replayed) -> serde_json::Value {
    let header = &trace.header;
    json!({
        "protocol": header.protocol,
        "variant": header.variant,
        "world": header.world,
        "verdict": if replayed.divergence.is_none() { "conforms" } else { "diverges" },
        "steps": replayed.steps,
        "rounds": replayed.rounds,
        "divergence": replayed.divergence,
    })
}

impl ReplayArgs {
    fn print(&self, trace: &Trace, replayed: &Replayed) -> anyhow::Result<()> {
        let mut out = anstream::stdout();
        let header = &trace.header;
        writeln!(out, "{}, {}: model and program", header.protocol, header.variant)?;
        writeln!(out, "{}\n", header.world)?;
        let rounds = match replayed.rounds {
            0 => String::new(),
            rounds => format!(", the cycle {rounds} times"),
        };
        writeln!(out, "steps compared: {}{rounds}", replayed.steps)?;
        if let Some(divergence) = &replayed.divergence {
            writeln!(out, "\n{ERROR}The program diverges.{ERROR:#}\n")?;
            write!(out, "{}", describe_divergence(divergence, self.verbose))?;
        } else {
            writeln!(out, "{GOOD}The program conforms to the trace.{GOOD:#}")?;
        }
        Ok(())
    }
}
