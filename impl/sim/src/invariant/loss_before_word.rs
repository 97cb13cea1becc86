//! `loss-before-word`: before a node gives an epoch away, or claims the next one, its program knows
//! that it leads no longer, and has ended the work that only a leader may do; or the lease is over.

use super::{Fact, Invariant, View};
use crate::subject::Says;

#[derive(Debug)]
pub(super) struct LossBeforeWord;

impl Invariant for LossBeforeWord {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Sent { from, says, .. } = fact else { return Ok(()) };
        let (Says::Grants(epoch) | Says::Gives(epoch, _) | Says::Claims(epoch)) = says else {
            return Ok(());
        };
        let face = &view.nodes[from];
        match face.leads(view.at).and_then(|term| term.epoch) {
            Some(led) if led < epoch => Err(format!(
                "n{} gives epoch {epoch} away, and its program leads epoch {led}",
                face.id
            )),
            _ => Ok(()),
        }
    }
}
