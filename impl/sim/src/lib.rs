//! Deterministic simulation of the cores of [`bellwether_core`]: the real programs, many nodes, a
//! virtual network, virtual clocks and disks, and faults from a seed.
//!
//! A [`Code`] decides everything that happens in a run: the same code gives the same run, byte by
//! byte, on every machine. At every step the [invariants](invariant) look.

pub mod batch;
pub mod cli;
mod client;
pub mod clock;
pub mod code;
pub mod failover;
pub mod faults;
mod host;
pub mod invariant;
mod network;
mod program;
pub mod random;
pub mod run;
pub mod store;
pub mod subject;
pub mod world;
pub mod wrong;

pub use code::Code;
