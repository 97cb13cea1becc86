//! The client of a [store](crate::store) that answers in place of a node: a task that connects,
//! asks what waits in its mailbox, and connects again after a back-off.
//!
//! A question that was not answered when the connection failed is asked once more on the next one,
//! while it is not too old: the record of the store decides then, and not what was probably
//! written. Such a store answers again once it has answered a question: a store that can be read
//! may have a lock that keeps every question waiting. The log has a line when the store cannot be asked any
//! more and when it can, and a line when a problem with its answers begins and when the problem
//! ends; no condition begins twice in ten seconds.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::time::Duration;

use humantime::format_duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

use crate::config::StoreAccess;
use crate::protocol::Time;
use crate::protocol::lease::Message;
use crate::store::{
    Answer, Holder, LeaseStore, Problem, Question, Session, Step, StoreError, StoreResult,
};
use crate::transport::Arrival;
use crate::transport::connect::Backoff;
use crate::transport::frame::Frame;
use crate::transport::outbox::Mailbox;

/// The time between two lines about the same condition.
const AGAIN: Duration = Duration::from_secs(10);

/// The client of one group of a node.
pub(crate) struct StoreClient<M> {
    access: StoreAccess<M>,
    session: Session,
    mailbox: Arc<Mailbox<M>>,
    inbox: Sender<Arrival<M>>,
    backoff: Backoff,
    /// The message that has no answer yet, and when it was sent.
    asked: Option<(Time, Message)>,
    /// Whether a question was lost, and none was answered after it.
    is_lost: bool,
    /// The moment since which this connection answers.
    answers: Option<Instant>,
    /// Since when the store does not answer, and the last error.
    outage: Option<(Instant, String)>,
    outage_line: Condition<String>,
    problem_line: Condition<Discriminant<Problem>>,
}

impl<M> StoreClient<M> {
    /// The client that is this holder for the store, reads this mailbox, and answers into this
    /// inbox.
    pub(crate) fn new(
        access: StoreAccess<M>,
        own: Holder,
        mailbox: Arc<Mailbox<M>>,
        inbox: Sender<Arrival<M>>,
    ) -> Self {
        let backoff = Backoff::new(mailbox.lifetime, own.start());
        let (keep, members) = (access.settings.ttl, access.members.clone());
        let session = Session::new(access.node, own, members, keep, access.renew);
        Self {
            access,
            session,
            mailbox,
            inbox,
            backoff,
            asked: None,
            is_lost: false,
            answers: None,
            outage: None,
            outage_line: Condition::default(),
            problem_line: Condition::default(),
        }
    }

    /// Keeps a connection to the store for as long as the loop lives whose inbox this is.
    pub(crate) async fn run(mut self) {
        while !self.inbox.is_closed() {
            if let Err(error) = self.connect().await {
                // A connection that answers once and fails, again and again, is no reason to hurry.
                let lasted = self.answers.take().map(|since| since.elapsed());
                if lasted.is_some_and(|lasted| lasted >= Backoff::LONGEST) {
                    self.backoff.reset();
                }
                self.fail(&error);
                sleep(self.backoff.next()).await;
            }
        }
    }

    /// Connects, and passes on questions and answers until something fails, or the loop has ended
    /// that asks.
    async fn connect(&mut self) -> StoreResult<()> {
        let mut store = self.open().await?;
        self.session.connected(self.now(), store.watches());
        match self.look(&mut *store).await {
            // A process that no list has makes what the store lacks.
            Err(StoreError::Misconfigured { .. }) if self.access.members.is_none() => {
                store = self.open().await?;
                within(self.access.settings.limit, store.init()).await?;
                self.look(&mut *store).await?;
            }
            looked => looked?,
        }
        while !self.inbox.is_closed() {
            if let Some((sent, message)) = self.asked
                && self.now().since(sent) <= self.mailbox.lifetime
            {
                self.ask(&mut *store, sent, message).await?;
            }
            self.asked = None;
            self.succeed();
            let look = self.session.next_look().map(|look| look.since(self.now()));
            let mailbox = Arc::clone(&self.mailbox);
            tokio::select! {
                biased;
                (sent, message) = mailbox.next() => {
                    self.asked = Some((sent, (self.access.question)(message)));
                }
                changed = store.changed() => {
                    changed?;
                    self.look(&mut *store).await?;
                }
                () = sleep(look.unwrap_or_default()), if look.is_some() => {
                    self.look(&mut *store).await?;
                }
            }
        }
        Ok(())
    }

    async fn open(&self) -> StoreResult<Box<dyn LeaseStore>> {
        let StoreAccess { connect, settings, .. } = &self.access;
        within(settings.limit, connect.connect(settings)).await
    }

    /// Reads the record, and tells the core if the lease can be claimed.
    async fn look(&mut self, store: &mut dyn LeaseStore) -> StoreResult<()> {
        let record = within(self.access.settings.limit, store.read()).await?;
        let news = self.session.learned(self.now(), record);
        self.deliver(news).await;
        Ok(())
    }

    /// Answers a message of the core, by a question to the store if need be.
    async fn ask(
        &mut self,
        store: &mut dyn LeaseStore,
        sent: Time,
        message: Message,
    ) -> StoreResult<()> {
        let answer = match self.session.ask(self.now(), sent, message) {
            // The store was not asked, which says nothing of it.
            Step::Ignore => return Ok(()),
            Step::Answer(answer) => Some(answer),
            Step::Ask(question) => {
                let (limit, now) = (self.access.settings.limit, self.now());
                let answer = within(limit, put(store, &self.session, question, now)).await?;
                self.session.answered(self.now(), answer)
            }
        };
        self.is_lost = false;
        self.deliver(answer).await;
        Ok(())
    }

    /// A loop that has ended needs no answer.
    async fn deliver(&self, message: Option<Message>) {
        let Some(message) = message else { return };
        // A reader that learns of a leader finds the name of the holder.
        self.publish();
        let (from, frame) = (self.mailbox.id, Frame::Message((self.access.answer)(message)));
        let _ = self.inbox.send(Arrival { from, incarnation: 0, frame }).await;
    }

    /// The store can be asked, and if no question is lost, it answers.
    fn succeed(&mut self) {
        self.answers.get_or_insert_with(Instant::now);
        self.mailbox.set_connected(true);
        let (node, title) = (self.access.node.get(), self.access.title());
        if !self.is_lost
            && let Some((since, _)) = self.outage.take()
            && self.outage_line.ends()
        {
            let down_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::info!(node, down_ms, "{title} can be asked again");
        }
        match self.session.problem(self.now()) {
            Some(problem) if self.problem_line.begins(discriminant(&problem)) => {
                tracing::warn!(node, "{title}: {problem}");
            }
            None if self.problem_line.ends() => {
                tracing::info!(node, "{title} answers as it should again");
            }
            _ => {}
        }
        self.publish();
    }

    /// The store does not answer, or not what it should.
    fn fail(&mut self, error: &StoreError) {
        self.is_lost |= self.asked.is_some();
        self.mailbox.set_connected(false);
        let text = error.to_string();
        let (node, title) = (self.access.node.get(), self.access.title());
        if self.outage_line.begins(text.clone()) {
            tracing::warn!(node, "{title} cannot be asked: {text}");
        } else {
            tracing::debug!(node, "{title} cannot be asked: {text}");
        }
        let since = self.outage.take().map_or_else(Instant::now, |(since, _)| since);
        self.outage = Some((since, text));
        self.publish();
    }

    fn now(&self) -> Time {
        self.mailbox.clock.now()
    }

    /// Publishes how the store is, if that has changed.
    fn publish(&self) {
        let now = self.now();
        let error = self.outage.as_ref().map(|(_, error)| error.clone());
        let problem = error.or_else(|| self.session.problem(now).map(|it| it.to_string()));
        let problem = problem.map(|problem| format!("{}: {problem}", self.access.title()));
        self.mailbox.view.send_if_modified(|view| {
            let before = view.clone();
            view.up = self.answers.is_some() && self.outage.is_none();
            view.holder = self.session.holder(now).cloned();
            view.problem = problem;
            view.regressions = self.session.regressions();
            *view != before
        });
    }
}

/// Puts a question to the store. A release has no answer.
async fn put(
    store: &mut dyn LeaseStore,
    session: &Session,
    question: Question,
    now: Time,
) -> StoreResult<Option<Answer>> {
    Ok(match question {
        Question::Acquire => Some(store.acquire(session.claim(now)).await?),
        Question::Renew(token) => Some(store.renew(session.own(), token).await?),
        Question::Read => Some(Answer::Refused(store.read().await?)),
        Question::Release(token) => {
            store.release(session.own(), token).await?;
            None
        }
    })
}

/// A condition that the log tells when it begins, when it becomes another, and when it ends.
struct Condition<T> {
    /// The condition, if the log has it as the last line.
    told: Option<T>,
    at: Option<Instant>,
}

impl<T> Default for Condition<T> {
    fn default() -> Self {
        Self { told: None, at: None }
    }
}

impl<T: PartialEq> Condition<T> {
    /// The condition is this. Returns whether that is worth a line now.
    fn begins(&mut self, condition: T) -> bool {
        let is_soon = self.at.is_some_and(|at| at.elapsed() < AGAIN);
        if is_soon || self.told.as_ref() == Some(&condition) {
            return false;
        }
        (self.told, self.at) = (Some(condition), Some(Instant::now()));
        true
    }

    /// The condition is over. Returns whether the log has it as the last line.
    fn ends(&mut self) -> bool {
        self.told.take().is_some()
    }
}

/// The result of a question, if that is not too late.
async fn within<T>(
    limit: Duration,
    asking: impl Future<Output = StoreResult<T>>,
) -> StoreResult<T> {
    timeout(limit, asking).await.unwrap_or_else(|_| {
        let problem =
            format!("no answer within {}: it is paused, cut off or slow", format_duration(limit));
        Err(StoreError::Unreachable(problem))
    })
}

#[cfg(test)]
mod tests;
