//! A program that the daemon runs beside its node: a hook or a check. It runs in a process group of
//! its own, and is killed with all of it.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use bellwether::{Epoch, NodeId, Role};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::service;

/// How long to wait for the rest of what a script prints after it has ended: what it has started in
/// the background may hold its output open.
pub(crate) const REST: Duration = Duration::from_millis(100);

/// What a script is told of the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) node: NodeId,
    /// The group that it is about, if the node has groups and it is not about all.
    pub(crate) group: Option<&'a str>,
    pub(crate) role: Role,
    pub(crate) leader: Option<NodeId>,
    pub(crate) epoch: Option<Epoch>,
}

/// Returns the command for a program and its arguments. It reads nothing, and its environment says
/// how the node is.
pub(crate) fn command(words: &[String], about: &About<'_>) -> Command {
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1));
    let epoch = about.epoch.map_or(String::new(), |epoch| epoch.number().to_string());
    command.env("BELLWETHER_CLUSTER", about.cluster);
    command.env("BELLWETHER_NODE", about.node.to_string());
    match about.group {
        Some(group) => command.env("BELLWETHER_GROUP", group),
        None => command.env_remove("BELLWETHER_GROUP"),
    };
    command.env("BELLWETHER_ROLE", about.role.to_string());
    command.env("BELLWETHER_LEADER", number(about.leader));
    command.env("BELLWETHER_EPOCH", epoch);
    // It is no part of the service: it says nothing to the service manager.
    for name in service::VARIABLES {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// Returns how a variable says which node: it is empty if there is none.
pub(crate) fn number(node: Option<NodeId>) -> String {
    node.map_or(String::new(), |node| node.to_string())
}

/// The numbers of the scripts that run: whatever else is below this process is not theirs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scripts(Arc<Mutex<BTreeSet<u32>>>);

impl Scripts {
    /// Returns all of them. None starts or ends while this is held.
    pub(crate) fn all(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a script.
    pub(crate) fn start(&self, command: &mut Command) -> anyhow::Result<Script> {
        let mut all = self.all();
        let child = command.spawn().map_err(|error| {
            let program = command.as_std().get_program().to_string_lossy();
            match error.kind() {
                ErrorKind::NotFound => anyhow!("{program}: there is no such program"),
                _ => anyhow!("{program}: {error}"),
            }
        })?;
        let number = child.id();
        all.extend(number);
        drop(all);
        Ok(Script { child, number, scripts: self.clone() })
    }
}

/// A script that runs. One that is dropped before it has ended is killed.
#[derive(Debug)]
pub(crate) struct Script {
    child: Child,
    number: Option<u32>,
    scripts: Scripts,
}

impl Script {
    /// Takes its standard output, if that is piped.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Takes its standard error, if that is piped.
    pub(crate) fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits until it has ended. What it has started may run on.
    pub(crate) async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Kills it with its process group, and waits for it.
    pub(crate) async fn kill(&mut self) {
        self.kill_group();
        let _ = self.child.wait().await;
    }

    /// Kills its process group, but not once it has been reaped: its number may then be another's.
    fn kill_group(&self) {
        let group = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.kill_group();
        let number = self.number;
        self.scripts.all().retain(|&script| Some(script) != number);
    }
}
