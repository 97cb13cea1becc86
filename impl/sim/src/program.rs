//! The program on a node: what it was told of the leadership, how it prepares itself, and its work
//! that only a leader may do.

use std::time::Duration;

use bellwether_core::member::ProgramView;
use bellwether_core::protocol::{Epoch, Lease, NodeId, Role};

/// How long a program takes to prepare itself, most of the time, and now and then.
pub(crate) const PREPARES: (Duration, Duration) =
    (Duration::from_millis(300), Duration::from_secs(2));

/// For how long the node of a program that cannot prepare itself is not to run.
pub(crate) const REFUSES_FOR: Duration = Duration::from_millis(500);

/// How long work takes to end, most of the time, and now and then.
pub(crate) const ENDS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// A program.
#[derive(Debug, Default)]
pub(crate) struct Program {
    told: Option<ProgramView>,
    /// Until when it may do what only a leader may.
    pub(crate) lease: Option<Lease>,
    /// The number of the question for which it has prepared itself, and of the last one.
    prepared: u64,
    number: u64,
    /// The program was told that it leads before it had prepared itself for that.
    pub(crate) unprepared: bool,
    /// Its work, and whether it was asked to end it.
    pub(crate) work: Option<Lease>,
    ends: bool,
}

impl Program {
    /// Takes note of which node leads.
    pub(crate) fn tell(&mut self, told: ProgramView) {
        self.told = Some(told);
        self.unprepared = told.leads() && self.prepared != self.number;
        self.renew(told.lease());
    }

    /// Tells the program until when it leads. With a lease it works. Without one it begins nothing,
    /// and what it has begun goes on until it is asked to end that, or the lease is over.
    pub(crate) fn renew(&mut self, lease: Option<Lease>) {
        self.lease = lease;
        if lease.is_some() && !self.ends {
            self.work = lease;
        }
    }

    /// Asks the program to prepare itself.
    pub(crate) fn ask(&mut self, number: u64) {
        self.number = number;
    }

    /// Takes note that the program has prepared itself, as the request with this number asked.
    pub(crate) fn prepare(&mut self, number: u64) {
        self.prepared = self.prepared.max(number);
    }

    /// Asks the program to end its work of this epoch. Returns whether there is any.
    pub(crate) fn end(&mut self, epoch: Epoch) -> bool {
        self.ends = self.work.is_some_and(|work| work.epoch == epoch);
        self.ends
    }

    /// Its work has ended.
    pub(crate) fn ended(&mut self) {
        self.ends = false;
        self.work = None;
    }

    pub(crate) fn role(&self) -> Role {
        self.told.map_or(Role::NotStarted, |told| told.role())
    }

    pub(crate) fn leader(&self) -> Option<NodeId> {
        self.told.and_then(|told| told.leader())
    }

    pub(crate) fn leads(&self) -> bool {
        self.told.is_some_and(|told| told.leads())
    }

    pub(crate) fn epoch(&self) -> Option<Epoch> {
        self.told.and_then(|told| told.epoch())
    }
}
