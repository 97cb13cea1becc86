//! The storage of a member, as far as it matters to it: what is being saved, whether there is an
//! answer in time, and what follows if there is none. It saves beside the member, which goes on
//! meanwhile; only [what depends](super::unsaved) on the state waits. A leader asks now and then
//! whether anything could be saved.

use std::time::Duration;

use super::Member;
use super::deadlines::Deadline;
use super::event::{Action, End, StorageAnswer};
use super::steps::Task;
use crate::protocol::{Core, Input, Reason, Request, Role, Time};

/// What is known of a storage.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    /// Whether there is one.
    stores: bool,
    /// What it does.
    under_way: Option<UnderWay>,
    /// How long it may take.
    bound: Duration,
    /// When a leader asks next.
    next: Time,
    /// Why it could not answer last time.
    failure: Option<String>,
    /// Whether it is taken for stalled.
    pub(super) stalled: bool,
    /// Whether the node leads, and can say nothing, as a save takes too long.
    pub(super) withdrawn: bool,
}

/// What a storage does.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// When it is late.
    late: Time,
    /// It saves a state, or else only says whether it could.
    saves: bool,
}

impl Disk {
    /// A storage, if there is one, that is taken for stalled when it has not answered for `bound`.
    pub(super) fn new(stores: bool, bound: Duration, now: Time) -> Self {
        Self {
            stores,
            under_way: None,
            bound,
            next: now + bound,
            failure: None,
            stalled: false,
            withdrawn: false,
        }
    }

    /// Whether another differs in nothing but times.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let Self { stores, under_way, bound, next: _, failure, stalled, withdrawn } = self;
        let saves = |work: &Option<UnderWay>| work.map(|work| work.saves);
        (stores, bound, failure) == (&other.stores, &other.bound, &other.failure)
            && (stalled, withdrawn) == (&other.stalled, &other.withdrawn)
            && saves(under_way) == saves(&other.under_way)
    }

    /// What is wrong with it, if it does not answer in time, or has failed to.
    fn problem(&self, now: Time) -> Option<String> {
        match &self.under_way {
            Some(work) if now >= work.late => Some(format!("no answer for {:?}", self.bound)),
            _ => self.failure.clone(),
        }
    }

    /// It is late, or asked, then already.
    pub(super) fn bring_forward(&mut self, deadline: Time) {
        match &mut self.under_way {
            Some(work) => work.late = work.late.min(deadline),
            None => self.next = self.next.min(deadline),
        }
    }

    /// Whether it is asked now, if it is asked at all.
    fn probe_is_due(&mut self, now: Time) -> bool {
        let asks = self.stores && self.under_way.is_none() && now >= self.next;
        if asks {
            self.under_way = Some(UnderWay { late: now + self.bound, saves: false });
            self.next = now + self.bound * 2;
        }
        asks
    }
}

impl<C: Core> Member<C> {
    /// Returns whether a state of the node is not durable yet.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.unsaved.is_behind()
    }

    /// The storage has answered. What waited for that is done with the next input. A leader that
    /// was silent, as the storage did not answer, and has caught up, is to be told so once the
    /// others can have heard of it: they may have another. Whether the member goes on: not if a
    /// state is not durable.
    pub(super) fn on_storage_answer(&mut self, now: Time, answer: StorageAnswer) -> bool {
        let Some(UnderWay { saves, .. }) = self.disk.under_way.take() else { return true };
        match answer {
            StorageAnswer::Failed(error) if !saves => self.disk.failure = Some(error),
            StorageAnswer::Failed(_) | StorageAnswer::Gone => {
                self.end(End::Failed);
                return false;
            }
            StorageAnswer::Done => {
                self.disk.failure = None;
                if saves {
                    self.unsaved.finish_save();
                }
                if !self.is_behind() && std::mem::take(&mut self.disk.withdrawn) {
                    self.resume = Some(now + self.pause_detector.silence);
                }
            }
        }
        true
    }

    /// Begins the next save, if the storage has nothing else to do.
    pub(super) fn begin_save(&mut self, now: Time) {
        if self.disk.under_way.is_none()
            && let Some(state) = self.unsaved.begin_save()
        {
            let late = now + self.disk.bound;
            self.disk.under_way = Some(UnderWay { late, saves: true });
            self.actions.push(Action::Save(state));
        }
    }

    /// Why the storage is to be looked at next, and when: a time that has passed if it is late.
    pub(super) fn disk_due(&self) -> Option<(Deadline<C::Timer>, Time)> {
        match self.disk.under_way {
            Some(work) => Some((Deadline::StorageLate, work.late)),
            None => {
                let asks = self.probes_storage() && self.disk.stores;
                asks.then_some((Deadline::Probe, self.disk.next))
            }
        }
    }

    fn probes_storage(&self) -> bool {
        C::REQUESTS && (self.disk.stalled || self.leads())
    }

    /// A node whose storage does not answer in time, or fails, is not fit to lead: it could not
    /// even hand over durably. A leader yields at its next round if its protocol can. The node does
    /// not run until there is an answer.
    pub(super) fn check_storage(&mut self, now: Time) {
        self.tasks.push_front(Task::CheckStall);
        let problem = self.disk.problem(now);
        if problem.is_some() != self.disk.stalled {
            self.disk.stalled = problem.is_some();
            self.actions.push(Action::Stalled(problem));
            if C::REQUESTS {
                let fitness = self.fitness();
                self.tasks.push_front(Task::Step(fitness));
            }
        }
    }

    /// The program of a leader is told at once if what the node says waits for a storage that does
    /// not answer. And it is time to ask the storage, or not.
    pub(super) fn check_stall(&mut self, now: Time) {
        if self.is_silenced() && self.leads() {
            if self.view.leads() {
                self.announce(Role::Waiting, None, Reason::STORAGE_STALLED);
            }
            self.disk.withdrawn = true;
        }
        if self.probes_storage() && self.disk.probe_is_due(now) {
            self.actions.push(Action::Probe);
        }
    }

    /// Whether the storage keeps the node from sending anything for longer than a leader may be
    /// silent.
    pub(super) fn is_silenced(&self) -> bool {
        self.disk.stalled && self.is_behind()
    }

    /// Whether the machine is fit to lead, as far as the program and the storage say.
    pub(super) fn fitness(&self) -> Input<C::Message> {
        Input::Request(Request::Healthy(self.healthy && !self.disk.stalled))
    }

    /// Why the node is not fit to lead.
    pub(super) fn unfit_reason(&self, reason: Reason) -> Reason {
        match reason {
            Reason::UNFIT if self.disk.stalled => Reason::STORAGE_STALLED,
            reason => reason,
        }
    }
}
