//! `lists-grow`: the lists of members that a node has durably never become older, whatever crashes,
//! for as long as it has its disk.

use std::collections::BTreeMap;

use bellwether_core::protocol::quorum::Mark;

use super::{Fact, Invariant, View};

/// How new the lists of each node were last, with each disk that it has had.
#[derive(Debug, Default)]
pub(super) struct ListsGrow(BTreeMap<(usize, u64), Mark>);

impl Invariant for ListsGrow {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        let Some(lists) = &face.lists else { return Ok(()) };
        match self.0.insert((place, face.wiped), lists.mark) {
            Some(before) if before > lists.mark => {
                Err(format!("n{} has {:?} after {before:?}", face.id, lists.mark))
            }
            _ => Ok(()),
        }
    }
}
