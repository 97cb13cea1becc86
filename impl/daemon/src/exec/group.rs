//! A cgroup for the commands of a node (cgroups(7), version 2): no process leaves it by a session
//! of its own or by another parent, and the kernel ends all that are in it at once.
//!
//! It is made below the cgroup of the node, if the node may do that. It outlives the node: what is
//! in it when the node starts again was left behind by a run whose node and keeper were killed
//! together.

use std::fs::{self, File, TryLockError};
use std::io::{Error, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use bellwether::Config;
use bellwether::internal::config::Runnable;

use super::command;

/// How long what was left behind may take to end.
const LIMIT: Duration = Duration::from_secs(10);

/// How long between two looks at it.
const LOOK: Duration = Duration::from_millis(10);

/// What is written to in order to kill all that are in a cgroup. Linux has it since 5.14.
const KILL: &str = "cgroup.kill";

/// The cgroup of a node. Removed when this is dropped.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    /// The folder of the cgroup itself: another node that runs is not taken for a dead one.
    lock: File,
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
        let _ = self.lock.unlock();
    }
}

/// Returns the cgroup of this node, if there can be one, and says in the log which. It is empty:
/// what an earlier run has left in it has ended.
pub(super) async fn of_node<C: Runnable>(config: &Config<C>) -> anyhow::Result<Option<Group>> {
    let node = config.node().get();
    let group = match Group::make(&name(config)) {
        Ok(group) => group,
        Err(why) => {
            tracing::warn!(
                node,
                "if this node and its keeper are killed together, the kernel kills the command, \
                 but not its descendants. The command's descendants are covered by a cgroup: no: \
                 {why}"
            );
            return Ok(None);
        }
    };
    let path = group.path.display();
    group.empty(node).await?;
    tracing::info!(
        node,
        "if this node and its keeper are killed together, the kernel kills the command, and the \
         next start of this node its descendants. The command's descendants are covered by a \
         cgroup: yes: {path}"
    );
    Ok(Some(group))
}

/// What no other node on this machine calls its cgroup: it keeps its state elsewhere, or has
/// another label.
fn name<C: Runnable>(config: &Config<C>) -> String {
    let directory = config.directory().ok().flatten().unwrap_or(Path::new(""));
    let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let state = directory.as_os_str().as_encoded_bytes();
    let state = crc32fast::hash(config.label().map_or(state, str::as_bytes));
    format!("bellwether@{}@{}@{state:08x}", config.cluster(), config.node())
}

impl Group {
    /// Makes the cgroup of this name, or takes the one that is there. The error is the reason.
    fn make(name: &str) -> Result<Self, String> {
        let own = own().ok_or("this process is in no cgroup of version 2 that can be seen")?;
        let path = own.join(name);
        let cannot =
            |what: &str, error: Error| format!("cannot {what} {}: {error}", path.display());
        if let Err(error) = fs::create_dir(&path)
            && !path.is_dir()
        {
            return Err(cannot("make", error));
        }
        let lock = File::open(&path).map_err(|error| cannot("open", error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!("another process uses {}", path.display()));
            }
            Err(TryLockError::Error(error)) => return Err(cannot("lock", error)),
        }
        // From here on it is removed again if it is of no use.
        let group = Self { path: path.clone(), lock };
        opened(&path.join(KILL)).map_err(|error| cannot("kill what is in", error))?;
        let joins = command::probe(&path).map_err(|error| cannot("join", error))?;
        if joins { Ok(group) } else { Err(format!("no process can join {}", path.display())) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until what was left in it has ended.
    async fn empty(&self, node: u16) -> anyhow::Result<()> {
        let end = Instant::now() + LIMIT;
        let mut told = false;
        while !is_empty(&self.path)? {
            let path = self.path.display();
            if !told {
                tracing::warn!(node, "ending what an earlier run of this node has left in {path}");
                told = true;
            }
            if Instant::now() > end {
                let limit = humantime::format_duration(LIMIT);
                return Err(anyhow!(
                    "what an earlier run of this node has left in {path} was killed, and has not \
                     ended within {limit}: its processes are listed in {path}/cgroup.procs"
                ));
            }
            kill(&self.path)?;
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

/// Moves this process into a cgroup. All that it starts from then on is in it.
pub(super) fn join(group: &Path) -> std::io::Result<()> {
    opened(&group.join("cgroup.procs"))?.write_all(b"0")
}

/// Kills every process in a cgroup, also those of other users.
pub(super) fn kill(group: &Path) -> std::io::Result<()> {
    opened(&group.join(KILL))?.write_all(b"1")
}

fn is_empty(group: &Path) -> std::io::Result<bool> {
    let events = fs::read_to_string(group.join("cgroup.events"))?;
    Ok(events.lines().any(|line| line == "populated 0"))
}

/// Opens a file of the kernel's to write to it.
fn opened(file: &Path) -> std::io::Result<File> {
    File::options().write(true).open(file)
}

/// The folder of the cgroup that this process is in.
fn own() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    folder(&groups, &mounts)
}

/// The same, by what the kernel says of the process: its cgroups, and what is mounted where.
fn folder(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        let below = Path::new(group).strip_prefix(root).ok()?;
        // Of a cgroup outside of what this process sees, the kernel says `/..`.
        let inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        (inside && system.starts_with("cgroup2 ")).then(|| Path::new(at).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_cgroup_is_found_where_it_is_mounted() {
        let found = |group: &str, root: &str, at: &str, system: &str| {
            let groups = format!("4:memory:/elsewhere\n0::{group}\n");
            let mounts = format!(
                "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
                 41 31 0:38 {root} {at} rw,nosuid shared:9 - {system} {system} rw\n"
            );
            folder(&groups, &mounts).map(|path| path.display().to_string())
        };
        let at = |path: &str| Some(path.to_owned());
        assert_eq!(found("/", "/", "/sys/fs/cgroup", "cgroup2"), at("/sys/fs/cgroup/"));
        assert_eq!(found("/a.slice/b", "/", "/cg", "cgroup2"), at("/cg/a.slice/b"));
        assert_eq!(found("/a/b", "/a", "/cg", "cgroup2"), at("/cg/b"));
        assert_eq!(found("/a/b", "/c", "/cg", "cgroup2"), None);
        assert_eq!(found("/../b", "/", "/cg", "cgroup2"), None);
        assert_eq!(found("/a", "/", "/cg", "cgroup"), None);
        assert_eq!(folder("4:memory:/elsewhere\n", ""), None);
    }
}
