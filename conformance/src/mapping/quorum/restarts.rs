//! The durations of a node that starts again, and had others before.

use super::{program, spec};
use crate::mapping::Restart;
use bellwether_bridge::program::Refusal;
use bellwether_core::protocol::Node;
use std::time::Duration;

/// Promises and leases that are shorter than before, and longer ones. Nodes with either and nodes
/// with those before would talk, and a leader waits for two rounds at once by all of them.
pub(super) const TIMES: [(Duration, Duration); 2] = [
    (Duration::from_millis(1_100), Duration::from_millis(950)),
    (Duration::from_millis(1_500), Duration::from_millis(1_150)),
];

/// A node of this configuration, but that its promises and leases are others. Longer promises are
/// durable before any is given.
pub(super) fn restart(
    with: usize,
    config: program::Config,
    durable: &program::Durable,
) -> Result<Restart<Node<program::Quorum>>, Refusal> {
    let ((promise, lease), before) = (TIMES[with], config.timing);
    let timing = program::Timing { promise, lease, ..before };
    let node = Node::new(program::Config { timing, ..config }, Some(durable.clone()), 0)?;
    let longest = program::Durable { promise: Some(promise), ..durable.clone() };
    Ok(Restart { program: node, written: Some(longest).filter(|_| promise > before.promise) })
}

/// How long a timer takes on such a node whose promises were as long as `before`, if not as long as
/// then. It is quiet for the longest promise that it may have given.
pub(super) fn period(with: usize, before: Duration, timer: spec::Timer) -> Option<Duration> {
    let (promise, lease) = TIMES[with];
    match timer {
        spec::Timer::Asked | spec::Timer::Later | spec::Timer::Lease => Some(lease),
        spec::Timer::Promise => Some(promise),
        spec::Timer::Quiet => Some(promise.max(before)),
        _ => None,
    }
}
