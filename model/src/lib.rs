//! Formally checked models of leader election.
//!
//! A [`Protocol`](protocol::Protocol) says what one process does: on recovery, on a message, on an
//! expired timer. A [`World`](world::World) surrounds `n` such processes with a network, faults and
//! timing, and is a [`stateright::Model`], so stateright's searches and its Explorer work on it.
//! [`check`] decides the [properties](property) of a world: safety by exhausting the reachable
//! states, liveness on the state graph under weak fairness.
//!
//! ```
//! use bellwether_model::check::{Limits, Verdict, check};
//! use bellwether_model::protocol::bully::Bully;
//! use bellwether_model::world::{Faults, World};
//!
//! let world = World::new(Bully::RECOMMENDED, 3)?.with_faults(Faults { crashes: 1, ..Faults::NONE })?;
//! let report = check(&world, &[], &Limits::NONE)?;
//! assert!(report.verdicts.iter().all(|v| v.verdict == Verdict::Holds));
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod check;
pub mod property;
pub mod protocol;
pub mod report;
pub mod trace;
pub mod world;
