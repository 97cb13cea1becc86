//! The network between the processes: a relay for each direction between two nodes. It understands
//! as much of a connection as is needed to tell messages of the protocol from all else, which goes
//! through at once. A message waits until it is let through, or taken away.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The side that calls says two frames before the first message: its greeting, and who it is.
const BEFORE: usize = 2;

/// The first byte of a frame that has a message: without a number, or with one.
const MESSAGES: [u8; 2] = [0, 6];

/// The largest frame that is relayed, in bytes: more than any is.
const LARGEST: usize = 1 << 20;

/// From which node to which.
type Link = (u16, u16);

/// The relays. When this is dropped, they end.
pub(super) struct Network {
    shared: Arc<Shared>,
    relays: Vec<SocketAddr>,
}

#[derive(Default)]
struct Shared {
    /// The messages that wait, in the order in which they came.
    waiting: Mutex<Vec<Message>>,
    over: AtomicBool,
}

/// A message that waits.
struct Message {
    link: Link,
    frame: Vec<u8>,
    /// Its connection.
    to: Arc<Mutex<TcpStream>>,
}

impl Network {
    pub(super) fn new() -> Self {
        Self { shared: Arc::default(), relays: Vec::new() }
    }

    /// Begins to relay what one node says to another, which listens there. Returns where.
    pub(super) fn relay(&mut self, link: Link, target: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::clone(&self.shared);
        let relays = move || {
            for near in listener.incoming().flatten() {
                if shared.over.load(Ordering::SeqCst) {
                    return;
                }
                // A process that is down accepts none: the connection to the relay ends as well.
                if let Ok(far) = TcpStream::connect(target) {
                    let _ = shared.connect(link, near, far);
                }
            }
        };
        thread::Builder::new().name("relay".to_owned()).spawn(relays)?;
        self.relays.push(address);
        Ok(address)
    }

    /// Lets all messages through that wait, but those from or to the node at this place, if one is
    /// given. Returns how many there were.
    pub(super) fn deliver_all(&self, but: Option<usize>) -> u64 {
        let is_of = |node: u16| but.is_some_and(|at| usize::from(node) == at + 1);
        let mut waiting = self.shared.waiting();
        let all = std::mem::take(&mut *waiting);
        let (kept, due): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|message| is_of(message.link.0) || is_of(message.link.1));
        *waiting = kept;
        drop(waiting);
        due.iter().for_each(Message::deliver);
        due.len() as u64
    }

    /// Takes out the first message of one link; which one, is up to `choice`.
    fn take(&self, choice: usize) -> Option<Message> {
        let mut waiting = self.shared.waiting();
        let mut links: Vec<Link> = waiting.iter().map(|message| message.link).collect();
        links.sort_unstable();
        links.dedup();
        let link = *links.get(choice.checked_rem(links.len())?)?;
        let first = waiting.iter().position(|message| message.link == link)?;
        Some(waiting.remove(first))
    }

    /// Lets the first message of one link through. Returns whether there was one.
    pub(super) fn deliver(&self, choice: usize) -> bool {
        let message = self.take(choice);
        message.iter().for_each(Message::deliver);
        message.is_some()
    }

    /// Takes the first message of one link away. Returns whether there was one.
    pub(super) fn lose(&self, choice: usize) -> bool {
        self.take(choice).is_some()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Each waits for a connection.
        self.relays.iter().for_each(|relay| drop(TcpStream::connect(relay)));
    }
}

impl Message {
    /// A connection that has ended takes nothing any more.
    fn deliver(&self) {
        let _ = lock(&self.to).write_all(&self.frame);
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Vec<Message>> {
        lock(&self.waiting)
    }

    /// Relays one connection, on two threads.
    fn connect(self: &Arc<Self>, link: Link, near: TcpStream, far: TcpStream) -> io::Result<()> {
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        let (mut answers, mut back) = (far.try_clone()?, near.try_clone()?);
        thread::Builder::new().name("answers".to_owned()).spawn(move || {
            let _ = io::copy(&mut answers, &mut back);
            let _ = answers.shutdown(Shutdown::Both);
            let _ = back.shutdown(Shutdown::Both);
        })?;
        let shared = Arc::clone(self);
        thread::Builder::new().name("says".to_owned()).spawn(move || {
            let far = Arc::new(Mutex::new(far));
            let _ = shared.forward(link, &near, &far);
            // What was not let through before one side ended never arrives.
            shared.waiting().retain(|one| !Arc::ptr_eq(&one.to, &far));
            let _ = near.shutdown(Shutdown::Both);
            let _ = lock(&far).shutdown(Shutdown::Both);
        })?;
        Ok(())
    }

    /// Relays what one node says to another, until the connection ends.
    fn forward(
        &self,
        link: Link,
        mut near: &TcpStream,
        far: &Arc<Mutex<TcpStream>>,
    ) -> io::Result<()> {
        for number in 0.. {
            let frame = read_frame(&mut near)?;
            let is_message = frame.get(4).is_some_and(|kind| MESSAGES.contains(kind));
            if number >= BEFORE && is_message {
                let to = Arc::clone(far);
                self.waiting().push(Message { link, frame, to });
            } else {
                lock(far).write_all(&frame)?;
            }
        }
        Ok(())
    }
}

/// The next frame: its length, big endian, and that many bytes.
fn read_frame(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let count = u32::from_be_bytes(length) as usize;
    if count > LARGEST {
        return Err(io::Error::other("a frame that is too large"));
    }
    let mut frame = length.to_vec();
    frame.resize(4 + count, 0);
    from.read_exact(&mut frame[4..])?;
    Ok(frame)
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
