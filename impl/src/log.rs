//! Where the lines of a log go, without ever being in the way of what logs them.
//!
//! A log can stall: its reader stops reading, its disk is slow. It can fail: its reader is gone,
//! its disk is full. None of that may delay an election, or end it. So a line is handed to a thread
//! of its own through a bounded queue. A line that finds no room, or cannot be written, is dropped
//! and counted; once lines can be written again, one of them says how many are missing.
//!
//! The daemon logs through [`Lines`], and so can any program:
//!
//! ```no_run
//! let lines = bellwether::log::Lines::to(std::io::stderr(), |dropped| {
//!     tracing::warn!(dropped, "lines of the log were dropped");
//! })?;
//! lines.count_in_status();
//! let writer = move || lines.clone();
//! tracing_subscriber::fmt().with_writer(writer).log_internal_errors(false).init();
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `tracing-appender` has such a writer as well. It does not count the lines that cannot be
//! written, and when it ends with a full queue, it prints to standard output, which may be the very
//! pipe that is stalled.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How many lines wait to be written: those of some seconds in which everything goes wrong.
const CAPACITY: usize = 1024;

/// How long between two looks at whether everything is written.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A log whose lines are written by a thread of its own. A clone is the same log.
#[derive(Clone, Debug)]
pub struct Lines {
    queue: SyncSender<Vec<u8>>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Lines that were queued, and those of them that are written or dropped.
    queued: AtomicU64,
    done: AtomicU64,
    dropped: AtomicU64,
}

/// The log whose dropped lines a node reports.
static REPORTED: OnceLock<Arc<Counts>> = OnceLock::new();

impl Lines {
    /// Returns a log that is written to `out`. When a line can be written after others were
    /// dropped, `notice` is called with how many; it may log that.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn to(
        out: impl Write + Send + 'static,
        notice: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, lines) = sync_channel(CAPACITY);
        let counts = Arc::<Counts>::default();
        let theirs = Arc::clone(&counts);
        let thread = thread::Builder::new().name("log".to_owned());
        thread.spawn(move || write_all(&lines, out, &theirs, notice))?;
        Ok(Self { queue, counts })
    }

    /// Returns the number of lines that were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.counts.dropped.load(Relaxed)
    }

    /// Lets the nodes of this process report in their status how many lines were dropped. The first
    /// log for which this is called is the one.
    pub fn count_in_status(&self) {
        let _ = REPORTED.set(Arc::clone(&self.counts));
    }

    /// Waits until everything is written that was logged before, but never longer than `limit`.
    /// Returns whether it is.
    pub fn flush(&self, limit: Duration) -> bool {
        let queued = self.counts.queued.load(Relaxed);
        let deadline = Instant::now() + limit;
        while self.counts.done.load(Relaxed) < queued {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(LOOK_AGAIN);
        }
        true
    }
}

/// How many lines of the log were dropped, for the status.
pub(crate) fn dropped() -> u64 {
    REPORTED.get().map_or(0, |counts| counts.dropped.load(Relaxed))
}

/// One write is one line, and never fails.
impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // Before it is queued: the thread may be done with it before this one goes on.
        self.counts.queued.fetch_add(1, Relaxed);
        if self.queue.try_send(line.to_vec()).is_err() {
            self.counts.queued.fetch_sub(1, Relaxed);
            self.counts.dropped.fetch_add(1, Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the thread does until the last clone of the log is gone.
fn write_all(
    lines: &Receiver<Vec<u8>>,
    mut out: impl Write,
    counts: &Counts,
    notice: impl Fn(u64),
) {
    let mut told = 0;
    for line in lines {
        let written = out.write_all(&line).and_then(|()| out.flush()).is_ok();
        if !written {
            counts.dropped.fetch_add(1, Relaxed);
        }
        counts.done.fetch_add(1, Relaxed);
        let dropped = counts.dropped.load(Relaxed);
        if written && dropped > told {
            notice(dropped - told);
            // If the notice itself was dropped, all of it is told again.
            if counts.dropped.load(Relaxed) == dropped {
                told = dropped;
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{LazyLock, Mutex};

    use tracing::Dispatch;
    use tracing::level_filters::LevelFilter;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// Adds a listener that wants nothing. A test that listens to its thread calls this first: as
    /// long as a process has one listener, `tracing` asks only the thread that comes to a line
    /// first whether the line is wanted, and keeps the answer, which is no in any other test.
    pub(crate) fn listen_beside_others() {
        static SECOND: LazyLock<Dispatch> =
            LazyLock::new(|| Dispatch::new(tracing_subscriber::registry().with(LevelFilter::OFF)));
        LazyLock::force(&SECOND);
    }

    /// Takes as many texts as it is allowed to, and fails if it is told to.
    pub(crate) struct Slow {
        allowed: Receiver<bool>,
        written: Written,
    }

    pub(crate) type Written = Arc<Mutex<Vec<String>>>;

    impl Slow {
        /// Returns one with what allows the next text, and with the texts that it has taken.
        pub(crate) fn new() -> (Self, Sender<bool>, Written) {
            let (allow, allowed) = channel();
            let written = Written::default();
            (Self { allowed, written: Arc::clone(&written) }, allow, written)
        }
    }

    impl Write for Slow {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            if !self.allowed.recv().unwrap_or(true) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let text = String::from_utf8_lossy(line).into_owned();
            self.written.lock().expect("no test panics with it").push(text);
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    type Notices = Arc<Mutex<Vec<u64>>>;

    fn slow() -> (Lines, Sender<bool>, Written, Notices) {
        let ((out, allow, written), notices) = (Slow::new(), Notices::default());
        let theirs = Arc::clone(&notices);
        let notice = move |dropped| theirs.lock().expect("no test panics with it").push(dropped);
        let lines = Lines::to(out, notice);
        (lines.expect("a thread"), allow, written, notices)
    }

    fn log(lines: &Lines, line: &str) {
        lines.clone().write_all(line.as_bytes()).expect("it never fails");
    }

    #[test]
    fn a_stalled_log_takes_what_it_can_and_counts_the_rest() {
        let (lines, allow, written, notices) = slow();
        (0..=2 * CAPACITY).for_each(|number| log(&lines, &number.to_string()));
        assert!(!lines.flush(Duration::from_millis(50)), "it is stalled");
        let dropped = lines.dropped();
        // One may be on its way while the others wait.
        assert!((CAPACITY as u64..=CAPACITY as u64 + 1).contains(&dropped), "{dropped}");
        drop(allow);
        assert!(lines.flush(LIMIT));
        let written = written.lock().expect("no test panics with it");
        let number = |line: &String| line.parse::<usize>().expect("a number");
        assert!(written.is_sorted_by_key(number), "{written:?}");
        assert_eq!(written.len() as u64 + dropped, 2 * CAPACITY as u64 + 1);
        assert_eq!(*notices.lock().expect("no test panics with it"), [dropped]);
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_told_with_the_next_line() {
        let (lines, allow, written, notices) = slow();
        for (line, works) in [("a", true), ("b", false), ("c", false), ("d", true), ("e", true)] {
            allow.send(works).expect("the thread runs");
            log(&lines, line);
        }
        assert!(lines.flush(LIMIT));
        assert_eq!(*written.lock().expect("no test panics with it"), ["a", "d", "e"]);
        assert_eq!(lines.dropped(), 2);
        assert_eq!(*notices.lock().expect("no test panics with it"), [2]);
    }
}
