//! Proofs for any number of processes.
//!
//! A search decides a property in one world. Here the safety core of a protocol is a transition
//! [`relation`] over any number of processes, with an invariant, and an SMT solver proves that
//! every step keeps it. What ties the relation to the model is that each transition of small
//! worlds is a step of it ([`Part`]), found without the solver.

mod lease;
mod obligation;
mod part;
mod quorum;
mod raft_election;
pub mod relation;
mod sexp;
mod smt;
mod solver;
mod structure;
mod votes;

pub use obligation::{
    Goal, Obligation, Outcome, Proof, Shown, Why, pair, prove, questions, script, step_words,
};
pub use part::{Part, See, Seen, Tie, Tied, Transition, Untied};
pub use solver::{Solver, SolverError};
pub use structure::{Picture, Step, Structure};

use crate::machine::DynProtocol;
use crate::protocol::Protocol as _;
use crate::protocol::lease::Lease;
use crate::protocol::quorum::Quorum;
use crate::protocol::raft_election::RaftElection;

/// The protocols of which something is proved.
pub const PROTOCOLS: [&str; 3] = [RaftElection::NAME, Quorum::NAME, Lease::NAME];

/// What is proved of a protocol by these rules.
///
/// # Errors
/// If nothing is; what to do.
pub fn parts(machine: &dyn DynProtocol) -> Result<Vec<Part>, String> {
    let name = machine.protocol().name();
    let rules = machine.rules();
    if let Some(id) = machine.own().first() {
        return Err(format!(
            "a proof is for every number of processes, which all have the same rules; leave out \
             what is said of process {id} alone"
        ));
    }
    if let Some(rules) = rules.downcast_ref() {
        Ok(raft_election::parts(rules))
    } else if let Some(rules) = rules.downcast_ref() {
        quorum::parts(rules)
    } else if let Some(rules) = rules.downcast_ref() {
        lease::parts(rules)
    } else {
        Err(format!(
            "nothing is proved of '{name}' for every number of processes; there are proofs of {}",
            PROTOCOLS.join(", ")
        ))
    }
}

/// The properties of a protocol that are proved by its default rules, for every number of
/// processes: what the survey shows without a solver.
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

/// What is proved of the past and asked in no world, in words: a world would have to remember it.
#[must_use]
pub fn meaning(property: &str) -> Option<&'static str> {
    let is_known = property == "one-leader-ever";
    is_known.then_some("no two processes ever lead in one term or epoch, not even in turn")
}
