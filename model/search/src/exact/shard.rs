//! The parts of all states that a search finds.

use crate::space::{Arrival, Space};
use std::io::{self, Read, Write};

/// How many parts all states are spread over; each is small enough for a processor's own cache for
/// longer than the whole would be.
pub(super) const SHARDS: usize = 1 << LOG_SHARDS;
pub(super) const LOG_SHARDS: u32 = 7;

/// How many workers there are: enough to keep every processor busy, whatever their number.
pub(super) const WORKERS: usize = 16;
pub(super) const SHARDS_PER_WORKER: usize = SHARDS / WORKERS;

/// A part of all states: a set, and how far the search is with it.
pub(super) trait Shard<const W: usize>: Sized + Send + Sync {
    /// What all shards of a search have in common.
    type Form: Copy + Send + Sync;

    /// As states of this space look now.
    fn form(space: &dyn Space) -> Self::Form;

    /// The shard with this number, in which nothing is.
    fn new(form: &Self::Form, shard: usize) -> Self;

    /// Whether states should look different in words from now on, so that they take less memory.
    fn too_wide(_: &[Self], _: &dyn Space) -> bool {
        false
    }

    /// A state as shards take it in, and the shard to which it belongs.
    fn mix(form: &Self::Form, state: &[u64; W]) -> ([u64; W], usize);

    /// How many states there are.
    fn held(&self) -> u64;

    /// Adds states as they were mixed, unless they are there, each with how it was reached, if
    /// that is known; their numbers, where states have any.
    fn insert_all(
        &mut self,
        mixed: &[[u64; W]],
        lasts: Option<&[Arrival]>,
        numbers: Option<&mut Vec<u32>>,
    );

    /// How many bytes more it takes when so many states come that are not there yet.
    fn growth(&self, more: usize) -> u64;

    /// Everything that was added and not expanded is the level now; how many that are.
    fn begin_level(&mut self) -> u64;

    /// Chooses the next states of the level; how many.
    fn begin_round(&mut self) -> usize;

    /// The states that were chosen, each with one way in which it was reached, if the way matters.
    fn round(&self, each: impl FnMut(&[u64; W], Arrival));

    /// They have been expanded.
    fn end_round(&mut self);

    /// Writes it down as it is, but for the states that were chosen: they are chosen once more.
    fn write(&self, out: &mut dyn Write) -> io::Result<()>;

    /// The shard with this number as it was written.
    fn read(form: &Self::Form, shard: usize, file: &mut dyn Read) -> io::Result<Self>;
}
