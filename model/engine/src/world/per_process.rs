//! A place for each process of a world.

use crate::protocol::MAX_SEARCHED;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// A place for each process of a world, and at least [`MAX_SEARCHED`]: what is behind the last
/// process has its default. The places of small worlds are here and not elsewhere in memory, since
/// those are searched exhaustively, where states are written all the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PerProcess<T> {
    few: [T; MAX_SEARCHED],
    /// All of them if those are too few, otherwise none.
    many: Vec<T>,
}

impl<T: Copy + Default> PerProcess<T> {
    /// Places for so many processes, with defaults.
    pub(super) fn of(processes: usize) -> Self {
        PerProcess::filled(processes, T::default())
    }
}

impl<T: Copy> PerProcess<T> {
    /// Places for so many processes, with this in each.
    pub(super) fn filled(processes: usize, with: T) -> Self {
        let many = if processes > MAX_SEARCHED { vec![with; processes] } else { Vec::new() };
        PerProcess { few: [with; MAX_SEARCHED], many }
    }

    /// What stands in a place.
    #[inline]
    pub(super) fn at(&self, place: usize) -> &T {
        if self.many.is_empty() { &self.few[place] } else { &self.many[place] }
    }

    /// Those of a world that is searched exhaustively.
    #[inline]
    pub(super) fn few(&self) -> [T; MAX_SEARCHED] {
        debug_assert!(self.many.is_empty(), "a world that is searched has few processes");
        self.few
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn few_mut(&mut self) -> &mut [T; MAX_SEARCHED] {
        debug_assert!(self.many.is_empty(), "a world that is searched has few processes");
        &mut self.few
    }
}

impl<T> Deref for PerProcess<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        if self.many.is_empty() { &self.few } else { &self.many }
    }
}

impl<T> DerefMut for PerProcess<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.many.is_empty() { &mut self.few } else { &mut self.many }
    }
}

impl<T: Hash> Hash for PerProcess<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (**self).hash(hasher);
    }
}
