//! Work on all threads of a pool, in code that is compiled once, whatever the work is.

use super::error::SearchError;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Returns a pool of so many threads, or of one for each processor if they are none.
///
/// # Errors
/// [`SearchError::Threads`] if the system gives no threads.
pub fn pool(threads: usize) -> Result<ThreadPool, SearchError> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| SearchError::Threads(error.to_string()))
}

fn run(jobs: Vec<Job<'_>>) {
    // A thread that has nothing to do takes one job that another thread has not begun.
    jobs.into_par_iter().with_max_len(1).for_each(|job| job());
}

/// Does `work` for each item, on the threads of the pool that this is called in.
pub fn each<I: Send>(items: impl IntoIterator<Item = I>, work: impl Fn(I) + Sync) {
    if rayon::current_num_threads() == 1 {
        return items.into_iter().for_each(work);
    }
    let work = &work;
    run(items.into_iter().map(|item| Box::new(move || work(item)) as Job<'_>).collect());
}

/// Returns what `work` returns for each item, in their order. The threads are those of the pool
/// that this is called in.
pub fn map<I: Send, R: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    let items: Vec<I> = items.into_iter().collect();
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    each(items.into_iter().zip(&mut results), |(item, result)| *result = Some(work(item)));
    results.into_iter().flatten().collect()
}
