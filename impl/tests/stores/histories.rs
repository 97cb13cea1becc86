//! Random histories of two clients with two connections each, at each store: each history must be
//! one that a register can have, whichever answers were lost.
//!
//! `BELLWETHER_CASES` says how many histories of each store, and `BELLWETHER_SEED` which.

use std::ops::AddAssign;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bellwether::store::{
    Answer, Claim, Connect, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError, StoreResult,
};
use bellwether_core::protocol::lease::Token;
use bellwether_stores::address::Files;
use bellwether_stores::connect::connector;
use bellwether_testbed::history::{Call, Moment, Operation, Said, Terms, judge};
use bellwether_testbed::http_server::{Asked, serve_at};
use bellwether_testbed::lease_api::LeaseApi;
use bellwether_testbed::relay::{Gate, Relay};
use bellwether_testbed::servers::{Server, Store};
use futures::FutureExt as _;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::pretended::{Mistake, Pretended};
use super::{here, say};

/// Longer than any question takes.
const LIMIT: Duration = Duration::from_secs(20);

/// How often a connection is asked for until the test fails.
const ATTEMPTS: usize = 20;

/// How many connections there are: each second one is of the same client.
const CONNECTIONS: usize = 4;

/// How many operations each connection has.
const OPERATIONS: usize = 4;

/// Longer than any history takes.
const EVER: Duration = Duration::from_secs(1_000);

/// The histories of one store.
#[derive(Clone, Copy, Debug)]
struct Plan {
    keep: Duration,
    /// How much longer a lease may last.
    late: Duration,
    /// How many histories, unless the environment says so.
    cases: u64,
    /// How many of them take place at the same time.
    at_once: usize,
    /// Whether the store reads its clock some time before what it writes can be seen.
    commits: bool,
    /// Each connection observes that a lease is over: a lease at which none looks has no end.
    observed: bool,
}

impl Plan {
    const fn new(keep: u64, late: u64, cases: u64, at_once: usize) -> Self {
        let (keep, late) = (Duration::from_millis(keep), Duration::from_millis(late));
        Self { keep, late, cases, at_once, commits: false, observed: false }
    }

    /// Each history has a lease of its own, or a server.
    fn settings(self, number: u64) -> LeaseSettings {
        let name = if self.observed { "orders".into() } else { format!("histories/{number}") };
        LeaseSettings { name, ttl: self.keep, limit: LIMIT }
    }

    /// A clock that says milliseconds may be wrong by two, and one is read before it is written.
    fn terms(self) -> Terms {
        let Self { keep, late, commits, observed, .. } = self;
        let late = if observed { micros(EVER) } else { micros(late) };
        Terms { keep: micros(keep), early: 5_000, late, observed, commits }
    }
}

#[test]
fn sqlite_is_a_register() {
    at_a_server(Store::Sqlite, Plan { commits: true, ..Plan::new(60, 5, 100, 4) });
}

#[test]
fn postgres_is_a_register() {
    at_a_server(Store::Postgres, Plan { commits: true, ..Plan::new(60, 5, 100, 8) });
}

#[test]
fn redis_is_a_register() {
    at_a_server(Store::Redis, Plan::new(60, 5, 100, 8));
}

/// Its leases last whole seconds, and it looks for those that are over twice a second.
#[test]
fn etcd_is_a_register() {
    at_a_server(Store::Etcd, Plan::new(1_000, 2_500, 32, 32));
}

/// The server is that of these tests, and no Kubernetes. One that compares no versions is found.
#[test]
fn kubernetes_is_a_register_that_each_connection_observes() {
    let plan = Plan { observed: true, ..Plan::new(1_000, 300, 48, 48) };
    let runtime = Runtime::new().expect("a runtime");
    let right = runtime.block_on(histories(plan, plan.cases, || ways_to_api(false)));
    let tally = right.unwrap_or_else(|why| panic!("{why}"));
    let few = plan.cases / 2;
    assert!(tally.granted > few && tally.refused > few && tally.lost > few, "{tally:?}");
    assert!(runtime.block_on(histories(plan, 2_000, || ways_to_api(true))).is_err());
}

/// Without that, the tests above could not fail.
#[test]
fn each_mistake_of_a_store_is_found() {
    let plan = Plan::new(60, 5, 60, 16);
    let runtime = Runtime::new().expect("a runtime");
    let to = |mistake| {
        move || {
            let connect: Arc<dyn Connect> = Arc::new(Pretended::new(mistake));
            [(); CONNECTIONS].map(|()| Way { connect: Arc::clone(&connect), relay: None })
        }
    };
    let right = runtime.block_on(histories(plan, plan.cases, to(None)));
    right.unwrap_or_else(|why| panic!("a store that is right: {why}"));
    for mistake in Mistake::ALL {
        let wrong = runtime.block_on(histories(plan, 2_000, to(Some(mistake))));
        assert!(wrong.is_err(), "not found: {mistake:?}");
    }
}

fn at_a_server(store: Store, plan: Plan) {
    if !here(store) {
        return;
    }
    let cases = given("BELLWETHER_CASES").unwrap_or(plan.cases);
    let server = Server::start(store).expect("it starts");
    let runtime = Runtime::new().expect("a runtime");
    let ways = || {
        [(); CONNECTIONS].map(|()| {
            if store == Store::Sqlite {
                return Way { connect: connect(&server.address()), relay: None };
            }
            let relay = Relay::start(&Handle::current(), server.port()).expect("a relay");
            Way { connect: connect(&server.address_at(relay.port())), relay: Some(relay) }
        })
    };
    let tally = runtime.block_on(histories(plan, cases, ways));
    let tally = tally.unwrap_or_else(|why| panic!("{}: {why}", store.name()));
    say(&format!("{}: {cases} histories, {tally:?}", store.name()));
    let few = cases / 2;
    assert!(tally.granted > few && tally.refused > few && tally.lost > few, "{tally:?}");
}

/// Ways to a server of its own, with the API of Kubernetes, which may compare no versions. The
/// clocks of the clients differ.
fn ways_to_api(is_blind: bool) -> [Way; CONNECTIONS] {
    let mut api = LeaseApi { is_blind, ..LeaseApi::default() };
    let spec = json!({ "leaseTransitions": 0 });
    api.change("ADDED", json!({ "metadata": { "name": "orders" }, "spec": spec }));
    let served = serve_at(0, move |asked| api.answer(&by_its_clock(asked))).now_or_never();
    let address = served.expect("there is nothing to wait for").expect("a free port");
    let address = format!("kubernetes+http://{address}/shop/orders");
    [(); CONNECTIONS].map(|()| Way { connect: connect(&address), relay: None })
}

/// Returns the question with the times of client 2, whose clock is slow by many years.
fn by_its_clock(asked: &Asked) -> Asked {
    let mut asked = asked.clone();
    let spec = &mut asked.body["spec"];
    if spec["holderIdentity"] == "2" {
        for field in ["acquireTime", "renewTime"] {
            let time = spec[field].as_str().map(|time| format!("2000{}", &time[4..]));
            spec[field] = json!(time);
        }
    }
    asked
}

/// What a variable of the environment says.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn connect(address: &str) -> Arc<dyn Connect> {
    connector(address, &Files::default()).unwrap_or_else(|why| panic!("{address}: {why}"))
}

fn micros(time: Duration) -> Moment {
    Moment::try_from(time.as_micros()).expect("a short time")
}

/// A way to the store, and the relay that is on it.
struct Way {
    connect: Arc<dyn Connect>,
    relay: Option<Relay>,
}

/// What has happened.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    granted: u64,
    refused: u64,
    lost: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.granted += other.granted;
        self.refused += other.refused;
        self.lost += other.lost;
    }
}

/// The tokens that were seen, and which client had them.
type Known = Arc<Mutex<Vec<(u16, u64)>>>;

/// Says which history is none of a register, and what it was.
async fn histories(
    plan: Plan,
    cases: u64,
    ways: impl Fn() -> [Way; CONNECTIONS],
) -> Result<Tally, String> {
    let seed = given("BELLWETHER_SEED").unwrap_or(1);
    let (first, settings) = (ways(), plan.settings(0));
    let mut store = connected(&*first[0].connect, &settings).await;
    timeout(LIMIT, store.init()).await.expect("in time").expect("it is made");
    let (mut tally, mut running, mut number) = (Tally::default(), JoinSet::new(), 0);
    loop {
        while number < cases && running.len() < plan.at_once {
            number += 1;
            running.spawn(history(plan, seed, number, ways()));
        }
        let Some(ended) = running.join_next().await else { return Ok(tally) };
        tally += ended.expect("a history comes to its end")?;
    }
}

async fn history(
    plan: Plan,
    seed: u64,
    number: u64,
    ways: [Way; CONNECTIONS],
) -> Result<Tally, String> {
    let settings = Arc::new(plan.settings(number));
    let (known, start) = (Known::default(), Instant::now());
    let mut clients = JoinSet::new();
    for (stream, way) in (0..).zip(ways) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number * 8 + stream);
        let client = Client {
            id: if stream % 2 == 1 { 2 } else { 1 },
            way,
            settings: Arc::clone(&settings),
            plan,
            random,
            known: Arc::clone(&known),
            start,
            store: None,
            history: Vec::new(),
        };
        clients.spawn(client.run());
    }
    let mut all: Vec<Operation> = Vec::new();
    while let Some(ended) = clients.join_next().await {
        all.extend(ended.expect("a client comes to its end"));
    }
    judge(&all, plan.terms()).map_err(|why| format!("history {number}, seed {seed}: {why}"))?;
    let count = |is: fn(&Said) -> bool| {
        let said = all.iter().filter_map(|operation| operation.answer);
        said.filter(|(_, said)| is(said)).count() as u64
    };
    Ok(Tally {
        granted: count(|said| matches!(said, Said::Granted(_))),
        refused: count(|said| matches!(said, Said::Refused(_))),
        lost: all.iter().filter(|operation| operation.answer.is_none()).count() as u64,
    })
}

/// A connection. A store that is busy may refuse one for a moment.
async fn connected(connect: &dyn Connect, settings: &LeaseSettings) -> Box<dyn LeaseStore> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match timeout(LIMIT, connect.connect(settings)).await {
            Ok(Ok(store)) => return store,
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => "too slow".clone_into(&mut last),
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("no connection: {last}");
}

/// One connection of a client.
struct Client {
    id: u16,
    way: Way,
    settings: Arc<LeaseSettings>,
    plan: Plan,
    random: ChaCha8Rng,
    known: Known,
    start: Instant,
    store: Option<Box<dyn LeaseStore>>,
    history: Vec<Operation>,
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Heard,
    /// The client does not wait for it.
    Dropped,
    /// It comes, and is not heard.
    Ignored,
    /// The relay does not let it through.
    Withheld,
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
        let Plan { keep, late, .. } = self.plan;
        let part: f64 = self.random.random();
        match self.random.random_range(0..4) {
            0 => keep + late.mul_f64(part),
            1 => keep.mul_f64(part / 4.0),
            _ => Duration::ZERO,
        }
    }

    fn now(&self) -> Moment {
        micros(self.start.elapsed())
    }

    /// Asks one question. After an answer that was lost, there is another connection.
    async fn operation(&mut self) {
        let (call, fate) = (self.call(), self.fate());
        let mut store = match self.store.take() {
            Some(store) => store,
            None => connected(&*self.way.connect, &self.settings).await,
        };
        let limit = match fate {
            Fate::Heard | Fate::Ignored => LIMIT,
            Fate::Dropped => Duration::from_micros(self.random.random_range(0..3_000)),
            Fate::Withheld => Duration::from_millis(30),
        };
        self.gate(if fate == Fate::Withheld { Gate::Withheld } else { Gate::Open });
        let (from, longest) = (self.now(), self.plan.keep + self.plan.late);
        let asked = timeout(limit, ask(&mut *store, self.id, call, longest)).await;
        let until = self.now();
        self.gate(Gate::Open);
        let answer = match asked {
            Ok(Ok(said)) if fate != Fate::Ignored => {
                self.store = Some(store);
                self.learn(said);
                Some((until, said))
            }
            Ok(Err(error @ StoreError::Misconfigured { .. })) => panic!("{call:?}: {error}"),
            Ok(Ok(_) | Err(StoreError::Unreachable(_))) | Err(_) => None,
        };
        self.history.push(Operation { client: self.id, call, from, answer });
    }

    fn gate(&self, gate: Gate) {
        if let Some(relay) = &self.way.relay {
            relay.set(gate);
        }
    }

    fn fate(&mut self) -> Fate {
        match self.random.random_range(0..10) {
            0 => Fate::Dropped,
            1 => Fate::Ignored,
            2 if self.way.relay.is_some() => Fate::Withheld,
            _ => Fate::Heard,
        }
    }

    /// A client may know the token of a grant whose answer was lost, and that of another client.
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

/// Asks a store. At most `longest` is left of a lease. The clients are two starts of one node.
async fn ask(
    store: &mut dyn LeaseStore,
    client: u16,
    call: Call,
    longest: Duration,
) -> StoreResult<Said> {
    let own = Holder::new("node", u64::from(client)).expect("a good name");
    let holder = |record: &LeaseRecord| {
        let start = record.holder.as_ref().map(Holder::start);
        start.map(|start| u16::try_from(start).expect("a client"))
    };
    let said = |answer| match answer {
        Answer::Granted(token) => Said::Granted(token.get()),
        // What the client has been granted meanwhile says nothing of what refused it.
        Answer::Refused(record) => {
            Said::Refused(holder(&record).filter(|&holder| holder != client))
        }
    };
    Ok(match call {
        Call::Acquire => {
            let seen = Token::default();
            let claim = Claim { holder: &own, seen, waits: false, overdue: None };
            said(store.acquire(claim).await?)
        }
        Call::Renew(token) => said(store.renew(&own, Token::new(token)).await?),
        Call::Release(token) => {
            store.release(&own, Token::new(token)).await?;
            Said::Released
        }
        Call::Read => {
            let record = store.read().await?;
            assert!(record.left.is_none_or(|left| left <= longest), "{record:?}");
            assert_eq!(record.doubt, None, "{record:?}");
            Said::Record { holder: holder(&record), token: record.token.get() }
        }
    })
}
