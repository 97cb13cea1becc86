//! `validate`: the logs of nodes that ran, judged by the model.

use super::{BOLD, CONFORMS, CUT_SHORT, DIVERGES, ERROR, GOOD, USAGE, describe_divergence};
use crate::comparison::{Comparison, Mappings};
use crate::divergence::Divergence;
use crate::error::Malformed;
use crate::validate::{Judge, Log, Options, Outcome, Summary, Text, Watch, shrink};
use anyhow::Context;
use bellwether_tool::cli::{Exit, stopped, text};
use clap::Args;
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

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

    /// Accept logs of which some steps were not judged
    #[arg(long)]
    allow_unjudged: bool,

    /// Print one JSON object and nothing else; with --follow one for each event
    #[arg(long, help_heading = "Output")]
    json: bool,

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
        let of_it = log.protocol(waits).with_context(cannot)?;
        protocol = protocol.or(of_it);
        logs.push(log);
    }
    let mapping = mappings.find(protocol.as_deref(), args.variant.as_deref())?;
    match args.follow {
        true => follow(args, logs, mapping),
        false => args.judge(logs, mapping),
    }
}

impl ValidateArgs {
    fn open(&self, file: &Path) -> io::Result<Log> {
        match (file == Path::new("-"), self.follow) {
            (true, true) => Log::growing_input(),
            (true, false) => Ok(Log::input()),
            (false, true) => Log::follow(file),
            (false, false) => Log::open(file),
        }
    }

    fn options(&self) -> Options {
        let &ValidateArgs { duplicates, reorder, whole, .. } = self;
        Options { duplicates, reorder, whole }
    }

    fn judge(&self, logs: Vec<Log>, mapping: &dyn Comparison) -> anyhow::Result<Exit> {
        let options = self.options();
        let outcome = mapping.validate(logs, options)?;
        let (verdict, status) = self.verdict(&outcome);
        let exit = Exit::with(status);
        let (reduced, saved) = match self.reduced(&outcome, &|logs| mapping.validate(logs, options))
        {
            Ok(reduced) => (reduced, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let description = mapping.description();
        let (protocol, variant) = (description.protocol, description.variant);
        let told = match self.json {
            true => text::print_json(&json!({
                "protocol": protocol,
                "variant": variant,
                "verdict": verdict,
                "judged": outcome.summary,
                "malformed": outcome.malformed,
                "rejection": outcome.rejection,
                "reduced": reduced,
            })),
            false => self.print(&format!("{protocol}, {variant}"), &outcome, reduced.as_ref()),
        };
        Ok(exit.note_saved(saved).note_printed(told))
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
        let less = shrink(&texts, rejection, judge).context("the logs have changed meanwhile")?;
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
        let mut out = anstream::stdout();
        writeln!(out, "{of}: logs and model\n")?;
        figures(&mut out, summary)?;
        for malformed in malformed {
            writeln!(out, "\n{BOLD}Cannot be read from here:{BOLD:#} {malformed}.")?;
        }
        if let Some(rejection) = rejection {
            writeln!(out, "\n{ERROR}The logs are rejected.{ERROR:#}\n")?;
            write!(out, "{}", describe_divergence(rejection, self.verbose))?;
            if let (Some(Reduced { logs, lines }), Some(folder)) = (reduced, &self.reduce) {
                let s = if *logs == 1 { "" } else { "s" };
                let lines = HumanCount(*lines as u64);
                writeln!(out, "Saved: {lines} lines of {logs} log{s} in {}", folder.display())?;
            }
        } else if !malformed.is_empty() {
            writeln!(out, "\nWhat comes before, the model allows.")?;
        } else if self.verdict(outcome).1 == CUT_SHORT {
            writeln!(out, "\n{UNKNOWN}")?;
        } else {
            writeln!(
                out,
                "\n{GOOD}The logs are accepted:{GOOD:#} the model has an execution that looks \
                 like this."
            )?;
        }
        Ok(())
    }

    /// The verdict, and the status that goes with it.
    fn verdict(&self, outcome: &Outcome) -> (&'static str, u8) {
        let is_judged = self.allow_unjudged || outcome.summary.not_judged.is_empty();
        match (&outcome.rejection, outcome.malformed.is_empty(), is_judged) {
            (Some(_), _, _) => ("rejected", DIVERGES),
            (None, false, _) => ("malformed", USAGE),
            (None, true, false) => ("unknown", CUT_SHORT),
            (None, true, true) => ("accepted", CONFORMS),
        }
    }
}

/// What is said of logs that are neither rejected nor judged to their end.
const UNKNOWN: &str = "The verdict is unknown: what was judged, the model allows, and not all was \
                       judged. What to do is said with each reason above; --allow-unjudged accepts \
                       the logs.";

/// What is said where smaller logs cannot be saved.
fn cannot_write(to: &Path) -> String {
    format!("cannot write {}; give --reduce a folder that is empty", to.display())
}

fn figures(out: &mut impl Write, summary: &Summary) -> std::io::Result<()> {
    let Summary { members, logs, lines, incarnations, steps, received, duplicates, lost, .. } =
        summary;
    let kinds = steps.iter().map(|(kind, count)| format!("{kind} {}", HumanCount(*count)));
    writeln!(out, "{logs} logs of {members} members, {} lines", HumanCount(*lines))?;
    writeln!(out, "starts of nodes:    {}", HumanCount(*incarnations))?;
    writeln!(
        out,
        "steps judged:       {}, {:.1} % ({})",
        HumanCount(summary.judged()),
        summary.percent_judged(),
        kinds.collect::<Vec<_>>().join(", ")
    )?;
    writeln!(
        out,
        "messages received:  {} ({} of them again), lost: {}",
        HumanCount(*received),
        HumanCount(*duplicates),
        HumanCount(*lost)
    )?;
    let Summary { believed, epochs, torn, .. } = *summary;
    let counts = [("messages believed:", believed), ("epochs:", epochs), ("torn lines:", torn)];
    for (of, count) in counts.into_iter().filter(|&(_, count)| count > 0) {
        writeln!(out, "{of:<19} {}", HumanCount(count))?;
    }
    if !summary.deeds {
        writeln!(out, "not judged: what was saved, sent and told, for no log says it")?;
    }
    for (what, count) in &summary.assumed {
        writeln!(out, "believed: {} {what}", HumanCount(*count))?;
    }
    for (what, count) in &summary.not_judged {
        writeln!(out, "not judged: {} {what}", HumanCount(*count))?;
    }
    Ok(())
}

/// How long nothing is read after nothing has come, and how rarely it is said how far it is.
const POLL: Duration = Duration::from_millis(200);

/// Waits for more of a log; whether to go on.
fn waits() -> bool {
    let goes_on = || !stopped().is_due();
    if goes_on() {
        thread::sleep(POLL);
    }
    goes_on()
}

fn follow(args: &ValidateArgs, logs: Vec<Log>, mapping: &dyn Comparison) -> anyhow::Result<Exit> {
    let description = mapping.description();
    let (protocol, variant) = (description.protocol, description.variant);
    let mut teller = Teller { args, lines: 0, last: Instant::now(), told: Ok(()) };
    teller.tell(
        &format!("{protocol}, {variant}: logs and model, while the logs grow\n"),
        || json!({"event": "begun", "protocol": protocol, "variant": variant}),
    );
    let outcome = mapping.follow(logs, args.options(), &mut teller)?;
    let exit = Exit::with(args.verdict(&outcome).1);
    teller.ends(&outcome);
    Ok(exit.note_printed(teller.told))
}

/// Tells what is found as soon as it is.
struct Teller<'a> {
    args: &'a ValidateArgs,
    /// How many lines were judged when that was told, and when that was.
    lines: u64,
    last: Instant,
    /// Whether all of it could be printed. After the first that cannot, the judgement ends.
    told: anyhow::Result<()>,
}

impl Teller<'_> {
    /// Prints this text, or this object.
    fn tell(&mut self, words: &str, object: impl FnOnce() -> Value) {
        if self.told.is_err() {
            return;
        }
        self.told = if self.args.json {
            text::print_json(&object())
        } else {
            let mut out = anstream::stdout();
            out.write_all(words.as_bytes()).and_then(|()| out.flush()).map_err(Into::into)
        };
    }

    fn ends(&mut self, outcome: &Outcome) {
        let Outcome { summary, rejection, differences, malformed } = outcome;
        let mut words = b"\n".to_vec();
        if let Err(error) = figures(&mut words, summary) {
            self.told = Err(error.into());
        }
        let mut words = String::from_utf8_lossy(&words).into_owned();
        let (verdict, status) = self.args.verdict(outcome);
        words += &match (differences, malformed.is_empty()) {
            (0, true) if status == CUT_SHORT => format!("\n{UNKNOWN}\n"),
            (0, true) => format!("\n{GOOD}Up to here, the logs are accepted.{GOOD:#}\n"),
            (0, false) => "\nWhat could be read, the model allows.\n".to_owned(),
            (1, _) => format!("\n{ERROR}The logs are rejected at one line.{ERROR:#}\n"),
            _ => format!("\n{ERROR}The logs are rejected at {differences} lines.{ERROR:#}\n"),
        };
        self.tell(&words, || {
            json!({
                "event": "ended",
                "verdict": verdict,
                "differences": differences,
                "judged": summary,
                "malformed": malformed,
                "rejection": rejection,
            })
        });
    }
}

impl Watch for Teller<'_> {
    fn differs(&mut self, divergence: &Divergence) -> bool {
        let report = describe_divergence(divergence, self.args.verbose);
        let words = format!("\n{ERROR}The logs are rejected.{ERROR:#}\n\n{report}");
        self.tell(&words, || {
            let report: Vec<_> = report.lines().collect();
            json!({"event": "difference", "rejection": divergence, "report": report})
        });
        self.told.is_ok()
    }

    fn malformed(&mut self, malformed: &Malformed) {
        let words = format!("\n{BOLD}Cannot be read from here:{BOLD:#} {malformed}.\n");
        self.tell(&words, || json!({"event": "malformed", "malformed": malformed}));
    }

    fn goes_on(&mut self, judged: &Summary, is_idle: bool) -> bool {
        let goes_on = if is_idle { waits() } else { !stopped().is_due() };
        if judged.lines > self.lines && self.last.elapsed() >= POLL {
            (self.lines, self.last) = (judged.lines, Instant::now());
            let not: u64 = judged.not_judged.values().sum();
            self.tell("", || {
                json!({
                    "event": "judged",
                    "lines": judged.lines,
                    "steps": judged.judged(),
                    "believed": judged.believed,
                    "not_judged": not,
                })
            });
        }
        goes_on && self.told.is_ok()
    }
}
