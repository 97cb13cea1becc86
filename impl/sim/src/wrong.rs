//! Worlds that are wrong on purpose: with each, an invariant must break. A check that has never
//! failed has shown nothing. Wrong drivers are rows of `conformance/mutants`.

use clap::ValueEnum;

/// A mistake that is made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wrong {
    /// The disk forgets what it has synced, now and then.
    Forgets,
    /// Clocks are wrong by fifty times what the configuration allows.
    Drift,
    /// The highest node has a lease that is longer than the promises of the others.
    Durations,
    /// The clock of a process stops while the process does.
    ClockStops,
    /// A process that was paused handles what has come meanwhile with the time before the pause.
    StaleTime,
    /// The faults of a flapping node strike the leader.
    FlapsLeader,
    /// Half of the nodes are cut off for good, while the simulation takes the network for healed.
    NeverHeals,
    /// Nodes talk whose leases and promises do not fit together.
    TalksUnfit,
    /// A crash loses the lists of members of a node.
    LosesLists,
    /// Slow links are four times as slow as is allowed.
    TooFar,
}

impl Wrong {
    /// Returns the name.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns all names, for people.
    #[must_use]
    pub fn names() -> String {
        let names: Vec<_> = Self::value_variants().iter().map(|wrong| wrong.name()).collect();
        names.join(", ")
    }
}
