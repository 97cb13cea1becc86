//! `settles` and `stabilises`: once all faults are over, all nodes agree on one leader (on the
//! highest) within the bound, and go on to. All are the members by the lists of the leader, of
//! which none is pending then if those are up that can decide it.

use super::{Fact, Invariant, View, has_majority};

#[derive(Debug)]
pub(super) struct Settles {
    /// Whether it must be the highest.
    pub(super) highest: bool,
}

impl Invariant for Settles {
    fn look(&mut self, view: View<'_>, _: Fact) -> Result<(), String> {
        let by = view.terms.calm + view.terms.bound;
        if view.at < by {
            return Ok(());
        }
        let leads = view.agreed.map(|(_, leader)| leader);
        let leader = view.nodes.iter().find(|face| Some(face.id) == leads);
        if let Some(lists) = leader.and_then(|face| face.lists.as_ref())
            && let Some(pending) = &lists.pending
            && has_majority(view.nodes, lists, |face| face.up)
        {
            let number = pending.config_epoch();
            return Err(format!("list {number} is pending, and majorities are up to decide it"));
        }
        let highest = view.nodes.last().map(|face| face.id);
        match view.agreed {
            Some((since, leader)) if since <= by => match self.highest {
                true if Some(leader) != highest => {
                    Err(format!("all follow n{leader}, which is not the highest"))
                }
                _ => Ok(()),
            },
            Some((since, leader)) => Err(format!(
                "all agree on n{leader} only {:.3?} after the last fault",
                since.since(view.terms.calm)
            )),
            None => {
                let bound = view.terms.bound;
                Err(format!("nodes disagree, and all faults were over {bound:.3?} ago or more"))
            }
        }
    }
}
