//! A network of the kernel's: a network namespace for each node, and this program's own as the
//! router between them, which drops what it is told to.
//!
//! This program starts itself anew in namespaces of its own, of the network and of processes. So
//! nothing of it can be seen on the machine, and when it ends, however it does, the kernel ends the
//! nodes and removes the network.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

use bellwether_testbed::process::{Process, quiet};
use bellwether_testbed::wait;

use super::network::{Network, Way};

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
        let mut tried = Command::new("unshare");
        tried.args(flags).args(["sh", "-c", attempt]);
        tried.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if !tried.status().is_ok_and(|status| status.success()) {
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

/// The network.
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
            let mut holder = Command::new("unshare");
            holder.args(["--net", "sleep", "infinity"]).stdin(Stdio::null());
            network.holders.push(Process::spawn(&mut holder).context("cannot start unshare")?);
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
            let enter = ["-t", &holder, "-n", "ip"];
            run("nsenter", &[&enter, arguments].concat())
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

    fn member(&self, _from: u16, to: u16) -> String {
        self.address(to)
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

    fn delay(&mut self, delay: Duration) -> bool {
        delay.is_zero()
    }
}

fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{program} {}: {}", arguments.join(" "), said.trim());
    }
    Ok(())
}
