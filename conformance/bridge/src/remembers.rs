//! What a node remembers, as text: to be compared where two nodes read as one, and to be shown.
//!
//! Absolute times mean nothing to a core, so instants are left out. A field that the mapping
//! declares is left out as well.

use crate::divergence::Difference;
use bellwether_engine::protocol::Id;
use std::fmt::Debug;

/// In what two nodes `id` that read as one differ, if it is more than times and declared fields.
pub(crate) fn differences(
    id: Id,
    declared: &[(&str, &str)],
    here: &dyn Debug,
    there: &dyn Debug,
) -> Vec<Difference> {
    let declared: Vec<_> = declared.iter().map(|&(field, _)| field).collect();
    let (here, there) = (lines(here, &declared), lines(there, &declared));
    if here == there {
        return Vec::new();
    }
    let only = |one: &[String], other: &[String]| -> String {
        let only: Vec<_> = one.iter().filter(|line| !other.contains(line)).collect();
        if only.is_empty() {
            return one.join(" ");
        }
        only.iter().map(|line| line.trim_end_matches(',')).collect::<Vec<_>>().join(", ")
    };
    let words = format!(
        "'{}' here and '{}' after another execution, but both read as one process of the model",
        only(&here, &there),
        only(&there, &here)
    );
    vec![Difference::hidden(id, words)]
}

/// The lines of the debug form, one for each field.
fn lines(of: &dyn Debug, declared: &[&str]) -> Vec<String> {
    let text = format!("{of:#?}");
    let mut lines = Vec::new();
    // While a value is left out: how far the line is indented that ends it.
    let mut ends: Option<usize> = None;
    let mut instant = false;
    for line in text.lines() {
        let (indent, line) = (line.len() - line.trim_start().len(), line.trim());
        if let Some(until) = ends {
            ends = ends.filter(|_| indent > until);
            continue;
        }
        let field = line.split_once(": ");
        if field.is_some_and(|(name, _)| declared.contains(&name)) {
            ends = Some(indent).filter(|_| line.ends_with(['(', '{', '[']));
            continue;
        }
        lines.push(if instant { "_,".to_owned() } else { line.to_owned() });
        instant = line.ends_with("Time(");
    }
    lines
}
