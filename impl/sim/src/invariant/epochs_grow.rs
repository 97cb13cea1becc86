//! `epochs-grow`: behind every leader is a majority that has its epoch, or a higher one, on stable
//! storage. Whatever is granted from then on has a higher epoch, whatever crashes. It is a majority
//! of each list of members by which the leader was elected. A voter that has lost its state stands
//! behind the leader too: with its new birth it has no vote by these lists. So it holds whatever
//! disks are lost.

use bellwether_core::protocol::NodeId;
use bellwether_core::protocol::quorum::Lists;

use super::{Face, Fact, Invariant, View, has_majority};

/// The latest epoch of a leader, and its lists; its majorities must stand from then on.
#[derive(Debug, Default)]
pub(super) struct EpochsGrow(Option<(u64, NodeId, Lists)>);

impl Invariant for EpochsGrow {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        if let (Some(epoch), Some(lists)) =
            (face.term.and_then(|term| term.epoch), &face.elected_by)
            && self.0.as_ref().is_none_or(|latest| (latest.0, latest.1) < (epoch, face.id))
        {
            self.0 = Some((epoch, face.id, lists.clone()));
        }
        let Some((epoch, leader, lists)) = &self.0 else { return Ok(()) };
        let stands = |node: &Face| {
            node.durable.is_some_and(|granted| {
                (granted.epoch == *epoch && granted.to == Some(*leader)) || granted.epoch > *epoch
            })
        };
        if has_majority(view.nodes, lists, |node| stands(node) || node.has_forgotten(lists)) {
            return Ok(());
        }
        Err(format!("n{leader} has led epoch {epoch}, and no majority has that on disk"))
    }
}
