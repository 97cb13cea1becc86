//! Bellwether's own mappings: each protocol's program, compared with its specification.
//!
//! Neither knows the other: they are two independent descriptions of one protocol. A [`Mapping`]
//! says how a state of the one reads as a state of the other; the
//! [bridge](bellwether_bridge) compares them by it. To compare a program of your own, depend on
//! `bellwether-bridge` alone.
//!
//! ```
//! use bellwether_conformance::lockstep::{Outcome, lockstep};
//! use bellwether_conformance::mapping::bully;
//! use bellwether_model::check::Limits;
//! use bellwether_model::world::{Scenario, World};
//!
//! let mapping = bully::mapping();
//! let world = World::new(mapping.rules, Scenario::calm(3).with_crashes(1, 0))?;
//! let Outcome { summary, divergence, .. } =
//!     lockstep(&world, &mapping, 1, &Limits::NONE, &mut |_| {})?;
//! assert!(divergence.is_none());
//! assert!(summary.transitions > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod mapping;
pub mod processes;
pub mod shelled;

pub use bellwether_bridge::{
    Difference, Divergence, Error, Kind, Malformed, Program, cli, comparison, divergence,
    large_group, lockstep, node, pair, probe, program, reduce, replay, report, suite, surroundings,
    validate,
};
pub use mapping::Mapping;
