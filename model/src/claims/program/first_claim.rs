//! The cluster of the article on clustered software, before its election patterns: all poll the
//! master, and the first that finds it gone claims the role and tells the others. No process asks
//! another before it claims.

use super::Account;
use super::search::{Steps, search};

/// The instances that are left when the third, the master, has crashed.
const LEFT: [usize; 2] = [0, 1];
const MASTER: usize = 2;

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// This instance polls its master.
    Poll(usize),
    /// The claim of this instance reaches the other.
    Told(usize),
}

/// The master of each instance that is left, and whose claims are under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cluster {
    masters: [usize; 2],
    told: [bool; 2],
    /// Of two that claim the higher one stays.
    by_number: bool,
}

impl Steps for Cluster {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        LEFT.into_iter().flat_map(|at| [Event::Poll(at), Event::Told(at)]).collect()
    }

    /// An instance gives way to a claim, or it does so only if the other's number is higher.
    fn after(&self, event: Event) -> Option<(Cluster, String)> {
        let mut next = self.clone();
        match event {
            Event::Poll(at) if self.masters[at] == MASTER => {
                next.masters[at] = at;
                next.told[at] = true;
            }
            Event::Told(from) if self.told[from] => {
                let to = 1 - from;
                next.told[from] = false;
                if !(self.by_number && self.masters[to] == to && to > from) {
                    next.masters[to] = from;
                }
            }
            Event::Poll(_) | Event::Told(_) => return None,
        }
        Some((next, words(event)))
    }
}

impl Cluster {
    fn start(by_number: bool) -> Cluster {
        Cluster { masters: [MASTER; 2], told: [false; 2], by_number }
    }

    fn claimants(&self) -> usize {
        LEFT.iter().filter(|&&at| self.masters[at] == at).count()
    }

    /// Nothing can happen any more: no claim is under way, and each has a master that is up.
    fn is_quiescent(&self) -> bool {
        self.told == [false; 2] && !self.masters.contains(&MASTER)
    }
}

fn words(event: Event) -> String {
    match event {
        Event::Poll(at) => {
            format!("{} finds the master gone, claims the role and tells the other", at + 1)
        }
        Event::Told(from) => {
            format!("{} hears that {} is the master, and takes it for its own", 2 - from, from + 1)
        }
    }
}

/// At most one instance has claimed the role at any time.
pub(super) fn one_at_a_time() -> Account {
    search(Cluster::start(false), usize::MAX, |cluster| cluster.claimants() <= 1)
}

fn one_in_the_end(cluster: &Cluster) -> bool {
    !cluster.is_quiescent() || cluster.claimants() == 1
}

/// When nothing is under way any more, one instance is the master.
pub(super) fn in_the_end() -> Account {
    search(Cluster::start(false), usize::MAX, one_in_the_end)
}

/// The same if of two that claim the higher one stays.
pub(super) fn in_the_end_by_number() -> Account {
    search(Cluster::start(true), usize::MAX, one_in_the_end)
}
