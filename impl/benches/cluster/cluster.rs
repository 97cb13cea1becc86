//! The nodes: processes of the daemon, with certificates, storage and logs of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bellwether::protocol::quorum::Timing;
use clap::ValueEnum;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::network::{Network, quiet};
use super::resource::Resource;

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
    pub(crate) nodes: u16,
    /// The section of the protocol, by the node.
    pub(crate) section: Box<dyn Fn(u16) -> String>,
    pub(crate) protocol: &'static str,
    pub(crate) security: Security,
    /// Where the leader writes. Without it, nodes only elect.
    pub(crate) resource: Option<Resource>,
    /// `[network] timeout`.
    pub(crate) network_timeout: Duration,
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

/// Where the daemon is.
fn daemon() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bellwether"))
}

/// A cluster whose processes are gone when it is.
pub(crate) struct Cluster {
    folder: TempDir,
    pub(crate) network: Box<dyn Network>,
    pub(crate) http: BTreeMap<u16, String>,
    resource: Option<Resource>,
    running: BTreeMap<u16, Child>,
}

impl Cluster {
    pub(crate) fn new(setup: &Setup, network: Box<dyn Network>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("bellwether-cluster-").tempdir()?;
        let nodes = 1..=setup.nodes;
        let http = nodes.clone().map(|node| (node, network.http(node))).collect();
        let resource = setup.resource.clone();
        let running = BTreeMap::new();
        let cluster = Self { folder, network, http, resource, running };
        let security = cluster.credentials(setup.nodes, setup.security)?;
        for node in nodes {
            let text = cluster.configuration(setup, node, &security);
            fs::create_dir(cluster.place(node))?;
            fs::write(cluster.place(node).join("node.toml"), text)?;
        }
        Ok(cluster)
    }

    /// Where the files of all nodes are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn place(&self, node: u16) -> PathBuf {
        self.folder.path().join(node.to_string())
    }

    fn data(&self, node: u16) -> PathBuf {
        self.place(node).join("data")
    }

    /// Makes what the nodes prove themselves with, and returns the section that says so.
    fn credentials(&self, nodes: u16, security: Security) -> anyhow::Result<String> {
        let path = self.folder.path().join("keys").display().to_string();
        let ids: Vec<_> = (1..=nodes).map(|node| node.to_string()).collect();
        let (arguments, section) = match security {
            Security::Plain => return Ok(String::new()),
            Security::Secret => (
                vec!["secret".to_owned(), path.clone()],
                format!("mode = \"secret\"\nsecret_file = \"{path}\""),
            ),
            Security::Tls => {
                let init = ["init", &path, "--cluster", "bench", "--nodes", &ids.join(",")];
                let section = format!(
                    "mode = \"tls\"\nca_file = \"{path}/ca.pem\"\n\
                     certificate_file = \"{path}/node-{{node}}.pem\"\n\
                     key_file = \"{path}/node-{{node}}.key\""
                );
                (init.map(str::to_owned).to_vec(), section)
            }
        };
        let made = quiet(daemon()).arg("keys").args(arguments).output()?;
        anyhow::ensure!(made.status.success(), "keys: {}", String::from_utf8_lossy(&made.stderr));
        Ok(format!("[security]\n{section}\n"))
    }

    fn configuration(&self, setup: &Setup, node: u16, security: &str) -> String {
        let others = (1..=setup.nodes).filter(|&other| other != node);
        let mut members = format!("{node} = \"{}\"\n", self.network.address(node));
        for other in others {
            let _ = writeln!(members, "{other} = \"{}\"", self.network.member(node, other));
        }
        let (protocol, data) = (setup.protocol, self.data(node));
        let (network_timeout, section) = (setup.network_timeout.as_millis(), (setup.section)(node));
        format!(
            "cluster = \"bench\"\nprotocol = \"{protocol}\"\nnode = {node}\n[members]\n{members}\
             {security}[storage]\ndirectory = \"{}\"\n[http]\nlisten = \"{}\"\n\
             [network]\ntimeout = \"{network_timeout}ms\"\n[log]\nformat = \"json\"\n{section}",
            data.display(),
            self.http[&node],
        )
    }

    /// Starts a node, which writes to the resource while it leads.
    pub(crate) fn start(&mut self, node: u16) -> anyhow::Result<()> {
        anyhow::ensure!(!self.running.contains_key(&node), "node {node} runs already");
        let config = self.place(node).join("node.toml");
        let log = File::options().create(true).append(true).open(self.log_path(node))?;
        let mut command = self.network.command(node, daemon());
        let what = if self.resource.is_some() { "exec" } else { "run" };
        command.arg(what).arg("--config").arg(config).stderr(log);
        if let Some(resource) = &self.resource {
            let place = format!("{}:{}", self.network.host(node), resource.port());
            // Short, so that a lease of a few hundred milliseconds is enough for a command.
            command.args(["--grace", "20ms", "--margin", "30ms", "--min-lease", "50ms"]);
            command.args(["--stop-timeout", "1s", "--restart", "always", "--"]);
            command.arg(std::env::current_exe()?);
            command.args(["hammer", &node.to_string(), &place]);
        }
        self.running.insert(node, command.spawn().context("the daemon does not start")?);
        Ok(())
    }

    /// The nodes that were started and not killed.
    pub(crate) fn up(&self) -> Vec<u16> {
        self.running.keys().copied().collect()
    }

    /// The number of the process of a node.
    pub(crate) fn process(&self, node: u16) -> anyhow::Result<u32> {
        Ok(self.running.get(&node).context("it does not run")?.id())
    }

    /// SIGKILL to the daemon alone.
    pub(crate) fn kill(&mut self, node: u16) -> anyhow::Result<()> {
        let mut child = self.running.remove(&node).context("it does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// SIGKILL to the daemon of a node and all processes below it.
    pub(crate) fn kill_all(&mut self, node: u16) -> anyhow::Result<()> {
        end(&mut self.running.remove(&node).context("it does not run")?);
        Ok(())
    }

    /// SIGTERM: the node hands over.
    pub(crate) fn ask_to_end(&self, node: u16) -> anyhow::Result<()> {
        send(self.process(node)?, Signal::TERM)
    }

    /// Whether the process of a node has ended by itself; then it is no longer up.
    pub(crate) fn has_ended(&mut self, node: u16) -> bool {
        let Some(child) = self.running.get_mut(&node) else { return true };
        let ended = !matches!(child.try_wait(), Ok(None));
        if ended {
            self.running.remove(&node);
        }
        ended
    }

    /// A signal to the daemon of a node, and to all processes below it if `all`.
    pub(crate) fn signal(&self, node: u16, signal: Signal, all: bool) -> anyhow::Result<()> {
        let first = self.process(node)?;
        let mut processes = vec![first];
        if all {
            processes.extend(below(first));
        }
        for process in processes {
            // One that has ended meanwhile needs none.
            let _ = send(process, signal);
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

    fn log_path(&self, node: u16) -> PathBuf {
        self.place(node).join("log")
    }

    pub(crate) fn log(&self, node: u16) -> String {
        fs::read_to_string(self.log_path(node)).unwrap_or_default()
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
        let mut cluster = self;
        cluster.end();
        cluster.folder.disable_cleanup(true);
        cluster.folder.path().to_owned()
    }

    fn end(&mut self) {
        self.running.values_mut().for_each(end);
        self.running.clear();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}

fn send(process: u32, signal: Signal) -> anyhow::Result<()> {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    let Some(id) = id else { bail!("{process} is no process") };
    Ok(kill_process(id, signal)?)
}

/// SIGKILL to a process and all below it.
pub(crate) fn end(child: &mut Child) {
    let all = below(child.id());
    let _ = child.kill();
    for process in all {
        // One that has ended meanwhile needs no end.
        let _ = send(process, Signal::KILL);
    }
    let _ = child.wait();
}

/// The processes below one.
fn below(process: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, above)| *above == parent).map(|(id, _)| id));
        next += 1;
    }
    found.split_off(1)
}
