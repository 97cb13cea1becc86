//! Lists of members that change: the worlds in which they do, and the lists with which a node may
//! be started again, or must not.

use super::{AnyQuorum, Joins, LetIn, Promotes, QuorumMapping, Variant, program, spec};
use crate::mapping::{Further, Start, node_id, strangers};
use bellwether_bridge::program::Refusal;
use bellwether_core::protocol::{Members, Node, NodeId};
use bellwether_model::protocol::{Id, Ids};
use bellwether_model::world::Scenario;

/// What a node is started with, and the rules by which it boots; none if it must refuse.
type With = (&'static str, Members, Option<spec::Quorum>);

/// The worlds in which the list changes. Where two become three, a majority of three can be none of
/// the two; where three become four, a majority of three is none of the four.
pub(super) fn worlds() -> Vec<Further<AnyQuorum>> {
    let world = |mapping, scenario| {
        let happens = "the list of members changes";
        Further { mapping, scenario, happens }
    };
    let restart = |nodes| Scenario::calm(nodes).with_crashes(1, 1);
    vec![
        world(AnyQuorum::of::<Joins>(), restart(3)),
        world(AnyQuorum::of::<Joins>(), restart(4)),
        world(AnyQuorum::of::<Promotes>(), restart(3)),
        world(AnyQuorum::of::<LetIn>(), Scenario::calm(4).with_crashes(1, 0)),
    ]
}

/// How a voter that has kept this starts again with other lists. Of one that has granted nothing,
/// the specification does not say whether it has run.
pub(super) fn starts<V: Variant>(
    id: NodeId,
    members: &Members,
    kept: spec::Stable,
    durable: &program::Durable,
) -> Vec<Start<Node<program::Quorum>, spec::Quorum>> {
    if !QuorumMapping::<V>::CHANGES || kept == spec::Stable::default() {
        return Vec::new();
    }
    let start = |(with, members, by): With| {
        let config = QuorumMapping::<V>::config(id, &members);
        let node = Node::<program::Quorum>::new(config, Some(durable.clone()), 0);
        Start { with, program: node.map_err(Refusal::from), by }
    };
    lists::<V>(id, members, kept.list).into_iter().map(start).collect()
}

/// The lists with which a voter may be started, or must not, that has had a part in this one. The
/// next one has one voter more or fewer, and what stays is a majority.
fn lists<V: Variant>(id: NodeId, members: &Members, kept: spec::List) -> Vec<With> {
    let nodes = members.count();
    let voters = V::RULES.members(kept, nodes).unwrap_or(Ids::NONE);
    let voters: Vec<_> =
        voters.except(V::RULES.observers(kept, nodes)).iter().map(node_id).collect();
    let new: Vec<_> = strangers(members).collect();
    let other = voters.iter().copied().find(|&other| other != id);
    let (Some(next), Some(other), &[one, two]) = (next::<V>(kept), other, &new[..]) else {
        return Vec::new();
    };
    if !voters.contains(&id) {
        return Vec::new();
    }
    let own = u64::from(kept) + Members::FIRST;
    let of = |config_epoch, left: &[NodeId], joined: &[NodeId]| {
        let stay = voters.iter().filter(|&voter| !left.contains(voter));
        Members::of_any_size(stay.chain(joined).copied()).numbered(config_epoch)
    };
    let fewer = Some(next).filter(|_| voters.len() > 2);
    let mut all = vec![
        ("one voter more under the same number", of(own, &[], &[one]), None),
        ("one voter more", of(own + 1, &[], &[one]), Some(next)),
        ("one voter fewer", of(own + 1, &[other], &[]), fewer),
        ("a voter in the place of another", of(own + 1, &[other], &[one]), None),
        ("two voters more", of(own + 1, &[], &[one, two]), None),
        ("three changes by two lists", of(own + 2, &[other], &[one, two]), None),
    ];
    if own > Members::FIRST {
        all.push(("the list before", of(own - 1, &[], &[]), None));
    }
    if let Some(skips) = after_next::<V>(id, kept, nodes) {
        all.push(("two changes by two lists", of(own + 2, &[other], &[one]), Some(skips)));
    }
    all
}

/// Rules by which every process is a voter of the list after this one, and of this one; if lists
/// are known so far.
fn next<V: Variant>(kept: spec::List) -> Option<spec::Quorum> {
    let rules = spec::Quorum {
        lists: spec::Lists::SwapsInSteps,
        observing: spec::Observing::Votes,
        ..V::RULES
    };
    (kept < 2).then_some(rules)
}

/// Rules by which a process that has kept the first list is started with the third. It is new to
/// that: the list between is not known to have had a leader.
fn after_next<V: Variant>(id: NodeId, kept: spec::List, nodes: usize) -> Option<spec::Quorum> {
    let rules = spec::Quorum { lists: spec::Lists::ReplacesInSteps, ..V::RULES };
    (kept == 0 && id == node_id(Id::at(nodes - 1))).then_some(rules)
}
