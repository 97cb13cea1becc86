//! How the members change in place, told of one node.

use std::sync::Arc;

use super::{Story, at, epoch, id, mark};
use crate::protocol::quorum::{Lists, Mark, Message};
use crate::protocol::{Birth, Input, Members, Node, Request};

fn members(number: u64, ids: &[u16]) -> Members {
    Members::new(ids.iter().copied().map(id)).expect("valid").numbered(number)
}

impl Story {
    fn is_asked_for(&mut self, milliseconds: u64, list: Members) -> String {
        self.at(milliseconds, Input::Request(Request::Change(list)))
    }

    fn lists(&self) -> &Lists {
        self.0.lists().expect("it knows some")
    }
}

#[test]
fn a_list_is_decided_once_a_majority_of_both_lists_has_it() {
    let mut three = Story::of_a_leader();
    let said = three.is_asked_for(1_400, members(2, &[1, 2, 3, 4]));
    let told = "durable: 1 to 3, Lists 1.1 to 1, Lists 1.1 to 2, Lists 1.1 to 4, Coordinator 1.2 ";
    assert!(said.starts_with(told), "{said}");
    assert_eq!(three.is_asked_for(1_405, members(2, &[2, 3])), "", "one after the other");
    let old = three.hears(1_410, 1, Message::Ack(epoch(1), 2, Mark::FIRST));
    assert!(old.starts_with("Lists 1.1 to 1"), "it has the old ones: {old}");
    let decided = three.hears(1_420, 1, Message::Ack(epoch(1), 2, mark(1, 1)));
    assert!(decided.contains("durable: 1 to 3, Lists 1.2 to 1"), "two of three: {decided}");
    assert_eq!(three.0.leads(at(2_310)), Some(epoch(1)), "it leads on in its epoch");
    assert_eq!((three.lists().decided.count(), &three.lists().pending), (4, &None));
    assert_eq!(three.lists().decided.awaited(), [id(4)]);
    assert_eq!(three.0.config().members.count(), 4);
}

#[test]
fn a_leader_lets_in_who_is_to_vote_and_counts_it_from_then_on() {
    let mut three = Story::of_a_leader();
    three.is_asked_for(1_400, members(2, &[1, 2, 3, 4]));
    three.hears(1_420, 1, Message::Ack(epoch(1), 2, mark(1, 1)));
    let met = Message::Meet(Birth::random(44), None, mark(1, 2));
    let said = three.hears(1_430, 4, met.clone());
    assert!(said.starts_with("durable: 1 to 3, Lists 1.3 to 1"), "{said}");
    assert_eq!(three.lists().latest().birth(id(4)), Some(Birth::random(44)));
    assert_eq!(three.hears(1_440, 4, met), "Lists 1.3 to 4", "that is pending");
    assert_eq!(three.hears(1_450, 1, Message::Ack(epoch(1), 3, mark(1, 3))), "", "two of four");
    let decided = three.hears(1_460, 4, Message::Ack(epoch(1), 3, mark(1, 3)));
    assert!(decided.contains("Lists 1.4 to 1"), "{decided}");
    let list = three.lists().decided.clone();
    assert_eq!((list.voters().len(), list.config_epoch()), (4, 3));

    // Node 4 has lost its state.
    let again = Message::Meet(Birth::random(45), None, Mark::FIRST);
    let said = three.hears(1_500, 4, again);
    assert!(said.starts_with("durable: 1 to 3, Lists 1.4 to 4, Lists 1.5 to 1"), "{said}");
    three.hears(1_510, 1, Message::Ack(epoch(1), 4, mark(1, 5)));
    let alone = three.hears(1_520, 4, Message::Ack(epoch(1), 4, mark(1, 5)));
    assert_eq!(
        alone, "",
        "two of the three that have forgotten nothing are not a majority of four"
    );
    let decided = three.hears(1_530, 2, Message::Ack(epoch(1), 4, mark(1, 5)));
    assert!(decided.contains("Lists 1.6 to 1"), "{decided}");
}

#[test]
fn a_leader_proposes_no_list_that_does_not_follow_or_in_which_it_may_not_lead() {
    let mut three = Story::of_a_leader();
    for list in [members(2, &[1, 2]), members(1, &[1, 2, 3, 4]), members(3, &[1, 2, 3, 4])] {
        assert_eq!(three.is_asked_for(1_400, list.clone()), "", "{list:?}");
    }
    let observes = members(2, &[1, 2, 3]).with_observers([id(3)]).expect("valid");
    assert_eq!(three.is_asked_for(1_400, observes), "");
}

#[test]
fn a_voter_grants_nothing_to_a_node_with_older_lists_and_tells_it() {
    let mut three = Story::of_a_leader();
    let pending = Some(members(2, &[1, 2, 3, 4]));
    let lists = Lists { decided: members(1, &[1, 2, 3]), pending, mark: mark(7, 1) };
    // Another has led since.
    let said = three.hears(1_400, 2, Message::Lists(Arc::new(lists.clone())));
    assert!(said.contains("there is a higher epoch"), "{said}");
    assert_eq!(three.0.leads(at(1_400)), None);

    let mut two = Story(super::node(2, None));
    two.at(0, Input::Boot);
    let said = two.hears(10, 1, Message::Lists(Arc::new(lists.clone())));
    assert!(said.starts_with("durable: 0"), "{said}");
    two.at(1_200, Input::Wake);
    let older = two.hears(1_210, 1, Message::Claim(epoch(9), mark(6, 9), Birth::FOUNDER));
    assert_eq!(older, "Lists 7.1 to 1, Refuse 7 to 1");
    let same = two.hears(1_220, 4, Message::Claim(epoch(9), mark(7, 1), Birth::FOUNDER));
    assert!(same.starts_with("durable: 9 to 4, Grant 9 to 4"), "{same}");
    // It starts again with them, whatever it is configured with.
    let durable = two.0.core().map(|core| core.durable().clone());
    let again: Node<_> = super::node(2, durable);
    assert_eq!(again.config().members.count(), 4);
}
