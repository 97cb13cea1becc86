//! Lists of members that change: the worlds in which they do, and who is heard by them.

use super::values::{birth, mark, number, program_birth, program_mark};
use super::{AnyQuorum, Founds, Joins, Leaves, LetIn, Promotes};
use super::{QuorumMapping, Variant, program, spec};
use crate::mapping::{Further, Step, node_id, process_id};
use bellwether_core::protocol::{MemberError, Members, NodeId};
use bellwether_model::protocol::{Id, Ids, MAX_NODES};
use bellwether_model::world::Scenario;

/// The worlds in which the list changes, at any moment of an election.
pub(super) fn worlds() -> Vec<Further<AnyQuorum>> {
    let world = |mapping, scenario| {
        let happens = "the list of members changes";
        Further { mapping, scenario, happens }
    };
    let founds = AnyQuorum::of::<Founds>();
    let restart = Scenario::calm(3).with_crashes(1, 1);
    vec![
        world(AnyQuorum::of::<Joins>(), restart),
        world(AnyQuorum::of::<Promotes>(), restart),
        world(AnyQuorum::of::<Leaves>(), restart),
        world(AnyQuorum::of::<LetIn>(), Scenario::calm(4).with_crashes(1, 0)),
        Further { happens: "nodes start without a state", ..world(founds, restart) },
    ]
}

impl<V: Variant> QuorumMapping<V> {
    /// The first list of members.
    pub(super) fn first(members: &Members) -> Result<Members, MemberError> {
        let listed = Self::LISTED && members.count() <= MAX_NODES;
        if listed {
            Self::listed(spec::List::default(), members.count())
        } else {
            Ok(members.clone())
        }
    }

    /// This list of the specification, in a group of so many.
    pub(super) fn listed(list: spec::List, nodes: usize) -> Result<Members, MemberError> {
        let ids = V::RULES.members(list.place, nodes).unwrap_or(Ids::NONE);
        let given = Members::of_any_size(ids.iter().map(node_id));
        let observers = V::RULES.observers(list.place, nodes).iter().map(node_id);
        let given = given.numbered(u64::from(list.number) + Members::FIRST);
        let given = given.with_observers(observers)?;
        let given = given.with_witnesses(V::RULES.witness.map(node_id))?;
        // Who does not vote by the list before is awaited.
        let voters = V::RULES.voters(list, nodes);
        let voting = Members::of_any_size(voters.iter().map(node_id));
        let births = voters.iter().map(|id| (node_id(id), program_birth(list.births.of(id))));
        let voting = births.fold(voting, |voting, (id, birth)| voting.letting_in(id, birth));
        Ok(given.after(&voting))
    }

    /// The lists that a node knows: the one that is decided, and the latest.
    pub(super) fn lists(lists: &program::Lists) -> (spec::List, spec::List) {
        // Where lists do not change, the one that there is is the first.
        if !Self::CHANGES {
            return (spec::List::default(), spec::List::default());
        }
        (Self::list(&lists.decided), Self::list(lists.latest()))
    }

    fn list(members: &Members) -> spec::List {
        let all = |nodes: &[NodeId]| nodes.iter().copied().filter_map(process_id).collect::<Ids>();
        let (ids, observers) = (members.iter(), members.observers());
        let [ids, observers] = [all(&ids.collect::<Vec<_>>()), all(&observers.collect::<Vec<_>>())];
        let is_listed = |&place: &u8| {
            let listed = V::RULES.members(place, V::NODES);
            listed == Some(ids) && V::RULES.observers(place, V::NODES).common(ids) == observers
        };
        let births = members.iter().filter_map(|id| Some((process_id(id)?, members.birth(id)?)));
        spec::List {
            number: number(members.config_epoch()),
            place: (0..u8::MAX).find(is_listed).unwrap_or(u8::MAX),
            awaited: all(members.awaited()),
            births: births.fold(spec::Births::NONE, |all, (id, of)| all.with(id, birth(of))),
        }
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
    /// Whether the process itself votes by none, with its birth.
    pub(super) observes: bool,
}

impl Heard {
    pub(super) fn of<V: Variant>(step: &Step<'_, spec::Quorum>, from: Id) -> Self {
        let spec::Process { list, decided, .. } = *step.before;
        let lists = [list, decided];
        let members = |place| V::RULES.members(place, step.nodes).unwrap_or(Ids::NONE);
        let birth = step.stable.birth;
        Self {
            is_member: lists.iter().any(|list| members(list.place).contains(from)),
            votes: lists.iter().any(|&list| V::RULES.voters(list, step.nodes).contains(from)),
            observes: !V::RULES.has_vote(step.before, step.id, birth, step.nodes),
        }
    }
}
