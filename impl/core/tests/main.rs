//! All tests of the crate from the outside, in one program.

mod contracts;
mod detector_contracts;
mod detector_flaws;
mod traces;
