//! Three-phase commit with an elected coordinator: before it commits, it tells all that all have
//! voted YES (D. Skeen, *Nonblocking Commit Protocols*, 1981; the same, *A Quorum-Based Commit
//! Protocol*, 1982; Bernstein, Hadzilacos and Goodman, 1987, section 7.5).
//!
//! No process commits while another may be uncertain, so those that are left know enough to decide
//! when the coordinator fails: by what is known of those that answer, or with a majority. What the
//! two protocols have in common is in [`commit`].

use crate::commit;
use bellwether_engine::protocol::{
    Belief, Id, Judge, Local, Options, Property, Protocol, Rule, TimerRow, Variant, View,
};

mod rules;
mod variants;

pub use rules::{Termination, ThreePhaseCommit};

commit::protocol!(
    ThreePhaseCommit,
    "three-phase-commit",
    "a commit that tells all that all voted YES before it commits (Skeen 1981, 1982)"
);
