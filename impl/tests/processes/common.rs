//! A cluster of real processes on loopback, which are gone when the test is, however it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bellwether_docs_runner::object_of;
use bellwether_testbed::process::Processes;
use serde_json::Value;
use tokio::net::ToSocketAddrs;

pub(crate) use bellwether_testbed::ports::free_port;
pub(crate) use bellwether_testbed::process::{Process, Signal, command as daemon, is_alive};
pub(crate) use bellwether_testbed::wait::{LIMIT, wait_until};

const BULLY: &str = "\
[bully]
election = \"300ms\"
coordinator = \"800ms\"
watch = \"1s\"
heartbeat = \"50ms\"
";

/// The file of the daemon.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_bellwether");

/// The daemon, without what the environment says about it.
pub(crate) fn bellwether() -> Command {
    daemon(PROGRAM)
}

/// Listens at an address that was in use. For a moment, a process that another test has just forked
/// has the listener open as well.
pub(crate) async fn listen_again(address: impl ToSocketAddrs + Copy) -> tokio::net::TcpListener {
    let deadline = Instant::now() + LIMIT;
    loop {
        match tokio::net::TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => assert!(Instant::now() < deadline, "the port is not free: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Nodes `1..=size`, their configuration and their logs.
pub(crate) struct Cluster {
    processes: Processes,
    protocol: String,
    sections: String,
    pub(crate) ports: BTreeMap<u16, u16>,
}

/// The status of a node, or of its groups, as it is printed.
#[track_caller]
fn fitting(printed: &[u8]) -> Value {
    let is_of_groups = String::from_utf8_lossy(printed).contains("\"groups\":");
    let name = if is_of_groups { "bellwether-status-groups" } else { "bellwether-status" };
    object_of(name, printed)
}

impl Cluster {
    /// A cluster that runs the bully.
    pub(crate) fn new(size: u16) -> Self {
        Self::running(size, "bully", BULLY)
    }

    /// A cluster that runs `protocol`, whose section and more stand in `sections`. Durable state
    /// is kept beside the configuration.
    pub(crate) fn running(size: u16, protocol: &str, sections: &str) -> Self {
        let ports: BTreeMap<u16, u16> = (1..=size).map(|node| (node, free_port())).collect();
        let processes = Processes::new().expect("a directory");
        let sections = format!("[storage]\ndirectory = \"{{protocol}}-{{node}}\"\n{sections}");
        let protocol = protocol.to_owned();
        let cluster = Self { processes, protocol, sections, ports };
        std::fs::write(cluster.config(), cluster.text("test")).expect("writable");
        cluster
    }

    /// A cluster that runs the bully, in which `sections` say how the nodes know each other.
    pub(crate) fn secured(size: u16, sections: &str) -> Self {
        Self::running(size, "bully", &format!("{BULLY}{sections}"))
    }

    /// The configuration of all nodes, as members of the cluster `name`.
    pub(crate) fn text(&self, name: &str) -> String {
        let member = |(node, port)| format!("{node} = \"127.0.0.1:{port}\"\n");
        let members: String = self.ports.iter().map(member).collect();
        let Self { protocol, sections, .. } = self;
        format!("cluster = \"{name}\"\nprotocol = \"{protocol}\"\n[members]\n{members}{sections}")
    }

    /// Where the files of the nodes are.
    pub(crate) fn folder(&self) -> &Path {
        self.processes.folder()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder().join("bellwether.toml")
    }

    /// Replaces a file, the configuration or one that it names, by a pipe: what reads it waits
    /// until it is written to.
    pub(crate) fn replace_by_pipe(&self, file: &Path) {
        let pipe = self.folder().join("pipe");
        let made = Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        std::fs::rename(pipe, file).expect("both are ours");
    }

    pub(crate) fn log_of(&self, name: &str) -> String {
        self.processes.text(format!("{name}.log"))
    }

    /// `bellwether run` for one node, with further arguments, its log going to the file `name`.
    pub(crate) fn run(&self, name: &str, node: u16, more: &[&str]) -> Process {
        let log = self.processes.append(format!("{name}.log")).expect("writable");
        self.run_to(log, node, more)
    }

    /// The same, with another place for the log.
    pub(crate) fn run_to(&self, log: impl Into<Stdio>, node: u16, more: &[&str]) -> Process {
        let mut command = bellwether();
        command.arg("run").arg("--config").arg(self.config()).args(["--node", &node.to_string()]);
        Process::start(command.args(more).stderr(log))
    }

    pub(crate) fn start(&mut self, node: u16) {
        let process = self.run(&node.to_string(), node, &[]);
        self.processes.insert(node, process);
    }

    /// Starts a node of a new cluster, of which not all need to run.
    pub(crate) fn found(&mut self, node: u16) {
        let process = self.run(&node.to_string(), node, &["--new-cluster"]);
        self.processes.insert(node, process);
    }

    pub(crate) fn take(&mut self, node: u16) -> Process {
        self.processes.take(node).expect("it runs")
    }

    /// `bellwether status` for one node.
    pub(crate) fn ask(&self, node: u16, more: &[&str]) -> Output {
        let mut command = bellwether();
        command.arg("status").arg("--config").arg(self.config());
        command.args(["--node", &node.to_string()]).args(more);
        command.output().expect("the program starts")
    }

    /// What `bellwether status --json` prints, if the node can be reached.
    pub(crate) fn status(&self, node: u16) -> Option<Value> {
        let Output { status, stdout, .. } = self.ask(node, &["--json", "--timeout", "20s"]);
        matches!(status.code(), Some(0 | 1)).then(|| fitting(&stdout))
    }

    /// The status of the node at this address.
    pub(crate) fn ask_at(&self, address: &str) -> Value {
        let output = self.ask(1, &["--json", "--address", address]);
        fitting(&output.stdout)
    }

    /// Waits until the status of `node` satisfies `wanted`.
    pub(crate) fn wait_for(&self, node: u16, what: &str, wanted: impl Fn(&Value) -> bool) {
        let look = || self.status(node).is_some_and(|status| wanted(&status));
        wait_until(&format!("node {node}: {what}"), look, || self.explain());
    }

    /// Waits until every running node takes `leader` for the leader.
    pub(crate) fn wait_for_leader(&self, leader: u16) {
        let agrees = |&node: &u16| self.status(node).is_some_and(|s| s["leader"] == leader);
        let leads = || self.status(leader).is_some_and(|status| status["role"] == "leader");
        let look = || self.processes.up().iter().all(agrees) && leads();
        wait_until(&format!("all follow {leader}"), look, || self.explain());
    }

    /// Waits until every running node takes one of them for the leader, and returns that.
    pub(crate) fn wait_for_any_leader(&self) -> u16 {
        let mut found = None;
        let look = || {
            let leader = |&node: &u16| self.status(node)?["leader"].as_u64();
            let leaders: BTreeSet<_> = self.processes.up().iter().map(leader).collect();
            let one = leaders.first().copied().flatten().filter(|_| leaders.len() == 1);
            found = one.and_then(|leader| u16::try_from(leader).ok());
            found.is_some_and(|leader| self.processes.get(leader).is_some())
        };
        wait_until("all follow one of them", look, || self.explain());
        found.expect("seen above")
    }

    fn explain(&self) -> String {
        let tell = |&node: &u16| {
            let status = self.status(node).map_or("unreachable".to_owned(), |s| s.to_string());
            format!("--- node {node}: {status}\n{}", self.log_of(&node.to_string()))
        };
        self.processes.up().iter().map(tell).collect()
    }
}
