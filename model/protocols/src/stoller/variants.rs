//! Each variant of Stoller's election as one value of its rules.

use super::{
    Again, Answer, Begins, Counter, Halted, Incarnation, Query, Restart, Stoller, Unanswered,
};
use bellwether_engine::protocol::Variant;

pub(super) const ALL: &[Variant<Stoller>] = &[
    Variant {
        name: "recommended",
        source: "no combination of the rules keeps all that this one keeps, and something more",
        rules: Stoller::RECOMMENDED,
    },
    Variant {
        name: "stoller",
        source: "S. D. Stoller 1997, the bully with a failure detector, for synchronous systems",
        rules: Stoller::SYNCHRONOUS,
    },
    Variant {
        name: "asynchronous",
        source: "S. D. Stoller 1997, for asynchronous systems, as Cant's gl_async_bully tells it",
        rules: Stoller {
            begins: Begins::StageTwo,
            halted: Halted::Rejects,
            answer: Answer::LedByLower,
            again: Again::Elects,
            plays_dead: true,
            ..Stoller::SYNCHRONOUS
        },
    },
    Variant {
        name: "gen-leader",
        source: "Erlang's gen_leader (Arts, Svensson, Wiger) without its workers and joining",
        rules: Stoller {
            halted: Halted::TellsLeader,
            query: Query::Down,
            answer: Answer::GivesWay,
            again: Again::Announces,
            ..Stoller::SYNCHRONOUS
        },
    },
];

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
