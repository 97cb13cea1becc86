//! A store in the memory of the test, which a program can bring. It can make a mistake: the
//! histories must find each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bellwether::NodeId;
use bellwether::lease_store::{
    Answer, Connect, LeaseStore, Record, Settings, StoreError, StoreResult,
};
use bellwether::protocol::lease::Token;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::sleep;

/// What a store can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    /// It reads, and writes later what follows from that.
    TwoSteps,
    /// Each lease that was given back has its token again.
    TokenAgain,
    /// It frees the lease whatever the token.
    FreesAnothers,
    /// It extends the lease whatever the token.
    RenewsAnothers,
    /// It extends the lease whatever the client, and the token.
    RenewsForAll,
    /// A lease lasts half as long.
    EndsEarly,
    /// No lease ends.
    NeverEnds,
    /// A refusal names a client that has had the lease before.
    NamesAnother,
    /// A client that asks for the lease that it has gets the token that it had.
    TokenOfBefore,
    /// A lease counts from a moment by the clock of its client. That of client 2 is slow.
    ClockOfClient,
}

impl Mistake {
    pub(super) const ALL: [Self; 10] = [
        Self::TwoSteps,
        Self::TokenAgain,
        Self::FreesAnothers,
        Self::RenewsAnothers,
        Self::RenewsForAll,
        Self::EndsEarly,
        Self::NeverEnds,
        Self::NamesAnother,
        Self::TokenOfBefore,
        Self::ClockOfClient,
    ];
}

/// What the store has written down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    holder: Option<NodeId>,
    before: Option<NodeId>,
    pub(super) token: u64,
    written: Option<Instant>,
    /// No client reaches it.
    pub(super) away: bool,
}

/// A way to a store that is right, or makes one mistake. A clone leads to the same store.
#[derive(Clone, Debug)]
pub(super) struct Pretended {
    mistake: Option<Mistake>,
    state: Arc<Mutex<State>>,
    news: watch::Sender<()>,
}

impl Pretended {
    pub(super) fn new(mistake: Option<Mistake>) -> Self {
        Self { mistake, state: Arc::default(), news: watch::Sender::new(()) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if a client reaches the store.
    fn reached(&self) -> StoreResult<MutexGuard<'_, State>> {
        let state = self.state();
        if state.away { Err(StoreError::Away("it is away".to_owned())) } else { Ok(state) }
    }
}

impl Connect for Pretended {
    fn connect<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>> {
        let (store, news, keep) = (self.clone(), self.news.subscribe(), settings.keep);
        let reached = self.reached().map(drop);
        Box::pin(async move {
            reached?;
            Ok(Box::new(Connection { store, news, keep }) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, _settings: &Settings) -> String {
        String::new()
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }
}

struct Connection {
    store: Pretended,
    news: watch::Receiver<()>,
    keep: Duration,
}

/// The way to the store, and the way back.
async fn underway() {
    sleep(Duration::from_millis(1)).await;
}

impl Connection {
    fn errs(&self, mistake: Mistake) -> bool {
        self.store.mistake == Some(mistake)
    }

    /// The moment of a write that this client asks for.
    fn now(&self, client: NodeId) -> Instant {
        let slow = self.errs(Mistake::ClockOfClient) && client.get() == 2;
        Instant::now() - if slow { self.keep / 2 } else { Duration::ZERO }
    }

    /// Which client has the lease.
    fn holder(&self, state: &State) -> Option<NodeId> {
        let keep = if self.errs(Mistake::EndsEarly) { self.keep / 2 } else { self.keep };
        let lasts = state.written.is_some_and(|written| written.elapsed() < keep);
        state.holder.filter(|_| lasts || self.errs(Mistake::NeverEnds))
    }

    fn refused(&self, state: &State) -> Answer {
        let holder = self.holder(state);
        let wrong = state.before.filter(|_| self.errs(Mistake::NamesAnother));
        Answer::Refused(wrong.or(holder))
    }

    fn granted(&self, state: &mut State, client: NodeId) -> Answer {
        let is_own = self.holder(state) == Some(client);
        if state.holder != Some(client) {
            state.before = state.holder;
        }
        state.token += u64::from(!(is_own && self.errs(Mistake::TokenOfBefore)));
        state.holder = Some(client);
        state.written = Some(self.now(client));
        Answer::Granted(Token::new(state.token))
    }
}

impl LeaseStore for Connection {
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(async move {
            underway().await;
            let read = self.errs(Mistake::TwoSteps).then(|| *self.store.state());
            if read.is_some() {
                underway().await;
            }
            let answer = {
                let mut state = self.store.reached()?;
                let read = read.unwrap_or(*state);
                if self.holder(&read).is_none_or(|holder| holder == client) {
                    self.granted(&mut state, client)
                } else {
                    self.refused(&read)
                }
            };
            underway().await;
            Ok(answer)
        })
    }

    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(async move {
            underway().await;
            let answer = {
                let mut state = self.store.reached()?;
                let holder = self.holder(&state);
                let own = holder == Some(client) || self.errs(Mistake::RenewsForAll);
                let same = state.token == token.get()
                    || self.errs(Mistake::RenewsAnothers)
                    || self.errs(Mistake::RenewsForAll);
                if holder.is_some() && own && same {
                    state.written = Some(self.now(client));
                    Answer::Granted(token)
                } else {
                    self.refused(&state)
                }
            };
            underway().await;
            Ok(answer)
        })
    }

    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            underway().await;
            {
                let mut state = self.store.reached()?;
                let own = state.holder == Some(client) && state.token == token.get();
                if own || self.errs(Mistake::FreesAnothers) {
                    state.holder = None;
                    state.token -= u64::from(own && self.errs(Mistake::TokenAgain));
                }
            }
            self.store.news.send_replace(());
            underway().await;
            Ok(())
        })
    }

    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>> {
        Box::pin(async move {
            underway().await;
            let state = *self.store.reached()?;
            let (holder, token) = (self.holder(&state), Token::new(state.token));
            let left = state.written.filter(|_| holder.is_some());
            let left = left.map(|written| self.keep.saturating_sub(written.elapsed()));
            underway().await;
            Ok(Record { holder, token, left })
        })
    }

    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async { Ok::<(), StoreError>(()) })
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            let gone = |_| StoreError::Away("it is gone".to_owned());
            self.news.changed().await.map_err(gone)
        })
    }
}
