//! The stories are scripts in `testdata`. Here is which group is too large.

use super::ListRing;
use crate::protocol::ring::{Config, Timing};
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{Members, Node, NodeId};
use crate::stories;

impl Scripted for ListRing {
    fn configured(id: NodeId, members: Members) -> Config {
        Config { id, members, timing: Timing::DEFAULT }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<ListRing>>("src/protocol/list_ring/testdata");
}

#[test]
fn a_group_that_no_list_can_hold_is_refused() {
    let members = Members::new((1..=33).filter_map(NodeId::new)).expect("valid");
    let config = ListRing::configured(members.voters()[0], members);
    let refused = Node::<ListRing>::new(config, None, 0).expect_err("must be refused").to_string();
    assert_eq!(refused, "33 members are more than the 32 that a list holds: use another protocol");
}
