//! A network on loopback: a relay in each way between two nodes, which can withhold and delay.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::network::{Network, Way, free_port};

/// How many pieces of data are on their way in one connection; then the sender has to wait.
const UNDERWAY: usize = 64;

/// What becomes of data in one way.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    /// Nothing arrives, until it is over; then everything does, as TCP sends again.
    cut: bool,
    delay: Duration,
}

/// The relays, which run until this is dropped.
pub(crate) struct Relays {
    ways: BTreeMap<Way, (u16, watch::Sender<Weather>)>,
    ports: BTreeMap<u16, u16>,
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
            let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())));
            let listener = listener.context("cannot listen for a relay")?;
            let port = listener.local_addr()?.port();
            ways.insert(way, (port, watch::Sender::new(Weather::default())));
            listeners.push((way, listener));
        }
        for ((from, to), listener) in listeners {
            let there = ways[&(from, to)].1.subscribe();
            let back = ways[&(to, from)].1.subscribe();
            runtime.spawn(relay(listener, ports[&to], there, back));
        }
        Ok(Self { ways, ports, _runtime: runtime })
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
}

/// Relays each connection, in whose data the node that calls goes `there`, and the other `back`.
async fn relay(
    listener: TcpListener,
    port: u16,
    there: watch::Receiver<Weather>,
    back: watch::Receiver<Weather>,
) {
    loop {
        let Ok((near, _)) = listener.accept().await else { continue };
        let (there, back) = (there.clone(), back.clone());
        tokio::spawn(async move {
            let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { return };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            // A connection whose one half has ended is of no use to the nodes.
            tokio::select! {
                () = pump(near_in, far_out, there) => {}
                () = pump(far_in, near_out, back) => {}
            }
        });
    }
}

/// Moves data in one way, each piece after the delay, and none while the way is cut.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, weather: watch::Receiver<Weather>) {
    let (sender, mut receiver) = mpsc::channel::<(Instant, Vec<u8>)>(UNDERWAY);
    let reading = weather.clone();
    let read = async move {
        loop {
            let mut piece = vec![0; 16 * 1024];
            let Ok(length @ 1..) = from.read(&mut piece).await else { return };
            piece.truncate(length);
            let due = Instant::now() + reading.borrow().delay;
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
