//! The monitor of a node: a program that judges the steps of the node while it runs.
//!
//! The program reads the [trace](crate::trace) of the node from its standard input and tells what
//! it finds on its standard output, one JSON object on each line, as `bellwether-conformance
//! validate --follow --json -` does. The node does not wait for it, and goes on without it: a
//! program that has ended is told in the log once, and is not started again before the node is, as
//! it could judge nothing of what came before.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::CLOSED_WITHIN;
use crate::report::MonitorMeasurements;

/// A longer line makes no sense, and is read in parts.
const LONGEST: u64 = 1 << 20;

/// How many lines of a report are logged.
const REPORTED: usize = 6;

/// How long a program that has closed its output may take to end, in steps of a hundredth second.
const ENDS_WITHIN: u32 = 20;

/// What the service manager tells the node alone.
const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// What the monitor has said so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    runs: AtomicBool,
    judged: AtomicU64,
    differences: AtomicU64,
    /// How many lines of the trace found no room on their way to it.
    dropped: Arc<AtomicU64>,
}

impl Counts {
    /// What is measured of it at this moment.
    pub(super) fn read(&self) -> MonitorMeasurements {
        MonitorMeasurements {
            runs: self.runs.load(Ordering::Relaxed),
            judged: self.judged.load(Ordering::Relaxed),
            differences: self.differences.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    /// Where lines are counted that found no room.
    pub(super) fn dropped(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.dropped)
    }

    fn note(&self, said: Said, node: u16) {
        match said {
            Said::Judged { steps } => self.judged.store(steps, Ordering::Relaxed),
            Said::Difference { report } => {
                self.differences.fetch_add(1, Ordering::Relaxed);
                let lines = report.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
                let report = lines.take(REPORTED).collect::<Vec<_>>().join("; ");
                tracing::error!(
                    node,
                    report,
                    "the monitor has found a difference: the node has done what the model does \
                     not allow"
                );
            }
            Said::Malformed { malformed: Place { line, why } } => tracing::error!(
                node,
                line,
                why,
                "the monitor cannot read the trace of the node from this line on"
            ),
            Said::Other => {}
        }
    }
}

/// What the program says.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Said {
    Judged {
        steps: u64,
    },
    Difference {
        #[serde(default)]
        report: Vec<String>,
    },
    Malformed {
        malformed: Place,
    },
    #[serde(other)]
    Other,
}

/// What the program says if it cannot judge at all.
#[derive(Debug, Deserialize)]
struct Failed {
    error: Wrong,
}

/// What is wrong, why, and what to do.
#[derive(Debug, Deserialize)]
struct Wrong {
    message: String,
    #[serde(default)]
    causes: Vec<String>,
    help: Option<String>,
}

impl Wrong {
    fn in_a_line(&self) -> String {
        let mut line = self.message.clone();
        line.extend(self.causes.iter().map(|cause| format!(": {cause}")));
        line.extend(self.help.iter().map(|help| format!("; {help}")));
        line
    }
}

/// Where the trace cannot be read.
#[derive(Debug, Deserialize)]
struct Place {
    line: u64,
    why: String,
}

/// A program that judges the node. It is killed when this is dropped.
pub(super) struct Monitor {
    child: Arc<Mutex<Child>>,
    /// Whether it is to end: the trace has.
    over: Arc<AtomicBool>,
    /// Nothing is sent, and it is over when the program has ended.
    ended: oneshot::Receiver<()>,
}

impl Monitor {
    /// Starts the program, and returns where the trace goes. One that cannot be started is told in
    /// the log.
    pub(super) fn start(
        words: &[String],
        node: u16,
        counts: &Arc<Counts>,
    ) -> Option<(Self, ToMonitor)> {
        let program = words.first()?;
        match Self::spawn(program, &words[1..], node, counts) {
            Ok(started) => Some(started),
            Err(error) => {
                counts.runs.store(false, Ordering::Relaxed);
                tracing::error!(
                    node,
                    %program,
                    %error,
                    "the monitor cannot be started; the node goes on, and nothing judges it"
                );
                None
            }
        }
    }

    fn spawn(
        program: &str,
        arguments: &[String],
        node: u16,
        counts: &Arc<Counts>,
    ) -> io::Result<(Self, ToMonitor)> {
        let mut command = Command::new(program);
        command.args(arguments);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for the node, which ends the monitor.
        command.process_group(0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let over = Arc::<AtomicBool>::default();
        let (done, ended) = oneshot::channel::<()>();
        let child = Arc::new(Mutex::new(child));
        let monitor = Self { child: Arc::clone(&child), over: Arc::clone(&over), ended };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        counts.runs.store(true, Ordering::Relaxed);
        let (counts, is_over) = (Arc::clone(counts), Arc::clone(&over));
        let hears = move || {
            each_line(stdout, |line| {
                if let Ok(said) = serde_json::from_slice(line) {
                    counts.note(said, node);
                } else if let Ok(Failed { error }) = serde_json::from_slice(line) {
                    tracing::warn!(node, "the monitor says: {}", error.in_a_line());
                }
            });
            counts.runs.store(false, Ordering::Relaxed);
            let status = wait(&child);
            if !is_over.load(Ordering::Relaxed) {
                let status = status.map_or("?".to_owned(), |status| status.to_string());
                tracing::error!(
                    node,
                    status,
                    "the monitor has ended; the node goes on, and nothing judges it until it is \
                     restarted"
                );
            }
            drop(done);
        };
        thread::Builder::new().name("monitor".to_owned()).spawn(hears)?;
        let tells = move || {
            each_line(stderr, |line| {
                let line = String::from_utf8_lossy(line);
                tracing::warn!(node, "the monitor says: {}", line.trim_end());
            });
        };
        thread::Builder::new().name("monitor-errors".to_owned()).spawn(tells)?;
        Ok((monitor, ToMonitor { stdin, over, failed: false }))
    }

    /// Waits until the program has ended, which it does where the trace ends; but not for long.
    pub(super) async fn close(mut self) {
        let _ = timeout(CLOSED_WITHIN, &mut self.ended).await;
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        kill(&mut lock(&self.child));
    }
}

/// What the trace is written to.
pub(super) struct ToMonitor {
    stdin: ChildStdin,
    over: Arc<AtomicBool>,
    /// Whether the program has closed it.
    failed: bool,
}

impl Write for ToMonitor {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let written = self.stdin.write(text);
        let is_over = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.failed |= written.as_ref().is_err_and(is_over);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdin.flush()
    }
}

impl Drop for ToMonitor {
    /// The end of the trace comes before the program can see it.
    fn drop(&mut self) {
        if !self.failed {
            self.over.store(true, Ordering::Relaxed);
        }
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the program, and what it has started. Not once it has been reaped: its number may then be
/// another's.
fn kill(child: &mut Child) -> Option<ExitStatus> {
    if let Ok(Some(status)) = child.try_wait() {
        return Some(status);
    }
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let killed = group.is_some_and(|group| kill_process_group(group, Signal::KILL).is_ok());
    // What cannot be killed is not waited for.
    if killed { child.wait().ok() } else { None }
}

/// How the program has ended, which has closed its output. If it runs on for all that, it is
/// killed.
fn wait(child: &Mutex<Child>) -> Option<ExitStatus> {
    for _ in 0..ENDS_WITHIN {
        if let Ok(Some(status)) = lock(child).try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    kill(&mut lock(child))
}

/// Reads to the end, line by line.
fn each_line(from: impl Read, mut read: impl FnMut(&[u8])) {
    let (mut from, mut line) = (BufReader::new(from), Vec::new());
    loop {
        line.clear();
        match from.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => read(&line),
        }
    }
}
