//! A trace that is written to what stalls, fails, or was torn.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use super::*;
use crate::protocol::Nothing;

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

type NoSteps = Trace<Nothing, ()>;
type NoStep = Line<Nothing, ()>;

/// Takes as much as it is allowed to, and fails if it is told to.
struct Slow {
    allowed: Receiver<bool>,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Write for Slow {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if !self.allowed.recv().unwrap_or(true) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.written.lock().expect("no panic").extend(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Run {
    trace: NoSteps,
    written: Written,
    allow: Sender<bool>,
    text: Arc<Mutex<Vec<u8>>>,
    /// What has ended it.
    errors: Arc<Mutex<Vec<io::ErrorKind>>>,
}

impl Run {
    fn new(torn: bool) -> Self {
        let (allow, allowed) = channel();
        let (text, errors) = (Arc::<Mutex<Vec<u8>>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (out, theirs) = (Slow { allowed, written: Arc::clone(&text) }, Arc::clone(&errors));
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
        let text = text.lock().expect("no panic").clone();
        let errors = errors.lock().expect("no panic").clone();
        (String::from_utf8(text).expect("UTF-8"), errors)
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
    let dropped = run.trace.dropped.load(Ordering::Relaxed);
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
    let written = lines.iter().filter(|line| !matches!(line.entry, Entry::Dropped(_))).count();
    assert_eq!(dropped + written as u64, many, "in all");
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
