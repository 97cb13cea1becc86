//! The stories are scripts in `testdata`. Here is what can be wrong with a configuration.

use std::time::Duration;

use super::ChangRoberts;
use crate::protocol::ring::{Config, Error, Timing};
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{Members, Node, NodeId};
use crate::stories;

impl Scripted for ChangRoberts {
    fn configured(id: NodeId, members: Members) -> Config {
        Config { id, members, timing: Timing::DEFAULT }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<ChangRoberts>>("src/protocol/chang_roberts/testdata");
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

#[test]
fn settings_that_contradict_themselves_are_refused_with_numbers_and_a_remedy() {
    let ms = Duration::from_millis;
    let build = |number: u16, count: u16, change: &dyn Fn(&mut Timing)| {
        let members = Members::new((1..=count).map(id)).expect("valid");
        let mut config = ChangRoberts::configured(id(number), members);
        change(&mut config.timing);
        Node::<ChangRoberts>::new(config, None, 0).map(|_| ())
    };
    let refused = |number: u16, change: &dyn Fn(&mut Timing)| {
        build(number, 3, change).expect_err("must be refused").to_string()
    };
    assert_eq!(build(2, 3, &|_| {}), Ok(()));
    assert_eq!(
        refused(9, &|_| {}),
        "node 9 is not among the members (1, 2, 3): add it to them, or use another id"
    );
    assert_eq!(
        refused(2, &|t| t.hop = Duration::ZERO),
        "chang-roberts.hop is 0ns: use more than 0s and at most 24h"
    );
    assert_eq!(
        refused(2, &|t| t.lap = ms(60)),
        "chang-roberts.lap (60ms) must be longer than chang-roberts.hop (20ms) times the 3 \
         members: a message waits so long on its way round if members are down; try 80ms"
    );
    assert_eq!(
        refused(2, &|t| t.heartbeat = ms(60)),
        "chang-roberts.heartbeat (60ms) must be longer than chang-roberts.hop (20ms) times the 3 \
         members: a message waits so long on its way round if members are down; try 80ms"
    );
    assert_eq!(
        refused(2, &|t| t.heartbeat = ms(500)),
        "chang-roberts.heartbeat (500ms) must be shorter than half of chang-roberts.watch (1s): \
         one lost heartbeat would start an election; try 200ms"
    );
    let watch = build(1, 2, &|t| (t.hop, t.watch) = (ms(90), ms(150)));
    assert!(matches!(watch, Err(Error::ShorterThanALap { name: "watch", .. })), "{watch:?}");
}
