//! A store in the memory of the test, which a program can bring. It can make a mistake: the
//! histories must find each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bellwether::store::{
    Answer, Asking, Claim, Connect, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError,
    StoreResult,
};
use bellwether_core::protocol::lease::Token;
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
    /// Two starts of one node are one client.
    ComparesNames,
}

impl Mistake {
    pub(super) const ALL: [Self; 11] = [
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
        Self::ComparesNames,
    ];
}

/// What the store has written down.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    holder: Option<Holder>,
    before: Option<Holder>,
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
        if state.away { Err(StoreError::Unreachable("it is away".to_owned())) } else { Ok(state) }
    }
}

impl Connect for Pretended {
    fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
        let (store, news, keep) = (self.clone(), self.news.subscribe(), settings.ttl);
        let reached = self.reached().map(drop);
        Box::pin(async move {
            reached?;
            Ok(Box::new(Connection { store, news, keep }) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, _settings: &LeaseSettings) -> String {
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
    fn now(&self, client: &Holder) -> Instant {
        let slow = self.errs(Mistake::ClockOfClient) && client.start().is_multiple_of(2);
        Instant::now() - if slow { self.keep / 2 } else { Duration::ZERO }
    }

    fn is(&self, holder: &Holder, client: &Holder) -> bool {
        holder == client || self.errs(Mistake::ComparesNames) && holder.name() == client.name()
    }

    /// Returns the client that has the lease.
    fn holder(&self, state: &State) -> Option<Holder> {
        let keep = if self.errs(Mistake::EndsEarly) { self.keep / 2 } else { self.keep };
        let lasts = state.written.is_some_and(|written| written.elapsed() < keep);
        state.holder.clone().filter(|_| lasts || self.errs(Mistake::NeverEnds))
    }

    fn record(&self, state: &State) -> LeaseRecord {
        let holder = self.holder(state);
        let left = state.written.filter(|_| holder.is_some());
        let left = left.map(|written| self.keep.saturating_sub(written.elapsed()));
        LeaseRecord { holder, token: Token::new(state.token), left, doubt: None }
    }

    fn refused(&self, state: &State) -> Answer {
        let record = self.record(state);
        let wrong = state.before.clone().filter(|_| self.errs(Mistake::NamesAnother));
        Answer::Refused(LeaseRecord { holder: wrong.or(record.holder), ..record })
    }

    fn granted(&self, state: &mut State, claim: Claim<'_>) -> Answer {
        let is_own = self.holder(state).as_ref() == Some(claim.holder);
        if state.holder.as_ref() != Some(claim.holder) {
            state.before = state.holder.take();
        }
        if !(is_own && self.errs(Mistake::TokenOfBefore)) {
            state.token = state.token.max(claim.seen.get()) + 1;
        }
        state.holder = Some(claim.holder.clone());
        state.written = Some(self.now(claim.holder));
        Answer::Granted(Token::new(state.token))
    }
}

impl LeaseStore for Connection {
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer> {
        Box::pin(async move {
            underway().await;
            let read = self.errs(Mistake::TwoSteps).then(|| self.store.state().clone());
            if read.is_some() {
                underway().await;
            }
            let answer = {
                let mut state = self.store.reached()?;
                let read = read.unwrap_or_else(|| state.clone());
                let holder = self.holder(&read);
                let is_free = holder.is_none_or(|holder| self.is(&holder, claim.holder));
                if is_free && (read.token >= claim.seen.get() || claim.waits) {
                    self.granted(&mut state, claim)
                } else {
                    self.refused(&read)
                }
            };
            underway().await;
            Ok(answer)
        })
    }

    fn renew<'a>(&'a mut self, client: &'a Holder, token: Token) -> Asking<'a, Answer> {
        Box::pin(async move {
            underway().await;
            let answer = {
                let mut state = self.store.reached()?;
                let holder = self.holder(&state);
                let own = holder.as_ref().is_some_and(|holder| {
                    self.is(holder, client) || self.errs(Mistake::RenewsForAll)
                });
                let same = state.token == token.get()
                    || self.errs(Mistake::RenewsAnothers)
                    || self.errs(Mistake::RenewsForAll);
                if own && same {
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

    fn release<'a>(&'a mut self, client: &'a Holder, token: Token) -> Asking<'a, ()> {
        Box::pin(async move {
            underway().await;
            {
                let mut state = self.store.reached()?;
                let holder = state.holder.as_ref();
                let own = holder.is_some_and(|holder| self.is(holder, client))
                    && state.token == token.get();
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

    fn read(&mut self) -> Asking<'_, LeaseRecord> {
        Box::pin(async move {
            underway().await;
            let record = {
                let state = self.store.reached()?;
                self.record(&state)
            };
            underway().await;
            Ok(record)
        })
    }

    fn init(&mut self) -> Asking<'_, ()> {
        Box::pin(async { Ok::<(), StoreError>(()) })
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> Asking<'_, ()> {
        Box::pin(async move {
            let gone = |_| StoreError::Unreachable("it is gone".to_owned());
            self.news.changed().await.map_err(gone)
        })
    }
}
