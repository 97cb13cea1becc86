//! Connections beside their messages: a node says that it is there, asks how long the way takes,
//! and tells a rival; it notes when a link breaks and heals, and members come and go while it runs.

use super::super::cause::Cause;
use super::super::facts::NodeFacts;
use super::super::peer::Peer;
use super::*;
use crate::protocol::Time;

/// Limits by which no connection is closed while a test looks.
const LONG: Limits = Limits { quiet: LIMIT, idle: LIMIT, ..SHORT };

fn measured(peer: &PeerLink<Message>) -> LinkMeasurements {
    peer.state().measurements(peer.now(), peer.id)
}

fn described(peer: &PeerLink<Message>) -> String {
    peer.state().describe(peer.now())
}

/// Waits until the measurements of the link are such.
async fn until(peer: &PeerLink<Message>, wanted: impl Fn(&LinkMeasurements) -> bool) {
    let look = async {
        while !wanted(&measured(peer)) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let found = timeout(LIMIT, look).await;
    assert!(found.is_ok(), "{:?}: {}", measured(peer), described(peer));
}

#[tokio::test]
async fn a_node_that_has_nothing_to_say_pings() {
    let (listener, address) = bind().await;
    let node = Node::calling(with_limits(address, SHORT)).await;
    let mut connection = answer(&listener, 2).await;
    let started = Instant::now();
    let standing = Frame::NodeFacts(NodeFacts::default());
    assert_eq!(next(&mut connection).await, standing, "once");
    for number in 1..=4 {
        assert_eq!(next(&mut connection).await, Frame::Ping(number));
    }
    assert!(started.elapsed() >= SHORT.quiet * 2, "and no more often: {:?}", started.elapsed());
    assert_eq!(node.peer.state().sent, 0, "no messages");
}

#[tokio::test]
async fn a_ping_is_answered_on_the_other_connection_and_its_answer_is_measured() {
    let (listener, there) = bind().await;
    let mut node = Node::calling(with_limits(there, LONG)).await;
    let mut from_node = answer(&listener, 2).await;
    let mut to_node = speak(node.address, 2).await;
    assert!(matches!(next(&mut from_node).await, Frame::NodeFacts(_)), "it says what it is");
    let Frame::Ping(number) = next(&mut from_node).await else { panic!("the first is at once") };
    let took = Duration::from_millis(50);
    sleep(took).await;
    send(&mut to_node, Frame::Pong(number)).await;
    until(&node.peer, |link| link.round_trip >= Some(took)).await;

    send(&mut to_node, Frame::Ping(77)).await;
    while next(&mut from_node).await != Frame::Pong(77) {}
    assert!(node.has_heard_nothing_more(), "no core sees any of it");
    let received = node.peer.state().received;
    assert_eq!((received, node.peer.state().sent), (0, 0), "no messages");
    drop(from_node);
    until(&node.peer, |link| link.round_trip.is_none()).await;
}

#[tokio::test]
async fn a_rival_is_told_once_there_is_a_connection_and_once() {
    let (listener, address) = bind().await;
    let context = with_limits(address, SHORT);
    // Node 9 is not a member.
    for rival in [2, 2, 9] {
        context.links.tell_rival(id(rival));
    }
    let node = Node::calling(context).await;
    let mut connection = answer(&listener, 2).await;
    for said in [Frame::Rival, Frame::Message(Message::Ok)] {
        let mut frame = next(&mut connection).await;
        while !matches!(frame, Frame::Message(_) | Frame::Rival) {
            frame = next(&mut connection).await;
        }
        assert_eq!(frame, said);
        queue(&node.peer, Message::Ok);
    }
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
    let node = Node::calling(with_limits(there, LONG)).await;
    let (peer, address) = (&node.peer, node.address);
    let (from_node, to_node) = (answer(&listener, 2).await, speak(address, 2).await);
    until(peer, |link| link.up).await;
    assert_eq!(measured(peer).breaks, 0);
    assert!(measured(peer).silence.is_some());

    drop((listener, from_node, to_node));
    until(peer, |link| !link.up).await;
    // The back-off has its first waits: some attempts are refused.
    until(peer, |_| described(peer).contains("attempts failed, the last ")).await;
    assert_eq!((measured(peer).breaks, measured(peer).heals), (1, 0));
    let told = described(peer);
    assert!(told.ends_with("its process is gone"), "{told}");

    let listener = TcpListener::bind(there).await.expect("the port is free again");
    let (mut from_node, mut to_node) = (answer(&listener, 2).await, speak(address, 2).await);
    until(peer, |link| link.up).await;
    send(&mut to_node, Frame::Pong(0)).await;
    next(&mut from_node).await;
    assert_eq!((measured(peer).breaks, measured(peer).heals), (1, 1));
}

/// It is paused: its system keeps the connections, and takes in what is sent.
#[tokio::test]
async fn a_peer_that_is_silent_for_too_long_breaks_the_link() {
    let (listener, there) = bind().await;
    let node = Node::calling(with_limits(there, SHORT)).await;
    let _from_node = answer(&listener, 2).await;
    let to_node = speak(node.address, 2).await;
    until(&node.peer, |link| link.breaks == 1).await;
    let told = described(&node.peer);
    assert!(told.contains("nothing was heard for 300ms"), "{told}");
    drop(to_node);
    let mut to_node = speak(node.address, 2).await;
    send(&mut to_node, Frame::Pong(0)).await;
    until(&node.peer, |link| link.heals == 1).await;
}

/// A peer has one place. The connection that it opens last takes the place with all that is known
/// of the peer, and nothing that is said on the one before is heard any more.
#[tokio::test]
async fn the_newest_connection_of_a_peer_has_its_place() {
    let (listener, there) = bind().await;
    let mut node = Node::calling(with_limits(there, LONG)).await;
    let (_from_node, mut older) = (answer(&listener, 2).await, speak(node.address, 2).await);
    let facts = NodeFacts { priority: 9, ..NodeFacts::default() };
    send(&mut older, Frame::NodeFacts(facts)).await;
    send(&mut older, Frame::Message(Message::Election)).await;
    assert_eq!(node.hears().await, (id(2), Frame::Message(Message::Election)));
    until(&node.peer, |link| link.up).await;

    for _ in 0..3 {
        let mut newer = speak(node.address, 2).await;
        // The system may know already that the other side has closed it.
        let late = encode(&Frame::Message(Message::Coordinator)).expect("fits");
        let _ = older.send(late).await;
        send(&mut newer, Frame::Message(Message::Ok)).await;
        assert_eq!(node.hears().await, (id(2), Frame::Message(Message::Ok)));
        hangs_up(&mut older).await;
        older = newer;
        assert!(node.has_heard_nothing_more() && node.peer.state().is_heard());
        let heard = node.context.links.cluster.heard();
        assert_eq!(heard.get(&id(2)), Some(&facts), "it is the same peer");
    }
    // Another process with its id, which does not answer at its address, is let in by none of that.
    let double = Hello { incarnation: 7, ..hello(2) };
    let (_, reply) = call(node.address, double).await;
    assert_eq!(reply, Reply::Refused(Refusal::Duplicate(id(2))));
    send(&mut older, Frame::Message(Message::Ok)).await;
    assert_eq!(node.hears().await, (id(2), Frame::Message(Message::Ok)));
    let link = measured(&node.peer);
    assert_eq!((link.up, link.breaks, node.refused()), (true, 0, 1));
    assert_eq!(node.peer.state().received, 5, "those that were heard");

    drop(older);
    until(&node.peer, |link| link.breaks == 1).await;
    let is_forgotten = async {
        while node.peer.state().is_heard() || !node.context.links.cluster.heard().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LIMIT, is_forgotten).await.expect("no connection is left");
}

/// A link that flaps does not fill the log: its lines are few in a minute. All breaks are counted.
#[tokio::test(start_paused = true)]
async fn the_lines_about_a_link_that_flaps_are_limited_and_disturb_no_other() {
    let context = context(NOWHERE);
    let peer = Arc::clone(&context.links.peers.now()[&id(2)]);
    let tell = |event: &dyn Fn(&mut Peer<Message>, Time) -> Option<News>| {
        context.log_link(&peer, peer.tell(event));
    };
    for _ in 0..101 {
        tell(&|peer, now| peer.connected(now, None, NodeFacts::default()));
        tell(&Peer::heard);
        tell(&|peer, now| peer.disconnected(now, &Cause::HungUp, LIMIT));
    }
    let link = measured(&peer);
    assert_eq!((link.breaks, link.heals), (101, 100));
    let admits = |source| context.limiter.admit(source, "another line");
    assert_eq!(admits(Source::Link(id(2))), None);
    assert!(admits(Source::Member(id(2))).is_some_and(|withheld| withheld > 190));
}

/// Node 1, which knows node 2 at this address and calls all members, however they change.
async fn among_members(two: SocketAddr) -> (Node, Links<Message>) {
    let mut node = Node::listening(context(two)).await;
    let links = node.context.links.clone();
    node.tasks.spawn(outgoing::maintain_all(Arc::clone(&node.context)));
    (node, links)
}

fn members<const N: usize>(others: [(u16, SocketAddr); N]) -> [(NodeId, Address); N] {
    others.map(|(node, at)| (id(node), at.to_string().parse().expect("an address")))
}

/// The connections to a member and from it.
struct Both {
    node: u16,
    from_node: Channel,
    to_node: Channel,
}

/// Waits until node 1 calls this one at `listener`, and calls node 1 at `address`.
async fn connect(node: u16, listener: &TcpListener, address: SocketAddr) -> Both {
    let from_node = answer(listener, node).await;
    Both { node, from_node, to_node: speak(address, node).await }
}

impl Both {
    /// One message goes in each direction.
    async fn talk(&mut self, links: &Links<Message>, node: &mut Node) {
        links.send(Sent { to: id(self.node), id: 7, message: Message::Election });
        while next(&mut self.from_node).await != Frame::numbered(0, 7, Message::Election) {}
        send(&mut self.to_node, Frame::Message(Message::Ok)).await;
        assert_eq!(node.hears().await, (id(self.node), Frame::Message(Message::Ok)));
    }

    async fn are_closed(mut self) {
        for connection in [&mut self.from_node, &mut self.to_node] {
            let rest = async { while connection.next().await.is_ok() {} };
            timeout(LIMIT, rest).await.expect("it hangs up");
        }
    }
}

async fn is_unknown(address: SocketAddr, node: u16) {
    let (_, reply) = call(address, hello(node)).await;
    assert_eq!(reply, Reply::Refused(Refusal::UnknownNode(id(node))));
}

#[tokio::test]
async fn a_member_that_is_added_is_called_and_heard_and_no_other_connection_changes() {
    let ((two, at_two), (three, at_three)) = (bind().await, bind().await);
    let (mut node, links) = among_members(at_two).await;
    let mut with_two = connect(2, &two, node.address).await;
    with_two.talk(&links, &mut node).await;
    is_unknown(node.address, 3).await;

    links.set_members(members([(2, at_two), (3, at_three)]));
    let mut with_three = connect(3, &three, node.address).await;
    with_three.talk(&links, &mut node).await;
    with_two.talk(&links, &mut node).await;
    let told = links.report(&BTreeSet::new());
    let counts: Vec<_> = told.iter().map(|told| (told.node, told.sent, told.received)).collect();
    assert_eq!(counts, [(id(2), 2, 2), (id(3), 1, 1)]);
    assert!(told.iter().all(|told| told.link == Link::Connected && told.heard));
    assert!(links.measurements().iter().all(|link| link.up && link.breaks == 0));
}

#[tokio::test]
async fn a_member_that_is_removed_is_disconnected_and_unknown_and_the_others_go_on() {
    let ((two, at_two), (three, at_three)) = (bind().await, bind().await);
    let (mut node, links) = among_members(at_two).await;
    links.set_members(members([(2, at_two), (3, at_three)]));
    let mut with_two = connect(2, &two, node.address).await;
    let mut with_three = connect(3, &three, node.address).await;
    send(&mut with_three.to_node, Frame::NodeFacts(NodeFacts::default())).await;
    with_three.talk(&links, &mut node).await;
    with_two.talk(&links, &mut node).await;
    assert!(links.cluster.heard().contains_key(&id(3)));

    links.set_members(members([(2, at_two)]));
    assert!(links.cluster.heard().is_empty());
    with_three.are_closed().await;
    is_unknown(node.address, 3).await;
    let called = timeout(SHORT.handshake, three.accept()).await;
    assert!(called.is_err(), "it is not called again");
    with_two.talk(&links, &mut node).await;
    let link = links.measurements()[0];
    assert_eq!((link.node, link.up, link.breaks), (id(2), true, 0));

    // One that has another address is called there.
    links.set_members(members([(2, at_three)]));
    with_two.are_closed().await;
    connect(2, &three, node.address).await.talk(&links, &mut node).await;
}

#[test]
fn the_loss_of_a_leader_is_explained_by_its_link_and_of_this_node_by_those_that_are_down() {
    let address: Address = "10.0.0.1:7400".parse().expect("an address");
    let others = (2..=7).map(|number| (id(number), &address));
    let links = Links::<()>::new(1, others, LIMIT, SystemClock);
    let peers = links.peers.now();
    let rise = |peer: &Arc<PeerLink<()>>| {
        peer.tell(|peer, now| peer.connected(now, None, NodeFacts::default()));
        peer.tell(Peer::heard);
    };
    peers.values().filter(|peer| peer.id != id(7)).for_each(rise);
    let text = links.explain_loss(id(3));
    assert!(text.starts_with("link to 3: up, last heard "), "{text}");
    assert_eq!(links.explain_loss(id(1)), "link to 7: not up yet; never heard");
    rise(&peers[&id(7)]);
    assert_eq!(links.explain_loss(id(1)), "all links are up");
    for peer in peers.values() {
        let news = peer.tell(|peer, now| peer.disconnected(now, &Cause::HungUp, LIMIT));
        assert!(matches!(news, Some(News::Broken { .. })), "{news:?}");
    }
    let text = links.explain_loss(id(1));
    assert!(text.starts_with("link to 2: broken for ") && text.contains("it hung up"), "{text}");
    assert!(text.contains("; link to 4: ") && !text.contains("link to 5"), "{text}");
    assert!(text.ends_with("; 3 more links are down"), "{text}");
}
