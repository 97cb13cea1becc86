//! All tests of the checker, as one program: what they share is compiled and linked once.

mod asked;
mod best_rules;
mod bounded;
mod bounds;
mod caveats;
mod certificate;
mod choosing;
mod claims;
mod cli;
mod costs;
mod differential;
mod disk;
mod docs;
mod early;
mod explorer;
mod expressions;
mod gallery;
mod help;
mod history;
mod lease;
mod liveness;
mod mixed;
mod output;
mod packed;
mod protocols;
mod prove;
mod quorum;
mod raft_election;
mod report;
mod several;
mod status;
mod suites;
mod survey;
mod timed;
mod trace;
mod tune;
mod walks;

/// All of these if the slow tests are asked for, and else the first of each `several`.
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>, several: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if cfg!(feature = "slow") { 1 } else { several })
}
