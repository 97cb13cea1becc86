//! All tests of the crate, in one program.

mod any_quorum;
mod bad_lines;
mod book;
mod cli;
mod commit;
mod compared;
mod coverage;
#[cfg(feature = "driver")]
mod driven;
mod features;
mod files;
mod further;
mod garcia_molina;
mod lease;
mod lease_stores;
mod lease_terms;
mod listed;
mod lockstep;
mod long_run;
mod member;
mod modules;
mod newcomer;
mod no_false_alarm;
mod processes;
mod quorum;
mod random_walks;
mod reconfigured;
mod replay;
mod rings;
mod roll_call;
mod status;
mod stoller;

mod suite;
mod validate;
mod wrapper;
mod wrong_anywhere;
mod wrong_commits;
mod wrong_durations;
mod wrong_facts;
mod wrong_invitations;
mod wrong_leases;
mod wrong_orders;
mod wrong_programs;
mod wrong_rings;
