//! What every transition of a world gains, of everything that is counted.
//!
//! Most transitions gain the same as some other one, so each keeps only the number of what it
//! gains in a list of all that there is.

use super::metrics::{self, Happening, Metric, What};
use crate::protocol::Protocol;
use crate::words::plain;
use crate::world::Timing;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// One thing that is counted: a metric, and of those that are told apart the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) metric: &'static str,
    pub(super) meaning: &'static str,
    pub(super) kind: Option<String>,
}

/// How much of each column, in the order of the columns; those behind the last are 0.
type Row = Vec<u32>;

pub(super) struct Tally<P: Protocol> {
    metrics: Vec<Metric<P>>,
    columns: Vec<Column>,
    /// The column of each metric's kind, by its value.
    known: FxHashMap<(usize, What<P>), usize>,
    gains: Gains,
}

/// What each transition of a graph gains.
struct Gains {
    distinct: IndexSet<Row, FxBuildHasher>,
    /// Of each transition, the number of its row among the distinct ones.
    gained: Vec<u32>,
    /// Where the transitions of each state begin.
    offsets: Vec<usize>,
}

impl<P: Protocol> Tally<P> {
    pub(super) fn new(timing: Timing) -> Self {
        let metrics = metrics::all::<P>(timing);
        let whole = |m: &Metric<P>| Column { metric: m.name, meaning: m.meaning, kind: None };
        let columns = metrics.iter().map(whole).collect();
        Tally {
            metrics,
            columns,
            known: FxHashMap::default(),
            gains: Gains {
                distinct: std::iter::once(Row::new()).collect(),
                gained: Vec::new(),
                offsets: vec![0],
            },
        }
    }

    /// What one step gains.
    pub(super) fn row(&mut self, happening: &Happening<'_, P>) -> Row {
        let mut row = Row::new();
        for metric in 0..self.metrics.len() {
            let mut found: Vec<What<P>> = Vec::new();
            (self.metrics[metric].count)(happening, &mut |what| found.push(what));
            for what in found {
                add(&mut row, metric);
                if let Some(column) = self.column(metric, what) {
                    add(&mut row, column);
                }
            }
        }
        row
    }

    /// The column of a kind; none where kinds are not told apart.
    fn column(&mut self, metric: usize, what: What<P>) -> Option<usize> {
        if let Some(&column) = self.known.get(&(metric, what)) {
            return Some(column);
        }
        let kind = match what {
            What::One => return None,
            What::Message(message) => kind(serde_json::to_value(message).unwrap_or_default()),
            What::Timer(timer) => plain(&timer),
        };
        let Metric { name, meaning, .. } = self.metrics[metric];
        let column = Column { metric: name, meaning, kind: Some(kind) };
        let at = self.columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        });
        self.known.insert((metric, what), at);
        Some(at)
    }

    /// The next transition of the state at hand gains this.
    pub(super) fn push(&mut self, row: Row) {
        let (number, _) = self.gains.distinct.insert_full(row);
        self.gains.gained.push(u32::try_from(number).unwrap_or(u32::MAX));
    }

    /// The state at hand has no more transitions.
    pub(super) fn close(&mut self) {
        self.gains.offsets.push(self.gains.gained.len());
    }

    /// The columns with their positions, the kinds of a metric behind it.
    pub(super) fn columns(&self) -> Vec<(usize, Column)> {
        let mut columns: Vec<_> = self.columns.iter().cloned().enumerate().collect();
        let rank = |name| self.metrics.iter().position(|metric| metric.name == name);
        columns.sort_by_key(|(_, column)| (rank(column.metric), column.kind.clone()));
        columns
    }

    /// What the transition at this position of a state gains in a column.
    pub(super) fn gain(&self, column: usize) -> impl Fn(u32, usize) -> u32 {
        self.gains.of(column)
    }
}

impl Gains {
    fn of(&self, column: usize) -> impl Fn(u32, usize) -> u32 {
        let of = |row: &Row| row.get(column).copied().unwrap_or(0);
        let gains: Vec<u32> = self.distinct.iter().map(of).collect();
        move |from, at| gains[self.gained[self.offsets[from as usize] + at] as usize]
    }
}

fn add(row: &mut Row, column: usize) {
    if row.len() <= column {
        row.resize(column + 1, 0);
    }
    row[column] += 1;
}

/// The name of a message without its fields.
fn kind(message: serde_json::Value) -> String {
    match message {
        serde_json::Value::String(name) => name,
        serde_json::Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}
