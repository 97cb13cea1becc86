//! `epochs-in-order`: each leader has a higher epoch than all before it.

use super::{Fact, Invariant, View};

/// The highest epoch that was led.
#[derive(Debug, Default)]
pub(super) struct EpochsInOrder(Option<(u64, bellwether_core::protocol::NodeId)>);

impl Invariant for EpochsInOrder {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        // One whose lease is over leads no more, also if it has not noticed yet.
        let leads = face.leads(view.at).and_then(|term| term.epoch);
        let Some(epoch) = leads else { return Ok(()) };
        match self.0 {
            Some((highest, leader)) if highest > epoch => Err(format!(
                "n{} leads epoch {epoch} after n{leader} has led epoch {highest}",
                face.id
            )),
            _ => {
                self.0 = Some((epoch, face.id));
                Ok(())
            }
        }
    }
}
