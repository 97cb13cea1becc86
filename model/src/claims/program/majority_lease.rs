//! A lease that takes the support of some of the processes: two candidates ask, and each process
//! promises its support to one at a time, for a while. An answer may take any time or be lost.
//! Clocks run alike, and a leader whose lease is over stops at once.

use super::Account;
use super::search::{Steps, search};

/// The most processes; the first and the last are the candidates.
const MOST: usize = 4;
/// How long a lease is, from the moment at which its holder asks.
const LEASE: u8 = 2;

#[derive(Clone, Copy, Debug)]
enum Event {
    Tick,
    /// A candidate asks all for their support.
    Ask(usize),
    /// The question reaches this process, which promises, if it has promised nothing else.
    Promise(usize, usize),
    /// The promise reaches the candidate.
    Arrive(usize, usize),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Candidate {
    /// How long its lease lasts yet, if it gets it.
    left: u8,
    promised: u8,
    arrived: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Group {
    nodes: usize,
    /// How many have to support a leader.
    enough: u32,
    /// How long a promise lasts.
    promise: u8,
    candidates: [Candidate; 2],
    /// To which candidate each process has promised its support, and for how long yet.
    promises: [Option<(usize, u8)>; MOST],
}

impl Group {
    fn start(nodes: usize, enough: u32, promise: u8) -> Group {
        let candidates = [Candidate::default(); 2];
        Group { nodes, enough, promise, candidates, promises: [None; MOST] }
    }

    fn leads(&self, candidate: usize) -> bool {
        let Candidate { left, arrived, .. } = self.candidates[candidate];
        left > 0 && arrived.count_ones() >= self.enough
    }

    fn name(&self, candidate: usize) -> usize {
        [1, self.nodes][candidate]
    }
}

impl Steps for Group {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        let each = |by: usize| {
            let all =
                (0..self.nodes).flat_map(move |at| [Event::Promise(at, by), Event::Arrive(at, by)]);
            all.chain([Event::Ask(by)])
        };
        [Event::Tick].into_iter().chain((0..2).flat_map(each)).collect()
    }

    fn after(&self, event: Event) -> Option<(Group, String)> {
        let mut next = *self;
        let words = match event {
            Event::Tick => {
                for candidate in &mut next.candidates {
                    candidate.left = candidate.left.saturating_sub(1);
                    if candidate.left == 0 {
                        *candidate = Candidate::default();
                    }
                }
                for promise in &mut next.promises {
                    *promise = promise.and_then(|(to, left)| (left > 1).then(|| (to, left - 1)));
                }
                "a tick".to_owned()
            }
            Event::Ask(by) if self.candidates[by].left == 0 => {
                next.candidates[by].left = LEASE;
                format!("{} asks for the lease", self.name(by))
            }
            Event::Promise(at, by) if self.candidates[by].left > 0 => {
                let asked = self.candidates[by].promised & 1 << at == 0;
                if !asked || self.promises[at].is_some_and(|(to, _)| to != by) {
                    return None;
                }
                next.promises[at] = Some((by, self.promise));
                next.candidates[by].promised |= 1 << at;
                format!("{} promises {} its support", at + 1, self.name(by))
            }
            Event::Arrive(at, by) => {
                let Candidate { promised, arrived, .. } = self.candidates[by];
                if promised & !arrived & 1 << at == 0 {
                    return None;
                }
                next.candidates[by].arrived |= 1 << at;
                let leads = if next.leads(by) { ", which leads now" } else { "" };
                format!("the promise of {} reaches {}{leads}", at + 1, self.name(by))
            }
            _ => return None,
        };
        Some((next, words))
    }
}

fn one_leader(group: &Group) -> bool {
    !(group.leads(0) && group.leads(1))
}

/// Three processes, and four; a majority is enough: one leader at a time.
pub(super) fn by_a_majority() -> Account {
    let of = |nodes: usize| {
        search(Group::start(nodes, nodes as u32 / 2 + 1, LEASE), usize::MAX, one_leader)
    };
    let three = of(3);
    if three == Account::of(true, Vec::new()) { of(4) } else { three }
}

/// Four processes, and half of them is enough.
pub(super) fn by_half() -> Account {
    search(Group::start(4, 2, LEASE), usize::MAX, one_leader)
}

/// Three processes, a majority, and promises that end a tick before a lease can.
pub(super) fn by_short_promises() -> Account {
    search(Group::start(3, 2, LEASE - 1), usize::MAX, one_leader)
}
