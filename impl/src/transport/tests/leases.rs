//! Nodes whose leases do not fit each other's promises do not talk, and nodes that do not say how
//! long their leases are must have the same settings.

use super::super::frame::{Greeting, Versions};
use super::*;
use crate::protocol::LeaseTerms;

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
fn short(peer: SocketAddr) -> Arc<Context<Message>> {
    let mut context = Arc::into_inner(context(peer)).expect("not shared yet");
    context.hello.leases = Some(SHORT_LEASES);
    Arc::new(context)
}

/// Says `hello` to the node at this address as a release does that speaks only this version.
async fn say(address: SocketAddr, version: u16, hello: Hello) -> Reply {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let mut channel = Channel::new(Box::new(stream), frame::MAX_FRAME);
    let versions = Versions { newest: version, oldest: version };
    let greeting = Greeting { versions, ..Greeting::new(Mode::Plain) };
    channel.send(greeting.encode()).await.expect("sent");
    channel.next().await.expect("a greeting").expect("a frame");
    channel.send(Opening::Hello(hello).encode(version).expect("fits")).await.expect("sent");
    let reply = timeout(LIMIT, channel.next()).await.expect("in time").expect("a reply");
    Reply::decode(&reply.expect("a frame"), version).expect("of this version")
}

#[tokio::test]
async fn a_caller_whose_lease_could_outlast_a_promise_is_refused() {
    let (listener, address) = bind().await;
    let context = short(address);
    let (inbox, _arrivals) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    let reply = say(address, 6, leasing(2, LONG_LEASES)).await;
    assert_eq!(reply, Reply::Refused(Refusal::Leases(SHORT_LEASES)));
    for leases in [BETWEEN, SHORT_LEASES] {
        let Reply::Hello(there) = say(address, 6, leasing(2, leases)).await else {
            panic!("{leases} fit")
        };
        assert_eq!(there.leases, Some(SHORT_LEASES));
    }

    // The release before, which says nothing of leases.
    assert!(matches!(say(address, 5, hello(2)).await, Reply::Hello(_)));
    let digests = Digests { settings: [7; 16], ..Digests::default() };
    let reply = say(address, 5, Hello { digests, ..hello(2) }).await;
    let Reply::Refused(refusal) = reply else { panic!("not refused: {reply:?}") };
    assert!(refusal.to_string().contains("leases of 1s"), "{refusal}");
    assert_eq!(context.refused.load(Ordering::Relaxed), 2);
}

/// The other side does not look, as the release before this one does not.
#[tokio::test]
async fn a_node_talks_to_none_whose_lease_could_outlast_its_promises() {
    let other = Digests { settings: [7; 16], ..Digests::default() };
    for (there, says) in [
        (leasing(2, LONG_LEASES), "node 2 has leases of 4s and promises of 5s, this one"),
        (Hello { digests: other, ..hello(2) }, "does not say how long its leases are"),
    ] {
        let (listener, address) = bind().await;
        let context = short(address);
        let peer = Arc::clone(&context.peers[&id(2)]);
        let mut tasks = JoinSet::new();
        tasks.spawn(outgoing::maintain(context, Arc::clone(&peer)));
        let (stream, _) =
            timeout(LIMIT, listener.accept()).await.expect("in time").expect("a call");
        let accepted = handshake::accept(&Credentials::none(), stream).await.expect("good");
        let (mut channel, ..) = accepted.expect("a question");
        let reply = Reply::Hello(there).encode(channel.version()).expect("fits");
        channel.send(reply).await.expect("sent");
        let end = timeout(LIMIT, channel.next()).await.expect("in time");
        assert!(!matches!(end, Some(Ok(_))), "it hangs up");
        let (link, problem) = peer.link();
        assert_eq!(link, Link::Refused);
        assert!(problem.as_ref().is_some_and(|problem| problem.contains(says)), "{problem:?}");
    }
}

#[test]
fn what_is_wrong_fits_into_a_status() {
    let refusal = Refusal::Leases(terms(1_549, 11_550)).to_string();
    assert!("it refuses this node: ".len() + refusal.len() <= peer::LONGEST_PROBLEM, "{refusal}");
    let lease_mismatch = incoming::lease_mismatch(id(65_535), &SHORT_LEASES, Some(LONG_LEASES));
    assert!(
        lease_mismatch.len() <= peer::LONGEST_PROBLEM,
        "{}: {lease_mismatch}",
        lease_mismatch.len()
    );
}
