//! A set of members that fits into a message.

use serde::{Deserialize, Serialize};

use crate::protocol::{Members, NodeId};

/// A set of some of the configured members: one bit for each place in the list, which is ascending
/// and the same on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Roster([u64; 4]);

// Every configured member has its bit.
const _: () = assert!(Members::MAX <= 4 * 64);

impl Roster {
    /// The roster with no member.
    pub const EMPTY: Self = Self([0; 4]);

    fn bit(all: &Members, id: NodeId) -> Option<(usize, u64)> {
        all.contains(id).then(|| {
            let place = all.below(id).len();
            (place / 64, 1 << (place % 64))
        })
    }

    /// Adds a member to the roster; any other node is left out.
    pub fn add(&mut self, all: &Members, id: NodeId) {
        if let Some((word, bit)) = Self::bit(all, id) {
            self.0[word] |= bit;
        }
    }

    /// Removes a member from the roster.
    pub fn remove(&mut self, all: &Members, id: NodeId) {
        if let Some((word, bit)) = Self::bit(all, id) {
            self.0[word] &= !bit;
        }
    }

    /// Returns whether `id` is in the roster.
    #[must_use]
    pub fn contains(&self, all: &Members, id: NodeId) -> bool {
        Self::bit(all, id).is_some_and(|(word, bit)| self.0[word] & bit != 0)
    }

    /// Returns whether no member is in the roster.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// Returns the members in the roster, ascending.
    pub fn iter<'a>(&'a self, all: &'a Members) -> impl Iterator<Item = NodeId> + 'a {
        all.iter().filter(|&id| self.contains(all, id))
    }

    /// Returns whether every bit is that of a member.
    #[must_use]
    pub fn fits(&self, all: &Members) -> bool {
        let bits: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        usize::try_from(bits).is_ok_and(|bits| bits == self.iter(all).count())
    }

    /// Returns a roster of these members, and no others.
    pub fn of(all: &Members, ids: impl IntoIterator<Item = NodeId>) -> Self {
        let mut roster = Self::EMPTY;
        for id in ids {
            roster.add(all, id);
        }
        roster
    }
}

#[cfg(test)]
mod tests {
    use super::{Members, NodeId, Roster};

    fn id(number: u16) -> NodeId {
        NodeId::new(number).expect("not zero")
    }

    #[test]
    fn a_roster_holds_members_only_and_tells_them_in_order() {
        let all = Members::new((1..=255).map(|number| id(number * 7))).expect("valid");
        let some = [id(255 * 7), id(7), id(65 * 7), id(3)];
        let mut roster = Roster::of(&all, some);
        assert_eq!(Vec::from_iter(roster.iter(&all)), [id(7), id(65 * 7), id(255 * 7)]);
        assert!(roster.fits(&all));
        roster.remove(&all, id(7));
        roster.remove(&all, id(8));
        assert!(!roster.contains(&all, id(7)) && roster.contains(&all, id(65 * 7)));
        assert!(!roster.is_empty());
    }

    #[test]
    fn a_roster_of_a_larger_cluster_does_not_fit() {
        let large = Members::new((1..=255).map(id)).expect("valid");
        let small = Members::new((1..=3).map(id)).expect("valid");
        let roster = Roster::of(&large, [id(1), id(200)]);
        assert!(roster.fits(&large) && !roster.fits(&small));
        assert_eq!(Vec::from_iter(roster.iter(&small)), [id(1)]);
    }
}
