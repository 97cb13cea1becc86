//! A restart with shorter promises: those that were given before last as long as they did.

use super::*;
use crate::protocol::Birth;
use crate::protocol::quorum::Mark;

const LONG: Timing = Timing { lease: ms(4_000), promise: ms(5_000), ..Timing::DEFAULT };

/// What a node remembers that had these promises and has granted epoch 1 to node 3.
fn remembering(promise: Option<Duration>) -> Option<Durable> {
    granted(1, 3).map(|durable| Durable { promise, ..durable })
}

#[test]
fn a_voter_that_starts_with_shorter_promises_is_quiet_for_the_longer_ones() {
    let mut two = Story(node(2, remembering(Some(LONG.promise))));
    two.at(0, Input::Boot);
    assert_eq!(
        two.hears(1_300, 1, Message::Claim(epoch(2), Mark::FIRST, Birth::FOUNDER)),
        "Refuse 1 to 1"
    );
    assert_eq!(
        two.hears(4_999, 1, Message::Claim(epoch(2), Mark::FIRST, Birth::FOUNDER)),
        "Refuse 1 to 1"
    );
    two.at(5_000, Input::Wake);
    let grant = two.hears(5_000, 1, Message::Claim(epoch(2), Mark::FIRST, Birth::FOUNDER));
    assert!(grant.contains("durable: 2 to 1, Grant 2 to 1"), "{grant}");
}

/// What it has to remember, and when.
fn kept(node: &mut Node<Quorum>, at_ms: u64, input: Input<Message>) -> Vec<Option<Duration>> {
    node.handle(at(at_ms), input);
    let kept = |output| match output {
        Output::Persist(durable) => Some(Durable::clone(&durable).promise),
        _ => None,
    };
    std::iter::from_fn(|| node.poll()).filter_map(kept).collect()
}

#[test]
fn a_longer_promise_is_durable_before_it_is_given() {
    let mut two = node_with(2, remembering(PROMISE), LONG);
    assert_eq!(kept(&mut two, 0, Input::Boot), [Some(LONG.promise)]);
    // Nothing is new, and one that remembers nothing writes when it has something to write.
    assert_eq!(kept(&mut node(2, remembering(PROMISE)), 0, Input::Boot), []);
    let mut two = node_with(2, None, LONG);
    assert_eq!(kept(&mut two, 0, Input::Boot), []);
    let round =
        Input::Receive { from: id(3), message: Message::Coordinator(epoch(1), 1, Mark::FIRST) };
    assert_eq!(kept(&mut two, 10, round), [Some(LONG.promise)]);
}

#[test]
fn the_longer_promise_is_forgotten_once_it_is_over() {
    let mut two = node(2, remembering(Some(LONG.promise)));
    assert_eq!(kept(&mut two, 0, Input::Boot), []);
    let claim = |number| Input::Receive {
        from: id(1),
        message: Message::Claim(epoch(number), Mark::FIRST, Birth::FOUNDER),
    };
    assert_eq!(kept(&mut two, 5_000, Input::Wake), []);
    assert_eq!(kept(&mut two, 5_000, claim(2)), [PROMISE]);
}
