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
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::files;
use crate::lock::lock;

/// How many wait at most, besides one for each member: all may call at the same moment.
const UNIDENTIFIED: usize = 128;

/// Connections of processes that have not said who they are.
#[derive(Clone, Debug)]
pub(crate) struct PendingConnections(Arc<Mutex<State>>, Arc<Notify>);

#[derive(Debug)]
struct State {
    next: u64,
    room: usize,
    /// How many there are, with those that have to go and have not gone yet.
    open: usize,
    slots: BTreeMap<u64, Connection>,
}

/// A connection that waits.
#[derive(Debug)]
struct Connection {
    from: IpAddr,
    over: CancellationToken,
    /// The next number when it began to wait: the least has waited longest.
    since: u64,
    /// It is being answered, and does not wait.
    busy: bool,
}

/// The slot of a connection; free when dropped.
#[derive(Debug)]
pub(crate) struct PendingSlot {
    pending: PendingConnections,
    number: u64,
    /// Cancelled when it has to go.
    pub(crate) over: CancellationToken,
}

impl PendingConnections {
    /// Of a node that has so many peers.
    pub(super) fn new(peers: usize) -> Self {
        Self::with_room(UNIDENTIFIED + peers)
    }

    /// The node has so many peers now.
    pub(super) fn set_peers(&self, peers: usize) {
        lock(&self.0).room = files::room(UNIDENTIFIED + peers);
    }

    /// With room for so many.
    pub(crate) fn with_room(room: usize) -> Self {
        let (room, slots) = (files::room(room), BTreeMap::new());
        let state = State { next: 0, room, open: 0, slots };
        Self(Arc::new(Mutex::new(state)), Arc::default())
    }

    /// Waits until those have gone that had to.
    pub(crate) async fn settled(&self) {
        let is_over = || {
            let state = lock(&self.0);
            state.open > state.room
        };
        while is_over() {
            self.1.notified().await;
        }
    }

    /// A place for one that comes from there, and whether another had to go for it.
    pub(crate) fn add(&self, from: IpAddr) -> (PendingSlot, bool) {
        let mut state = lock(&self.0);
        let evicted = state.slots.len() >= state.room;
        if evicted && let Some(number) = state.next_to_evict() {
            let gone = state.slots.remove(&number);
            gone.inspect(|connection| connection.over.cancel());
        }
        let (number, over) = (state.next, CancellationToken::new());
        state.next += 1;
        state.open += 1;
        let connection =
            Connection { from: machine(from), over: over.clone(), since: number, busy: false };
        state.slots.insert(number, connection);
        (PendingSlot { pending: self.clone(), number, over }, evicted)
    }
}

impl State {
    /// The one that goes: of the address that has the most, the one that has waited longest. One
    /// that is being answered goes if all of them are.
    fn next_to_evict(&self) -> Option<u64> {
        let mut counts = BTreeMap::<IpAddr, usize>::new();
        for connection in self.slots.values() {
            *counts.entry(connection.from).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        let crowd = self.slots.iter().filter(|(_, connection)| counts[&connection.from] == most);
        let first = crowd.min_by_key(|(_, connection)| (connection.busy, connection.since));
        first.map(|(&number, _)| number)
    }
}

impl Drop for PendingSlot {
    fn drop(&mut self) {
        let mut state = lock(&self.pending.0);
        state.slots.remove(&self.number);
        state.open -= 1;
        self.pending.1.notify_one();
    }
}

/// One that is being answered, until this is dropped; then it waits anew.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Answering {
    pending: PendingConnections,
    number: u64,
}

#[cfg(feature = "http")]
impl PendingSlot {
    /// What makes it busy, for those that answer.
    pub(crate) fn answers(&self) -> impl Fn() -> Answering + Clone + Send + Sync + 'static {
        let (pending, number) = (self.pending.clone(), self.number);
        move || {
            let busy = Answering { pending: pending.clone(), number };
            busy.set(true);
            busy
        }
    }
}

#[cfg(feature = "http")]
impl Answering {
    fn set(&self, busy: bool) {
        let mut state = lock(&self.pending.0);
        let since = state.next;
        state.next += 1;
        if let Some(connection) = state.slots.get_mut(&self.number) {
            (connection.busy, connection.since) = (busy, since);
        }
    }
}

#[cfg(feature = "http")]
impl Drop for Answering {
    fn drop(&mut self) {
        self.set(false);
    }
}

/// The address, or the network that one machine usually has of its own.
pub(crate) fn machine(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        other @ IpAddr::V4(_) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEERS: usize = 4;
    const ROOM: usize = UNIDENTIFIED + PEERS;

    fn from(host: u8) -> IpAddr {
        [10, 0, 0, host].into()
    }

    #[test]
    fn a_machine_that_has_many_pushes_out_its_own() {
        let pending = PendingConnections::new(PEERS);
        let (one, _) = pending.add(from(1));
        let flood: Vec<_> = (0..1_000).map(|_| pending.add(from(2)).0).collect();
        assert!(!one.over.is_cancelled(), "it was there first, and is alone");
        let there = flood.iter().filter(|slot| !slot.over.is_cancelled()).count();
        assert_eq!(there, ROOM - 1);
        let (late, evicted) = pending.add(from(3));
        assert!(evicted && !late.over.is_cancelled());
        assert!(flood[1_000 - there].over.is_cancelled(), "the oldest that was left");
        assert!(!flood[1_000 - there + 1].over.is_cancelled());
    }

    #[cfg(feature = "http")]
    #[test]
    fn what_is_being_answered_goes_last_and_then_waits_anew() {
        let pending = PendingConnections::with_room(3);
        let slots: Vec<_> = (0..3).map(|_| pending.add(from(1)).0).collect();
        let gone = || slots.iter().map(|slot| slot.over.is_cancelled()).collect::<Vec<_>>();
        let first = slots[0].answers()();
        drop(slots[1].answers()());
        let _one = pending.add(from(1));
        assert_eq!(gone(), [false, false, true], "it has waited longest");
        let _two = pending.add(from(1));
        assert_eq!(gone(), [false, true, true]);
        drop(first);
        let _three = pending.add(from(1));
        assert_eq!(gone(), [false, true, true], "it has waited for less long than the one before");
        // Each of the new ones that were pushed out had waited since before.
        let (_four, _five) = (pending.add(from(1)), pending.add(from(1)));
        assert_eq!(gone(), [true, true, true]);
    }

    /// All members of a large cluster may call at once.
    #[test]
    fn a_place_that_is_given_up_is_free_and_there_is_one_for_each_member() {
        let pending = PendingConnections::new(PEERS);
        let all: Vec<_> = (0..ROOM).map(|_| pending.add(from(1)).0).collect();
        drop(all);
        pending.set_peers(254);
        let more: Vec<_> = (0..UNIDENTIFIED + 254).map(|_| pending.add(from(1))).collect();
        assert!(!more.iter().any(|(slot, evicted)| *evicted || slot.over.is_cancelled()));
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
