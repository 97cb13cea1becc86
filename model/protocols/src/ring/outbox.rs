//! What a process has handed on that is not acknowledged yet.

use super::{Lap, Rounds};
use bellwether_engine::protocol::{Id, MAX_SEARCHED};
use serde::{Serialize, Serializer};

/// The most that can be in it within the [bounds](Outbox::is_within_bounds). Two laps of each
/// process can be under way, its election and its announcement, so that is all where so many
/// processes are searched exhaustively; with more, processes can have more to keep than that.
const MOST: usize = 2 * MAX_SEARCHED;

/// What a process has handed on that is not acknowledged yet, and to whom each went last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outbox<M> {
    /// In the order in which they were handed on, without gaps, one of each lap.
    kept: [Option<(M, Id)>; MOST + 1],
}

impl<M> Default for Outbox<M> {
    fn default() -> Self {
        Outbox { kept: std::array::from_fn(|_| None) }
    }
}

impl<M: Rounds> Outbox<M> {
    /// What is in it, and to whom it went.
    pub fn iter(&self) -> impl Iterator<Item = (M, Id)> {
        self.kept.iter().copied().flatten()
    }

    /// Whether no more is in it than a walk follows. Of more than that, some is not kept.
    pub(super) fn is_within_bounds(&self) -> bool {
        self.kept[MOST].is_none()
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept[0].is_none()
    }

    /// Keeps `message`, which goes to `to`, in the place of an earlier one of the same lap.
    pub fn keep(&mut self, message: M, to: Id) {
        let others = self.iter().filter(|(kept, _)| kept.lap() != message.lap());
        *self = others.chain([(message, to)]).collect();
    }

    /// Drops what belongs to `lap`.
    pub fn acknowledge(&mut self, lap: Lap) {
        *self = self.iter().filter(|(kept, _)| kept.lap() != Some(lap)).collect();
    }
}

impl<M: Rounds> FromIterator<(M, Id)> for Outbox<M> {
    fn from_iter<T: IntoIterator<Item = (M, Id)>>(kept: T) -> Self {
        let mut outbox = Outbox::default();
        for (place, one) in outbox.kept.iter_mut().zip(kept) {
            *place = Some(one);
        }
        outbox
    }
}

impl<M: Rounds + Serialize> Serialize for Outbox<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
