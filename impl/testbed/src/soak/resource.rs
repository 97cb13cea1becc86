//! The resource that every leader hammers: one number behind a fence.
//!
//! A writer raises the fence, reads the number, and then writes the next ones without reading
//! again. It says how it sees what was written, so the resource notices if another has written
//! between, and it notices what its fence should have refused.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether::fence::{Fence, Token};
use bellwether::storage::Memory;
use bellwether::{Epoch, NodeId};

/// The name of the number.
const NUMBER: &str = "number";

/// How long a writer waits between two writes.
const BETWEEN: Duration = Duration::from_millis(1);

/// How a writer begins a line that says that it is not the only one.
const BESIDE: &str = "beside ";

/// Of what must not happen, so much is kept. A thousand times a second is enough to fill a screen.
const KEPT: usize = 50;

/// A write that was accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accepted {
    pub(crate) node: u16,
    pub(crate) epoch: u64,
    /// When the first write of the epoch was accepted.
    pub(crate) first: Instant,
    /// When the last was.
    pub(crate) last: Instant,
}

/// What has come to the resource so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The epoch of the write that was accepted last.
    pub(crate) latest: Option<Accepted>,
    /// The node that has written in each epoch.
    pub(crate) writers: BTreeMap<u64, u16>,
    pub(crate) accepted: u64,
    /// Writes of an old epoch: without a fence, they would have been done.
    pub(crate) refused: u64,
    /// Writes of a second node in one epoch. A fence that knows no nodes admits them.
    pub(crate) shared: u64,
    /// Commands that started while another ran.
    pub(crate) beside: u64,
    /// The longest time between two accepted writes since this was asked last.
    pub(crate) gap: Duration,
    /// What must not happen.
    pub(crate) violations: Vec<String>,
}

struct State {
    fence: Fence<u64>,
    seen: Seen,
    /// The node that was stopped with the keeper of its command, which no process can end then.
    stopped: Option<u16>,
}

impl State {
    fn new() -> anyhow::Result<Self> {
        let fence = Fence::open(Memory::default())?;
        Ok(Self { fence, seen: Seen::default(), stopped: None })
    }
}

/// The resource. A clone is the same.
#[derive(Clone)]
pub(crate) struct Resource {
    state: Arc<Mutex<State>>,
    pub(crate) port: u16,
}

impl Resource {
    /// A resource that is served until this program ends.
    pub(crate) fn serve() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("0.0.0.0", 0)).context("cannot serve the resource")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(State::new()?));
        let resource = Self { state, port };
        let served = resource.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let resource = served.clone();
                thread::spawn(move || resource.answer(&stream));
            }
        });
        Ok(resource)
    }

    pub(crate) fn seen(&self) -> Seen {
        self.state().seen.clone()
    }

    /// The newest epoch in which something was written; 0 if nothing was.
    pub(crate) fn epoch(&self) -> u64 {
        self.leader().0
    }

    /// The node that has written last, and in which epoch.
    pub(crate) fn latest(&self) -> Option<Accepted> {
        self.state().seen.latest
    }

    /// Returns the epoch of the write that was accepted last, and the node.
    pub(crate) fn leader(&self) -> (u64, u16) {
        self.latest().map_or((0, 1), |latest| (latest.epoch, latest.node))
    }

    /// The longest time between two accepted writes from the last question to now.
    pub(crate) fn take_gap(&self) -> Duration {
        let seen = &mut self.state().seen;
        let open = seen.latest.map_or(Duration::ZERO, |latest| latest.last.elapsed());
        std::mem::take(&mut seen.gap).max(open)
    }

    /// The command of this node may run beside the next one, until this is said of another: the
    /// node is stopped with the keeper of the command.
    pub(crate) fn excuse(&self, stopped: Option<u16>) {
        self.state().stopped = stopped;
    }

    /// Something else that must not happen.
    pub(crate) fn violated(&self, what: String) {
        self.state().seen.violate(what);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one writer, until it ends.
    fn answer(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let mut stream = stream;
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            let (beside, said) = line.strip_prefix(BESIDE).map_or((false, &*line), |s| (true, s));
            let numbers: Vec<u64> = said.split(' ').filter_map(|n| n.parse().ok()).collect();
            let answer = match numbers[..] {
                [node, epoch, other] if beside => Some(self.state().beside(node, epoch, other)),
                [node, epoch] => self.state().write(node, epoch, None),
                [node, epoch, number] => self.state().write(node, epoch, Some(number)),
                _ => return,
            };
            let answer = answer.map_or_else(|| "stale".to_owned(), |number| number.to_string());
            if writeln!(stream, "{answer}").is_err() {
                return;
            }
        }
    }
}

impl State {
    /// Raises the fence, and writes a number if there is one. Returns what is kept then; nothing if
    /// the epoch is old.
    fn write(&mut self, node: u64, epoch: u64, number: Option<u64>) -> Option<u64> {
        let now = Instant::now();
        let id = u16::try_from(node).ok().and_then(NodeId::new)?;
        let (seen, node) = (&mut self.seen, id.get());
        // The fence would refuse the second one, and all would look well.
        let writer = *seen.writers.entry(epoch).or_insert(node);
        if writer != node {
            seen.shared += u64::from(number.is_some());
            seen.violate(format_args!("epoch {epoch} is led by node {writer} and node {node}"));
        }
        let mut before = 0;
        let token = Token { epoch: Epoch::new(epoch), node: id };
        let written = self.fence.write(NUMBER, token, |kept| {
            before = *kept;
            *kept = number.unwrap_or(*kept);
        });
        if written.is_err() {
            seen.refused += 1;
            return None;
        }
        let Some(number) = number else { return Some(before) };
        if number != before + 1 {
            seen.violate(format_args!(
                "node {node} writes {number} in epoch {epoch} over {before}: another has written \
                 since it has raised the fence"
            ));
        }
        let mut accepted = Accepted { node, epoch, first: now, last: now };
        if let Some(latest) = seen.latest {
            seen.gap = seen.gap.max(now.duration_since(latest.last));
            if epoch < latest.epoch {
                let newer = latest.epoch;
                seen.violate(format_args!("a write of epoch {epoch} after one of {newer}"));
            }
            if epoch == latest.epoch {
                accepted.first = latest.first;
            }
        }
        seen.latest = Some(accepted);
        seen.accepted += 1;
        Some(number)
    }

    /// The command of a node starts while that of another runs. Returns how often that was.
    fn beside(&mut self, node: u64, epoch: u64, other: u64) -> u64 {
        self.seen.beside += 1;
        if self.stopped.map(u64::from) != Some(other) {
            self.seen.violate(format_args!(
                "the command of node {node} in epoch {epoch} starts while that of node {other} runs"
            ));
        }
        self.seen.beside
    }
}

impl Seen {
    fn violate(&mut self, what: impl fmt::Display) {
        if self.violations.len() < KEPT {
            self.violations.push(what.to_string());
        }
    }
}

/// The command of a leader: writes in its epoch until it is killed, also if it is refused. With
/// etcd, nothing ends it when the lease is lost, so there it ends when it is refused. With a lock
/// that all commands take, it says if another runs as it starts.
pub(crate) fn hammer(
    node: u16,
    resource: &str,
    etcd: Option<&str>,
    lock: Option<&Path>,
) -> anyhow::Result<()> {
    // Until this process is gone.
    let alone = lock.map(|lock| Alone::enter(lock, node)).transpose()?;
    let epoch = match etcd {
        Some(etcd) => super::etcd::revision(etcd)?,
        None => std::env::var("BELLWETHER_EPOCH").context("no BELLWETHER_EPOCH")?,
    };
    let stream = TcpStream::connect(resource).context("no resource")?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?).lines();
    let mut ask = |line: String| -> anyhow::Result<Option<u64>> {
        (&stream).write_all(line.as_bytes())?;
        let answer = answers.next().context("the resource has gone")??;
        Ok(answer.parse().ok())
    };
    if let Some(other) = alone.as_ref().and_then(|alone| alone.beside) {
        ask(format!("{BESIDE}{node} {epoch} {other}\n"))?;
    }
    let mut number = ask(format!("{node} {epoch}\n"))?.unwrap_or(0);
    loop {
        match ask(format!("{node} {epoch} {}\n", number + 1))? {
            Some(written) => number = written,
            None if etcd.is_some() => return Ok(()),
            None => {}
        }
        thread::sleep(BETWEEN);
    }
}

/// A lock that the command of a leader takes or waits for, and keeps until its process is gone. So
/// a command that starts finds out whether another runs still, by the kernel, and not by any clock.
struct Alone {
    _lock: File,
    /// The node whose command had the lock when this one came; 0 if it had not said so yet.
    beside: Option<u16>,
}

impl Alone {
    /// Takes the lock for the command of a node. If another command has it, the lock is waited for
    /// meanwhile, so that the next command that comes finds this one.
    fn enter(path: &Path, node: u16) -> anyhow::Result<Self> {
        let lock = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
        let beside = match lock.try_lock() {
            Ok(()) => {
                sign(&lock, node)?;
                None
            }
            Err(TryLockError::WouldBlock) => {
                let mut name = String::new();
                (&lock).read_to_string(&mut name)?;
                let waiting = lock.try_clone()?;
                thread::spawn(move || waiting.lock().and_then(|()| sign(&waiting, node)));
                Some(name.trim().parse().unwrap_or(0))
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        };
        Ok(Self { _lock: lock, beside })
    }
}

/// Writes down which node has the lock.
fn sign(lock: &File, node: u16) -> io::Result<()> {
    lock.set_len(0)?;
    lock.write_all_at(node.to_string().as_bytes(), 0)
}

#[cfg(test)]
mod tests {
    use bellwether_testbed::wait;

    use super::*;

    #[test]
    fn the_resource_notices_two_leaders() -> anyhow::Result<()> {
        let mut state = State::new()?;
        let good = [(1, 1, None, Some(0)), (1, 1, Some(1), Some(1)), (2, 2, None, Some(1))];
        for (node, epoch, number, kept) in good {
            anyhow::ensure!(state.write(node, epoch, number) == kept, "{node} {epoch} {number:?}");
        }
        anyhow::ensure!(state.write(1, 1, Some(2)).is_none(), "an old epoch");
        anyhow::ensure!(state.seen.refused == 1 && state.seen.violations.is_empty());
        anyhow::ensure!(state.write(3, 2, Some(2)).is_none(), "another node in this epoch");
        anyhow::ensure!(state.seen.violations.len() == 1, "two leaders of one epoch");
        state.write(2, 2, Some(3));
        anyhow::ensure!(state.seen.violations.len() == 2, "one writes between");
        anyhow::ensure!(state.seen.shared == 1, "{}", state.seen.shared);
        state.stopped = Some(1);
        state.beside(2, 2, 1);
        anyhow::ensure!(state.seen.violations.len() == 2, "the command of a node that is stopped");
        state.beside(2, 2, 3);
        anyhow::ensure!(state.seen.violations.len() == 3, "two commands");
        for _ in 0..2 * KEPT {
            state.write(3, 2, Some(2));
        }
        anyhow::ensure!(state.seen.violations.len() == KEPT, "{}", state.seen.violations.len());
        Ok(())
    }

    /// A second command at a time is noticed, and a third that comes after the first has ended.
    #[test]
    fn two_commands_at_a_time_are_noticed() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("alone");
        let first = Alone::enter(&path, 1)?;
        anyhow::ensure!(first.beside.is_none(), "the first is alone");
        let second = Alone::enter(&path, 2)?;
        anyhow::ensure!(second.beside == Some(1), "{:?}", second.beside);
        drop(first);
        let signed = || std::fs::read_to_string(&path).is_ok_and(|name| name == "2");
        wait::until("the second has the lock", Duration::from_secs(10), signed)?;
        let third = Alone::enter(&path, 3)?;
        anyhow::ensure!(third.beside == Some(2), "{:?}", third.beside);
        drop((second, third));
        // The third has waited for the lock until now.
        let free = || Alone::enter(&path, 4).is_ok_and(|fourth| fourth.beside.is_none());
        wait::until("no command has the lock", Duration::from_secs(10), free)?;
        Ok(())
    }
}
