//! Work on all threads of the pool, in code that is compiled once, whatever the work is.

use rayon::prelude::*;

type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

fn run(jobs: Vec<Job<'_>>) {
    jobs.into_par_iter().for_each(|job| job());
}

/// Does `work` for each item.
pub(super) fn each<I: Send>(items: impl IntoIterator<Item = I>, work: impl Fn(I) + Sync) {
    if rayon::current_num_threads() == 1 {
        return items.into_iter().for_each(work);
    }
    let work = &work;
    run(items.into_iter().map(|item| Box::new(move || work(item)) as Job<'_>).collect());
}

/// Returns what `work` returns for each item, in their order.
pub(super) fn map<I: Send, R: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    let items: Vec<I> = items.into_iter().collect();
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    each(items.into_iter().zip(&mut results), |(item, result)| *result = Some(work(item)));
    results.into_iter().flatten().collect()
}
