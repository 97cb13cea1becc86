//! The storage of a member: what it saves, what must not leave the node before it has, and what
//! follows if it does not answer in time.
//!
//! A member goes on while a state is saved, and so does its core: timers expire, messages reach it,
//! and its program is told whatever is no promise. What it wants sent meanwhile waits in its order
//! in a [`PersistQueue`], and so does the news that it leads. A crash loses all of it, as if the
//! node had crashed before it began to save, and whatever reached it since had been lost. At most
//! one state is under way and one waits: a later one says all that an earlier one said.
//!
//! A leader asks its storage now and then whether anything could be saved. One that does not answer
//! is not fit to lead.

use std::collections::VecDeque;
use std::time::Duration;

use super::event::{Action, Deadline, End, StorageAnswer};
use super::program::Silence;
use super::{Member, Task};
use crate::protocol::quorum::Lists;
use crate::protocol::{Core, Input, NodeId, Reason, Request, Time};
use crate::trace::Sent;

/// How many steps wait for one state at most, in a group of the usual size; the oldest message goes
/// first.
const LONGEST: usize = 1_024;

/// Something that comes after a state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most of them are messages")]
pub enum AfterPersist<M> {
    /// To send a message.
    Send(Sent<M>),
    /// To tell the program that the node leads, for this reason.
    Lead(Reason),
    /// To tell the program which lists of members the node knows.
    Change(Lists),
}

/// Steps in their order, and since when each waits.
type Steps<M> = VecDeque<(Time, AfterPersist<M>)>;

/// The steps that wait for the storage, and the state that it is to save next.
#[derive(Clone, Debug, PartialEq)]
pub struct PersistQueue<D, M> {
    /// Whether a state is being saved.
    pub(super) under_way: bool,
    /// What waits for that one, or for nothing.
    ready: Steps<M>,
    /// The state to save next.
    pub(super) state: Option<D>,
    /// What waits for that one.
    behind: Steps<M>,
    /// How long a message is worth sending.
    lifetime: Duration,
    /// How many steps wait for one state at most.
    longest: usize,
    /// How many messages the node has put out.
    pub(super) numbered: u64,
}

impl<D: Clone, M: Clone> PersistQueue<D, M> {
    /// Nothing waits yet. A message is worth sending for `lifetime`, and the group has so many
    /// members.
    pub(super) fn new(lifetime: Duration, members: usize) -> Self {
        let (ready, behind) = (Steps::new(), Steps::new());
        let longest = LONGEST.max(4 * members);
        Self { under_way: false, ready, state: None, behind, lifetime, longest, numbered: 0 }
    }

    /// Adds a message with the next number.
    pub(super) fn send(&mut self, now: Time, to: NodeId, message: M) {
        self.numbered += 1;
        self.add(now, AfterPersist::Send(Sent { to, id: self.numbered, message }));
    }

    /// The node wants this done after all that it wanted before.
    pub(super) fn add(&mut self, now: Time, step: AfterPersist<M>) {
        let steps = if self.state.is_some() { &mut self.behind } else { &mut self.ready };
        let is_message =
            |(_, step): &(Time, AfterPersist<M>)| matches!(step, AfterPersist::Send(..));
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
            steps.retain(|(_, step)| !matches!(step, AfterPersist::Lead(_)));
        }
    }

    /// Whether the program is to be told that the node leads.
    pub(super) fn leads_next(&self) -> bool {
        let mut steps = self.ready().chain(self.behind());
        steps.any(|step| matches!(step, AfterPersist::Lead(_)))
    }

    /// What is to be done next; nothing while a state is under way. A message that is too old to be
    /// of use is left out.
    pub(super) fn next(&mut self, now: Time) -> Option<AfterPersist<M>> {
        if self.under_way {
            return None;
        }
        loop {
            match self.ready.pop_front()? {
                (since, AfterPersist::Send(..)) if now.since(since) > self.lifetime => {}
                (_, step) => return Some(step),
            }
        }
    }

    /// The state to save now, if one waits and none is under way. Nothing may be left to do
    /// [next](PersistQueue::next) before that.
    pub(super) fn begin_save(&mut self) -> Option<D> {
        let state = self.state.take_if(|_| !self.under_way)?;
        self.under_way = true;
        self.ready.append(&mut self.behind);
        Some(state)
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
    pub fn ready(&self) -> impl Iterator<Item = &AfterPersist<M>> {
        self.ready.iter().map(|(_, step)| step)
    }

    /// What waits for the state to save next, in its order.
    pub fn behind(&self) -> impl Iterator<Item = &AfterPersist<M>> {
        self.behind.iter().map(|(_, step)| step)
    }

    /// The same, but for times, and for the numbers of messages.
    pub(super) fn timeless(&self) -> Self {
        let timeless = |steps: &Steps<M>| {
            let unnumbered = steps.iter().map(|(_, step)| match step.clone() {
                AfterPersist::Send(sent) => AfterPersist::Send(Sent { id: 0, ..sent }),
                other => other,
            });
            unnumbered.map(|step| (Time::ZERO, step)).collect()
        };
        let (ready, behind) = (timeless(&self.ready), timeless(&self.behind));
        Self { ready, behind, numbered: 0, ..self.clone() }
    }
}

/// What is known of a storage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Disk {
    /// Whether there is one.
    pub(super) stores: bool,
    /// How long it may take.
    pub(super) bound: Duration,
    /// When it is late, if it saves a state, or is to say whether it could.
    pub(super) late: Option<Time>,
    /// When a leader asks next.
    pub(super) next: Time,
    /// Why it could not answer last time.
    pub(super) failure: Option<String>,
    /// Whether it is taken for stalled.
    pub(super) stalled: bool,
}

impl Disk {
    /// The same, but for times.
    pub(super) fn timeless(&self) -> Self {
        Self { late: self.late.map(|_| Time::ZERO), next: Time::ZERO, ..self.clone() }
    }
}

impl<C: Core> Member<C> {
    /// Does what waits for no save, and begins the next one.
    pub(super) fn flush_queue(&mut self, now: Time) {
        while let Some(step) = self.queue.next(now) {
            match step {
                AfterPersist::Send(sent) => self.actions.push(Action::Send(sent)),
                AfterPersist::Lead(reason) => self.on_leadership_durable(now, reason),
                AfterPersist::Change(lists) => self.actions.push(Action::Change(lists)),
            }
        }
        self.begin_save(now);
        self.update_view();
    }

    /// Begins the next save, if the storage has nothing else to do.
    fn begin_save(&mut self, now: Time) {
        if self.disk.late.is_none()
            && let Some(state) = self.queue.begin_save()
        {
            self.disk.late = Some(now + self.disk.bound);
            self.actions.push(Action::Save(state));
        }
    }

    /// The storage has answered. What waited for that is done with the next input. A leader that
    /// was silent, as the storage did not answer, and has caught up, is to be told so once the
    /// others can have heard of it: they may have another. Whether the member goes on: not if a
    /// state is not durable.
    pub(super) fn on_storage_answer(&mut self, now: Time, answer: StorageAnswer) -> bool {
        if self.disk.late.take().is_none() {
            return true;
        }
        match answer {
            StorageAnswer::Failed(error) if !self.queue.under_way => {
                self.disk.failure = Some(error);
            }
            StorageAnswer::Failed(_) | StorageAnswer::Gone => {
                self.end(End::Failed);
                return false;
            }
            StorageAnswer::Done => {
                self.disk.failure = None;
                self.queue.under_way = false;
                if !self.is_behind()
                    && let Some(silence @ Silence { by_disk: true, .. }) =
                        self.announcement.silence_mut()
                {
                    let until = Some(now + self.pause_detector.silence);
                    *silence = Silence { until, by_disk: false };
                }
            }
        }
        true
    }

    /// Why the storage is to be looked at next, and when: a time that has passed if it is late.
    pub(super) fn disk_due(&self) -> Option<(Deadline<C::Timer>, Time)> {
        let asks = C::REQUESTS && self.disk.stores && (self.disk.stalled || self.leads());
        let late = self.disk.late.map(|late| (Deadline::StorageLate, late));
        late.or_else(|| asks.then_some((Deadline::Probe, self.disk.next)))
    }

    /// A node whose storage does not answer in time, or fails, is not fit to lead: it could not
    /// even hand over durably. A leader yields at its next round if its protocol can. The node does
    /// not stand for election until there is an answer.
    pub(super) fn check_storage(&mut self, now: Time) {
        self.tasks.push_front(Task::CheckStall);
        let problem = match self.disk.late {
            Some(late) if now >= late => Some(format!("no answer for {:?}", self.disk.bound)),
            _ => self.disk.failure.clone(),
        };
        if problem.is_some() != self.disk.stalled {
            self.disk.stalled = problem.is_some();
            self.actions.push(Action::Stalled(problem));
            if C::REQUESTS {
                let fitness = self.fitness();
                self.tasks.push_front(Task::Step(Input::Request(fitness)));
            }
        }
    }

    /// The program of a leader is told at once if what the node says waits for a storage that does
    /// not answer. And it is time to ask the storage, or not.
    pub(super) fn check_stall(&mut self, now: Time) {
        if self.is_silenced() && self.leads() {
            self.withdraw(Reason::STORAGE_STALLED);
            if let Some(silence) = self.announcement.silence_mut() {
                silence.by_disk = true;
            }
        }
        if let Some((Deadline::Probe, due)) = self.disk_due()
            && now >= due
        {
            self.disk.late = Some(now + self.disk.bound);
            self.disk.next = now + self.disk.bound * 2;
            self.actions.push(Action::Probe);
        }
    }

    /// Whether the storage keeps the node from sending anything for longer than a leader may be
    /// silent.
    pub(super) fn is_silenced(&self) -> bool {
        self.disk.stalled && self.is_behind()
    }

    /// Whether the machine is fit to lead, as far as the program and the storage say.
    pub(super) fn fitness(&self) -> Request {
        Request::Healthy(self.healthy && !self.disk.stalled)
    }

    /// Returns whether a state of the node is not durable yet.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.queue.is_behind()
    }

    /// Returns whether the storage does not answer, or has failed to.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.disk.stalled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps that may be done now: the numbers of messages, and 0 for the news that it leads.
    fn next(queue: &mut PersistQueue<char, ()>) -> Vec<u64> {
        let number = |step| match step {
            AfterPersist::Send(Sent { id, .. }) => id,
            AfterPersist::Lead(_) | AfterPersist::Change(_) => 0,
        };
        std::iter::from_fn(|| queue.next(Time::ZERO)).map(number).collect()
    }

    #[test]
    fn what_comes_after_a_state_waits_for_it_and_for_no_later_one() {
        let to = NodeId::new(2).expect("not zero");
        let send = |queue: &mut PersistQueue<char, ()>| queue.send(Time::ZERO, to, ());
        let mut queue = PersistQueue::new(Duration::from_millis(100), 3);
        send(&mut queue);
        queue.state = Some('a');
        send(&mut queue);
        assert_eq!((next(&mut queue), queue.begin_save()), (vec![1], Some('a')));
        queue.add(Time::ZERO, AfterPersist::Lead(Reason::BOOTED));
        for state in ['b', 'c'] {
            queue.state = Some(state);
            send(&mut queue);
        }
        assert_eq!((next(&mut queue), queue.begin_save()), (vec![], None), "it is under way");
        assert_eq!(queue.waiting(), 4);
        queue.under_way = false;
        assert!(queue.is_behind());
        assert_eq!(next(&mut queue), [2, 0]);
        assert_eq!(queue.begin_save(), Some('c'), "it says all that the one before it said");
        assert!(queue.is_behind() && next(&mut queue).is_empty());
        queue.under_way = false;
        assert!(!queue.is_behind());
        assert_eq!((next(&mut queue), queue.begin_save()), (vec![3, 4], None));
    }
}
