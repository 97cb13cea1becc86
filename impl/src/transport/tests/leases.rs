//! Nodes whose leases do not fit each other's promises do not talk.

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

#[tokio::test]
async fn a_caller_whose_lease_could_outlast_a_promise_is_refused() {
    let (listener, address) = bind().await;
    let context = short(address);
    let (inbox, _arrivals) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    // A node without leases keeps no promise.
    for caller in [leasing(2, LONG_LEASES), hello(2)] {
        let (_, reply) = call(address, caller).await;
        assert_eq!(reply, Reply::Refused(Refusal::Leases(SHORT_LEASES)));
    }
    for leases in [BETWEEN, SHORT_LEASES] {
        let (_, Reply::Hello(there)) = call(address, leasing(2, leases)).await else {
            panic!("{leases} fit")
        };
        assert_eq!(there.leases, Some(SHORT_LEASES));
    }
    assert_eq!(context.refused.load(Ordering::Relaxed), 2);
}

/// The other side does not look.
#[tokio::test]
async fn a_node_talks_to_none_whose_lease_could_outlast_its_promises() {
    for (there, says) in [
        (leasing(2, LONG_LEASES), "node 2 has leases of 4s and promises of 5s, this one"),
        (hello(2), "node 2 has leases of 0s and promises of 0s, this one"),
    ] {
        let (listener, address) = bind().await;
        let context = short(address);
        let peer = Arc::clone(&context.peers.now()[&id(2)]);
        let mut tasks = JoinSet::new();
        tasks.spawn(outgoing::maintain(context, Arc::clone(&peer)));
        let (stream, _) =
            timeout(LIMIT, listener.accept()).await.expect("in time").expect("a call");
        let accepted = handshake::accept(&Credentials::none(), stream).await.expect("good");
        let (mut channel, ..) = accepted.expect("a question");
        let reply = Reply::Hello(there).encode().expect("fits");
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
    let lease_mismatch = incoming::lease_mismatch(id(65_535), &SHORT_LEASES, &LONG_LEASES);
    assert!(
        lease_mismatch.len() <= peer::LONGEST_PROBLEM,
        "{}: {lease_mismatch}",
        lease_mismatch.len()
    );
}
