//! Connections on the loopback interface: one side is the transport, the other a test.

use bytes::Bytes;
#[cfg(feature = "tls")]
mod certificates;
mod hostile;
mod leases;
mod links;
mod members;
mod rivals;
mod secret;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::channel::Channel;
use super::frame::{Opening, Refusal, Reply};
use super::*;
use crate::clock::SystemClock;
use crate::config::{Credentials, Digests, Kind, Secret};
use crate::protocol::Role;
use crate::protocol::bully::Message;
use crate::report::{Counters, Link};

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn hello(node: u16) -> Hello {
    let cluster = "orders".parse().expect("a name");
    let digests = Digests::default();
    Hello {
        cluster,
        protocol: "bully".to_owned(),
        node: id(node),
        incarnation: node.into(),
        digests,
        members: None,
        leases: None,
        groups: None,
    }
}

/// What node 1 knows, of which node 2 is the only peer, and is at this address.
fn context(peer: SocketAddr) -> Arc<Context<Message>> {
    with_credentials(peer, Credentials::none())
}

/// Limits that a test can wait for.
const SHORT: Limits = Limits {
    step: Duration::from_secs(2),
    handshake: Duration::from_secs(2),
    probe: Duration::from_secs(1),
    admission: Duration::from_secs(2),
    quiet: Duration::from_millis(100),
    idle: Duration::from_millis(300),
    each: Duration::ZERO,
};

/// What a node whose status is asked for tells.
fn nothing_special() -> StatusReport {
    StatusReport {
        cluster: hello(1).cluster,
        protocol: "bully".to_owned(),
        node: id(1),
        incarnation: None,
        config_epoch: 1,
        observes: false,
        role: Role::Follower,
        leader: None,
        epoch: None,
        lease_ms: None,
        margin_ms: None,
        reason: None,
        seq: 1,
        uptime_ms: 1,
        in_role_ms: 1,
        problem: None,
        members: Vec::new(),
        counters: Counters::default(),
        certificates: Vec::new(),
        witnesses: Vec::new(),
        awaited: Vec::new(),
        priority: 100,
        maintenance: false,
    }
}

fn with_limits(peer: SocketAddr, limits: Limits) -> Arc<Context<Message>> {
    let context = context(peer);
    let mut context = Arc::into_inner(context).expect("not shared yet");
    context.terms.limits = limits;
    Arc::new(context)
}

fn with_credentials(peer: SocketAddr, credentials: Credentials) -> Arc<Context<Message>> {
    let lifetime = Duration::from_secs(10);
    let address = peer.to_string().parse().expect("an address");
    let links = Links::new([(id(2), &address)].into_iter(), lifetime, SystemClock);
    Arc::new(Context {
        hello: hello(1),
        terms: Terms {
            credentials: Current::new(credentials),
            lifetime,
            limits: Limits::new(Duration::from_secs(2)),
        },
        peers: links.peers,
        standings: links.standings,
        limiter: LogLimiter::default(),
        refused: links.refused,
        bad_frames: links.bad_frames,
        reports: Reports::new(vec![(None, Arc::new(nothing_special))], || false),
    })
}

/// The links of a node whose connections share this.
fn links_of(context: &Context<Message>) -> Links<Message> {
    let (refused, bad_frames) = (Arc::clone(&context.refused), Arc::clone(&context.bad_frames));
    let (peers, standings) = (Arc::clone(&context.peers), context.standings.clone());
    let services = [].into();
    Links { peers, refused, bad_frames, gone: None, services, group: 0, standings }
}

async fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Waits for a call of node 1, and answers as node `node`.
async fn answer(listener: &TcpListener, node: u16) -> Channel {
    let (stream, _) = timeout(LIMIT, listener.accept()).await.expect("in time").expect("a call");
    let accepted = timeout(LIMIT, handshake::accept(&Credentials::none(), stream)).await;
    let (mut channel, _, opening) =
        accepted.expect("in time").expect("a handshake").expect("a question");
    assert_eq!(opening, Opening::Hello(hello(1)));
    let reply = Reply::Hello(hello(node)).encode().expect("fits");
    channel.send(reply).await.expect("sent");
    channel
}

async fn next(connection: &mut Channel) -> Frame<Message> {
    let bytes = timeout(LIMIT, connection.next()).await.expect("in time").expect("a frame");
    frame::decode_frame(&bytes.expect("a frame")).expect("makes sense")
}

/// Calls the node at this address, and says `hello`.
async fn call(address: SocketAddr, hello: Hello) -> (Channel, Reply) {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let called = async {
        let mut channel = handshake::call(&Credentials::none(), None, stream).await?;
        let reply = handshake::ask(&mut channel, &Opening::Hello(hello)).await?;
        Ok::<_, handshake::Failure>((channel, reply))
    };
    timeout(LIMIT, called).await.expect("in time").expect("a reply")
}

#[tokio::test]
async fn a_peer_that_answers_and_hangs_up_is_called_again_after_the_first_wait() {
    let (listener, address) = bind().await;
    let context = context(address);
    let mut tasks = JoinSet::new();
    tasks.spawn(outgoing::maintain(Arc::clone(&context), Arc::clone(&context.peers.now()[&id(2)])));
    // Forty waits of at most 50 ms. If they grew, they would take more than eighteen seconds.
    let started = Instant::now();
    for _ in 0..40 {
        drop(answer(&listener, 2).await);
    }
    assert!(started.elapsed() < Duration::from_secs(18), "{:?}", started.elapsed());
}

#[tokio::test]
async fn another_node_at_the_address_of_a_peer_gets_no_messages() {
    let (listener, address) = bind().await;
    let context = context(address);
    let peer = Arc::clone(&context.peers.now()[&id(2)]);
    let mut tasks = JoinSet::new();
    tasks.spawn(outgoing::maintain(Arc::clone(&context), Arc::clone(&peer)));
    peer.outbox.push(Frame::Message(Message::Election));
    let mut connection = answer(&listener, 3).await;
    let end = timeout(LIMIT, connection.next()).await.expect("in time");
    assert!(!matches!(end, Some(Ok(_))), "it hangs up: {}", end.is_none());
    drop(answer(&listener, 3).await);
    let (link, problem) = peer.link();
    assert_eq!(link, Link::Refused);
    assert!(problem.expect("told").contains("is 3, not 2"));
}

#[tokio::test]
async fn a_heartbeat_is_kept_until_it_can_be_sent_and_goes_before_the_messages() {
    let (listener, address) = bind().await;
    let context = context(address);
    let peer = Arc::clone(&context.peers.now()[&id(2)]);
    let links = links_of(&context);
    links.send(Sent { to: id(2), id: 7, message: Message::Election });
    links.send(Sent { to: id(2), id: 8, message: Message::Ok });
    links.heartbeat();
    links.heartbeat();
    let mut tasks = JoinSet::new();
    tasks.spawn(outgoing::maintain(context, peer));
    let mut connection = answer(&listener, 2).await;
    let [first, second] = [(7, Message::Election), (8, Message::Ok)];
    for expected in [
        Frame::Heartbeat,
        Frame::numbered(0, first.0, first.1),
        Frame::numbered(0, second.0, second.1),
    ] {
        assert_eq!(next(&mut connection).await, expected);
    }
}

#[tokio::test]
async fn a_peer_that_calls_is_called_back_at_once() {
    let (listener, address) = bind().await;
    let context = context(address);
    let (inbox, _arrivals) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    let (_connection, reply) = call(address, hello(2)).await;
    let told = Hello { incarnation: 0, ..hello(1) };
    assert_eq!(reply, Reply::Hello(told), "not which run it is: any process may ask");
    // The task that calls it may be busy at this moment, and is told nevertheless.
    let peer = Arc::clone(&context.peers.now()[&id(2)]);
    timeout(LIMIT, peer.called.notified()).await.expect("told");
}

#[tokio::test]
async fn a_connection_with_a_frame_that_makes_no_sense_is_closed() {
    let (listener, address) = bind().await;
    let context = context(address);
    let (inbox, mut arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    let (mut connection, _) = call(address, hello(2)).await;
    let good = frame::encode_frame(&Frame::Message(Message::Ok)).expect("fits");
    for bytes in [good.clone(), Bytes::from_static(&[7, 7, 7]), good] {
        connection.send(bytes).await.expect("sent");
    }
    let end = timeout(LIMIT, connection.next()).await.expect("in time");
    assert!(!matches!(end, Some(Ok(_))), "it hangs up: {}", end.is_none());
    let arrival = arrivals.recv().await.expect("the first");
    assert_eq!((arrival.from, arrival.frame), (id(2), Frame::Message(Message::Ok)));
    assert!(arrivals.try_recv().is_err(), "nothing after what makes no sense counts");
    assert_eq!(context.bad_frames.load(Ordering::Relaxed), 1);
}

/// Nothing but the configuration says how slow a network may be.
#[tokio::test]
async fn a_peer_that_is_far_away_is_given_as_long_as_is_configured() {
    let far = Duration::from_millis(400);
    let link = async |handshake| {
        let (listener, address) = bind().await;
        let context = with_limits(address, Limits { handshake, ..SHORT });
        let peer = Arc::clone(&context.peers.now()[&id(2)]);
        let mut tasks = JoinSet::new();
        tasks.spawn(outgoing::maintain(context, Arc::clone(&peer)));
        let (stream, _) = listener.accept().await.expect("a call");
        tokio::time::sleep(SHORT.admission + far).await;
        let accepted = handshake::accept(&Credentials::none(), stream).await;
        let Ok(Some((mut channel, _, _))) = accepted else { return peer.link().0 };
        let reply = Reply::Hello(hello(2)).encode().expect("fits");
        channel.send(reply).await.expect("sent");
        let connected = async {
            while peer.link().0 != Link::Connected {
                tokio::time::sleep(SHORT.quiet).await;
            }
        };
        let _ = timeout(LIMIT, connected).await;
        peer.link().0
    };
    let (near, distant) = tokio::join!(link(far / 2), link(far * 50));
    assert_eq!((near, distant), (Link::Connecting, Link::Connected));
}

/// Its machine is gone, or it never was one: nothing says so but that it is silent.
#[tokio::test]
async fn a_peer_that_is_silent_for_too_long_is_gone() {
    let (listener, address) = bind().await;
    let idle = Duration::from_secs(3);
    let context = with_limits(address, Limits { idle, ..SHORT });
    let (inbox, _arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    let (mut connection, _) = call(address, hello(2)).await;
    let pong = frame::encode_frame(&Frame::<Message>::Pong(0)).expect("fits");
    for _ in 0..12 {
        tokio::time::sleep(idle / 10).await;
        connection.send(pong.clone()).await.expect("sent");
    }
    assert!(context.peers.now()[&id(2)].is_heard(), "it has not been silent");
    let end = timeout(LIMIT, connection.next()).await.expect("in time");
    assert!(!matches!(end, Some(Ok(_))), "it hangs up");
    assert!(!context.peers.now()[&id(2)].is_heard());
    assert_eq!(context.peers.now()[&id(2)].received.load(Ordering::Relaxed), 0, "no messages");
}

#[tokio::test]
async fn a_handshake_may_not_take_for_ever_however_much_is_said() {
    let (listener, address) = bind().await;
    let context = with_limits(address, SHORT);
    let (inbox, _arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    let mut slow = TcpStream::connect(address).await.expect("it listens");
    let started = Instant::now();
    // A byte at a time of a greeting that has no end.
    while slow.write_all(&[0]).await.is_ok() {
        assert!(started.elapsed() < LIMIT, "it is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
        if let Ok(0) | Err(_) = slow.try_read(&mut [0]).map_err(|error| error.kind())
            && started.elapsed() > SHORT.handshake
        {
            break;
        }
    }
    let mut rest = Vec::new();
    let _ = timeout(LIMIT, slow.read_to_end(&mut rest)).await.expect("it hangs up");
}

#[tokio::test]
async fn only_a_node_that_is_configured_here_is_let_in() {
    let (listener, address) = bind().await;
    let context = context(address);
    let (inbox, _arrivals) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    let other = "other".parse().expect("a name");
    for (caller, refusal) in [
        (Hello { cluster: other, ..hello(2) }, Refusal::Cluster(hello(1).cluster)),
        (Hello { protocol: "lease".to_owned(), ..hello(2) }, Refusal::Protocol("bully".to_owned())),
        (hello(1), Refusal::SameId(id(1))),
        (hello(3), Refusal::UnknownNode(id(3))),
        (Hello { groups: Some([7; 16]), ..hello(2) }, Refusal::Groups),
    ] {
        let (mut connection, reply) = call(address, caller).await;
        assert_eq!(reply, Reply::Refused(refusal));
        let end = timeout(LIMIT, connection.next()).await.expect("in time");
        assert!(!matches!(end, Some(Ok(_))), "it hangs up: {}", end.is_none());
    }
    assert_eq!(context.refused.load(Ordering::Relaxed), 5);
    assert!(matches!(call(address, hello(2)).await.1, Reply::Hello(_)));
}

fn secrets(own: u8, second: Option<u8>) -> Credentials {
    let secret = |byte| Secret::new(&[byte; 32]);
    Credentials::new(Kind::Secret(secret(own), second.map(secret)))
}

/// Each row is a step of a change from secret 1 to secret 2, in which some nodes are a step ahead.
#[tokio::test]
async fn a_secret_is_changed_while_nodes_talk() {
    let steps = [(1, None), (1, Some(2)), (2, Some(1)), (2, None)];
    let (listener, address) = bind().await;
    let context = with_credentials(address, secrets(1, None));
    let (inbox, _arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    for (here, listens) in steps.into_iter().enumerate() {
        context.terms.credentials.replace(secrets(listens.0, listens.1));
        for (there, calls) in steps.into_iter().enumerate() {
            let stream = TcpStream::connect(address).await.expect("it listens");
            let credentials = secrets(calls.0, calls.1);
            let called = handshake::call(&credentials, None, stream).await;
            let talk = match called {
                Ok(mut channel) => {
                    handshake::ask(&mut channel, &Opening::Hello(hello(2))).await.is_ok()
                }
                Err(error) => {
                    assert!(error.to_string().contains("the secret"), "{error}");
                    false
                }
            };
            assert!(talk || here.abs_diff(there) > 1, "{listens:?} and {calls:?}");
            assert!(!talk || (listens, calls) != ((1, None), (2, None)));
        }
    }
    // What is of another kind is not taken.
    context.terms.credentials.replace(Credentials::none());
    assert_eq!(context.terms.credentials.now().mode(), Mode::Secret);
}

/// What a node with the secret once said is worth nothing later: not one frame of it counts.
#[tokio::test]
async fn a_conversation_that_is_played_back_is_not_heard() {
    let secret = secrets(7, None);
    let (listener, address) = bind().await;
    let context = with_credentials(address, secret.clone());
    let (inbox, mut arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));

    // Node 2 calls through a wire-tap.
    let (tap, tapped) = bind().await;
    let record = tokio::spawn(async move {
        let (mut caller, _) = tap.accept().await.expect("a call");
        let mut there = TcpStream::connect(address).await.expect("it listens");
        let (mut from, mut to) = caller.split();
        let (mut back, mut on) = there.split();
        let mut said = Vec::new();
        let listen = async {
            let mut bytes = [0; 1024];
            while let Ok(length @ 1..) = from.read(&mut bytes).await {
                said.extend_from_slice(&bytes[..length]);
                on.write_all(&bytes[..length]).await.expect("it listens");
            }
        };
        tokio::select! {
            () = listen => {}
            _ = tokio::io::copy(&mut back, &mut to) => {}
        }
        said
    });
    let stream = TcpStream::connect(tapped).await.expect("it listens");
    let mut two = handshake::call(&secret, None, stream).await.expect("the same secret");
    let hello = Opening::Hello(hello(2));
    let reply = handshake::ask(&mut two, &hello).await.expect("an answer");
    assert!(matches!(reply, Reply::Hello(_)), "{reply:?}");
    let claim = frame::encode_frame(&Frame::Message(Message::Coordinator)).expect("fits");
    two.send(claim).await.expect("sent");
    let arrival = timeout(LIMIT, arrivals.recv()).await.expect("in time").expect("one");
    assert_eq!(arrival.frame, Frame::Message(Message::Coordinator));
    drop(two);

    let said = timeout(LIMIT, record).await.expect("in time").expect("no panic");
    assert!(!said.windows(6).any(|part| part == b"orders"), "it says its cluster, encrypted");
    let mut again = TcpStream::connect(address).await.expect("it listens");
    again.write_all(&said).await.expect("sent");
    let mut answer = Vec::new();
    let _ = timeout(LIMIT, again.read_to_end(&mut answer)).await.expect("it hangs up");
    assert!(arrivals.try_recv().is_err(), "nothing has arrived");
    assert_eq!(context.refused.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_warned_of_once_whatever_the_port_that_it_calls_from() {
    let context = context(([127, 0, 0, 1], 1).into());
    let from = |host, port| SocketAddr::from(([10, 0, 0, host], port));
    for port in 5_000..5_010 {
        context.warn(from(1, port), "it is wrong");
    }
    let known = |host, text: &str| {
        context.limiter.admit(Source::Stranger([10, 0, 0, host].into()), text).is_none()
    };
    assert!(known(1, "it is wrong"));
    context.warn(from(1, 5_000), "it is wrong in another way");
    context.warn(from(2, 5_000), "it is wrong");
    assert!(known(1, "it is wrong in another way") && known(2, "it is wrong"));
}
