//! The tables of `docs/detectors.md`, in Markdown.

use std::fmt::Write;
use std::time::Duration;

use bellwether_core::detector::SettingsError;
use bellwether_core::protocol::Time;
use comfy_table::{CellAlignment, Table, presets};

use crate::network::{Kind, trace};
use crate::trial::{self, Choice, Detection, Outcome};

/// How long each process is watched.
pub(crate) const LENGTH: Duration = Duration::from_secs(10 * 3_600);

/// Of the long traces.
pub(crate) const SEED: u64 = 2002;

/// All that is printed.
pub(crate) fn tables() -> Result<String, SettingsError> {
    let mut text = String::new();
    let sections = [
        ("The networks", networks()),
        ("Ten hours, and crashes at any moment", late()?),
        ("Early crashes", early()?),
    ];
    for (title, table) in sections {
        // A `String` takes whatever is written.
        let _ = writeln!(text, "### {title}\n\n{table}\n");
    }
    Ok(text.trim_end().to_owned() + "\n")
}

fn networks() -> Table {
    let mut table = table(&["network", "what it is"], 0);
    for kind in Kind::ALL {
        table.add_row([kind.name(), kind.description()]);
    }
    table
}

/// Each detector on each network for ten hours.
fn late() -> Result<Table, SettingsError> {
    let mut table = table(
        &[
            "network",
            "detector",
            "detection, mean",
            "detection, worst",
            "mistakes per hour",
            "a mistake lasts",
            "right at a random moment",
        ],
        2,
    );
    for kind in Kind::ALL {
        let trace = trace(kind, LENGTH, SEED);
        for choice in Choice::defaults() {
            let Outcome { accuracy, detection } = trial::run(choice, &trace)?;
            table.add_row([
                kind.name().to_owned(),
                choice.name().to_owned(),
                milliseconds(detection.mean()),
                milliseconds(detection.worst),
                format!("{:.1}", accuracy.mistakes_per_hour()),
                accuracy.mistake_duration().map_or("-".to_owned(), milliseconds),
                format!("{:.4} %", 100.0 * accuracy.query_accuracy()),
            ]);
        }
    }
    Ok(table)
}

/// Each detector on processes that crash soon, and what it promises about all crashes.
fn early() -> Result<Table, SettingsError> {
    const COUNTS: [u32; 4] = [0, 1, 2, 10];
    let mut table = table(
        &[
            "detector",
            "setting",
            "none sent",
            "1 sent",
            "2 sent",
            "10 sent",
            "longest silence borne, as promised",
        ],
        2,
    );
    for choice in Choice::defaults() {
        let mut row = vec![choice.name().to_owned(), choice.setting()];
        for count in COUNTS {
            let mut worst = Duration::ZERO;
            for kind in Kind::ALL {
                let Detection { worst: here, .. } = trial::early_crashes(choice, kind, count)?;
                worst = worst.max(here);
            }
            row.push(milliseconds(worst));
        }
        let longest = choice.watch(Time::ZERO)?.bounds().longest;
        row.push(milliseconds(longest));
        table.add_row(row);
    }
    Ok(table)
}

/// A table whose columns from `numbers` on hold numbers.
fn table(heads: &[&str], numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(heads);
    if numbers > 0 {
        for column in table.column_iter_mut().skip(numbers) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn milliseconds(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1000.0;
    if milliseconds < 10.0 {
        format!("{milliseconds:.1} ms")
    } else {
        format!("{milliseconds:.0} ms")
    }
}
