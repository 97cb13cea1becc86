//! What is asked of a program that runs real processes of itself: that they take what they can of a
//! suite, and write down what they do.

use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the processes are to be.
pub struct Request<'a> {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The number of nodes.
    pub nodes: usize,
    /// The program of which the processes are, if it is not the one beside this program.
    pub program: Option<&'a Path>,
    /// The folder for all that they keep, which is there.
    pub folder: &'a Path,
    /// The time for which they run.
    pub time: Duration,
    /// Whether to go on, which is asked again and again.
    pub goes_on: &'a dyn Fn() -> bool,
}

/// What was done to the processes, and the logs that they have written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// The log of each node.
    #[serde(skip)]
    pub logs: Vec<PathBuf>,
    /// The number of times that a process was started.
    pub starts: u64,
    /// The number of times that a process was killed while it ran.
    pub kills: u64,
    /// The number of messages that were let through.
    pub delivered: u64,
    /// The number of messages that were taken away.
    pub lost: u64,
}

/// Runs processes. None of them is left when this returns.
pub type Processes = fn(&Request<'_>) -> io::Result<Done>;
