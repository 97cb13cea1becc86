//! A node that takes part, with all its tasks, and a connection to it: how it ends, and what it
//! writes to its trace.

use std::fs;
use std::path::Path;
use std::time::Instant;

use super::*;
use crate::trace::{Deed, Entry, Happened, Line, Out, Step};
use crate::transport::channel::Channel;
use crate::transport::frame::{self, Hello};
use crate::transport::handshake;
use crate::transport::tests::{bind, hello};

/// A node that takes part, and a connection as its member 2.
async fn election() -> (Election, Channel) {
    joined(|config| config).await
}

/// The same, with a configuration that is changed.
async fn joined(
    change: impl FnOnce(config::Config<Recorder>) -> config::Config<Recorder>,
) -> (Election, Channel) {
    let (listener, _) = bind().await;
    let members = [(1, "127.0.0.1:1"), (2, "127.0.0.1:2")];
    let config = config::Config::<Recorder>::for_protocol("orders", 1, members, ());
    let config = change(config.expect("good"));
    let digests = config.digests();
    let store: DurableState<Recorder> = Some(Box::new(SingleStore(Box::new(Records::default()))));
    let joining = Joining { config, listener: Some(listener), store, prepares: false };
    let election = start::start(joining).expect("it listens");

    let address = election.address().expect("it listens");
    let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    let credentials = config::Credentials::none();
    let mut two = handshake::call(&credentials, None, stream).await.expect("a greeting");
    let protocol = "recorder".to_owned();
    let hello = Hello { protocol, incarnation: 1, digests, ..hello(2) };
    handshake::ask(&mut two, &frame::Opening::Hello(hello)).await.expect("an answer");
    (election, two)
}

/// No link dies in silence: the node that has lost one takes part no longer, and says so.
#[tokio::test]
async fn a_link_that_panics_ends_the_node() {
    let (mut election, mut two) = election().await;
    let poison = frame::encode(&Frame::Message(Order::Poison(Poison))).expect("fits");
    two.send(poison).await.expect("sent");

    let stopped = tokio::time::timeout(LIMIT, election.stopped()).await;
    assert!(matches!(stopped.expect("in time"), Err(Stopped::Panicked)));
    assert_eq!(election.leadership().now().role, Role::NotStarted);
}

/// The process runs, and answers of its links and its status too. A probe is told.
#[cfg(feature = "http")]
#[test]
fn a_loop_that_is_stuck_does_not_respond_and_is_not_alive() {
    use axum::body::Body;
    use axum::http::{Request, StatusCode};
    use tokio::runtime::Builder;
    use tower::ServiceExt as _;

    let nodes = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let nodes = nodes.expect("a runtime");
    let (election, mut two) = nodes.block_on(election());
    let router = crate::http::router(&election, crate::http::Options::default());
    let ask = async |path: &str| {
        let request = Request::get(path).body(Body::empty()).expect("valid");
        router.clone().oneshot(request).await.expect("a router does not fail").status()
    };
    let block = frame::encode(&Frame::Message(Order::Block)).expect("fits");
    nodes.block_on(two.send(block)).expect("sent");
    // Another runtime: a thread that is kept may have been the one that waits for all others.
    let probes = Builder::new_current_thread().enable_all().build().expect("a runtime");
    probes.block_on(async {
        let kept = async {
            while !IS_KEPT.load(Ordering::Relaxed) {
                tokio::time::sleep(ms(1)).await;
            }
        };
        tokio::time::timeout(LIMIT, kept).await.expect("in time");
        assert_eq!(ask("/livez").await, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(ask("/metrics").await, StatusCode::OK, "the rest of the process runs");
        assert_eq!(election.handle().status().node, id(1));
        IS_KEPT.store(false, Ordering::Relaxed);
        let again = async {
            while ask("/livez").await != StatusCode::OK {
                tokio::time::sleep(ms(1)).await;
            }
        };
        tokio::time::timeout(LIMIT, again).await.expect("again");
    });
    nodes.block_on(election.leave()).expect("nothing failed");
}

type OrderLine = Line<(What, u64), Order>;

/// What the trace in this file says, as far as its lines are whole.
fn lines(path: &Path) -> Vec<OrderLine> {
    let text = fs::read_to_string(path).expect("text");
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    text.rfind('\n').map_or(Vec::new(), |end| text[..end].lines().map(read).collect())
}

#[tokio::test]
async fn a_node_writes_what_happens_to_it_and_what_is_done_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace");
    let (election, mut two) = joined(|config| config.with_trace(&path)).await;
    let said = [Frame::numbered(0, 7, Order::Note(1)), Frame::Message(Order::Note(2))];
    for frame in said {
        two.send(frame::encode(&frame).expect("fits")).await.expect("sent");
    }
    let started = Instant::now();
    let saved = Entry::Did(Deed::Saved);
    while lines(&path).iter().filter(|line| line.entry == saved).count() < 2 {
        assert!(started.elapsed() < LIMIT, "{:?}", lines(&path));
        tokio::time::sleep(ms(10)).await;
    }
    let incarnation = election.handle().status().incarnation;
    election.leave().await.expect("nothing failed");
    let lines = lines(&path);
    assert!(lines.iter().map(|line| line.n).eq(0..lines.len() as u64), "{lines:?}");
    assert!(lines.iter().map(|line| line.at).is_sorted(), "{lines:?}");
    let Entry::Start(start) = &lines[0].entry else { panic!("{lines:?}") };
    assert_eq!((start.node, &*start.protocol), (id(1), "recorder"));
    assert_eq!((Some(start.incarnation), &*start.members), (incarnation, &[1, 2].map(id)[..]));
    assert_eq!(lines.last().map(|line| &line.entry), Some(&Entry::Did(Deed::Ended)));

    let steps = |line: &OrderLine| match &line.entry {
        Entry::Step(step) => Some(step.clone()),
        _ => None,
    };
    let steps: Vec<_> = lines.iter().filter_map(steps).collect();
    let [Step { happened: Happened::Boot(None), .. }, received @ ..] = &steps[..] else {
        panic!("{steps:?}")
    };
    let heard = received.iter().map(|step| match &step.happened {
        Happened::Receive(heard) => (heard.from, heard.incarnation, heard.id, heard.message),
        other => panic!("{other:?}"),
    });
    let expected = [(Some(7), Order::Note(1)), (None, Order::Note(2))];
    let expected = expected.map(|(number, order)| (id(2), Some(1), number, order));
    assert_eq!(heard.collect::<Vec<_>>(), expected);
    for (step, number) in received.iter().zip([1, 2]) {
        assert!(matches!(step.out[..], [Out::Persist((What::Note(n), _))] if n == number));
    }
    // A state is being saved before it is saved, and what it put out comes before both.
    type OrderEntry = Entry<(What, u64), Order>;
    let place = |is: &dyn Fn(&OrderEntry) -> bool| {
        lines.iter().position(|line| is(&line.entry)).expect("it is there")
    };
    let persists = place(&|entry| match entry {
        Entry::Step(step) => matches!(step.out[..], [Out::Persist(_)]),
        _ => false,
    });
    let saving = place(&|entry| *entry == Entry::Did(Deed::Saving));
    assert!(persists < saving && saving < place(&|entry| *entry == saved), "{lines:?}");
}

/// What the next incarnation writes comes behind that, on lines of its own.
#[tokio::test]
async fn a_restarted_node_goes_on_in_the_same_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace");
    fs::write(&path, "{\"n\":0,\"sta").expect("written");
    for run in 1..=2 {
        let (election, _two) = joined(|config| config.with_trace(&path)).await;
        election.leave().await.expect("nothing failed");
        let text = fs::read_to_string(&path).expect("text");
        assert!(text.starts_with("{\"n\":0,\"sta\n{\"n\":0,\"at\":"), "{text}");
        assert_eq!(text.matches("\"start\":").count(), run, "{text}");
        assert!(text.ends_with("\"did\":\"ended\"}\n"), "{text}");
    }
}
