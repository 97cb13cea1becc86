//! Connections of processes that have not said yet who they are, at the port of the nodes; and all
//! connections of the port for HTTP.
//!
//! There is room for a number of them. If it is taken, one that waits has to go: the one that has
//! waited longest from the address that has the most. So a process that keeps many open, or many
//! processes of one machine, push out each other, and a node that calls needs only as long as its
//! handshake takes. What has been admitted as a member has a place of its own, which no other
//! process can take. What is being answered by HTTP goes after all that say nothing.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// How many wait at most, besides one for each member: all may call at the same moment.
const STRANGERS: usize = 128;

/// Those that wait.
#[derive(Clone, Debug)]
pub(crate) struct Lobby(Arc<Mutex<Waiting>>);

#[derive(Debug)]
struct Waiting {
    next: u64,
    room: usize,
    places: BTreeMap<u64, Guest>,
}

/// One that waits.
#[derive(Debug)]
struct Guest {
    from: IpAddr,
    over: CancellationToken,
    /// The next number when it began to wait: the least has waited longest.
    since: u64,
    /// It is being answered, and does not wait.
    busy: bool,
}

/// The place of one that waits; free when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    lobby: Lobby,
    number: u64,
    /// Cancelled when it has to go.
    pub(crate) over: CancellationToken,
}

impl Lobby {
    /// Of a node that has so many peers.
    pub(super) fn new(peers: usize) -> Self {
        Self::with_room(STRANGERS + peers)
    }

    /// With room for so many.
    pub(crate) fn with_room(room: usize) -> Self {
        Self(Arc::new(Mutex::new(Waiting { next: 0, room, places: BTreeMap::new() })))
    }

    /// A place for one that comes from there, and whether another had to go for it.
    pub(crate) fn enter(&self, from: IpAddr) -> (Place, bool) {
        let mut waiting = self.waiting();
        let crowded = waiting.places.len() >= waiting.room;
        if crowded && let Some(number) = waiting.last_in_line() {
            let gone = waiting.places.remove(&number);
            gone.inspect(|guest| guest.over.cancel());
        }
        let (number, over) = (waiting.next, CancellationToken::new());
        waiting.next += 1;
        let guest = Guest { from: machine(from), over: over.clone(), since: number, busy: false };
        waiting.places.insert(number, guest);
        (Place { lobby: self.clone(), number, over }, crowded)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// The one that goes: of the address that has the most, the one that has waited longest. One
    /// that is being answered goes if all of them are.
    fn last_in_line(&self) -> Option<u64> {
        let mut counts = BTreeMap::<IpAddr, usize>::new();
        for guest in self.places.values() {
            *counts.entry(guest.from).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        let crowd = self.places.iter().filter(|(_, guest)| counts[&guest.from] == most);
        let first = crowd.min_by_key(|(_, guest)| (guest.busy, guest.since));
        first.map(|(&number, _)| number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lobby.waiting().places.remove(&self.number);
    }
}

/// One that is being answered, until this is dropped; then it waits anew.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Busy {
    lobby: Lobby,
    number: u64,
}

#[cfg(feature = "http")]
impl Place {
    /// What makes it busy, for those that answer.
    pub(crate) fn answers(&self) -> impl Fn() -> Busy + Clone + Send + Sync + 'static {
        let (lobby, number) = (self.lobby.clone(), self.number);
        move || {
            let busy = Busy { lobby: lobby.clone(), number };
            busy.set(true);
            busy
        }
    }
}

#[cfg(feature = "http")]
impl Busy {
    fn set(&self, busy: bool) {
        let mut waiting = self.lobby.waiting();
        let since = waiting.next;
        waiting.next += 1;
        if let Some(guest) = waiting.places.get_mut(&self.number) {
            (guest.busy, guest.since) = (busy, since);
        }
    }
}

#[cfg(feature = "http")]
impl Drop for Busy {
    fn drop(&mut self) {
        self.set(false);
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

    #[cfg(feature = "http")]
    #[test]
    fn what_is_being_answered_goes_last_and_then_waits_anew() {
        let lobby = Lobby::with_room(3);
        let places: Vec<_> = (0..3).map(|_| lobby.enter(from(1)).0).collect();
        let gone = || places.iter().map(|place| place.over.is_cancelled()).collect::<Vec<_>>();
        let first = places[0].answers()();
        drop(places[1].answers()());
        let _one = lobby.enter(from(1));
        assert_eq!(gone(), [false, false, true], "it has waited longest");
        let _two = lobby.enter(from(1));
        assert_eq!(gone(), [false, true, true]);
        drop(first);
        let _three = lobby.enter(from(1));
        assert_eq!(gone(), [false, true, true], "it has waited for less long than the one before");
        // Each of the new ones that were pushed out had waited since before.
        let (_four, _five) = (lobby.enter(from(1)), lobby.enter(from(1)));
        assert_eq!(gone(), [true, true, true]);
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
