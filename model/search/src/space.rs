//! What a search needs of what it searches: a transition system whose states are a few machine
//! words.

use std::any::Any;

/// The word of a step beyond the bounds of the search: all bits set, which no state has.
pub const OUTSIDE_WORD: u64 = u64::MAX;

/// The answers on a state: bit 0 is [`STUTTERS`], the others are the space's own.
pub type Answers = u32;

/// The bit of the answers that says that nothing fair is enabled in a state, so that staying there
/// for ever is fair.
pub const STUTTERS: Answers = 1;

/// The way in which a state was reached, in four bits, as far as that says what need not be looked
/// at after it: see [`Space::expand_after`].
pub type Arrival = u8;

/// The way of a state of which nothing is known.
pub const NO_ARRIVAL: Arrival = 0;

/// The error that something was met of which the space does not know what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unlearned;

/// The fairness of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fairness {
    /// The action is not fair: it is a fault, and may stay away for ever.
    None,
    /// The action is weakly fair: if it stays enabled from some moment on, it happens again and
    /// again.
    Weak,
    /// The action is strongly fair: if it is enabled again and again, it happens again and again.
    Strong,
}

/// The number that a space has given to an action. Equal actions that are equally fair have equal
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(pub u32);

/// The memory that one thread needs to expand states; each space knows what.
pub type Scratch = Box<dyn Any + Send + Sync>;

/// A transition system whose states are a few machine words.
///
/// It may learn while it is searched: [`expand`](Space::expand) then refuses a state until
/// [`learn`](Space::learn) has been called with it. When the words of a state have been
/// [outgrown](Space::needs_relayout) by what was learned, [`lay_out`](Space::lay_out) makes room,
/// and [`recode`](Space::recode) tells how each state known by then looks from then on.
///
/// States go in and out as slices, one after the other, so that the search is compiled once
/// and not for every space.
pub trait Space: Send + Sync {
    /// Returns the number of words that a state needs at present.
    fn words(&self) -> usize;

    /// Returns the number of bits of each word that states use at present, from the lowest.
    fn bits(&self) -> Vec<u32>;

    /// Returns what one thread needs to expand states.
    fn scratch(&self) -> Scratch;

    /// Returns the initial states, each in `width` words, in an order that is always the same.
    /// `width` is at least [`words`](Space::words).
    fn initial(&self, width: usize) -> Vec<u64>;

    /// Appends the states that follow `from` to `next`, each in as many words, one for each action
    /// that is enabled, in an order that is always the same; one that has
    /// [all bits set](OUTSIDE_WORD) where the action leads beyond the bounds.
    ///
    /// # Errors
    /// If what follows has not been learned; `next` may have grown.
    fn expand(
        &self,
        from: &[u64],
        scratch: &mut Scratch,
        next: &mut Vec<u64>,
    ) -> Result<Answers, Unlearned>;

    /// Appends the states that follow as [`expand`](Space::expand) does, but for steps of which it
    /// is certain that they lead to states that also follow from others of the same or an earlier
    /// level. `last` is how `from` was reached; how each state is reached that follows is appended
    /// to `lasts`, and of two ways the larger one leaves out more. Besides the answers, it returns
    /// how many steps were left out. By default there is none.
    ///
    /// # Errors
    /// As [`expand`](Space::expand).
    fn expand_after(
        &self,
        from: &[u64],
        _last: Arrival,
        scratch: &mut Scratch,
        next: &mut Vec<u64>,
        lasts: &mut Vec<Arrival>,
    ) -> Result<(Answers, u64), Unlearned> {
        let answers = self.expand(from, scratch, next)?;
        lasts.resize(next.len() / from.len(), NO_ARRIVAL);
        Ok((answers, 0))
    }

    /// Learns what follows `from`. States look as they did before.
    fn learn(&mut self, from: &[u64]);

    /// Returns whether something was learned for which the words of a state have no room.
    fn needs_relayout(&self) -> bool;

    /// Returns the number of bits that states need at least, all words but the last one being
    /// whole.
    fn least_bits(&self) -> u32;

    /// Makes room for everything that was learned, and for more if that fits in so many bits.
    /// States now look different in words: each that is known must be
    /// [recoded](Space::recode).
    fn lay_out(&mut self, most_bits: u32);

    /// Appends to `to`, in `width` words, what `old` looks like since the last
    /// [`lay_out`](Space::lay_out).
    fn recode(&self, old: &[u64], width: usize, to: &mut Vec<u64>);

    /// Appends a hash of each of these states, each in `width` words. It stays the same when the
    /// state is [recoded](Space::recode), and is the same in every process whose space has learned
    /// the same. That of a step beyond the bounds means nothing.
    fn digest(&self, states: &[u64], width: usize, to: &mut Vec<u64>);

    /// Returns the actions that are enabled in `state`, in the order in which it is expanded.
    fn actions(&self, state: &[u64]) -> Vec<ActionId>;

    /// Returns how fair an action is. A space of which no liveness is asked has nothing fair.
    fn fairness(&self, _action: ActionId) -> Fairness {
        Fairness::None
    }

    /// Returns whether this action may be enabled before and after a step that
    /// [interrupts](Space::interrupted) it.
    fn interruptible(&self, _action: ActionId) -> bool {
        false
    }

    /// Returns the actions that the one at this position of those enabled in `state` interrupts:
    /// what is enabled before it is not what is enabled after it, though both are called the same.
    fn interrupted(&self, _state: &[u64], _position: usize) -> Vec<ActionId> {
        Vec::new()
    }

    /// Returns whether some action may be strongly fair.
    fn has_strong(&self) -> bool {
        false
    }

    /// Returns the bounds that steps of the expanded states exceeded, one bit each. A space that
    /// notes none has none to tell.
    fn left_bounds(&self) -> u32 {
        0
    }

    /// Notes that steps of states that another space has expanded exceeded these bounds.
    fn leave_bounds(&self, _bounds: u32) {}

    /// Is shown a few states of a breadth-first level, each in `width` words, now and then while
    /// the search goes deeper. Returns what there is to tell, such as what grows and keeps the
    /// search from ending. A space that looks at none has nothing to tell.
    fn sample_level(
        &mut self,
        _level: usize,
        _states: &[u64],
        _width: usize,
    ) -> Option<&'static str> {
        None
    }
}
