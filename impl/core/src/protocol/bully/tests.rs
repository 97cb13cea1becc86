//! The stories are scripts in `testdata`. Here is what can be wrong with a configuration.

use std::time::Duration;

use super::{Bully, Config, Timing};
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{MemberError, Members, Node, NodeId};
use crate::stories;

impl Scripted for Bully {
    fn configured(id: NodeId, members: Members) -> Config {
        Config { id, members, timing: Timing::DEFAULT }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<Bully>>("src/protocol/bully/testdata");
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

#[test]
fn settings_that_contradict_themselves_are_refused_with_numbers_and_a_remedy() {
    let build = |change: &dyn Fn(&mut Config)| {
        let mut config = Bully::configured(id(2), Members::new([1, 2, 3].map(id)).expect("valid"));
        change(&mut config);
        Node::<Bully>::new(config, None, 0).expect_err("must be refused").to_string()
    };
    assert_eq!(
        build(&|s| s.id = id(9)),
        "node 9 is not among the members (1, 2, 3): add it to them, or use another id"
    );
    assert_eq!(
        build(&|s| s.timing.election = Duration::ZERO),
        "bully.election is 0ns: use more than 0s and at most 24h"
    );
    assert_eq!(
        build(&|s| s.timing.coordinator = s.timing.election),
        "bully.coordinator (300ms) must be longer than bully.election (300ms): the winner \
         waits that long before it announces itself; try 900ms"
    );
    assert_eq!(
        build(&|s| s.timing.heartbeat = Duration::from_millis(250)),
        "bully.heartbeat (250ms) must be shorter than half of bully.watch (500ms): one lost \
         heartbeat would start an election; try 100ms"
    );
    let twice = Members::new([id(1), id(2), id(1)]).expect_err("must be refused");
    assert_eq!(twice, MemberError::DuplicateId { node: id(1) });
    let none = Members::new([]).expect_err("must be refused");
    assert!(none.to_string().starts_with("0 member(s) configured"), "{none}");
    let crowd = Members::new((1..=300).map(id)).expect_err("must be refused");
    assert!(crowd.to_string().starts_with("more than 255 member(s)"), "{crowd}");
}
