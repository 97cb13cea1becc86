//! Real processes of the daemon on loopback: a cluster whose leaders are killed, and bad input.

mod bad_input;
mod cluster;
pub(crate) mod common;
