//! A store behind the port, as a [service](crate::service) that answers the clients' core: each
//! message is a call of the port, and what comes of that is a message.
//!
//! Where the store tells its clients of changes, a client that was refused asks nothing more while
//! another has the lease: its questions are answered from the record that was read last, until the
//! store tells of a change, or until what was left of the lease then has run out. That the record
//! can be read does not show that the lease can be asked for, so the first time that a connection
//! is asked for it, the store is. A holder's renewal always asks the store.
//!
//! A holder renews its lease every `renew`, and heeds the answer to its latest renewal only. If
//! each answer comes after the next renewal was sent, none counts: the lease ends although the
//! store has extended it each time. So the time until an answer is measured. One late answer ends
//! nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, pending};
use humantime::format_duration;
use tokio::time::{Instant, sleep_until};

use super::{Answer, Connect, LeaseStore, Record, Settings, StoreError, StoreResult};
use crate::protocol::NodeId;
use crate::protocol::lease::{Message, Request, Token};
use crate::service::{Outcome, Service, ServiceError, Session};

/// The id under which the core knows a store that is no node: the highest. No member may have it
/// then.
pub const STORE: NodeId = match NodeId::new(u16::MAX) {
    Some(id) => id,
    None => unreachable!(),
};

/// How long a record is believed at least. A store that counts in seconds says of the last one that
/// nothing is left.
const SHORTEST: Duration = Duration::from_millis(250);

/// A store, as a client of it asks.
#[derive(Clone, Debug)]
pub struct StoreService {
    client: NodeId,
    address: String,
    connect: Arc<dyn Connect>,
    settings: Settings,
    lateness: Arc<Lateness>,
}

impl StoreService {
    /// Returns the store that this client asks, with its address as it is shown. While the client
    /// holds the lease, it renews it every `renew`.
    #[must_use]
    pub fn new(
        client: NodeId,
        address: String,
        connect: Arc<dyn Connect>,
        settings: Settings,
        renew: Duration,
    ) -> Self {
        Self { client, address, connect, settings, lateness: Arc::new(Lateness::new(renew)) }
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Away(problem) => Self::Away(problem),
            StoreError::Unfit { .. } => Self::Unfit(error.to_string()),
        }
    }
}

impl Service<Message> for StoreService {
    fn id(&self) -> NodeId {
        STORE
    }

    fn name(&self) -> String {
        format!("the store {} of the lease {}", self.address, self.settings.name)
    }

    fn limit(&self) -> Duration {
        self.settings.limit
    }

    fn warning(&self) -> Option<String> {
        let warning = self.connect.warning()?;
        Some(format!("TWO NODES CAN LEAD AT THE SAME TIME with {}: {warning}", self.name()))
    }

    fn complaint(&self) -> Option<String> {
        self.lateness.complaint()
    }

    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Session<Message>>, ServiceError>> {
        async move {
            let store = self.connect.connect(&self.settings).await?;
            let (client, since) = (self.client, Instant::now());
            let lateness = Arc::clone(&self.lateness);
            let (known, has_asked) = (None, false);
            let talk = Talk { store, client, since, known, has_asked, lateness };
            Ok(Box::new(talk) as Box<dyn Session<Message>>)
        }
        .boxed()
    }
}

/// A connection to the store, and what is known of its record.
struct Talk {
    store: Box<dyn LeaseStore>,
    client: NodeId,
    /// Since when there is the connection.
    since: Instant,
    known: Option<Known>,
    /// Whether the store has answered here to a client that asked for the lease or renewed it.
    has_asked: bool,
    lateness: Arc<Lateness>,
}

/// Another client has the lease: so the store said, which tells of changes.
#[derive(Clone, Copy)]
struct Known {
    holder: NodeId,
    /// When what was left of it has run out.
    until: Instant,
}

impl Talk {
    /// The client that has the lease, as far as that is known without a question.
    fn holder(&self) -> Option<NodeId> {
        self.known.filter(|known| Instant::now() < known.until).map(|known| known.holder)
    }

    /// Reads the record, and takes note of it.
    async fn read(&mut self) -> StoreResult<Record> {
        let record = self.store.read().await?;
        let holder = self.another(record.holder);
        let left = record.left.filter(|_| self.store.watches());
        let until = left.and_then(|left| Instant::now().checked_add(left.max(SHORTEST)));
        self.known = holder.zip(until).map(|(holder, until)| Known { holder, until });
        Ok(record)
    }

    /// The holder, if it is another client. Then this one has no lease that could end because the
    /// store was late before.
    fn another(&self, holder: Option<NodeId>) -> Option<NodeId> {
        let other = holder.filter(|&holder| holder != self.client);
        if other.is_some() {
            self.lateness.ended();
        }
        other
    }

    /// What the client is told of an answer. How long another has the lease is worth a look if that
    /// spares questions.
    async fn told(&mut self, request: Request, answer: Answer) -> StoreResult<Message> {
        (self.known, self.has_asked) = (None, true);
        match answer {
            Answer::Granted(token) => Ok(Message::Granted(request, token)),
            Answer::Refused(holder) => {
                self.another(holder);
                if self.store.watches() {
                    self.read().await?;
                }
                Ok(Message::Refused(request, holder))
            }
        }
    }

    async fn respond(&mut self, message: Message, sent: Instant) -> StoreResult<Outcome<Message>> {
        let client = self.client;
        Ok(match message {
            Message::Acquire(request) => {
                Outcome::Answered(match self.holder().filter(|_| self.has_asked) {
                    Some(holder) => Message::Refused(request, Some(holder)),
                    None => {
                        let asked = Instant::now();
                        let answer = self.store.acquire(client).await?;
                        self.lateness.answered(asked.elapsed());
                        self.told(request, answer).await?
                    }
                })
            }
            // No grant has this token. A client that may not lead asks so which node does, and a
            // look at the record is all that it needs.
            Message::Renew(request, token) if token == Token::default() => {
                let holder = match self.holder() {
                    Some(holder) => Some(holder),
                    None => self.read().await?.holder,
                };
                self.lateness.ended();
                Outcome::Answered(Message::Refused(request, holder))
            }
            Message::Renew(request, token) => {
                let answer = self.store.renew(client, token).await?;
                // What was sent before has waited for the connection, which is another problem.
                if sent >= self.since {
                    self.lateness.renewed(sent.elapsed());
                }
                Outcome::Answered(self.told(request, answer).await?)
            }
            Message::Release(token) => {
                self.known = None;
                self.store.release(client, token).await?;
                self.lateness.ended();
                Outcome::Done
            }
            // Writes go to what the lease protects, and the others to clients.
            Message::Write(_)
            | Message::Granted(..)
            | Message::Refused(..)
            | Message::Available => Outcome::Unasked,
        })
    }
}

impl Session<Message> for Talk {
    fn answer(
        &mut self,
        message: Message,
        sent: Instant,
    ) -> BoxFuture<'_, Result<Outcome<Message>, ServiceError>> {
        async move { Ok(self.respond(message, sent).await?) }.boxed()
    }

    /// That the lease is free is worth telling: a client asks at once that waits to ask again.
    fn look(&mut self) -> BoxFuture<'_, Result<Option<Message>, ServiceError>> {
        async move { Ok(self.read().await?.holder.is_none().then_some(Message::Available)) }.boxed()
    }

    fn changed(&mut self) -> BoxFuture<'_, Result<(), ServiceError>> {
        let until = self.known.map(|known| known.until);
        let changed = self.store.changed();
        async move {
            let over = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                changed = changed => changed.map_err(ServiceError::from),
                () = over => Ok(()),
            }
        }
        .boxed()
    }
}

/// How long the latest renewal took that was answered too late, as long as nothing was answered in
/// time since then, and the client has not followed another or given its lease back.
#[derive(Debug)]
struct Lateness {
    renew: Duration,
    late: Mutex<Option<Duration>>,
}

impl Lateness {
    fn new(renew: Duration) -> Self {
        Self { renew, late: Mutex::default() }
    }

    /// A renewal was answered so long after it was sent.
    fn renewed(&self, took: Duration) {
        *self.late() = (took >= self.renew).then_some(took);
    }

    /// Another question was answered after so long. It waits for longer than a renewal, so it is
    /// not too late itself.
    fn answered(&self, took: Duration) {
        if took < self.renew {
            *self.late() = None;
        }
    }

    /// The client has no lease that could end.
    fn ended(&self) {
        *self.late() = None;
    }

    /// What is wrong, with what helps.
    fn complaint(&self) -> Option<String> {
        let took = (*self.late())?;
        let took = Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let (took, renew) = (format_duration(took), format_duration(self.renew));
        Some(format!(
            "it answers later than `lease.renew` (took {took}, `lease.renew` is {renew}): a \
             renewal that is answered so late does not count, and if all are, the lease ends; find \
             out why it is slow, or raise `lease.renew`, and `lease.hold` with it"
        ))
    }

    fn late(&self) -> MutexGuard<'_, Option<Duration>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests in `transport::outside` look at the status and the log that come of it.
    #[test]
    fn an_answer_is_late_once_the_next_renewal_is_due() {
        let renew = Duration::from_millis(500);
        let lateness = Lateness::new(renew);
        assert_eq!(lateness.complaint(), None);
        let micros = [(499_999, false), (500_000, true), (20_000, false), (812_345, true)];
        for (micros, is_late) in micros {
            lateness.renewed(Duration::from_micros(micros));
            assert_eq!(lateness.complaint().is_some(), is_late, "{micros}");
        }
        let told = "it answers later than `lease.renew` (took 812ms, `lease.renew` is 500ms): a \
                    renewal that is answered so late does not count, and if all are, the lease \
                    ends; find out why it is slow, or raise `lease.renew`, and `lease.hold` with \
                    it";
        assert_eq!(lateness.complaint().as_deref(), Some(told));
        // Another question waits for longer than a renewal, so it is not too late itself.
        lateness.answered(renew);
        assert!(lateness.complaint().is_some());
        lateness.answered(renew / 2);
        assert_eq!(lateness.complaint(), None);
        lateness.answered(renew);
        assert_eq!(lateness.complaint(), None);
    }
}
