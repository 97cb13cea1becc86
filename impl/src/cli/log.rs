//! The log of the daemon, and its last words: on standard error, but never waiting for it.

use std::io::{IsTerminal as _, Write as _};
use std::panic::PanicHookInfo;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use bellwether::NodeId;
use bellwether::config::{Levels, Log, LogFormat};
use bellwether::log::Lines;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, reload};

use super::{Failure, environment};

/// How long the end of the program waits for a reader of standard error that does not read.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);

/// The exit status after a panic: Rust's own.
const PANICKED: i32 = 101;

/// The log of the process.
pub(crate) struct Started {
    pub(crate) lines: Lines,
    levels: reload::Handle<Targets, Registry>,
}

impl Started {
    /// Logs from these levels on.
    pub(crate) fn set(&self, levels: &Levels) {
        // It fails only if there is no subscriber any more.
        let _ = self.levels.reload(levels.filter());
    }
}

/// Logs to standard error from here on. A panic in any thread is logged, and ends the process: a
/// node that has lost a part of itself is worse than one that is gone.
pub(crate) fn start(log: &Log, node: NodeId) -> Result<Started, Failure> {
    let node = node.get();
    let notice = move |dropped| {
        tracing::warn!(node, dropped, "lines of this log were dropped: it was full, or stalled");
    };
    let lines = Lines::to(std::io::stderr(), notice);
    let lines = lines.map_err(|error| Failure::runtime(anyhow!("cannot log: {error}")))?;
    lines.count_in_status();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (filter, levels) = reload::Layer::new(log.levels.filter());
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(lines.clone())
        // They would be printed, and a print that fails is a panic.
        .log_internal_errors(false)
        .with_ansi(!plain && std::io::stderr().is_terminal());
    let layer = match log.format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(layer).init();
    let theirs = lines.clone();
    std::panic::set_hook(Box::new(move |panic| end(panic, node, &theirs)));
    for warning in environment::warnings() {
        tracing::warn!(node, "{warning}");
    }
    Ok(Started { lines, levels })
}

/// Ends the process, with the reason in its log.
fn end(panic: &PanicHookInfo<'_>, node: u16, lines: &Lines) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let reason = text.unwrap_or("no reason is known");
    let place = panic.location().map(ToString::to_string);
    let current = thread::current();
    let thread = current.name();
    tracing::error!(node, place, thread, "panicked, which is a mistake in bellwether: {reason}");
    lines.flush(LAST_WORDS);
    std::process::exit(PANICKED);
}

/// Prints an error on standard error; gives up when no process reads it.
pub(crate) fn complain(text: String) {
    let (told, done) = channel();
    // The writer of the log may be in the middle of a line that no process reads.
    let writes = move || {
        let _ = writeln!(std::io::stderr(), "error: {text}");
        let _ = told.send(());
    };
    if thread::Builder::new().spawn(writes).is_ok() {
        let _ = done.recv_timeout(LAST_WORDS);
    }
}
