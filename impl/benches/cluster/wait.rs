//! Waiting for something, and giving it up when a person does not want to wait any longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

/// How long between two looks at something that is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Set when this program is asked to end. It then unwinds, and so leaves nothing behind.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// From now on, SIGINT, SIGTERM and SIGHUP end what is waited for, and so the program.
pub(crate) fn heed_signals() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        let listen = async || {
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            let mut hangup = signal(SignalKind::hangup())?;
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            std::io::Result::Ok(())
        };
        if runtime.block_on(listen()).is_ok() {
            ASKED_TO_END.store(true, Ordering::SeqCst);
        }
    });
    Ok(())
}

/// Whether this program was asked to end.
pub(crate) fn asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::SeqCst)
}

/// Waits until `look` finds something, for `limit` at most, and returns it and how long that took.
pub(crate) fn find<T>(
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
            bail!("asked to end");
        }
        if start.elapsed() > limit {
            bail!("not within {limit:.1?}: {what}");
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Waits until it is `done`, for `limit` at most, and returns how long that took.
pub(crate) fn until(
    what: &str,
    limit: Duration,
    mut done: impl FnMut() -> bool,
) -> anyhow::Result<Duration> {
    find(what, limit, || done().then_some(())).map(|((), time)| time)
}

/// Sleeps, unless this program is asked to end.
pub(crate) fn sleep(time: Duration) -> anyhow::Result<()> {
    let start = Instant::now();
    let over =
        until("the time is over", time + Duration::from_secs(60), || start.elapsed() >= time);
    over.map(|_| ()).context("sleeping")
}
