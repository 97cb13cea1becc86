//! `at-most-one-leader`: at any instant of true time, at most one node believes in a lease that is
//! not over. Leases begin and grow when their node changes, so that is when two can overlap first.

use super::{Fact, Invariant, View};

#[derive(Debug)]
pub(super) struct AtMostOneLeader;

impl Invariant for AtMostOneLeader {
    fn look(&mut self, view: View<'_>, fact: Fact) -> Result<(), String> {
        let Fact::Changed(place) = fact else { return Ok(()) };
        let face = &view.nodes[place];
        if face.leads(view.at).is_none() {
            return Ok(());
        }
        let mut others = view.nodes.iter().filter(|other| other.id != face.id);
        match others.find_map(|other| Some((other.id, other.leads(view.at)?))) {
            Some((other, term)) if term.until != super::Moment(u64::MAX) => Err(format!(
                "n{} leads while n{other} has a lease for another {:.3?}",
                face.id,
                term.until.since(view.at)
            )),
            Some((other, _)) => Err(format!("n{} leads, and so does n{other}", face.id)),
            None => Ok(()),
        }
    }
}
