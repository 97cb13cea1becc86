//! All tests of the crate from the outside, in one program.

mod groups;
mod leases;
mod library;
mod members;
mod own_store;
mod persistence;
mod processes;
mod rivals;
mod standing;
mod stores;
