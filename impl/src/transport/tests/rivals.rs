//! A peer is told that it is a rival on the next connection, if it speaks a version that has that.

use super::super::frame::{Greeting, Versions};
use super::*;

/// Node 1, and its link to node 2, which is to be told that it is a rival.
fn told(address: SocketAddr) -> (Arc<Context<Message>>, Arc<Peer<Message>>) {
    let context = with_limits(address, SHORT);
    let peer = Arc::clone(&context.peers[&id(2)]);
    let (refused, bad_frames) = (Arc::clone(&context.refused), Arc::clone(&context.bad_frames));
    let (peers, standings) = (Arc::clone(&context.peers), context.standings.clone());
    let lists = context.lists.clone();
    let services = [].into();
    let links =
        Links { peers, refused, bad_frames, gone: None, services, group: 0, standings, lists };
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
    peer.outbox.push(Frame::message(0, Message::Ok));
    assert_eq!(next_said(&mut connection).await, Frame::Message(Message::Ok));
}

#[tokio::test]
async fn a_peer_of_the_version_before_is_told_nothing_that_it_does_not_understand() {
    let (listener, address) = bind().await;
    let (context, peer) = told(address);
    let mut tasks = JoinSet::new();
    tasks.spawn(outgoing::maintain(context, Arc::clone(&peer)));
    let (stream, _) = timeout(LIMIT, listener.accept()).await.expect("in time").expect("a call");
    let mut connection = Channel::new(Box::new(stream), frame::MAX_FRAME);
    let versions = Versions { newest: frame::RIVALS - 1, ..frame::VERSIONS };
    let greeting = Greeting { versions, ..Greeting::new(Mode::Plain) };
    connection.send(greeting.encode()).await.expect("sent");
    for said in ["a greeting", "an opening"] {
        connection.next().await.expect(said).expect("a frame");
    }
    let reply = Reply::Hello(hello(2)).encode(versions.newest).expect("fits");
    connection.send(reply).await.expect("sent");
    assert_eq!(next(&mut connection).await, Frame::Quiet, "and no frame before");
    peer.outbox.push(Frame::message(0, Message::Ok));
    assert_eq!(next_said(&mut connection).await, Frame::Message(Message::Ok));
}
