//! What must not leave a node before its storage has the state that comes before it.
//!
//! The loop around a node goes on while a state is saved, and so does the core: its timers expire,
//! messages reach it, and its program is told whatever is no promise. What it wants sent meanwhile
//! waits here in its order, and so does the news that it leads. A crash loses all of it, as if the
//! node had crashed before it began to save, and whatever reached it since had been lost.
//!
//! Pure: the time comes in. At most one state is under way and one waits: a later one says all that
//! an earlier one said. The driver and the simulation decide by this what waits.

use std::collections::VecDeque;
use std::time::Duration;

use crate::protocol::{Epoch, Event, Lease, NodeId, Output, Role, Time};

/// How many steps wait for one state at most, in a group of the usual size; the oldest message goes
/// first.
const LONGEST: usize = 1_024;

/// Something that comes after a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<M> {
    /// To send a message.
    Send(NodeId, M),
    /// To tell the program that the node leads.
    Lead(Event),
}

/// Something that waits for no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// To tell the program what is no promise.
    Tell(Event),
    /// To wake the node then, as [`Output::WakeAt`] says.
    WakeAt(Option<Time>),
}

/// Steps in their order, and since when each waits.
type Steps<M> = VecDeque<(Time, Step<M>)>;

/// What waits for the storage. A loop around a [node](crate::protocol::Node)
///
/// 1. hands [everything that it puts out](Unsaved::sort) over, and does at once what is due at
///    once;
/// 2. then does what is [next](Unsaved::next), one step after the other, until there is none;
/// 3. then [begins](Unsaved::begin) to save a state, if there is one;
/// 4. and when that [is saved](Unsaved::saved), lets the node look at its deadlines, and goes on at
///    1.
#[derive(Debug)]
pub struct Unsaved<D, M> {
    /// Whether a state is being saved.
    under_way: bool,
    /// What waits for that one, or for nothing.
    ready: Steps<M>,
    /// The state to save next.
    state: Option<D>,
    /// What waits for that one.
    behind: Steps<M>,
    /// How long a message is worth sending.
    lifetime: Duration,
    /// How many steps wait for one state at most.
    longest: usize,
}

impl<D, M> Unsaved<D, M> {
    /// Nothing waits yet. A message is worth sending for `lifetime`, and the group has so many
    /// members.
    #[must_use]
    pub fn new(lifetime: Duration, members: usize) -> Self {
        let (ready, behind) = (Steps::new(), Steps::new());
        let longest = LONGEST.max(4 * members);
        Self { under_way: false, ready, state: None, behind, lifetime, longest }
    }

    /// The node wants this done, after all that it wanted before. What is to be done at once is
    /// returned. Nothing has to be durable for the loss of a leadership, and a disk may take its
    /// time; that the node leads is told when all before it is durable.
    pub fn sort(&mut self, now: Time, output: Output<D, M>) -> Option<Now> {
        match output {
            Output::Persist(state) => self.state = Some(state),
            Output::Send { to, message } => self.add(now, Step::Send(to, message)),
            Output::Event(event @ Event::RoleChanged { to: Role::Leader, .. }) => {
                self.add(now, Step::Lead(event));
            }
            Output::Event(event) => {
                if matches!(event, Event::RoleChanged { .. }) {
                    self.lost();
                }
                return Some(Now::Tell(event));
            }
            Output::WakeAt(wake) => return Some(Now::WakeAt(wake)),
        }
        None
    }

    fn add(&mut self, now: Time, step: Step<M>) {
        let steps = if self.state.is_some() { &mut self.behind } else { &mut self.ready };
        let is_message = |(_, step): &(Time, Step<M>)| matches!(step, Step::Send(..));
        while let Some(oldest) = steps.iter().position(is_message)
            && (steps.len() >= self.longest || now.since(steps[oldest].0) > self.lifetime)
        {
            steps.remove(oldest);
        }
        steps.push_back((now, step));
    }

    /// The node leads no longer: its program is not told that it came to.
    fn lost(&mut self) {
        for steps in [&mut self.ready, &mut self.behind] {
            steps.retain(|(_, step)| !matches!(step, Step::Lead(_)));
        }
    }

    /// What is to be done next; nothing while a state is under way. A message that is too old to be
    /// of use is left out.
    pub fn next(&mut self, now: Time) -> Option<Step<M>> {
        if self.under_way {
            return None;
        }
        loop {
            match self.ready.pop_front()? {
                (since, Step::Send(..)) if now.since(since) > self.lifetime => {}
                (_, step) => return Some(step),
            }
        }
    }

    /// The state to save now, if one waits and none is under way. Nothing may be left to do
    /// [next](Unsaved::next) before that.
    pub fn begin(&mut self) -> Option<D> {
        let state = self.state.take_if(|_| !self.under_way)?;
        self.under_way = true;
        self.ready.append(&mut self.behind);
        Some(state)
    }

    /// The state that was under way is durable.
    pub fn saved(&mut self) {
        self.under_way = false;
    }

    /// Whether a state of the node is not durable yet.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.under_way || self.state.is_some()
    }

    /// How many steps wait for a state.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.ready.len() + self.behind.len()
    }

    /// The lease of a node as its program may know it, which was told last that the node leads the
    /// epoch `told`, if it does. A lease of another epoch counts only when its state is durable.
    #[must_use]
    pub fn lease(&self, lease: Option<Lease>, told: Option<Epoch>) -> Option<Lease> {
        lease.filter(|lease| told == Some(lease.epoch) || !self.is_behind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Reason;

    const LIFETIME: Duration = Duration::from_millis(100);

    type Waits = Unsaved<char, u8>;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn send(message: u8) -> Step<u8> {
        Step::Send(NodeId::new(2).expect("not zero"), message)
    }

    fn change(from: Role, to: Role) -> Event {
        let leader = NodeId::new(1).filter(|_| to == Role::Leader);
        Event::RoleChanged { from, to, leader, reason: Reason::BOOTED }
    }

    fn lead() -> Step<u8> {
        Step::Lead(change(Role::Candidate, Role::Leader))
    }

    fn save(unsaved: &mut Waits, state: char) {
        assert_eq!(unsaved.sort(at(0), Output::Persist(state)), None);
    }

    /// It waits, or is next.
    fn add(unsaved: &mut Waits, now: Time, step: Step<u8>) {
        let output = match step {
            Step::Send(to, message) => Output::Send { to, message },
            Step::Lead(event) => Output::Event(event),
        };
        assert_eq!(unsaved.sort(now, output), None);
    }

    fn drain(unsaved: &mut Waits, now: Time) -> Vec<Step<u8>> {
        std::iter::from_fn(|| unsaved.next(now)).collect()
    }

    #[test]
    fn what_comes_after_a_state_waits_for_it_and_for_no_later_one() {
        let mut unsaved = Unsaved::new(LIFETIME, 3);
        add(&mut unsaved, at(0), send(1));
        save(&mut unsaved, 'a');
        add(&mut unsaved, at(0), send(2));
        assert_eq!(drain(&mut unsaved, at(0)), [send(1)]);
        assert_eq!(unsaved.begin(), Some('a'));
        add(&mut unsaved, at(1), lead());
        save(&mut unsaved, 'b');
        add(&mut unsaved, at(1), send(3));
        save(&mut unsaved, 'c');
        add(&mut unsaved, at(1), send(4));
        assert_eq!(
            (drain(&mut unsaved, at(1)), unsaved.begin()),
            (vec![], None),
            "it is under way"
        );
        assert_eq!(unsaved.waiting(), 4);
        unsaved.saved();
        assert!(unsaved.is_behind());
        assert_eq!(drain(&mut unsaved, at(1)), [send(2), lead()]);
        assert_eq!(unsaved.begin(), Some('c'), "it says all that the one before it said");
        assert!(unsaved.is_behind() && drain(&mut unsaved, at(1)).is_empty());
        unsaved.saved();
        assert!(!unsaved.is_behind());
        assert_eq!(drain(&mut unsaved, at(1)), [send(3), send(4)]);
        assert_eq!(unsaved.begin(), None);
    }

    #[test]
    fn what_is_no_promise_and_wakes_wait_for_nothing() {
        let mut unsaved = Waits::new(LIFETIME, 3);
        save(&mut unsaved, 'a');
        unsaved.begin();
        let from = NodeId::new(2).expect("not zero");
        let ignored = Event::Ignored { from, cause: Reason::OWN_ID };
        for event in [ignored, change(Role::Leader, Role::Follower)] {
            assert_eq!(unsaved.sort(at(0), Output::Event(event)), Some(Now::Tell(event)));
        }
        let wake = Some(at(7));
        assert_eq!(unsaved.sort(at(0), Output::WakeAt(wake)), Some(Now::WakeAt(wake)));
    }

    #[test]
    fn a_message_that_waits_for_too_long_is_dropped_and_news_is_not() {
        let mut unsaved = Unsaved::new(LIFETIME, 3);
        save(&mut unsaved, 'a');
        add(&mut unsaved, at(0), send(1));
        add(&mut unsaved, at(0), lead());
        add(&mut unsaved, at(50), send(2));
        assert_eq!(unsaved.begin(), Some('a'));
        unsaved.saved();
        assert_eq!(drain(&mut unsaved, at(101)), [lead(), send(2)]);
    }

    #[test]
    fn a_node_that_has_lost_is_never_said_to_have_led() {
        let mut unsaved = Unsaved::new(LIFETIME, 3);
        save(&mut unsaved, 'a');
        add(&mut unsaved, at(0), lead());
        add(&mut unsaved, at(0), send(1));
        unsaved.sort(at(0), Output::Event(change(Role::Leader, Role::Follower)));
        unsaved.begin();
        unsaved.saved();
        assert_eq!(drain(&mut unsaved, at(0)), [send(1)]);
    }

    #[test]
    fn a_lease_counts_when_its_epoch_is_durable() {
        let mut unsaved = Waits::new(LIFETIME, 3);
        let [first, second] = [1, 2].map(Epoch::new);
        let lease = Some(Lease { epoch: second, until: at(5) });
        let counts = |unsaved: &Waits, told| unsaved.lease(lease, told) == lease;
        assert!(counts(&unsaved, None), "all is durable");
        save(&mut unsaved, 'a');
        for _ in 0..2 {
            assert!(counts(&unsaved, Some(second)), "it is renewed");
            assert!(!counts(&unsaved, None) && !counts(&unsaved, Some(first)), "it may be lost");
            unsaved.begin();
        }
        unsaved.saved();
        assert!(counts(&unsaved, Some(first)));
    }

    #[test]
    fn however_long_it_takes_the_memory_is_bounded() {
        for (members, longest) in [(255, LONGEST), (5_000, 20_000)] {
            let mut unsaved = Unsaved::new(LIFETIME, members);
            save(&mut unsaved, 'a');
            add(&mut unsaved, at(0), lead());
            for number in 0..10_000_u64 {
                add(&mut unsaved, at(number), send(0));
                assert!(unsaved.waiting() <= 102, "{}", unsaved.waiting());
            }
            (0..30_000).for_each(|_| add(&mut unsaved, at(10_000), send(1)));
            assert_eq!(unsaved.waiting(), longest);
            unsaved.begin();
            unsaved.saved();
            let rest = drain(&mut unsaved, at(10_000));
            assert_eq!(rest[0], lead());
            assert!(rest[1..].iter().all(|step| *step == send(1)));
        }
    }
}
