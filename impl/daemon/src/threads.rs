//! The threads of a command: a limit on them is told before the first that cannot be started.

use std::sync::Mutex;
use std::thread;

use anyhow::anyhow;
use tokio::runtime::{Builder, Runtime};

/// How many threads a runtime needs besides its workers: for files, and for the names of members.
const BESIDES: usize = 4;

/// What to do about a thread that cannot be started.
pub(crate) const REMEDY: &str = "raise the limit on processes and threads: `ulimit -u` of the \
                                 user, `TasksMax=` of the unit, or `pids.max` of the cgroup";

/// Returns how many workers the runtime of a node has: one for each processor.
pub(crate) fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns a runtime with so many workers. The runtime itself would panic if it could not start
/// one, so that is tried before.
pub(crate) fn runtime(workers: usize) -> anyhow::Result<Runtime> {
    let needed = workers + BESIDES;
    let cannot =
        |error: std::io::Error| anyhow!("cannot start {needed} threads: {error}; {REMEDY}");
    start(needed).map_err(cannot)?;
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().map_err(cannot)
}

/// Starts so many threads, all of which there are at one moment, and waits for their end.
fn start(count: usize) -> std::io::Result<()> {
    let gate = &Mutex::new(());
    thread::scope(|scope| {
        let shut = gate.lock();
        let start = |_| thread::Builder::new().spawn_scoped(scope, move || drop(gate.lock()));
        let started: std::io::Result<Vec<_>> = (0..count).map(start).collect();
        drop(shut);
        started.map(drop)
    })
}
