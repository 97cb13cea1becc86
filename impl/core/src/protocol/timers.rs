//! The timers of a node: armed, cancelled and expired by numbers, never by a clock.
//!
//! Every arming has a *generation*. An input fires only what was armed before it: a timer that is
//! cancelled or armed anew while an earlier one is handled does not fire, and one input fires each
//! timer at most once, however far the clock has jumped.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;

use super::Time;

/// The largest number of timers that a core may have.
pub const MAX_TIMERS: usize = 16;

/// The armed timers, at most one of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Timers<T: 'static> {
    kinds: &'static [T],
    armed: [Option<Armed>; MAX_TIMERS],
    generation: NonZeroU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Armed {
    deadline: Time,
    generation: NonZeroU64,
}

impl<T: Copy + Eq> Timers<T> {
    /// Returns the timers of a node that has armed none. `kinds` lists every kind of timer there
    /// is, each once.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_TIMERS`].
    #[must_use]
    pub const fn new(kinds: &'static [T]) -> Self {
        assert!(kinds.len() <= MAX_TIMERS, "a core has more timers than MAX_TIMERS");
        Self { kinds, armed: [None; MAX_TIMERS], generation: NonZeroU64::MIN }
    }

    /// Arms `timer`, anew if it is armed already: what the earlier arming would do is forgotten.
    pub fn arm(&mut self, timer: T, deadline: Time) {
        self.generation = self.generation.saturating_add(1);
        let at = self.position(timer);
        self.armed[at] = Some(Armed { deadline, generation: self.generation });
    }

    /// Lets `timer` expire at `deadline` already; nothing happens if it is not armed, or due by
    /// then.
    pub fn bring_forward(&mut self, timer: T, deadline: Time) {
        let at = self.position(timer);
        if let Some(armed) = &mut self.armed[at] {
            armed.deadline = armed.deadline.min(deadline);
        }
    }

    /// Cancels `timer`; nothing happens if it is not armed.
    pub fn cancel(&mut self, timer: T) {
        let at = self.position(timer);
        self.armed[at] = None;
    }

    /// Cancels all timers.
    pub fn cancel_all(&mut self) {
        self.armed = [None; MAX_TIMERS];
    }

    /// Returns the time at which `timer` expires, if it is armed.
    #[must_use]
    pub fn deadline(&self, timer: T) -> Option<Time> {
        Some(self.armed[self.position(timer)]?.deadline)
    }

    /// Returns the armed timers and their deadlines, in the order of their kinds.
    pub fn armed(&self) -> impl Iterator<Item = (T, Time)> + '_ {
        let kinds = self.kinds.iter().copied();
        kinds.zip(&self.armed).filter_map(|(kind, armed)| Some((kind, armed.as_ref()?.deadline)))
    }

    /// Returns the earliest deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.slots().flatten().map(|armed| armed.deadline).min()
    }

    /// Returns the generation of the latest arming.
    #[must_use]
    pub fn generation(&self) -> NonZeroU64 {
        self.generation
    }

    /// Takes off the timer with the earliest deadline, if that is `now` or earlier; of those only
    /// that were armed no later than `generation`. Of two with one deadline, it takes the one that
    /// was armed first.
    #[must_use]
    pub fn expire(&mut self, now: Time, generation: NonZeroU64) -> Option<T> {
        let due = self.slots().zip(0..).filter_map(|(armed, at)| Some((armed?, at)));
        let due = due.filter(|(armed, _)| armed.deadline <= now && armed.generation <= generation);
        let (_, at): (Armed, usize) = due.min()?;
        self.armed[at] = None;
        Some(self.kinds[at])
    }

    fn slots(&self) -> impl Iterator<Item = Option<Armed>> + '_ {
        self.armed.iter().copied().take(self.kinds.len())
    }

    fn position(&self, timer: T) -> usize {
        match self.kinds.iter().position(|&kind| kind == timer) {
            Some(at) => at,
            None => unreachable!("a core lists every kind of timer"),
        }
    }
}

/// Two sets of timers are equal when they will expire alike: generations tell armings apart, they
/// do not decide anything by themselves.
impl<T: Copy + Eq> PartialEq for Timers<T> {
    fn eq(&self, other: &Self) -> bool {
        self.armed().eq(other.armed())
    }
}

impl<T: Copy + Eq> Eq for Timers<T> {}

impl<T: Copy + Eq + Hash> Hash for Timers<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for armed in self.armed() {
            armed.hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Time, Timers};

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds)
    }

    /// These are armed, one after the other.
    fn armed(deadlines: &[(char, u64)]) -> Timers<char> {
        let mut timers = Timers::new(&['a', 'b', 'c']);
        for &(timer, deadline) in deadlines {
            timers.arm(timer, at(deadline));
        }
        timers
    }

    fn fired(timers: &mut Timers<char>, now: u64) -> String {
        let generation = timers.generation();
        std::iter::from_fn(|| timers.expire(at(now), generation)).collect()
    }

    #[test]
    fn due_timers_fire_once_and_in_the_order_of_their_deadlines() {
        let mut timers = armed(&[('a', 30), ('b', 10), ('c', 20)]);
        assert_eq!(timers.next_deadline(), Some(at(10)));
        assert_eq!([9, 20, 20, 99].map(|now| fired(&mut timers, now)), ["", "bc", "", "a"]);
        assert_eq!(timers.next_deadline(), None);
        let mut timers = armed(&[('c', 10), ('b', 10), ('a', 10)]);
        assert_eq!(fired(&mut timers, 10), "cba", "of one deadline, in the order of the arming");
    }

    #[test]
    fn a_timer_that_is_armed_anew_does_not_fire_for_what_came_before() {
        let mut timers = armed(&[('a', 10), ('b', 20)]);
        let generation = timers.generation();
        assert_eq!(timers.expire(at(99), generation), Some('a'));
        timers.arm('a', at(15));
        timers.cancel('b');
        assert_eq!(timers.expire(at(99), generation), None, "one armed anew, one cancelled");
        assert_eq!(fired(&mut timers, 99), "a");
    }

    #[test]
    fn a_timer_that_is_brought_forward_fires_earlier_and_never_later() {
        let mut timers = armed(&[('a', 30), ('b', 10)]);
        for (timer, deadline) in [('a', 5), ('b', 20), ('c', 5)] {
            timers.bring_forward(timer, at(deadline));
        }
        assert_eq!([9, 10].map(|now| fired(&mut timers, now)), ["a", "b"]);
        assert_eq!(timers.next_deadline(), None);
    }

    #[test]
    fn equality_ignores_how_often_a_timer_was_armed() {
        let (once, twice) = (armed(&[('a', 10)]), armed(&[('a', 5), ('a', 10)]));
        assert_ne!(once, armed(&[('a', 5)]));
        assert_eq!(once, twice);
    }
}
