//! No log can be read on: each waits for a message that no log has sent.

use super::{Differs, Lines, Mapping, Run, Vocabulary};
use crate::divergence::{Difference, Divergence};
use bellwether_core::protocol::NodeId;
use bellwether_core::trace::Entry;
use bellwether_engine::protocol::Id;

/// The log of a node, and for which message it waits: its sender, and its number.
struct Waits<'a> {
    node: usize,
    awaited: Option<(usize, u64)>,
    lines: &'a Lines,
}

/// For what one of these logs waits, and the logs for which it so waits, in words.
fn circle(logs: &[Waits<'_>], places: &[NodeId], first: usize) -> Option<String> {
    let (from, id) = logs[first].awaited?;
    let node = places[from];
    let mut words = format!("{id} of node {node}, whose log does not send it before");
    let mut waits = first;
    // Each waits for another: after so many steps the circle is told.
    for _ in 0..logs.len() {
        let (sender, _) = logs[waits].awaited?;
        let Some(next) = logs.iter().position(|log| log.node == sender) else { break };
        let Some((other, id)) = logs[next].awaited else { break };
        let (line, log) = (logs[next].lines.line(), logs[next].lines.name());
        let node = places[other];
        words.push_str(&format!("; line {line} of {log} waits for message {id} of node {node}"));
        waits = next;
        if next == first {
            break;
        }
    }
    Some(words)
}

impl<M: Mapping, V: Vocabulary<M>> Run<'_, M, V> {
    /// Why not, of the first log that waits.
    pub(super) fn blocked(&self) -> Option<Box<Divergence>> {
        let at = self.sources.iter().position(|source| !source.done)?;
        let waits = self.sources.iter().enumerate().map(|(at, source)| Waits {
            node: source.at,
            awaited: self.waits_for(at),
            lines: &source.lines,
        });
        let words = circle(&waits.collect::<Vec<_>>(), &self.places, at)?;
        let found = Difference::unexpected(Id::at(self.sources[at].at), "message", words);
        let Some(Entry::Step(step)) = self.sources[at].next.as_ref().map(|line| &line.entry) else {
            return None;
        };
        let words = self.happened(at, &step.happened);
        Some(self.reject(at, words, Differs { found: vec![found], ..Differs::default() }))
    }

    /// For which message a log waits: its sender, and its number.
    fn waits_for(&self, at: usize) -> Option<(usize, u64)> {
        let Entry::Step(step) = &self.sources[at].next.as_ref()?.entry else { return None };
        let (from, _, id) = self.numbered(&step.happened)?;
        Some((from, id))
    }
}
