//! The refinement mappings: how a state of the program reads as a state of the model.
//!
//! To add a protocol, add its file here and one line to `of_the_daemon`, or to [`mappings`] if the
//! daemon does not run the protocol.

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

use crate::shelled::{self, TICK};
use bellwether_bridge::program::Refusal;
use bellwether_core::protocol::commit::{Three, Two};
use bellwether_core::protocol::{Core, Members, Node, NodeId, Nothing};
use bellwether_model::protocol::{Id, MAX_SEARCHED, Protocol as Specification};
use std::sync::LazyLock;
use std::time::Duration;

/// Nodes that are no members: the next after the highest, and the last that there can be.
pub(super) fn strangers(members: &Members) -> impl Iterator<Item = NodeId> {
    let next = members.iter().max().and_then(|highest| NodeId::new(highest.get() + 1));
    next.into_iter().chain(NodeId::new(u16::MAX))
}

/// The result of a configuration: a node that has not booted, if the program accepts it.
type Configured<C> = Result<Node<C>, Refusal>;

/// Returns what makes nodes of these configurations, with what they kept through their last crash.
fn node<C: Core>(
    config: fn(NodeId, &Members) -> C::Config,
) -> impl Fn(NodeId, &Members, Option<&C::Durable>) -> Configured<C> + Send + Sync + 'static {
    move |id, members, durable| Ok(Node::new(config(id, members), durable.cloned(), 0)?)
}

/// The stable storage of a process whose node keeps nothing.
fn unkept(durable: &Nothing) {
    match *durable {}
}

/// Returns what a process tells that knows no epoch and waits for no node.
fn facts_among_equals<S: Specification>(of: &ProcessView<'_, S>) -> Option<ExpectedFacts<S>> {
    Some(ExpectedFacts::among_equals(of.nodes))
}

/// The process with this id. Messages name members only, and each member is a process; a message
/// that named a node with a larger id than any has would be told as naming the largest that can be
/// compared.
fn known(id: NodeId) -> Id {
    process_id(id).unwrap_or(Id::at(MAX_SEARCHED - 1))
}

/// A number of a program; the specification has none as large as what does not fit.
fn small(number: u64) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// The shortest duration that is longer than another, and the longest that is not.
fn longer_than(other: Duration) -> [Duration; 2] {
    [other + TICK, other]
}

/// The longest duration that is shorter than another, and the shortest that is not.
fn shorter_than(other: Duration) -> [Duration; 2] {
    [other.saturating_sub(TICK), other]
}

/// A relation in which one duration must stand, that duration, and two values of it: one that just
/// keeps the relation, and one that just breaks it.
type Relation<C> = (&'static str, fn(&mut <C as Core>::Config) -> &mut Duration, [Duration; 2]);

/// Returns what the program says of this configuration with each of those values.
fn bounds_of<C: Core, const N: usize>(
    config: &C::Config,
    relations: [Relation<C>; N],
) -> Vec<Bound> {
    let bounds = relations.map(|(relation, duration, values)| {
        let [kept, broken] = values.map(|value| {
            let mut config = config.clone();
            *duration(&mut config) = value;
            Node::<C>::new(config, None, 0).map(drop).map_err(Refusal::from)
        });
        Bound { relation, kept, broken }
    });
    bounds.into()
}

/// The variants of the lease by whose rules the specification plays the store.
const STORES: [&str; 9] = [
    "fenced",
    "unfenced",
    "clustering",
    "lock",
    "postgres-row",
    "redis-setnx",
    "redlock",
    "copied-machine",
    "changed-by-hand",
];

type Boxed = Box<dyn Comparison>;

/// Returns all mappings, in the order in which they are listed.
#[must_use]
pub fn mappings() -> Mappings {
    static ALL: LazyLock<Vec<Boxed>> = LazyLock::new(|| {
        let mut all = of_the_daemon(Around::Nothing);
        all.push(Box::new(commit::mapping::<Two>()));
        all.push(Box::new(commit::mapping::<Three>()));
        all.push(Box::new(member::mapping()));
        all
    });
    Mappings(&ALL)
}

/// Returns the mappings of the protocols that the daemon runs, for the member around a node.
#[must_use]
pub fn members() -> Mappings {
    static ALL: LazyLock<Vec<Boxed>> = LazyLock::new(|| of_the_daemon(Around::Member));
    Mappings(&ALL)
}

/// The surroundings of a node.
#[derive(Clone, Copy)]
enum Around {
    Nothing,
    Member,
}

impl Around {
    fn of<S: Specification, C: Core>(self, node: Mapping<(S, Node<C>)>) -> Boxed {
        match self {
            Around::Nothing => Box::new(node),
            Around::Member => Box::new(shelled::member(&node)),
        }
    }
}

fn of_the_daemon(around: Around) -> Vec<Boxed> {
    let stores = STORES.into_iter().filter_map(lease::variant).map(lease::mapping);
    let leases = [lease::recommended()].into_iter().chain(stores);
    let quorums = [&quorum::RECOMMENDED, &quorum::PREEMPTIVE].map(quorum::mapping);
    let mut all = vec![
        around.of(bully::mapping()),
        around.of(garcia_molina::mapping()),
        around.of(invitation::mapping()),
        around.of(chang_roberts::mapping()),
        around.of(list_ring::mapping()),
        around.of(stoller::mapping()),
    ];
    all.extend(leases.map(|mapping| around.of(mapping)));
    all.extend(quorums.map(|mapping| around.of(mapping)));
    all
}
