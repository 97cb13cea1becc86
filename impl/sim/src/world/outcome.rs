//! What comes out of a run.

use std::hash::Hasher;

use serde::Serialize;

use crate::clock::Moment;
use crate::random::mix;
use crate::subject::Subject;

use super::World;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Things that happened.
    pub steps: u64,
    /// Messages that nodes sent.
    pub sent: u64,
    /// Messages that did not arrive.
    pub lost: u64,
    /// Syncs.
    pub syncs: u64,
    /// What nodes handled while they waited for a sync.
    pub beside: u64,
    /// What waited for a sync when its node crashed, so that no other saw it.
    pub unseen: u64,
    /// Starts of nodes, the first included.
    pub starts: u64,
    /// How often a node began to lead.
    pub leaders: u64,
    /// Faults that struck.
    pub faults: u64,
    /// Transfers that were answered with the epoch of the node that was to lead.
    pub transfers: u64,
    /// Lists of members that were decided, and durations that operators gave out.
    pub changes: u64,
    /// Disks that were lost.
    pub wipes: u64,
}

/// An invariant is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name.
    pub invariant: &'static str,
    /// When.
    pub at: Moment,
    /// What is wrong, in one sentence.
    pub what: String,
}

/// What comes out of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first invariant that was broken.
    pub broken: Option<Broken>,
    /// How long after the last fault all nodes agreed for good, if they did.
    pub settled: Option<std::time::Duration>,
    /// What was counted.
    pub counts: Counts,
    /// A number that differs if anything happened otherwise.
    pub digest: u64,
    /// What happened, line by line, if that was asked for.
    pub trace: Vec<String>,
}

impl<S: Subject> World<S> {
    /// What has come out so far.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        let calm = self.setting.terms.calm;
        let settled = self.agreed.map(|(since, _)| since.since(calm));
        let Self { broken, counts, digest, trace, .. } = self;
        Outcome { broken, settled, counts, digest, trace }
    }
}

/// A hash that is the same on every machine that has the same word order.
pub(super) struct Fold(pub(super) u64);

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
