//! The connection of a group to a [service](crate::service) that answers in place of a node: made,
//! fed from an outbox, and made again after a back-off.
//!
//! A question that was not answered when the connection failed is asked once more on the next one,
//! while it is not too old: what the service has decides then, and not what was probably done. Such
//! a service answers again once it has answered a question: one that can be looked at may have what
//! keeps every question waiting. Each time that the service is lost, and each time that it answers
//! again, is one line in the log. So is each time that something is wrong with its answers, and
//! each time that this is over. If there is no room for a line on what is wrong, it is tried again
//! for as long as that is so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use humantime::format_duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout};

use super::Arrival;
use super::connect::Backoff;
use super::frame::Frame;
use super::limiter::{LogLimiter, Source};
use super::outbox::Outbox;
use crate::clock::Clock;
use crate::protocol::NodeId;
use crate::service::{Outcome, Service, ServiceError};

/// A service, the messages for it, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Outside<M> {
    service: Arc<dyn Service<M>>,
    /// The messages, each with the moment at which it was sent.
    outbox: Outbox<(Instant, M)>,
    lifetime: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// There is a session, which can be asked.
    up: bool,
    /// That it does not answer.
    down: Option<Down>,
}

/// A service that does not answer.
#[derive(Debug)]
struct Down {
    since: Instant,
    /// Why, as far as it is known last.
    error: ServiceError,
    /// Whether the log says so.
    is_told: bool,
}

impl<M> Outside<M> {
    /// A service to which a message is worth sending for as long as `lifetime`.
    pub(super) fn new(
        service: Arc<dyn Service<M>>,
        lifetime: Duration,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let outbox = Outbox::of_groups(1, lifetime, clock);
        Self { service, outbox, lifetime, state: Mutex::default() }
    }

    /// The id under which the core knows it.
    pub(super) fn id(&self) -> NodeId {
        self.service.id()
    }

    /// Has it asked as soon as there is a connection, unless the message is too old by then.
    pub(super) fn push(&self, message: M) {
        self.outbox.push((Instant::now(), message));
    }

    /// Whether it has got all that it can get now.
    pub(super) fn is_flushed(&self) -> bool {
        !self.state().up || self.outbox.is_done()
    }

    /// Whether it answers.
    pub(super) fn is_up(&self) -> bool {
        let state = self.state();
        state.up && state.down.is_none()
    }

    /// Why it does not answer, or what is wrong with its answers; `None` if nothing is wrong, or it
    /// was not asked yet.
    pub(super) fn problem(&self) -> Option<String> {
        let error = self.state().down.as_ref().map(|down| down.error.to_string());
        let problem = error.or_else(|| self.service.complaint())?;
        Some(format!("{}: {problem}", self.service.name()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a connection to a service for as long as the loop lives whose inbox this is.
pub(super) async fn maintain<M: Clone>(
    node: NodeId,
    seed: u64,
    outside: Arc<Outside<M>>,
    inbox: Sender<Arrival<M>>,
) {
    let backoff = Backoff::new(outside.lifetime, seed);
    let limiter = LogLimiter::default();
    let (asked, lost, answers, complains) = (None, false, None, false);
    let mut talk = Talk { node, outside, inbox, backoff, limiter, asked, lost, answers, complains };
    while !talk.inbox.is_closed() {
        if let Err(error) = talk.run().await {
            // A session that answers once and fails, again and again, is no reason to hurry.
            let lasted = talk.answers.take().map(|since| since.elapsed());
            if lasted.is_some_and(|lasted| lasted >= Backoff::LONGEST) {
                talk.backoff.reset();
            }
            talk.fail(error);
            tokio::time::sleep(talk.backoff.next()).await;
        }
    }
}

/// What a task has to do with a service.
struct Talk<M> {
    node: NodeId,
    outside: Arc<Outside<M>>,
    inbox: Sender<Arrival<M>>,
    backoff: Backoff,
    limiter: LogLimiter,
    /// The question that has no answer yet, and when it was sent.
    asked: Option<(Instant, M)>,
    /// Whether a question was lost, and none was answered after it.
    lost: bool,
    /// Since when the session answers.
    answers: Option<Instant>,
    /// Whether the log says, as the last line of that kind, that something is wrong with the
    /// answers.
    complains: bool,
}

impl<M: Clone> Talk<M> {
    /// Connects, and passes on questions and answers until something fails, or the loop has ended
    /// that asks.
    async fn run(&mut self) -> Result<(), ServiceError> {
        let outside = Arc::clone(&self.outside);
        let (service, limit) = (&outside.service, outside.service.limit());
        let mut session = within(limit, service.connect()).await?;
        let news = within(limit, session.look()).await?;
        self.deliver(news).await;
        while !self.inbox.is_closed() {
            let fresh = self.asked.clone();
            let fresh = fresh.filter(|(since, _)| since.elapsed() <= outside.lifetime);
            if let Some((sent, message)) = fresh {
                let outcome = within(limit, session.answer(message, sent)).await?;
                // What the service was not asked says nothing of it.
                self.lost &= matches!(outcome, Outcome::Unasked);
                if let Outcome::Answered(answer) = outcome {
                    self.deliver(Some(answer)).await;
                }
            }
            self.asked = None;
            self.succeed();
            self.complain();
            tokio::select! {
                biased;
                asked = outside.outbox.next() => self.asked = Some(asked),
                changed = session.changed() => {
                    changed?;
                    let news = within(limit, session.look()).await?;
                    self.deliver(news).await;
                }
            }
        }
        Ok(())
    }

    /// A loop that has ended needs no answer.
    async fn deliver(&self, message: Option<M>) {
        let Some(message) = message else { return };
        let (from, frame) = (self.outside.id(), Frame::Message(message));
        let _ = self.inbox.send(Arrival { from, incarnation: 0, frame }).await;
    }

    /// The session can be asked, and if no question is lost, the service answers.
    fn succeed(&mut self) {
        self.answers.get_or_insert_with(Instant::now);
        let mut state = self.outside.state();
        state.up = true;
        if self.lost {
            return;
        }
        let Some(Down { since, .. }) = state.down.take() else { return };
        drop(state);
        let (node, service) = (self.node.get(), self.outside.service.name());
        let down_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        if self.admits(self.link(), "again") {
            tracing::info!(node, down_ms, "{service} can be asked again");
        } else {
            tracing::debug!(node, down_ms, "{service} can be asked again");
        }
    }

    /// Says what is wrong with the answers when that begins, and when it is over. If one of the two
    /// were taken as said that is not in the log, the other would stay there as the last word.
    fn complain(&mut self) {
        let complaint = self.outside.service.complaint();
        if complaint.is_some() == self.complains {
            return;
        }
        let line = if complaint.is_some() { "complaint" } else { "no complaint" };
        // They leave the room for lines on the link to these.
        let is_told = self.admits(Source::Member(self.outside.id()), line);
        if is_told {
            self.complains = complaint.is_some();
        }
        let (node, service) = (self.node.get(), self.outside.service.name());
        match complaint {
            Some(text) if is_told => tracing::warn!(node, "{service}: {text}"),
            Some(text) => tracing::debug!(node, "{service}: {text}"),
            None if is_told => tracing::info!(node, "{service} answers as it should again"),
            None => tracing::debug!(node, "{service} answers as it should again"),
        }
    }

    /// The service does not answer, or not what it should.
    fn fail(&mut self, error: ServiceError) {
        self.lost |= self.asked.is_some();
        let mut state = self.outside.state();
        state.up = false;
        let since = state.down.as_ref().map_or_else(Instant::now, |down| down.since);
        let was_told = state.down.as_ref().is_some_and(|down| down.is_told && down.error == error);
        let text = error.to_string();
        let is_news = !was_told && self.admits(self.link(), &text);
        state.down = Some(Down { since, error, is_told: was_told || is_news });
        drop(state);
        let (node, service) = (self.node.get(), self.outside.service.name());
        if is_news {
            tracing::warn!(node, "{service} cannot be asked: {text}");
        } else {
            tracing::debug!(node, "{service} cannot be asked: {text}");
        }
    }

    /// What the lines are about that say whether it can be asked.
    fn link(&self) -> Source {
        Source::Link(self.outside.id())
    }

    /// Whether a line is worth writing down.
    fn admits(&self, source: Source, text: &str) -> bool {
        self.limiter.admit(source, text).is_some()
    }
}

/// What comes of a question, if that is not too late.
async fn within<T>(
    limit: Duration,
    what: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, ServiceError> {
    timeout(limit, what).await.unwrap_or_else(|_| {
        let limit = format_duration(limit);
        Err(ServiceError::Away(format!("no answer within {limit}: it is paused, cut off or slow")))
    })
}

#[cfg(test)]
mod tests;
