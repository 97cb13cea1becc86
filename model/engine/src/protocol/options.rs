//! What only some protocols say.

use super::{Belief, Effect, Envelope, MAX_NODES, Misfit, Protocol};
use crate::world::Durations;

/// What only some protocols say; [`Options::NONE`] says nothing.
pub struct Options<P: Protocol> {
    /// Which process the protocol is to elect.
    pub elects: fn(&P) -> Elects,
    /// The processes beside those that elect.
    pub services: Services<P>,
    /// Gives states that differ only in numbers that depend on history, such as terms that all have
    /// grown by the same, one representative: symmetry reduction. No process may be able to notice:
    /// what follows is canonicalized alike. Messages keep their places. The steps of such a
    /// protocol are not looked up, which takes longer.
    pub canonicalize: Option<Canonicalize<P>>,
    /// Where some number can grow for ever: how far the search follows it. States in which a number
    /// has grown too large are not searched, and a verdict says so.
    pub within_bounds: Option<WithinBounds<P>>,
    /// The largest number of processes, services among them, for which a process has room: at most
    /// [`MAX_NODES`]. It is [`MAX_SEARCHED`](super::MAX_SEARCHED) where a process keeps something
    /// for each other, or has a timer for each.
    pub most: usize,
    /// Whether the rules make sense with so many processes that elect.
    pub fits: fn(&P, usize) -> Result<(), Misfit>,
    /// The names of usual properties that the protocol promises in no world, such as one leader at
    /// a time where each of its groups has one.
    pub not_promised: &'static [&'static str],
    /// Within how many ticks of a crash every process agrees, by these durations and this largest
    /// delay, where it is the only fault and time-outs are long enough; `None` if the protocol does
    /// not say.
    pub agrees_within: Option<fn(&Durations, u8) -> Option<u8>>,
    /// Whether a step of a process, from one state to another with these effects, starts an
    /// election. If nothing else is said, one starts when the process gives up what it believed of
    /// the leadership and believes nothing.
    pub begins_election: BeginsElection<P>,
}

/// A bound on what one process has.
#[derive(Clone, Copy)]
pub struct WithinBounds<P: Protocol> {
    /// The bound in words: "6 groups of a coordinator".
    pub at_most: &'static str,
    /// Whether what a process knows and what it has on stable storage are within the bound.
    pub within: fn(&P, &P::Process, &P::Stable) -> bool,
}

/// Whether a step starts an election: what the process knew before, what it knows after, effects.
pub type BeginsElection<P> =
    fn(&<P as Protocol>::Process, &<P as Protocol>::Process, &[Effect<P>]) -> bool;

impl<P: Protocol> Options<P> {
    /// The protocol elects the highest id, and says nothing else.
    pub const NONE: Options<P> = Options {
        elects: |_| Elects::Highest,
        services: Services { count: 0, crash: |_| false },
        canonicalize: None,
        within_bounds: None,
        most: MAX_NODES,
        fits: |_, _| Ok(()),
        not_promised: &[],
        agrees_within: None,
        begins_election: gives_up::<P>,
    };
}

/// See [`Options::canonicalize`].
pub type Canonicalize<P> = for<'a> fn(&P, Everything<'a, P>);

fn gives_up<P: Protocol>(before: &P::Process, after: &P::Process, _: &[Effect<P>]) -> bool {
    let undecided = |process| P::belief(process) == Belief::Undecided;
    undecided(after) && !undecided(before)
}

/// Processes that those that elect use, such as a store. Their ids are the highest; they neither
/// lead nor follow.
pub struct Services<P> {
    /// How many there are.
    pub count: usize,
    /// Whether by these rules they crash like the others.
    pub crash: fn(&P) -> bool,
}

/// Which process a protocol is to elect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elects {
    /// The live process with the highest id.
    Highest,
    /// Any live process.
    Any,
}

/// What all processes have, and what is in flight.
pub struct Everything<'a, P: Protocol> {
    /// How many processes there are, services included. Places behind theirs hold defaults.
    pub count: usize,
    /// What each process knows; a place for each.
    pub processes: &'a mut [P::Process],
    /// What each has on stable storage.
    pub stable: &'a mut [P::Stable],
    /// What is in flight.
    pub messages: &'a mut [Envelope<P::Message>],
}
