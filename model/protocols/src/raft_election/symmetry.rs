//! Terms without history: what makes a world finite in which elections are held for ever.
//!
//! No process can tell more of two terms than which is higher, and nothing is done with a term but
//! to take over another's or to add one to one's own. So the states fall into classes that can
//! stand for each other, in two steps.
//!
//! **All together.** If the lowest term that is still in use (by a process, up or down, or by a
//! message) is above 1, all are lowered by the same number until it is 1. Every step commutes with
//! that. (Where a process may [forget its term](Storage::ForgetsAll) and start at 0 again, 0 is
//! always in use.)
//!
//! **Gaps.** A process that is down, or cut off, keeps its term while the others' grow. Between two
//! terms in use next to each other, a gap wider than [`NEAR`] becomes [`FAR`], which stands for all
//! of them. Only one kind of step could tell them apart: that a process just below such a gap adds
//! one to its term, and so comes nearer to what is above. It makes a gap of `FAR` − 1, which
//! nothing else does: what vanishes joins gaps, but too few to reach it. Such a state stands for
//! states in which different things may follow, so it is [beyond the bounds](WITHIN) of the
//! search. What is inside follows exactly: a violation is real, and if no step led outside, so is
//! *holds*.
//!
//! Nor do new names change what is fair, on FIFO links: what is never delivered stays first on its
//! link, and its name settles, since the terms below its own that are in use can only become fewer.

use super::{Message, RaftElection, Stable, Storage};
use bellwether_engine::protocol::{Envelope, Everything, WithinBounds};
use smallvec::SmallVec;

/// A term.
pub type Term = u16;

/// The widest gap between neighbouring terms that is kept as it is.
const NEAR: Term = 2;

/// What stands for every wider gap.
const FAR: Term = 100;

/// The term that marks a state beyond the bounds.
const BEYOND: Term = Term::MAX;

type Terms = SmallVec<[Term; 32]>;

/// Whether the state of which this is a part is within the bounds.
pub(super) const WITHIN: WithinBounds<RaftElection> = WithinBounds {
    at_most: "2 terms between a candidate and the next higher term",
    within: |_, _, stable| stable.term != BEYOND,
};

/// Gives all terms names that do not depend on history.
pub(super) fn canonicalize(rules: &RaftElection, all: Everything<'_, RaftElection>) {
    let Everything { stable, messages, .. } = all;
    let used = in_use(rules.storage, stable, messages);
    let Some((new, inside)) = renamed(&used) else { return };
    let name = |term: Term| used.binary_search(&term).map_or(term, |at| new[at]);
    for stable in stable.iter_mut() {
        stable.term = name(stable.term);
    }
    for envelope in messages.iter_mut() {
        let term = envelope.message.term_mut();
        *term = name(*term);
    }
    if let Some(first) = stable.first_mut().filter(|_| !inside) {
        first.term = BEYOND;
    }
}

/// The terms that a process may still compare with another, ascending.
fn in_use(storage: Storage, stable: &[Stable], messages: &[Envelope<Message>]) -> Terms {
    let kept = stable.iter().map(|stable| stable.term);
    let sent = messages.iter().map(|envelope| envelope.message.term());
    let mut used: Terms = kept.chain(sent).collect();
    if storage == Storage::ForgetsAll {
        used.push(0);
    }
    used.sort_unstable();
    used.dedup();
    used
}

/// The new names of `used`, and whether they are within the bounds.
fn renamed(used: &[Term]) -> Option<(Terms, bool)> {
    let mut next = (*used.first()?).min(1);
    let mut new = Terms::from_elem(next, 1);
    let mut inside = true;
    for pair in used.windows(2) {
        let gap = pair[1] - pair[0];
        inside &= gap != FAR - 1;
        next += if gap > NEAR { FAR } else { gap };
        new.push(next);
    }
    Some((new, inside))
}
