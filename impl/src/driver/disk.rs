//! The storage of a node, and whether it answers. It saves beside the loop around the node, which
//! goes on meanwhile; only [what depends](super::unsaved) on the state waits. A leader asks now and
//! then whether anything could be saved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::actor::Actor;
use super::unsaved::Step;
use crate::clock::Clock;
use crate::protocol::{Core, Input, Reason, Request, Role, Time};
use crate::storage::{Storage, StorageError};

/// An answer that is waited for, and the storage, which gives it on a thread of its own.
type Answer<D> = JoinHandle<(Result<(), StorageError>, Box<dyn Storage<D>>)>;

/// The storage of a node.
pub(super) struct Disk<D> {
    /// `None` while it is in use, and for protocols without durable state.
    storage: Option<Box<dyn Storage<D>>>,
    /// What it does.
    work: Option<Work<D>>,
    /// How long it may take.
    bound: Duration,
    /// When a leader asks next.
    pub(super) next: Time,
    /// Why it could not answer last time.
    failure: Option<StorageError>,
    /// Whether the node takes it for stalled; the status tells it.
    stalled: Arc<AtomicBool>,
    /// Whether the program was told that the node leads no longer, as a save takes too long.
    pub(super) withdrawn: bool,
}

/// What a storage does.
struct Work<D> {
    since: Time,
    /// It saves a state, or else only says whether it could.
    saves: bool,
    answer: Answer<D>,
}

impl<D: Send + 'static> Disk<D> {
    /// A storage, if there is one, that is taken for stalled when it has not answered for `bound`.
    pub(super) fn new(storage: Option<Box<dyn Storage<D>>>, bound: Duration, now: Time) -> Self {
        let (next, stalled) = (now + bound, Arc::default());
        Self { storage, work: None, bound, next, failure: None, stalled, withdrawn: false }
    }

    /// Whether it is taken for stalled, for others to look at.
    pub(super) fn stalled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stalled)
    }

    fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// Begins to save `state`. The disk keeps a thread of its own busy meanwhile.
    fn save(&mut self, state: D, since: Time) -> Result<(), StorageError> {
        let mut storage = self.storage.take().ok_or(StorageError::Missing)?;
        let answer = tokio::task::spawn_blocking(move || (storage.save(&state), storage));
        self.work = Some(Work { since, saves: true, answer });
        Ok(())
    }

    /// Asks whether it answers, if it is time to.
    fn ask(&mut self, now: Time) {
        if self.work.is_some() || now < self.next {
            return;
        }
        if let Some(mut storage) = self.storage.take() {
            let answer = tokio::task::spawn_blocking(move || (storage.probe(), storage));
            self.work = Some(Work { since: now, saves: false, answer });
            self.next = now + self.bound * 2;
        }
    }

    /// Waits for the answer; for ever if it does nothing. Whether a state is durable now that was
    /// not before.
    ///
    /// # Errors
    ///
    /// What has kept it from saving a state.
    pub(super) async fn answered(&mut self) -> Result<bool, StorageError> {
        let Some(Work { answer, saves, .. }) = &mut self.work else {
            return std::future::pending().await;
        };
        let (answer, saves) = (answer.await, *saves);
        self.work = None;
        let (result, storage) = answer.map_err(|_| StorageError::Panicked)?;
        self.storage = Some(storage);
        match result {
            Err(error) if saves => return Err(error),
            result => self.failure = result.err(),
        }
        Ok(saves)
    }

    /// Whether there is an answer that was not waited for.
    pub(super) fn has_answered(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.answer.is_finished())
    }

    /// What is wrong with it, if it does not answer in time, or has failed to.
    fn problem(&self, now: Time) -> Option<String> {
        match &self.work {
            Some(work) if now.since(work.since) >= self.bound => {
                Some(format!("no answer for {:?}", self.bound))
            }
            _ => self.failure.as_ref().map(ToString::to_string),
        }
    }
}

impl<C: Core, K: Clock> Actor<C, K> {
    /// Whether a state of the node is not durable yet.
    pub(super) fn is_behind(&self) -> bool {
        self.unsaved.is_behind()
    }

    /// The storage has answered. What waited for that is done with the next input.
    pub(super) fn note(
        &mut self,
        answered: Result<bool, StorageError>,
    ) -> Result<(), StorageError> {
        if answered? {
            self.unsaved.saved();
        }
        Ok(())
    }

    /// Does what waits for no save, and begins the next one.
    pub(super) fn catch_up(&mut self) -> Result<(), StorageError> {
        while let Some(step) = self.unsaved.next(self.clock.now()) {
            match step {
                Step::Send(to, message) => self.links.send(to, message),
                Step::Lead(event) => self.tell(event),
            }
        }
        if self.disk.work.is_none()
            && let Some(state) = self.unsaved.begin()
        {
            self.disk.save(state, self.clock.now())?;
        }
        if !self.is_behind() && std::mem::take(&mut self.disk.withdrawn) {
            // The others have heard nothing meanwhile, and may have another leader.
            self.resume = Some(self.clock.now() + self.disk.bound);
        }
        self.publish();
        Ok(())
    }

    /// Returns when all states of the node are durable, and what waited for them is done.
    pub(super) async fn save_all(&mut self) -> Result<(), StorageError> {
        while self.is_behind() {
            let answered = self.disk.answered().await;
            self.note(answered)?;
            self.catch_up()?;
        }
        Ok(())
    }

    /// When the storage is to be looked at next.
    pub(super) fn disk_deadline(&self) -> Option<Time> {
        match &self.disk.work {
            Some(work) => {
                let late = work.since + self.disk.bound;
                Some(late).filter(|&late| late > self.clock.now())
            }
            None => (self.asks_disk() && self.disk.storage.is_some()).then_some(self.disk.next),
        }
    }

    fn asks_disk(&self) -> bool {
        C::REQUESTS && (self.disk.is_stalled() || self.node.status().role == Role::Leader)
    }

    /// A node whose storage does not answer in time, or fails, is not fit to lead: it could not
    /// even hand over durably. A leader yields at its next round if its protocol can; its program
    /// is told at once if what the node says waits for the storage. The node does not run until
    /// there is an answer.
    pub(super) async fn look_at_disk(&mut self) -> Result<(), StorageError> {
        // However much else has happened: an answer that is there is not late.
        if self.disk.has_answered() {
            let answered = self.disk.answered().await;
            self.note(answered)?;
            self.step(Input::Wake).await?;
        }
        let now = self.clock.now();
        let problem = self.disk.problem(now);
        if problem.is_some() != self.disk.is_stalled() {
            self.disk.stalled.store(problem.is_some(), Ordering::Relaxed);
            let node = self.node.status().id.get();
            match problem {
                Some(error) => tracing::error!(
                    node,
                    error,
                    "the storage does not answer: what depends on it waits"
                ),
                None => tracing::info!(node, "the storage answers again"),
            }
            if C::REQUESTS {
                self.step(self.fitness()).await?;
            }
        }
        if self.is_silenced() && self.publisher.latest().is_self() {
            self.lessee.hold(None);
            self.announce(Role::Waiting, None, Reason::STORAGE_STALLED);
            self.disk.withdrawn = true;
        }
        if self.asks_disk() {
            self.disk.ask(now);
        }
        Ok(())
    }

    /// Whether the storage keeps the node from sending anything for longer than a leader may be
    /// silent.
    pub(super) fn is_silenced(&self) -> bool {
        self.disk.is_stalled() && self.is_behind()
    }

    /// Whether the machine is fit to lead, as far as the program and the storage say.
    pub(super) fn fitness(&self) -> Input<C::Message> {
        Input::Request(Request::Healthy(self.healthy && !self.disk.is_stalled()))
    }

    /// Why the node is not fit to lead.
    pub(super) fn unfit(&self, reason: Reason) -> Reason {
        match reason {
            Reason::UNFIT if self.disk.is_stalled() => Reason::STORAGE_STALLED,
            reason => reason,
        }
    }
}
