//! `validate`: the logs of nodes that ran, judged by the model.

mod follow;

use super::{BOLD, CONFORMS, DIVERGES, ERROR, GOOD, USAGE, told};
use crate::registry::{AnyMapping, Mappings};
use crate::validate::{Judge, Log, Options, Outcome, Summary, Text, smaller};
use anyhow::Context;
use bellwether_tool::cli::{Exit, text};
use clap::Args;
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The flags of `validate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ValidateArgs {
    /// The logs of one run, one of each node (NDJSON), in any order; - is standard input
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,

    /// Go on while the logs grow, and tell at once what is not allowed, until Ctrl-C
    #[arg(long, conflicts_with = "reduce")]
    follow: bool,

    /// Which rules, if the program can be configured for several (`list`) [default: the first]
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,

    /// A message may arrive twice
    #[arg(long, help_heading = "World")]
    duplicates: bool,

    /// Messages from one node to another may overtake each other
    #[arg(long, help_heading = "World")]
    reorder: bool,

    /// The log of a node that was killed has all that it did
    #[arg(long, help_heading = "World")]
    #[arg(hide_short_help = true)]
    whole: bool,

    /// Print one JSON object and nothing else; with --follow one for each event
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Draw with ASCII characters only
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    ascii: bool,

    /// Save the smallest logs in this folder that are rejected at the same line, for the same
    /// reason
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    reduce: Option<PathBuf>,

    /// Print all of a rejection, and not only 60 lines
    #[arg(long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    verbose: bool,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model validate orders-1.ndjson orders-2.ndjson orders-3.ndjson
  bellwether-model validate --duplicates --json logs/*.ndjson
  bellwether-model validate --follow orders-1.ndjson orders-2.ndjson orders-3.ndjson";

/// What was saved of logs that are rejected.
#[derive(Serialize)]
struct Reduced {
    logs: usize,
    lines: usize,
}

pub(super) fn run(mappings: Mappings, args: &ValidateArgs) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.reduce {
        let cannot = || cannot_write(folder);
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    let mut logs = Vec::with_capacity(args.logs.len());
    let mut protocol = None;
    for file in &args.logs {
        let name = || file.display().to_string();
        let cannot = || format!("cannot read {}; give files that nodes have written", name());
        let mut log = args.open(file).with_context(cannot)?;
        let of_it = log.protocol(follow::waits).with_context(cannot)?;
        protocol = protocol.or(of_it);
        logs.push(log);
    }
    let mapping = mappings.find(protocol.as_deref(), args.variant.as_deref())?;
    match args.follow {
        true => follow::run(args, logs, mapping),
        false => args.judge(logs, mapping),
    }
}

impl ValidateArgs {
    fn open(&self, file: &Path) -> io::Result<Log> {
        match (file == Path::new("-"), self.follow) {
            (true, true) => Log::growing_input(),
            (true, false) => Ok(Log::input()),
            (false, true) => Log::growing(file),
            (false, false) => Log::open(file),
        }
    }

    fn options(&self) -> Options {
        let &ValidateArgs { duplicates, reorder, whole, .. } = self;
        Options { duplicates, reorder, whole }
    }

    fn judge(&self, logs: Vec<Log>, mapping: &dyn AnyMapping) -> anyhow::Result<Exit> {
        let options = self.options();
        let outcome = mapping.validate(logs, options)?;
        let exit = Exit::with(status(&outcome));
        let (reduced, saved) = match self.reduced(&outcome, &|logs| mapping.validate(logs, options))
        {
            Ok(reduced) => (reduced, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let description = mapping.description();
        let (protocol, variant) = (description.protocol, description.variant);
        let told = match self.json {
            true => text::print_json(
                &json!({
                    "protocol": protocol,
                    "variant": variant,
                    "verdict": verdict(&outcome),
                    "judged": outcome.summary,
                    "malformed": outcome.malformed,
                    "rejection": outcome.rejection,
                    "reduced": reduced,
                }),
                self.ascii,
            ),
            false => self.print(&format!("{protocol}, {variant}"), &outcome, reduced.as_ref()),
        };
        Ok(exit.saved(saved).told(told))
    }

    /// Saves smaller logs, if that was asked and they are rejected.
    fn reduced(&self, outcome: &Outcome, judge: Judge<'_>) -> anyhow::Result<Option<Reduced>> {
        let (Some(rejection), Some(folder)) = (&outcome.rejection, &self.reduce) else {
            return Ok(None);
        };
        let read = |file: &PathBuf| -> anyhow::Result<Text> {
            let name = file.display().to_string();
            let text = fs::read(file).with_context(|| format!("cannot read {name} again"))?;
            Ok(Text::new(name, &text))
        };
        let texts = self.logs.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let less = smaller(&texts, rejection, judge).context("the logs have changed meanwhile")?;
        let lines = less.iter().map(|text| text.lines.len()).sum();
        for (text, number) in less.iter().zip(1..) {
            let file = folder.join(format!("{number}.ndjson"));
            let write = || File::create_new(&file)?.write_all(&text.lines.concat());
            write().with_context(|| cannot_write(&file))?;
        }
        Ok(Some(Reduced { logs: less.len(), lines }))
    }

    fn print(&self, of: &str, outcome: &Outcome, reduced: Option<&Reduced>) -> anyhow::Result<()> {
        let Outcome { summary, rejection, malformed, .. } = outcome;
        let mut out = text::stdout(self.ascii);
        writeln!(out, "{of}: logs and model\n")?;
        figures(&mut out, summary)?;
        for malformed in malformed {
            writeln!(out, "\n{BOLD}Cannot be read from here:{BOLD:#} {malformed}.")?;
        }
        if let Some(rejection) = rejection {
            writeln!(out, "\n{ERROR}The logs are rejected.{ERROR:#}\n")?;
            write!(out, "{}", told(rejection, self.ascii, self.verbose))?;
            if let (Some(Reduced { logs, lines }), Some(folder)) = (reduced, &self.reduce) {
                let s = if *logs == 1 { "" } else { "s" };
                let lines = HumanCount(*lines as u64);
                writeln!(out, "Saved: {lines} lines of {logs} log{s} in {}", folder.display())?;
            }
        } else if malformed.is_empty() {
            writeln!(
                out,
                "\n{GOOD}The logs are accepted:{GOOD:#} the model has an execution that looks \
                 like this."
            )?;
        } else {
            writeln!(out, "\nWhat comes before, the model allows.")?;
        }
        Ok(())
    }
}

/// What is said where smaller logs cannot be saved.
fn cannot_write(to: &Path) -> String {
    format!("cannot write {}; give --reduce a folder that is empty", to.display())
}

fn status(outcome: &Outcome) -> u8 {
    match (&outcome.rejection, outcome.malformed.is_empty()) {
        (Some(_), _) => DIVERGES,
        (None, false) => USAGE,
        (None, true) => CONFORMS,
    }
}

fn verdict(outcome: &Outcome) -> &'static str {
    match (&outcome.rejection, outcome.malformed.is_empty()) {
        (Some(_), _) => "rejected",
        (None, false) => "malformed",
        (None, true) => "accepted",
    }
}

fn figures(out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
    let Summary { members, logs, lines, incarnations, steps, received, duplicates, lost, .. } =
        summary;
    let kinds = steps.iter().map(|(kind, count)| format!("{kind} {}", HumanCount(*count)));
    writeln!(out, "{logs} logs of {members} members, {} lines", HumanCount(*lines))?;
    writeln!(out, "starts of nodes:    {}", HumanCount(*incarnations))?;
    writeln!(
        out,
        "steps judged:       {} ({})",
        HumanCount(summary.judged()),
        kinds.collect::<Vec<_>>().join(", ")
    )?;
    writeln!(
        out,
        "messages received:  {} ({} of them again), lost: {}",
        HumanCount(*received),
        HumanCount(*duplicates),
        HumanCount(*lost)
    )?;
    if summary.believed > 0 {
        writeln!(out, "messages believed:  {}", HumanCount(summary.believed))?;
    }
    if summary.epochs > 0 {
        writeln!(out, "epochs:             {}", HumanCount(summary.epochs))?;
    }
    if summary.torn > 0 {
        writeln!(out, "torn lines:         {}", HumanCount(summary.torn))?;
    }
    if !summary.deeds {
        writeln!(out, "not judged: what was saved, sent and told, for no log says it")?;
    }
    for (what, count) in &summary.not_judged {
        writeln!(out, "not judged: {} {what}", HumanCount(*count))?;
    }
    Ok(())
}
