//! `bellwether exec-command`: becomes the command of a leader, after it has told the kernel when to
//! end it. The process stays the same, so the command is a child of the keeper.
//!
//! The kernel kills it when the keeper ends, however that happens, and so also when the keeper and
//! the node are killed together. That is lost if the command is a program that takes on the rights
//! of another user; its [cgroup](super::group) is not.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::anyhow;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::group;
use crate::{Failure, itself, log};

/// The exit status when the command is not found.
const NOT_FOUND: u8 = 127;

/// The exit status when it cannot be started.
pub(super) const CANNOT_START: u8 = 126;

/// Become a command that only a leader runs; `bellwether exec-keeper` starts this
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The process that this one is not to outlive
    #[arg(long, value_name = "PROCESS")]
    keeper: u32,

    /// The folder of the cgroup to join
    #[arg(long, value_name = "DIR")]
    group: Option<PathBuf>,

    /// The command and its arguments; without them, only the cgroup is joined
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Returns a command that becomes another one, which is appended to it.
pub(super) fn started(group: Option<&Path>) -> std::io::Result<Command> {
    let mut command = itself::command()?;
    command.arg("exec-command").arg("--keeper").arg(std::process::id().to_string());
    if let Some(group) = group {
        command.arg("--group").arg(group);
    }
    command.arg("--").stdin(Stdio::null());
    Ok(command)
}

/// Returns whether a process can join this cgroup.
pub(super) fn probe(group: &Path) -> std::io::Result<bool> {
    let status = started(Some(group))?.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(status.success())
}

/// Whether there is such a program: that is found out before the node takes part, and not when it
/// leads and the old leader is gone.
pub(super) fn check(program: &OsStr) -> Result<(), Failure> {
    let (status, why) = match found(program, &std::env::var_os("PATH").unwrap_or_default()) {
        Ok(()) => return Ok(()),
        Err(Errno::NOENT) => (NOT_FOUND, Errno::NOENT),
        Err(other) => (CANNOT_START, other),
    };
    let (program, why) = (program.display(), std::io::Error::from(why));
    let remedy = "name a program that is there before this node leads";
    Err(Failure { status, error: anyhow!("cannot run {program}: {why}; {remedy}") })
}

/// Looks where the kernel will: a name without a slash is searched for in these folders.
fn found(program: &OsStr, folders: &OsStr) -> Result<(), Errno> {
    let candidates: Vec<PathBuf> = match program.as_bytes().contains(&b'/') {
        true => vec![program.into()],
        false => std::env::split_paths(folders).map(|folder| folder.join(program)).collect(),
    };
    let mut why = Errno::NOENT;
    for candidate in candidates {
        match candidate.metadata() {
            Ok(about) if about.is_file() && about.permissions().mode() & 0o111 != 0 => {
                return Ok(());
            }
            Err(error)
                if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {}
            Ok(_) | Err(_) => why = Errno::ACCESS,
        }
    }
    Err(why)
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let cannot = |what: &str, error: std::io::Error| Failure {
        status: CANNOT_START,
        error: anyhow!("cannot start the command: cannot {what}: {error}"),
    };
    // Of the thread that has started this process: it is the main one, which ends last.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| cannot("be killed with the keeper", error.into()))?;
    // It may have ended just before.
    let parent = getppid().map(Pid::as_raw_pid).and_then(|parent| u32::try_from(parent).ok());
    if parent != Some(args.keeper) {
        return Ok(ExitCode::from(CANNOT_START));
    }
    if let Some(group) = &args.group {
        group::join(group).map_err(|error| cannot("join its cgroup", error))?;
    }
    let Some((program, arguments)) = args.command.split_first() else {
        return Ok(ExitCode::SUCCESS);
    };
    // It returns only if it fails.
    let error = Command::new(program).args(arguments).exec();
    log::complain(&format!("cannot run {}: {error}", program.display()));
    let missing = error.kind() == ErrorKind::NotFound;
    Ok(ExitCode::from(if missing { NOT_FOUND } else { CANNOT_START }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_as_the_kernel_does() {
        let look = |program: &str, folders: &str| found(program.as_ref(), folders.as_ref());
        assert_eq!(look("/bin/sh", ""), Ok(()));
        assert_eq!(look("sh", "/no/such:/bin"), Ok(()));
        assert_eq!(look("sh", "/no/such"), Err(Errno::NOENT));
        assert_eq!(look("/bin/sh/sh", ""), Err(Errno::NOENT));
        assert_eq!(look("/etc/passwd", ""), Err(Errno::ACCESS));
        // A folder is none, and one of a later folder is found.
        assert_eq!(look("bin", "/"), Err(Errno::ACCESS));
        assert_eq!(look("env", "/:/usr/bin"), Ok(()));
    }
}
