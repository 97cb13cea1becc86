//! The processes: daemons on the loopback interface, each with a configuration, a directory, a log
//! and a trace of its own.

use super::network::Network;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How many bytes of a log are shown at most.
const SHOWN: usize = 2_000;

/// The processes. When this is dropped, none is left.
pub(super) struct Cluster {
    program: PathBuf,
    nodes: Vec<Daemon>,
}

/// One node: where its files are, and its process, if it is up.
struct Daemon {
    folder: PathBuf,
    process: Option<Child>,
}

impl Cluster {
    /// Prepares so many nodes, which talk to each other through `network`. None of them runs.
    pub(super) fn new(
        program: PathBuf,
        (protocol, count): (&str, usize),
        folder: &Path,
        network: &mut Network,
    ) -> io::Result<Self> {
        // All at once, or two would be the same.
        let free: Vec<TcpListener> = (0..count)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .collect::<io::Result<_>>()?;
        let ports: Vec<SocketAddr> =
            free.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        drop(free);
        let mut nodes = Vec::new();
        for (&own, node) in ports.iter().zip(1_u16..) {
            let mut members = String::new();
            for (&target, other) in ports.iter().zip(1_u16..) {
                let address =
                    if other == node { own } else { network.relay((node, other), target)? };
                members += &format!("{other} = \"{address}\"\n");
            }
            let folder = folder.join(node.to_string());
            fs::create_dir_all(&folder)?;
            let data = folder.join("data");
            let text = format!(
                "cluster = \"suite\"\nnode = {node}\nprotocol = \"{protocol}\"\n[members]\n\
                 {members}[storage]\ndirectory = '{}'\n",
                data.display()
            );
            fs::write(folder.join("node.toml"), text)?;
            nodes.push(Daemon { folder, process: None });
        }
        Ok(Self { program, nodes })
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn is_up(&self, at: usize) -> bool {
        self.nodes[at].process.is_some()
    }

    /// Starts a node, for the first time or again.
    pub(super) fn start(&mut self, at: usize) -> io::Result<()> {
        let Daemon { folder, process } = &mut self.nodes[at];
        let log = File::options().create(true).append(true).open(folder.join("log"))?;
        let child = Command::new(&self.program)
            .arg("run")
            .arg("--config")
            .arg(folder.join("node.toml"))
            .arg("--trace")
            .arg(folder.join(TRACE))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| {
                let program = self.program.display();
                io::Error::other(format!("cannot run {program}; give --program PATH: {error}"))
            })?;
        *process = Some(child);
        Ok(())
    }

    /// Kills a node: it has no time for a last word.
    pub(super) fn kill(&mut self, at: usize) -> io::Result<()> {
        if let Some(mut child) = self.nodes[at].process.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Looks whether a node has ended that was not killed.
    pub(super) fn check(&mut self) -> io::Result<()> {
        for Daemon { folder, process } in &mut self.nodes {
            let Some(child) = process else { continue };
            if let Some(status) = child.try_wait()? {
                let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
                let from = log.len().saturating_sub(SHOWN);
                let end = log.get(from..).unwrap_or_default();
                let words = format!("a process has ended by itself ({status}):\n{end}");
                return Err(io::Error::other(words));
            }
        }
        Ok(())
    }

    /// The traces of those that have written one.
    pub(super) fn traces(&self) -> Vec<PathBuf> {
        let traces = self.nodes.iter().map(|node| node.folder.join(TRACE));
        traces.filter(|trace| trace.metadata().is_ok_and(|file| file.len() > 0)).collect()
    }
}

/// The file of a trace in the folder of its node.
const TRACE: &str = "trace.ndjson";

impl Drop for Cluster {
    fn drop(&mut self) {
        for at in 0..self.nodes.len() {
            // One that cannot be killed has ended.
            let _ = self.kill(at);
        }
    }
}
