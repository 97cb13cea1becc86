//! The timers of a core: armed, cancelled and expired by numbers, never by a clock.
//!
//! Every arming has a *generation*. What is due is first written down as [`Ticket`]s and then
//! handled one by one; a ticket fires only if its timer is still armed with the same generation.
//! So a timer that was cancelled or armed anew while an earlier one was handled does not fire, and
//! one `handle` fires each timer at most once, however far the clock has jumped.

use std::hash::{Hash, Hasher};

use super::Time;

/// Up to `N` armed timers, at most one of each kind. `N` is the number of kinds.
#[derive(Clone, Copy, Debug)]
pub struct Timers<T, const N: usize> {
    kinds: [T; N],
    armed: [Option<Armed>; N],
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Armed {
    deadline: Time,
    generation: u64,
}

/// The right to fire one arming of a timer, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket<T> {
    /// The timer.
    pub timer: T,
    /// When it was due.
    pub deadline: Time,
    generation: u64,
}

impl<T: Copy + Eq, const N: usize> Timers<T, N> {
    /// No timer is armed. `kinds` lists every kind of timer there is, each once.
    #[must_use]
    pub const fn new(kinds: [T; N]) -> Self {
        Self { kinds, armed: [None; N], generation: 0 }
    }

    /// Arms `timer`, anew if it is armed already: what the earlier arming would do is forgotten.
    pub fn arm(&mut self, timer: T, deadline: Time) {
        self.generation = self.generation.wrapping_add(1);
        let armed = Armed { deadline, generation: self.generation };
        *self.slot(timer) = Some(armed);
    }

    /// Cancels `timer`; nothing happens if it is not armed.
    pub fn cancel(&mut self, timer: T) {
        *self.slot(timer) = None;
    }

    /// Cancels all timers.
    pub fn cancel_all(&mut self) {
        self.armed = [None; N];
    }

    /// The armed timers and their deadlines, in the order of their kinds.
    pub fn armed(&self) -> impl Iterator<Item = (T, Time)> + '_ {
        let kinds = self.kinds.iter().copied();
        kinds.zip(&self.armed).filter_map(|(kind, armed)| Some((kind, armed.as_ref()?.deadline)))
    }

    /// The earliest deadline.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.armed.iter().flatten().map(|armed| armed.deadline).min()
    }

    /// Tickets for every timer whose deadline is `now` or earlier, in the order of the deadlines.
    /// They stay armed until [`Timers::fires`] takes them off.
    pub fn due(&self, now: Time) -> impl Iterator<Item = Ticket<T>> + use<T, N> {
        let mut due = [None; N];
        for ((ticket, &timer), armed) in due.iter_mut().zip(&self.kinds).zip(&self.armed) {
            *ticket = armed
                .filter(|armed| armed.deadline <= now)
                .map(|Armed { deadline, generation }| Ticket { timer, deadline, generation });
        }
        due.sort_by_key(|ticket| ticket.map(|ticket| (ticket.deadline, ticket.generation)));
        due.into_iter().flatten()
    }

    /// Whether the ticket is still good; if so, its timer is armed no longer.
    #[must_use]
    pub fn fires(&mut self, ticket: Ticket<T>) -> bool {
        let slot = self.slot(ticket.timer);
        let good = slot.is_some_and(|armed| armed.generation == ticket.generation);
        if good {
            *slot = None;
        }
        good
    }

    fn slot(&mut self, timer: T) -> &mut Option<Armed> {
        let position = self.kinds.iter().position(|&kind| kind == timer);
        assert!(position.is_some(), "every kind of timer is listed when the timers are made");
        &mut self.armed[position.unwrap_or(0)]
    }
}

/// Two sets of timers are equal when they will expire alike: generations tell armings apart, they
/// do not decide anything by themselves.
impl<T: Copy + Eq, const N: usize> PartialEq for Timers<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.armed().eq(other.armed())
    }
}

impl<T: Copy + Eq, const N: usize> Eq for Timers<T, N> {}

impl<T: Copy + Eq + Hash, const N: usize> Hash for Timers<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for armed in self.armed() {
            armed.hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ticket, Time, Timers};

    fn at(nanoseconds: u64) -> Time {
        Time::from_nanos(nanoseconds)
    }

    fn fired(timers: &mut Timers<char, 3>, now: u64) -> String {
        let due: Vec<Ticket<char>> = timers.due(at(now)).collect();
        due.into_iter().filter(|&ticket| timers.fires(ticket)).map(|ticket| ticket.timer).collect()
    }

    #[test]
    fn due_timers_fire_once_and_in_the_order_of_their_deadlines() {
        let mut timers = Timers::new(['a', 'b', 'c']);
        timers.arm('a', at(30));
        timers.arm('b', at(10));
        timers.arm('c', at(20));
        assert_eq!(timers.next_deadline(), Some(at(10)));
        assert_eq!(fired(&mut timers, 9), "");
        assert_eq!(fired(&mut timers, 20), "bc");
        assert_eq!(fired(&mut timers, 20), "");
        assert_eq!(fired(&mut timers, 99), "a");
        assert_eq!(timers.next_deadline(), None);
    }

    #[test]
    fn a_ticket_of_an_earlier_arming_does_not_fire() {
        let mut timers = Timers::new(['a', 'b', 'c']);
        timers.arm('a', at(10));
        let stale: Vec<_> = timers.due(at(10)).collect();
        timers.arm('a', at(10));
        assert!(stale.into_iter().all(|ticket| !timers.fires(ticket)));
        assert_eq!(timers.next_deadline(), Some(at(10)), "the new arming is untouched");
    }

    #[test]
    fn a_cancelled_timer_does_not_fire() {
        let mut timers = Timers::new(['a', 'b', 'c']);
        timers.arm('b', at(10));
        let stale: Vec<_> = timers.due(at(10)).collect();
        timers.cancel('b');
        assert!(stale.into_iter().all(|ticket| !timers.fires(ticket)));
    }

    #[test]
    fn equality_ignores_how_often_a_timer_was_armed() {
        let mut once = Timers::new(['a', 'b', 'c']);
        let mut twice = once;
        once.arm('a', at(10));
        twice.arm('a', at(5));
        assert_ne!(once, twice);
        twice.arm('a', at(10));
        assert_eq!(once, twice);
    }
}
