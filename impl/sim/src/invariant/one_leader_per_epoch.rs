//! `one-leader-per-epoch`: no two nodes ever lead in one epoch, not even one after the other.

use std::collections::BTreeMap;

use super::{Fact, Invariant, View};
use bellwether_core::protocol::NodeId;

/// Which node has led each epoch.
#[derive(Debug, Default)]
pub(super) struct OneLeaderPerEpoch(BTreeMap<u64, NodeId>);

impl Invariant for OneLeaderPerEpoch {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        let Some(epoch) = face.term.and_then(|term| term.epoch) else { return Ok(()) };
        match *self.0.entry(epoch).or_insert(face.id) {
            first if first == face.id => Ok(()),
            first => Err(format!("n{} leads epoch {epoch}, which n{first} has led", face.id)),
        }
    }
}
