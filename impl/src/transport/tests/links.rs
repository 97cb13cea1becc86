//! What a node says on a connection when it has nothing to say, how long that takes there and back,
//! and what it notes when a link breaks and heals.

use super::super::health::Cause;
use super::super::standing::Standing;
use super::*;
use crate::report::LinkMeasurements;

/// Limits by which no connection is closed while a test looks.
const LONG: Limits = Limits { quiet: LIMIT, idle: LIMIT, ..SHORT };

/// Calls node 1 as node 2.
async fn speak(address: SocketAddr) -> Channel {
    let (channel, reply) = call(address, hello(2)).await;
    assert!(matches!(reply, Reply::Hello(_)), "{reply:?}");
    channel
}

async fn send(channel: &mut Channel, frame: Frame<Message>) {
    channel.send(frame::encode_frame(&frame).expect("fits")).await.expect("sent");
}

/// Node 1, which calls node 2 at this address and listens at the one that is returned.
async fn node(
    peer: SocketAddr,
    limits: Limits,
) -> (Arc<Peer<Message>>, SocketAddr, JoinSet<()>, mpsc::Receiver<Arrival<Message>>) {
    let (listener, address) = bind().await;
    let context = with_limits(peer, limits);
    let peer = Arc::clone(&context.peers.now()[&id(2)]);
    let (inbox, arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    tasks.spawn(outgoing::maintain(context, Arc::clone(&peer)));
    (peer, address, tasks, arrivals)
}

/// Waits until the measurements of the link are such.
async fn until(peer: &Peer<Message>, wanted: impl Fn(&LinkMeasurements) -> bool) {
    let look = async {
        while !wanted(&peer.measurements()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = timeout(LIMIT, look).await;
    assert!(found.is_ok(), "{:?}: {}", peer.measurements(), peer.health.describe());
}

#[tokio::test]
async fn a_node_that_has_nothing_to_say_pings() {
    let (listener, address) = bind().await;
    let context = with_limits(address, SHORT);
    let peer = Arc::clone(&context.peers.now()[&id(2)]);
    let mut tasks = JoinSet::new();
    tasks.spawn(outgoing::maintain(context, Arc::clone(&peer)));
    let mut connection = answer(&listener, 2).await;
    let started = Instant::now();
    let standing = Frame::Standing(Standing::default());
    assert_eq!(next(&mut connection).await, standing, "once");
    for number in 1..=4 {
        assert_eq!(next(&mut connection).await, Frame::Ping(number));
    }
    assert!(started.elapsed() >= SHORT.quiet * 2, "and no more often: {:?}", started.elapsed());
    assert_eq!(peer.sent.load(Ordering::Relaxed), 0, "no messages");
}

#[tokio::test]
async fn a_ping_is_answered_on_the_other_connection_and_its_answer_is_measured() {
    let (listener, there) = bind().await;
    let (peer, address, _tasks, mut arrivals) = node(there, LONG).await;
    let mut from_node = answer(&listener, 2).await;
    let mut to_node = speak(address).await;
    assert!(matches!(next(&mut from_node).await, Frame::Standing(_)), "it says what it is");
    let Frame::Ping(number) = next(&mut from_node).await else { panic!("the first is at once") };
    let took = Duration::from_millis(50);
    tokio::time::sleep(took).await;
    send(&mut to_node, Frame::Pong(number)).await;
    until(&peer, |link| link.round_trip >= Some(took)).await;

    send(&mut to_node, Frame::Ping(77)).await;
    while next(&mut from_node).await != Frame::Pong(77) {}
    assert!(arrivals.try_recv().is_err(), "no core sees any of it");
    assert_eq!(peer.received.load(Ordering::Relaxed), 0, "no messages");
    assert_eq!(peer.sent.load(Ordering::Relaxed), 0, "no messages");
    drop(from_node);
    until(&peer, |link| link.round_trip.is_none()).await;
}

/// The process at the other end is killed, and both of its connections end. Then another starts.
#[tokio::test]
async fn a_link_breaks_once_and_heals_once_whatever_happens_meanwhile() {
    // While it is bound, no other test gets the port.
    let port = tokio::net::TcpSocket::new_v4().expect("a socket");
    port.set_reuseaddr(true).expect("it is not bound");
    port.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let there = port.local_addr().expect("an address");
    let listener = TcpListener::bind(there).await.expect("it can be shared");
    let (peer, address, _tasks, _arrivals) = node(there, LONG).await;
    let (from_node, to_node) = (answer(&listener, 2).await, speak(address).await);
    until(&peer, |link| link.up).await;
    assert_eq!(peer.measurements().breaks, 0);
    assert!(peer.measurements().silence.is_some());

    drop((listener, from_node, to_node));
    until(&peer, |link| !link.up).await;
    // The back-off has its first waits: some attempts are refused.
    until(&peer, |_| peer.health.describe().contains("attempts failed, the last ")).await;
    assert_eq!((peer.measurements().breaks, peer.measurements().heals), (1, 0));
    let told = peer.health.describe();
    assert!(told.ends_with("its process is gone"), "{told}");

    let listener = TcpListener::bind(there).await.expect("the port is free again");
    let (mut from_node, mut to_node) = (answer(&listener, 2).await, speak(address).await);
    until(&peer, |link| link.up).await;
    send(&mut to_node, Frame::Pong(0)).await;
    next(&mut from_node).await;
    assert_eq!((peer.measurements().breaks, peer.measurements().heals), (1, 1));
}

/// It is paused: its system keeps the connections, and takes in what is sent.
#[tokio::test]
async fn a_peer_that_is_silent_for_too_long_breaks_the_link() {
    let (listener, there) = bind().await;
    let (peer, address, _tasks, _arrivals) = node(there, SHORT).await;
    let _from_node = answer(&listener, 2).await;
    let to_node = speak(address).await;
    until(&peer, |link| link.breaks == 1).await;
    let told = peer.health.describe();
    assert!(told.contains("nothing was heard for 300ms: it is paused, cut off or slow"), "{told}");
    drop(to_node);
    let mut to_node = speak(address).await;
    send(&mut to_node, Frame::Pong(0)).await;
    until(&peer, |link| link.heals == 1).await;
}

/// A link that flaps does not fill the log: its lines are few in a minute. All breaks are counted.
#[tokio::test(start_paused = true)]
async fn the_lines_about_a_link_that_flaps_are_limited_and_disturb_no_other() {
    let context = context(([127, 0, 0, 1], 1).into());
    let peer = Arc::clone(&context.peers.now()[&id(2)]);
    context.log_heal(&peer, peer.health.connected());
    for _ in 0..100 {
        context.log_heal(&peer, peer.health.heard());
        context.log_break(&peer, peer.health.unheard(&Cause::HungUp));
    }
    let link = peer.measurements();
    assert_eq!((link.breaks, link.heals), (100, 99));
    let admits = |source| context.limiter.admit(source, "another line");
    assert_eq!(admits(Source::Link(id(2))), None);
    assert!(admits(Source::Member(id(2))).is_some_and(|withheld| withheld > 190));
}
