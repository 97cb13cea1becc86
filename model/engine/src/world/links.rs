//! What is said of single links.

use super::WorldError;
use crate::protocol::{Id, MAX_SEARCHED};

/// Of how many links something can be said, each direction counted: of all links of a world that is
/// searched exhaustively.
const MOST: usize = MAX_SEARCHED * (MAX_SEARCHED - 1);

/// What is said of single links, each in its direction: from the first process to the second. A
/// scenario is copied, so there is room for so many and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Links<T> {
    /// In the order of senders and receivers, without gaps.
    known: [Option<(Id, Id, T)>; MOST],
    /// How many there was no room for.
    refused: u8,
}

impl<T: Copy> Default for Links<T> {
    fn default() -> Self {
        Links::NONE
    }
}

impl<T: Copy> Links<T> {
    /// Nothing is said of any.
    pub(super) const NONE: Links<T> = Links { known: [None; MOST], refused: 0 };

    pub(super) fn is_empty(&self) -> bool {
        self.known[0].is_none()
    }

    /// What is said of this link.
    pub(super) fn get(&self, from: Id, to: Id) -> Option<T> {
        self.iter().find(|&(a, b, _)| (a, b) == (from, to)).map(|(_, _, what)| what)
    }

    /// Says this of a link, instead of what was said before.
    pub(super) fn put(&mut self, from: Id, to: Id, what: T) {
        let before = self.iter().take_while(|&(a, b, _)| (a, b) < (from, to)).count();
        let count = self.iter().count();
        if self.get(from, to).is_some() {
            self.known[before] = Some((from, to, what));
        } else if count == MOST {
            self.refused = self.refused.saturating_add(1);
        } else {
            self.known[before..=count].rotate_right(1);
            self.known[before] = Some((from, to, what));
        }
    }

    /// Says what `others` say as well.
    pub(super) fn put_all(&mut self, others: &Links<T>) {
        others.iter().for_each(|(from, to, what)| self.put(from, to, what));
        self.refused = self.refused.saturating_add(others.refused);
    }

    /// Each link and what is said of it, in the order of senders and receivers.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, Id, T)> + '_ {
        self.known.iter().map_while(|link| *link)
    }

    /// Refuses more than there is room for.
    pub(super) fn fit(&self, flag: &'static str) -> Result<(), WorldError> {
        match usize::from(self.refused) {
            0 => Ok(()),
            more => Err(WorldError::TooManyLinks { flag, links: MOST + more, most: MOST }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::MAX_NODES;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// It is a map, as long as there is room.
        #[test]
        fn the_last_that_is_said_of_a_link_counts(
            said in proptest::collection::vec((0..MAX_NODES, 0..4_usize, any::<u8>()), 0..60)
        ) {
            let (mut links, mut map, mut refused) = (Links::NONE, BTreeMap::new(), 0);
            for (from, to, what) in said {
                let (from, to) = (Id::at(from), Id::at(to));
                links.put(from, to, what);
                if map.len() < MOST || map.contains_key(&(from, to)) {
                    map.insert((from, to), what);
                } else {
                    refused += 1;
                }
            }
            prop_assert!(links.iter().eq(map.iter().map(|(&(from, to), &what)| (from, to, what))));
            prop_assert_eq!(links.is_empty(), map.is_empty());
            let pairs = Id::all(MAX_NODES).flat_map(|from| Id::all(5).map(move |to| (from, to)));
            for (from, to) in pairs {
                prop_assert_eq!(links.get(from, to), map.get(&(from, to)).copied());
            }
            let fits = if refused == 0 {
                Ok(())
            } else {
                Err(WorldError::TooManyLinks { flag: "slow", links: MOST + refused, most: MOST })
            };
            prop_assert_eq!(links.fit("slow"), fits);
        }
    }
}
