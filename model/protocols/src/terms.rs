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
//! terms in use next to each other, a gap wider than [`NEAR`] becomes [`FAR`], which stands for all
//! of them. Only one kind of step could tell them apart: that a process just below such a gap adds
//! one to its term, and so comes nearer to what is above. It makes a gap of `FAR` − 1, which
//! nothing else does: what vanishes joins gaps, but too few to reach it. Such a state stands for
//! states in which different things may follow, so it is [beyond the bounds](BEYOND) of the search.
//! What is inside follows exactly: a violation is real, and if no step led outside, so is *holds*.
//!
//! Nor do new names change what is fair, on FIFO links: what is never delivered stays first on its
//! link, and its name settles, since the terms below its own that are in use can only become fewer.

use smallvec::SmallVec;

/// A term.
pub type Term = u16;

/// The widest gap between neighbouring terms that is kept as it is.
const NEAR: Term = 2;

/// What stands for every wider gap.
const FAR: Term = 100;

/// The term that marks a state beyond the bounds.
pub(crate) const BEYOND: Term = Term::MAX;

/// How many are a majority: more than half of all, up or down.
pub(crate) fn majority(nodes: usize) -> usize {
    nodes / 2 + 1
}

type Terms = SmallVec<[Term; 32]>;

/// The terms in use, and what each is called instead.
pub(crate) struct Names {
    used: Terms,
    new: Terms,
    /// Whether the state is within the bounds.
    pub(crate) inside: bool,
}

impl Names {
    /// New names for the terms that a process may still compare with another.
    pub(crate) fn of(used: impl Iterator<Item = Term>) -> Names {
        let mut used: Terms = used.collect();
        used.sort_unstable();
        used.dedup();
        let mut next = used.first().map_or(0, |&lowest| lowest.min(1));
        let mut new = Terms::from_elem(next, 1);
        let mut inside = true;
        for pair in used.windows(2) {
            let gap = pair[1] - pair[0];
            inside &= gap != FAR - 1;
            next += if gap > NEAR { FAR } else { gap };
            new.push(next);
        }
        Names { used, new, inside }
    }

    /// What `term` is called; the same if it is not in use.
    pub(crate) fn name(&self, term: Term) -> Term {
        self.used.binary_search(&term).map_or(term, |at| self.new[at])
    }
}
