//! What a search needs of what it searches: a transition system whose states are a few machine
//! words.

use std::fmt::Debug;
use std::hash::Hash;

/// All bits set: no state, but a step outside the boundary of the search.
pub const OUTSIDE_WORD: u64 = u64::MAX;

/// What is known of a state: bit 0 is [`STUTTERS`], the others are the space's own.
pub type Answers = u32;

/// The bit of the answers that says that nothing owed is enabled in a state, so that staying there
/// for ever is fair.
pub const STUTTERS: Answers = 1;

/// Something was met of which the space does not know what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlearned;

/// What the world owes to an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fairness {
    /// Nothing: it is a fault, and may stay away for ever.
    None,
    /// If it stays enabled from some moment on, it happens again and again.
    Weak,
    /// If it is enabled again and again, it happens again and again.
    Strong,
}

/// A transition system whose states are a few machine words.
///
/// It may learn while it is searched: [`expand`](Space::expand) then refuses a state until
/// [`learn`](Space::learn) has been called with it.
pub trait Space: Send + Sync + 'static {
    /// What leads from one state to another.
    type Action: Clone + Eq + Hash + Debug;

    /// What one thread needs to expand states.
    type Scratch: Send + Sync;

    /// How many words a state has at present.
    fn words(&self) -> usize;

    /// What one thread needs.
    fn scratch(&self) -> Self::Scratch;

    /// The initial states, in an order that is always the same.
    fn initial<const W: usize>(&self) -> Vec<[u64; W]>;

    /// Appends the states that follow `from` to `next`, one for each action that is enabled, in an
    /// order that is always the same; one that has [all bits set](OUTSIDE_WORD) where the action
    /// leads outside the boundary. `W` is [`words`](Space::words).
    ///
    /// # Errors
    /// If what follows has not been learned; `next` may have grown.
    fn expand<const W: usize>(
        &self,
        from: &[u64; W],
        scratch: &mut Self::Scratch,
        next: &mut Vec<[u64; W]>,
    ) -> Result<Answers, Unlearned>;

    /// Learns what follows `from`. If that changes how states look in words, it returns true, and
    /// all states made before are void.
    fn learn<const W: usize>(&mut self, from: &[u64; W]) -> bool;

    /// The actions that are enabled in `state`, in the order in which it is expanded.
    fn actions(&self, state: &[u64]) -> Vec<Self::Action>;

    /// What the world owes to an action.
    fn fairness(&self, action: &Self::Action) -> Fairness;

    /// Whether some action may be strongly fair.
    fn has_strong(&self) -> bool;
}
