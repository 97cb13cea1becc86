//! Smaller logs that are rejected at the same line and for the same reason.
//!
//! A process takes every step of its log from one start on, so no line can be left out between two
//! that stay. What is left out is whole logs, what comes behind a line, and earlier starts. Without
//! a log, the messages of its node are believed; whether the rest is still rejected there, the
//! judge says each time.

use super::{Log, Outcome};
use crate::divergence::{Divergence, Kind, LogLine};
use crate::error::Error;
use bellwether_core::trace::{Entry, Line};
use serde::de::IgnoredAny;
use std::io::Cursor;
use std::ops::Range;

/// The most starts of a node at which its log is tried to begin, the last ones.
const STARTS: usize = 16;

/// The text of a log, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The name of the log.
    pub name: String,
    /// The lines, each with its end.
    pub lines: Vec<Vec<u8>>,
}

impl Text {
    /// Returns the text of the log with this name.
    #[must_use]
    pub fn new(name: String, text: &[u8]) -> Text {
        let lines = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        Text { name, lines }
    }

    /// Returns the log, to be judged.
    #[must_use]
    pub fn log(&self) -> Log {
        Log { name: self.name.clone(), text: Box::new(Cursor::new(self.lines.concat())) }
    }

    /// The lines at which the node starts, by their places.
    fn starts(&self, within: &Range<usize>) -> Vec<usize> {
        let starts = |line: &[u8]| {
            let line = serde_json::from_slice::<Line<IgnoredAny, IgnoredAny>>(line);
            matches!(line, Ok(Line { entry: Entry::Start(_), .. }))
        };
        within.clone().filter(|&at| starts(&self.lines[at])).collect()
    }
}

/// Judges logs.
pub type Judge<'a> = &'a dyn Fn(Vec<Log>) -> Result<Outcome, Error>;

/// Returns the smallest part of `logs` that was found to be rejected at the same line, counted in
/// the whole log, and for the same reason: the logs that are left, in their order. `None` if the
/// logs are not rejected like this.
#[must_use]
pub fn shrink(logs: &[Text], rejection: &Divergence, judge: Judge<'_>) -> Option<Vec<Text>> {
    let LogLine { log, line } = rejection.line.as_ref()?;
    let rejected = logs.iter().position(|text| text.name == *log)?;
    let cut = Cut { logs, rejected, line: *line, reason: Reason::of(rejection), judge };
    let mut best: Vec<Part> = logs.iter().map(|text| Some(0..text.lines.len())).collect();
    if !cut.is_same(&best) {
        return None;
    }
    let end = usize::try_from(*line).unwrap_or(usize::MAX).min(logs[rejected].lines.len());
    cut.better(&mut best, rejected, Some(0..end));
    // The need of one log depends on what is left of the others.
    loop {
        let before = best.clone();
        for at in (0..logs.len()).filter(|&at| at != rejected) {
            if best[at].is_some() && !cut.better(&mut best, at, None) {
                cut.shorten(&mut best, at);
            }
        }
        for at in 0..logs.len() {
            cut.begin_later(&mut best, at);
        }
        if best == before {
            return Some(cut.texts(&best));
        }
    }
}

/// The lines that are left of a log, if any are.
type Part = Option<Range<usize>>;

/// Why a line is rejected.
#[derive(PartialEq)]
struct Reason {
    happened: String,
    kind: Kind,
    what: Option<String>,
}

impl Reason {
    fn of(rejection: &Divergence) -> Reason {
        let what = rejection.differences.first().map(|found| found.what.clone());
        Reason { happened: rejection.happened.clone(), kind: rejection.kind, what }
    }
}

struct Cut<'a> {
    logs: &'a [Text],
    /// The place of the log with the line that is rejected, and that line.
    rejected: usize,
    line: u64,
    reason: Reason,
    judge: Judge<'a>,
}

impl Cut<'_> {
    fn texts(&self, parts: &[Part]) -> Vec<Text> {
        let text = |(text, part): (&Text, &Part)| {
            let lines = text.lines[part.clone()?].to_vec();
            Some(Text { name: text.name.clone(), lines })
        };
        self.logs.iter().zip(parts).filter_map(text).collect()
    }

    /// Returns whether these parts are rejected at the same line, for the same reason.
    fn is_same(&self, parts: &[Part]) -> bool {
        let before = parts[self.rejected].as_ref().map_or(0, |part| part.start as u64);
        let logs = self.texts(parts).iter().map(Text::log).collect();
        let Ok(Outcome { rejection: Some(rejection), .. }) = (self.judge)(logs) else {
            return false;
        };
        let same =
            |at: &LogLine| at.log == self.logs[self.rejected].name && at.line + before == self.line;
        rejection.line.as_ref().is_some_and(same) && Reason::of(&rejection) == self.reason
    }

    /// Leaves this of a log, if it is enough.
    fn better(&self, best: &mut [Part], at: usize, part: Part) -> bool {
        let whole = std::mem::replace(&mut best[at], part);
        let enough = self.is_same(best);
        if !enough {
            best[at] = whole;
        }
        enough
    }

    /// Leaves out the starts of a node before one that is enough.
    fn begin_later(&self, best: &mut [Part], at: usize) {
        let Some(range) = best[at].clone() else { return };
        for start in self.logs[at].starts(&range).into_iter().rev().take(STARTS) {
            if start > range.start && self.better(best, at, Some(start..range.end)) {
                return;
            }
        }
    }

    /// Leaves the shortest beginning of a log that is enough.
    fn shorten(&self, best: &mut [Part], at: usize) {
        let Some(Range { start, end }) = best[at].clone() else { return };
        let (mut least, mut most) = (start + 1, end);
        while least < most {
            let middle = usize::midpoint(least, most);
            if self.better(best, at, Some(start..middle)) {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
    }
}
