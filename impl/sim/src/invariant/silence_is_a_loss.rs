//! `pause-is-a-loss` and `stalled-disk-is-a-loss`: a leader that could say nothing for longer than
//! a leader may be silent does not know whether the others have another leader by now. Its process
//! stood still, or what it says waits for a disk that does not answer. Its program is told that it
//! leads no longer. If its node leads all the time, it is told so again when the others have had
//! the time to hear it, and not before.

use super::{Fact, Invariant, View};
use bellwether_core::protocol::Role;

/// What kept the leader silent.
#[derive(Clone, Copy, Debug)]
pub(super) enum SilenceIsALoss {
    Pause,
    StalledDisk,
}

impl Invariant for SilenceIsALoss {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Waits { node, paused, stalled } = fact else { return Ok(()) };
        let (silent, why) = match self {
            Self::Pause => (paused, "as if its process had not stood still"),
            Self::StalledDisk => (stalled, "and its disk keeps it silent"),
        };
        let face = &view.nodes[node];
        if !silent || face.role != Role::Leader {
            return Ok(());
        }
        Err(format!("n{} leads for its program, {why}", face.id))
    }
}
