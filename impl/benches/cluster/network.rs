//! The network between the nodes.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// From one node to another.
pub(crate) type Way = (u16, u16);

/// Round trips that are slow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slow {
    /// Which part of them, from 0 to 1.
    pub(crate) part: f64,
    /// By how much each of them is longer: so much at least, and half as much more at most, or
    /// twice that if both ways are slow.
    pub(crate) least: Duration,
}

/// What data was moved between nodes, in pieces as they come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    pub(crate) pieces: u64,
    /// Those of them that were slow.
    pub(crate) slow: u64,
}

/// A network that a test can break.
pub(crate) trait Network {
    /// What it is, for people.
    fn name(&self) -> &'static str;

    /// Where a node listens for the others.
    fn address(&self, node: u16) -> String;

    /// Where `from` reaches `to`.
    fn member(&self, from: u16, to: u16) -> String;

    /// Whether a node has one address for all others, as in a list that is changed by a request.
    fn has_one_address_each(&self) -> bool {
        true
    }

    /// Where a node serves HTTP, reached from here.
    fn http(&self, _node: u16) -> String {
        format!("127.0.0.1:{}", free_port())
    }

    /// The host at which a node reaches this program.
    fn host(&self, _node: u16) -> String {
        "127.0.0.1".to_owned()
    }

    /// A program that runs where the node is.
    fn command(&self, _node: u16, program: &Path) -> Command {
        quiet(program)
    }

    /// Exactly these ways are cut from now on.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn cut(&mut self, cut: &BTreeSet<Way>) -> anyhow::Result<()>;

    /// All data takes so much longer from now on. False if this network cannot do that.
    fn delay(&mut self, delay: Duration) -> bool;

    /// Some round trips are slow from now on, besides. False if this network cannot do that.
    fn slow_trips(&mut self, _slow: Slow) -> bool {
        false
    }

    /// What was moved since then.
    fn moved(&self) -> Moved {
        Moved::default()
    }
}

/// Nodes that reach each other without anything between.
pub(crate) struct Loopback(pub(crate) Vec<u16>);

impl Loopback {
    pub(crate) fn new(nodes: u16) -> Self {
        Self((1..=nodes).map(|_| free_port()).collect())
    }
}

impl Network for Loopback {
    fn name(&self) -> &'static str {
        "loopback"
    }

    fn address(&self, node: u16) -> String {
        format!("127.0.0.1:{}", self.0[usize::from(node) - 1])
    }

    fn member(&self, _from: u16, to: u16) -> String {
        self.address(to)
    }

    fn cut(&mut self, cut: &BTreeSet<Way>) -> anyhow::Result<()> {
        anyhow::ensure!(cut.is_empty(), "nothing can be cut here");
        Ok(())
    }

    fn delay(&mut self, delay: Duration) -> bool {
        delay.is_zero()
    }
}

/// A program without standard streams, and without what the environment says to the daemon.
pub(crate) fn quiet(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("BELLWETHER_")) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A port on which no process listens, below those that the system hands out by itself, so that no
/// outgoing connection takes it before the node does.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that are started one after the other begin far apart.
    let start = u16::try_from(std::process::id().wrapping_mul(601) % 12_000).unwrap_or(0);
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (start + offset) % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
