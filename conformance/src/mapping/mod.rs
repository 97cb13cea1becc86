//! The refinement mappings: how a state of the program reads as a state of the model.
//!
//! To add a protocol, add its file here and one line to [`mappings`].

pub mod bully;
pub mod chang_roberts;
pub mod commit;
pub mod garcia_molina;
pub mod invitation;
pub mod lease;
pub mod list_ring;
pub mod member;
pub mod quorum;
pub mod ring;
pub mod stoller;

pub use bellwether_bridge::comparison::{Comparison, Description, Mappings};
pub use bellwether_bridge::mapping::*;

use bellwether_core::protocol::commit::{Three, Two};
use bellwether_core::protocol::{Members, NodeId};
use bellwether_model::protocol::Protocol as Specification;
use bellwether_model::protocol::lease::Lease as LeaseRules;
use std::sync::LazyLock;

/// Nodes that are no members: the next after the highest, and the last that there can be.
pub(super) fn strangers(members: &Members) -> impl Iterator<Item = NodeId> {
    let next = members.iter().max().and_then(|highest| NodeId::new(highest.get() + 1));
    next.into_iter().chain(NodeId::new(u16::MAX))
}

/// Returns all mappings, in the order in which they are listed.
#[must_use]
pub fn mappings() -> Mappings {
    static ALL: LazyLock<Vec<Box<dyn Comparison>>> = LazyLock::new(|| {
        let own = [LeaseRules::RECOMMENDED];
        let stores =
            ["fenced", "unfenced", "clustering", "lock", "postgres-row", "redis-setnx", "redlock"];
        let leases = own.into_iter().chain(stores.into_iter().filter_map(lease::variant));
        let leases = leases.map(|rules| Box::new(lease::mapping(rules)) as Box<dyn Comparison>);
        let mut all: Vec<Box<dyn Comparison>> = vec![
            Box::new(bully::mapping()),
            Box::new(garcia_molina::mapping()),
            Box::new(invitation::mapping()),
            Box::new(chang_roberts::mapping()),
            Box::new(list_ring::mapping()),
            Box::new(stoller::mapping()),
        ];
        all.extend(leases);
        all.push(Box::new(quorum::mapping(&quorum::RECOMMENDED)));
        all.push(Box::new(quorum::mapping(&quorum::PREEMPTIVE)));
        all.push(Box::new(commit::mapping::<Two>()));
        all.push(Box::new(commit::mapping::<Three>()));
        all.push(Box::new(member::mapping()));
        all
    });
    Mappings(&ALL)
}
