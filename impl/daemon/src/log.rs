//! The log of the daemon, and its last words: on standard error, but never waiting for it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use bellwether::NodeId;
use bellwether::internal::config::{Levels, Log, LogFormat};
use bellwether::log::Lines;
use bellwether_stores::private_file::endless;
use clap::ArgMatches;
use humantime::format_rfc3339_micros;
use serde_json::json;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, reload};

use super::{Failure, line, threads};

/// How long the end of the program waits for a reader of standard error that does not read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The exit status after a panic: Rust's own.
const PANICKED: i32 = 101;

/// The format of the log of the process and its node, once there is one.
static FORMAT: OnceLock<(LogFormat, u16)> = OnceLock::new();

/// The format of the log, and the file of the configuration, by the command line of a node and the
/// environment.
static ASKED: OnceLock<[Option<OsString>; 2]> = OnceLock::new();

/// The log of the process.
pub(crate) struct Started {
    lines: Lines,
    levels: reload::Handle<Targets, Registry>,
}

impl Started {
    /// Logs from these levels on.
    pub(crate) fn set(&self, levels: &Levels) {
        // It fails only if there is no subscriber any more.
        let _ = self.levels.reload(filter(levels));
    }

    /// Runs the part of a node to its end, and then writes the rest of the log.
    pub(crate) fn conduct(
        &self,
        part: impl Future<Output = anyhow::Result<u8>>,
    ) -> anyhow::Result<ExitCode> {
        let runtime = threads::runtime(threads::workers())?;
        let status = runtime.block_on(futures::FutureExt::boxed_local(part));
        // What still blocks, such as a resolver that does not answer, is not waited for.
        runtime.shutdown_timeout(LAST_WORDS);
        self.lines.flush(LAST_WORDS);
        status.map(ExitCode::from)
    }
}

/// Returns the filter that keeps to these levels. What rustls says of a single connection is left
/// out, unless it is asked for, or everything is at `debug`: a stranger could fill the log with it,
/// and a refused connection is told anyway.
fn filter(levels: &Levels) -> Targets {
    let mut targets = Targets::new().with_default(levels.default);
    if levels.default <= LevelFilter::INFO {
        targets = targets.with_target("rustls", LevelFilter::OFF);
    }
    targets.with_targets(levels.modules.iter().cloned())
}

/// Logs to standard error from here on. A panic in any thread is logged, and ends the process: a
/// node that has lost a part of itself is worse than one that is gone.
pub(crate) fn start(log: &Log, node: NodeId) -> Result<Started, Failure> {
    let node = node.get();
    let _ = FORMAT.set((log.format, node));
    let notice = move |dropped| {
        tracing::warn!(node, dropped, "lines of this log were dropped: it was full, or stalled");
    };
    let lines = Lines::to(std::io::stderr(), notice);
    let lines = lines
        .map_err(|error| Failure::runtime(anyhow!("cannot log: {error}; {}", threads::REMEDY)))?;
    lines.count_in_status();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (filter, levels) = reload::Layer::new(filter(&log.levels));
    let writer = lines.clone();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(move || writer.clone())
        // They would be printed, and a print that fails is a panic.
        .log_internal_errors(false)
        .with_ansi(!plain && std::io::stderr().is_terminal());
    let layer = match log.format {
        LogFormat::Json => {
            layer.fmt_fields(JsonFields::new()).event_format(OneSchema::of(node)).boxed()
        }
        _ => layer.boxed(),
    };
    tracing_subscriber::registry().with(filter).with(layer).init();
    let theirs = lines.clone();
    std::panic::set_hook(Box::new(move |panic| end(panic, node, &theirs)));
    for warning in line::warnings() {
        tracing::warn!(node, "{warning}");
    }
    Ok(Started { lines, levels })
}

/// A line of JSON for each event. Every line names the node, also of events that do not: those of
/// libraries, and of parts that know of no node.
struct OneSchema {
    node: u16,
    json: Format<Json>,
}

impl OneSchema {
    fn of(node: u16) -> Self {
        Self { node, json: Format::default().json().flatten_event(true) }
    }
}

impl<S, N> FormatEvent<S, N> for OneSchema
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if event.metadata().fields().field("node").is_some() {
            return self.json.format_event(context, writer, event);
        }
        let mut line = String::new();
        self.json.format_event(context, Writer::new(&mut line), event)?;
        match line.trim_end().strip_suffix('}') {
            Some(fields) => writeln!(writer, "{fields},\"node\":{}}}", self.node),
            None => writer.write_str(&line),
        }
    }
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

/// Returns whether the log has a line about a node that has stopped, for the programs that read it:
/// people also read what is printed last.
pub(crate) fn has_said_why() -> bool {
    is_json() && tracing::enabled!(target: "bellwether::driver", Level::ERROR)
}

/// Prints an error on standard error, as a line of the log where that is JSON; gives up when no
/// process reads it.
pub(crate) fn complain(text: &str) {
    let line = if is_json() { object(text) } else { format!("error: {text}\n") };
    let line = Arc::<str>::from(line);
    let (told, done) = channel();
    let theirs = Arc::clone(&line);
    // The writer of the log may be in the middle of a line that no process reads.
    let writes = move || {
        let _ = std::io::stderr().write_all(theirs.as_bytes());
        let _ = told.send(());
    };
    if thread::Builder::new().spawn(writes).is_ok() {
        let _ = done.recv_timeout(LAST_WORDS);
    } else {
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// An error as a line of the log.
fn object(text: &str) -> String {
    let timestamp = format_rfc3339_micros(SystemTime::now()).to_string();
    let (level, target) = ("ERROR", "bellwether");
    let mut object =
        json!({ "timestamp": timestamp, "level": level, "target": target, "message": text });
    if let Some((_, node)) = FORMAT.get() {
        object["node"] = json!(node);
    }
    format!("{object}\n")
}

/// Keeps the format of the log that the command line of a node or the environment asks for, and the
/// file of the configuration, for errors that come before the log starts.
pub(crate) fn keep_asked(matches: &ArgMatches) {
    let Some(("run" | "exec", matches)) = matches.subcommand() else { return };
    let first = |id| matches.try_get_raw(id).ok()??.next().map(OsStr::to_owned);
    let _ = ASKED.set(["log.format", "config"].map(first));
}

/// Returns whether the log is JSON, or, before there is one, whether the command line, the
/// environment or the file says that it is to be.
fn is_json() -> bool {
    if let Some((format, _)) = FORMAT.get() {
        return *format == LogFormat::Json;
    }
    match ASKED.get() {
        Some([Some(format), _]) => format == "json",
        Some([None, Some(file)]) => says_json(Path::new(file)),
        _ => false,
    }
}

/// Whether this file says so, whatever else is wrong in it.
fn says_json(file: &Path) -> bool {
    if endless(file, true).is_some() {
        return false;
    }
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let file: toml::Table = text.parse().unwrap_or_default();
    let format = file.get("log").and_then(|log| log.get("format"));
    format.and_then(toml::Value::as_str) == Some("json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::sync::Mutex;
    use tracing_subscriber::fmt::MakeWriter;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Written {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn every_line_names_the_node_once() {
        let written = Written::default();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(written.clone())
            .fmt_fields(JsonFields::new())
            .event_format(OneSchema::of(3));
        let all = filter(&"info".parse().expect("levels"));
        tracing::subscriber::with_default(Registry::default().with(layer.with_filter(all)), || {
            tracing::warn!(node = 4, "its own");
            tracing::warn!(peer = 5, "brace }}");
            tracing::warn!("no field");
            tracing::warn!(target: "rustls::conn", "of a stranger");
        });
        let text = String::from_utf8(written.0.lock().expect("no panic").clone()).expect("UTF-8");
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let said: Vec<_> = lines.iter().map(|line| (&line["message"], &line["node"])).collect();
        let (own, brace, none) = (json!("its own"), json!("brace }"), json!("no field"));
        assert_eq!(said, [(&own, &json!(4)), (&brace, &json!(3)), (&none, &json!(3))]);
        assert!(text.lines().all(|line| line.matches("\"node\"").count() == 1), "{text}");
    }
}
