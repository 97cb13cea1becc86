//! The leader elections that Bellwether knows, each as the specification of one process.
//!
//! To add a protocol, add its file here and one line to the [`REGISTRY`]. What surrounds a node is
//! specified here too: the [`member`], which is no election.

#[macro_use]
mod tables;

pub mod bully;
pub mod chang_roberts;
pub mod commit;
pub mod garcia_molina;
pub mod invitation;
pub mod lease;
pub mod list_ring;
pub mod member;
pub mod ospf_dr;
pub mod queue;
pub mod quorum;
pub mod raft_election;
pub mod ring;
pub mod stoller;
pub mod three_phase_commit;
pub mod two_phase_commit;
pub mod vrrp;

use bellwether_engine::machine::{AnyProtocol, ProtocolEntry, Registry};
use std::sync::LazyLock;

/// All protocols, in the order in which they are listed. A `static`, for a constant would be
/// compiled, with everything that it names, into each crate that uses it.
pub static REGISTRY: Registry = Registry(&[
    &ProtocolEntry::<bully::Bully>::NEW,
    &ProtocolEntry::<garcia_molina::GarciaMolina>::NEW,
    &ProtocolEntry::<invitation::Invitation>::NEW,
    &ProtocolEntry::<chang_roberts::ChangRoberts>::NEW,
    &ProtocolEntry::<list_ring::ListRing>::NEW,
    &ProtocolEntry::<stoller::Stoller>::NEW,
    &ProtocolEntry::<lease::Lease>::NEW,
    &ProtocolEntry::<queue::Queue>::NEW,
    &ProtocolEntry::<raft_election::RaftElection>::NEW,
    &ProtocolEntry::<quorum::Quorum>::NEW,
    &ProtocolEntry::<ospf_dr::OspfDr>::NEW,
    &ProtocolEntry::<vrrp::Vrrp>::NEW,
    &ProtocolEntry::<two_phase_commit::TwoPhaseCommit>::NEW,
    &ProtocolEntry::<three_phase_commit::ThreePhaseCommit>::NEW,
]);

/// Returns all that is specified here: the protocols, and the member.
#[must_use]
pub fn specifications() -> Registry {
    static ALL: LazyLock<Vec<&'static dyn AnyProtocol>> = LazyLock::new(|| {
        let member: &'static dyn AnyProtocol = &ProtocolEntry::<member::Member>::NEW;
        REGISTRY.iter().chain([member]).collect()
    });
    Registry(&ALL)
}
