//! What is proved of protocols for every number of processes.

use crate::protocol::Protocol;
use crate::protocol::lease::Lease;
use crate::protocol::quorum::Quorum;
use crate::protocol::raft_election::RaftElection;

/// Returns the properties of a protocol that the package `bellwether-prove` proves by its default
/// rules, for every number of processes: what the survey shows without a solver.
#[must_use]
pub fn proved(protocol: &str) -> &'static [&'static str] {
    match protocol {
        RaftElection::NAME => {
            &["election-safety", "one-leader-ever", "votes-stand", "majority-behind"]
        }
        Quorum::NAME => &["one-leader-per-epoch", "one-leader-ever", "grants-stand", "epochs-grow"],
        Lease::NAME => &["one-grant", "tokens-grow", "no-stale-write", "at-most-one-leader"],
        _ => &[],
    }
}

/// Returns what is proved of the past and asked in no world, in words: a world would have to
/// remember it.
pub(super) fn meaning(property: &str) -> Option<&'static str> {
    let is_known = property == "one-leader-ever";
    is_known.then_some("no two processes ever lead in one term or epoch, not even in turn")
}
