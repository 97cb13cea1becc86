//! All tests of the crate from the outside, in one program.

mod cli;
mod runs;
mod wrong;
