//! A node of the demonstration, which does not outlive it.

use std::process::ExitCode;

use crate::cli::{self, Failure, itself};

/// Take part in elections until the demonstration is over
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// The process of the demonstration
    #[arg(long, value_name = "PROCESS")]
    pub(super) of: u32,

    #[command(flatten)]
    node: cli::run::Args,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    itself::take_name();
    if is_over(args.of).map_err(Failure::runtime)? {
        return Ok(ExitCode::SUCCESS);
    }
    cli::run::run(&args.node)
}

/// Whether the demonstration is over. From here on this process is killed when it is, also while
/// it stands still.
#[cfg(target_os = "linux")]
fn is_over(demonstration: u32) -> std::io::Result<bool> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended just before.
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
    Ok(parent != Some(demonstration))
}

/// Elsewhere it is killed only if the demonstration ends as it should.
#[cfg(not(target_os = "linux"))]
fn is_over(_: u32) -> std::io::Result<bool> {
    Ok(false)
}
