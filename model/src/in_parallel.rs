//! Searches side by side.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, Builder};

/// Does every job, with so many threads that each take the next one, and gives what came of each in
/// the order of the jobs.
///
/// # Errors
/// If the system gives no thread.
pub fn in_parallel<J: Sync, R: Send>(
    threads: usize,
    jobs: &[J],
    work: &(dyn Fn(&J) -> R + Sync),
) -> io::Result<Vec<R>> {
    let mut results: Vec<Option<R>> = jobs.iter().map(|_| None).collect();
    as_done(threads, jobs, work, &mut |at, result| results[at] = Some(result))?;
    Ok(results.into_iter().map(|result| result.expect("every job was done")).collect())
}

/// The same, where `done` gets the number of each job and what came of it as soon as it is done, in
/// any order, on the thread of the caller.
///
/// Not for rayon: a job searches with a pool of its own, and a thread of rayon's that waits for
/// another pool begins the next job on top of the one that waits, stack and memory alike.
///
/// # Errors
/// If the system gives no thread.
pub fn as_done<J: Sync, R: Send>(
    threads: usize,
    jobs: &[J],
    work: &(dyn Fn(&J) -> R + Sync),
    done: &mut dyn FnMut(usize, R),
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let take = || next.fetch_add(1, Ordering::Relaxed);
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads.max(1) {
            let (sender, take) = (sender.clone(), &take);
            let work_on = move || {
                let left = || Some(take()).filter(|&at| at < jobs.len());
                while let Some(at) = left() {
                    // If no other thread could be had, nothing is left to do.
                    if sender.send((at, work(&jobs[at]))).is_err() {
                        break;
                    }
                }
            };
            Builder::new().spawn_scoped(scope, work_on)?;
        }
        drop(sender);
        for (at, result) in results {
            done(at, result);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{as_done, in_parallel};

    #[test]
    fn what_comes_of_the_jobs_is_in_their_order() {
        let jobs: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 7] {
            let doubled = in_parallel(threads, &jobs, &|job| 2 * job).expect("threads");
            assert_eq!(doubled, jobs.iter().map(|job| 2 * job).collect::<Vec<_>>());
        }
    }

    /// One thread does them in their order, and each is told of before the caller gets it all.
    #[test]
    fn each_job_is_told_of_once() {
        let mut told = Vec::new();
        let jobs = ["a", "b", "c"];
        as_done(1, &jobs, &|job| job.len(), &mut |at, length| told.push((at, length)))
            .expect("a thread");
        assert_eq!(told, [(0, 1), (1, 1), (2, 1)]);
    }
}
