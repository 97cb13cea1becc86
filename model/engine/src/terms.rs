//! Terms without history, for every protocol that numbers its elections: what makes a world finite
//! in which elections are started for ever.
//!
//! Where no process can tell more of two terms than which is higher, and nothing is done with a
//! term but to take over another's or to add one to a known one, the states fall into classes that
//! can stand for each other, in two steps.
//!
//! **All together.** If the lowest term that is still in use (by a process, up or down, or by a
//! message) is above 1, all are lowered by the same number until it is 1. Every step commutes with
//! that. (Where a process may forget its term and start at 0 again, 0 is always in use.)
//!
//! **Gaps.** A process that is down, or cut off, keeps its term while the others' grow. Between two
//! terms in use next to each other, a gap wider than `NEAR` becomes `FAR`, which stands for all
//! of them. Only one kind of step could tell them apart: that a process just below such a gap adds
//! one to its term, and so comes nearer to what is above. It makes a gap of `FAR` − 1, which
//! nothing else does: what vanishes joins gaps, but too few to reach it. Such a state stands for
//! states in which different things may follow, so it is [beyond the bounds](BEYOND) of the search.
//! What is inside follows exactly: a violation is real, and if no step led outside, so is *holds*.
//!
//! Nor do new names change what is fair, on FIFO links: what is never delivered stays first on its
//! link, and its name settles, since the terms below its own that are in use can only become fewer.
//!
//! A protocol says so in two of its [options](crate::protocol::Options):
//!
//! ```
//! use bellwether_engine::protocol::{Everything, Options, WithinBounds};
//! use bellwether_engine::terms::{self, BEYOND};
//! # use bellwether_protocols::raft_election::{RaftElection as Mine};
//!
//! /// Shows every term of a state.
//! fn canonicalize(_: &Mine, all: Everything<'_, Mine>) {
//!     let Everything { stable, messages, .. } = all;
//!     terms::canonicalize(false, |show| {
//!         stable.iter_mut().for_each(|stable| show(&mut stable.term));
//!         messages.iter_mut().for_each(|envelope| show(envelope.message.term_mut()));
//!     });
//! }
//!
//! const OPTIONS: Options<Mine> = Options {
//!     canonicalize: Some(canonicalize),
//!     within_bounds: Some(WithinBounds {
//!         at_most: "2 terms between a candidate and the next higher term",
//!         within: |_, _, stable| stable.term != BEYOND,
//!     }),
//!     ..Options::NONE
//! };
//! ```

use smallvec::SmallVec;
use std::mem;

/// A term: the number of an election. A process knows none before the first, and then has 0.
pub type Term = u16;

/// The widest gap between neighbouring terms that is kept as it is.
const NEAR: Term = 2;

/// What stands for every wider gap.
const FAR: Term = 100;

/// The term that marks a state beyond the bounds: the first that is shown of such a state. The
/// [bound](crate::protocol::WithinBounds) of a protocol has to refuse it.
pub const BEYOND: Term = Term::MAX;

/// Returns how many are a majority: more than half of all, up or down.
#[must_use]
pub const fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

type Terms = SmallVec<[Term; 32]>;

/// Replaces the terms of a state by those of the state that represents it.
///
/// `each` passes every term that a process may still compare with another to the function that it
/// is given. It is called more than once, and must pass the same terms in the same order. `forgets`
/// says whether a process may forget its term and start at 0 again.
pub fn canonicalize(forgets: bool, mut each: impl FnMut(&mut dyn FnMut(&mut Term))) {
    let mut used: Terms = forgets.then_some(0).into_iter().collect();
    each(&mut |term| used.push(*term));
    used.sort_unstable();
    used.dedup();
    let mut next = used.first().map_or(0, |&lowest| lowest.min(1));
    let mut new = Terms::from_elem(next, 1);
    let mut beyond = false;
    for pair in used.windows(2) {
        let gap = pair[1] - pair[0];
        beyond |= gap == FAR - 1;
        next += if gap > NEAR { FAR } else { gap };
        new.push(next);
    }
    each(&mut |term| {
        let known = used.binary_search(term).map_or(*term, |at| new[at]);
        *term = if mem::take(&mut beyond) { BEYOND } else { known };
    });
}

/// Replaces each number of a state by its rank among those that are shown, where 0 keeps its name.
///
/// Equal numbers stay equal, different ones different, and their order stays. A protocol may do so
/// if its processes ask nothing but the order of the numbers, and add one to none but the largest.
/// `each` is as that of [`canonicalize`].
pub fn rank(mut each: impl FnMut(&mut dyn FnMut(&mut u8))) {
    let mut used = SmallVec::<[u8; 32]>::from_elem(0, 1);
    each(&mut |number| used.push(*number));
    used.sort_unstable();
    used.dedup();
    each(&mut |number| {
        let rank = used.binary_search(number).ok().and_then(|at| u8::try_from(at).ok());
        *number = rank.unwrap_or(*number);
    });
}

#[cfg(test)]
mod tests {
    use super::{BEYOND, FAR, Term, canonicalize, rank};

    #[test]
    fn numbers_become_ranks_and_0_stays() {
        let mut numbers = [255, 0, 5, 9, 255, 5];
        rank(|show| numbers.iter_mut().for_each(show));
        assert_eq!(numbers, [3, 0, 1, 2, 3, 1]);
        let mut numbers = [4, 2];
        rank(|show| numbers.iter_mut().for_each(show));
        assert_eq!(numbers, [2, 1]);
    }

    fn canonical<const N: usize>(forgets: bool, mut terms: [Term; N]) -> [Term; N] {
        canonicalize(forgets, |show| terms.iter_mut().for_each(show));
        terms
    }

    #[test]
    fn terms_are_lowered_together_and_keep_their_order() {
        assert_eq!(canonical(false, [7, 5, 6, 5]), [3, 1, 2, 1]);
        assert_eq!(canonical(false, [0, 1, 3]), [0, 1, 3]);
        // A process may start at 0 again, so the distance from there counts.
        assert_eq!(canonical(true, [2, 3]), [2, 3]);
        assert_eq!(canonical(true, [7, 8]), [FAR, FAR + 1]);
    }

    #[test]
    fn a_wide_gap_stands_for_all_wider_ones() {
        assert_eq!(canonical(false, [4, 1]), [1 + FAR, 1]);
        assert_eq!(canonical(false, [60, 7, 9, 8]), [3 + FAR, 1, 3, 2]);
        let once = canonical(false, [60, 7]);
        assert_eq!(canonical(false, once), once);
    }

    #[test]
    fn what_comes_nearer_to_a_wide_gap_is_beyond_the_bounds() {
        assert_eq!(canonical(false, [2, 1 + FAR]), [BEYOND, 1 + FAR]);
    }
}
