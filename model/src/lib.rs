//! Formally checked models of leader election.
//!
//! This crate puts together the [engine](bellwether_engine), the [protocols](bellwether_protocols)
//! and what they do in the worlds that matter ([`survey`]); and it is the command line
//! `bellwether-model`. To check a protocol of your own, depend on `bellwether-engine` alone.
//!
//! A [`Protocol`](protocol::Protocol) says what one process does: on recovery, on a message, on an
//! expired timer. A [`World`](world::World) surrounds `n` such processes with a network, faults and
//! timing, and stateright's searches and its Explorer work on it.
//! [`check`] decides the [properties](property) of a world: safety by exhausting the reachable
//! states, liveness on the state graph under weak or strong fairness.
//!
//! ```
//! use bellwether_model::check::{Options, Verdict, check};
//! use bellwether_model::property;
//! use bellwether_model::protocol::bully::Bully;
//! use bellwether_model::world::{Scenario, World};
//!
//! let world = World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 0))?;
//! let properties = property::select(&world, &[])?;
//! let report = check(&world, &properties, &Options::default(), &mut |_| {})?;
//! assert_eq!(report.verdict(), Verdict::Holds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use bellwether_engine::{
    check, expression, machine, property, round, space, temporal, trace, words, world,
};
pub use bellwether_tool::{explore, report, tune};

pub mod cli;
pub mod in_parallel;
pub mod survey;

/// The trait of protocols, and the protocols.
pub mod protocol {
    pub use bellwether_engine::protocol::*;
    pub use bellwether_protocols::*;
}
