//! Worlds that are wrong on purpose: with each, an invariant must break. A check that has never
//! failed has shown nothing. Wrong drivers are rows of `conformance/mutants`.

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Forgets,
        Self::Drift,
        Self::Durations,
        Self::ClockStops,
        Self::StaleTime,
        Self::FlapsLeader,
        Self::NeverHeals,
        Self::TalksUnfit,
        Self::LosesLists,
        Self::TooFar,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forgets => "forgets",
            Self::Drift => "drift",
            Self::Durations => "durations",
            Self::ClockStops => "clock-stops",
            Self::StaleTime => "stale-time",
            Self::FlapsLeader => "flaps-leader",
            Self::NeverHeals => "never-heals",
            Self::TalksUnfit => "talks-unfit",
            Self::LosesLists => "loses-lists",
            Self::TooFar => "too-far",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wrong| wrong.name() == text)
    }

    /// All names, for people.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}
