//! What must not leave a node before its storage has the state that comes before it.
//!
//! A member goes on while a state is saved, and so does its core: timers expire, messages reach it,
//! and its program is told whatever is no promise. What it wants sent meanwhile waits here in its
//! order, and so does the news that it leads. A crash loses all of it, as if the node had crashed
//! before it began to save, and whatever reached it since had been lost.
//!
//! A loop around a [node](crate::protocol::Node)
//!
//! 1. hands [everything that it puts out](Unsaved::push) over, and does at once what is due at
//!    once;
//! 2. then does what is [next](Unsaved::next), one step after the other, until there is none;
//! 3. then [begins](Unsaved::begin_save) to save a state, if there is one;
//! 4. and when that [is saved](Unsaved::finish_save), lets the node look at its deadlines, and goes
//!    on at 1.
//!
//! Pure: the time comes in. At most one state is under way and one waits: a later one says all that
//! an earlier one said.

use std::collections::VecDeque;
use std::time::Duration;

use crate::protocol::quorum::Lists;
use crate::protocol::{Event, Output, Role, Time};
use crate::trace::Sent;

/// How many steps wait for one state at most, in a group of the usual size; the oldest message goes
/// first.
const LONGEST: usize = 1_024;

/// Something that comes after a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deferred<M> {
    /// To send a message.
    Send(Sent<M>),
    /// To tell the program that the node leads.
    Lead(Event),
    /// To tell the program which lists of members the node knows.
    Change(Lists),
}

/// Something that waits for no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Immediate {
    /// To tell the program what is no promise.
    Report(Event),
    /// To wake the node then, as [`Output::WakeAt`] says.
    WakeAt(Option<Time>),
}

/// Steps in their order, and since when each waits.
type Steps<M> = VecDeque<(Time, Deferred<M>)>;

/// The steps that wait for the storage, and the state that it is to save next.
#[derive(Clone, Debug)]
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
    /// How many messages the node has put out.
    pub(super) numbered: u64,
}

impl<D, M> Unsaved<D, M> {
    /// Nothing waits yet. A message is worth sending for `lifetime`, and the group has so many
    /// members.
    pub(super) fn new(lifetime: Duration, members: usize) -> Self {
        let (ready, behind) = (Steps::new(), Steps::new());
        let longest = LONGEST.max(4 * members);
        Self { under_way: false, ready, state: None, behind, lifetime, longest, numbered: 0 }
    }

    /// The node wants this done, after all that it wanted before. What is to be done at once is
    /// returned. Nothing has to be durable for the loss of a leadership, and a disk may take its
    /// time; that the node leads is told when all before it is durable.
    pub(super) fn push(&mut self, now: Time, output: Output<D, M>) -> Option<Immediate> {
        match output {
            Output::Persist(state) => self.state = Some(state),
            Output::Send { to, message } => {
                self.numbered += 1;
                self.add(now, Deferred::Send(Sent { to, id: self.numbered, message }));
            }
            Output::Event(event @ Event::RoleChanged { to: Role::Leader, .. }) => {
                self.add(now, Deferred::Lead(event));
            }
            Output::Event(event) => {
                if matches!(event, Event::RoleChanged { .. }) {
                    self.cancel_leadership();
                }
                return Some(Immediate::Report(event));
            }
            Output::WakeAt(wake) => return Some(Immediate::WakeAt(wake)),
        }
        None
    }

    pub(super) fn add(&mut self, now: Time, step: Deferred<M>) {
        let steps = if self.state.is_some() { &mut self.behind } else { &mut self.ready };
        let is_message = |(_, step): &(Time, Deferred<M>)| matches!(step, Deferred::Send(..));
        while let Some(oldest) = steps.iter().position(is_message)
            && (steps.len() >= self.longest || now.since(steps[oldest].0) > self.lifetime)
        {
            steps.remove(oldest);
        }
        steps.push_back((now, step));
    }

    /// The node leads no longer: its program is not told that it came to.
    pub(super) fn cancel_leadership(&mut self) {
        for steps in [&mut self.ready, &mut self.behind] {
            steps.retain(|(_, step)| !matches!(step, Deferred::Lead(_)));
        }
    }

    /// What is to be done next; nothing while a state is under way. A message that is too old to be
    /// of use is left out.
    pub(super) fn next(&mut self, now: Time) -> Option<Deferred<M>> {
        if self.under_way {
            return None;
        }
        loop {
            match self.ready.pop_front()? {
                (since, Deferred::Send(..)) if now.since(since) > self.lifetime => {}
                (_, step) => return Some(step),
            }
        }
    }

    /// The state to save now, if one waits and none is under way. Nothing may be left to do
    /// [next](Unsaved::next) before that.
    pub(super) fn begin_save(&mut self) -> Option<D> {
        let state = self.state.take_if(|_| !self.under_way)?;
        self.under_way = true;
        self.ready.append(&mut self.behind);
        Some(state)
    }

    /// The state that was under way is durable.
    pub(super) fn finish_save(&mut self) {
        self.under_way = false;
    }

    /// Whether a state of the node is not durable yet.
    pub(super) fn is_behind(&self) -> bool {
        self.under_way || self.state.is_some()
    }

    /// How many steps wait for a state.
    pub(super) fn waiting(&self) -> usize {
        self.ready.len() + self.behind.len()
    }

    /// The state to save next.
    #[must_use]
    pub fn state(&self) -> Option<&D> {
        self.state.as_ref()
    }

    /// What waits for the state that is being saved, in its order.
    pub fn ready(&self) -> impl Iterator<Item = &Deferred<M>> {
        self.ready.iter().map(|(_, step)| step)
    }

    /// What waits for the state to save next, in its order.
    pub fn behind(&self) -> impl Iterator<Item = &Deferred<M>> {
        self.behind.iter().map(|(_, step)| step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{NodeId, Reason};

    /// The steps that may be done now: the numbers of messages, and 0 for the news that it leads.
    fn next(unsaved: &mut Unsaved<char, ()>) -> Vec<u64> {
        let number = |step| match step {
            Deferred::Send(Sent { id, .. }) => id,
            Deferred::Lead(_) | Deferred::Change(_) => 0,
        };
        std::iter::from_fn(|| unsaved.next(Time::ZERO)).map(number).collect()
    }

    #[test]
    fn what_comes_after_a_state_waits_for_it_and_for_no_later_one() {
        let leader = NodeId::new(2);
        let send = || Output::Send { to: leader.expect("not zero"), message: () };
        let (from, to, reason) = (Role::Candidate, Role::Leader, Reason::BOOTED);
        let lead = Output::Event(Event::RoleChanged { from, to, leader, reason });
        let mut unsaved = Unsaved::new(Duration::from_millis(100), 3);
        let put_out = |unsaved: &mut Unsaved<char, ()>, outputs: Vec<Output<char, ()>>| {
            for output in outputs {
                assert_eq!(unsaved.push(Time::ZERO, output), None);
            }
        };
        put_out(&mut unsaved, vec![send(), Output::Persist('a'), send()]);
        assert_eq!((next(&mut unsaved), unsaved.begin_save()), (vec![1], Some('a')));
        let more = [lead, Output::Persist('b'), send(), Output::Persist('c'), send()];
        put_out(&mut unsaved, more.into());
        assert_eq!((next(&mut unsaved), unsaved.begin_save()), (vec![], None), "it is under way");
        assert_eq!(unsaved.waiting(), 4);
        unsaved.finish_save();
        assert!(unsaved.is_behind());
        assert_eq!(next(&mut unsaved), [2, 0]);
        assert_eq!(unsaved.begin_save(), Some('c'), "it says all that the one before it said");
        assert!(unsaved.is_behind() && next(&mut unsaved).is_empty());
        unsaved.finish_save();
        assert!(!unsaved.is_behind());
        assert_eq!((next(&mut unsaved), unsaved.begin_save()), (vec![3, 4], None));
    }
}
