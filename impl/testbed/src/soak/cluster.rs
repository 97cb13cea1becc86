//! The nodes: processes of the daemon, with certificates, storage and logs of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use bellwether::internal::config::{Field, Runnable};
use bellwether_core::protocol::Core;
use bellwether_core::protocol::quorum::{Quorum, Timing};
use bellwether_testbed::probe::{agent, get};
use bellwether_testbed::process::{
    self, Process, Processes, Signal, below, children, command, copy_files, said, send,
};
use bellwether_testbed::wait;
use clap::ValueEnum;
use serde_json::Value;

use super::members::Members;
use super::network::Network;
use super::resource::Resource;

/// The name of the cluster, and of its lease.
pub(crate) const CLUSTER: &str = "bench";

/// How the nodes know each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Security {
    /// By certificates
    Tls,
    /// By a secret
    Secret,
    /// Not at all
    Plain,
}

/// What a cluster is made of.
pub(crate) struct Setup {
    /// The daemon.
    pub(crate) program: PathBuf,
    /// How many nodes can be members.
    pub(crate) nodes: u16,
    /// Those that are at first.
    pub(crate) members: Members,
    /// The section of the protocol, by the node.
    pub(crate) section: Box<dyn Fn(u16) -> String>,
    pub(crate) protocol: String,
    pub(crate) security: Security,
    /// Where the leader writes. Without it, nodes only elect.
    pub(crate) resource: Option<Resource>,
    /// `[network] timeout`.
    pub(crate) network_timeout: Duration,
}

impl Setup {
    /// Returns what a cluster is made of in which all nodes are members, nothing protects them, and
    /// no leader writes.
    pub(crate) fn new(
        program: PathBuf,
        nodes: u16,
        protocol: &str,
        section: impl Fn(u16) -> String + 'static,
    ) -> Self {
        Self {
            program,
            nodes,
            members: Members::of(1..=nodes),
            section: Box::new(section),
            protocol: protocol.to_owned(),
            security: Security::Plain,
            resource: None,
            network_timeout: Duration::from_secs(1),
        }
    }
}

/// The section `[quorum]` for a node whose clock goes at `rate`. A clock that is slow makes
/// everything last longer; so does a longer duration. What differs is what a node tells its peers
/// of its leases: these durations have the drift in them, so they say that there is none besides.
pub(crate) fn quorum_section(timing: &Timing, rate: f64) -> String {
    let times = [
        ("round", timing.round),
        ("lease", timing.lease),
        ("promise", timing.promise),
        ("election", timing.election),
        ("coordinator", timing.coordinator),
        ("backoff", timing.backoff),
        ("skew", timing.skew),
    ];
    let mut section = "[quorum]\ndrift_ppm = 0\n".to_owned();
    for (name, time) in times {
        let _ = writeln!(section, "{name} = \"{}us\"", time.div_f64(rate).as_micros());
    }
    section
}

/// The section of a protocol at such a pace, and the longest of its durations. Where a node is the
/// store, it is the last one.
pub(crate) fn section(protocol: &str, pace: f64, nodes: u16) -> anyhow::Result<(String, Duration)> {
    if protocol == Quorum::NAME {
        let timing = Timing::DEFAULT;
        return Ok((quorum_section(&timing, 1.0 / pace), timing.lease.mul_f64(pace)));
    }
    macro_rules! sections {
        ($($core:ty),+ $(,)?) => {
            match protocol {
                $(<$core as Core>::NAME => Ok(section_of::<$core>(pace, nodes)),)+
                _ => anyhow::bail!("no protocol is called {protocol}"),
            }
        };
    }
    bellwether_core::for_each_core!(sections)
}

fn section_of<C: Runnable>(pace: f64, nodes: u16) -> (String, Duration) {
    let (mut section, mut text) = (C::Section::default(), format!("[{}]\n", C::NAME));
    let mut longest = Duration::ZERO;
    for (key, field) in C::fields(&mut section) {
        let value = match field {
            Field::Time(time) => {
                longest = longest.max(time.mul_f64(pace));
                format!("\"{}us\"", time.mul_f64(pace).as_micros())
            }
            Field::Store(_) => nodes.to_string(),
            _ => continue,
        };
        let _ = writeln!(text, "{key} = {value}");
    }
    (text, longest)
}

/// Where the daemon of today is.
pub(crate) fn daemon() -> anyhow::Result<PathBuf> {
    process::daemon().context(
        "there is no daemon beside this program: build both, with -p bellwether-daemon \
         -p bellwether-testbed",
    )
}

/// A cluster whose processes are gone when it is.
pub(crate) struct Cluster {
    processes: Processes,
    setup: Setup,
    pub(crate) network: Box<dyn Network>,
    pub(crate) http: BTreeMap<u16, String>,
    /// The list that all nodes have, unless it is being changed.
    pub(crate) members: Members,
    /// The section with which the nodes prove themselves.
    security: String,
    /// What lets a process ask something of a node.
    token: String,
    /// Whether the nodes that start from now on write traces.
    pub(crate) traced: bool,
}

impl Cluster {
    pub(crate) fn new(setup: Setup, network: Box<dyn Network>) -> anyhow::Result<Self> {
        let processes = Processes::new()?;
        let http = (1..=setup.nodes).map(|node| (node, network.http(node))).collect();
        let members = setup.members.clone();
        let (security, token) = (String::new(), String::new());
        let traced = false;
        let mut cluster =
            Self { processes, setup, network, http, members, security, token, traced };
        cluster.security = cluster.credentials()?;
        let token = cluster.token_file();
        cluster.tool("keys", &["secret", &token.display().to_string()])?;
        cluster.token = fs::read_to_string(token)?.trim().to_owned();
        for node in 1..=cluster.setup.nodes {
            fs::create_dir(cluster.place(node))?;
        }
        for node in cluster.members.all() {
            cluster.configure(node, &cluster.members)?;
        }
        Ok(cluster)
    }

    /// Where the files of all nodes are.
    pub(crate) fn folder(&self) -> &Path {
        self.processes.folder()
    }

    fn place(&self, node: u16) -> PathBuf {
        self.folder().join(node.to_string())
    }

    /// Where a node writes its trace.
    pub(crate) fn trace_of(&self, node: u16) -> PathBuf {
        self.place(node).join("trace.ndjson")
    }

    fn config(&self, node: u16) -> PathBuf {
        self.place(node).join("node.toml")
    }

    fn data(&self, node: u16) -> PathBuf {
        self.place(node).join("data")
    }

    fn token_file(&self) -> PathBuf {
        self.folder().join("token")
    }

    /// A command of the daemon that does something, and ends.
    fn tool(&self, what: &str, arguments: &[&str]) -> anyhow::Result<()> {
        said(command(&self.setup.program).arg(what).args(arguments)).map(drop)
    }

    /// Makes what the store of a node needs.
    pub(crate) fn init_store(&self, node: u16) -> anyhow::Result<()> {
        self.tool("store", &["init", "--config", &self.config(node).display().to_string()])
    }

    /// Makes what the nodes prove themselves with, and returns the section that says so.
    fn credentials(&self) -> anyhow::Result<String> {
        let path = self.folder().join("keys").display().to_string();
        let section = match self.setup.security {
            Security::Plain => return Ok(String::new()),
            Security::Secret => {
                self.tool("keys", &["secret", &path])?;
                format!("mode = \"secret\"\nsecret_file = \"{path}\"")
            }
            Security::Tls => {
                let ids: Vec<_> = (1..=self.setup.nodes).map(|node| node.to_string()).collect();
                let nodes = ids.join(",");
                self.tool("keys", &["init", &path, "--cluster", CLUSTER, "--nodes", &nodes])?;
                format!(
                    "mode = \"tls\"\nca_file = \"{path}/ca.pem\"\n\
                     certificate_file = \"{path}/node-{{node}}.pem\"\n\
                     key_file = \"{path}/node-{{node}}.key\""
                )
            }
        };
        Ok(format!("[security]\n{section}\n"))
    }

    /// Writes the configuration of a node, with this list of members. The node has it from its next
    /// start on.
    pub(crate) fn configure(&self, node: u16, members: &Members) -> anyhow::Result<()> {
        let text = self.configuration(node, members);
        Ok(fs::write(self.config(node), text)?)
    }

    fn configuration(&self, node: u16, members: &Members) -> String {
        let (setup, security) = (&self.setup, &self.security);
        let members = members.section(node, &*self.network);
        let (protocol, data) = (&setup.protocol, self.data(node));
        let (network_timeout, section) = (setup.network_timeout.as_millis(), (setup.section)(node));
        // The token is sent within this machine only, also where that is not the loopback address.
        format!(
            "cluster = \"{CLUSTER}\"\nprotocol = \"{protocol}\"\nnode = {node}\n{members}\
             {security}[storage]\ndirectory = \"{}\"\n[http]\nlisten = \"{}\"\n\
             token_file = \"{}\"\nallow_plain = true\n\
             [network]\ntimeout = \"{network_timeout}ms\"\n[log]\nformat = \"json\"\n{section}",
            data.display(),
            self.http[&node],
            self.token_file().display(),
        )
    }

    /// Starts a node, which writes to the resource while it leads.
    pub(crate) fn start(&mut self, node: u16) -> anyhow::Result<()> {
        anyhow::ensure!(self.processes.get(node).is_none(), "node {node} runs already");
        let config = self.config(node);
        let log = self.processes.append(log_of(node))?;
        let mut command = self.network.command(node, &self.setup.program);
        let what = if self.setup.resource.is_some() { "exec" } else { "run" };
        command.arg(what).arg("--config").arg(config).stderr(log);
        if self.traced {
            command.arg("--trace").arg(self.trace_of(node));
        }
        if let Some(resource) = &self.setup.resource {
            let place = format!("{}:{}", self.network.host(node), resource.port);
            // Short, so that a lease of a few hundred milliseconds is enough for a command.
            command.args(["--grace", "20ms", "--margin", "30ms", "--min-lease", "50ms"]);
            command.args(["--stop-timeout", "1s", "--restart", "always"]);
            // It would end the command.
            command.args(["--no-forward", "HUP", "--"]);
            command.arg(std::env::current_exe()?);
            command.args(["hammer", &node.to_string(), &place]);
            command.arg("--alone").arg(self.folder().join("alone"));
        }
        let process = Process::spawn(&mut command).context("the daemon does not start")?;
        self.processes.insert(node, process);
        Ok(())
    }

    /// Starts a copy of the machine of a node, at the addresses and in the place of another, which
    /// is no member: a second process with one id, which has the files of the first.
    pub(crate) fn start_copy(&mut self, node: u16, place: u16) -> anyhow::Result<()> {
        let listen = self.network.address(place);
        let named = format!("node = {node}\nlisten = \"{listen}\"\n");
        let text = self.configuration(place, &self.members);
        let text = text.replacen(&format!("node = {place}\n"), &named, 1);
        fs::write(self.config(place), text)?;
        copy_files(&self.data(node), &self.data(place))?;
        self.start(place)
    }

    /// The nodes that were started and not killed.
    pub(crate) fn up(&self) -> Vec<u16> {
        self.processes.up()
    }

    fn process_of(&self, node: u16) -> anyhow::Result<&Process> {
        self.processes.get(node).context("it does not run")
    }

    /// The number of the process of a node.
    pub(crate) fn process(&self, node: u16) -> anyhow::Result<u32> {
        self.process_of(node).map(Process::id)
    }

    /// SIGKILL to the daemon alone.
    pub(crate) fn kill(&mut self, node: u16) -> anyhow::Result<()> {
        self.processes.take(node).context("it does not run")?.kill();
        Ok(())
    }

    /// SIGKILL to the daemon of a node and all processes below it.
    pub(crate) fn kill_all(&mut self, node: u16) -> anyhow::Result<()> {
        self.processes.take(node).context("it does not run")?.end();
        Ok(())
    }

    /// SIGKILL to the daemon of a node and the keeper of its command, together: neither has a
    /// moment to act between the end of the one and that of the other. Returns the command, and
    /// what it has started.
    pub(crate) fn kill_with_keeper(&mut self, node: u16) -> anyhow::Result<Vec<u32>> {
        let daemon = self.process(node)?;
        let keepers = children(daemon);
        let commands = keepers.iter().flat_map(|&keeper| below(keeper)).collect();
        for &process in [daemon].iter().chain(&keepers) {
            // One that has ended meanwhile needs none.
            let _ = send(process, Signal::STOP);
        }
        for keeper in keepers {
            let _ = send(keeper, Signal::KILL);
        }
        self.kill(node)?;
        Ok(commands)
    }

    /// SIGTERM: the node hands over.
    pub(crate) fn ask_to_end(&self, node: u16) -> anyhow::Result<()> {
        send(self.process(node)?, Signal::TERM)
    }

    /// Whether the process of a node has ended by itself; then it is no longer up.
    pub(crate) fn has_ended(&mut self, node: u16) -> bool {
        self.processes.has_ended(node)
    }

    /// SIGTERM to a node, which ends within `limit`.
    pub(crate) fn stop(&mut self, node: u16, limit: Duration) -> anyhow::Result<()> {
        self.ask_to_end(node)?;
        wait::until(&format!("node {node} ends"), limit, || self.has_ended(node))?;
        Ok(())
    }

    /// Waits until a node that was started answers by HTTP.
    pub(crate) fn wait_until_it_answers(&self, node: u16, limit: Duration) -> anyhow::Result<()> {
        let answers = || self.get(node, "leader", Duration::from_secs(1)).is_some();
        wait::until(&format!("node {node} is up"), limit, answers)?;
        Ok(())
    }

    /// Returns the status and the text of what a node answers to this question by HTTP.
    pub(crate) fn get(&self, node: u16, what: &str, limit: Duration) -> Option<(u16, String)> {
        get(&format!("http://{}/{what}", self.http[&node]), limit)
    }

    /// The list that a node has, if none is pending and no voter waits to be let in.
    pub(crate) fn list_of(&self, node: u16) -> Option<Members> {
        let (_, text) = self.get(node, "members", Duration::from_secs(1))?;
        let lists: Value = serde_json::from_str(&text).ok()?;
        let list = &lists["list"];
        let ids =
            |name| -> Option<BTreeSet<u16>> { serde_json::from_value(list[name].clone()).ok() };
        let all: BTreeMap<u16, Value> = serde_json::from_value(list["members"].clone()).ok()?;
        let observers = ids("observers")?;
        let voters = all.into_keys().filter(|node| !observers.contains(node)).collect();
        let is_settled = lists["next"].is_null() && ids("awaited")?.is_empty();
        let config_epoch = list["config_epoch"].as_u64()?;
        let list = Members { config_epoch, voters, observers, witnesses: ids("witnesses")? };
        Some(list).filter(|_| is_settled)
    }

    /// Asks something of a node that needs the token, such as `step-down?for=1s`. Returns the
    /// status of the answer, and what it says.
    pub(crate) fn ask(
        &self,
        node: u16,
        what: &str,
        limit: Duration,
    ) -> anyhow::Result<(u16, Value)> {
        let request = agent(limit).post(format!("http://{}/{what}", self.http[&node]));
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let mut answer = request.send_empty().with_context(|| format!("node {node}: {what}"))?;
        let text = answer.body_mut().read_to_string()?;
        Ok((answer.status().as_u16(), serde_json::from_str(&text)?))
    }

    /// Returns the problem of a node as a whole, as its status has it; empty if there is none.
    pub(crate) fn problem(&self, node: u16) -> String {
        let answer = self.get(node, "cluster", Duration::from_secs(1));
        let status = answer.and_then(|(_, text)| serde_json::from_str::<Value>(&text).ok());
        let problem = status.and_then(|status| Some(status["problem"].as_str()?.to_owned()));
        problem.unwrap_or_default()
    }

    /// How often a node has read its configuration again, and used it.
    pub(crate) fn reloads(&self, node: u16) -> usize {
        self.log(node).matches("\"changed\":").count()
    }

    /// A signal to the daemon of a node, and to all processes below it if `all`.
    pub(crate) fn signal(&self, node: u16, signal: Signal, all: bool) -> anyhow::Result<()> {
        let process = self.process_of(node)?;
        if all {
            process.send_to_all(signal);
        } else {
            process.send(signal);
        }
        Ok(())
    }

    /// From now on, everything that a node wants to keep fails, as on a full disk; or no longer. So
    /// does what a leader writes to find out whether it could.
    pub(crate) fn fill_disk(&self, node: u16, full: bool) -> anyhow::Result<()> {
        for file in ["state.0", "state.1", "probe"] {
            let (path, kept) = (self.data(node).join(file), self.place(node).join(file));
            if full {
                // A node that has not led for long has not asked its disk yet.
                if path.exists() {
                    fs::rename(&path, kept)?;
                }
                std::os::unix::fs::symlink("/dev/full", path)?;
            } else {
                fs::remove_file(&path)?;
                if kept.exists() {
                    fs::rename(kept, path)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn log(&self, node: u16) -> String {
        self.processes.text(log_of(node))
    }

    /// What the logs of all nodes say that must not be: two leaders of one epoch, or a panic.
    pub(crate) fn judge_logs(&self) -> (usize, Vec<String>) {
        let mut leaders: BTreeMap<u64, BTreeSet<u16>> = BTreeMap::new();
        let mut wrong = Vec::new();
        for &node in self.http.keys() {
            for line in self.log(node).lines() {
                // What a process was writing when it was killed is no whole line.
                let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
                if line["place"].is_string() {
                    wrong.push(format!("node {node} has panicked: {line}"));
                }
                if let (Some(epoch), Some("leader")) =
                    (line["epoch"].as_u64(), line["role"].as_str())
                {
                    leaders.entry(epoch).or_default().insert(node);
                }
            }
        }
        let epochs = leaders.len();
        let several = leaders.into_iter().filter(|(_, nodes)| nodes.len() > 1);
        wrong.extend(several.map(|(epoch, nodes)| format!("epoch {epoch} was led by {nodes:?}")));
        (epochs, wrong)
    }

    /// Keeps the files of all nodes, for a person to read, and says where they are.
    pub(crate) fn keep(self) -> PathBuf {
        self.processes.keep()
    }
}

/// The log of a node, in the folder of all.
fn log_of(node: u16) -> PathBuf {
    Path::new(&node.to_string()).join("log")
}
