//! What one worker has of a search: the states that it owns.

use super::parcel::{Note, states_and_lasts, with_lasts};
use bellwether_engine::check::DiskError;
use bellwether_engine::check::exact::distributed::{self, SavedTables, Saves, Tables};
use bellwether_engine::space::{Answers, Arrival, NO_ARRIVAL, OUTSIDE_WORD, Scratch, Space};
use bellwether_search::with_words;

/// How many words a parcel has, or a few more.
const PARCEL: usize = 1 << 15;

/// How many states wait to be taken in, or a few more: so many that each shard gets some together.
const TOGETHER: usize = 1 << 16;

/// Sends these words to a worker.
pub(super) type Send<'a> = dyn FnMut(usize, Vec<u64>) + 'a;

/// The states of one worker, whatever the number of their words.
pub(super) trait Part: std::marker::Send {
    /// Takes in what another worker has found, in the words of its parcel.
    fn arrive(&mut self, words: &[u64]);

    /// Expands some states of the level, and sends what other workers own; whether any are left
    /// that can be expanded now.
    fn expand(&mut self, space: &dyn Space, send: &mut Send<'_>) -> bool;

    /// What was done since the last note, and what there is.
    fn note(&mut self, space: &dyn Space) -> Note;

    /// All that has arrived is in its shard.
    fn settle(&mut self);

    /// Everything that was found and not expanded is the level now.
    fn begin_level(&mut self);

    /// Writes everything down.
    fn save(&mut self, saves: &Saves) -> Result<SavedTables, DiskError>;

    /// The same, whose states look as they did before the space was laid out anew.
    fn into_outgrown(self: Box<Self>) -> Outgrown;
}

/// Which worker this is, and of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerIndex {
    pub(super) worker: usize,
    pub(super) workers: usize,
}

impl WorkerIndex {
    /// The worker that owns the state with this digest.
    #[inline]
    fn owner(self, digest: u64) -> usize {
        ((u128::from(digest) * self.workers as u128) >> u64::BITS) as usize
    }
}

/// The states of a worker as they looked before the space was laid out anew.
pub(super) struct Outgrown {
    tables: distributed::Outgrown,
    again: Vec<u64>,
    width: usize,
}

/// A part in which there is what is this worker's of the initial states.
pub(super) fn begin(space: &dyn Space, place: WorkerIndex) -> Box<dyn Part> {
    with_words!(space.words(), begin_with(space, place))
}

fn begin_with<const W: usize>(space: &dyn Space, place: WorkerIndex) -> Box<dyn Part> {
    let mut own = WorkerStates::<W>::new(space, place, Tables::empty(space));
    let initial = space.initial(W);
    own.found_from(space, &initial, &vec![NO_ARRIVAL; initial.len() / W], &mut |_, _| {});
    // The others find theirs themselves.
    own.others.fill(RemoteStates::default());
    own.generated = 0;
    own.settle();
    own.begin_level();
    Box::new(own)
}

/// The part that was saved.
///
/// # Errors
/// If a file cannot be read, or is not as it was written.
pub(super) fn restore(
    space: &dyn Space,
    place: WorkerIndex,
    saves: &Saves,
    saved: &SavedTables,
) -> Result<Box<dyn Part>, DiskError> {
    with_words!(space.words(), restore_with(space, place, saves, saved))
}

fn restore_with<const W: usize>(
    space: &dyn Space,
    place: WorkerIndex,
    saves: &Saves,
    saved: &SavedTables,
) -> Result<Box<dyn Part>, DiskError> {
    let (tables, again) = Tables::restore(space, saves, saved)?;
    let mut own = WorkerStates::<W>::new(space, place, tables);
    own.again = again;
    Ok(Box::new(own))
}

impl Outgrown {
    /// The same part, of states as they look now.
    pub(super) fn recode(self, space: &dyn Space, place: WorkerIndex) -> Box<dyn Part> {
        with_words!(space.words(), recode_with(self, space, place))
    }
}

fn recode_with<const W: usize>(
    outgrown: Outgrown,
    space: &dyn Space,
    place: WorkerIndex,
) -> Box<dyn Part> {
    let Outgrown { tables, again, width } = outgrown;
    let mut own = WorkerStates::<W>::new(space, place, tables.recode(space));
    let recoded = |state| {
        let mut words = Vec::new();
        space.recode(state, W, &mut words);
        std::array::from_fn(|word| words[word])
    };
    own.again = again.chunks(width).map(recoded).collect();
    Box::new(own)
}

/// States of another worker that were found, one after the other, and how each was reached.
#[derive(Clone, Default)]
struct RemoteStates {
    states: Vec<u64>,
    lasts: Vec<Arrival>,
}

/// The states of one worker.
struct WorkerStates<const W: usize> {
    place: WorkerIndex,
    tables: Tables<W>,
    scratch: Scratch,
    next: Vec<u64>,
    lasts: Vec<Arrival>,
    digests: Vec<u64>,
    /// What was found of each other worker's.
    others: Vec<RemoteStates>,
    /// States that are expanded once the space has learned what follows from them.
    again: Vec<[u64; W]>,
    /// Those that it has not learned yet.
    unlearned: Vec<[u64; W]>,
    expanded: u64,
    generated: u64,
    all: Answers,
    any: Answers,
    outside: bool,
}

impl<const W: usize> WorkerStates<W> {
    fn new(space: &dyn Space, place: WorkerIndex, tables: Tables<W>) -> Self {
        WorkerStates {
            place,
            tables,
            scratch: space.scratch(),
            next: Vec::new(),
            lasts: Vec::new(),
            digests: Vec::new(),
            others: vec![RemoteStates::default(); place.workers],
            again: Vec::new(),
            unlearned: Vec::new(),
            expanded: 0,
            generated: 0,
            all: Answers::MAX,
            any: 0,
            outside: false,
        }
    }

    /// Expands one state, which was reached in this way.
    fn expand_one(
        &mut self,
        space: &dyn Space,
        state: &[u64; W],
        last: Arrival,
        send: &mut Send<'_>,
    ) {
        let (mut next, mut lasts) =
            (std::mem::take(&mut self.next), std::mem::take(&mut self.lasts));
        next.clear();
        lasts.clear();
        let expanded = space.expand_after(state, last, &mut self.scratch, &mut next, &mut lasts);
        if let Ok((answers, left_out)) = expanded {
            self.expanded += 1;
            self.generated += left_out;
            self.all &= answers;
            self.any |= answers;
            self.found_from(space, &next, &lasts, send);
        } else {
            self.unlearned.push(*state);
        }
        (self.next, self.lasts) = (next, lasts);
    }

    /// States that follow from others: each goes to its owner.
    #[inline]
    fn found_from(
        &mut self,
        space: &dyn Space,
        next: &[u64],
        lasts: &[Arrival],
        send: &mut Send<'_>,
    ) {
        let WorkerIndex { worker, workers } = self.place;
        self.digests.clear();
        if workers > 1 {
            space.digest(next, W, &mut self.digests);
        }
        for (at, (state, &last)) in next.as_chunks().0.iter().zip(lasts).enumerate() {
            if state[0] == OUTSIDE_WORD && *state == [OUTSIDE_WORD; W] {
                self.outside = true;
                continue;
            }
            self.generated += 1;
            let owner = self.digests.get(at).map_or(worker, |digest| self.place.owner(*digest));
            if owner == worker {
                self.tables.find(state, last);
                continue;
            }
            let others = &mut self.others[owner];
            others.states.extend(state);
            others.lasts.push(last);
            if others.states.len() >= PARCEL {
                send(owner, others.take_words());
            }
        }
    }
}

impl RemoteStates {
    /// All that was found as the words of a parcel; nothing is left.
    fn take_words(&mut self) -> Vec<u64> {
        let words = with_lasts(std::mem::take(&mut self.states), &self.lasts);
        self.lasts.clear();
        words
    }
}

impl<const W: usize> Part for WorkerStates<W> {
    fn arrive(&mut self, words: &[u64]) {
        let (states, lasts) = states_and_lasts(words);
        for (state, last) in states.iter().zip(lasts) {
            self.tables.find(state, last);
        }
        if self.tables.finds() >= TOGETHER {
            self.settle();
        }
    }

    fn expand(&mut self, space: &dyn Space, send: &mut Send<'_>) -> bool {
        for state in std::mem::take(&mut self.again) {
            self.expand_one(space, &state, NO_ARRIVAL, send);
        }
        let round = self.tables.begin_round();
        round.each(|state, last| self.expand_one(space, state, last, send));
        let chosen = round.states();
        self.tables.end_round(round);
        for (owner, others) in self.others.iter_mut().enumerate() {
            if !others.states.is_empty() {
                send(owner, others.take_words());
            }
        }
        self.settle();
        chosen > 0 && self.tables.left() > 0
    }

    fn note(&mut self, space: &dyn Space) -> Note {
        let unlearned = std::mem::take(&mut self.unlearned);
        let note = Note {
            from: self.place.worker,
            expanded: self.expanded,
            generated: self.generated,
            all: self.all,
            any: self.any,
            outside: self.outside,
            left: self.tables.left() + (self.again.len() + unlearned.len()) as u64,
            held: self.tables.held(),
            least: self.tables.least(),
            wide: self.tables.too_wide(space),
            left_bounds: space.left_bounds(),
            stop: None,
            save: false,
            unlearned: unlearned.as_flattened().to_vec(),
        };
        // If nothing was expanded, those of the round before are still there.
        self.again.extend(unlearned);
        (self.expanded, self.generated) = (0, 0);
        (self.all, self.any, self.outside) = (Answers::MAX, 0, false);
        note
    }

    fn settle(&mut self) {
        self.tables.settle();
    }

    fn begin_level(&mut self) {
        self.tables.begin_level();
    }

    fn save(&mut self, saves: &Saves) -> Result<SavedTables, DiskError> {
        self.tables.save(saves, &self.again)
    }

    fn into_outgrown(self: Box<Self>) -> Outgrown {
        let again = self.again.as_flattened().to_vec();
        Outgrown { tables: self.tables.into_outgrown(), again, width: W }
    }
}
