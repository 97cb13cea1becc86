//! The network between the nodes: loopback alone, relays on it, or one of the kernel's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_testbed::ports::free_port;
use bellwether_testbed::process::{Process, command, quiet, said};
use bellwether_testbed::relay::{Moved, Relay, Slow, Trips, Weather};
use bellwether_testbed::wait;
use tokio::runtime::Runtime;

/// From one node to another.
pub(crate) type Way = (u16, u16);

/// A network that a test can break.
pub(crate) trait Network {
    /// What it is, for people.
    fn name(&self) -> &'static str;

    /// Where a node listens for the others.
    fn address(&self, node: u16) -> String;

    /// Where `from` reaches `to`.
    fn member(&self, _from: u16, to: u16) -> String {
        self.address(to)
    }

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
    fn delay(&mut self, delay: Duration) -> bool {
        delay.is_zero()
    }

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

    fn cut(&mut self, cut: &BTreeSet<Way>) -> anyhow::Result<()> {
        anyhow::ensure!(cut.is_empty(), "nothing can be cut here");
        Ok(())
    }
}

/// A relay in each way between two nodes, which can withhold and delay. The relays run until this
/// is dropped.
pub(crate) struct Relays {
    relays: BTreeMap<Way, Relay>,
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
        let (trips, mut relays) = (Arc::default(), BTreeMap::new());
        for (from, to) in (1..=nodes).flat_map(|from| (1..=nodes).map(move |to| (from, to))) {
            if from != to {
                let relay = Relay::listen(runtime.handle(), 0, ports[&to], &trips);
                relays.insert((from, to), relay.context("cannot listen for a relay")?);
            }
        }
        Ok(Self { relays, ports, trips, _runtime: runtime })
    }

    /// Changes what becomes of all data.
    fn change(&self, change: impl Fn(&mut Weather)) {
        for relay in self.relays.values() {
            relay.there(&change);
            relay.back(&change);
        }
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
        let relay = self.relays.get(&(from, to));
        relay.map_or_else(|| self.address(to), |relay| relay.address().to_string())
    }

    fn has_one_address_each(&self) -> bool {
        false
    }

    fn cut(&mut self, cut: &BTreeSet<Way>) -> anyhow::Result<()> {
        for (&(from, to), relay) in &self.relays {
            relay.there(|there| there.cut = cut.contains(&(from, to)));
            relay.back(|back| back.cut = cut.contains(&(to, from)));
        }
        Ok(())
    }

    fn delay(&mut self, delay: Duration) -> bool {
        self.change(|weather| weather.delay = delay);
        true
    }

    fn slow_trips(&mut self, slow: Slow) -> bool {
        self.change(|weather| weather.slow = slow);
        true
    }

    fn moved(&self) -> Moved {
        self.trips.moved()
    }
}

/// Says that this program has started itself anew.
const INSIDE: &str = "SOAK_INSIDE";

/// The program that makes namespaces, and what it is asked for, as root and as another user.
const UNSHARE: [&[&str]; 2] = [
    &["--net", "--pid", "--mount-proc", "--fork", "--kill-child"],
    &["--user", "--map-root-user", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"],
];

/// The ports of every node.
const PORT: u16 = 7000;
const HTTP: u16 = 8080;

/// Whether this program runs in namespaces of its own.
pub(crate) fn are_ours() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Starts this program anew with these arguments in namespaces of its own, and does not return,
/// unless that is impossible; then it says why.
pub(crate) fn enter(arguments: &[OsString]) -> anyhow::Error {
    // Everything that is needed inside is tried first.
    let attempt = "ip link set lo up && ip rule add from 10.77.1.1 to 10.77.2.1 blackhole && \
                   ip link add probe0 type veth peer name probe1 && \
                   echo 1 > /proc/sys/net/ipv4/ip_forward && nsenter --version";
    for flags in UNSHARE {
        if said(command("unshare").args(flags).args(["sh", "-c", attempt])).is_err() {
            continue;
        }
        let Ok(program) = std::env::current_exe() else { continue };
        let mut command = Command::new("unshare");
        command.args(flags).arg(program).args(arguments).env(INSIDE, "1");
        return command.exec().into();
    }
    anyhow::anyhow!("unshare, nsenter and ip cannot make network namespaces here")
}

/// Makes a namespace of our own usable.
pub(crate) fn settle_in() -> anyhow::Result<()> {
    if are_ours() { ip(&["link", "set", "lo", "up"]) } else { Ok(()) }
}

/// A network namespace for each node, and this program's own as the router between them, which
/// drops what it is told to.
///
/// This program starts itself anew in namespaces of its own, of the network and of processes. So
/// nothing of it can be seen on the machine, and when it ends, however it does, the kernel ends the
/// nodes and removes the network.
pub(crate) struct Namespaces {
    /// A process in the namespace of each node, which keeps it.
    holders: Vec<Process>,
    cut: BTreeSet<Way>,
}

impl Namespaces {
    pub(crate) fn start(nodes: u16) -> anyhow::Result<Self> {
        anyhow::ensure!(are_ours(), "this is not a namespace of our own");
        let mut network = Self { holders: Vec::new(), cut: BTreeSet::new() };
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("cannot route")?;
        for node in 1..=nodes {
            let holder = Process::spawn(command("unshare").args(["--net", "sleep", "infinity"]));
            network.holders.push(holder.context("cannot start unshare")?);
            network.connect(node).with_context(|| format!("the namespace of node {node}"))?;
        }
        Ok(network)
    }

    fn holder(&self, node: u16) -> String {
        self.holders[usize::from(node) - 1].id().to_string()
    }

    fn connect(&self, node: u16) -> anyhow::Result<()> {
        let holder = self.holder(node);
        let namespace = |id: &str| std::fs::read_link(format!("/proc/{id}/ns/net")).ok();
        let own = namespace("self");
        let separate = || namespace(&holder).is_some_and(|there| Some(&there) != own.as_ref());
        wait::until("it has one of its own", Duration::from_secs(10), separate)?;
        let (near, router) = (format!("node{node}"), format!("10.77.{node}.254"));
        ip(&["link", "add", &near, "type", "veth", "peer", "name", "eth0", "netns", &holder])?;
        ip(&["addr", "add", &format!("{router}/24"), "dev", &near])?;
        ip(&["link", "set", &near, "up"])?;
        let there = |arguments: &[&str]| {
            let mut enter = command("nsenter");
            said(enter.args(["-t", &holder, "-n", "ip"]).args(arguments)).map(drop)
        };
        there(&["addr", "add", &format!("10.77.{node}.1/24"), "dev", "eth0"])?;
        there(&["link", "set", "lo", "up"])?;
        there(&["link", "set", "eth0", "up"])?;
        there(&["route", "add", "default", "via", &router])
    }
}

impl Network for Namespaces {
    fn name(&self) -> &'static str {
        "network namespaces"
    }

    fn address(&self, node: u16) -> String {
        format!("10.77.{node}.1:{PORT}")
    }

    fn http(&self, node: u16) -> String {
        format!("10.77.{node}.1:{HTTP}")
    }

    fn host(&self, node: u16) -> String {
        format!("10.77.{node}.254")
    }

    fn command(&self, node: u16, program: &Path) -> Command {
        let mut command = quiet("nsenter");
        command.args(["-t", &self.holder(node), "-n", "--"]).arg(program);
        command
    }

    /// The router drops what comes from the one node and goes to the other, without a word.
    fn cut(&mut self, cut: &BTreeSet<Way>) -> anyhow::Result<()> {
        let rule = |what: &str, &(from, to): &Way| {
            let (from, to) = (format!("10.77.{from}.1"), format!("10.77.{to}.1"));
            ip(&["rule", what, "from", &from, "to", &to, "blackhole"])
        };
        cut.difference(&self.cut).try_for_each(|way| rule("add", way))?;
        self.cut.difference(cut).try_for_each(|way| rule("del", way))?;
        self.cut.clone_from(cut);
        Ok(())
    }
}

fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    said(command("ip").args(arguments)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use bellwether_testbed::process;

    use super::*;
    use crate::cluster::{Cluster, Security, Setup, daemon, section};
    use crate::quiescent::{Said, most_followed};
    use crate::report::note;

    /// How long each message takes, one way. A handshake goes there and back three times.
    const DELAY: Duration = Duration::from_millis(260);

    /// The usual times of the protocols, so many times as long: an answer takes 520 ms, and is
    /// waited for 1.2 s.
    const PACE: f64 = 4.0;

    /// How long it may take until all follow one, and for how long nothing may change then.
    const LIMIT: Duration = Duration::from_secs(60);
    const CALM: Duration = Duration::from_secs(5);

    #[test]
    fn nodes_agree_over_links_that_are_slow() -> anyhow::Result<()> {
        if process::daemon().is_none() {
            note("skipped: the daemon, which is of another package, is not built");
            return Ok(());
        }
        ["quorum", "bully"].into_iter().try_for_each(|protocol| {
            agrees(protocol).with_context(|| format!("{protocol}, {DELAY:?} each way"))
        })
    }

    fn agrees(protocol: &str) -> anyhow::Result<()> {
        let nodes = 5;
        let mut network = Relays::start(nodes)?;
        anyhow::ensure!(network.delay(DELAY), "relays can delay");
        let (section, _) = section(protocol, PACE, nodes)?;
        let setup = Setup {
            security: Security::Tls,
            network_timeout: Duration::from_secs(2),
            ..Setup::new(daemon()?, nodes, protocol, move |_| section.clone())
        };
        let mut cluster = Cluster::new(setup, Box::new(network))?;
        (1..=nodes).try_for_each(|node| cluster.start(node))?;
        let until = Instant::now() + LIMIT;
        let all = usize::from(nodes);
        wait::until("all follow one", LIMIT, || most_followed(&cluster, nodes, until) == all)?;
        // What the beginning has left is over.
        wait::sleep(CALM / 2)?;
        let changes = || -> Option<Vec<f64>> {
            (1..=nodes).map(|node| Some(Said::ask(&cluster.http[&node])?.changes)).collect()
        };
        let before = changes().context("no answer")?;
        wait::sleep(CALM)?;
        let after = changes().context("no answer")?;
        anyhow::ensure!(before == after, "changes of role: {before:?}, then {after:?}");
        anyhow::ensure!(most_followed(&cluster, nodes, Instant::now() + LIMIT) == all);
        Ok(())
    }
}
