//! `lease-before-word`: what only a leader may say, a node says only of the epoch that it leads by
//! its own clock when it handles what the word follows from. A pause or a disk that stalls may hold
//! the word up after that; that makes it late, and the lease was counted from before.

use super::{Fact, Invariant, View};
use crate::subject::Says;

#[derive(Debug)]
pub(super) struct LeaseBeforeWord;

impl Invariant for LeaseBeforeWord {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Sent { from, says: Says::Leads(epoch), led, .. } = fact else { return Ok(()) };
        if led {
            return Ok(());
        }
        Err(format!("n{} speaks as leader of epoch {epoch} without a lease", view.nodes[from].id))
    }
}
