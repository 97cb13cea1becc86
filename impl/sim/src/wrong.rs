//! Worlds and drivers that are wrong on purpose: with each, an invariant must break. A check that
//! has never failed has shown nothing.

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The disk forgets what it has synced, now and then.
    Forgets,
    /// The disk, or the driver, says that a write is synced before it is.
    SaysSynced,
    /// The driver tells the program what the node believes, durable or not.
    LeadsFirst,
    /// The driver tells the program of a change when everything is saved and sent.
    TellsLate,
    /// The driver leaves a program that leads no longer its lease.
    KeepsLease,
    /// The driver says that work has ended when it has asked the program to end it.
    LeavesWork,
    /// The driver says that the program is prepared when it has asked it to prepare itself.
    SkipsGate,
    /// The driver does not tell the program that the disk has stalled.
    HidesStall,
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
    /// The driver answers that a transfer is done when its own node leads no longer.
    AnswersEarly,
    /// Nodes talk whose leases and promises do not fit together.
    TalksUnfit,
    /// A node that hears of a pending list counts by the decided one alone.
    CountsOneList,
    /// A node takes a list that it hears is pending for decided.
    DecidesAtOnce,
    /// A crash loses the lists of members of a node.
    LosesLists,
    /// Slow links are four times as slow as is allowed.
    TooFar,
    /// A node that has lost its disk votes at once.
    VotesAtOnce,
}

impl Wrong {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Forgets,
        Self::SaysSynced,
        Self::LeadsFirst,
        Self::TellsLate,
        Self::KeepsLease,
        Self::LeavesWork,
        Self::SkipsGate,
        Self::HidesStall,
        Self::Drift,
        Self::Durations,
        Self::ClockStops,
        Self::StaleTime,
        Self::FlapsLeader,
        Self::NeverHeals,
        Self::AnswersEarly,
        Self::TalksUnfit,
        Self::CountsOneList,
        Self::DecidesAtOnce,
        Self::LosesLists,
        Self::TooFar,
        Self::VotesAtOnce,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forgets => "forgets",
            Self::SaysSynced => "says-synced",
            Self::LeadsFirst => "leads-first",
            Self::TellsLate => "tells-late",
            Self::KeepsLease => "keeps-lease",
            Self::LeavesWork => "leaves-work",
            Self::SkipsGate => "skips-gate",
            Self::HidesStall => "hides-stall",
            Self::Drift => "drift",
            Self::Durations => "durations",
            Self::ClockStops => "clock-stops",
            Self::StaleTime => "stale-time",
            Self::FlapsLeader => "flaps-leader",
            Self::NeverHeals => "never-heals",
            Self::AnswersEarly => "answers-early",
            Self::TalksUnfit => "talks-unfit",
            Self::CountsOneList => "counts-one-list",
            Self::DecidesAtOnce => "decides-at-once",
            Self::LosesLists => "loses-lists",
            Self::TooFar => "too-far",
            Self::VotesAtOnce => "votes-at-once",
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
