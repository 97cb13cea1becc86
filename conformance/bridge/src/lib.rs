//! The bridge between a formal model and the program that runs in production.
//!
//! Neither knows the other: they are two independent descriptions of one protocol. A [`Mapping`]
//! says how a state of the one reads as a state of the other, and everything here follows from it:
//!
//! - [`lockstep`] takes *every* transition of a bounded world in both, and compares them;
//! - [`probe`] asks every node that was met for what no honest world would do to it;
//! - [`large_group`](large_group::large_group) starts a group as large as the program allows;
//! - [`surroundings`] are worlds besides: with numbers that are large, with nodes that start again
//!   with other durations, and by other rules of the program;
//! - [`replay`] drives the program through one saved execution of the model;
//! - [`suite`] finds executions that together take every transition, and drives it through each;
//! - [`processes`] is what is asked of real processes, to show what they can of a suite;
//! - [`validate`] judges the logs of nodes that ran.
//!
//! A difference is a [`Divergence`]: an output is missing, an output is unexpected, or the state is
//! different. One report tells of it wherever it was found, and [`reduce`] makes the execution as
//! small as it can be. A run that compared nothing is an error, not a success.
//!
//! This crate knows no protocol: neither those of `bellwether-protocols` nor yours.

pub mod cli;
pub mod comparison;
pub mod coverage;
pub mod divergence;
pub mod large_group;
pub mod lockstep;
pub mod mapping;
mod message_table;
pub mod node;
pub mod pair;
pub mod probe;
pub mod processes;
pub mod program;
pub mod reduce;
pub mod replay;
pub mod report;
pub mod suite;
pub mod surroundings;
pub mod validate;

mod compare;
mod error;
mod guards;
mod settle;
mod step;
mod why;

pub use coverage::Coverage;
pub use divergence::{Difference, Divergence, Kind};
pub use error::{Error, Malformed};
pub use mapping::{Mapping, Sides};
pub use program::Program;
