//! What must not leave the node before its storage has the state that comes before it.
//!
//! The loop goes on while a state is saved, and so does the core: its timers expire, messages reach
//! it, and its program is told whatever is no promise. What it wants sent meanwhile waits here in
//! its order, and so does the news that it leads. A crash loses all of it, as if the node had
//! crashed before it began to save, and whatever reached it since had been lost.
//!
//! Pure: the time comes in. At most one state is under way and one waits: a later one says all that
//! an earlier one said.

use std::collections::VecDeque;
use std::time::Duration;

use crate::protocol::{Event, NodeId, Time};

/// How many steps wait for one state at most; the oldest message goes first.
const LONGEST: usize = 1_024;

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<M> {
    Send(NodeId, M),
    /// To tell the program that the node leads.
    Lead(Event),
}

/// Steps in their order, and since when each waits.
type Steps<M> = VecDeque<(Time, Step<M>)>;

/// What waits for the storage.
#[derive(Debug)]
pub(super) struct Unsaved<D, M> {
    /// What waits for the state that is under way, or for nothing.
    ready: Steps<M>,
    /// The state to save next.
    state: Option<D>,
    /// What waits for that one.
    behind: Steps<M>,
    /// How long a message is worth sending.
    lifetime: Duration,
}

impl<D, M> Unsaved<D, M> {
    pub(super) fn new(lifetime: Duration) -> Self {
        let (ready, behind) = (Steps::new(), Steps::new());
        Self { ready, state: None, behind, lifetime }
    }

    /// This is to be saved before whatever is added later is done.
    pub(super) fn save(&mut self, state: D) {
        self.state = Some(state);
    }

    /// This is to be done after all that was added before.
    pub(super) fn add(&mut self, now: Time, step: Step<M>) {
        let lifetime = self.lifetime;
        let steps = if self.state.is_some() { &mut self.behind } else { &mut self.ready };
        let sends = |(_, step): &(Time, Step<M>)| matches!(step, Step::Send(..));
        steps.retain(|entry| !sends(entry) || now.since(entry.0) <= lifetime);
        if steps.len() >= LONGEST
            && let Some(oldest) = steps.iter().position(sends)
        {
            steps.remove(oldest);
        }
        steps.push_back((now, step));
    }

    /// The node leads no longer: its program is not told that it came to.
    pub(super) fn lost(&mut self) {
        for steps in [&mut self.ready, &mut self.behind] {
            steps.retain(|(_, step)| !matches!(step, Step::Lead(_)));
        }
    }

    /// What is to be done next, if no state is under way. A message that is too old to be of use
    /// is left out.
    pub(super) fn next(&mut self, now: Time) -> Option<Step<M>> {
        loop {
            match self.ready.pop_front()? {
                (since, Step::Send(..)) if now.since(since) > self.lifetime => {}
                (_, step) => return Some(step),
            }
        }
    }

    /// Whether a state waits to be saved.
    pub(super) fn waits(&self) -> bool {
        self.state.is_some()
    }

    /// The state to save now, if one waits; there is nothing left to do [next](Unsaved::next)
    /// before it is.
    pub(super) fn begin(&mut self) -> Option<D> {
        let state = self.state.take()?;
        self.ready.append(&mut self.behind);
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Reason, Role};

    const LIFETIME: Duration = Duration::from_millis(100);

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn send(message: u8) -> Step<u8> {
        Step::Send(NodeId::new(2).expect("not zero"), message)
    }

    fn lead() -> Step<u8> {
        let (from, to, leader) = (Role::Candidate, Role::Leader, NodeId::new(1));
        Step::Lead(Event::RoleChanged { from, to, leader, reason: Reason::BOOTED })
    }

    fn drain(unsaved: &mut Unsaved<char, u8>, now: Time) -> Vec<Step<u8>> {
        std::iter::from_fn(|| unsaved.next(now)).collect()
    }

    #[test]
    fn what_comes_after_a_state_waits_for_it_and_for_no_later_one() {
        let mut unsaved = Unsaved::new(LIFETIME);
        unsaved.add(at(0), send(1));
        unsaved.save('a');
        unsaved.add(at(0), send(2));
        assert_eq!(drain(&mut unsaved, at(0)), [send(1)]);
        assert_eq!(unsaved.begin(), Some('a'));
        // It is under way.
        unsaved.add(at(1), lead());
        unsaved.save('b');
        unsaved.add(at(1), send(3));
        unsaved.save('c');
        unsaved.add(at(1), send(4));
        assert!(unsaved.waits());
        assert_eq!(drain(&mut unsaved, at(1)), [send(2), lead()]);
        assert_eq!(unsaved.begin(), Some('c'), "it says all that the one before it said");
        assert!(!unsaved.waits());
        assert_eq!(drain(&mut unsaved, at(1)), [send(3), send(4)]);
        assert_eq!(unsaved.begin(), None);
    }

    #[test]
    fn a_message_that_waits_for_too_long_is_dropped_and_news_is_not() {
        let mut unsaved = Unsaved::new(LIFETIME);
        unsaved.save('a');
        unsaved.add(at(0), send(1));
        unsaved.add(at(0), lead());
        unsaved.add(at(50), send(2));
        assert_eq!(unsaved.begin(), Some('a'));
        assert_eq!(drain(&mut unsaved, at(101)), [lead(), send(2)]);
    }

    #[test]
    fn a_node_that_has_lost_is_never_said_to_have_led() {
        let mut unsaved = Unsaved::new(LIFETIME);
        unsaved.save('a');
        unsaved.add(at(0), lead());
        unsaved.add(at(0), send(1));
        unsaved.lost();
        unsaved.begin();
        assert_eq!(drain(&mut unsaved, at(0)), [send(1)]);
    }

    #[test]
    fn however_long_it_takes_the_memory_is_bounded() {
        let mut unsaved = Unsaved::new(LIFETIME);
        unsaved.save('a');
        unsaved.add(at(0), lead());
        for number in 0..100_000_u64 {
            unsaved.add(at(number), send(0));
            assert!(unsaved.behind.len() <= 102, "{}", unsaved.behind.len());
        }
        (0..10_000).for_each(|_| unsaved.add(at(100_000), send(1)));
        assert_eq!(unsaved.behind.len(), LONGEST);
        unsaved.begin();
        let rest = drain(&mut unsaved, at(100_000));
        assert_eq!(rest[0], lead());
        assert!(rest[1..].iter().all(|step| *step == send(1)));
    }
}
