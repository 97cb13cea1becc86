//! `settles` and `stabilises`: once all faults are over, all nodes agree on one leader (on the
//! highest) within the bound, and go on to. All are the members by the lists of the leader. A while
//! later all that are to vote do, also those that have lost their state, and no list is pending if
//! those are up that can decide it.

use std::time::Duration;

use bellwether_core::protocol::quorum::Lists;

use super::{Face, Fact, Invariant, View, has_majority};

/// How much later: a leader lets in one node after another, each at a round of its own.
const LETS_IN: Duration = Duration::from_secs(4);

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
            && view.at >= by + LETS_IN
        {
            nothing_waits(view.nodes, lists)?;
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

/// By these lists of the leader, there is nothing left to change.
fn nothing_waits(nodes: &[Face], lists: &Lists) -> Result<(), String> {
    if let Some(pending) = &lists.pending
        && has_majority(nodes, lists, |face| face.up && !face.has_forgotten(lists))
    {
        let number = pending.config_epoch();
        return Err(format!("list {number} is pending, and majorities are up to decide it"));
    }
    let list = lists.latest();
    let is_to_vote = |face: &&Face| list.votes(face.id) || list.awaited().contains(&face.id);
    match nodes.iter().filter(is_to_vote).find(|face| face.up && face.waits) {
        Some(face) => Err(format!("n{} is to vote, and waits to be let in", face.id)),
        None => Ok(()),
    }
}
