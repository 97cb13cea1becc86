//! A relay on loopback between a client and a server. The relay can cut, withhold and delay data, in
//! one way or in both, and end connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How many pieces of data are on their way in one connection; then the sender has to wait.
const UNDERWAY: usize = 64;

/// Round trips that are slow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slow {
    /// Which part of them, from 0 to 1.
    pub part: f64,
    /// By how much each of them is longer: so much at least, and half as much more at most, or
    /// twice that if both ways are slow.
    pub least: Duration,
}

/// The network in one way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Nothing arrives, until this is over; then everything does, as TCP sends again.
    pub cut: bool,
    /// How long each piece of data is on its way.
    pub delay: Duration,
    /// How many pieces take longer.
    pub slow: Slow,
}

/// How much data was moved, in pieces as they come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moved {
    /// All pieces.
    pub pieces: u64,
    /// The pieces that were slow.
    pub slow: u64,
}

/// Draws which data is slow. The order in which it comes is the kernel's, so no seed would make two
/// runs the same.
#[derive(Debug)]
pub struct Trips(Mutex<(ChaCha8Rng, Moved)>);

impl Default for Trips {
    fn default() -> Self {
        Self(Mutex::new((ChaCha8Rng::seed_from_u64(1), Moved::default())))
    }
}

impl Trips {
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

    /// Returns what was moved while some trips were slow.
    pub fn moved(&self) -> Moved {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// The part of the data that a relay lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Everything.
    Open,
    /// The data of the client; the answers of the server do not arrive.
    Withheld,
    /// Nothing.
    Cut,
    /// No connection: those that are there end, and so does each that a client opens.
    Reset,
}

/// A relay on loopback, until it is dropped. What it does not let through arrives once it is open
/// again, as TCP sends again; so does the end of a connection.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    aim: Arc<AtomicU16>,
    there: watch::Sender<Weather>,
    back: watch::Sender<Weather>,
    reset: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Starts a relay to this port.
    pub fn start(runtime: &Handle, to: u16) -> io::Result<Self> {
        Self::listen(runtime, 0, to, &Arc::default())
    }

    /// Starts a relay at the port `from`, or at any port if that is 0, to the port `to`. The slow
    /// trips of relays with the same `trips` are counted together.
    pub fn listen(runtime: &Handle, from: u16, to: u16, trips: &Arc<Trips>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, from))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let _entered = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let aim = Arc::new(AtomicU16::new(to));
        let there = watch::Sender::new(Weather::default());
        let back = watch::Sender::new(Weather::default());
        let reset = watch::Sender::new(false);
        let task = runtime.spawn(relay(
            listener,
            Arc::clone(&aim),
            [there.subscribe(), back.subscribe()],
            reset.subscribe(),
            Arc::clone(trips),
        ));
        Ok(Self { port, aim, there, back, reset, task })
    }

    /// Returns where clients find the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the whole address at which clients find the server.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Sets what the relay lets through.
    pub fn set(&self, gate: Gate) {
        self.there.send_modify(|there| there.cut = gate == Gate::Cut);
        self.back.send_modify(|back| back.cut = matches!(gate, Gate::Withheld | Gate::Cut));
        self.reset.send_replace(gate == Gate::Reset);
    }

    /// Changes what becomes of the data that clients send.
    pub fn there(&self, change: impl FnOnce(&mut Weather)) {
        self.there.send_modify(change);
    }

    /// Changes what becomes of the data that the server sends.
    pub fn back(&self, change: impl FnOnce(&mut Weather)) {
        self.back.send_modify(change);
    }

    /// Lets the connections that come from now on go to this port.
    pub fn aim(&self, to: u16) {
        self.aim.store(to, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // What has come through until now goes on until one of the two ends it.
        self.task.abort();
    }
}

/// Relays each connection, in whose data the client goes the first way, and the server the second.
async fn relay(
    listener: TcpListener,
    aim: Arc<AtomicU16>,
    [there, back]: [watch::Receiver<Weather>; 2],
    reset: watch::Receiver<bool>,
    trips: Arc<Trips>,
) {
    loop {
        let Ok((near, _)) = listener.accept().await else { continue };
        if *reset.borrow() {
            continue;
        }
        let (there, back, reset) = (there.clone(), back.clone(), reset.clone());
        let (to, trips) = (aim.load(Ordering::SeqCst), Arc::clone(&trips));
        tokio::spawn(async move {
            let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).await else { return };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            // A connection whose one half has ended is of no use.
            tokio::select! {
                () = pump(near_in, far_out, there, &trips) => {}
                () = pump(far_in, near_out, back, &trips) => {}
                () = until_reset(reset) => {}
            }
        });
    }
}

/// Returns once connections are to end; never, if the relay is gone.
async fn until_reset(mut reset: watch::Receiver<bool>) {
    let is_gone = reset.wait_for(|reset| *reset).await.is_err();
    if is_gone {
        std::future::pending::<()>().await;
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    const LEAST: Duration = Duration::from_millis(40);

    #[test]
    fn as_many_round_trips_are_slow_as_were_asked_for() {
        let trips = Trips::default();
        assert!(trips.draw(Slow::default()).is_zero() && trips.moved().pieces == 0);
        let slow = Slow { part: 0.03, least: LEAST };
        let all = 100_000;
        let times: Vec<_> = (0..all).map(|_| trips.draw(slow) + trips.draw(slow)).collect();
        let late: Vec<_> = times.into_iter().filter(|late| !late.is_zero()).collect();
        let part = late.len() as f64 / f64::from(all);
        assert!((0.027..0.033).contains(&part), "{part}");
        assert!(late.iter().all(|late| (LEAST..=LEAST * 3).contains(late)));
        let moved = trips.moved();
        assert!(moved.pieces == 200_000 && moved.slow >= late.len() as u64, "{moved:?}");
    }

    /// A server that repeats each byte, and a relay to it.
    fn relay() -> (tokio::runtime::Runtime, Relay) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
            }
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let relay = Relay::start(runtime.handle(), port).expect("a relay");
        (runtime, relay)
    }

    fn connected(relay: &Relay) -> std::net::TcpStream {
        let stream = std::net::TcpStream::connect(relay.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a limit");
        stream
    }

    /// How long it takes until a byte is back, if that is soon.
    fn trip(mut stream: &std::net::TcpStream) -> io::Result<Duration> {
        let start = std::time::Instant::now();
        stream.write_all(b"x")?;
        stream.read_exact(&mut [0])?;
        Ok(start.elapsed())
    }

    #[test]
    fn each_piece_is_late_in_both_ways() {
        let (_runtime, relay) = relay();
        let slow = Slow { part: 1.0, least: LEAST };
        relay.there(|there| there.slow = slow);
        relay.back(|back| back.slow = slow);
        let stream = connected(&relay);
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        let time = trip(&stream).expect("an answer");
        assert!(time >= LEAST * 2, "{time:?}");
    }

    #[test]
    fn what_is_cut_or_withheld_arrives_later_and_a_reset_ends_connections() {
        let (_runtime, relay) = relay();
        let stream = connected(&relay);
        for gate in [Gate::Cut, Gate::Withheld] {
            relay.set(gate);
            assert!(trip(&stream).is_err(), "{gate:?}");
            relay.set(Gate::Open);
            stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
            (&stream).read_exact(&mut [0]).expect("the byte arrives");
            stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a limit");
        }
        relay.set(Gate::Reset);
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        assert!(matches!((&stream).read(&mut [0]), Ok(0) | Err(_)), "the connection ends");
        assert!(matches!(connected(&relay).read(&mut [0]), Ok(0) | Err(_)), "there is no other");
        relay.set(Gate::Open);
        let stream = connected(&relay);
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        trip(&stream).expect("an answer");
    }
}
