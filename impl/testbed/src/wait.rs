//! Waiting for something, and giving it up when a person does not want to wait any longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// No test waits longer. Elections take well under a second; a loaded machine may take its time.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How long between two looks at something that a measurement waits for.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// How long between two looks of a test, which may start a process for each.
const LOOK_LATER: Duration = Duration::from_millis(20);

/// Set when this program is asked to end. It then unwinds, and so leaves nothing behind.
static ASKED_TO_END: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on, SIGINT, SIGTERM and SIGHUP end what is waited for, and so the program.
pub fn heed_signals() -> anyhow::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&ASKED_TO_END))?;
    }
    Ok(())
}

/// Returns whether this program was asked to end.
pub fn asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::SeqCst)
}

/// Waits until `look` finds something, for `limit` at most, and returns it and how long that took.
pub fn find<T>(
    what: &str,
    limit: Duration,
    look: impl FnMut() -> Option<T>,
) -> anyhow::Result<(T, Duration)> {
    find_every(LOOK_AGAIN, what, limit, look)
}

fn find_every<T>(
    pause: Duration,
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> anyhow::Result<(T, Duration)> {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return Ok((found, start.elapsed()));
        }
        if asked_to_end() {
            anyhow::bail!("asked to end");
        }
        if start.elapsed() > limit {
            anyhow::bail!("not within {limit:.1?}: {what}");
        }
        thread::sleep(pause);
    }
}

/// Waits until something is `done`, for `limit` at most, and returns how long that took.
pub fn until(
    what: &str,
    limit: Duration,
    mut done: impl FnMut() -> bool,
) -> anyhow::Result<Duration> {
    find(what, limit, || done().then_some(())).map(|((), time)| time)
}

/// Sleeps, unless this program is asked to end.
pub fn sleep(time: Duration) -> anyhow::Result<()> {
    let start = Instant::now();
    let over = || start.elapsed() >= time;
    until("the time is over", time + Duration::from_secs(60), over).map(|_| ())
}

/// Looks until there is something, and fails after [`LIMIT`] with what `explain` says.
#[track_caller]
pub fn wait_for<T>(
    what: &str,
    look: impl FnMut() -> Option<T>,
    explain: impl FnOnce() -> String,
) -> T {
    match find_every(LOOK_LATER, what, LIMIT, look) {
        Ok((found, _)) => found,
        Err(error) => panic!("{error}\n{}", explain()),
    }
}

/// Looks until `done`, and fails after [`LIMIT`] with what `explain` says.
#[track_caller]
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool, explain: impl FnOnce() -> String) {
    wait_for(what, || done().then_some(()), explain);
}
