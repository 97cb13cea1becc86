//! What only some protocols say.

use super::{Belief, Effect, Envelope, Group, Id, Ids, MAX_NODES, Misfit, Protocol};
use crate::world::Durations;

/// The options of a protocol: what only some protocols say; [`Options::NONE`] says nothing.
pub struct Options<P: Protocol> {
    /// The function that says which process the protocol is to elect.
    pub elects: fn(&P) -> Elects,
    /// The function that ranks processes: the protocol prefers the one of the higher rank, and of
    /// two with one rank the higher id. It is the order in which properties ask for the highest
    /// process. It knows nothing but the usual rules and the id, so no
    /// [symmetry](Options::canonicalize) changes it. If nothing else is said, the rank is the id.
    pub rank: fn(&P, Id) -> u8,
    /// The function that says which of so many processes that elect vote, those that a majority is
    /// one of: all, if nothing else is said. Each process is asked by its own rules, and votes if
    /// it takes itself for a voter.
    pub voters: fn(&P, usize) -> Ids,
    /// The services: the processes beside those that elect.
    pub services: Services<P>,
    /// The symmetry reduction: gives states that differ only in numbers that depend on history,
    /// such as terms that all have grown by the same, one representative. No process may be able to
    /// notice: what follows is canonicalized alike. Messages keep their places. The steps of such a
    /// protocol are not looked up, which takes longer.
    pub canonicalize: Option<Canonicalize<P>>,
    /// The bound on numbers that can grow for ever: how far the search follows them. States in
    /// which a number has grown too large are not searched, and a verdict says so.
    pub within_bounds: Option<WithinBounds<P>>,
    /// The largest number of processes, services among them, for which a process has room: at most
    /// [`MAX_NODES`]. It is [`MAX_SEARCHED`](super::MAX_SEARCHED) where a process keeps something
    /// for each other, or has a timer for each.
    pub most: usize,
    /// The check whether the rules make sense with a number of processes that elect.
    pub fits: fn(&P, usize) -> Result<(), Misfit>,
    /// The names of the rules of which each process may have its own value. Whatever is asked of
    /// the whole world asks these rules of [each process](super::View::rules_of).
    pub own: &'static [&'static str],
    /// The names of usual properties that the protocol promises in no world, such as one leader at
    /// a time where each of its groups has one.
    pub not_promised: &'static [&'static str],
    /// The number of ticks after a crash within which every process agrees, by these durations and
    /// this largest delay, where it is the only fault and time-outs are long enough; `None` if the
    /// protocol does not say.
    pub agrees_within: Option<fn(&Durations, u8) -> Option<u8>>,
    /// The test whether a step of a process, from one state to another with these effects, starts
    /// an election. If nothing else is said, one starts when the process gives up what it believed
    /// of the leadership and believes nothing.
    pub begins_election: BeginsElection<P>,
    /// The function that names what a process has a place for, and these rules never use: it keeps
    /// its default, and is not shown.
    pub unused: fn(&P) -> Unused,
}

/// The names of fields that some rules never use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unused {
    /// The fields of the volatile state.
    pub process: Vec<&'static str>,
    /// The fields of what is on stable storage.
    pub stable: Vec<&'static str>,
}

/// A bound on what one process has.
#[derive(Clone, Copy)]
pub struct WithinBounds<P: Protocol> {
    /// The bound in words: "6 groups of a coordinator".
    pub at_most: &'static str,
    /// The test whether what a process knows and what it has on stable storage are within the
    /// bound.
    pub within: fn(&P, &P::Process, &P::Stable) -> bool,
}

/// A test whether a step starts an election: what the process knew before, what it knows after,
/// effects.
pub type BeginsElection<P> =
    fn(&<P as Protocol>::Process, &<P as Protocol>::Process, &[Effect<P>]) -> bool;

impl<P: Protocol> Options<P> {
    /// The options of a protocol that elects the highest id, and says nothing else.
    pub const NONE: Options<P> = Options {
        elects: |_| Elects::Highest,
        rank: |_, id| id.number(),
        voters: |_, nodes| Ids::all(nodes),
        services: Services { count: 0, crash: |_| false },
        canonicalize: None,
        within_bounds: None,
        most: MAX_NODES,
        fits: |_, _| Ok(()),
        own: &[],
        not_promised: &[],
        agrees_within: None,
        begins_election: gives_up::<P>,
        unused: |_| Unused::default(),
    };
}

/// A function that canonicalizes: see [`Options::canonicalize`].
pub type Canonicalize<P> = for<'a> fn(&P, Everything<'a, P>);

fn gives_up<P: Protocol>(before: &P::Process, after: &P::Process, _: &[Effect<P>]) -> bool {
    let undecided = |process| P::belief(process) == Belief::Undecided;
    undecided(after) && !undecided(before)
}

/// The processes that those that elect use, such as a store. Their ids are the highest; they
/// neither lead nor follow.
pub struct Services<P> {
    /// The number of services.
    pub count: usize,
    /// The function that says whether by these rules services crash like the others.
    pub crash: fn(&P) -> bool,
}

/// The process that a protocol is to elect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elects {
    /// The protocol elects the highest live process, by its [rank](Options::rank).
    Highest,
    /// The protocol elects any live process.
    Any,
}

/// The states of all processes, and what is in flight.
pub struct Everything<'a, P: Protocol> {
    /// The number of processes, services included. Places behind theirs hold defaults.
    pub count: usize,
    /// The volatile state of each process; a place for each.
    pub processes: &'a mut [P::Process],
    /// What each process has on stable storage.
    pub stable: &'a mut [P::Stable],
    /// The messages in flight.
    pub messages: &'a mut [Envelope<P::Message>],
    /// The rules of each process.
    pub group: &'a Group<P>,
}
