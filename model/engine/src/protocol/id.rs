//! Process ids, and sets of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU8;
use std::str::FromStr;

/// The largest number of processes in a world.
pub const MAX_NODES: usize = 128;

/// The largest number of processes in a world that is searched exhaustively. More are only for
/// [random walks](crate::world::swarm), and only of protocols that keep nothing for each process
/// (see [`Options::most`](super::Options::most)).
pub const MAX_SEARCHED: usize = 7;

/// The id of a process, 1 to [`MAX_NODES`]. A larger id has the higher priority, unless the
/// protocol [ranks](super::Options::rank) processes in another order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(NonZeroU8);

impl Id {
    /// Returns the id at position `index`, counted from 0.
    ///
    /// # Panics
    /// If `index` is not below 255.
    #[inline]
    #[must_use]
    pub const fn at(index: usize) -> Id {
        assert!(index < u8::MAX as usize, "an id fits a byte");
        #[expect(clippy::cast_possible_truncation, reason = "asserted in the line above")]
        match NonZeroU8::new(index as u8 + 1) {
            Some(id) => Id(id),
            None => unreachable!(),
        }
    }

    /// Returns the position of this id, counted from 0.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Returns the number that people see: 1 for the lowest id.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0.get()
    }

    /// Returns all ids of a world of `nodes` processes, ascending.
    #[inline]
    pub fn all(nodes: usize) -> impl DoubleEndedIterator<Item = Id> + Clone {
        (0..nodes).map(Id::at)
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Id, String> {
        let number = text.parse().ok().filter(|&number: &u8| usize::from(number) <= MAX_NODES);
        number.and_then(NonZeroU8::new).map(Id).ok_or_else(|| format!("an id is 1 to {MAX_NODES}"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of processes.
///
/// It is made of bytes so that it fits between small fields: most of what processes know and send
/// is a few bytes long.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Ids([u8; MAX_NODES / 8]);

// A set is as wide as a number whose bits can be counted, and small worlds need one byte.
const _: () = assert!(MAX_NODES == u128::BITS as usize && MAX_SEARCHED <= u8::BITS as usize);

impl Ids {
    /// The set of no process.
    pub const NONE: Ids = Ids([0; MAX_NODES / 8]);

    /// Returns the set of all processes of a world of `nodes`.
    ///
    /// # Panics
    /// If no world has so many.
    #[inline]
    #[must_use]
    pub const fn all(nodes: usize) -> Ids {
        assert!(nodes <= MAX_NODES, "a world has fewer processes");
        let bits = if nodes == 0 { 0 } else { u128::MAX >> (MAX_NODES - nodes) };
        Ids(bits.to_le_bytes())
    }

    #[inline]
    const fn bits(self) -> u128 {
        u128::from_le_bytes(self.0)
    }

    /// Returns whether no process is in the set.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.bits() == 0
    }

    /// Returns the number of processes in the set.
    #[inline]
    #[must_use]
    pub const fn len(self) -> usize {
        self.bits().count_ones() as usize
    }

    /// Returns whether `id` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, id: Id) -> bool {
        // Of a small world, all are in the first byte.
        match id.index() {
            few @ 0..8 => self.0[0] & 1 << few != 0,
            at => self.0[at / 8] & 1 << (at % 8) != 0,
        }
    }

    /// Returns the set with `id`.
    #[inline]
    #[must_use]
    pub const fn with(mut self, id: Id) -> Ids {
        self.0[id.index() / 8] |= 1 << (id.index() % 8);
        self
    }

    /// Returns the set without `id`.
    #[inline]
    #[must_use]
    pub const fn without(mut self, id: Id) -> Ids {
        self.0[id.index() / 8] &= !(1 << (id.index() % 8));
        self
    }

    /// Puts `id` into the set, or takes it out.
    #[inline]
    pub fn set(&mut self, id: Id, inside: bool) {
        let byte = &mut self.0[id.index() / 8];
        *byte = *byte & !(1 << (id.index() % 8)) | u8::from(inside) << (id.index() % 8);
    }

    /// Returns the processes that are in one of the two sets.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Ids) -> Ids {
        Ids((self.bits() | other.bits()).to_le_bytes())
    }

    /// Returns the processes that are in both sets.
    #[inline]
    #[must_use]
    pub const fn common(self, other: Ids) -> Ids {
        Ids((self.bits() & other.bits()).to_le_bytes())
    }

    /// Returns the processes of this set that are not in the other.
    #[inline]
    #[must_use]
    pub const fn except(self, other: Ids) -> Ids {
        Ids((self.bits() & !other.bits()).to_le_bytes())
    }

    /// Returns the highest process in the set below `id`.
    #[must_use]
    pub fn below(self, id: Id) -> Option<Id> {
        Iter(self.bits() & ((1 << id.index()) - 1)).next_back()
    }

    /// The set whose processes these bits are, in a world that is searched exhaustively.
    #[inline]
    pub(crate) const fn few(bits: u8) -> Ids {
        let mut ids = Ids::NONE;
        ids.0[0] = bits;
        ids
    }

    /// The bits of the processes that are in a world that is searched exhaustively.
    #[inline]
    pub(crate) const fn few_bits(self) -> u8 {
        self.0[0]
    }

    /// Returns the processes in the set, ascending.
    #[inline]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Id> + Clone {
        Iter(self.bits())
    }
}

/// The processes that are left of a set.
#[derive(Clone)]
struct Iter(u128);

impl Iterator for Iter {
    type Item = Id;

    #[inline]
    fn next(&mut self) -> Option<Id> {
        let lowest = self.0.trailing_zeros();
        self.0 &= self.0.checked_sub(1)?;
        Some(Id::at(lowest as usize))
    }
}

impl DoubleEndedIterator for Iter {
    #[inline]
    fn next_back(&mut self) -> Option<Id> {
        let highest = self.0.checked_ilog2()?;
        self.0 ^= 1 << highest;
        Some(Id::at(highest as usize))
    }
}

/// As the numbers whose bits they are.
impl Ord for Ids {
    fn cmp(&self, other: &Ids) -> Ordering {
        self.bits().cmp(&other.bits())
    }
}

impl PartialOrd for Ids {
    fn partial_cmp(&self, other: &Ids) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Sets in small worlds take one byte: they are hashed all the time.
impl Hash for Ids {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let bits = self.bits();
        match u8::try_from(bits) {
            Ok(few) => hasher.write_u8(few),
            Err(_) => hasher.write_u128(bits),
        }
    }
}

impl FromIterator<Id> for Ids {
    fn from_iter<I: IntoIterator<Item = Id>>(ids: I) -> Ids {
        ids.into_iter().fold(Ids::NONE, Ids::with)
    }
}

/// The ids with commas between them, as they are typed.
impl fmt::Display for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, id) in self.iter().enumerate() {
            write!(f, "{}{id}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for Ids {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::<Id>::deserialize(deserializer)?;
        match ids.iter().find(|id| id.index() >= MAX_NODES) {
            Some(id) => {
                Err(serde::de::Error::custom(format!("ids are 1 to {MAX_NODES}, not {id}")))
            }
            None => Ok(ids.into_iter().collect()),
        }
    }
}

/// Splits what is said of some processes, such as `1,2:guard`, into their ids and what it is; what
/// has no ids before it is said of all.
///
/// # Errors
/// What stands before the colon instead of ids, in words.
pub fn split_ids(text: &str) -> Result<(Vec<Id>, &str), String> {
    let Some((ids, rest)) = text.split_once(':') else { return Ok((Vec::new(), text)) };
    Ok((read_ids(ids)?, rest.trim()))
}

/// Reads the ids of some processes, such as `1,2`.
///
/// # Errors
/// What stands there instead, in words.
pub fn read_ids(text: &str) -> Result<Vec<Id>, String> {
    let id = |id: &str| {
        let wrong = |_| format!("'{id}' is not an id; give ids from 1 to {MAX_NODES}, as in 1,2");
        id.trim().parse::<Id>().map_err(wrong)
    };
    text.split(',').map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustc_hash::FxHasher;
    use std::collections::BTreeSet;

    fn ids() -> impl Strategy<Value = BTreeSet<Id>> {
        let most = prop_oneof![Just(MAX_SEARCHED), Just(9), Just(64), Just(MAX_NODES)];
        most.prop_flat_map(|most| {
            proptest::collection::btree_set((0..most).prop_map(Id::at), 0..20)
        })
    }

    fn hash(of: Ids) -> u64 {
        let mut hasher = FxHasher::default();
        of.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn what_is_said_of_some_processes_begins_with_their_ids() {
        let ids = |numbers: &[usize]| numbers.iter().map(|&n| Id::at(n - 1)).collect::<Vec<_>>();
        assert_eq!(split_ids("guard"), Ok((Vec::new(), "guard")));
        assert_eq!(split_ids("2:guard"), Ok((ids(&[2]), "guard")));
        assert_eq!(split_ids("1, 3:guard"), Ok((ids(&[1, 3]), "guard")));
        for wrong in ["0:guard", ":guard", "x:guard", "1,:guard", "129:guard", "1-2:guard"] {
            assert!(split_ids(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        /// A set of bits is a set.
        #[test]
        fn ids_are_a_set(ours in ids(), theirs in ids(), at in 0..MAX_NODES, inside: bool) {
            let bits = |of: &BTreeSet<Id>| of.iter().copied().collect::<Ids>();
            let (a, b, id) = (bits(&ours), bits(&theirs), Id::at(at));
            let is = |set: Ids, expected: BTreeSet<Id>| {
                set.iter().eq(expected.iter().copied())
                    && set.iter().rev().eq(expected.iter().rev().copied())
                    && set.len() == expected.len()
                    && set.is_empty() == expected.is_empty()
                    && Id::all(MAX_NODES).all(|id| set.contains(id) == expected.contains(&id))
                    && set == expected.into_iter().collect()
            };
            prop_assert!(is(a, ours.clone()));
            prop_assert!(is(a.and(b), &ours | &theirs));
            prop_assert!(is(a.common(b), &ours & &theirs));
            prop_assert!(is(a.except(b), &ours - &theirs));
            prop_assert!(is(Ids::all(at), Id::all(at).collect()));
            let (mut with, mut without) = (ours.clone(), ours.clone());
            with.insert(id);
            without.remove(&id);
            prop_assert!(is(a.with(id), with.clone()));
            prop_assert!(is(a.without(id), without.clone()));
            let mut set = a;
            set.set(id, inside);
            let expected = if inside { with } else { without };
            prop_assert!(is(set, expected));
            prop_assert_eq!(a.below(id), ours.range(..id).next_back().copied());
            prop_assert_eq!(a == b, ours == theirs);
            prop_assert!(a != b || hash(a) == hash(b));
            let (mut one_by_one, mut left) = (a.iter(), ours.clone());
            while let Some(lowest) = one_by_one.next() {
                prop_assert_eq!(left.pop_first(), Some(lowest));
                prop_assert_eq!(left.pop_last(), one_by_one.next_back());
            }
            let json = serde_json::to_string(&a).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<Ids>(&json).expect("a set"), a);
        }
    }

    #[test]
    fn ids_that_no_world_has_are_refused() {
        assert_eq!("128".parse(), Ok(Id::at(127)));
        assert_eq!(Ids::all(MAX_NODES).len(), 128);
        for wrong in ["0", "129", "256", "-1", "one", ""] {
            assert_eq!(wrong.parse::<Id>(), Err("an id is 1 to 128".to_owned()), "{wrong}");
        }
        let error = serde_json::from_str::<Ids>("[1, 129]").expect_err("there is no such id");
        assert!(error.to_string().contains("ids are 1 to 128, not 129"), "{error}");
    }
}
