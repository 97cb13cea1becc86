//! Connections of processes that have not said yet who they are.
//!
//! There is room for a number of them. If it is taken, one that waits has to go: the oldest from
//! the address that has the most. So a process that keeps many open, or many processes of one
//! machine, push out each other, and a node that calls needs only as long as its handshake takes.
//! What has been admitted as a member has a place of its own, which no other process can take.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// How many wait at most, besides one for each member: all may call at the same moment.
const STRANGERS: usize = 128;

/// Those that wait, in the order in which they came.
#[derive(Clone, Debug)]
pub(super) struct Lobby(Arc<Mutex<Waiting>>);

#[derive(Debug)]
struct Waiting {
    next: u64,
    room: usize,
    places: BTreeMap<u64, (IpAddr, CancellationToken)>,
}

/// The place of one that waits; free when dropped.
#[derive(Debug)]
pub(super) struct Place {
    lobby: Lobby,
    number: u64,
    /// Cancelled when it has to go.
    pub(super) over: CancellationToken,
}

impl Lobby {
    /// Of a node that has so many peers.
    pub(super) fn new(peers: usize) -> Self {
        let room = STRANGERS + peers;
        Self(Arc::new(Mutex::new(Waiting { next: 0, room, places: BTreeMap::new() })))
    }

    /// A place for one that comes from there, and whether another had to go for it.
    pub(super) fn enter(&self, from: IpAddr) -> (Place, bool) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let crowded = waiting.places.len() >= waiting.room;
        if crowded && let Some(number) = waiting.last_in_line() {
            let gone = waiting.places.remove(&number);
            gone.inspect(|(_, over)| over.cancel());
        }
        let (number, over) = (waiting.next, CancellationToken::new());
        waiting.next += 1;
        waiting.places.insert(number, (machine(from), over.clone()));
        (Place { lobby: self.clone(), number, over }, crowded)
    }
}

impl Waiting {
    /// The one that goes: the oldest from the address that has the most.
    fn last_in_line(&self) -> Option<u64> {
        let mut counts = BTreeMap::<IpAddr, usize>::new();
        for (from, _) in self.places.values() {
            *counts.entry(*from).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        let oldest = self.places.iter().find(|(_, (from, _))| counts[from] == most);
        oldest.map(|(&number, _)| number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.lobby.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.places.remove(&self.number);
    }
}

/// The address, or the network that one machine usually has of its own.
fn machine(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        other @ IpAddr::V4(_) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEERS: usize = 4;
    const ROOM: usize = STRANGERS + PEERS;

    fn from(host: u8) -> IpAddr {
        [10, 0, 0, host].into()
    }

    #[test]
    fn a_machine_that_has_many_pushes_out_its_own() {
        let lobby = Lobby::new(PEERS);
        let (one, _) = lobby.enter(from(1));
        let flood: Vec<_> = (0..1_000).map(|_| lobby.enter(from(2)).0).collect();
        assert!(!one.over.is_cancelled(), "it was there first, and is alone");
        let there = flood.iter().filter(|place| !place.over.is_cancelled()).count();
        assert_eq!(there, ROOM - 1);
        let (late, crowded) = lobby.enter(from(3));
        assert!(crowded && !late.over.is_cancelled());
        assert!(flood[1_000 - there].over.is_cancelled(), "the oldest that was left");
        assert!(!flood[1_000 - there + 1].over.is_cancelled());
    }

    #[test]
    fn a_place_that_is_given_up_is_free() {
        let lobby = Lobby::new(PEERS);
        let all: Vec<_> = (0..ROOM).map(|_| lobby.enter(from(1)).0).collect();
        drop(all);
        let (first, crowded) = lobby.enter(from(1));
        assert!(!crowded);
        let more: Vec<_> = (1..ROOM).map(|_| lobby.enter(from(1))).collect();
        assert!(!first.over.is_cancelled() && !more.iter().any(|(_, crowded)| *crowded));
    }

    #[test]
    fn all_members_of_a_large_cluster_may_call_at_once() {
        let lobby = Lobby::new(254);
        let all: Vec<_> = (0..254).map(|_| lobby.enter(from(1))).collect();
        assert!(!all.iter().any(|(place, crowded)| *crowded || place.over.is_cancelled()));
    }

    #[test]
    fn addresses_of_one_machine_count_together() {
        let six = |text: &str| machine(text.parse().expect("an address"));
        assert_eq!(six("2001:db8::1"), six("2001:db8::ffff:2"));
        assert_ne!(six("2001:db8::1"), six("2001:db8:0:1::1"));
        assert_eq!(six("::ffff:10.0.0.7"), from(7));
        assert_ne!(from(1), from(2));
    }
}
