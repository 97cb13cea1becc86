//! Timers of the program as those of the specification.

use super::{Mapping, SpecTimer};
use crate::program::Program as _;
use bellwether_core::protocol::Time;
use bellwether_engine::protocol::{Protocol as Specification, Timers};

/// The program's timers that are armed, as the model's, with their deadlines.
pub(crate) fn armed<M: Mapping + ?Sized>(
    mapping: &M,
    program: &M::Program,
) -> impl Iterator<Item = (SpecTimer<M>, Time)> {
    program.armed().map(|(timer, deadline)| (mapping.timer(timer), deadline))
}

/// Whether the specification's `timer` stands for something that is [asked](Mapping::asks) of a
/// node, or [happens](Mapping::environment_event) to it.
pub(crate) fn is_from_outside<M: Mapping + ?Sized>(mapping: &M, timer: SpecTimer<M>) -> bool {
    mapping.asks(timer).is_some() || mapping.environment_event(timer).is_some()
}

/// These timers but for those that stand for something [from outside](is_from_outside).
pub(crate) fn compared<M: Mapping + ?Sized>(mapping: &M, timers: Timers) -> Timers {
    let outside = M::Spec::TIMERS.iter().filter(|row| is_from_outside(mapping, row.timer));
    outside.fold(timers, |timers, row| timers.without::<M::Spec>(row.timer))
}

/// The set of these timers.
pub(crate) fn timers<P: Specification>(armed: impl Iterator<Item = P::Timer>) -> Timers {
    armed.fold(Timers::NONE, Timers::with::<P>)
}
