//! A peer is told that it is a rival on the next connection.

use super::*;

/// Node 1, and its link to node 2, which is to be told that it is a rival.
fn told(address: SocketAddr) -> (Arc<Context<Message>>, Arc<Peer<Message>>) {
    let context = with_limits(address, SHORT);
    let peer = Arc::clone(&context.peers.now()[&id(2)]);
    let links = links_of(&context);
    links.tell_rival(id(2));
    links.tell_rival(id(2));
    // It is not a member.
    links.tell_rival(id(9));
    (context, peer)
}

/// The next thing that is said of the protocol, or of a rival.
async fn next_said(connection: &mut Channel) -> Frame<Message> {
    loop {
        let frame = next(connection).await;
        if matches!(frame, Frame::Message(_) | Frame::Rival) {
            return frame;
        }
    }
}

#[tokio::test]
async fn a_rival_is_told_once_there_is_a_connection_and_once() {
    let (listener, address) = bind().await;
    let (context, peer) = told(address);
    let mut tasks = JoinSet::new();
    tasks.spawn(outgoing::maintain(context, Arc::clone(&peer)));
    let mut connection = answer(&listener, 2).await;
    assert_eq!(next_said(&mut connection).await, Frame::Rival);
    peer.outbox.push(Frame::Message(Message::Ok));
    assert_eq!(next_said(&mut connection).await, Frame::Message(Message::Ok));
}
