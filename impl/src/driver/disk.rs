//! The storage of a node, and whether it answers: what must be durable is waited for, and a leader
//! asks now and then whether anything could be.

use std::pin::pin;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::actor::Actor;
use crate::clock::Clock;
use crate::protocol::{Core, Input, Reason, Request, Role, Time};
use crate::storage::{Storage, StorageError};

/// What is saved is small: a disk that takes longer is worth a line in the log.
const SLOW: Duration = Duration::from_secs(1);

/// An answer that is waited for, and the storage, which gives it on a thread of its own.
type Answer<D> = JoinHandle<(Result<(), StorageError>, Box<dyn Storage<D>>)>;

/// The storage of a node.
pub(super) struct Disk<D> {
    /// `None` while it is in use, and for protocols without durable state.
    storage: Option<Box<dyn Storage<D>>>,
    /// Since when it is asked whether it answers.
    asked: Option<(Time, Answer<D>)>,
    /// How long it may take.
    bound: Duration,
    /// When a leader asks next.
    pub(super) next: Time,
    /// Why it could not answer last time.
    failure: Option<StorageError>,
    /// Whether the node takes it for stalled.
    stalled: bool,
}

impl<D: Send + 'static> Disk<D> {
    /// A storage, if there is one, that a leader takes for stalled when it has not answered for
    /// `bound`.
    pub(super) fn new(storage: Option<Box<dyn Storage<D>>>, bound: Duration, now: Time) -> Self {
        let next = now + bound;
        Self { storage, asked: None, bound, next, failure: None, stalled: false }
    }

    /// Returns when `state` is durable. The disk keeps a thread of its own busy meanwhile.
    async fn save(&mut self, state: D) -> Result<(), StorageError> {
        if self.asked.is_some() {
            self.answered().await?;
        }
        let mut storage = self.storage.take().ok_or(StorageError::Missing)?;
        let save = tokio::task::spawn_blocking(move || (storage.save(&state), storage));
        let (result, storage) = save.await.map_err(|_| StorageError::Panicked)?;
        self.storage = Some(storage);
        result
    }

    /// Asks whether it answers, if it is time to.
    fn ask(&mut self, now: Time) {
        if self.asked.is_some() || now < self.next {
            return;
        }
        if let Some(mut storage) = self.storage.take() {
            let answer = tokio::task::spawn_blocking(move || (storage.probe(), storage));
            self.asked = Some((now, answer));
            self.next = now + self.bound * 2;
        }
    }

    /// Waits for the answer to that; for ever if it was not asked.
    pub(super) async fn answered(&mut self) -> Result<(), StorageError> {
        let Some((_, answer)) = &mut self.asked else { return std::future::pending().await };
        let answer = answer.await;
        self.asked = None;
        let (result, storage) = answer.map_err(|_| StorageError::Panicked)?;
        self.storage = Some(storage);
        self.failure = result.err();
        Ok(())
    }

    /// Whether there is an answer that was not waited for.
    pub(super) fn has_answered(&self) -> bool {
        self.asked.as_ref().is_some_and(|(_, answer)| answer.is_finished())
    }

    /// What is wrong with it, if it does not answer in time, or has failed to.
    fn problem(&self, now: Time) -> Option<String> {
        match &self.asked {
            Some((since, _)) if now.since(*since) >= self.bound => {
                Some(format!("no answer for {:?}", self.bound))
            }
            _ => self.failure.as_ref().map(ToString::to_string),
        }
    }

    /// When there is something to do: to ask, or to find that it is stalled.
    fn deadline(&self, now: Time) -> Option<Time> {
        match &self.asked {
            Some((since, _)) => Some(*since + self.bound).filter(|&late| late > now),
            None => self.storage.is_some().then_some(self.next),
        }
    }
}

impl<C: Core, K: Clock> Actor<C, K> {
    /// Returns when `state` is durable. If the program takes the node for the leader, and the disk
    /// does not answer for as long as a leader may be silent, it is told that the node leads no
    /// longer.
    pub(super) async fn persist(&mut self, state: C::Durable) -> Result<(), StorageError> {
        let leads = self.publisher.latest().is_self();
        let longest = if leads { self.awake.silence() } else { SLOW };
        let nothing = Disk::new(None, Duration::ZERO, Time::ZERO);
        let mut disk = std::mem::replace(&mut self.disk, nothing);
        let result = {
            let mut save = pin!(disk.save(state));
            match tokio::time::timeout(longest, &mut save).await {
                Ok(result) => result,
                Err(_) => {
                    let node = self.node.status().id.get();
                    tracing::warn!(node, "the disk takes longer than {longest:?}: the node waits");
                    if leads {
                        self.withdraw();
                    }
                    save.await
                }
            }
        };
        self.disk = disk;
        result
    }

    /// Its program takes the node for the leader no longer, until the disk has answered.
    fn withdraw(&mut self) {
        self.lessee.hold(None);
        self.announce(Role::Waiting, None, Reason::STORAGE_STALLED);
        self.resume = Some(self.clock.now());
    }

    /// When the storage is to be looked at next.
    pub(super) fn disk_deadline(&self) -> Option<Time> {
        self.asks_disk().then(|| self.disk.deadline(self.clock.now())).flatten()
    }

    fn asks_disk(&self) -> bool {
        C::REQUESTS && (self.disk.stalled || self.node.status().role == Role::Leader)
    }

    /// A leader whose storage does not answer in time, or fails, is not fit to lead: it could not
    /// even hand over durably. It yields at its next round, and does not run until there is an
    /// answer.
    pub(super) async fn look_at_disk(&mut self) -> Result<(), StorageError> {
        // However much else has happened: an answer that is there is not late.
        if self.disk.has_answered() {
            self.disk.answered().await?;
        }
        let now = self.clock.now();
        let problem = self.disk.problem(now).filter(|_| C::REQUESTS);
        if problem.is_some() != self.disk.stalled {
            self.disk.stalled = problem.is_some();
            let node = self.node.status().id.get();
            match problem {
                Some(error) => tracing::error!(
                    node,
                    error,
                    "the storage does not answer: the node does not lead until it does"
                ),
                None => tracing::info!(node, "the storage answers again"),
            }
            self.step(self.fitness()).await?;
        }
        if self.asks_disk() {
            self.disk.ask(now);
        }
        Ok(())
    }

    /// Whether the machine is fit to lead, as far as the program and the storage say.
    pub(super) fn fitness(&self) -> Input<C::Message> {
        Input::Request(Request::Healthy(self.healthy && !self.disk.stalled))
    }

    /// Why the node is not fit to lead.
    pub(super) fn unfit(&self, reason: Reason) -> Reason {
        match reason {
            Reason::UNFIT if self.disk.stalled => Reason::STORAGE_STALLED,
            reason => reason,
        }
    }
}
