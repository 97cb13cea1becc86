//! Lists of members that change: the worlds in which they do, and who is heard by them.

use super::values::{list, mark, program_mark};
use super::{AnyQuorum, Joins, Leaves, LetIn, Promotes, QuorumMapping, Variant, program, spec};
use crate::mapping::{Further, Step, node_id};
use bellwether_core::protocol::{MemberError, Members};
use bellwether_model::protocol::{Id, Ids, MAX_NODES};
use bellwether_model::world::Scenario;

/// The worlds in which the list changes, at any moment of an election.
pub(super) fn worlds() -> Vec<Further<AnyQuorum>> {
    let world = |mapping, scenario| {
        let happens = "the list of members changes";
        Further { mapping, scenario, happens }
    };
    let restart = Scenario::calm(3).with_crashes(1, 1);
    vec![
        world(AnyQuorum::of::<Joins>(), restart),
        world(AnyQuorum::of::<Promotes>(), restart),
        world(AnyQuorum::of::<Leaves>(), restart),
        world(AnyQuorum::of::<LetIn>(), Scenario::calm(4).with_crashes(1, 0)),
    ]
}

impl<V: Variant> QuorumMapping<V> {
    /// The first list of members.
    pub(super) fn first(members: &Members) -> Result<Members, MemberError> {
        let listed = Self::LISTED && members.count() <= MAX_NODES;
        if listed { Self::listed(0, members.count()) } else { Ok(members.clone()) }
    }

    /// The list with this place among those of the specification, in a group of so many.
    pub(super) fn listed(list: spec::List, nodes: usize) -> Result<Members, MemberError> {
        let ids = V::RULES.members(list, nodes).unwrap_or(Ids::NONE);
        let given = Members::of_any_size(ids.iter().map(node_id));
        let observers = V::RULES.observers(list, nodes).iter().map(node_id);
        let given = given.numbered(u64::from(list) + Members::FIRST);
        given.with_observers(observers)?.with_witnesses(V::RULES.witness.map(node_id))
    }

    /// The lists that a node knows: the one that is decided, and the latest.
    pub(super) fn lists(lists: &program::Lists) -> (spec::List, spec::List) {
        // Where lists do not change, the one that there is is the first.
        if !Self::CHANGES {
            return (0, 0);
        }
        (list(lists.decided.config_epoch()), list(lists.latest().config_epoch()))
    }

    pub(super) fn mark(of: program::Mark) -> spec::Mark {
        if Self::CHANGES { mark(of) } else { spec::Mark::FIRST }
    }

    pub(super) fn program_lists(
        decided: spec::List,
        latest: spec::List,
        mark: spec::Mark,
    ) -> program::Lists {
        let of = |list| Self::listed(list, V::NODES).ok();
        let first = || Members::of_any_size(Id::all(V::NODES).map(node_id));
        let pending = (latest != decided).then(|| of(latest)).flatten();
        let decided = of(decided).unwrap_or_else(first);
        program::Lists { decided, pending, mark: program_mark(mark) }
    }
}

/// What a process takes the sender of a message for, and itself.
pub(super) struct Heard {
    /// Whether the sender is a member by one of the lists.
    pub(super) is_member: bool,
    /// Whether the sender votes by one of them.
    pub(super) votes: bool,
    /// Whether the process itself votes by none.
    pub(super) observes: bool,
}

impl Heard {
    pub(super) fn of<V: Variant>(step: &Step<'_, spec::Quorum>, from: Id) -> Self {
        let spec::Process { list, decided, .. } = *step.before;
        let members = |list| V::RULES.members(list, step.nodes).unwrap_or(Ids::NONE);
        let voters = |list| members(list).except(V::RULES.observers(list, step.nodes));
        let voters = voters(list).and(voters(decided));
        Self {
            is_member: members(list).and(members(decided)).contains(from),
            votes: voters.contains(from),
            observes: !voters.contains(step.id),
        }
    }
}
