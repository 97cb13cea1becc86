//! All tests of the crate, in one program.

mod around;
mod book;
mod cli;
mod compared;
mod features;
mod lease;
mod modules;
mod newcomer;
mod processes;
mod protocols;
mod quorum;
mod random_walks;
mod replay;
mod roll_call;
mod suite;
mod validate;
mod walks;
mod wrong;
mod wrong_program;
