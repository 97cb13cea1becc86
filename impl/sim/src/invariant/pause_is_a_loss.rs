//! `pause-is-a-loss`: a process that stood still for longer than a leader may be silent does not
//! know whether the others have another leader by now. If its node led before and leads since, its
//! program is told that it leads when the others have had the time to hear so, and not before.

use super::{Fact, Invariant, View};
use bellwether::protocol::Role;

#[derive(Debug)]
pub(super) struct PauseIsALoss;

impl Invariant for PauseIsALoss {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Waits { node, paused: true, .. } = fact else { return Ok(()) };
        let face = &view.nodes[node];
        if face.role != Role::Leader {
            return Ok(());
        }
        Err(format!("n{} leads for its program, as if its process had not stood still", face.id))
    }
}
