//! The file to which a node writes its [trace](crate::trace), and what comes into it.
//!
//! Nothing of that may delay an election, or end it. A line goes through a bounded queue to a
//! thread of its own, which makes text of it. A line that finds no room is counted, and the next
//! one that does says how many are missing before it. If the file cannot be written, the trace
//! ends, and the node goes on.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::iter;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;

use crate::config::{self, Config, Runnable};
use crate::member::ProgramView;
use crate::protocol::{Epoch, Node, Time};
use crate::store::STORE;
use crate::trace::{self, Deed, Entry, FORMAT, Line, Start};
use crate::transport::frame::Hello;

/// How many lines wait to be written: those of a second in which everything goes wrong.
const CAPACITY: usize = 8_192;

/// How long what is to be written waits for more: what happens at one moment is one write, and a
/// node wakes the thread once for it.
const GATHER: Duration = Duration::from_millis(20);

/// The end of a trace: nothing is sent, and it is over when all is written.
type Written = oneshot::Receiver<()>;

/// The trace of a node, from its start on. All is written when this is dropped, and a moment later.
pub(super) struct Trace<D, M> {
    queue: SyncSender<Queued<D, M>>,
    /// How many lines have found no room since one did.
    missed: u64,
    /// The same, once there are no more.
    missed_last: Arc<AtomicU64>,
    /// Whether a state is being saved.
    pub(super) saving: bool,
}

/// A line that waits, and how many are missing before it.
struct Queued<D, M> {
    missed: u64,
    at: Time,
    entry: Entry<D, M>,
}

impl<D, M> Trace<D, M>
where
    D: Serialize + Send + 'static,
    M: Serialize + Send + 'static,
{
    /// Begins the trace of this node, if the configuration has one. Then there is one node.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(super) fn of<C: Runnable<Durable = D, Message = M>>(
        config: &Config<C>,
        nodes: &[Node<C>],
        hello: &Hello,
        now: Time,
    ) -> Result<Option<(Self, Written)>, config::Error> {
        let Some((path, file)) = config.trace().zip(config.open_trace()?) else { return Ok(None) };
        let failed = |cause| config::Error::Trace { path: path.to_owned(), cause };
        let (node, shown) = (config.node().get(), path.display().to_string());
        let ends = move |error: io::Error| {
            tracing::error!(
                node,
                file = %shown,
                %error,
                "the trace cannot be written, and ends here; the node goes on: make room, or look \
                 at its disk, and restart the node"
            );
        };
        let (mut trace, written) = Self::to(file, is_torn(path), ends).map_err(failed)?;
        trace.add(now, Entry::Start(start(config, nodes, hello)));
        Ok(Some((trace, written)))
    }

    /// A trace that is written to `out`, on a line of its own if one is `torn` there. If that
    /// fails, it `ends`.
    fn to(
        out: impl Write + Send + 'static,
        torn: bool,
        ends: impl FnOnce(io::Error) + Send + 'static,
    ) -> io::Result<(Self, Written)> {
        let (queue, lines) = sync_channel(CAPACITY);
        let missed_last = Arc::<AtomicU64>::default();
        let (theirs, (done, written)) = (Arc::clone(&missed_last), oneshot::channel());
        let writes = move || {
            if let Err(error) = write(&lines, &theirs, out, torn) {
                ends(error);
            }
            drop(done);
        };
        thread::Builder::new().name("trace".to_owned()).spawn(writes)?;
        Ok((Self { queue, missed: 0, missed_last, saving: false }, written))
    }

    /// Has a line written. Waits for nothing.
    pub(super) fn add(&mut self, at: Time, entry: Entry<D, M>) {
        match self.queue.try_send(Queued { missed: self.missed, at, entry }) {
            Ok(()) => self.missed = 0,
            Err(TrySendError::Full(_)) => self.missed += 1,
            // It has ended, and the log says why.
            Err(TrySendError::Disconnected(_)) => {}
        }
    }
}

impl<D, M> Drop for Trace<D, M> {
    fn drop(&mut self) {
        self.missed_last.store(self.missed, Ordering::Release);
    }
}

/// That the program was told this.
pub(super) fn told(view: &ProgramView) -> Deed {
    let leads = view.leads();
    let epoch = view.epoch().filter(|_| leads).map(Epoch::number);
    Deed::Told { leads, epoch, reason: view.reason().map(|reason| reason.name().to_owned()) }
}

/// The first line.
fn start<C: Runnable>(config: &Config<C>, nodes: &[Node<C>], hello: &Hello) -> Start {
    let settings = hello.digests.settings.iter().map(|byte| format!("{byte:02x}"));
    // If the configuration of the store is wrong, taking part says so.
    let stores = config.stores().unwrap_or_default();
    Start {
        format: FORMAT,
        protocol: C::NAME.to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        cluster: Some(hello.cluster.to_string()),
        node: hello.node,
        incarnation: hello.incarnation,
        members: config.members().iter().collect(),
        services: stores.iter().map(|_| STORE).collect(),
        config_epoch: Some(config.config_epoch()),
        settings: Some(settings.collect()),
        durations: nodes.first().map(trace::durations).unwrap_or_default(),
        vocabulary: None,
    }
}

/// Whether the last line of this file has no end: a process was killed as it wrote it.
fn is_torn(path: &Path) -> bool {
    matches!(last_byte(path), Ok(Some(last)) if last != b'\n')
}

/// The last byte of this file, if it has one. Of what is no file, such as a terminal, none is read.
fn last_byte(path: &Path) -> io::Result<Option<u8>> {
    let metadata = path.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(None);
    }
    let (mut file, mut last) = (File::open(path)?, [0_u8]);
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(Some(last[0]))
}

/// What the thread does until there are no more lines.
fn write<D: Serialize, M: Serialize>(
    lines: &Receiver<Queued<D, M>>,
    missed_last: &AtomicU64,
    mut out: impl Write,
    torn: bool,
) -> io::Result<()> {
    let mut page = Page { n: 0, text: Vec::new() };
    if torn {
        page.text.push(b'\n');
    }
    while let Ok(first) = lines.recv() {
        thread::sleep(GATHER);
        for Queued { missed, at, entry } in iter::once(first).chain(lines.try_iter().take(CAPACITY))
        {
            page.add_missed::<D, M>(missed, Some(at))?;
            page.add(Some(at), entry)?;
        }
        page.write_to(&mut out)?;
    }
    page.add_missed::<D, M>(missed_last.load(Ordering::Acquire), None)?;
    page.write_to(&mut out)
}

/// Lines that are written together.
struct Page {
    /// The number of the next line.
    n: u64,
    text: Vec<u8>,
}

impl Page {
    fn add<D: Serialize, M: Serialize>(
        &mut self,
        at: Option<Time>,
        entry: Entry<D, M>,
    ) -> io::Result<()> {
        let line = Line { n: self.n, at: at.map(Time::as_nanos), entry };
        serde_json::to_writer(&mut self.text, &line)?;
        self.text.push(b'\n');
        self.n += 1;
        Ok(())
    }

    /// So many lines are missing here.
    fn add_missed<D: Serialize, M: Serialize>(
        &mut self,
        missed: u64,
        at: Option<Time>,
    ) -> io::Result<()> {
        if missed == 0 { Ok(()) } else { self.add(at, Entry::<D, M>::Dropped(missed)) }
    }

    fn write_to(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.text)?;
        self.text.clear();
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::Sender;
    use std::time::Instant;

    use super::*;
    use crate::log::tests::Slow;
    use crate::protocol::Nothing;

    /// No wait is longer.
    const LIMIT: Duration = Duration::from_secs(30);

    type NoSteps = Trace<Nothing, ()>;
    type NoStep = Line<Nothing, ()>;

    struct Run {
        trace: NoSteps,
        written: Written,
        allow: Sender<bool>,
        text: Arc<Mutex<Vec<String>>>,
        /// What has ended it.
        errors: Arc<Mutex<Vec<io::ErrorKind>>>,
    }

    impl Run {
        fn new(torn: bool) -> Self {
            let ((out, allow, text), errors) = (Slow::new(), Arc::<Mutex<Vec<_>>>::default());
            let theirs = Arc::clone(&errors);
            let ends = move |error: io::Error| theirs.lock().expect("no panic").push(error.kind());
            let (trace, written) = NoSteps::to(out, torn, ends).expect("a thread");
            Self { trace, written, allow, text, errors }
        }

        /// Waits until something is true of it.
        fn wait(&self, is_true: impl Fn(&Self) -> bool) {
            let started = Instant::now();
            while !is_true(self) {
                assert!(started.elapsed() < LIMIT, "it takes too long");
                thread::sleep(GATHER);
            }
        }

        fn sent(&mut self, number: u64) {
            self.trace.add(Time::from_nanos(number), Entry::Did(Deed::Sent(number)));
        }

        /// The whole text, once all is written.
        async fn end(self) -> (String, Vec<io::ErrorKind>) {
            let Self { trace, written, allow, text, errors } = self;
            drop((trace, allow));
            let ended = tokio::time::timeout(LIMIT, written).await.expect("in time");
            assert!(ended.is_err(), "nothing is sent");
            let errors = errors.lock().expect("no panic").clone();
            (text.lock().expect("no panic").concat(), errors)
        }
    }

    fn lines(text: &str) -> Vec<NoStep> {
        text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
    }

    #[tokio::test]
    async fn what_finds_no_room_is_counted_where_it_is_missing() {
        let mut run = Run::new(false);
        let many = 2 * CAPACITY as u64;
        // The thread takes some, and waits until it may write them.
        (0..many).for_each(|number| run.sent(number));
        thread::sleep(GATHER * 5);
        let mut last = many;
        while last < 2 * many || (run.trace.missed == 0 && last < 4 * many) {
            run.sent(last);
            last += 1;
        }
        assert!(run.trace.missed > 0, "it is stalled");
        run.allow.send(true).expect("the thread runs");
        run.allow.send(true).expect("the thread runs");
        let started = Instant::now();
        while run.trace.missed > 0 && started.elapsed() < LIMIT {
            thread::sleep(GATHER);
            run.sent(last);
        }
        let (text, errors) = run.end().await;
        assert!(errors.is_empty(), "{errors:?}");
        let (mut next, mut dropped) = (0, 0);
        for (n, line) in (0..).zip(lines(&text)) {
            assert_eq!(line.n, n, "no gap");
            match line.entry {
                Entry::Dropped(missing) => {
                    dropped += missing;
                    next += missing;
                }
                // Of the last, some may be missing, and all have one number.
                Entry::Did(Deed::Sent(number)) => {
                    assert!(number == next || number == last, "{number}, not {next}");
                    next += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(dropped > CAPACITY as u64, "{dropped}");
    }

    #[tokio::test]
    async fn lines_that_are_missing_at_the_end_are_told() {
        let mut run = Run::new(false);
        let (mut many, full) = (0, 4 * CAPACITY as u64);
        // The thread takes some once, and waits until it may write them.
        while many < full || (run.trace.missed == 0 && many < 2 * full) {
            run.sent(many);
            many += 1;
        }
        let missed = run.trace.missed;
        assert!(missed > 0);
        let (text, _) = run.end().await;
        let lines = lines(&text);
        let last = lines.last().expect("a line");
        assert_eq!((last.at, &last.entry), (None, &Entry::Dropped(missed)));
        let told: u64 = lines
            .iter()
            .map(|line| match line.entry {
                Entry::Dropped(missing) => missing,
                _ => 1,
            })
            .sum();
        assert_eq!(told, many, "each line is there, or counted");
    }

    #[tokio::test]
    async fn a_trace_that_cannot_be_written_ends_once_and_the_node_goes_on() {
        let mut run = Run::new(false);
        run.allow.send(true).expect("the thread runs");
        run.sent(0);
        run.wait(|run| !run.text.lock().expect("no panic").is_empty());
        run.allow.send(false).expect("the thread runs");
        run.sent(1);
        run.wait(|run| !run.errors.lock().expect("no panic").is_empty());
        (2..100).for_each(|number| run.sent(number));
        let (text, errors) = run.end().await;
        assert_eq!(errors, [io::ErrorKind::StorageFull]);
        assert_eq!(lines(&text).len(), 1);
    }

    #[tokio::test]
    async fn a_trace_begins_on_a_line_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        for (before, torn) in [("", false), ("{}\n", false), ("{}\n{\"n\":", true)] {
            std::fs::write(&path, before).expect("written");
            assert_eq!(is_torn(&path), torn, "{before}");
        }
        for none in [Path::new("/dev/null"), folder.path(), &folder.path().join("none")] {
            assert!(!is_torn(none), "{none:?}");
        }
        for torn in [false, true] {
            let mut run = Run::new(torn);
            run.sent(7);
            let (text, _) = run.end().await;
            let expected = "{\"n\":0,\"at\":7,\"did\":{\"sent\":7}}\n";
            assert_eq!(text, format!("{}{expected}", if torn { "\n" } else { "" }));
        }
    }
}
