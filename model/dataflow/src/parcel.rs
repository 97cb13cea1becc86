//! The parcels that workers send each other: states, and at the end of a round the notes by which
//! all know what was done in it.

use bellwether_engine::check::Reason;
use bellwether_engine::space::{Answers, Arrival};
use timely::Accountable;
use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};
use timely::progress::Stamp;

/// Words for one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parcel {
    /// The worker that it is for.
    pub(super) to: usize,
    /// The round in which it was sent.
    pub(super) round: u64,
    /// Whether it is the [note](Note) of a worker, and not states.
    pub(super) is_note: bool,
    pub(super) words: Vec<u64>,
}

const WORD: usize = size_of::<u64>();

/// The words before the others.
const HEAD: usize = 3;

impl Accountable for Parcel {
    fn record_count(&self) -> i64 {
        i64::from(!self.words.is_empty())
    }
}

impl ContainerBytes for Parcel {
    fn from_bytes(bytes: Bytes) -> Self {
        let words = bytes.as_chunks::<WORD>().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut words = words;
        let mut head = || words.next().unwrap_or_default();
        let (to, round, is_note) = (head() as usize, head(), head() != 0);
        Parcel { to, round, is_note, words: words.collect() }
    }

    fn length_in_bytes(&self) -> usize {
        (HEAD + self.words.len()) * WORD
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        let head: [u64; HEAD] = [self.to as u64, self.round, u64::from(self.is_note)];
        for word in head.iter().chain(&self.words) {
            // Into memory, of which there is as much as was asked for.
            let written = writer.write_all(&word.to_le_bytes());
            debug_assert!(written.is_ok(), "there is room for a parcel");
        }
    }
}

/// States one after the other, and behind them how each was reached: a byte each.
pub(super) fn with_lasts(mut states: Vec<u64>, lasts: &[Arrival]) -> Vec<u64> {
    states.extend(lasts.chunks(WORD).map(|some| {
        let mut bytes = [0; WORD];
        bytes[..some.len()].copy_from_slice(some);
        u64::from_le_bytes(bytes)
    }));
    states
}

/// The states in these words, and how each was reached.
pub(super) fn states_and_lasts<const W: usize>(
    words: &[u64],
) -> (&[[u64; W]], impl Iterator<Item = Arrival>) {
    // The last word may have room for seven more, which is less than one more state takes.
    let count = words.len() * WORD / (W * WORD + 1);
    let (states, lasts) = words.split_at(count * W);
    (states.as_chunks().0, lasts.iter().flat_map(|word| word.to_le_bytes()))
}

/// Hands each parcel to the worker that it is for.
pub(super) struct Carrier;

impl Distributor<Parcel> for Carrier {
    fn partition<T: Clone, P: Push<Message<T, Parcel>>>(
        &mut self,
        parcel: &mut Parcel,
        stamp: &Stamp<T>,
        pushers: &mut [P],
    ) {
        let to = parcel.to;
        Message::push_at(parcel, stamp.clone(), &mut pushers[to]);
    }

    fn flush<T: Clone, P: Push<Message<T, Parcel>>>(&mut self, _: &Stamp<T>, _: &mut [P]) {}
}

/// The note of a worker for all others at the end of a round: what it has done in it, and what it
/// has.
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
    use timely::bytes::arc::BytesMut;

    proptest! {
        #[test]
        fn a_parcel_arrives_as_it_was_sent(
            to in 0usize..100, round: u64, is_note: bool, words: Vec<u64>,
        ) {
            let sent = Parcel { to, round, is_note, words };
            let mut bytes = Vec::new();
            sent.into_bytes(&mut bytes);
            prop_assert_eq!(bytes.len(), sent.length_in_bytes());
            prop_assert_eq!(Parcel::from_bytes(BytesMut::from(bytes).freeze()), sent);
        }

        #[test]
        fn states_arrive_with_how_they_were_reached(
            found in proptest::collection::vec((any::<[u64; 3]>(), 0u8..16), 0..40),
        ) {
            let (states, lasts): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            let words = with_lasts(states.as_flattened().to_vec(), &lasts);
            let (there, reached) = states_and_lasts::<3>(&words);
            prop_assert_eq!(there, states);
            prop_assert_eq!(reached.take(lasts.len()).collect::<Vec<_>>(), lasts);
        }

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
