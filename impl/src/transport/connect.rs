//! Calling an address: all that its name stands for at once, and again while there is time; how
//! long to wait before the next call; and questions, each on a connection of its own, which ends
//! with the answer.
//!
//! A name is resolved by a thread of its own, one for each peer. However long the system takes, no
//! other task waits for it, and there is never a second one. What was found last stays in use.
//!
//! The kernel is asked to send at once, and to notice dead peers early. Probes of its own are not
//! needed. A node that has nothing to say pings, the side that hears nothing ends the connection,
//! and the side that is not answered does so, too.

use std::io::{self, Error, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::frame::{Opening, Reply};
use super::handshake::{self, Failure};
use crate::config::{Address, Credentials};
use crate::lock::lock;

/// How long until all addresses are called once more. The system itself takes longer with each
/// attempt, and a link that heals is to be used soon.
const AGAIN: Duration = Duration::from_millis(500);

/// How long the addresses of a name are used without another look.
const FRESH: Duration = Duration::from_secs(1);

/// How many addresses of a name are called.
const ADDRESSES: usize = 8;

/// How long calling a node may take that is asked. Those who ask have limits of their own.
const LONGEST_CALL: Duration = Duration::from_secs(60);

type Lookup = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Where one address leads.
#[derive(Clone)]
pub(crate) struct Resolver(Arc<Inner>);

struct Inner {
    address: Address,
    lookup: Box<Lookup>,
    known: Mutex<LookupState>,
    found: Notify,
}

#[derive(Default)]
struct LookupState {
    addresses: Vec<SocketAddr>,
    /// When they were found.
    since: Option<Instant>,
    /// Why the last look found none.
    problem: Option<String>,
    /// Whether a thread is looking.
    looking: bool,
}

impl Resolver {
    /// Asks the system.
    pub(crate) fn new(address: Address) -> Self {
        Self::with(address, Box::new(|name| Ok(name.to_socket_addrs()?.collect())))
    }

    fn with(address: Address, lookup: Box<Lookup>) -> Self {
        Self(Arc::new(Inner { address, lookup, known: Mutex::default(), found: Notify::new() }))
    }

    /// A connection to the first of the addresses that answers within the limit. It is refused only
    /// if all of them refuse.
    pub(crate) async fn connect(&self, limit: Duration) -> io::Result<TcpStream> {
        let deadline = Instant::now() + limit;
        let late = || Error::new(ErrorKind::TimedOut, format!("no answer within {limit:?}"));
        let all = timeout(limit, self.addresses()).await.map_err(|_| {
            Error::new(ErrorKind::TimedOut, format!("the name is not resolved within {limit:?}"))
        })??;
        let mut attempts = FuturesUnordered::new();
        let call = |&address: &SocketAddr| TcpStream::connect(address);
        attempts.extend(all.iter().map(call));
        let mut next = Instant::now() + AGAIN;
        let mut over = pin!(sleep_until(deadline));
        let mut failure = None;
        let refused = |error: &Error| error.kind() == ErrorKind::ConnectionRefused;
        loop {
            tokio::select! {
                ended = attempts.next() => match ended {
                    Some(Ok(stream)) if is_self_connected(&stream) => {}
                    Some(Ok(stream)) => return Ok(stream),
                    Some(Err(error)) => {
                        let error = failure.filter(|other| !refused(other)).unwrap_or(error);
                        if attempts.is_empty() {
                            return Err(error);
                        }
                        failure = Some(error);
                    }
                    None => return Err(Error::new(
                        ErrorKind::ConnectionRefused,
                        "no process listens there",
                    )),
                },
                () = sleep_until(next) => {
                    next += AGAIN;
                    attempts.extend(all.iter().map(call));
                }
                () = &mut over => return Err(late()),
            }
        }
    }

    /// The addresses that the name stands for: those that are known, or as soon as some are.
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.0.address.as_str().parse() {
            return Ok(vec![address]);
        }
        let mut asked = false;
        loop {
            let found = self.0.found.notified();
            {
                let mut known = lock(&self.0.known);
                let fresh = known.since.is_some_and(|since| since.elapsed() < FRESH);
                if !known.looking && !fresh && !asked {
                    asked = true;
                    self.start_lookup(&mut known);
                }
                if !known.addresses.is_empty() {
                    return Ok(known.addresses.clone());
                }
                if !known.looking
                    && let Some(problem) = &known.problem
                {
                    return Err(Error::other(problem.clone()));
                }
            }
            found.await;
        }
    }

    /// Has a thread of its own look.
    fn start_lookup(&self, known: &mut LookupState) {
        let inner = Arc::clone(&self.0);
        let look = move || {
            let result = (inner.lookup)(inner.address.as_str());
            let mut known = lock(&inner.known);
            known.looking = false;
            match result {
                Ok(mut addresses) if !addresses.is_empty() => {
                    addresses.truncate(ADDRESSES);
                    (known.addresses, known.problem) = (addresses, None);
                    known.since = Some(Instant::now());
                }
                Ok(_) => known.problem = Some("the name has no address".to_owned()),
                Err(error) => known.problem = Some(error.to_string()),
            }
            drop(known);
            inner.found.notify_waiters();
        };
        match std::thread::Builder::new().name("resolver".to_owned()).spawn(look) {
            Ok(_) => known.looking = true,
            Err(error) => known.problem = Some(error.to_string()),
        }
    }
}

/// How long to wait before calling again a peer that did not answer.
///
/// Doubles from [`Backoff::FIRST`] to a cap, each wait shortened at random by up to half, so that
/// nodes that lost a peer together do not call it together.
///
/// The cap is short at first, and grows when the peer has not answered for a while: a member that
/// is down for a day is not called nine times a second. A member that starts calls by itself, and
/// is called back at once.
#[derive(Debug)]
pub(crate) struct Backoff {
    cap: Duration,
    next: Duration,
    attempts: u32,
    random: StdRng,
}

impl Backoff {
    /// The first wait.
    const FIRST: Duration = Duration::from_millis(50);
    /// No wait is longer. It is how much longer two nodes that were cut off may stay so.
    pub(crate) const LONGEST: Duration = Duration::from_secs(1);
    /// How many waits have the short cap.
    const EAGER: u32 = 16;

    /// With a short cap of half of a message's lifetime (within `FIRST..=LONGEST`): a message that
    /// is queued while the peer cannot be reached sees at least one attempt before it is too old.
    pub(crate) fn new(lifetime: Duration, seed: u64) -> Self {
        let cap = (lifetime / 2).clamp(Self::FIRST, Self::LONGEST);
        Self { cap, next: Self::FIRST, attempts: 0, random: StdRng::seed_from_u64(seed) }
    }

    /// The peer answered: begin from the first wait again.
    pub(crate) fn reset(&mut self) {
        (self.next, self.attempts) = (Self::FIRST, 0);
    }

    /// How long to wait this time.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.attempts = self.attempts.saturating_add(1);
        let cap = if self.attempts < Self::EAGER { self.cap } else { Self::LONGEST };
        self.next = (wait * 2).min(cap);
        wait.mul_f64(self.random.random_range(0.5..=1.0))
    }
}

/// Returns the answer of the node that is `there`.
pub(crate) async fn ask(
    there: &Resolver,
    credentials: &Credentials,
    question: &Opening,
) -> Result<Reply, Failure> {
    let stream = there.connect(LONGEST_CALL).await.map_err(Failure::Io)?;
    let mut channel = handshake::call(credentials, credentials.asked, stream).await?;
    handshake::ask(&mut channel, question).await
}

/// Prepares a connection.
///
/// `unanswered` bounds how long sent bytes may stay unacknowledged. Without it the kernel of a node
/// that was cut off goes on sending for a quarter of an hour, and delivers old messages when the
/// link heals. What the kernel refuses to do is not needed to be correct, so it is only logged.
pub(super) fn set_options(stream: &TcpStream, unanswered: Duration) {
    let result = stream.set_nodelay(true).and_then(|()| kernel_limits(stream, unanswered));
    if let Err(error) = result {
        tracing::debug!(%error, "the kernel refuses a socket option");
    }
}

/// Whether both ends of the connection are the same socket. TCP allows that when no process listens
/// on a port of this machine and the system happens to give the caller that very port.
fn is_self_connected(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(other)) if own == other)
}

#[cfg(target_os = "linux")]
fn kernel_limits(stream: &TcpStream, unanswered: Duration) -> io::Result<()> {
    use rustix::net::sockopt;
    let milliseconds = u32::try_from(unanswered.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, milliseconds)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn kernel_limits(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use tokio::time::sleep;

    use super::super::tests::bind;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(40);

    fn name() -> Address {
        "db.example.org:7000".parse().expect("an address")
    }

    /// So many threads wait for an answer. A thread takes a moment to start.
    async fn is_asked(asked: &AtomicUsize, times: usize) {
        let started = Instant::now();
        while asked.load(Ordering::Relaxed) < times && started.elapsed() < LIMIT {
            sleep(AGAIN).await;
        }
        assert_eq!(asked.load(Ordering::Relaxed), times);
    }

    /// 192.0.2.1 is for documentation: no machine has it. Here the first address is dead, whether
    /// the system says so or not.
    #[tokio::test]
    async fn a_dead_address_is_not_in_the_way_of_one_that_lives() {
        let (_listener, alive) = bind().await;
        let dead = SocketAddr::from(([192, 0, 2, 1], 7_000));
        let lookup = move |_: &str| Ok(vec![dead, alive]);
        let resolver = Resolver::with(name(), Box::new(lookup));
        let started = Instant::now();
        let stream = resolver.connect(LIMIT).await.expect("one of them answers");
        assert_eq!(stream.peer_addr().expect("connected"), alive);
        assert!(started.elapsed() < LIMIT / 2, "{:?}", started.elapsed());
    }

    #[tokio::test]
    async fn a_resolver_that_hangs_is_asked_once_and_what_was_known_stays_in_use() {
        let (_listener, alive) = bind().await;
        let (answer, answers) = mpsc::channel::<()>();
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let answers = Mutex::new(answers);
        let lookup = move |_: &str| {
            counter.fetch_add(1, Ordering::Relaxed);
            let answers = answers.lock().expect("no panic");
            answers.recv().map_err(|_| Error::other("no such name"))?;
            Ok(vec![alive])
        };
        let resolver = Resolver::with(name(), Box::new(lookup));
        let soon = Duration::from_millis(700);
        for _ in 0..3 {
            let error = resolver.connect(soon).await.expect_err("it hangs");
            assert!(error.to_string().contains("not resolved within"), "{error}");
        }
        is_asked(&asked, 1).await;
        answer.send(()).expect("it waits");
        resolver.connect(LIMIT).await.expect("it is known now");
        sleep(FRESH).await;
        for _ in 0..3 {
            let started = Instant::now();
            resolver.connect(LIMIT).await.expect("it was known");
            assert!(started.elapsed() < LIMIT / 2, "{:?}", started.elapsed());
        }
        sleep(AGAIN).await;
        is_asked(&asked, 2).await;
        drop(answer);
    }

    #[tokio::test]
    async fn why_a_name_leads_nowhere_is_told() {
        let lookup = |_: &str| Err(Error::other("no such name"));
        let resolver = Resolver::with(name(), Box::new(lookup));
        let error = resolver.connect(LIMIT).await.expect_err("nowhere");
        assert_eq!(error.to_string(), "no such name");
        let resolver = Resolver::with(name(), Box::new(|_: &str| Ok(Vec::new())));
        let error = resolver.connect(LIMIT).await.expect_err("nowhere");
        assert_eq!(error.to_string(), "the name has no address");
        // While it is bound, no other test listens there.
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let address = socket.local_addr().expect("an address");
        let resolver = Resolver::new(address.to_string().parse().expect("an address"));
        let error = resolver.connect(LIMIT).await.expect_err("nothing listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn waits_grow_to_half_of_the_lifetime_of_a_message_and_later_beyond() {
        let mut backoff = Backoff::new(Duration::from_millis(600), 7);
        // The eager ones, and those of a peer that never answers.
        let most = [50, 100, 200].into_iter().chain([300; 13]).chain([600, 1_000, 1_000, 1_000]);
        for most in most {
            let wait = backoff.next().as_millis();
            assert!((most / 2..=most).contains(&wait), "{wait} of at most {most}");
        }
        backoff.reset();
        assert!(backoff.next() <= Backoff::FIRST);
        assert!((1..Backoff::EAGER).all(|_| backoff.next() <= Duration::from_millis(300)));
    }

    #[test]
    fn the_same_seed_gives_the_same_waits() {
        let waits = |seed| {
            let mut backoff = Backoff::new(Duration::from_secs(9), seed);
            [(); 6].map(|()| backoff.next())
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }
}
