//! What the measurements print.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::slice;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

/// Prints a line of what was found. The exit status says it too, also if no process reads this.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints a line on what is going on.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The exit status of a run that has ended before all was done, and violated nothing.
pub(crate) const ENDED_EARLY: u8 = 3;

/// Prints a report, as JSON or as `print` does, and returns the exit status of the run.
pub(crate) fn conclude(json: bool, report: &Value, print: impl FnOnce(&Value)) -> u8 {
    if json {
        say(format_args!("{report:#}"));
    } else {
        print(report);
    }
    let some = |key| report[key].as_array().is_some_and(|all| !all.is_empty());
    match &report["ended_early"] {
        _ if some("violations") || some("rejected") => 1,
        Value::Null | Value::Bool(false) => 0,
        _ => ENDED_EARLY,
    }
}

/// With one digit after the point.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e4).round() / 10.0
}

/// The smallest of these, in order, below or at which such a part of them is.
pub(crate) fn quantile(times: &[Duration], part: f64) -> Duration {
    let last = times.len().saturating_sub(1);
    let position = ((times.len() as f64 * part).ceil() as usize).saturating_sub(1).min(last);
    times.get(position).copied().unwrap_or_default()
}

/// What the faults of one kind have cost.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    /// From the fault to the first write of the next leader.
    pub(crate) back: Vec<Duration>,
    /// The longest time between two writes during each fault.
    pub(crate) gaps: Vec<Duration>,
}

impl Cost {
    /// A row of the report.
    pub(crate) fn row(&self, fault: &str) -> Value {
        let median = |times: &[Duration]| {
            let mut times = times.to_vec();
            times.sort();
            (!times.is_empty()).then(|| milliseconds(quantile(&times, 0.5)))
        };
        json!({
            "fault": fault,
            "count": self.gaps.len(),
            "back_median_ms": median(&self.back),
            "back_longest_ms": self.back.iter().max().copied().map(milliseconds),
            "gap_median_ms": median(&self.gaps),
            "gap_longest_ms": self.gaps.iter().max().copied().map(milliseconds),
        })
    }
}

/// The heads of a table of these rows.
pub(crate) const COSTS: [(&str, &str); 6] = [
    ("fault", "fault"),
    ("count", "count"),
    ("leader back, ms", "back_median_ms"),
    ("at most", "back_longest_ms"),
    ("no write, ms", "gap_median_ms"),
    ("at most", "gap_longest_ms"),
];

/// Prints what a report says was violated.
pub(crate) fn say_violations(report: &Value) {
    match report["violations"].as_array() {
        Some(violations) if !violations.is_empty() => {
            say("VIOLATED:");
            violations.iter().for_each(|violation| say(format_args!("  {violation}")));
        }
        _ => say("Nothing was violated."),
    }
}

/// Prints a table of a list of rows, or of one row, in Markdown: for each head the key of what
/// stands below it.
pub(crate) fn say_table(heads: &[(&str, &str)], rows: &Value) {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(heads.iter().map(|(head, _)| *head));
    for row in rows.as_array().map_or(slice::from_ref(rows), Vec::as_slice) {
        table.add_row(heads.iter().map(|(_, key)| match &row[*key] {
            Value::String(text) => text.clone(),
            Value::Null => "-".to_owned(),
            Value::Number(number) => match number.as_f64() {
                Some(number) if number.abs() >= 100.0 => format!("{number:.0}"),
                _ => number.to_string(),
            },
            other => other.to_string(),
        }));
    }
    for (column, (_, key)) in table.column_iter_mut().zip(heads) {
        if !matches!(*key, "cluster" | "killed" | "fault" | "protocol" | "store") {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    say(table.to_string().trim_end());
}
