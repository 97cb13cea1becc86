//! What a node must be told, and what can be wrong with it.

use std::num::NonZeroU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::DurationError;
use crate::protocol::settings::{Durations, Relation, check};

/// The configuration of one node.
pub type Config = crate::protocol::Config<Timing>;

/// The number of tasks that a node has computed, in all its lives. Keep it, or two tasks may be
/// taken for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Computed {
    count: u64,
    round: NonZeroU64,
}

impl Computed {
    /// Returns a count of this many tasks. At an election in every nanosecond there are numbers for
    /// 584 years.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self::in_rounds(count, NonZeroU64::MAX)
    }

    /// Returns a count of this many tasks, counted from 0 up to `round`, which is 0 again: for
    /// tasks whose number has to fit a narrow field. A task can then be taken for one that is a
    /// whole round older.
    #[must_use]
    pub const fn in_rounds(count: u64, round: NonZeroU64) -> Self {
        Self { count: count % round.get(), round }
    }

    /// Returns the number of tasks, which is the number of the last task.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }

    /// One more.
    pub(super) fn next(self) -> Self {
        Self::in_rounds(self.count.saturating_add(1), self.round)
    }
}

/// None yet.
impl Default for Computed {
    fn default() -> Self {
        Self::new(0)
    }
}

/// The durations of a node's waits.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs for one, `call`
/// must exceed `2·Tm + 2·Tp`, or a node is taken for dead that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time that a node waits for the answer to a call, and after a restart before its first
    /// call.
    pub call: Duration,
    /// The time for which a node hears nothing of its coordinator before it asks whether it is
    /// there.
    pub silence: Duration,
    /// The time that a node waits for the election of a higher node to reach it. Too short is a
    /// nuisance, not a danger.
    pub election: Duration,
    /// The interval at which a coordinator checks.
    pub check: Duration,
}

impl Timing {
    /// The durations for machines on one network: a handful of nodes has a new leader within about
    /// two seconds.
    pub const DEFAULT: Self = Self {
        call: Duration::from_millis(200),
        silence: Duration::from_millis(1_000),
        election: Duration::from_millis(2_000),
        check: Duration::from_millis(250),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        Durations("garcia-molina").in_range(&self.named())?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let ([call, silence, election, check], durations) =
            (self.named(), Durations("garcia-molina"));
        let old = "an old answer could pass for a new one";
        let seldom = "a coordinator is heard only when it checks";
        vec![
            durations.longer(silence, call, old, self.call * 4),
            durations.longer(election, call, old, self.call * 4),
            durations.longer(silence, check, seldom, self.check * 4),
        ]
    }

    fn named(&self) -> [(&'static str, Duration); 4] {
        let Self { call, silence, election, check } = *self;
        [("call", call), ("silence", silence), ("election", election), ("check", check)]
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}
