//! Clusters of real processes on loopback, which are gone when the test is, however it ends; and
//! what the program says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bellwether_docs_runner::object_of;
use bellwether_testbed::probe;
use bellwether_testbed::process::Processes;
use serde_json::Value;

pub(crate) use bellwether_testbed::ports::free_port;
pub(crate) use bellwether_testbed::process::{Process, Signal, command as daemon, is_alive};
pub(crate) use bellwether_testbed::wait::{LIMIT, wait_for, wait_until};

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

/// The exit status of a command, and what it says on both outputs.
pub(crate) fn told(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().expect("the program starts");
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    (output.status.code(), said.concat())
}

/// Runs the command, and expects this exit status and all of these parts in its one message.
#[track_caller]
pub(crate) fn refuses(arguments: &[&str], status: i32, parts: &[&str]) {
    let output = bellwether().args(arguments).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(status), &b""[..]), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part} is missing in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(said.matches("error: ").count(), 1, "one message, not several: {said}");
}

/// Runs `bellwether keys`, and fails if that does.
#[track_caller]
pub(crate) fn keys(arguments: &[&str]) {
    let (status, said) = told(bellwether().arg("keys").args(arguments));
    assert_eq!(status, Some(0), "{said}");
}

/// What stands at this URL: the status and the body; nothing if no process answers.
pub(crate) fn get(url: &str) -> Option<(u16, String)> {
    probe::get(url, Duration::from_secs(15))
}

/// An address at which no process listens.
pub(crate) fn free_address() -> String {
    format!("127.0.0.1:{}", free_port())
}

/// Looks at something for so long, again and again.
pub(crate) fn for_so_long(time: Duration, mut look: impl FnMut()) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        look();
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
        cluster.configure("");
        cluster
    }

    /// A cluster that runs the bully, in which `sections` say how the nodes know each other.
    pub(crate) fn secured(size: u16, sections: &str) -> Self {
        Self::running(size, "bully", &format!("{BULLY}{sections}"))
    }

    /// Starts these nodes, of which the highest leads.
    pub(crate) fn led(mut self, nodes: RangeInclusive<u16>) -> Self {
        self.start_all(nodes.clone());
        self.wait_for_leader(*nodes.end());
        self
    }

    /// The configuration of all nodes, as members of the cluster `name`.
    pub(crate) fn text(&self, name: &str) -> String {
        let member = |(node, port)| format!("{node} = \"127.0.0.1:{port}\"\n");
        let members: String = self.ports.iter().map(member).collect();
        let Self { protocol, sections, .. } = self;
        format!("cluster = \"{name}\"\nprotocol = \"{protocol}\"\n[members]\n{members}{sections}")
    }

    /// Writes the configuration anew, with these sections at its end.
    pub(crate) fn configure(&self, more: &str) {
        self.write(&(self.text("test") + more));
    }

    /// Writes another configuration.
    pub(crate) fn write(&self, text: &str) {
        fs::write(self.config(), text).expect("ours");
    }

    /// Where the files of the nodes are.
    pub(crate) fn folder(&self) -> &Path {
        self.processes.folder()
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder().join("bellwether.toml")
    }

    /// The path of a file of the nodes.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder().join(name).display().to_string()
    }

    /// Replaces a file, the configuration or one that it names, by a pipe: what reads it waits
    /// until it is written to.
    pub(crate) fn replace_by_pipe(&self, file: &Path) {
        let pipe = self.folder().join("pipe");
        let made = Command::new("mkfifo").args(["-m", "600"]).arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        fs::rename(pipe, file).expect("both are ours");
    }

    /// What stands in a file of the nodes.
    pub(crate) fn text_of(&self, name: &str) -> String {
        self.processes.text(name)
    }

    pub(crate) fn log_of(&self, name: &str) -> String {
        self.text_of(&format!("{name}.log"))
    }

    /// Opens a log.
    pub(crate) fn log(&self, name: &str) -> fs::File {
        self.processes.append(format!("{name}.log")).expect("writable")
    }

    /// The logs of all nodes.
    pub(crate) fn logs(&self) -> String {
        self.ports.keys().map(|node| self.log_of(&node.to_string())).collect()
    }

    /// Waits for all of `parts` in a log.
    #[track_caller]
    pub(crate) fn logs_of(&self, name: &str, parts: &[&str]) {
        let look = || parts.iter().all(|part| self.log_of(name).contains(part));
        wait_until(&format!("{parts:?} in the log of {name}"), look, || self.log_of(name));
        assert!(!self.log_of(name).contains("panicked"), "{}", self.log_of(name));
    }

    /// How many changes of role each of these nodes has logged.
    pub(crate) fn changes<const COUNT: usize>(&self, nodes: [u16; COUNT]) -> [usize; COUNT] {
        nodes.map(|node| self.log_of(&node.to_string()).matches(" was=").count())
    }

    /// `bellwether run` for one node, with further arguments, its log going to the file `name`.
    pub(crate) fn run(&self, name: &str, node: u16, more: &[&str]) -> Process {
        self.run_to(self.log(name), node, more)
    }

    /// The same, with another place for the log.
    pub(crate) fn run_to(&self, log: impl Into<Stdio>, node: u16, more: &[&str]) -> Process {
        Process::start(self.command("run", node).args(more).stderr(log))
    }

    /// A command for one node.
    pub(crate) fn command(&self, what: &str, node: u16) -> Command {
        let mut command = bellwether();
        command.arg(what).arg("--config").arg(self.config()).args(["--node", &node.to_string()]);
        command
    }

    pub(crate) fn start(&mut self, node: u16) {
        let process = self.run(&node.to_string(), node, &[]);
        self.processes.insert(node, process);
    }

    pub(crate) fn start_all(&mut self, nodes: RangeInclusive<u16>) {
        nodes.for_each(|node| self.start(node));
    }

    /// Starts a node of a new cluster, of which not all need to run.
    pub(crate) fn found(&mut self, node: u16) {
        let process = self.run(&node.to_string(), node, &["--new-cluster"]);
        self.processes.insert(node, process);
    }

    pub(crate) fn take(&mut self, node: u16) -> Process {
        self.processes.take(node).expect("it runs")
    }

    pub(crate) fn send(&self, node: u16, signal: Signal) {
        self.processes.get(node).expect("it runs").send(signal);
    }

    /// Asks a node to end, which it does with status 0.
    #[track_caller]
    pub(crate) fn end(&mut self, node: u16) {
        let mut process = self.take(node);
        process.ask_to_end();
        assert_eq!(process.ended().code(), Some(0), "{}", self.log_of(&node.to_string()));
    }

    /// `bellwether status` for one node.
    pub(crate) fn ask(&self, node: u16, more: &[&str]) -> Output {
        self.command("status", node).args(more).output().expect("the program starts")
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
    #[track_caller]
    pub(crate) fn wait_for(&self, node: u16, what: &str, wanted: impl Fn(&Value) -> bool) {
        let look = || self.status(node).is_some_and(|status| wanted(&status));
        wait_until(&format!("node {node}: {what}"), look, || self.explain());
    }

    /// Waits until this node takes that one for the leader.
    #[track_caller]
    pub(crate) fn follows(&self, node: u16, leader: u16) {
        self.wait_for(node, &format!("follows {leader}"), |status| status["leader"] == leader);
    }

    /// Waits until every running node takes `leader` for the leader.
    #[track_caller]
    pub(crate) fn wait_for_leader(&self, leader: u16) {
        let agrees = |&node: &u16| self.status(node).is_some_and(|s| s["leader"] == leader);
        let leads = || self.status(leader).is_some_and(|status| status["role"] == "leader");
        let look = || self.processes.up().iter().all(agrees) && leads();
        wait_until(&format!("all follow {leader}"), look, || self.explain());
    }

    /// Waits until every running node takes one of them for the leader, and returns that.
    #[track_caller]
    pub(crate) fn wait_for_any_leader(&self) -> u16 {
        let look = || {
            let leader = |&node: &u16| self.status(node)?["leader"].as_u64();
            let leaders: BTreeSet<_> = self.processes.up().iter().map(leader).collect();
            let one = leaders.first().copied().flatten().filter(|_| leaders.len() == 1);
            let leader = one.and_then(|leader| u16::try_from(leader).ok())?;
            self.processes.get(leader).map(|_| leader)
        };
        wait_for("all follow one of them", look, || self.explain())
    }

    fn explain(&self) -> String {
        let tell = |&node: &u16| {
            let status = self.status(node).map_or("unreachable".to_owned(), |s| s.to_string());
            format!("--- node {node}: {status}\n{}", self.log_of(&node.to_string()))
        };
        self.processes.up().iter().map(tell).collect()
    }
}

/// Nodes of the quorum bully that serve HTTP, and have a token.
pub(crate) struct Served {
    pub(crate) cluster: Cluster,
    pub(crate) running: BTreeMap<u16, Process>,
    pub(crate) http: BTreeMap<u16, String>,
    pub(crate) token: String,
}

impl Served {
    /// So many nodes, none of which runs yet, with this line in their configuration.
    pub(crate) fn new(size: u16, line: &str) -> Self {
        let cluster = Cluster::running(size, "quorum", "");
        let text = cluster.text("test");
        cluster.write(&text.replace("[members]", &format!("{line}\n[members]")));
        Self::of(cluster)
    }

    /// The nodes of this cluster, none of which runs yet.
    pub(crate) fn of(cluster: Cluster) -> Self {
        let token = cluster.path("token");
        keys(&["secret", &token]);
        let http = cluster.ports.keys().map(|&node| (node, free_address())).collect();
        Self { cluster, running: BTreeMap::new(), http, token }
    }

    /// Nodes `1..=size`, which run and have a leader.
    pub(crate) fn led(size: u16) -> Self {
        let mut served = Self::new(size, "");
        served.start_all(1..=size);
        served.leader();
        served
    }

    /// The place of a further member, which the configuration has from now on.
    pub(crate) fn place(&mut self, node: u16) -> String {
        self.cluster.ports.insert(node, free_port());
        self.http.insert(node, free_address());
        self.cluster.configure("");
        self.place_of(node)
    }

    pub(crate) fn place_of(&self, node: u16) -> String {
        format!("{node}=127.0.0.1:{}", self.cluster.ports[&node])
    }

    pub(crate) fn start(&mut self, node: u16) {
        self.start_with(node, &[]);
    }

    pub(crate) fn start_all(&mut self, nodes: RangeInclusive<u16>) {
        nodes.for_each(|node| self.start(node));
    }

    /// Starts a node of a new cluster, of which not all need to run.
    pub(crate) fn found(&mut self, node: u16) {
        self.start_with(node, &["--new-cluster"]);
    }

    pub(crate) fn start_with(&mut self, node: u16, more: &[&str]) {
        let flags = ["--http", &self.http[&node], "--token-file", &self.token];
        let flags = [&flags[..], more].concat();
        self.running.insert(node, self.cluster.run(&node.to_string(), node, &flags));
    }

    /// Starts a node that runs this command while it leads.
    pub(crate) fn exec(&mut self, node: u16, more: &[&str], words: &[&str]) {
        let mut command = self.cluster.command("exec", node);
        command.args(["--http", &self.http[&node], "--token-file", &self.token]).args(more);
        let log = self.cluster.log(&node.to_string());
        let process = Process::start(command.arg("--").args(words).stderr(log));
        self.running.insert(node, process);
    }

    /// Removes what a node that does not run has kept.
    pub(crate) fn wipe(&self, node: u16) {
        let data = self.cluster.folder().join(format!("quorum-{node}"));
        fs::remove_dir_all(data).expect("it is there");
    }

    pub(crate) fn kill(&mut self, node: u16) {
        self.running.remove(&node).expect("it runs").kill();
    }

    pub(crate) fn send(&self, node: u16, signal: Signal) {
        self.running[&node].send(signal);
    }

    pub(crate) fn url(&self, node: u16, path: &str) -> String {
        format!("http://{}{path}", self.http[&node])
    }

    /// Whether the node says itself, by HTTP, that it leads.
    pub(crate) fn leads(&self, node: u16) -> bool {
        get(&self.url(node, "/leader")).is_some_and(|(code, _)| code == 200)
    }

    /// Asks a node by HTTP, with the token if the command is one that does something. Returns the
    /// exit status, and what is said.
    pub(crate) fn ask(&self, node: u16, words: &[&str]) -> (Option<i32>, String) {
        let mut command = bellwether();
        command.args(words).args(["--http", &self.http[&node]]);
        if words[0] != "history" && !words.contains(&"list") {
            command.args(["--token-file", &self.token]);
        }
        told(&mut command)
    }

    /// Waits until each of these votes, or observes, and none knows of one that waits to be let in,
    /// or of a list that is not decided.
    #[track_caller]
    pub(crate) fn all_vote(&self, nodes: &[u16]) {
        let votes = |&node: &u16| {
            let (_, said) = self.ask(node, &["members", "list", "--json"]);
            let lists: Value = serde_json::from_str(&said).unwrap_or_default();
            let awaited = &self.status(node)["awaited"];
            let none_waits = awaited.as_array().is_some_and(Vec::is_empty);
            none_waits && lists["list"].is_object() && lists["next"].is_null()
        };
        let all = || nodes.iter().all(votes);
        wait_until(&format!("all of {nodes:?} vote"), all, || self.cluster.logs());
    }

    pub(crate) fn status(&self, node: u16) -> Value {
        self.cluster.status(node).unwrap_or_default()
    }

    /// Waits until what the status of a node calls its problem has this part.
    #[track_caller]
    pub(crate) fn says(&self, node: u16, part: &str) {
        let problem = || self.status(node)["problem"].as_str().unwrap_or_default().to_owned();
        let logs = || format!("{}\n{}", problem(), self.cluster.log_of(&node.to_string()));
        wait_until(&format!("node {node} says: {part}"), || problem().contains(part), logs);
    }

    /// Waits until all that run, whatever they are, follow one of them that says by HTTP that it
    /// leads, and returns that and its epoch.
    #[track_caller]
    pub(crate) fn leader(&self) -> (u16, u64) {
        let look = || {
            let seen = |node: &u16| {
                let status = self.status(*node);
                Some((status["leader"].as_u64()?, status["epoch"].as_u64()?))
            };
            let all: Vec<_> = self.running.keys().map(seen).collect();
            let (leader, epoch) = all[0].filter(|_| all.iter().all(|other| *other == all[0]))?;
            let leader = u16::try_from(leader).ok()?;
            let leads = self.running.contains_key(&leader) && self.leads(leader);
            leads.then_some((leader, epoch))
        };
        wait_for("all follow one of them", look, || self.cluster.logs())
    }
}
