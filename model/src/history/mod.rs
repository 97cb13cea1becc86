//! Bugs that elections of real systems had, as data, and what runs them.
//!
//! An entry says in our words what happened, and where it is told. It has two worlds: one by rules
//! that have the bug, where a property is violated, and one by the rules of the repair, where the
//! property holds. Both are run; what the entry states (how long a shortest execution is) is
//! compared with what is found.
//!
//! The entries are in `model/history/bugs.toml`, and are compiled in. What the model cannot say is
//! listed there too, with the reason.

mod entry;
mod run;

pub use entry::{Bug, History, HistoryError, Place, Unsaid};
pub use run::{Rerun, rerun};
