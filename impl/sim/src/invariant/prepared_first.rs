//! `prepared-first`: a program that prepares itself is told that it leads when it has done so, and
//! not before.

use super::{Fact, Invariant, View};
use bellwether_core::protocol::Role;

#[derive(Debug)]
pub(super) struct PreparedFirst;

impl Invariant for PreparedFirst {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        if face.role != Role::Leader || face.prepared {
            return Ok(());
        }
        Err(format!("n{} leads for its program, which has not prepared itself", face.id))
    }
}
