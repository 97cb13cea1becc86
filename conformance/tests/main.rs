//! All tests of the crate, in one program.

mod bad_lines;
mod book;
mod cli;
mod commit;
mod compared;
mod coverage;
#[cfg(feature = "driver")]
mod driven;
mod features;
mod garcia_molina;
mod lease;
mod lease_terms;
mod listed;
mod lockstep;
mod member;
mod modules;
mod newcomer;
mod no_false_alarm;
mod quorum;
mod random_walks;
mod replay;
mod rings;
mod roll_call;
mod status;
mod stoller;
mod style;
mod suite;
mod validate;
mod wrapper;
mod wrong_anywhere;
mod wrong_commits;
mod wrong_durations;
mod wrong_invitations;
mod wrong_leases;
mod wrong_programs;
mod wrong_rings;
