//! Each variant of the bully as one value of its rules.
//!
//! Where a text is silent, it gets the rule of [`Bully::TEXTBOOK`], so that a verdict shows what
//! the text says and not what was made up for it; the rules that a text does state are listed with
//! it.

use super::{
    Accept, Announce, Awaits, Bully, Challenged, Highest, Incumbent, Initiate, Restart, Watch,
};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Bully>] = &[
    Variant {
        name: "recommended",
        source: "no other combination of rules keeps a property that this one breaks",
        rules: Bully::RECOMMENDED,
    },
    Variant {
        name: "baseline",
        source: "the fixed semantics by which checkers are compared, state for state",
        rules: Bully::BASELINE,
    },
    Variant {
        name: "encyclopedia",
        source: "encyclopedia article, prose (Process Requirements, Election Procedure)",
        rules: Bully {
            t_coord: false,
            accept: Accept::NotLowerThanSelf,
            announce: Announce::All,
            initiate: Initiate::AboveFailed,
            restart: Restart::CheckFirst,
            highest: Highest::Waits,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
    Variant {
        name: "encyclopedia-code",
        source: "encyclopedia article, pseudocode (HandleRecovery, HoldElection, ReceiveMessage)",
        rules: Bully {
            guard: false,
            t_coord: false,
            announce: Announce::All,
            highest: Highest::Waits,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
    Variant {
        name: "clustering",
        source: "article on clustered software, 2016 (Bully algorithm, steps 1 to 4)",
        rules: Bully {
            guard: false,
            t_coord: false,
            announce: Announce::All,
            restart: Restart::Nothing,
            highest: Highest::Waits,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
    Variant {
        name: "chapter",
        source: "book chapter, text and simulator (state machine, IM_BACK on restart, heartbeats)",
        rules: Bully {
            restart: Restart::ImBack,
            highest: Highest::Waits,
            watch: Watch::Heartbeat,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
    Variant {
        name: "lesson",
        source: "course lesson, class BullyElection (its calls taken as messages)",
        rules: Bully {
            guard: false,
            announce: Announce::All,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
    Variant {
        name: "lecture",
        source: "lecture notes (The Bully Algorithm; state transfer left out)",
        rules: Bully {
            guard: false,
            t_coord: false,
            highest: Highest::Waits,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
    Variant {
        name: "tanenbaum",
        source: "Tanenbaum and van Steen, Distributed Systems (election algorithms)",
        rules: Bully {
            t_coord: false,
            announce: Announce::All,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
    Variant {
        name: "coulouris",
        source: "Coulouris et al., Distributed Systems: Concepts and Design, section 15.3",
        rules: Bully { incumbent: Incumbent::Elects, ..Bully::TEXTBOOK },
    },
    Variant {
        name: "wikipedia",
        source: "Wikipedia since 2017 (the sender of Victory is the coordinator)",
        rules: Bully { announce: Announce::All, incumbent: Incumbent::Elects, ..Bully::TEXTBOOK },
    },
    Variant {
        name: "wikipedia-old",
        source: "Wikipedia before 2017 (Victory of a lower id starts an election)",
        rules: Bully {
            accept: Accept::LowerStartsElection,
            announce: Announce::All,
            incumbent: Incumbent::Elects,
            ..Bully::TEXTBOOK
        },
    },
];

impl Bully {
    /// The rules that the production implementation follows.
    pub const RECOMMENDED: Bully = Bully {
        accept: Accept::NotLowerThanKnown,
        watch: Watch::Announcement,
        challenged: Challenged::Answers,
        ..Bully::TEXTBOOK
    };

    /// The textbook bully with everything that it needs and nothing more: Coulouris' rules, a
    /// leader that answers an ELECTION by saying that it leads, and any answer as a sign of life.
    pub const TEXTBOOK: Bully = Bully {
        guard: true,
        t_coord: true,
        accept: Accept::Any,
        announce: Announce::Lower,
        initiate: Initiate::Always,
        restart: Restart::Election,
        highest: Highest::Announces,
        watch: Watch::Answer,
        incumbent: Incumbent::Answers,
        challenged: Challenged::Elects,
        awaits: Awaits::Recovering,
    };

    /// The same with the time-outs of the text that other checkers count the states of.
    pub const BASELINE: Bully = Bully { awaits: Awaits::Live, ..Bully::TEXTBOOK };
}
