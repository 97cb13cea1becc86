//! The boundary of a search: what no state of it may have too much of, whether executions left it,
//! and which of those that did not are of interest.

use super::{Budget, State, World};
use std::sync::atomic::{AtomicBool, Ordering};

/// A bound of the search that executions may exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The bound on links: none holds more than its [capacity](super::Scenario::capacity).
    Capacity,
    /// The bound on processes: none has more than [it
    /// may](crate::protocol::Options::within_bounds).
    Protocol,
}

const BOUNDARIES: [Boundary; 2] = [Boundary::Capacity, Boundary::Protocol];

/// The bounds that executions exceeded. Searches note them while they go on, in any order.
#[derive(Debug, Default)]
pub struct Exceeded {
    capacity: AtomicBool,
    protocol: AtomicBool,
}

impl Exceeded {
    fn of(&self, bound: Boundary) -> &AtomicBool {
        match bound {
            Boundary::Capacity => &self.capacity,
            Boundary::Protocol => &self.protocol,
        }
    }

    /// Some execution exceeds this bound.
    pub(crate) fn record(&self, bound: Boundary) {
        // Threads that only read do not disturb each other.
        if !self.has(bound) {
            self.of(bound).store(true, Ordering::Relaxed);
        }
    }

    /// The bounds that were exceeded, one bit each.
    pub(crate) fn bits(&self) -> u32 {
        BOUNDARIES.iter().zip(0..).map(|(&bound, bit)| u32::from(self.has(bound)) << bit).sum()
    }

    /// These have been exceeded.
    pub(crate) fn record_bits(&self, bits: u32) {
        let noted = BOUNDARIES.into_iter().zip(0..).filter(|(_, bit)| bits & (1 << bit) != 0);
        noted.for_each(|(bound, _)| self.record(bound));
    }

    fn has(&self, bound: Boundary) -> bool {
        self.of(bound).load(Ordering::Relaxed)
    }
}

impl World {
    /// Whether there is a bound that executions could exceed.
    pub(crate) fn has_boundary(&self) -> bool {
        self.scenario.capacity.is_some() || self.machine.bound().is_some()
    }

    /// Whether each kind of fault that this world has has struck. What may happen without bound is
    /// not counted, and so not waited for.
    pub(crate) fn each_fault_has_struck(&self, state: &State) -> bool {
        let spent = state.spent.named();
        let mut pairs = self.scenario.faults.named().into_iter().zip(spent);
        pairs.all(|((_, may), (_, spent))| match may {
            Budget::Unbounded | Budget::AtMost(0) => true,
            Budget::AtMost(_) => spent != Budget::NONE,
        })
    }

    /// The bounds that were exceeded, in words: what there may be at most.
    pub(crate) fn bounds_met(&self, exceeded: &Exceeded) -> Vec<String> {
        let capacity = self.scenario.capacity.filter(|_| exceeded.has(Boundary::Capacity));
        let capacity = capacity.map(|most| {
            let s = if most == 1 { "" } else { "s" };
            format!("{most} message{s} on a link")
        });
        let own = self.machine.bound().filter(|_| exceeded.has(Boundary::Protocol));
        capacity.into_iter().chain(own.map(str::to_owned)).collect()
    }
}
