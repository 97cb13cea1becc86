//! The refinement mappings: how a state of the program reads as a state of the model.
//!
//! To add a protocol, add its file here and one line to [`MAPPINGS`].

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

pub use bellwether_bridge::mapping::*;
pub use bellwether_bridge::registry::{AnyMapping, Description, Mappings, Runs};

use bellwether_bridge::program::Program;
use bellwether_core::protocol::commit::{Three, Two};
use bellwether_core::protocol::{Members, NodeId};
use bellwether_model::protocol::Protocol as Specification;

/// Nodes that are no members: the next after the highest, and the last that there can be.
pub(super) fn strangers(members: &Members) -> impl Iterator<Item = NodeId> {
    let next = members.iter().max().and_then(|highest| NodeId::new(highest.get() + 1));
    next.into_iter().chain(NodeId::new(u16::MAX))
}

macro_rules! mappings {
    ($($mapping:expr),+ $(,)?) => {
        /// All mappings, in the order in which they are listed.
        pub static MAPPINGS: Mappings = Mappings(&[$(&$mapping),+]);

        // A protocol has one name, in model, program and bridge.
        $(const _: () = assert!(
            has_one_name(&$mapping),
            "specification and program go by different names"
        );)+
    };
}

const fn has_one_name<M: Mapping>(_: &M) -> bool {
    same(<M::Spec as Specification>::NAME, <M::Program as Program>::NAME)
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

mappings![
    bully::BullyMapping,
    garcia_molina::GarciaMolinaMapping,
    invitation::InvitationMapping,
    chang_roberts::ChangRobertsMapping,
    list_ring::ListRingMapping,
    stoller::StollerMapping,
    lease::LeaseMapping::new(),
    lease::FENCED,
    lease::UNFENCED,
    lease::CLUSTERING,
    lease::LOCK,
    lease::POSTGRES_ROW,
    lease::REDIS_SETNX,
    lease::REDLOCK,
    quorum::AnyQuorum::of::<quorum::Recommended>(),
    quorum::AnyQuorum::of::<quorum::Preemptive>(),
    commit::CommitMapping::<Two>::new(),
    commit::CommitMapping::<Three>::new(),
    member::MemberMapping,
];
