//! The stories are scripts in `testdata`. Here is what can be wrong with a configuration.

use std::time::Duration;

use super::{Config, Error, Stoller};
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{DurationError, MemberError, Members, Node, NodeId};
use crate::stories;

impl Scripted for Stoller {
    fn configured(id: NodeId, members: Members) -> Config {
        Config { id, members, ask: Duration::from_millis(100) }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<Stoller>>("src/protocol/stoller/testdata");
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused_with_a_remedy() {
    let config = || Stoller::configured(id(2), Members::new([1, 2, 3].map(id)).expect("valid"));
    let build = |change: &dyn Fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        Node::<Stoller>::new(config, None, 0).expect_err("must be refused")
    };
    assert_eq!(
        build(&|c| c.id = id(9)).to_string(),
        "node 9 is not among the members (1, 2, 3): add it to them, or use another id"
    );
    assert_eq!(
        build(&|c| c.ask = Duration::ZERO),
        DurationError::OutOfRange { section: "stoller", name: "ask", value: Duration::ZERO }.into()
    );
    let stranger = build(&|c| c.id = id(9));
    assert!(matches!(stranger, Error::Members(MemberError::NotAMember { .. })));
    let damaged = Node::<Stoller>::new(config(), Some(u64::MAX), 0);
    assert_eq!(damaged.expect_err("refused"), Error::NoIncarnationLeft { node: id(2) });
}
