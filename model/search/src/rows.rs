//! What liveness and bounds are decided on: a graph of numbered states.

pub use crate::space::Fairness;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

/// The target of a transition that leaves the boundary of the search.
pub const OUTSIDE: u32 = u32::MAX;

/// A finite transition system whose rows are kept.
///
/// States are numbers below [`len`](Rows::len), in no particular order. Nothing that is decided on
/// such a graph may depend on how its states are numbered, only on the order of the actions.
pub trait Rows: Sync {
    /// The action that leads from one state to the next. Two actions that are equal are one action,
    /// wherever they are enabled: that is what fairness is about.
    type Action: Clone + Eq + Hash + Debug;

    /// Returns the number of states.
    fn len(&self) -> u32;

    /// Returns whether there is no state at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the initial states.
    fn initial(&self) -> &[u32];

    /// Returns the state that each enabled action leads to, in the order of
    /// [`actions`](Rows::actions); [`OUTSIDE`] where one leaves the boundary of the search.
    fn successors(&self, number: u32) -> &[u32];

    /// Returns the enabled actions of a state. They are worked out again at each call, so call it
    /// rarely.
    fn actions(&self, number: u32) -> Vec<Self::Action>;

    /// Returns how fair an action is.
    fn fairness(&self, action: &Self::Action) -> Fairness;

    /// Returns whether a transition may [interrupt](Rows::interrupted) this action.
    fn interruptible(&self, _: &Self::Action) -> bool {
        false
    }

    /// Returns the actions that the transition at this position of a state interrupts, such as the
    /// expiry of a timer that it arms anew: each is enabled before it and after it, but was not
    /// enabled continuously.
    fn interrupted(&self, _: u32, _: usize) -> Vec<Self::Action> {
        Vec::new()
    }

    /// Returns whether nothing fair is enabled in a state, so that staying in it for ever is fair.
    fn stutters(&self, number: u32) -> bool;

    /// Returns all states, so ordered that most transitions lead to what comes earlier. Nothing but
    /// speed depends on it.
    fn backwards(&self) -> Vec<Range<u32>> {
        std::iter::once(0..self.len()).collect()
    }

    /// Returns whether some action may be strongly fair. If none is, components are judged faster.
    fn has_strong(&self) -> bool {
        true
    }
}
