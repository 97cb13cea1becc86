//! The network between the nodes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bellwether_testbed::ports::free_port;
use bellwether_testbed::process::quiet;
use bellwether_testbed::relay::{Moved, Slow};

/// From one node to another.
pub(crate) type Way = (u16, u16);

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
pub(crate) struct Loopback(Vec<u16>);

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
