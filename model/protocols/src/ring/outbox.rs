//! What a process has handed on that is not acknowledged yet.

use super::{Lap, Rounds};
use bellwether_engine::protocol::{Id, MAX_NODES};
use serde::{Serialize, Serializer};

/// Two laps of each process can be under way: its election and its announcement.
const MOST: usize = 2 * MAX_NODES;

/// What a process has handed on that is not acknowledged yet, and to whom each went last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outbox<M> {
    /// In the order in which they were handed on, without gaps, one of each lap.
    kept: [Option<(M, Id)>; MOST],
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
        let mut places = outbox.kept.iter_mut();
        for one in kept {
            let place = places.next();
            assert!(place.is_some(), "each process has two laps");
            place.into_iter().for_each(|place| *place = Some(one));
        }
        outbox
    }
}

impl<M: Rounds + Serialize> Serialize for Outbox<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
