//! etcd, to compare with: members, and beside each a client that writes while it has the lock.
//!
//! The client is `etcdctl lock`, not `etcdctl elect`. Both are the same election, a key with a
//! lease that the next one waits for; but `elect` has a lease of 60 seconds, which no flag changes.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use bellwether_testbed::ports::free_port;
use bellwether_testbed::probe::{agent, get};
use bellwether_testbed::process::{Process, Processes, quiet};
use bellwether_testbed::wait;
use serde_json::{Value, json};

use super::resource::Resource;

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
    /// The clients end before the servers: a command must not outlive its client.
    clients: Processes,
    servers: Processes,
    times: Times,
    resource: Resource,
    /// The ports for the other members, and for clients.
    ports: BTreeMap<u16, (u16, u16)>,
}

/// Whether it is installed.
pub(crate) fn is_there() -> bool {
    ["etcd", "etcdctl"].iter().all(|name| {
        let version = if *name == "etcd" { "--version" } else { "version" };
        quiet(name).arg(version).status().is_ok_and(|status| status.success())
    })
}

/// The number with which the holder of the lock fences: the revision at which its key was created,
/// which grows in the order in which the clients have come. (`ETCD_LOCK_REV` is the revision at
/// which the client saw that it holds the lock, and two clients can have the same.)
pub(crate) fn revision(client: &str) -> anyhow::Result<String> {
    let key = std::env::var("ETCD_LOCK_KEY").context("no ETCD_LOCK_KEY")?;
    let body = json!({ "key": BASE64_STANDARD.encode(key) }).to_string();
    let mut answer = agent(LIMIT).post(format!("{client}/v3/kv/range")).send(body)?;
    let answer: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    let revision = answer["kvs"][0]["create_revision"].as_str();
    Ok(revision.context("the lease is lost")?.to_owned())
}

impl Etcd {
    pub(crate) fn start(nodes: u16, times: Times, resource: Resource) -> anyhow::Result<Self> {
        let ports = (1..=nodes).map(|node| (node, (free_port(), free_port()))).collect();
        let (clients, servers) = (Processes::new()?, Processes::new()?);
        let mut etcd = Self { clients, servers, times, resource, ports };
        (1..=nodes).try_for_each(|node| etcd.serve(node))?;
        (1..=nodes).try_for_each(|node| etcd.join(node))?;
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
        let mut command = quiet("etcd");
        command.arg("--data-dir").arg(self.servers.folder().join(node.to_string()));
        command.args(["--name", &format!("n{node}"), "--logger", "zap", "--log-level", "error"]);
        command.args(["--listen-peer-urls", &own, "--initial-advertise-peer-urls", &own]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--initial-cluster", &all.join(","), "--initial-cluster-state", "new"]);
        command.args(["--heartbeat-interval", &milliseconds(self.times.heartbeat)]);
        command.args(["--election-timeout", &milliseconds(self.times.election)]);
        let server = Process::spawn(&mut command).context("etcd does not start")?;
        self.servers.insert(node, server);
        Ok(())
    }

    /// The client of a node waits for the lock.
    fn join(&mut self, node: u16) -> anyhow::Result<()> {
        wait::until("etcd is healthy", LIMIT, || self.says(node, "/health", "\"true\""))?;
        let mut command = quiet("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.client(node)]);
        command.args(["lock", "--ttl", &self.times.lease.as_secs().to_string(), "bench"]);
        command.arg(std::env::current_exe()?);
        command.args(["hammer", &node.to_string()]);
        command.arg(format!("127.0.0.1:{}", self.resource.port)).arg(self.client(node));
        let client = Process::spawn(&mut command).context("etcdctl does not start")?;
        self.clients.insert(node, client);
        Ok(())
    }

    fn client(&self, node: u16) -> String {
        format!("http://127.0.0.1:{}", self.ports[&node].1)
    }

    /// Whether a member answers a question, and has this in its answer.
    fn says(&self, node: u16, path: &str, part: &str) -> bool {
        let answer = get(&(self.client(node) + path), Duration::from_secs(1));
        answer.is_some_and(|(_, text)| text.contains(part))
    }

    /// Whether the member of a node leads Raft.
    pub(crate) fn leads_raft(&self, node: u16) -> bool {
        self.says(node, "/metrics", "etcd_server_is_leader 1\n")
    }

    /// Every node whose member runs has a client: one that has lost its lease has ended.
    pub(crate) fn mend(&mut self) -> anyhow::Result<()> {
        for node in self.servers.up() {
            if self.clients.has_ended(node) {
                self.join(node)?;
            }
        }
        Ok(())
    }

    /// SIGKILL to the client of a node, and to its command.
    pub(crate) fn kill_client(&mut self, node: u16) {
        if let Some(mut client) = self.clients.take(node) {
            client.end();
        }
    }

    /// SIGKILL to everything that a node has.
    pub(crate) fn kill(&mut self, node: u16) {
        // The client first: its command must not outlive it.
        self.kill_client(node);
        if let Some(mut server) = self.servers.take(node) {
            server.end();
        }
    }
}
