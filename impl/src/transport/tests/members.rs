//! Members that come and go while a node runs.

use super::super::standing::Standing;
use super::*;

/// Node 1 with all of its tasks, which knows node 2 at this address: where it listens, and what it
/// hears.
async fn node(
    two: SocketAddr,
) -> (Arc<Context<Message>>, SocketAddr, JoinSet<()>, mpsc::Receiver<Arrival<Message>>) {
    let (listener, address) = bind().await;
    let context = context(two);
    let (inbox, arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    tasks.spawn(outgoing::maintain_all(Arc::clone(&context)));
    (context, address, tasks, arrivals)
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
    let (to_node, reply) = call(address, hello(node)).await;
    assert!(matches!(reply, Reply::Hello(_)), "{reply:?}");
    Both { node, from_node, to_node }
}

impl Both {
    async fn say(&mut self, frame: Frame<Message>) {
        self.to_node.send(frame::encode_frame(&frame).expect("fits")).await.expect("sent");
    }

    /// One message goes in each direction.
    async fn talk(&mut self, links: &Links<Message>, inbox: &mut mpsc::Receiver<Arrival<Message>>) {
        links.send(Sent { to: id(self.node), id: 7, message: Message::Election });
        while next(&mut self.from_node).await != Frame::numbered(0, 7, Message::Election) {}
        self.say(Frame::Message(Message::Ok)).await;
        let arrival = timeout(LIMIT, inbox.recv()).await.expect("in time").expect("one");
        assert_eq!((arrival.from, arrival.frame), (id(self.node), Frame::Message(Message::Ok)));
    }

    async fn are_closed(mut self) {
        for connection in [&mut self.from_node, &mut self.to_node] {
            let rest = async { while let Some(Ok(_)) = connection.next().await {} };
            timeout(LIMIT, rest).await.expect("it hangs up");
        }
    }
}

#[tokio::test]
async fn a_member_that_is_added_is_called_and_heard_and_no_other_connection_changes() {
    let ((two, at_two), (three, at_three)) = (bind().await, bind().await);
    let (context, address, _tasks, mut inbox) = node(at_two).await;
    let links = links_of(&context);
    let mut with_two = connect(2, &two, address).await;
    with_two.talk(&links, &mut inbox).await;
    let (_, reply) = call(address, hello(3)).await;
    assert_eq!(reply, Reply::Refused(Refusal::UnknownNode(id(3))));

    links.set_members(members([(2, at_two), (3, at_three)]));
    let mut with_three = connect(3, &three, address).await;
    with_three.talk(&links, &mut inbox).await;
    with_two.talk(&links, &mut inbox).await;
    let told = links.report(&BTreeSet::new());
    let counts: Vec<_> = told.iter().map(|told| (told.node, told.sent, told.received)).collect();
    assert_eq!(counts, [(id(2), 2, 2), (id(3), 1, 1)]);
    assert!(told.iter().all(|told| told.link == Link::Connected && told.heard));
    assert!(links.measurements().iter().all(|link| link.up && link.breaks == 0));
}

#[tokio::test]
async fn a_member_that_is_removed_is_disconnected_and_unknown_and_the_others_go_on() {
    let ((two, at_two), (three, at_three)) = (bind().await, bind().await);
    let (context, address, _tasks, mut inbox) = node(at_two).await;
    let links = links_of(&context);
    links.set_members(members([(2, at_two), (3, at_three)]));
    let mut with_two = connect(2, &two, address).await;
    let mut with_three = connect(3, &three, address).await;
    with_three.say(Frame::Standing(Standing::default())).await;
    with_three.talk(&links, &mut inbox).await;
    with_two.talk(&links, &mut inbox).await;
    assert!(links.standings.heard().contains_key(&id(3)));

    links.set_members(members([(2, at_two)]));
    assert!(links.standings.heard().is_empty());
    with_three.are_closed().await;
    let (_, reply) = call(address, hello(3)).await;
    assert_eq!(reply, Reply::Refused(Refusal::UnknownNode(id(3))));
    let called = timeout(SHORT.handshake, three.accept()).await;
    assert!(called.is_err(), "it is not called again");
    with_two.talk(&links, &mut inbox).await;
    let link = links.measurements()[0];
    assert_eq!((link.node, link.up, link.breaks), (id(2), true, 0));

    // One that has another address is called there.
    links.set_members(members([(2, at_three)]));
    with_two.are_closed().await;
    connect(2, &three, address).await.talk(&links, &mut inbox).await;
}
