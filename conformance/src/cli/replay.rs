//! `replay`: the program, driven through a saved trace.

use super::{CONFORMS, DIVERGES, ERROR, GOOD, dispatch};
use crate::mapping::{Mapping, Visitor};
use crate::replay::{Replayed, replay};
use anyhow::Context;
use bellwether_model::trace::Trace;
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

    /// Draw with ASCII characters only
    #[arg(long)]
    ascii: bool,
}

pub(super) fn run(args: &ReplayArgs) -> anyhow::Result<u8> {
    let name = || args.file.display().to_string();
    let file = File::open(&args.file).with_context(|| format!("cannot open {}", name()))?;
    let trace = Trace::read(BufReader::new(file)).with_context(name)?;
    dispatch(&trace.header.protocol, Replay { args, trace: &trace }).with_context(name)
}

struct Replay<'a> {
    args: &'a ReplayArgs,
    trace: &'a Trace,
}

impl Visitor for Replay<'_> {
    type Output = anyhow::Result<u8>;

    fn visit<M: Mapping>(self, mapping: M) -> anyhow::Result<u8> {
        let replayed = replay(&mapping, self.trace)?;
        let conforms = replayed.divergence.is_none();
        if self.args.json {
            let header = &self.trace.header;
            let object = json!({
                "protocol": header.protocol,
                "variant": header.variant,
                "world": header.world,
                "verdict": if conforms { "conforms" } else { "diverges" },
                "steps": replayed.steps,
                "rounds": replayed.rounds,
                "divergence": replayed.divergence,
            });
            writeln!(std::io::stdout(), "{object}")?;
        } else {
            self.print(&replayed)?;
        }
        Ok(if conforms { CONFORMS } else { DIVERGES })
    }
}

impl Replay<'_> {
    fn print(&self, replayed: &Replayed) -> anyhow::Result<()> {
        let mut out = anstream::stdout();
        let header = &self.trace.header;
        writeln!(out, "{}, {}: model and program", header.protocol, header.variant)?;
        writeln!(out, "{}\n", header.world)?;
        let rounds = match replayed.rounds {
            0 => String::new(),
            rounds => format!(", the cycle {rounds} times"),
        };
        writeln!(out, "steps compared: {}{rounds}", replayed.steps)?;
        if let Some(divergence) = &replayed.divergence {
            writeln!(out, "\n{ERROR}The program diverges.{ERROR:#}\n")?;
            write!(out, "{}", divergence.report(self.args.ascii))?;
        } else {
            writeln!(out, "{GOOD}The program conforms to the trace.{GOOD:#}")?;
        }
        Ok(())
    }
}
