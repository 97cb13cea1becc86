//! All tests of the checker, as one program: what they share is compiled and linked once.

mod accuracy;
mod bounded;
mod bounds;
mod caveats;
mod certificate;
mod chance;
mod choosing;
mod claims;
mod cli;
mod clocks;
mod commit;
mod counts;
mod differential;
mod disk;
mod docs;
mod early;
mod explorer;
mod expressions;
mod fairness;
mod gallery;
mod garcia_molina;
mod growth;
mod help;
mod history;
mod invitation;
mod large;
mod lease;
mod lease_stores;
mod liveness;
mod member;
mod mixed;
mod ospf_dr;
mod output;
mod packed;
mod prove;
mod queue;
mod quorum;
mod raft_election;
mod real_design;
mod recommended;
mod report;
mod rings;
mod several;
mod status;
mod stoller;
mod stoller_parts;
mod stoller_rules;
mod suites;
mod survey;
mod swarm;
mod timed;
mod trace;
mod tune;
mod unused;
mod verdicts;
mod vrrp;

/// All of these if the slow tests are asked for, and else the first of each `several`.
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>, several: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if cfg!(feature = "slow") { 1 } else { several })
}
