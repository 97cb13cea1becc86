//! A network on loopback: a relay in each way between two nodes, which can withhold and delay.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::network::{Moved, Network, Slow, Way, free_port};

/// How many pieces of data are on their way in one connection; then the sender has to wait.
const UNDERWAY: usize = 64;

/// So many more ports are tried.
const PORTS: usize = 8;

/// What becomes of data in one way.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    /// Nothing arrives, until it is over; then everything does, as TCP sends again.
    cut: bool,
    delay: Duration,
    slow: Slow,
}

/// Draws which data is slow. The order in which it comes is the kernel's, so no seed would make two
/// runs the same.
struct Trips(Mutex<(ChaCha8Rng, Moved)>);

impl Trips {
    fn new() -> Self {
        Self(Mutex::new((ChaCha8Rng::seed_from_u64(1), Moved::default())))
    }

    /// How much later than without it a piece arrives. A round trip is slow if one of its two ways
    /// is, or both.
    fn draw(&self, slow: Slow) -> Duration {
        if slow.part <= 0.0 {
            return Duration::ZERO;
        }
        let mut locked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (random, moved) = &mut *locked;
        moved.pieces += 1;
        let of_one_way = 1.0 - (1.0 - slow.part.min(1.0)).sqrt();
        if !random.random_bool(of_one_way) {
            return Duration::ZERO;
        }
        moved.slow += 1;
        slow.least.mul_f64(1.0 + random.random::<f64>() / 2.0)
    }

    fn moved(&self) -> Moved {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// The relays, which run until this is dropped.
pub(crate) struct Relays {
    ways: BTreeMap<Way, (u16, watch::Sender<Weather>)>,
    ports: BTreeMap<u16, u16>,
    trips: Arc<Trips>,
    _runtime: Runtime,
}

impl Relays {
    pub(crate) fn start(nodes: u16) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start the relays")?;
        let ports: BTreeMap<u16, u16> = (1..=nodes).map(|node| (node, free_port())).collect();
        let all = || (1..=nodes).flat_map(|from| (1..=nodes).map(move |to| (from, to)));
        let between = || all().filter(|(from, to)| from != to);
        let mut ways = BTreeMap::new();
        let mut listeners = Vec::new();
        for way in between() {
            let listener = runtime.block_on(listen()).context("cannot listen for a relay")?;
            let port = listener.local_addr()?.port();
            ways.insert(way, (port, watch::Sender::new(Weather::default())));
            listeners.push((way, listener));
        }
        let trips = Arc::new(Trips::new());
        for ((from, to), listener) in listeners {
            let there = ways[&(from, to)].1.subscribe();
            let back = ways[&(to, from)].1.subscribe();
            runtime.spawn(relay(listener, ports[&to], there, back, Arc::clone(&trips)));
        }
        Ok(Self { ways, ports, trips, _runtime: runtime })
    }
}

impl Network for Relays {
    fn name(&self) -> &'static str {
        "relays on loopback"
    }

    fn address(&self, node: u16) -> String {
        format!("127.0.0.1:{}", self.ports[&node])
    }

    fn member(&self, from: u16, to: u16) -> String {
        self.ways
            .get(&(from, to))
            .map_or_else(|| self.address(to), |(port, _)| format!("127.0.0.1:{port}"))
    }

    fn has_one_address_each(&self) -> bool {
        false
    }

    fn cut(&mut self, cut: &BTreeSet<Way>) -> anyhow::Result<()> {
        for (way, (_, weather)) in &self.ways {
            weather.send_modify(|weather| weather.cut = cut.contains(way));
        }
        Ok(())
    }

    fn delay(&mut self, delay: Duration) -> bool {
        for (_, weather) in self.ways.values() {
            weather.send_modify(|weather| weather.delay = delay);
        }
        true
    }

    fn slow_trips(&mut self, slow: Slow) -> bool {
        for (_, weather) in self.ways.values() {
            weather.send_modify(|weather| weather.slow = slow);
        }
        true
    }

    fn moved(&self) -> Moved {
        self.trips.moved()
    }
}

/// Listens on a port that is free. Another process may take it after it was looked at.
async fn listen() -> io::Result<TcpListener> {
    let mut listener = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).await;
    for _ in 0..PORTS {
        if listener.is_ok() {
            break;
        }
        listener = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).await;
    }
    listener
}

/// Relays each connection, in whose data the node that calls goes `there`, and the other `back`.
async fn relay(
    listener: TcpListener,
    port: u16,
    there: watch::Receiver<Weather>,
    back: watch::Receiver<Weather>,
    trips: Arc<Trips>,
) {
    loop {
        let Ok((near, _)) = listener.accept().await else { continue };
        let (there, back, trips) = (there.clone(), back.clone(), Arc::clone(&trips));
        tokio::spawn(async move {
            let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { return };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            // A connection whose one half has ended is of no use to the nodes.
            tokio::select! {
                () = pump(near_in, far_out, there, &trips) => {}
                () = pump(far_in, near_out, back, &trips) => {}
            }
        });
    }
}

/// Moves data in one way, each piece after the delay, and none while the way is cut. What comes
/// after a slow piece waits for it, as with TCP.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    weather: watch::Receiver<Weather>,
    trips: &Trips,
) {
    let (sender, mut receiver) = mpsc::channel::<(Instant, Vec<u8>)>(UNDERWAY);
    let reading = weather.clone();
    let read = async move {
        loop {
            let mut piece = vec![0; 16 * 1024];
            let Ok(length @ 1..) = from.read(&mut piece).await else { return };
            piece.truncate(length);
            let Weather { delay, slow, .. } = *reading.borrow();
            let due = Instant::now() + delay + trips.draw(slow);
            if sender.send((due, piece)).await.is_err() {
                return;
            }
        }
    };
    let mut writing = weather;
    let write = async move {
        while let Some((due, piece)) = receiver.recv().await {
            tokio::time::sleep_until(due).await;
            let open = writing.wait_for(|weather| !weather.cut).await.is_ok();
            if !open || to.write_all(&piece).await.is_err() {
                return;
            }
        }
        // That a connection has ended does not get through a cut either.
        let _ = writing.wait_for(|weather| !weather.cut).await;
    };
    tokio::join!(read, write);
}

/// That as many round trips are slow as was asked for, and by how much.
pub(crate) fn test() -> anyhow::Result<()> {
    let (trips, least) = (Trips::new(), Duration::from_millis(40));
    anyhow::ensure!(trips.draw(Slow::default()).is_zero() && trips.moved().pieces == 0);
    let slow = Slow { part: 0.03, least };
    let all = 100_000;
    let times: Vec<_> = (0..all).map(|_| (trips.draw(slow), trips.draw(slow))).collect();
    let late: Vec<_> = times.iter().map(|(there, back)| *there + *back).collect();
    let late: Vec<_> = late.into_iter().filter(|late| !late.is_zero()).collect();
    let part = late.len() as f64 / f64::from(all);
    anyhow::ensure!((0.027..0.033).contains(&part), "{part}");
    anyhow::ensure!(late.iter().all(|late| (least..=least * 3).contains(late)));
    let moved = trips.moved();
    anyhow::ensure!(moved.pieces == 200_000 && moved.slow >= late.len() as u64, "{moved:?}");

    // Through a relay: every piece is slow in both ways.
    let mut network = Relays::start(2)?;
    anyhow::ensure!(network.slow_trips(Slow { part: 1.0, least }));
    let listener = std::net::TcpListener::bind(network.address(2))?;
    std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut word = [0; 4];
        stream.read_exact(&mut word)?;
        stream.write_all(&word)
    });
    let mut stream = std::net::TcpStream::connect(network.member(1, 2))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let start = Instant::now();
    stream.write_all(b"ping")?;
    let mut word = [0; 4];
    stream.read_exact(&mut word)?;
    let time = start.elapsed();
    anyhow::ensure!(&word == b"ping" && time >= least * 2, "{time:?}");
    Ok(())
}
