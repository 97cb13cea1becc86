//! What a node must tell the outside that stands for a process.

use bellwether_engine::protocol::{Id, Ids, Protocol as Specification};

/// A process, and what it knows of its world.
#[derive(Clone, Copy, Debug)]
pub struct ProcessView<'a, P: Specification> {
    /// The id of the process.
    pub id: Id,
    /// The number of processes, services among them.
    pub nodes: usize,
    /// The process.
    pub process: &'a P::Process,
    /// The stable storage of the process.
    pub stable: &'a P::Stable,
}

/// What a node must tell the outside that stands for a process: the
/// [facts](crate::program::Facts) of the program, in the terms of the specification.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedFacts<P: Specification> {
    /// The epoch of the leader that it follows or is; `None` if it must tell none.
    pub epoch: Option<u64>,
    /// The epoch for which its program is asked to prepare itself; `None` if it is not asked.
    pub prepares: Option<u64>,
    /// The timer at the end of which its lease is over, if it leads by a lease: that of its epoch.
    /// It leads before that moment, and not from then on.
    pub lease: Option<P::Timer>,
    /// The nodes that it waits for.
    pub waits_for: Waits<P>,
    /// The nodes of which it may name one to lead after it. What else decides that, a
    /// specification does not know.
    pub successors: Ids,
    /// The nodes that it has asked to lead instead, and waits for; `None` if that is not said.
    pub awaited: Option<Ids>,
    /// The nodes that may be named to lead; `None` if that is not said.
    pub may_lead: Option<Ids>,
    /// The nodes that vote and never lead.
    pub witnesses: Ids,
}

/// The nodes that a process waits for.
#[derive(Clone, Copy, Debug)]
pub enum Waits<P: Specification> {
    /// The mapping does not say.
    Unsaid,
    /// It waits for none.
    Nothing,
    /// While this timer runs, it waits for these, and for nothing else.
    For(P::Timer, Ids),
}

impl<P: Specification> ExpectedFacts<P> {
    /// The facts of a process that knows no epoch, has no lease and waits for no node.
    pub const NONE: Self = ExpectedFacts {
        epoch: None,
        prepares: None,
        lease: None,
        waits_for: Waits::Nothing,
        successors: Ids::NONE,
        awaited: None,
        may_lead: None,
        witnesses: Ids::NONE,
    };

    /// Returns the same of a process in a group of `nodes`, any of which may lead.
    #[must_use]
    pub fn among_equals(nodes: usize) -> Self {
        ExpectedFacts { may_lead: Some(Ids::all(nodes)), ..Self::NONE }
    }
}
