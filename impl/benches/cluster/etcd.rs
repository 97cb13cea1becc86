//! etcd, to compare with: members, and beside each a client that writes while it has the lock.
//!
//! The client is `etcdctl lock`, not `etcdctl elect`. Both are the same election, a key with a
//! lease that the next one waits for; but `elect` has a lease of 60 seconds, which no flag changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::network::{free_port, quiet};
use super::probe::agent;
use super::process::end;
use super::resource::Resource;
use super::wait;

/// How long a member may take to answer after its start.
const LIMIT: Duration = Duration::from_secs(60);

/// The times of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) heartbeat: Duration,
    pub(crate) election: Duration,
    /// In whole seconds: etcd has no shorter unit.
    pub(crate) lease: Duration,
}

/// A cluster whose processes are gone when it is.
pub(crate) struct Etcd {
    folder: TempDir,
    times: Times,
    resource: Resource,
    /// The ports for the other members, and for clients.
    ports: BTreeMap<u16, (u16, u16)>,
    servers: BTreeMap<u16, Child>,
    clients: BTreeMap<u16, Child>,
}

/// Whether it is installed.
pub(crate) fn is_there() -> bool {
    ["etcd", "etcdctl"].iter().all(|name| {
        let version = if *name == "etcd" { "--version" } else { "version" };
        quiet(Path::new(name)).arg(version).status().is_ok_and(|status| status.success())
    })
}

/// The number with which the holder of the lock fences: the revision at which its key was created,
/// which grows in the order in which the clients have come. (`ETCD_LOCK_REV` is the revision at
/// which the client saw that it holds the lock, and two clients can have the same.)
pub(crate) fn revision(client: &str) -> anyhow::Result<String> {
    let key = std::env::var("ETCD_LOCK_KEY").context("no ETCD_LOCK_KEY")?;
    let body = json!({ "key": base64(key.as_bytes()) }).to_string();
    let mut answer = agent(LIMIT).post(format!("{client}/v3/kv/range")).send(body)?;
    let answer: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    let revision = answer["kvs"][0]["create_revision"].as_str();
    Ok(revision.context("the lease is lost")?.to_owned())
}

/// As etcd's HTTP wants its keys.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            (0..3).fold(0, |bits, at| bits << 8 | usize::from(three.get(at).copied().unwrap_or(0)));
        let digits = (0..4).map(|at| char::from(DIGITS[bits >> (18 - 6 * at) & 63]));
        text.extend(digits.take(three.len() + 1));
        text.extend(std::iter::repeat_n('=', 3 - three.len()));
    }
    text
}

/// That keys are written as RFC 4648 says.
pub(crate) fn test() -> anyhow::Result<()> {
    for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
        anyhow::ensure!(base64(plain.as_bytes()) == coded, "{plain}: {}", base64(plain.as_bytes()));
    }
    Ok(())
}

impl Etcd {
    pub(crate) fn start(nodes: u16, times: Times, resource: Resource) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("bellwether-etcd-").tempdir()?;
        let ports = (1..=nodes).map(|node| (node, (free_port(), free_port()))).collect();
        let (servers, clients) = (BTreeMap::new(), BTreeMap::new());
        let mut etcd = Self { folder, times, resource, ports, servers, clients };
        for node in 1..=nodes {
            etcd.serve(node)?;
        }
        for node in 1..=nodes {
            etcd.join(node)?;
        }
        Ok(etcd)
    }

    /// Starts the member of a node again, and its client.
    pub(crate) fn restart(&mut self, node: u16) -> anyhow::Result<()> {
        self.serve(node)?;
        self.join(node)
    }

    fn serve(&mut self, node: u16) -> anyhow::Result<()> {
        let peer = |node: &u16| format!("http://127.0.0.1:{}", self.ports[node].0);
        let all: Vec<_> = self.ports.keys().map(|node| format!("n{node}={}", peer(node))).collect();
        let (own, client) = (peer(&node), self.client(node));
        let milliseconds = |time: Duration| time.as_millis().to_string();
        let mut command = quiet(Path::new("etcd"));
        command.arg("--data-dir").arg(self.folder.path().join(node.to_string()));
        command.args(["--name", &format!("n{node}"), "--logger", "zap", "--log-level", "error"]);
        command.args(["--listen-peer-urls", &own, "--initial-advertise-peer-urls", &own]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--initial-cluster", &all.join(","), "--initial-cluster-state", "new"]);
        command.args(["--heartbeat-interval", &milliseconds(self.times.heartbeat)]);
        command.args(["--election-timeout", &milliseconds(self.times.election)]);
        self.servers.insert(node, command.spawn().context("etcd does not start")?);
        Ok(())
    }

    /// The client of a node waits for the lock.
    fn join(&mut self, node: u16) -> anyhow::Result<()> {
        wait::until("etcd is healthy", LIMIT, || self.says(node, "/health", "\"true\""))?;
        let mut command: Command = quiet(Path::new("etcdctl"));
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.client(node)]);
        command.args(["lock", "--ttl", &self.times.lease.as_secs().to_string(), "bench"]);
        command.arg(std::env::current_exe()?);
        command.args(["hammer", &node.to_string()]);
        command.arg(format!("127.0.0.1:{}", self.resource.port())).arg(self.client(node));
        self.clients.insert(node, command.spawn().context("etcdctl does not start")?);
        Ok(())
    }

    fn client(&self, node: u16) -> String {
        format!("http://127.0.0.1:{}", self.ports[&node].1)
    }

    /// Whether a member answers a question, and has this in its answer.
    fn says(&self, node: u16, path: &str, part: &str) -> bool {
        let answer = agent(Duration::from_secs(1)).get(self.client(node) + path).call();
        let text = answer.ok().and_then(|mut answer| answer.body_mut().read_to_string().ok());
        text.is_some_and(|text| text.contains(part))
    }

    /// Whether the member of a node leads Raft.
    pub(crate) fn leads_raft(&self, node: u16) -> bool {
        self.says(node, "/metrics", "etcd_server_is_leader 1\n")
    }

    /// Every node whose member runs has a client: one that has lost its lease has ended.
    pub(crate) fn mend(&mut self) -> anyhow::Result<()> {
        for node in self.servers.keys().copied().collect::<Vec<_>>() {
            let client = self.clients.get_mut(&node);
            if client.is_none_or(|client| !matches!(client.try_wait(), Ok(None))) {
                self.join(node)?;
            }
        }
        Ok(())
    }

    /// SIGKILL to the client of a node, and to its command.
    pub(crate) fn kill_client(&mut self, node: u16) {
        if let Some(mut child) = self.clients.remove(&node) {
            end(&mut child);
        }
    }

    /// SIGKILL to everything that a node has.
    pub(crate) fn kill(&mut self, node: u16) {
        // The client first: its command must not outlive it.
        self.kill_client(node);
        if let Some(mut child) = self.servers.remove(&node) {
            end(&mut child);
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for child in self.clients.values_mut().chain(self.servers.values_mut()) {
            end(child);
        }
    }
}
