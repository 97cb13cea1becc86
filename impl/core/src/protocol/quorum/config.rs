//! What a node of the quorum bully must be told, and what can be wrong with it.

use std::time::Duration;

use crate::protocol::settings::{Durations, Relation, check, inequality};
use crate::protocol::{DurationError, LeaseTerms};

/// The configuration of one node.
pub type Config = crate::protocol::Config<Timing>;

/// The condition under which a higher node takes over from a leader that works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preemption {
    /// The higher node does not take over.
    #[default]
    Never,
    /// The higher node takes over as soon as it hears the leader.
    AtOnce,
    /// The higher node takes over once it has followed the leader for [`Timing::dwell`] without a
    /// break.
    Dwell,
}

impl Preemption {
    /// The name of each condition in a configuration.
    pub const NAMES: [(&str, Self); 3] =
        [("never", Self::Never), ("at-once", Self::AtOnce), ("dwell", Self::Dwell)];
}

/// The durations of a node's waits. They are best the same on every node: nodes talk only if no
/// lease of one can outlast a promise of the other.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs to answer one,
/// `election` must exceed `2·Tm + Tp`, or a node gives up on answers that are on their way. That
/// costs time, never safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time that a leader waits before its next round.
    pub round: Duration,
    /// The time for which a leader counts its lease, from before it asked for it.
    pub lease: Duration,
    /// The time for which a node keeps a promise, and grants nothing after a restart; then longer
    /// if its promises were longer before.
    pub promise: Duration,
    /// The time that a candidate waits for the answers to a canvass or a claim.
    pub election: Duration,
    /// The time that a node that has given way waits for the higher one to lead.
    pub coordinator: Duration,
    /// The time for which a node that found no majority only supports others.
    pub backoff: Duration,
    /// The additional time after which a node that hears no leader stands for election, or takes
    /// over, compared with the next higher node.
    pub skew: Duration,
    /// The condition under which a higher node takes over from a leader that works.
    pub preemption: Preemption,
    /// The time for which a higher node follows a leader before it takes over, if it does after a
    /// dwell time.
    pub dwell: Duration,
    /// The largest error of a clock's rate, in parts per million.
    pub drift_ppm: usize,
}

impl Timing {
    /// The durations for machines on one network: a dead leader is replaced within about two
    /// seconds, and a clock may be wrong by a hundredth.
    pub const DEFAULT: Self = Self {
        round: Duration::from_millis(200),
        lease: Duration::from_millis(1_000),
        promise: Duration::from_millis(1_200),
        election: Duration::from_millis(300),
        coordinator: Duration::from_millis(900),
        backoff: Duration::from_millis(600),
        skew: Duration::from_millis(100),
        preemption: Preemption::Never,
        dwell: Duration::from_secs(10),
        drift_ppm: 10_000,
    };

    /// The durations by the name of what they are for: machines on one network; networks far apart;
    /// and machines that are shared and busy, on which a process may have to wait for seconds.
    pub const PRESETS: [(&str, Self); 3] = [
        ("lan", Self::DEFAULT),
        ("wan", Self::DEFAULT.times(3)),
        ("shared", Self::DEFAULT.times(5)),
    ];

    /// The same, with waits that are so many times as long.
    const fn times(self, factor: u32) -> Self {
        Self {
            round: self.round.saturating_mul(factor),
            lease: self.lease.saturating_mul(factor),
            promise: self.promise.saturating_mul(factor),
            election: self.election.saturating_mul(factor),
            coordinator: self.coordinator.saturating_mul(factor),
            backoff: self.backoff.saturating_mul(factor),
            skew: self.skew.saturating_mul(factor),
            ..self
        }
    }

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        let section = Durations("quorum");
        let (round, lease) = (("round", self.round), ("lease", self.lease));
        let (election, coordinator) =
            (("election", self.election), ("coordinator", self.coordinator));
        let (promise, skew) = (("promise", self.promise), ("skew", self.skew));
        let (backoff, dwell) = (("backoff", self.backoff), ("dwell", self.dwell));
        section.in_range(&[round, lease, promise, election, coordinator, backoff, skew, dwell])?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let section = Durations("quorum");
        let (round, lease) = (("round", self.round), ("lease", self.lease));
        let (election, coordinator) =
            (("election", self.election), ("coordinator", self.coordinator));
        let promise = ("promise", self.promise);
        let renewed = section.repeated(round, lease, "one lost round would end the lease");
        let why = "a leader must have stepped down, also if its clock is slow and a voter's is \
                   fast by `drift_ppm`, before the voters grant an epoch to another";
        let least = self.terms().least_promise();
        let at_least = "long enough for the drift of clocks beyond";
        let drift =
            format!("promise >= lease * (1 + r) / (1 - r) with r = {} / 1000000", self.drift_ppm);
        let shown = inequality(&drift, self.promise, ">=", least);
        let outlasts = section
            .require(self.promise >= least, promise, at_least, lease, why, least)
            .shown(shown);
        let why = "the higher node canvasses and claims that long";
        vec![renewed, outlasts, section.longer(coordinator, election, why, self.election * 3)]
    }

    /// Returns for how many rounds a leader waits at a time: as many as there are in a lease, from
    /// 2 to 5.
    #[must_use]
    pub fn rounds_at_once(&self) -> usize {
        let in_a_lease = self.lease.as_nanos() / self.round.as_nanos().max(1);
        usize::try_from(in_a_lease).unwrap_or(usize::MAX).clamp(2, 5)
    }

    /// Returns the round trip to a majority below which a node comes to lead: it needs answers
    /// within [`Timing::election`]; and its first lease counts from its claim, while its first
    /// round follows the grants.
    #[must_use]
    pub fn longest_round_trip_to_lead(&self) -> Duration {
        self.election.min(self.lease / 2)
    }

    /// Returns the round trip to a majority below which a leader keeps its lease: the next round
    /// that waits is acknowledged before the lease of the one before is over.
    #[must_use]
    pub fn longest_round_trip(&self) -> Duration {
        // At most 3 more than 2 wait.
        let more = self.rounds_at_once() as u32 - 2;
        let gap = (self.lease + self.round * more) / 2;
        gap.min(self.lease.saturating_sub(self.round))
    }

    /// Returns what another node must know of these durations before the two talk.
    #[must_use]
    pub fn terms(&self) -> LeaseTerms {
        let drift_ppm = self.drift_ppm as u64;
        LeaseTerms { lease: self.lease, promise: self.promise, drift_ppm }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}
