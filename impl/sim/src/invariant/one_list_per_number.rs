//! `one-list-per-number`: no two nodes ever know two lists of members with one number as decided,
//! not even one after the other. A node knows what it has durably.

use std::collections::BTreeMap;

use bellwether_core::protocol::{Members, NodeId};

use super::{Fact, Invariant, View};

/// The list of each number, and the node that has known it first.
#[derive(Debug, Default)]
pub(super) struct OneListPerNumber(BTreeMap<u64, (Members, NodeId)>);

impl Invariant for OneListPerNumber {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        let Some(lists) = &face.lists else { return Ok(()) };
        let (number, own) = (lists.decided.config_epoch(), &lists.decided);
        let (first, by) = self.0.entry(number).or_insert_with(|| (own.clone(), face.id));
        if first == own {
            return Ok(());
        }
        Err(format!("list {number} is {first} for n{by}, and {own} for n{}", face.id))
    }
}
