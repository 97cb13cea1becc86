//! What each worker tells all others at the end of a round.

use bellwether_engine::check::Reason;
use bellwether_engine::space::Answers;

/// What a worker has done in a round, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The worker.
    pub(super) from: usize,
    /// How many states it expanded, and how many followed from them within the bounds.
    pub(super) expanded: u64,
    pub(super) generated: u64,
    /// The answers that all of them have, and that one of them has.
    pub(super) all: Answers,
    pub(super) any: Answers,
    /// Whether a step led beyond the bounds.
    pub(super) outside: bool,
    /// How many states of the level it has not expanded.
    pub(super) left: u64,
    /// How many states it has taken in.
    pub(super) held: u64,
    /// How many the shard has that has the fewest.
    pub(super) least: u64,
    /// Whether states should look different in words.
    pub(super) wide: bool,
    /// The bounds that steps have exceeded so far, one bit each.
    pub(super) left_bounds: u32,
    /// Why the search should end.
    pub(super) stop: Option<Reason>,
    /// Whether it should be saved now.
    pub(super) save: bool,
    /// States of which the space did not know what follows, one after the other.
    pub(super) unlearned: Vec<u64>,
}

/// What ends the search of one process and so that of all.
const STOPS: [Reason; 5] =
    [Reason::States, Reason::Time, Reason::Memory, Reason::Disk, Reason::Interrupted];

impl Note {
    pub(super) fn to_words(&self) -> Vec<u64> {
        let stop = self.stop.and_then(|stop| STOPS.iter().position(|one| *one == stop));
        let mut words = vec![
            self.from as u64,
            self.expanded,
            self.generated,
            u64::from(self.all),
            u64::from(self.any),
            u64::from(self.outside),
            self.left,
            self.held,
            self.least,
            u64::from(self.wide),
            u64::from(self.left_bounds),
            stop.map_or(0, |stop| stop as u64 + 1),
            u64::from(self.save),
        ];
        words.extend(&self.unlearned);
        words
    }

    pub(super) fn of_words(words: &[u64]) -> Self {
        let mut words = words.iter().copied();
        let mut next = || words.next().unwrap_or_default();
        Note {
            from: next() as usize,
            expanded: next(),
            generated: next(),
            all: next() as Answers,
            any: next() as Answers,
            outside: next() != 0,
            left: next(),
            held: next(),
            least: next(),
            wide: next() != 0,
            left_bounds: next() as u32,
            stop: next().checked_sub(1).and_then(|stop| STOPS.get(stop as usize).copied()),
            save: next() != 0,
            unlearned: words.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_note_says_what_was_written(
            (from, expanded, generated) in (0usize..99, any::<u64>(), any::<u64>()),
            (all, answered, left_bounds) in any::<(Answers, Answers, u32)>(),
            (outside, wide, save) in any::<(bool, bool, bool)>(),
            (left, held, least) in any::<(u64, u64, u64)>(),
            stop in proptest::option::of(proptest::sample::select(STOPS.to_vec())),
            unlearned: Vec<u64>,
        ) {
            let note = Note {
                from, expanded, generated, all, any: answered, outside, left, held, least, wide,
                left_bounds, stop, save, unlearned,
            };
            prop_assert_eq!(Note::of_words(&note.to_words()), note);
        }
    }
}
