//! Worlds in which the list of members changes, as the walk of the recommended rules takes them.

use bellwether_conformance::further::further;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Joins, Recommended};
use bellwether_conformance::mapping::{Further, Mapping};
use bellwether_core::protocol::quorum::{self, Quorum};
use bellwether_core::protocol::{Input, Node, Output, Time};
use bellwether_model::check::Limits;
use bellwether_model::world::{Scenario, World};

use crate::compared;
use crate::wrapper::{Hooks, Wrapped, WrongMapping};

const QUORUM: AnyQuorum = AnyQuorum::of::<Recommended>();

#[test]
fn the_program_conforms_where_lists_change() {
    let worlds = QUORUM.further();
    assert!(!worlds.is_empty());
    for Further { mapping, scenario, .. } in &worlds {
        assert!(World::new(mapping.own_rules(), *scenario).is_ok(), "{scenario}");
    }
    let last = further(&QUORUM, &Limits::NONE).expect("comparable").expect("there are worlds");
    if let Some(divergence) = last.divergence {
        panic!("{}", divergence.report(false));
    }
    assert_eq!(last.summary.cut_short, None, "the number of states is no limit that was asked for");
    assert!(last.summary.transitions > 0);
}

/// What a node does wrong with its lists of members.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    CountsEachAcknowledgement,
    GrantsToOutdated,
    TakesNoLists,
    TellsNoLists,
    ForgetsPending,
}

impl Hooks<AnyQuorum> for Mistake {
    fn handle(
        &mut self,
        node: &mut Wrapped<Node<Quorum>>,
        now: Time,
        input: Input<quorum::Message>,
    ) {
        use quorum::Message::{Ack, Claim, Lists};
        let known = node.core.lists().map(|lists| lists.mark).unwrap_or_default();
        let input = match (*self, input) {
            (
                Mistake::CountsEachAcknowledgement,
                Input::Receive { from, message: Ack(e, r, _) },
            ) => Input::Receive { from, message: Ack(e, r, known) },
            (
                Mistake::GrantsToOutdated,
                Input::Receive { from, message: Claim(epoch, _, birth) },
            ) => Input::Receive { from, message: Claim(epoch, known, birth) },
            (Mistake::TakesNoLists, Input::Receive { message: Lists(_), .. }) => Input::Wake,
            (_, input) => input,
        };
        node.feed(now, input);
        node.outputs.retain_mut(|output| match output {
            Output::Send { message: Lists(_), .. } => *self != Mistake::TellsNoLists,
            Output::Persist(quorum::Durable { lists: Some(lists), .. })
                if *self == Mistake::ForgetsPending =>
            {
                lists.pending = None;
                true
            }
            _ => true,
        });
    }
}

#[test]
fn a_node_that_is_wrong_about_its_lists_is_found() {
    use Mistake::{CountsEachAcknowledgement, ForgetsPending, GrantsToOutdated, TakesNoLists};
    for mistake in [
        CountsEachAcknowledgement,
        GrantsToOutdated,
        TakesNoLists,
        Mistake::TellsNoLists,
        ForgetsPending,
    ] {
        let wrong = WrongMapping::new(AnyQuorum::of::<Joins>(), mistake);
        let found = compared::first_difference(&wrong, Scenario::calm(3).with_crashes(1, 1));
        assert!(found.is_some(), "{mistake:?}");
    }
}
