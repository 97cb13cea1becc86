//! Processes of the system, which are gone when a test is, however it ends.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, kill_process};
use tempfile::TempDir;

use crate::wait;

pub use rustix::process::Signal;

/// Where a program of this name is, built beside this program or beside the tests that this program
/// is; nothing if cargo has not built it.
pub fn beside(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let folder = own.parent()?;
    let folder = if folder.ends_with("deps") { folder.parent()? } else { folder };
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

/// Where the daemon is, which is a program of another package; nothing if cargo has not built it.
pub fn daemon() -> Option<PathBuf> {
    beside("bellwether")
}

/// A program without input, and without what the environment says to the daemon.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("BELLWETHER_")) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// The same, without output.
pub fn quiet(program: impl AsRef<OsStr>) -> Command {
    let mut command = command(program);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs a program that must succeed to its end. Returns what it says, without space around.
pub fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let [said, wrong] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    anyhow::ensure!(output.status.success(), "{command:?}: {}", wrong.trim());
    Ok(said.trim().to_owned())
}

/// A running process, killed when this is dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a program that must be there.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        Self::spawn(command).expect("the program starts")
    }

    /// Starts a program.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// Returns the number of the process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// SIGKILL: the process gets no chance to say anything.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// SIGKILL to the process and all below it.
    pub fn end(&mut self) {
        let all = below(self.id());
        let _ = self.0.kill();
        for process in all {
            // A process that has ended meanwhile needs no signal.
            let _ = send(process, Signal::KILL);
        }
        let _ = self.0.wait();
    }

    /// Sends a signal to the process alone.
    #[track_caller]
    pub fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("the process is our child");
    }

    /// Sends a signal to the process and all below it.
    pub fn send_to_all(&self, signal: Signal) {
        for process in [vec![self.id()], below(self.id())].concat() {
            // A process that has ended meanwhile needs no signal.
            let _ = send(process, signal);
        }
    }

    /// Sends SIGTERM: a node hands over, and ends.
    #[track_caller]
    pub fn ask_to_end(&self) {
        self.send(Signal::TERM);
    }

    /// Lets the process stand still for so long.
    #[track_caller]
    pub fn pause(&self, time: Duration) {
        self.send(Signal::STOP);
        thread::sleep(time);
        self.send(Signal::CONT);
    }

    /// Returns whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Waits until the process ends, and returns its exit status.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let look = || self.0.try_wait().expect("the process is our child");
        wait::wait_for("the process ends", look, String::new)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The processes of a cluster, by their nodes, and a folder with their files. No process outlives
/// this.
#[derive(Debug)]
pub struct Processes {
    folder: TempDir,
    running: BTreeMap<u16, Process>,
}

impl Processes {
    /// Makes the folder. No node runs.
    pub fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("bellwether-cluster-").tempdir()?;
        Ok(Self { folder, running: BTreeMap::new() })
    }

    /// Returns where the files of the nodes are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Opens a file in the folder, such as a log, which is written to at its end.
    pub fn append(&self, name: impl AsRef<Path>) -> io::Result<File> {
        File::options().create(true).append(true).open(self.folder().join(name))
    }

    /// Returns the text of a file in the folder; none if there is no such file.
    pub fn text(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.folder().join(name)).unwrap_or_default()
    }

    /// Takes the process of a node in, which must not run yet.
    #[track_caller]
    pub fn insert(&mut self, node: u16, process: Process) {
        assert!(self.running.insert(node, process).is_none(), "node {node} runs already");
    }

    /// Returns the nodes that were started and not taken out.
    pub fn up(&self) -> Vec<u16> {
        self.running.keys().copied().collect()
    }

    /// Returns the process of a node that is up.
    pub fn get(&self, node: u16) -> Option<&Process> {
        self.running.get(&node)
    }

    /// Takes the process of a node out. The process is killed when it is dropped.
    pub fn take(&mut self, node: u16) -> Option<Process> {
        self.running.remove(&node)
    }

    /// Returns whether the process of a node has ended by itself; then the node is no longer up.
    pub fn has_ended(&mut self, node: u16) -> bool {
        let ended = self.running.get_mut(&node).is_none_or(Process::has_ended);
        if ended {
            self.running.remove(&node);
        }
        ended
    }

    /// Ends all processes, keeps the folder for a person to read, and returns where it is.
    pub fn keep(mut self) -> PathBuf {
        self.end();
        self.folder.disable_cleanup(true);
        self.folder.path().to_owned()
    }

    fn end(&mut self) {
        self.running.values_mut().for_each(Process::end);
        self.running.clear();
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end();
    }
}

/// Copies the files in a folder to another folder, which has no others then.
pub fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        let (kind, copy) = (file.file_type()?, to.join(file.file_name()));
        if kind.is_dir() {
            copy_files(&file.path(), &copy)?;
        } else if kind.is_file() {
            fs::copy(file.path(), copy)?;
        }
    }
    Ok(())
}

/// Sends a signal to the process of this number.
pub fn send(process: u32, signal: Signal) -> anyhow::Result<()> {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    let Some(id) = id else { anyhow::bail!("{process} is no process") };
    Ok(kill_process(id, signal)?)
}

/// Returns whether a process does something still. Its parent may not have waited for it yet.
pub fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// Every process, and the one above it.
fn parents() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect()
}

/// Returns the processes that a process has started itself.
pub fn children(process: u32) -> Vec<u32> {
    parents().into_iter().filter(|(_, above)| *above == process).map(|(id, _)| id).collect()
}

/// Returns the processes below a process.
pub fn below(process: u32) -> Vec<u32> {
    let parents = parents();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, above)| *above == parent).map(|(id, _)| id));
        next += 1;
    }
    found.split_off(1)
}
