//! `first-leader-stays`: the leader of the first fault leads to the end, in one epoch. It is asked
//! where one other node flaps, and a majority hears the leader all the time.

use super::{Fact, Invariant, View};

/// The place of the leader, and its epoch.
#[derive(Debug, Default)]
pub(super) struct FirstLeaderStays(Option<(usize, Option<u64>)>);

impl Invariant for FirstLeaderStays {
    fn look(&mut self, view: View<'_>, _: Fact) -> Result<(), String> {
        if view.at < view.terms.from {
            return Ok(());
        }
        let Some((place, epoch)) = self.0 else {
            let first = view.nodes.iter().position(|face| face.leads(view.at).is_some());
            let place = first.ok_or("no node leads when the faults begin")?;
            self.0 = Some((place, view.nodes[place].term.and_then(|term| term.epoch)));
            return Ok(());
        };
        let face = &view.nodes[place];
        match face.leads(view.at) {
            Some(term) if term.epoch == epoch => Ok(()),
            _ => Err(format!("n{} leads no more, although a majority heard it", face.id)),
        }
    }
}
