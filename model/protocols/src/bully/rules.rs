//! The rules in which the variants of the bully differ, and each variant as one value of them.
//!
//! Where a text is silent, its variant gets the rule of [`Bully::TEXTBOOK`], so that a verdict
//! shows what the text says and not what was made up for it; the rules that a text does state are
//! listed with it.

use bellwether_engine::protocol::{Variant, rule_type};

/// The rules in which the variants of the bully differ. The whole group has one value of `watch`, as
/// one process sends what another listens for.
#[rule_type]
pub struct Bully {
    /// A process in an election does not start another when an ELECTION arrives.
    pub guard: bool,
    /// A process that had an OK but no COORDINATOR within `T_coord` starts a new election.
    pub t_coord: bool,
    /// Whose COORDINATOR is accepted.
    pub accept: Accept,
    /// To which processes COORDINATOR is sent.
    pub announce: Announce,
    /// Which process may start an election when the leader has failed.
    pub initiate: Initiate,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// A process keeps its leader on stable storage, and follows it again when it recovers, unless
    /// it led itself.
    pub remembers: bool,
    /// A follower acknowledges a COORDINATOR and gets the state of the work; a process that
    /// recovers gets it from the leader, and then starts an election.
    #[rule(of_all)]
    pub transfer: bool,
    /// What the process with the highest id of all does when it should start an election.
    pub highest: Highest,
    /// How a follower watches its leader.
    #[rule(of_all)]
    pub watch: Watch,
    /// What a leader does, besides the OK, when an ELECTION arrives.
    pub incumbent: Incumbent,
    /// What a follower does, besides the OK, when an ELECTION arrives.
    pub challenged: Challenged,
    /// Whose answers time-outs wait for, with perfect timing.
    #[rule(of_all)]
    pub awaits: Awaits,
}

/// Whose answers time-outs wait for, with perfect timing.
#[rule_type]
pub enum Awaits {
    /// Those of the processes that are up. A message in flight to another is not waited for,
    /// although its receiver may recover and answer: the fixed text of the baseline, which no clock
    /// keeps to where processes recover.
    Live,
    /// Also those of processes that are down and may recover before the message arrives.
    Recovering,
}

/// Whose COORDINATOR is accepted.
#[rule_type]
pub enum Accept {
    /// That of any process.
    Any,
    /// That of a process with a higher id than one's own.
    NotLowerThanSelf,
    /// That of a process with a higher id than one's own that is not lower than the leader one
    /// knows, if one knows a leader.
    NotLowerThanKnown,
    /// A higher one's; a lower one's starts an election.
    LowerStartsElection,
}

/// To which processes COORDINATOR is sent.
#[rule_type]
pub enum Announce {
    /// To every lower id.
    Lower,
    /// To every other id.
    All,
}

/// Which process may start an election when the leader has failed.
#[rule_type]
pub enum Initiate {
    /// Any process that notices.
    Always,
    /// Only a process whose id is higher than the failed leader's; others wait for news.
    AboveFailed,
}

/// What a process does when it recovers from a crash.
#[rule_type]
pub enum Restart {
    /// It starts an election.
    Election,
    /// It leads at once and says IM_BACK to all; a process with a lower id takes it for the leader.
    ImBack,
    /// It asks all which leads, and starts an election only if none does.
    CheckFirst,
    /// Nothing: it waits to hear of a leader.
    Nothing,
}

/// What the process with the highest id of all does when it should start an election.
#[rule_type]
pub enum Highest {
    /// It needs no election and announces itself at once.
    Announces,
    /// It waits `T_elec` like every other process.
    Waits,
}

/// How a follower watches its leader.
#[rule_type]
pub enum Watch {
    /// It asks "are you there?"; any answer will do, also from a process that does not lead.
    Answer,
    /// It listens for a heartbeat that only a leader sends.
    Heartbeat,
    /// The heartbeat is the COORDINATOR itself, repeated: it also corrects those who follow others.
    Announcement,
}

/// What a leader does, besides the OK, when an ELECTION arrives.
#[rule_type]
pub enum Incumbent {
    /// It tells the asker that it leads.
    Answers,
    /// It starts an election like every other process.
    Elects,
}

/// What a follower does, besides the OK, when an ELECTION arrives.
#[rule_type]
pub enum Challenged {
    /// It starts an election.
    Elects,
    /// Nothing while it watches a higher leader: its own watch says when that is gone.
    Answers,
}

pub(super) const VARIANTS: &[Variant<Bully>] = variant_table! { Bully:
    "recommended": "no other combination of rules keeps a property that this one breaks"
        => RECOMMENDED;
    "baseline": "the fixed semantics by which checkers are compared, state for state" => BASELINE;
    "encyclopedia": "encyclopedia article, prose (Process Requirements, Election Procedure)"
        => TEXTBOOK {
            t_coord: false, accept: Accept::NotLowerThanSelf, announce: Announce::All,
            initiate: Initiate::AboveFailed, restart: Restart::CheckFirst, highest: Highest::Waits,
            incumbent: Incumbent::Elects
        };
    "encyclopedia-code":
        "encyclopedia article, pseudocode (HandleRecovery, HoldElection, ReceiveMessage)"
        => TEXTBOOK {
            guard: false, t_coord: false, announce: Announce::All, highest: Highest::Waits,
            incumbent: Incumbent::Elects
        };
    "clustering": "article on clustered software, 2016 (Bully algorithm, steps 1 to 4)"
        => TEXTBOOK {
            guard: false, t_coord: false, announce: Announce::All, restart: Restart::Nothing,
            highest: Highest::Waits, incumbent: Incumbent::Elects
        };
    "chapter": "book chapter, text and simulator (state machine, IM_BACK on restart, heartbeats)"
        => TEXTBOOK {
            restart: Restart::ImBack, highest: Highest::Waits, watch: Watch::Heartbeat,
            incumbent: Incumbent::Elects
        };
    "lesson": "course lesson, class BullyElection (its calls taken as messages)"
        => TEXTBOOK { guard: false, announce: Announce::All, incumbent: Incumbent::Elects };
    "lecture": "lecture notes (The Bully Algorithm; state transfer left out)"
        => TEXTBOOK {
            guard: false, t_coord: false, highest: Highest::Waits, incumbent: Incumbent::Elects
        };
    "tanenbaum": "Tanenbaum and van Steen, Distributed Systems (election algorithms)"
        => TEXTBOOK { t_coord: false, announce: Announce::All, incumbent: Incumbent::Elects };
    "coulouris": "Coulouris et al., Distributed Systems: Concepts and Design, section 15.3"
        => TEXTBOOK { incumbent: Incumbent::Elects };
    "wikipedia": "Wikipedia since 2017 (the sender of Victory is the coordinator)"
        => TEXTBOOK { announce: Announce::All, incumbent: Incumbent::Elects };
    "wikipedia-old": "Wikipedia before 2017 (Victory of a lower id starts an election)"
        => TEXTBOOK {
            accept: Accept::LowerStartsElection, announce: Announce::All,
            incumbent: Incumbent::Elects
        };
};

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
        remembers: false,
        transfer: false,
        highest: Highest::Announces,
        watch: Watch::Answer,
        incumbent: Incumbent::Answers,
        challenged: Challenged::Elects,
        awaits: Awaits::Recovering,
    };

    /// The same with the time-outs of the text that other checkers count the states of.
    pub const BASELINE: Bully = Bully { awaits: Awaits::Live, ..Bully::TEXTBOOK };
}
