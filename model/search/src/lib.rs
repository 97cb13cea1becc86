//! Searches a transition system whose states are a few machine words, whatever they stand for.
//!
//! A [`Space`](space::Space) says which states follow a state. [`exact`] finds every reachable one,
//! whole, with all processors or with those of many machines. On the [rows](rows::Rows) of what
//! follows, [`scc`] finds the strongly connected components, [`fair`] those in which an execution can
//! stay for ever under weak or strong fairness, and [`lasso`] the way into one of them and round in
//! it; [`cover`] finds executions that take every transition. A search has [`Limits`], and tells how
//! far it is.
//!
//! Nothing here knows of processes, messages or protocols: the package `bellwether-engine` makes a
//! space of those, and decides properties.

pub mod cover;
pub mod exact;
pub mod fair;
pub mod lasso;
pub mod rows;
pub mod scc;
pub mod space;

mod limits;
mod progress;

pub use exact::{Disk, DiskError};
pub use limits::{Cancel, Limits, Reason, Watch, peak_rss_bytes, usable_bytes};
pub use progress::{Counts, Event, Phase, Progress, Unfinished};
