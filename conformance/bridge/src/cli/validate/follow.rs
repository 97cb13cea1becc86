//! `validate --follow`: logs that grow, judged as they do.

use super::{BOLD, ERROR, GOOD, ValidateArgs, figures, status, told, verdict};
use crate::divergence::Divergence;
use crate::error::Malformed;
use crate::registry::AnyMapping;
use crate::validate::{Log, Outcome, Summary, Watch};
use bellwether_tool::cli::{Exit, stopped, text};
use serde_json::{Value, json};
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

/// How long nothing is read after nothing has come, and how rarely it is said how far it is.
const POLL: Duration = Duration::from_millis(200);

/// Waits for more of a log; whether to go on.
pub(super) fn waits() -> bool {
    let goes_on = || !stopped().is_due();
    if goes_on() {
        thread::sleep(POLL);
    }
    goes_on()
}

pub(super) fn run(
    args: &ValidateArgs,
    logs: Vec<Log>,
    mapping: &dyn AnyMapping,
) -> anyhow::Result<Exit> {
    let description = mapping.description();
    let (protocol, variant) = (description.protocol, description.variant);
    let mut teller = Teller { args, lines: 0, last: Instant::now(), told: Ok(()) };
    teller.tell(
        &format!("{protocol}, {variant}: logs and model, while the logs grow\n"),
        || json!({"event": "begun", "protocol": protocol, "variant": variant}),
    );
    let outcome = mapping.follow(logs, args.options(), &mut teller)?;
    let exit = Exit::with(status(&outcome));
    teller.ends(&outcome);
    Ok(exit.told(teller.told))
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
        let ascii = self.args.ascii;
        self.told = if self.args.json {
            text::print_json(&object(), ascii)
        } else {
            let mut out = text::stdout(ascii);
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
        words += &match (differences, malformed.is_empty()) {
            (0, true) => format!("\n{GOOD}Up to here, the logs are accepted.{GOOD:#}\n"),
            (0, false) => "\nWhat could be read, the model allows.\n".to_owned(),
            (1, _) => format!("\n{ERROR}The logs are rejected at one line.{ERROR:#}\n"),
            _ => format!("\n{ERROR}The logs are rejected at {differences} lines.{ERROR:#}\n"),
        };
        let verdict = verdict(outcome);
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
        let report = told(divergence, self.args.ascii, self.args.verbose);
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
