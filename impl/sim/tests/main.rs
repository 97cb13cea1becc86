//! All tests of the crate from the outside, in one program.

mod cli;
mod failover;
mod runs;
mod wrong;
