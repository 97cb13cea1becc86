//! Two-phase commit with an elected coordinator: all vote, then the coordinator decides (J. Gray,
//! *Notes on Data Base Operating Systems*, 1978; Bernstein, Hadzilacos and Goodman, *Concurrency
//! Control and Recovery in Database Systems*, 1987, section 7.4).
//!
//! A participant that has voted YES is uncertain until it hears the decision. If the coordinator
//! fails in between, the next one asks the others; if none of them knows, all wait. What the two
//! protocols have in common is in [`commit`].

use crate::commit;
use bellwether_engine::protocol::{
    Belief, Id, Judge, Local, Options, Property, Protocol, Rule, TimerRow, Variant, View,
};

mod rules;
mod variants;

pub use rules::{Termination, TwoPhaseCommit};

commit::protocol!(
    TwoPhaseCommit,
    "two-phase-commit",
    "all vote, then the elected coordinator decides: a commit in two phases (Gray 1978)"
);
