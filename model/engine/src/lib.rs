//! The engine of Bellwether: what checks a leader election, whatever the election.
//!
//! A [`Protocol`](protocol::Protocol) says what one process does: on recovery, on a message, on an
//! expired timer. A [`World`](world::World) surrounds `n` such processes with a network, faults and
//! timing, and stateright's searches and its Explorer work on it, unless the feature `stateright`
//! is left out.
//! [`check`] decides the [properties](property) of a world: safety by exhausting the reachable
//! states, liveness on the state graph under weak or strong fairness.
//!
//! ```
//! use bellwether_engine::check::{Options, Verdict, check};
//! use bellwether_engine::property;
//! use bellwether_protocols::bully::Bully;
//! use bellwether_engine::world::{Scenario, World};
//!
//! let world = World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 0))?;
//! let properties = property::select(&world, &[])?;
//! let report = check(&world, &properties, &Options::default(), &mut |_| {})?;
//! assert_eq!(report.verdict(), Verdict::Holds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use bellwether_search::space;

pub mod check;
pub mod expression;
pub mod machine;
pub mod property;
pub mod protocol;
pub mod round;
pub mod temporal;
pub mod terms;
pub mod trace;
pub mod words;
pub mod world;
