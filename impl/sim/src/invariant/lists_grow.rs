//! `lists-grow`: the lists of members that a node has durably never become older, whatever crashes.

use std::collections::BTreeMap;

use bellwether_core::protocol::quorum::Mark;

use super::{Fact, Invariant, View};

/// How new the lists of each node were last.
#[derive(Debug, Default)]
pub(super) struct ListsGrow(BTreeMap<usize, Mark>);

impl Invariant for ListsGrow {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        let Some(lists) = &face.lists else { return Ok(()) };
        match self.0.insert(place, lists.mark) {
            Some(before) if before > lists.mark => {
                Err(format!("n{} has {:?} after {before:?}", face.id, lists.mark))
            }
            _ => Ok(()),
        }
    }
}
