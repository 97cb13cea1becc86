//! Connections on the loopback interface: one side is the transport, the other a test.

#[cfg(feature = "tls")]
pub(crate) mod certificates;
mod hostile;
mod links;
mod secret;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::channel::Channel;
use super::frame::{Opening, encode};
use super::handshake::Failure;
use super::*;
use crate::clock::SystemClock;
use crate::config::{Credentials, Digests, Kind, Secret};
use crate::driver::tests::id;
use crate::protocol::bully::Message;
use crate::protocol::{LeaseTerms, Role};
use crate::report::Counters;

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

/// Where node 2 is that is not called.
const NOWHERE: ([u8; 4], u16) = ([127, 0, 0, 1], 1);

pub(crate) fn hello(node: u16) -> Hello {
    Hello {
        cluster: "orders".parse().expect("a name"),
        protocol: "bully".to_owned(),
        node: id(node),
        incarnation: node.into(),
        digests: Digests::default(),
        members: None,
        leases: None,
        groups: None,
    }
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
pub(super) fn nothing_special() -> StatusReport {
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
        holder: None,
    }
}

/// What node 1 knows, of which node 2 is the only peer, and is at this address.
fn context(peer: impl Into<SocketAddr>) -> Context<Message> {
    let (peer, lifetime): (SocketAddr, _) = (peer.into(), Duration::from_secs(10));
    let address = peer.to_string().parse().expect("an address");
    let links = Links::new(1, [(id(2), &address)].into_iter(), lifetime, SystemClock);
    Context {
        hello: hello(1),
        credentials: Current::new(Credentials::none()),
        limits: Limits::new(Duration::from_secs(2)),
        links,
        limiter: LogLimiter::default(),
        reports: Reports {
            groups: [(String::new(), Arc::new(nothing_special) as Report)].into(),
            leads: Box::new(|| false),
        },
    }
}

fn with_limits(peer: impl Into<SocketAddr>, limits: Limits) -> Context<Message> {
    Context { limits, ..context(peer) }
}

fn with_credentials(credentials: Credentials) -> Context<Message> {
    Context { credentials: Current::new(credentials), ..context(NOWHERE) }
}

pub(crate) async fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Node 1.
struct Node {
    context: Arc<Context<Message>>,
    /// Node 2, as it knows it.
    peer: Arc<PeerLink<Message>>,
    /// Where it listens.
    address: SocketAddr,
    arrivals: mpsc::Receiver<Arrival<Message>>,
    tasks: JoinSet<()>,
}

impl Node {
    /// A node that listens, and calls no other.
    async fn listening(context: Context<Message>) -> Self {
        let (listener, address) = bind().await;
        let (context, (inboxes, mut arrivals)) = (Arc::new(context), Inboxes::new(1));
        let mut tasks = JoinSet::new();
        tasks.spawn(incoming::listen(Arc::clone(&context), listener, inboxes));
        let peer = Arc::clone(&context.links.peers.now()[&id(2)]);
        Self { context, peer, address, arrivals: arrivals.remove(0), tasks }
    }

    /// A node that listens, and calls node 2.
    async fn calling(context: Context<Message>) -> Self {
        let mut node = Self::listening(context).await;
        node.tasks.spawn(outgoing::maintain(Arc::clone(&node.context), Arc::clone(&node.peer)));
        node
    }

    /// The next thing that it has heard.
    async fn hears(&mut self) -> (NodeId, Frame<Message>) {
        let arrival = timeout(LIMIT, self.arrivals.recv()).await.expect("in time").expect("one");
        (arrival.from, arrival.frame)
    }

    fn has_heard_nothing_more(&mut self) -> bool {
        self.arrivals.try_recv().is_err()
    }

    fn refused(&self) -> u64 {
        self.context.links.refused()
    }
}

fn queue(peer: &PeerLink<Message>, message: Message) {
    peer.owe(|peer, now| peer.outbox.push(now, Frame::Message(message)));
}

/// Waits for a call of node 1, and answers with `hello`. Returns what node 1 has said.
async fn answer_with(listener: &TcpListener, hello: Hello) -> (Channel, Opening) {
    let (stream, _) = timeout(LIMIT, listener.accept()).await.expect("in time").expect("a call");
    let accepted = timeout(LIMIT, handshake::accept(&Credentials::none(), stream)).await;
    let (mut channel, _, opening) =
        accepted.expect("in time").expect("a handshake").expect("a question");
    channel.send(encode(&Reply::Hello(hello)).expect("fits")).await.expect("sent");
    (channel, opening)
}

/// The same as node `node`.
async fn answer(listener: &TcpListener, node: u16) -> Channel {
    let (channel, opening) = answer_with(listener, hello(node)).await;
    assert_eq!(opening, Opening::Hello(hello(1)));
    channel
}

async fn next(connection: &mut Channel) -> Frame<Message> {
    let bytes = timeout(LIMIT, connection.next()).await.expect("in time").expect("a frame");
    frame::decode_frame(&bytes).expect("makes sense")
}

async fn send(connection: &mut Channel, frame: Frame<Message>) {
    connection.send(encode(&frame).expect("fits")).await.expect("sent");
}

async fn hangs_up(connection: &mut Channel) {
    let end = timeout(LIMIT, connection.next()).await.expect("in time");
    assert!(end.is_err(), "it goes on");
}

/// Calls the node at this address, which is to be node 1, and says this.
async fn say(
    address: SocketAddr,
    credentials: &Credentials,
    opening: Opening,
) -> Result<(Channel, Reply), Failure> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let said = async {
        let mut channel = handshake::call(credentials, Some(id(1)), stream).await?;
        let reply = handshake::ask(&mut channel, &opening).await?;
        Ok((channel, reply))
    };
    timeout(LIMIT, said).await.expect("in time")
}

/// Calls the node at this address, and says `hello`.
async fn call(address: SocketAddr, hello: Hello) -> (Channel, Reply) {
    say(address, &Credentials::none(), Opening::Hello(hello)).await.expect("a reply")
}

/// Calls as this node, which is let in.
async fn speak(address: SocketAddr, node: u16) -> Channel {
    let (channel, reply) = call(address, hello(node)).await;
    assert!(matches!(reply, Reply::Hello(_)), "{reply:?}");
    channel
}

#[tokio::test]
async fn a_peer_that_answers_and_hangs_up_is_called_again_after_the_first_wait() {
    let (listener, address) = bind().await;
    let _node = Node::calling(context(address)).await;
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
    let node = Node::calling(context(address)).await;
    queue(&node.peer, Message::Election);
    hangs_up(&mut answer(&listener, 3).await).await;
    drop(answer(&listener, 3).await);
    let peer = node.peer.state();
    let (link, problem) = peer.link();
    assert_eq!(link, Link::Refused);
    assert!(problem.expect("told").contains("is 3, not 2"));
}

#[tokio::test]
async fn a_heartbeat_is_kept_until_it_can_be_sent_and_goes_before_the_messages() {
    let (listener, address) = bind().await;
    let context = context(address);
    let links = context.links.clone();
    links.send(Sent { to: id(2), id: 7, message: Message::Election });
    links.send(Sent { to: id(2), id: 8, message: Message::Ok });
    links.heartbeat();
    links.heartbeat();
    let _node = Node::calling(context).await;
    let mut connection = answer(&listener, 2).await;
    for expected in [
        Frame::Heartbeat,
        Frame::numbered(0, 7, Message::Election),
        Frame::numbered(0, 8, Message::Ok),
    ] {
        assert_eq!(next(&mut connection).await, expected);
    }
}

#[tokio::test]
async fn each_peer_gets_its_own_messages() {
    let address = "127.0.0.1:1".parse().expect("an address");
    let others = [2, 3].map(|other| (id(other), &address));
    let links = Links::new(1, others.into_iter(), LIMIT, SystemClock);
    links.send(Sent { to: id(3), id: 7, message: Message::Ok });
    let waiting = [2, 3].map(|other| links.take_waiting(id(other)));
    let expected = Frame::numbered(0, 7, Message::Ok);
    assert_eq!(waiting, [(false, vec![]), (false, vec![expected])]);
}

#[tokio::test]
async fn a_peer_that_calls_is_called_back_at_once() {
    let node = Node::listening(context(NOWHERE)).await;
    for _ in 0..20 {
        node.peer.tell(|peer, now| peer.attempt_failed(now, Link::Connecting, String::new()));
    }
    let is_called = || node.peer.due(|peer, now| peer.call(now)).now_or_never().is_some();
    assert!(!is_called());
    let (_connection, reply) = call(node.address, hello(2)).await;
    let told = Hello { incarnation: 0, ..hello(1) };
    assert_eq!(reply, Reply::Hello(told), "not which run it is: any process may ask");
    // The task that calls it may be busy at this moment, and is told nevertheless.
    assert!(is_called());
}

#[tokio::test]
async fn a_connection_with_a_frame_that_makes_no_sense_is_closed() {
    let mut node = Node::listening(context(NOWHERE)).await;
    let mut connection = speak(node.address, 2).await;
    send(&mut connection, Frame::Message(Message::Ok)).await;
    connection.send(Bytes::from_static(&[7, 7, 7])).await.expect("sent");
    send(&mut connection, Frame::Message(Message::Ok)).await;
    hangs_up(&mut connection).await;
    assert_eq!(node.hears().await, (id(2), Frame::Message(Message::Ok)));
    assert!(node.has_heard_nothing_more(), "nothing after what makes no sense counts");
    assert_eq!(node.context.links.bad_frames(), 1);
}

/// Nothing but the configuration says how slow a network may be.
#[tokio::test]
async fn a_peer_that_is_far_away_is_given_as_long_as_is_configured() {
    let far = Duration::from_millis(400);
    let link = async |handshake| {
        let (listener, address) = bind().await;
        let node = Node::calling(with_limits(address, Limits { handshake, ..SHORT })).await;
        let (stream, _) = listener.accept().await.expect("a call");
        sleep(SHORT.admission + far).await;
        let accepted = handshake::accept(&Credentials::none(), stream).await;
        let link = || node.peer.state().link().0;
        let Ok(Some((mut channel, _, _))) = accepted else { return link() };
        let reply = encode(&Reply::Hello(hello(2))).expect("fits");
        channel.send(reply).await.expect("sent");
        let connected = async {
            while link() != Link::Connected {
                sleep(SHORT.quiet).await;
            }
        };
        let _ = timeout(LIMIT, connected).await;
        link()
    };
    let (near, distant) = tokio::join!(link(far / 2), link(far * 50));
    assert_eq!((near, distant), (Link::Connecting, Link::Connected));
}

/// Its machine is gone, or it never was one: nothing says so but that it is silent.
#[tokio::test]
async fn a_peer_that_is_silent_for_too_long_is_gone() {
    let idle = Duration::from_secs(3);
    let node = Node::listening(with_limits(NOWHERE, Limits { idle, ..SHORT })).await;
    let mut connection = speak(node.address, 2).await;
    for _ in 0..12 {
        sleep(idle / 10).await;
        send(&mut connection, Frame::Pong(0)).await;
    }
    assert!(node.peer.state().is_heard(), "it has not been silent");
    hangs_up(&mut connection).await;
    assert!(!node.peer.state().is_heard());
    assert_eq!(node.peer.state().received, 0, "no messages");
}

#[tokio::test]
async fn a_handshake_may_not_take_for_ever_however_much_is_said() {
    let node = Node::listening(with_limits(NOWHERE, SHORT)).await;
    let mut slow = TcpStream::connect(node.address).await.expect("it listens");
    let started = Instant::now();
    // A byte at a time of a greeting that has no end.
    while slow.write_all(&[0]).await.is_ok() {
        assert!(started.elapsed() < LIMIT, "it is still there");
        sleep(Duration::from_millis(20)).await;
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
    let node = Node::listening(context(NOWHERE)).await;
    let other = "other".parse().expect("a name");
    for (caller, refusal) in [
        (Hello { cluster: other, ..hello(2) }, Refusal::Cluster(hello(1).cluster)),
        (Hello { protocol: "lease".to_owned(), ..hello(2) }, Refusal::Protocol("bully".to_owned())),
        (hello(1), Refusal::SameId(id(1))),
        (hello(3), Refusal::UnknownNode(id(3))),
        (Hello { groups: Some([7; 16]), ..hello(2) }, Refusal::Groups),
    ] {
        let (mut connection, reply) = call(node.address, caller).await;
        assert_eq!(reply, Reply::Refused(refusal));
        hangs_up(&mut connection).await;
    }
    assert_eq!(node.refused(), 5);
    speak(node.address, 2).await;
}

/// A node that has later lists tells no digest, and learns the others by the protocol.
#[tokio::test]
async fn nodes_whose_first_lists_differ_do_not_talk() {
    let with = |node, members| Hello { members, ..hello(node) };
    let own = Context { hello: with(1, Some([1; 16])), ..context(NOWHERE) };
    let node = Node::listening(own).await;
    let (mut connection, reply) = call(node.address, with(2, Some([2; 16]))).await;
    assert_eq!(reply, Reply::Refused(Refusal::Members));
    hangs_up(&mut connection).await;
    for members in [Some([1; 16]), None] {
        let (_, reply) = call(node.address, with(2, members)).await;
        assert!(matches!(reply, Reply::Hello(_)), "{members:?}");
    }
}

const SHORT_LEASES: LeaseTerms = terms(1_000, 1_200);
const LONG_LEASES: LeaseTerms = terms(4_000, 5_000);
/// What a node has in the middle of a change from one to the other.
const BETWEEN: LeaseTerms = terms(1_000, 5_000);

const fn terms(lease: u64, promise: u64) -> LeaseTerms {
    let (lease, promise) = (Duration::from_millis(lease), Duration::from_millis(promise));
    LeaseTerms { lease, promise, drift_ppm: 10_000 }
}

fn leasing(node: u16, leases: LeaseTerms) -> Hello {
    Hello { leases: Some(leases), ..hello(node) }
}

/// Node 1, which has short leases.
fn short(peer: impl Into<SocketAddr>) -> Context<Message> {
    Context { hello: leasing(1, SHORT_LEASES), ..context(peer) }
}

#[tokio::test]
async fn a_caller_whose_lease_could_outlast_a_promise_is_refused() {
    let node = Node::listening(short(NOWHERE)).await;
    // A node without leases keeps no promise.
    for caller in [leasing(2, LONG_LEASES), hello(2)] {
        let (_, reply) = call(node.address, caller).await;
        assert_eq!(reply, Reply::Refused(Refusal::Leases(SHORT_LEASES)));
    }
    for leases in [BETWEEN, SHORT_LEASES] {
        let (_, Reply::Hello(there)) = call(node.address, leasing(2, leases)).await else {
            panic!("{leases} fit")
        };
        assert_eq!(there.leases, Some(SHORT_LEASES));
    }
    assert_eq!(node.refused(), 2);
}

/// The other side does not look.
#[tokio::test]
async fn a_node_talks_to_none_whose_lease_could_outlast_its_promises() {
    for (there, says) in [
        (leasing(2, LONG_LEASES), "node 2 has leases of 4s and promises of 5s, this one"),
        (hello(2), "node 2 has leases of 0s and promises of 0s, this one"),
    ] {
        let (listener, address) = bind().await;
        let node = Node::calling(short(address)).await;
        let (mut channel, _) = answer_with(&listener, there).await;
        hangs_up(&mut channel).await;
        let peer = node.peer.state();
        let (link, problem) = peer.link();
        assert_eq!(link, Link::Refused);
        assert!(problem.is_some_and(|problem| problem.contains(says)), "{problem:?}");
    }
}

#[test]
fn what_is_wrong_fits_into_a_status() {
    let refusal = Refusal::Leases(terms(1_549, 11_550));
    for text in [
        format!("it refuses this node: {refusal}"),
        incoming::lease_mismatch(id(65_535), &SHORT_LEASES, &LONG_LEASES),
    ] {
        assert!(text.len() <= peer::LONGEST_PROBLEM, "{}: {text}", text.len());
    }
}

fn secrets(own: u8, second: Option<u8>) -> Credentials {
    let secret = |byte| Secret::new(&[byte; 32]);
    Credentials::new(Kind::Secret(secret(own), second.map(secret)))
}

/// Each row is a step of a change from secret 1 to secret 2, in which some nodes are a step ahead.
#[tokio::test]
async fn a_secret_is_changed_while_nodes_talk() {
    let steps = [(1, None), (1, Some(2)), (2, Some(1)), (2, None)];
    let node = Node::listening(with_credentials(secrets(1, None))).await;
    let now = &node.context.credentials;
    for (here, listens) in steps.into_iter().enumerate() {
        now.replace(secrets(listens.0, listens.1));
        for (there, calls) in steps.into_iter().enumerate() {
            let credentials = secrets(calls.0, calls.1);
            let said = say(node.address, &credentials, Opening::Hello(hello(2))).await;
            assert!(matches!(&said, Ok(_) | Err(Failure::Secret)));
            assert!(said.is_ok() || here.abs_diff(there) > 1, "{listens:?} and {calls:?}");
            assert!(said.is_err() || (listens, calls) != ((1, None), (2, None)));
        }
    }
    // What is of another kind is not taken.
    now.replace(Credentials::none());
    assert_eq!(now.now().mode(), Mode::Secret);
}

/// What a node with the secret once said is worth nothing later: not one frame of it counts.
#[tokio::test]
async fn a_conversation_that_is_played_back_is_not_heard() {
    let secret = secrets(7, None);
    let mut node = Node::listening(with_credentials(secret.clone())).await;
    let address = node.address;

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
    let said = say(tapped, &secret, Opening::Hello(hello(2))).await;
    let (mut two, reply) = said.expect("the same secret");
    assert!(matches!(reply, Reply::Hello(_)), "{reply:?}");
    send(&mut two, Frame::Message(Message::Coordinator)).await;
    assert_eq!(node.hears().await, (id(2), Frame::Message(Message::Coordinator)));
    drop(two);

    let said = timeout(LIMIT, record).await.expect("in time").expect("no panic");
    assert!(!said.windows(6).any(|part| part == b"orders"), "it says its cluster, encrypted");
    let mut again = TcpStream::connect(address).await.expect("it listens");
    again.write_all(&said).await.expect("sent");
    let mut answer = Vec::new();
    let _ = timeout(LIMIT, again.read_to_end(&mut answer)).await.expect("it hangs up");
    assert!(node.has_heard_nothing_more(), "nothing has arrived");
    assert_eq!(node.refused(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_warned_of_once_whatever_the_port_that_it_calls_from() {
    let context = context(NOWHERE);
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

/// How many frames in a second a node with so many peers sends to them, if it has nothing else
/// to say: pings, and answers to theirs.
fn rate(peers: usize) -> f64 {
    let quiet = Limits::new(Duration::from_secs(1)).among(peers).quiet;
    2.0 * f64::from(u32::try_from(peers).expect("few")) / quiet.as_secs_f64()
}

#[test]
fn what_a_quiet_node_sends_is_bounded_however_many_members_there_are() {
    for (nodes, expected) in [(3, 0.8), (9, 3.2), (21, 8.0), (50, 8.0), (255, 8.0)] {
        assert!((rate(nodes - 1) - expected).abs() < 0.001, "{nodes}: {}", rate(nodes - 1));
    }
}

#[test]
fn no_connection_is_closed_whose_other_end_has_nothing_to_say() {
    for peers in [1, 20, 254] {
        for step in [1, 5, 30].map(Duration::from_secs) {
            let limits = Limits::new(step).among(peers);
            assert!(limits.idle >= limits.quiet + 2 * step, "{limits:?}");
        }
    }
}
