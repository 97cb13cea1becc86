//! Worlds in which the list of members changes, as the walk of the recommended rules takes them.

use bellwether_conformance::further::further;
use bellwether_conformance::mapping::quorum::{AnyQuorum, LetIn, Recommended};
use bellwether_conformance::mapping::{Further, Mapping};
use bellwether_core::protocol::quorum::{self, Quorum};
use bellwether_core::protocol::{Input, Node, NodeId, Time};
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

/// What a newcomer does wrong that waits to hear a member.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    IsLetInByAnObserver,
    AnswersWhatLetsItIn,
}

impl Hooks<AnyQuorum> for Mistake {
    fn handle(
        &mut self,
        node: &mut Wrapped<Node<Quorum>>,
        now: Time,
        input: Input<quorum::Message>,
    ) {
        let joins = node.core.core().is_some_and(Quorum::joins);
        let [voter, observer] = [2, 3].map(|id| NodeId::new(id).expect("not zero"));
        match (*self, input) {
            (Mistake::IsLetInByAnObserver, Input::Receive { from, message })
                if joins && from == observer =>
            {
                node.feed(now, Input::Receive { from: voter, message });
            }
            (Mistake::AnswersWhatLetsItIn, Input::Receive { .. }) if joins => {
                node.feed(now, input);
                node.feed(now, input);
            }
            _ => node.feed(now, input),
        }
    }
}

#[test]
fn a_newcomer_takes_part_when_it_has_heard_a_voter_and_not_before() {
    for mistake in [Mistake::IsLetInByAnObserver, Mistake::AnswersWhatLetsItIn] {
        let wrong = WrongMapping::new(AnyQuorum::of::<LetIn>(), mistake);
        let found = compared::first_difference(&wrong, Scenario::calm(4));
        assert!(found.is_some_and(|found| found.probe), "{mistake:?}");
    }
}
