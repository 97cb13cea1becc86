//! `epochs-grow`: behind every leader is a majority that has its epoch, or a higher one, on stable
//! storage. Whatever is granted from then on has a higher epoch, whatever crashes.

use super::{Fact, Invariant, View};

/// The latest epoch of a leader; its majority must stand from then on.
#[derive(Debug, Default)]
pub(super) struct EpochsGrow(Option<(u64, bellwether_core::protocol::NodeId)>);

impl Invariant for EpochsGrow {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        if let Some(epoch) = face.term.and_then(|term| term.epoch) {
            self.0 = self.0.max(Some((epoch, face.id)));
        }
        let Some((epoch, leader)) = self.0 else { return Ok(()) };
        let stands = view.nodes.iter().filter_map(|node| node.durable);
        let stands = stands.filter(|granted| {
            granted.epoch > epoch || (granted.epoch == epoch && granted.to == Some(leader))
        });
        let count = stands.count();
        if 2 * count > view.nodes.len() {
            return Ok(());
        }
        Err(format!("n{leader} has led epoch {epoch}, and only {count} nodes have that on disk"))
    }
}
