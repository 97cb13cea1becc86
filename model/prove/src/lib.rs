//! Proofs for any number of processes.
//!
//! A search decides a property in one world. Here the safety core of a protocol is a transition
//! [`relation`] over any number of processes, with an invariant, and an SMT solver proves that
//! every step keeps it. What ties the relation to the model is that each transition of small
//! worlds is a step of it ([`Part`]), found without the solver.

pub mod cli;
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

use bellwether_model::machine::DynProtocol;
use bellwether_model::protocol::Protocol as _;
use bellwether_model::protocol::lease::Lease;
use bellwether_model::protocol::quorum::Quorum;
use bellwether_model::protocol::raft_election::RaftElection;

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
