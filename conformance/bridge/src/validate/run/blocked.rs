//! No log can be read on: each waits for a message that no log has sent.

use super::{Differs, Mapping, Run, Vocabulary};
use crate::divergence::{Difference, Divergence};
use bellwether_core::trace::Entry;
use bellwether_engine::protocol::Id;

impl<M: Mapping, V: Vocabulary<M>> Run<'_, M, V> {
    /// Why not, of the first log that waits.
    pub(super) fn blocked(&self) -> Option<Box<Divergence>> {
        let at = self.sources.iter().position(|source| !source.done)?;
        let (from, id) = self.waits_for(at)?;
        let node = self.places[from];
        let mut words = format!("{id} of node {node}, whose log does not send it before");
        let mut waits = at;
        // Each waits for another: after so many steps the circle is told.
        for _ in 0..self.sources.len() {
            let (sender, _) = self.waits_for(waits)?;
            let Some(next) = self.sources.iter().position(|source| source.at == sender) else {
                break;
            };
            let Some((other, id)) = self.waits_for(next) else { break };
            let lines = &self.sources[next].lines;
            let (line, log) = (lines.line(), lines.name());
            words.push_str(&format!(
                "; line {line} of {log} waits for message {id} of node {}",
                self.places[other]
            ));
            waits = next;
            if next == at {
                break;
            }
        }
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
