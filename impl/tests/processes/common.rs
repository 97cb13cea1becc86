//! A cluster of real processes on loopback, which are gone when the test is, however it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use bellwether_docs_runner::object_of;
use serde_json::Value;
use tempfile::TempDir;

/// No wait is longer. Elections take well under a second; a loaded machine may take longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// How long between two looks at something that is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

const BULLY: &str = "\
[bully]
election = \"300ms\"
coordinator = \"800ms\"
watch = \"400ms\"
heartbeat = \"50ms\"
";

/// The file of the daemon.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_bellwether");

/// The daemon, without what the environment says about it.
pub(crate) fn bellwether() -> Command {
    daemon(PROGRAM)
}

/// The same, in another file.
pub(crate) fn daemon(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("BELLWETHER_")) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// A port on which no process listens, below those that the system hands out by itself, so that no
/// outgoing connection takes it before the node does.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 10_000).expect("small");
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + (start + offset) % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Looks until `done`, and fails after [`LIMIT`] with what `explain` says.
pub(crate) fn wait_until(
    what: &str,
    mut done: impl FnMut() -> bool,
    explain: impl FnOnce() -> String,
) {
    let deadline = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}\n{}", explain());
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// A running process, killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("the program starts"))
    }

    /// SIGKILL: the process gets no chance to say anything.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// SIGTERM.
    pub(crate) fn ask_to_end(&self) {
        self.send("-TERM");
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Lets the process stand still for so long.
    pub(crate) fn pause(&self, time: Duration) {
        self.send("-STOP");
        std::thread::sleep(time);
        self.send("-CONT");
    }

    /// Sends a signal, as in `-STOP`.
    pub(crate) fn send(&self, signal: &str) {
        let id = self.0.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status();
        assert!(status.is_ok_and(|status| status.success()), "kill {signal} {id}");
    }

    /// The exit status, if it comes within the limit.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        let look = || {
            status = self.0.try_wait().expect("it is our child");
            status.is_some()
        };
        wait_until("the process ends", look, String::new);
        status.expect("seen above")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Nodes `1..=size`, their configuration and their logs.
pub(crate) struct Cluster {
    pub(crate) directory: TempDir,
    protocol: String,
    sections: String,
    pub(crate) ports: BTreeMap<u16, u16>,
    running: BTreeMap<u16, Process>,
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
        let directory = tempfile::tempdir().expect("a directory");
        let sections = format!("[storage]\ndirectory = \"{{protocol}}-{{node}}\"\n{sections}");
        let protocol = protocol.to_owned();
        let cluster = Self { directory, protocol, sections, ports, running: BTreeMap::new() };
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

    pub(crate) fn config(&self) -> PathBuf {
        self.directory.path().join("bellwether.toml")
    }

    /// Replaces a file, the configuration or one that it names, by a pipe: what reads it waits
    /// until it is written to.
    pub(crate) fn replace_by_pipe(&self, file: &Path) {
        let pipe = self.directory.path().join("pipe");
        let made = Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        std::fs::rename(pipe, file).expect("both are ours");
    }

    pub(crate) fn log_of(&self, name: &str) -> String {
        std::fs::read_to_string(self.log_path(name)).unwrap_or_default()
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.log"))
    }

    /// `bellwether run` for one node, with further arguments, its log going to the file `name`.
    pub(crate) fn run(&self, name: &str, node: u16, more: &[&str]) -> Process {
        let log = File::options().create(true).append(true).open(self.log_path(name));
        self.run_to(log.expect("writable"), node, more)
    }

    /// The same, with another place for the log.
    pub(crate) fn run_to(&self, log: impl Into<Stdio>, node: u16, more: &[&str]) -> Process {
        let mut command = bellwether();
        command.arg("run").arg("--config").arg(self.config()).args(["--node", &node.to_string()]);
        Process::start(command.args(more).stderr(log))
    }

    pub(crate) fn start(&mut self, node: u16) {
        let process = self.run(&node.to_string(), node, &[]);
        assert!(self.running.insert(node, process).is_none(), "node {node} runs already");
    }

    /// Starts a node of a new cluster, of which not all need to run.
    pub(crate) fn found(&mut self, node: u16) {
        let process = self.run(&node.to_string(), node, &["--new-cluster"]);
        assert!(self.running.insert(node, process).is_none(), "node {node} runs already");
    }

    pub(crate) fn take(&mut self, node: u16) -> Process {
        self.running.remove(&node).expect("it runs")
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
        let Output { status, stdout, .. } = self.ask(node, &["--json"]);
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
        let look = || self.running.keys().all(agrees);
        wait_until(&format!("all follow {leader}"), look, || self.explain());
        let own = self.status(leader).map(|status| status["role"].clone());
        assert!(own.is_some_and(|role| role == "leader"), "{}", self.explain());
    }

    /// Waits until every running node takes one of them for the leader, and returns that.
    pub(crate) fn wait_for_any_leader(&self) -> u16 {
        let mut found = None;
        let look = || {
            let leader = |&node: &u16| self.status(node)?["leader"].as_u64();
            let leaders: BTreeSet<_> = self.running.keys().map(leader).collect();
            let one = leaders.first().copied().flatten().filter(|_| leaders.len() == 1);
            found = one.and_then(|leader| u16::try_from(leader).ok());
            found.is_some_and(|leader| self.running.contains_key(&leader))
        };
        wait_until("all follow one of them", look, || self.explain());
        found.expect("seen above")
    }

    fn explain(&self) -> String {
        let tell = |&node: &u16| {
            let status = self.status(node).map_or("unreachable".to_owned(), |s| s.to_string());
            format!("--- node {node}: {status}\n{}", self.log_of(&node.to_string()))
        };
        self.running.keys().map(tell).collect()
    }
}
