//! Sets of the timers of a protocol.

use super::Protocol;

/// The largest number of timers that a protocol can have.
pub const MAX_TIMERS: usize = 16;

/// A set of a protocol's timers, such as those that are armed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timers(u16);

impl Timers {
    /// The set of no timer.
    pub const NONE: Timers = Timers(0);

    /// Returns the place of `timer` among the protocol's timers.
    ///
    /// # Panics
    /// If the protocol has no row for it.
    #[must_use]
    pub fn place<P: Protocol>(timer: P::Timer) -> usize {
        let place = P::TIMERS.iter().position(|row| row.timer == timer);
        place.expect("Protocol::TIMERS has a row for every timer")
    }

    /// Returns whether no timer is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether `timer` is in the set.
    #[must_use]
    pub fn contains<P: Protocol>(self, timer: P::Timer) -> bool {
        self.has_place(Self::place::<P>(timer))
    }

    /// Returns the set with `timer`.
    #[must_use]
    pub fn with<P: Protocol>(self, timer: P::Timer) -> Timers {
        self.with_place(Self::place::<P>(timer))
    }

    /// Returns the set without `timer`.
    #[must_use]
    pub fn without<P: Protocol>(self, timer: P::Timer) -> Timers {
        self.without_place(Self::place::<P>(timer))
    }

    /// Whether the timer at this place among the protocol's timers is in the set.
    #[inline]
    pub(crate) fn has_place(self, place: usize) -> bool {
        self.0 & 1 << place != 0
    }

    /// The set with the timer at this place.
    pub(crate) fn with_place(self, place: usize) -> Timers {
        Timers(self.0 | 1 << place)
    }

    /// The set without the timer at this place.
    pub(crate) fn without_place(self, place: usize) -> Timers {
        Timers(self.0 & !(1 << place))
    }

    /// Returns the timers in the set, in the protocol's order.
    pub fn iter<P: Protocol>(self) -> impl Iterator<Item = P::Timer> {
        let rows = P::TIMERS.iter().enumerate();
        rows.filter(move |(at, _)| self.has_place(*at)).map(|(_, row)| row.timer)
    }
}
