//! The fence of a database, and instances of the program that are paused and killed.

mod cluster;
mod jobs;
mod server;
mod statements;

use std::time::{Duration, Instant};

/// No wait is longer. A loaded machine may take its time.
const LIMIT: Duration = Duration::from_secs(60);

/// Looks until there is something, and fails after [`LIMIT`] with what `explain` says.
fn wait_for<T>(
    what: &str,
    mut look: impl FnMut() -> Option<T>,
    explain: impl FnOnce() -> String,
) -> T {
    let deadline = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}\n{}", explain());
        std::thread::sleep(Duration::from_millis(10));
    }
}
