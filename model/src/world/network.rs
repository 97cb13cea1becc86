//! The messages in flight, in one canonical order for each kind of network, so that two states
//! that differ only in how their messages are stored are one state.

use super::Network;
use crate::protocol::{Envelope, Protocol};
use smallvec::SmallVec;

/// The messages in flight, sorted by link: in order of sending on each link for
/// [`Network::Fifo`], sorted by message otherwise.
pub(super) type InFlight<P> = SmallVec<[Envelope<<P as Protocol>::Message>; 20]>;

/// Puts a message into flight.
pub(super) fn send<P: Protocol>(
    network: Network,
    flight: &mut InFlight<P>,
    envelope: Envelope<P::Message>,
) {
    let link = |e: &Envelope<P::Message>| (e.from, e.to);
    let at = match network {
        Network::Fifo => flight.partition_point(|e| link(e) <= link(&envelope)),
        Network::Unordered => flight.partition_point(|e| *e <= envelope),
        Network::Set => match flight.binary_search(&envelope) {
            Ok(_) => return,
            Err(at) => at,
        },
    };
    flight.insert(at, envelope);
}

/// The messages that may arrive next: the oldest of each link for [`Network::Fifo`], otherwise
/// each, copies counting once.
pub(super) fn deliverable<P: Protocol>(
    network: Network,
    flight: &InFlight<P>,
) -> impl Iterator<Item = Envelope<P::Message>> {
    let mut before: Option<Envelope<P::Message>> = None;
    flight.iter().copied().filter(move |e| {
        let known = match before.replace(*e) {
            None => false,
            Some(b) if network == Network::Fifo => (b.from, b.to) == (e.from, e.to),
            Some(b) => b == *e,
        };
        !known
    })
}

/// Takes a deliverable message out of flight; whether it was there.
pub(super) fn take<P: Protocol>(flight: &mut InFlight<P>, envelope: Envelope<P::Message>) -> bool {
    match flight.iter().position(|e| *e == envelope) {
        Some(at) => {
            flight.remove(at);
            true
        }
        None => false,
    }
}

/// The largest number of messages on one link.
pub(super) fn fullest<P: Protocol>(flight: &InFlight<P>) -> usize {
    flight.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)).map(<[_]>::len).max().unwrap_or(0)
}
