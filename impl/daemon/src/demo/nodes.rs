//! The nodes of the demonstration: child processes on loopback, each with a directory, a relay to
//! each other node, and a thread that asks it how it is.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::proxy::Proxy;
use crate::itself;

/// How long between two questions to a node, and how long one takes at most.
const ASK: Duration = Duration::from_millis(250);

/// All nodes, and the relays between them.
pub(super) struct Nodes {
    nodes: BTreeMap<u16, Node>,
    proxies: BTreeMap<(u16, u16), Proxy>,
}

struct Node {
    folder: PathBuf,
    http: SocketAddr,
    process: Mutex<Process>,
    /// What it said last; nothing while it does not answer.
    status: Arc<Mutex<Option<Value>>>,
}

/// The process of a node.
#[derive(Default)]
struct Process {
    child: Option<Child>,
    paused: bool,
}

impl Nodes {
    /// Starts nodes `1..=count` with all that they keep in `folder`.
    pub(super) async fn start(count: u16, folder: &Path) -> anyhow::Result<Self> {
        // A relay that got the port of its own target would be its own other side, and each of its
        // connections would bring another one.
        let reserve = || std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let mut reserved = BTreeMap::new();
        let mut ports = BTreeMap::new();
        for node in 1..=count {
            let (listen, http) = (reserve()?, reserve()?);
            ports.insert(node, (listen.local_addr()?, http.local_addr()?));
            reserved.insert(node, [listen, http]);
        }
        let mut nodes = BTreeMap::new();
        let mut proxies = BTreeMap::new();
        for (&node, &(listen, http)) in &ports {
            let mut members = format!("{node} = \"{listen}\"\n");
            for (&other, &(target, _)) in ports.iter().filter(|(other, _)| **other != node) {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                members += &format!("{other} = \"{}\"\n", listener.local_addr()?);
                let proxy = Proxy::default();
                tokio::spawn(proxy.clone().run(listener, target));
                proxies.insert((node, other), proxy);
            }
            let folder = folder.join(node.to_string());
            std::fs::create_dir_all(&folder)?;
            let text = format!(
                "cluster = \"demo\"\nnode = {node}\n[members]\n{members}\
                 [storage]\ndirectory = \"data\"\n[http]\nlisten = \"{http}\"\n"
            );
            std::fs::write(folder.join("node.toml"), text)?;
            let status = Arc::default();
            watch(http, Arc::clone(&status));
            nodes.insert(node, Node { folder, http, process: Mutex::default(), status });
        }
        let all = Self { nodes, proxies };
        for node in 1..=count {
            drop(reserved.remove(&node));
            all.act("start", node, None)?;
        }
        Ok(all)
    }

    /// Does to a node, or to the link between two, what a person asks for.
    pub(super) fn act(&self, what: &str, node: u16, other: Option<u16>) -> anyhow::Result<()> {
        if let Some(other) = other {
            return self.link(what, node, other);
        }
        let node = self.nodes.get(&node).ok_or_else(|| anyhow!("there is no node {node}"))?;
        let mut process = node.process();
        match what {
            "start" => node.spawn(&mut process),
            "kill" => process.kill(),
            "pause" => process.send(Signal::STOP),
            "continue" => process.send(Signal::CONT),
            _ => Err(anyhow!("nothing is called {what}")),
        }
    }

    fn link(&self, what: &str, node: u16, other: u16) -> anyhow::Result<()> {
        let cut = match what {
            "cut" => true,
            "heal" => false,
            _ => return Err(anyhow!("nothing is called {what}")),
        };
        for way in [(node, other), (other, node)] {
            self.proxies.get(&way).context("there is no such link")?.set_cut(cut);
        }
        Ok(())
    }

    /// Ends all processes, also those that stand still.
    pub(super) fn end(&self) {
        for node in self.nodes.values() {
            // One that does not run needs no end.
            let _ = node.process().kill();
        }
    }

    /// Everything that the page shows.
    pub(super) fn state(&self) -> Value {
        let node = |(&id, node): (&u16, &Node)| {
            let mut process = node.process();
            let running = process.is_running();
            let status = node.status.lock().unwrap_or_else(PoisonError::into_inner).clone();
            json!({
                "node": id,
                "page": format!("http://{}/", node.http),
                "running": running,
                "paused": running && process.paused,
                "status": status.filter(|_| running && !process.paused),
            })
        };
        let cut = |(&(a, b), proxy): (&(u16, u16), &Proxy)| {
            (a < b && proxy.is_cut()).then(|| json!([a, b]))
        };
        json!({
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "cut": self.proxies.iter().filter_map(cut).collect::<Vec<_>>(),
        })
    }
}

/// No process is left, whatever ends the demonstration.
impl Drop for Nodes {
    fn drop(&mut self) {
        self.end();
    }
}

impl Node {
    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(&self, process: &mut Process) -> anyhow::Result<()> {
        if process.is_running() {
            return Err(anyhow!("it runs already"));
        }
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = itself::command()?;
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("BELLWETHER_")) {
                command.env_remove(name);
            }
        }
        command.arg("demo-node").arg("--of").arg(std::process::id().to_string());
        command.arg("--config").arg(self.folder.join("node.toml"));
        // Ctrl-C is for the demonstration, which ends its nodes itself.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        *process = Process { child: Some(command.spawn()?), paused: false };
        Ok(())
    }
}

impl Process {
    fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        let mut child = self.child.take().context("it does not run")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    fn send(&mut self, signal: Signal) -> anyhow::Result<()> {
        if !self.is_running() {
            return Err(anyhow!("it does not run"));
        }
        let id = self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok());
        kill_process(id.and_then(Pid::from_raw).context("it does not run")?, signal)?;
        self.paused = signal == Signal::STOP;
        Ok(())
    }
}

/// Asks the node how it is, as long as the program runs.
fn watch(http: SocketAddr, status: Arc<Mutex<Option<Value>>>) {
    std::thread::spawn(move || {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().timeout_global(Some(ASK)).build().into();
        let url = format!("http://{http}/cluster");
        loop {
            let text =
                agent.get(&url).call().and_then(|mut answer| answer.body_mut().read_to_string());
            let said = text.ok().and_then(|text| serde_json::from_str(&text).ok());
            *status.lock().unwrap_or_else(PoisonError::into_inner) = said;
            std::thread::sleep(ASK);
        }
    });
}
