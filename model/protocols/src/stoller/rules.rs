//! The rules in which the variants of Stoller's election differ, and each variant as one value of
//! them.

use bellwether_engine::protocol::{Variant, rule_type};

/// The rules in which the variants of Stoller's election differ.
#[rule_type]
pub struct Stoller {
    /// What an election begins with.
    pub begins: Begins,
    /// What a process does when it is halted although it follows, or waits for, another.
    pub halted: Halted,
    /// Which processes a leader asks now and then whether they follow it.
    pub query: Query,
    /// Which process answers that it does not.
    pub answer: Answer,
    /// What a leader does when it is told so.
    pub again: Again,
    /// What a process in stage 2 does when its HALT stays unanswered.
    pub unanswered: Unanswered,
    /// Whether a process can tell its incarnations apart.
    pub incarnation: Incarnation,
    /// Whether the elections of one incarnation have numbers of their own. Without these and with
    /// volatile incarnations, a message says only whose election it belongs to: its sender's or its
    /// receiver's, as in the bully.
    pub counter: Counter,
    /// Whether a detector notices that a process was down although it is up again.
    pub restart: Restart,
    /// A process that has given way is silent towards the detectors of lower ids, so that a process
    /// that followed it looks for another leader.
    pub plays_dead: bool,
}

/// What an election begins with.
#[rule_type]
pub enum Begins {
    /// Stage 1: it waits until every higher process is reported down, or halts it.
    StageOne,
    /// Stage 2 at once: it halts the lower ones without asking about the higher.
    StageTwo,
}

/// What a process does when it is halted although it follows, or waits for, another.
#[rule_type]
pub enum Halted {
    /// It gives way to the process that halts it.
    Yields,
    /// It gives way unless the one that it follows or waits for is higher than the one that halts
    /// it: then it answers REJ.
    Rejects,
    /// It gives way unless it leads or follows: then it answers whom (HAS_LEADER).
    TellsLeader,
}

/// Which processes a leader asks now and then whether they follow it.
#[rule_type]
pub enum Query {
    /// No process.
    None,
    /// Those that it was told are down, except the highest id.
    Down,
    /// All lower ids.
    Lower,
}

/// Which process answers a leader's question with NOT_NORM.
#[rule_type]
pub enum Answer {
    /// A process that neither leads nor follows.
    NotNorm,
    /// A process that leads, follows, or waits for, a lower process than the one that asks.
    LedByLower,
    /// A process that does not follow the one that asks in this very election, unless it follows or
    /// waits for a higher one.
    NotFollowing,
    /// A process that is in stage 1 or waits for this very election; it gives way before it
    /// answers.
    GivesWay,
}

/// What a leader does when it is told that a process does not follow it.
#[rule_type]
pub enum Again {
    /// Stage 2 once more, under the id of the election that it won.
    Halts,
    /// A new election.
    Elects,
    /// It tells that process that it leads.
    Announces,
}

/// What a process in stage 2 does when its HALT stays unanswered although no detector reports the
/// receiver as down: that lost it, in a restart or on the way.
#[rule_type]
pub enum Unanswered {
    /// It waits on.
    Waits,
    /// It sends the HALT again.
    Repeats,
    /// It starts a new election, with a new name.
    Elects,
}

/// Whether a detector notices that a process was down although it is up again.
#[rule_type]
pub enum Restart {
    /// It does not: it watches the process, and reports it only while it is down.
    Unnoticed,
    /// It does: it watches the incarnation, and reports its end before anything that the next one
    /// sends, as a connection does that breaks.
    Reported,
}

/// Whether a process can tell its incarnations apart.
#[rule_type]
pub enum Incarnation {
    /// It counts its starts on stable storage, and each has a higher number.
    Stable,
    /// All have the same number.
    Volatile,
}

/// Whether the elections of one incarnation have numbers of their own.
#[rule_type]
pub enum Counter {
    /// Each has one more than the last.
    Counts,
    /// All have the same.
    Stands,
}

pub(super) const VARIANTS: &[Variant<Stoller>] = variant_table! { Stoller:
    "recommended": "no combination of the rules keeps all that this one keeps, and something more"
        => RECOMMENDED;
    "stoller": "S. D. Stoller 1997, the bully with a failure detector, for synchronous systems"
        => SYNCHRONOUS;
    "asynchronous":
        "S. D. Stoller 1997, for asynchronous systems, as Cant's gl_async_bully tells it"
        => SYNCHRONOUS {
            begins: Begins::StageTwo, halted: Halted::Rejects, answer: Answer::LedByLower,
            again: Again::Elects, plays_dead: true
        };
    "gen-leader": "Erlang's gen_leader (Arts, Svensson, Wiger) without its workers and joining"
        => SYNCHRONOUS {
            halted: Halted::TellsLeader, query: Query::Down, answer: Answer::GivesWay,
            again: Again::Announces
        };
};

impl Stoller {
    /// The rules that the program implements.
    pub const RECOMMENDED: Stoller = Stoller {
        answer: Answer::NotFollowing,
        again: Again::Elects,
        unanswered: Unanswered::Elects,
        restart: Restart::Unnoticed,
        ..Stoller::SYNCHRONOUS
    };

    /// The first of the paper's two algorithms.
    pub const SYNCHRONOUS: Stoller = Stoller {
        begins: Begins::StageOne,
        halted: Halted::Yields,
        query: Query::Lower,
        answer: Answer::NotNorm,
        again: Again::Halts,
        unanswered: Unanswered::Waits,
        incarnation: Incarnation::Stable,
        counter: Counter::Counts,
        restart: Restart::Reported,
        plays_dead: false,
    };
}
