//! Searches side by side.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};

/// Does every job, with so many threads that each take the next one, and gives what came of each in
/// the order of the jobs.
///
/// Not for rayon: a job searches with a pool of its own, and a thread of rayon's that waits for
/// another pool begins the next job on top of the one that waits, stack and memory alike.
///
/// # Errors
/// If the system gives no thread.
pub(crate) fn side_by_side<J: Sync, R: Send>(
    threads: usize,
    jobs: &[J],
    work: &(dyn Fn(&J) -> R + Sync),
) -> io::Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work_on = || {
        while let Some(at) =
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < jobs.len())
        {
            *results[at].lock().expect("no other thread has it") = Some(work(&jobs[at]));
        }
    };
    thread::scope(|scope| {
        (0..threads.max(1)).try_for_each(|_| Builder::new().spawn_scoped(scope, work_on).map(drop))
    })?;
    let done = |result: Mutex<Option<R>>| result.into_inner().expect("no thread panicked");
    Ok(results.into_iter().map(|result| done(result).expect("every job was taken")).collect())
}
