//! Traces as files: one JSON object a line, the header first.

use super::{FORMAT, Header, Noted, Step, Trace, wrong};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};

/// The longest line that is read, in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// The largest number of steps that is read.
const MOST_STEPS: usize = 1_000_000;

impl Trace {
    /// Writes the trace, one line for the header and one for each step.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let first = FirstLine { header: &self.header, steps: self.steps.len() };
        serde_json::to_writer(&mut out, &first)?;
        out.write_all(b"\n")?;
        for step in &self.steps {
            serde_json::to_writer(&mut out, step)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Reads a trace. A trace that was cut off in the middle of a line is refused.
    ///
    /// # Errors
    /// The first line that is not what it should be, with its number.
    pub fn read(input: impl BufRead) -> Result<Trace, TraceError> {
        let mut lines = Lines { input, number: 0 };
        let Some(first) = lines.next()? else { return Err(TraceError::Empty) };
        let no_json = |_| TraceError::Format { found: "nothing in JSON".to_owned() };
        let mut probe: serde_json::Value = serde_json::from_str(&first).map_err(no_json)?;
        match probe.get("format").and_then(serde_json::Value::as_str) {
            Some(FORMAT) => {}
            found => {
                let nothing = || "nothing".to_owned();
                let found = found.map_or_else(nothing, |found| format!("{found:?}"));
                return Err(TraceError::Format { found });
            }
        }
        let promised = promised(&mut probe)?;
        let header = Header::deserialize(&probe);
        let header =
            header.map_err(|e| TraceError::Line { line: 1, reason: wrong::object(&probe, &e) })?;
        let mut steps: Vec<Step> = Vec::new();
        while let Some(line) = lines.next()? {
            let step: Step = serde_json::from_str(&line).map_err(|error| TraceError::Line {
                line: lines.number,
                reason: wrong::line(&line, &error),
            })?;
            if step.seq != steps.len() + 1 {
                let expected = steps.len() + 1;
                return Err(TraceError::Sequence { line: lines.number, found: step.seq, expected });
            }
            if steps.len() == MOST_STEPS {
                return Err(TraceError::TooLong);
            }
            steps.push(step);
        }
        if let Some(promised) = promised.filter(|&promised| promised != steps.len()) {
            return Err(TraceError::Steps { promised, found: steps.len() });
        }
        let cycle = header.shows.as_ref().and_then(|s| s.cycle_after);
        if let Some(after) = cycle.filter(|&after| after > steps.len()) {
            let steps = steps.len();
            return Err(TraceError::Truncated { after, steps });
        }
        Ok(Trace { header, steps, noted: Noted::default() })
    }
}

/// The first line: the header, and how many steps follow, so that a missing end is noticed.
#[derive(Serialize)]
struct FirstLine<'a> {
    #[serde(flatten)]
    header: &'a Header,
    steps: usize,
}

/// How many steps the first line says will follow. A program that writes a trace while it goes on
/// does not know, and says nothing.
fn promised(first: &mut serde_json::Value) -> Result<Option<usize>, TraceError> {
    let said = first.as_object_mut().and_then(|fields| fields.remove("steps"));
    let read = |said: serde_json::Value| {
        serde_json::from_value(said).map_err(|error| {
            let reason = format!("\"steps\": {}", wrong::words(&error));
            TraceError::Line { line: 1, reason }
        })
    };
    said.map(read).transpose()
}

/// Whole lines of bounded length.
struct Lines<R> {
    input: R,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<String>, TraceError> {
        let mut line = Vec::new();
        let limit = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX);
        let mut limited = io::Read::take(&mut self.input, limit);
        let read = limited.read_until(b'\n', &mut line).map_err(TraceError::Io)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let bad = |reason: &str| TraceError::Line { line: self.number, reason: reason.to_owned() };
        if line.pop() != Some(b'\n') {
            let why = if read == LONGEST_LINE { "it is too long" } else { "it has no end" };
            return Err(bad(&format!("{why}: the file was cut off, or is no trace")));
        }
        String::from_utf8(line).map(Some).map_err(|_| bad("it is not UTF-8 text"))
    }
}

/// The reason why a trace cannot be read or replayed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("it cannot be read")]
    Io(#[source] io::Error),
    /// The file has no line at all.
    #[error("the file is empty; a trace begins with a header line")]
    Empty,
    /// The first line is no header of this format.
    #[error(
        "this is not a trace that can be read here: its first line should say \
         \"format\":\"{FORMAT}\", it says {found}"
    )]
    Format {
        /// The text of the line, in quotes, or that it says nothing.
        found: String,
    },
    /// A line is not JSON, or not a step.
    #[error("line {line}: {reason}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The reason why the line cannot be read.
        reason: String,
    },
    /// A step is missing or doubled.
    #[error(
        "line {line}: step {found} where step {expected} should stand; a line is missing or doubled"
    )]
    Sequence {
        /// The number of the line, from 1.
        line: usize,
        /// The number that the step has.
        found: usize,
        /// The number that the step should have.
        expected: usize,
    },
    /// The last steps are missing, or there are more than there were.
    #[error("the first line promises {promised} steps, but {found} follow; the file was cut off")]
    Steps {
        /// The number of steps that the first line promises.
        promised: usize,
        /// The number of steps that there are.
        found: usize,
    },
    /// The steps end before the cycle begins.
    #[error(
        "the cycle begins after step {after}, but there are only {steps} steps; \
         the file was cut off"
    )]
    Truncated {
        /// The number of steps before the cycle begins.
        after: usize,
        /// The number of steps that there are.
        steps: usize,
    },
    /// The trace has more steps than anyone can mean.
    #[error("more than {MOST_STEPS} steps")]
    TooLong,
    /// The trace is of another protocol.
    #[error("the trace is of protocol {found:?}, which does not fit here")]
    Protocol {
        /// The name of the protocol in the trace.
        found: String,
    },
    /// The header does not describe a world.
    #[error("the header does not fit: {reason}")]
    Header {
        /// The reason why it does not.
        reason: String,
    },
    /// A step names something that the protocol does not have.
    #[error("step {step}: {reason}")]
    Step {
        /// The number of the step.
        step: usize,
        /// The reason why the step is refused.
        reason: String,
    },
    /// A step cannot happen where it stands.
    #[error(
        "step {step}, \"{action}\", cannot happen here; possible are: {}", .possible.join("; ")
    )]
    Impossible {
        /// The number of the step.
        step: usize,
        /// The action that the step tells of.
        action: String,
        /// The actions that could happen.
        possible: Vec<String>,
    },
    /// The model does something else in a step.
    #[error("step {step}: the trace says\n  {trace}\nbut the model says\n  {model}")]
    Differs {
        /// The number of the step.
        step: usize,
        /// The step in the trace.
        trace: String,
        /// The step as the model takes it.
        model: String,
    },
}
