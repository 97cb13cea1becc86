//! Random histories of two clients with two connections each: each must be one that a register can
//! have, whichever answers were lost. The server is that of these tests, and no Kubernetes.

use bellwether_testbed::history::{Call, Moment, Operation, Said, Terms, judge};
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::task::JoinSet;

use super::*;

/// The shortest time that a Lease can last.
const SHORTEST: Duration = Duration::from_secs(1);

/// How much later than that a connection looks again, at most.
const LATER: Duration = Duration::from_millis(300);

/// A lease that no connection looks at is never over.
const TERMS: Terms = Terms {
    keep: 1_000_000,
    early: 5_000,
    late: 1_000_000_000,
    forgets: false,
    observed: true,
    commits: false,
};

/// Longer than any question takes.
const LIMIT: Duration = Duration::from_secs(20);

/// All of them take place at the same time.
const CASES: u64 = 48;

const CONNECTIONS: u64 = 4;

/// How many operations each connection has.
const OPERATIONS: usize = 4;

/// The tokens that were seen, and which client had them.
type Known = Arc<Mutex<Vec<(u16, u64)>>>;

/// One connection of a client.
struct Client {
    id: u16,
    way: Kubernetes,
    random: ChaCha8Rng,
    known: Known,
    start: Instant,
    store: Option<Box<dyn LeaseStore>>,
    history: Vec<Operation>,
}

impl Client {
    async fn run(mut self) -> Vec<Operation> {
        for _ in 0..OPERATIONS {
            let pause = self.pause();
            sleep(pause).await;
            self.operation().await;
        }
        self.history
    }

    /// None, a short one, or one in which a lease comes to its end.
    fn pause(&mut self) -> Duration {
        let part: f64 = self.random.random();
        match self.random.random_range(0..4) {
            0 => SHORTEST + LATER.mul_f64(part),
            1 => SHORTEST.mul_f64(part / 4.0),
            _ => Duration::ZERO,
        }
    }

    fn now(&self) -> Moment {
        Moment::try_from(self.start.elapsed().as_micros()).expect("a short time")
    }

    /// Asks one question. Some answers are not waited for, and some are not heard. Then there is
    /// another connection.
    async fn operation(&mut self) {
        let (call, fate) = (self.call(), self.random.random_range(0..10));
        let mut store = match self.store.take() {
            Some(store) => store,
            None => self.way.connect(&lasting()).await.expect("it listens"),
        };
        let limit = match fate {
            0 => Duration::from_micros(self.random.random_range(0..3_000)),
            _ => LIMIT,
        };
        let from = self.now();
        let asked = timeout(limit, ask(&mut *store, node(self.id), call)).await;
        let until = self.now();
        let answer = match asked {
            Ok(Ok(said)) if fate != 1 => {
                self.store = Some(store);
                self.learn(said);
                Some((until, said))
            }
            Ok(Err(error @ StoreError::Unfit { .. })) => panic!("{call:?}: {error}"),
            Ok(Ok(_) | Err(StoreError::Away(_))) | Err(_) => None,
        };
        // "I could not write, as others did" is no answer: it says of no moment what there was.
        let knows = |said: &(Moment, Said)| call != Call::Acquire || said.1 != Said::Refused(None);
        let answer = answer.filter(knows);
        self.history.push(Operation { client: self.id, call, from, answer });
    }

    /// A client may know the token of another.
    fn call(&mut self) -> Call {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let own = known.iter().rev().find(|(client, _)| *client == self.id);
        let any = if self.random.random_bool(0.75) { own } else { known.choose(&mut self.random) };
        let drawn = self.random.random_range(0..10);
        match (drawn, any) {
            (0..3, Some((_, token))) => Call::Renew(*token),
            (3..5, Some((_, token))) => Call::Release(*token),
            (5..7, _) => Call::Read,
            _ => Call::Acquire,
        }
    }

    fn learn(&self, said: Said) {
        let (client, token) = match said {
            Said::Granted(token) => (self.id, token),
            Said::Record { holder: Some(holder), token } => (holder, token),
            Said::Record { .. } | Said::Refused(_) | Said::Released => return,
        };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).push((client, token));
    }
}

fn lasting() -> Settings {
    Settings { keep: SHORTEST, ..settings() }
}

async fn ask(store: &mut dyn LeaseStore, client: NodeId, call: Call) -> StoreResult<Said> {
    let said = |answer| match answer {
        Answer::Granted(token) => Said::Granted(token.get()),
        Answer::Refused(holder) => Said::Refused(holder.map(NodeId::get)),
    };
    Ok(match call {
        Call::Acquire => said(store.acquire(client).await?),
        Call::Renew(token) => said(store.renew(client, Token::new(token)).await?),
        Call::Release(token) => {
            store.release(client, Token::new(token)).await?;
            Said::Released
        }
        Call::Read => {
            let record = store.read().await?;
            Said::Record { holder: record.holder.map(NodeId::get), token: record.token.get() }
        }
    })
}

/// One history, at a server of its own, which may be wrong.
async fn history(number: u64, is_blind: bool) -> Vec<Operation> {
    let api = Api::start().await;
    api.state().is_blind = is_blind;
    way(&api).connect(&lasting()).await.expect("it listens").init().await.expect("it is made");
    let (known, start) = (Known::default(), Instant::now());
    let mut clients = JoinSet::new();
    for stream in 0..CONNECTIONS {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        random.set_stream(number * CONNECTIONS + stream);
        let id = if stream % 2 == 1 { 2 } else { 1 };
        let (way, known, history) = (way(&api), Arc::clone(&known), Vec::new());
        clients.spawn(Client { id, way, random, known, start, store: None, history }.run());
    }
    clients.join_all().await.concat()
}

async fn histories(is_blind: bool) -> Vec<Vec<Operation>> {
    let mut all = JoinSet::new();
    for number in 0..CASES {
        all.spawn(history(number, is_blind));
    }
    all.join_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_is_a_register_that_each_connection_observes() {
    let all = histories(false).await;
    for history in &all {
        judge(history, TERMS).unwrap_or_else(|why| panic!("{why}"));
    }
    let said = all.iter().flatten().map(|operation| operation.answer.map(|(_, said)| said));
    let said: Vec<_> = said.collect();
    let granted = said.iter().filter(|said| matches!(said, Some(Said::Granted(_)))).count();
    let refused = said.iter().filter(|said| matches!(said, Some(Said::Refused(_)))).count();
    let lost = said.iter().filter(|said| said.is_none()).count();
    let few = all.len() / 2;
    assert!(granted > few && refused > few && lost > few, "{granted}, {refused}, {lost}");
}

/// Without that, the test above could not fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_compares_no_versions_is_found() {
    let all = histories(true).await;
    assert!(all.iter().any(|history| judge(history, TERMS).is_err()), "not found");
}
