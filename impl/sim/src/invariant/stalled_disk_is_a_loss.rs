//! `stalled-disk-is-a-loss`: a leader that can say nothing, as what it says waits for a disk that
//! does not answer, is silent to the others. Its program is told in time that it leads no longer.

use super::{Fact, Invariant, View};
use bellwether::protocol::Role;

#[derive(Debug)]
pub(super) struct StalledDiskIsALoss;

impl Invariant for StalledDiskIsALoss {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Waits { node, stalled: true, .. } = fact else { return Ok(()) };
        let face = &view.nodes[node];
        if face.role != Role::Leader {
            return Ok(());
        }
        Err(format!("n{} leads for its program, and its disk keeps it silent", face.id))
    }
}
