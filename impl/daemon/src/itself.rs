//! How this program starts itself: by what the kernel runs, and not by the name of a file. An
//! upgrade replaces the file, and may remove its folder or unmount its file system; a process that
//! runs keeps what it was started from, and starts the same release again.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// The name of the program.
const NAME: &str = "bellwether";

/// Returns a command that runs this program, still without arguments.
pub(crate) fn command() -> std::io::Result<Command> {
    let mut command = Command::new(program()?);
    // What a list of processes shows is what the user has typed.
    command.arg0(std::env::args_os().next().unwrap_or_else(|| OsString::from(NAME)));
    Ok(command)
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
