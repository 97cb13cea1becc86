//! What a node tells the outside that stands for a process.

use super::{QuorumMapping, Variant, spec};
use crate::mapping::{ExpectedFacts, ProcessView, Waits, process_id};
use bellwether_bridge::program::Limits;
use bellwether_core::protocol::{Members, NodeId};
use bellwether_model::protocol::Ids;

/// It knows the epoch of the leader that it is, or that it has heard. A leader leads by the lease
/// of its epoch, may name any other that may lead, and waits for the one that it has invited.
pub(super) fn facts<V: Variant>(of: &ProcessView<'_, spec::Quorum>) -> ExpectedFacts<spec::Quorum> {
    let ProcessView { id, nodes, process, stable } = *of;
    let leads = process.role == spec::Role::Leader;
    let voters = V::RULES.voters(process.list, nodes);
    let witnesses: Ids = V::RULES.witness.into_iter().filter(|id| id.index() < nodes).collect();
    let candidates = voters.except(witnesses);
    ExpectedFacts {
        epoch: process.leader.map(|_| u64::from(stable.epoch)),
        prepares: None,
        lease: leads.then_some(spec::Timer::Lease),
        waits_for: waits_for::<V>(of, voters, candidates),
        successors: if leads { candidates.without(id) } else { Ids::NONE },
        awaited: Some(process.invited.into_iter().collect()),
        may_lead: Some(candidates),
        witnesses,
    }
}

/// With a majority of supports, a process canvasses on only for those that come before it: the
/// higher ones, and the last leader. Which majority it needs is not said where lists change.
fn waits_for<V: Variant>(
    of: &ProcessView<'_, spec::Quorum>,
    voters: Ids,
    candidates: Ids,
) -> Waits<spec::Quorum> {
    let ProcessView { id, process, stable, .. } = *of;
    let supports = process.granted;
    if process.role != spec::Role::Canvassing {
        return Waits::Nothing;
    }
    if QuorumMapping::<V>::CHANGES {
        return Waits::Unsaid;
    }
    if 2 * supports.len() <= voters.len() {
        return Waits::Nothing;
    }
    let never = matches!(V::RULES.preemption, spec::Preemption::Never);
    let last = stable.granted_to.filter(|_| V::RULES.returns && never);
    let before = candidates.iter().filter(|&other| other > id || last == Some(other));
    Waits::For(spec::Timer::Election, before.filter(|&other| !supports.contains(other)).collect())
}

/// A candidate does without an answer that is late, a leader that is silent has no lease any more,
/// and the promises to it are over before the lowest node runs, which a higher one may outrank.
/// Which members may lead is not said where lists change.
pub(super) fn limits<V: Variant>(members: &Members) -> Option<Limits> {
    let timing = QuorumMapping::<V>::TIMING;
    let never_lead = [V::RULES.observer, V::RULES.witness];
    let leads =
        |other: &NodeId| process_id(*other).is_none_or(|id| !never_lead.contains(&Some(id)));
    let candidates = u32::try_from(members.iter().filter(leads).count()).unwrap_or(u32::MAX);
    let election = timing.promise + timing.skew * candidates + timing.election + timing.coordinator;
    let all = Limits { lifetime: timing.election, silence: timing.lease, election };
    Some(all).filter(|_| !QuorumMapping::<V>::CHANGES)
}
