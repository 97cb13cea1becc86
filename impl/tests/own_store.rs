//! Three nodes in one process, whose lease is granted by a store that the program brings.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bellwether::config::LeaseSection;
use bellwether::lease_store::{
    Answer, Connect, LeaseStore, Record, STORE, Settings, StoreAddress, StoreError, StoreResult,
};
use bellwether::protocol::lease::{Durations, Lease, Token};
use bellwether::storage::Memory;
use bellwether::{Config, Election, NodeId};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

const DURATIONS: Durations = Durations {
    hold: Duration::from_secs(4),
    keep: Duration::from_secs(6),
    renew: Duration::from_millis(200),
    retry: Duration::from_secs(15),
};

/// One record, in memory.
#[derive(Debug, Default)]
struct Table {
    holder: Option<(NodeId, Instant)>,
    token: u64,
    away: bool,
    keep: Duration,
}

impl Table {
    fn holder(&self) -> Option<(NodeId, Instant)> {
        self.holder.filter(|(_, until)| *until > Instant::now())
    }

    fn grant(&mut self, client: NodeId) -> Answer {
        self.holder = Some((client, Instant::now() + self.keep));
        Answer::Granted(Token::new(self.token))
    }
}

#[derive(Clone, Debug)]
struct OwnStore {
    table: Arc<Mutex<Table>>,
    news: watch::Sender<()>,
}

impl OwnStore {
    fn new() -> Self {
        Self { table: Arc::default(), news: watch::Sender::new(()) }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("no panic")
    }

    fn does<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut Table) -> T,
    ) -> BoxFuture<'static, StoreResult<T>> {
        let mut table = self.table();
        let away = || StoreError::Away("it is away".to_owned());
        let answer = if table.away { Err(away()) } else { Ok(step(&mut table)) };
        async move { answer }.boxed()
    }
}

impl Connect for OwnStore {
    fn connect<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>> {
        let keep = settings.keep;
        let connected = self.does(|table| table.keep = keep);
        let news = self.news.subscribe();
        async move {
            connected.await?;
            Ok(Box::new(Connection { store: self.clone(), news }) as Box<dyn LeaseStore>)
        }
        .boxed()
    }

    fn setup(&self, _: &Settings) -> String {
        "nothing is made".to_owned()
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }
}

struct Connection {
    store: OwnStore,
    news: watch::Receiver<()>,
}

impl LeaseStore for Connection {
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>> {
        self.store.does(|table| match table.holder() {
            Some((holder, _)) if holder != client => Answer::Refused(Some(holder)),
            _ => {
                table.token += 1;
                table.grant(client)
            }
        })
    }

    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>> {
        self.store.does(|table| match table.holder() {
            Some((holder, _)) if holder == client && table.token == token.get() => {
                table.grant(client)
            }
            holder => Answer::Refused(holder.map(|(holder, _)| holder)),
        })
    }

    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>> {
        let released = self.store.does(|table| {
            if table.token == token.get() {
                table.holder = table.holder.filter(|(holder, _)| *holder != client);
            }
        });
        self.store.news.send_replace(());
        released
    }

    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>> {
        self.store.does(|table| Record {
            holder: table.holder().map(|(holder, _)| holder),
            token: Token::new(table.token),
            left: table.holder().map(|(_, until)| until - Instant::now()),
        })
    }

    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        self.store.does(|_| ())
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        async move {
            let gone = |_| StoreError::Away("it is gone".to_owned());
            self.news.changed().await.map_err(gone)
        }
        .boxed()
    }
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

async fn cluster(store: &OwnStore) -> Vec<Election> {
    let (mut listeners, mut members) = (Vec::new(), Vec::new());
    for node in 1..=3 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        members.push((node, listener.local_addr().expect("an address").to_string()));
        listeners.push(listener);
    }
    let join = |(node, listener)| {
        let section = LeaseSection {
            store: Some(StoreAddress::Own(Arc::new(store.clone()))),
            durations: DURATIONS,
            ..LeaseSection::default()
        };
        let config = Config::<Lease>::for_protocol("own", node, members.clone(), section);
        Election::join_with(config.expect("valid"), listener, Memory::default()).expect("can join")
    };
    (1..).zip(listeners).map(join).collect()
}

/// Waits until all of these nodes take one of them for the leader, and returns its place.
async fn leader(nodes: &[Election]) -> usize {
    let mut found = None;
    let agree = async {
        while found.is_none() {
            let seen = nodes[0].leadership().now().leader;
            let agrees = |node: &Election| node.leadership().now().leader == seen;
            let is = |node: &Election| Some(node.leadership().now().node) == seen;
            found = nodes.iter().position(is).filter(|_| nodes.iter().all(agrees));
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, agree).await.expect("within the limit");
    found.expect("waited for")
}

#[tokio::test]
async fn one_of_three_has_the_lease_and_another_gets_it_when_it_is_given_back() {
    let store = OwnStore::new();
    let mut nodes = cluster(&store).await;
    let place = leader(&nodes).await;
    let first = nodes.remove(place);
    let guard = first.guard().expect("it leads with a lease");
    assert_eq!((guard.is_valid_now(), guard.epoch().number()), (true, store.table().token));
    assert!(nodes.iter().all(|node| node.guard().is_none()));
    let left = Instant::now();
    first.leave().await.expect("no storage to fail");
    assert!(!guard.is_valid_now());
    let second = &nodes[leader(&nodes).await];
    let taken = left.elapsed();
    assert!(taken < DURATIONS.retry * 2 / 3, "the store has told that it is free: {taken:?}");
    let next = second.guard().expect("it leads with a lease");
    assert!(next.epoch() > guard.epoch(), "a later grant has a higher token");
}

#[tokio::test]
async fn a_leader_whose_store_is_away_says_so_and_leads_no_longer_than_its_lease() {
    let store = OwnStore::new();
    let nodes = cluster(&store).await;
    let first = &nodes[leader(&nodes).await];
    let guard = first.guard().expect("it leads with a lease");
    store.table().away = true;
    let lost = async {
        while guard.is_valid_now() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DURATIONS.hold * 2, lost).await.expect("its lease ends");
    let problem = first.status().problem.expect("a problem");
    assert_eq!(problem, "the store of the program of the lease own: it is away");
    assert_eq!(first.measurements().store_connected, Some(false));
    store.table().away = false;
    let next = &nodes[leader(&nodes).await];
    let wait = async {
        while next.guard().is_none() || next.status().problem.is_some() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, wait).await.expect("the store answers again");
    assert_eq!(next.measurements().store_connected, Some(true));
}

#[test]
fn no_member_may_have_the_id_of_the_store() {
    let store = Some(StoreAddress::Own(Arc::new(OwnStore::new())));
    let section = LeaseSection { store, ..LeaseSection::default() };
    let members = [(1, "127.0.0.1:7001"), (STORE.get(), "127.0.0.1:7002")];
    let error = Config::<Lease>::for_protocol("own", 1, members, section.clone());
    let error = error.expect_err("it has").to_string();
    assert!(error.contains("give that member another"), "{error}");
    let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002")];
    let config = Config::<Lease>::for_protocol("own", 1, members, section).expect("valid");
    assert_eq!(config.service_names(), ["the store of the program of the lease own"]);
    assert!(config.service_warning().is_none() && id(1) == config.node());
}
