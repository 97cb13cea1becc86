//! How this program starts itself, and how its node starts anew with another list of members.
//!
//! A child is started by what the kernel runs, and not by the name of a file. An upgrade replaces
//! the file, and may remove its folder or unmount its file system; a process that runs keeps what
//! it was started from, and starts the same release again.
//!
//! A node starts anew within the process, in a runtime of its own. The end of a runtime drops all
//! tasks and connections of the node; the log and the signals of the process last.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::anyhow;
use bellwether::Election;

use super::{Failure, log};

/// How long a leader that is to start anew does not run: until then it has.
const LONGEST_STOP: Duration = Duration::from_secs(60);

/// The name of the program.
const NAME: &str = "bellwether";

/// Returns a command that runs this program, still without arguments.
pub(crate) fn command() -> std::io::Result<Command> {
    let mut command = Command::new(program()?);
    // What a list of processes shows is what the user has typed.
    command.arg0(std::env::args_os().next().unwrap_or_else(|| OsString::from(NAME)));
    Ok(command)
}

/// How a node has ended.
pub(crate) enum End {
    /// For good, with this exit status of the program.
    Status(u8),
    /// To start anew, with what the configuration says by then.
    Anew,
}

/// The parts of the process that last while its node starts anew. No signal is lost meanwhile.
pub(crate) struct Lasting<S> {
    pub(crate) log: Option<log::Started>,
    pub(crate) signals: Option<S>,
}

/// Lets a node take part, and start anew, until it ends for good.
pub(crate) fn until_the_end<S>(
    mut take_part: impl FnMut(&mut Lasting<S>) -> Result<End, Failure>,
) -> Result<ExitCode, Failure> {
    let mut lasting = Lasting { log: None, signals: None };
    loop {
        if let End::Status(status) = take_part(&mut lasting)? {
            return Ok(ExitCode::from(status));
        }
    }
}

/// Listens for signals, unless the process does so already.
pub(crate) fn listening<S>(
    signals: &mut Option<S>,
    listen: impl FnOnce() -> std::io::Result<S>,
) -> anyhow::Result<&mut S> {
    let known = match signals.take() {
        Some(known) => known,
        None => listen().map_err(|error| anyhow!("cannot listen for signals: {error}"))?,
    };
    Ok(signals.insert(known))
}

/// Returns when the node is to start anew with another list of members, and its command has ended.
pub(super) async fn superseded(election: &Election) {
    let config_epoch = election.superseded().await;
    let mut leadership = election.leadership();
    let node = leadership.now().node.get();
    tracing::info!(node, config_epoch, "starts anew with the new list of members");
    let stops = election.step_down(LONGEST_STOP);
    tokio::select! {
        // A leader stops once its work has ended.
        _ = leadership.wait_for(|now| !now.is_self()) => {}
        _ = stops => {}
    }
}

/// What the kernel runs as this process. A child opens the link while it still runs the same.
#[cfg(target_os = "linux")]
fn program() -> std::io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// The file that was started. Elsewhere nothing but its name is known.
#[cfg(not(target_os = "linux"))]
fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// Gives this process the name of the program, where it was started through a link that has another
/// name. A process that cannot be renamed is none the worse.
pub(crate) fn take_name() {
    if cfg!(target_os = "linux") {
        let _ = std::fs::write("/proc/self/comm", NAME);
    }
}
