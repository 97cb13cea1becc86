//! The messages in flight, in one canonical order for each kind of network, so that two states
//! that differ only in how their messages are stored are one state.

use super::Network;
use crate::protocol::Envelope;
use smallvec::SmallVec;

/// The messages in flight, sorted by link: in order of sending on each link for
/// [`Network::Fifo`], sorted by message otherwise.
pub(super) type InFlight = SmallVec<[Envelope; 20]>;

/// The ticks that each message in flight has left, beside the messages; empty where they are not
/// counted.
pub(super) type Left = SmallVec<[u8; 20]>;

/// Puts a message into flight. Where ticks are counted, `left` says how many it has: copies stand
/// in the order in which they must arrive, and only those merge that have the same time. On a FIFO
/// link it has no fewer than the one before it, which leaves first.
pub(super) fn send(
    network: Network,
    flight: &mut InFlight,
    left: Option<(&mut Left, u8)>,
    envelope: Envelope,
) {
    let link = |e: &Envelope| (e.from, e.to);
    let end = match network {
        Network::Fifo => flight.partition_point(|e| link(e) <= link(&envelope)),
        Network::Unordered | Network::Set => flight.partition_point(|e| *e <= envelope),
    };
    let at = match &left {
        Some((left, ticks)) if network != Network::Fifo => {
            let begin = flight[..end].partition_point(|e| *e < envelope);
            begin + left[begin..end].partition_point(|known| known <= ticks)
        }
        _ => end,
    };
    let merges = |before: usize| {
        flight[before] == envelope
            && left.as_ref().is_none_or(|(left, ticks)| left[before] == *ticks)
    };
    if network == Network::Set && at.checked_sub(1).is_some_and(merges) {
        return;
    }
    flight.insert(at, envelope);
    if let Some((left, ticks)) = left {
        let before = at
            .checked_sub(1)
            .filter(|&before| network == Network::Fifo && link(&flight[before]) == link(&envelope));
        left.insert(at, before.map_or(ticks, |before| ticks.max(left[before])));
    }
}

/// The messages that may arrive next: the oldest of each link for [`Network::Fifo`], otherwise
/// each, copies counting once.
pub(super) fn deliverable(network: Network, flight: &InFlight) -> impl Iterator<Item = Envelope> {
    let mut before: Option<Envelope> = None;
    flight.iter().copied().filter(move |e| {
        let known = match before.replace(*e) {
            None => false,
            Some(b) if network == Network::Fifo => (b.from, b.to) == (e.from, e.to),
            Some(b) => b == *e,
        };
        !known
    })
}

/// The place of a deliverable message: of its copies, the one that must arrive first.
pub(super) fn place(flight: &InFlight, envelope: Envelope) -> Option<usize> {
    flight.iter().position(|e| *e == envelope)
}

/// The largest number of messages on one link.
pub(super) fn fullest(flight: &InFlight) -> usize {
    flight.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)).map(<[_]>::len).max().unwrap_or(0)
}
