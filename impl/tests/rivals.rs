//! Two nodes that would lead at the same time, with relays between them: with leases, never;
//! without, both learn of it.

use std::net::SocketAddr;
use std::time::Duration;

use bellwether::Link;
use bellwether::storage::Memory;
use bellwether::{Config, Election, Guard, Leadership, NodeId, Reason, Role, Timing};
use bellwether_core::protocol::bully::{self, Bully};
use bellwether_testbed::relay::{Gate, Relay};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::{LIMIT, id, until};

/// A port that the system chose, and a relay to it.
struct Relayed {
    listener: TcpListener,
    address: SocketAddr,
    relay: Relay,
}

impl Relayed {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let relay = Relay::start(&Handle::current(), address.port()).expect("a relay");
        Self { listener, address, relay }
    }
}

/// However busy the machine is, no node is taken for paused.
const TIMING: bully::Timing =
    bully::Timing { watch: Duration::from_secs(3), ..bully::Timing::DEFAULT };

/// Nodes 1 and 2 by the bully, with relays between them that are cut.
async fn cut_off() -> ([Election; 2], [Relay; 2]) {
    let [one, two] = [Relayed::new().await, Relayed::new().await];
    let relays = [one.relay, two.relay];
    relays.iter().for_each(|relay| relay.set(Gate::Reset));
    let [to_one, to_two] = relays.each_ref().map(Relay::address);
    let join = |node, members: [SocketAddr; 2], listener| {
        let members = (1..).zip(members.map(|address| address.to_string()));
        let config = Config::<Bully>::for_protocol("rivals", node, members, TIMING);
        Election::join_on(config.expect("valid"), listener).expect("it can join")
    };
    let first = join(1, [one.address, to_two], one.listener);
    let second = join(2, [to_one, two.address], two.listener);
    ([first, second], relays)
}

/// Waits until the node is told so.
async fn sees(node: &Election, wanted: impl FnMut(&Leadership) -> bool) -> Leadership {
    let seen = async { node.leadership().wait_for(wanted).await };
    timeout(LIMIT, seen).await.expect("within the limit").expect("takes part")
}

/// The last changes of the node: their roles, leaders, reasons and rivals.
fn last(node: &Election, changes: usize) -> Vec<(Role, Option<NodeId>, Reason, Option<NodeId>)> {
    let all = node.handle().history().since(0);
    let last = &all[all.len() - changes..];
    last.iter().map(|change| (change.role, change.leader, change.reason, change.rival)).collect()
}

#[tokio::test]
async fn two_leaders_that_were_cut_off_both_learn_that_the_other_led_as_well() {
    let ([one, two], link) = cut_off().await;
    let set = |gate| link.iter().for_each(|relay| relay.set(gate));
    let led = sees(&two, Leadership::is_self).await;
    sees(&one, Leadership::is_self).await;
    assert_eq!([&one, &two].map(|node| node.handle().status().counters.rivals), [0, 0]);

    set(Gate::Open);
    let follows = sees(&one, |now| now.leader == Some(id(2))).await;
    assert_eq!((follows.rivals, follows.rival), (1, None), "the change came before");
    let [heard, lost] = last(&one, 2)[..] else { panic!("two changes") };
    assert_eq!(heard, (Role::Leader, Some(id(1)), Reason::RIVAL_HEARD, Some(id(2))));
    assert_eq!(lost, (Role::Follower, Some(id(2)), Reason::CLAIMED, None));

    // It hears nothing of the other but what that says for this reason.
    let told = sees(&two, |now| now.rivals > 0).await;
    assert!(told.is_self() && told.rival == Some(id(1)));
    assert_eq!((told.seq, told.reason, told.since), (led.seq + 1, led.reason, led.since));
    let rival = (Role::Leader, Some(id(2)), Reason::RIVAL_HEARD, Some(id(1)));
    assert_eq!(last(&two, 1), [rival]);
    assert_eq!([&one, &two].map(|node| node.handle().status().counters.rivals), [1, 1]);
    assert_eq!(two.handle().status().reason.as_deref(), led.reason.map(Reason::name));

    // The node that led loses, and the other one's term is the same: it is told once.
    sleep(Duration::from_millis(500)).await;
    assert_eq!([&one, &two].map(|node| node.handle().status().counters.rivals), [1, 1]);

    // The next cut is another term of node 1, and the same of node 2.
    set(Gate::Reset);
    sees(&one, Leadership::is_self).await;
    set(Gate::Open);
    let again = sees(&one, |now| now.leader == Some(id(2)) && now.rivals == 2).await;
    assert_eq!((again.role, two.handle().status().counters.rivals), (Role::Follower, 1));
}

/// Node 3 has longer leases than the promises of the others last. If it led, and were cut off, the
/// others would choose a new leader while its lease lasts.
#[tokio::test]
async fn a_node_whose_lease_outlasts_the_promises_of_the_others_does_not_lead() {
    let [one, two, three] = [Relayed::new().await, Relayed::new().await, Relayed::new().await];
    let relays = [one.relay, two.relay, three.relay];
    let [to_one, to_two, to_three] = relays.each_ref().map(Relay::address);
    // Between node 3 and the others.
    let here = [one.address, two.address, to_three];
    let there = [to_one, to_two, three.address];
    let join = |node, addresses: [SocketAddr; 3], listener, timing: Timing| {
        let members = (1..).zip(addresses.map(|address| address.to_string()));
        let config = Config::new("leases", node, members).expect("valid");
        let config = config.with_section(timing).expect("valid");
        // Node 3 may be refused from the start.
        let config = config.with_new_cluster().expect("they wait for all otherwise");
        Election::join_with(config, listener, Memory::default()).expect("it can join")
    };
    let one = join(1, here, one.listener, Timing::DEFAULT);
    let two = join(2, here, two.listener, Timing::DEFAULT);
    let (lease, promise) = (Duration::from_secs(4), Duration::from_secs(5));
    let long = Timing { lease, promise, ..Timing::DEFAULT };
    let three = join(3, there, three.listener, long);
    let leads = |election: &Election| election.guard().as_ref().is_some_and(Guard::is_valid_now);
    until("node 2 leads", || leads(&two)).await;
    let follows = || three.leadership().now().leader == Some(id(2));
    let refused =
        || three.handle().status().members.iter().all(|member| member.link == Link::Refused);
    until("node 3 follows it, or is refused", || follows() || refused()).await;

    let _ = two.handle().transfer(id(3)).await;
    until("one leads", || [&one, &two, &three].into_iter().any(leads)).await;
    let says_why = async {
        while !refused() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let says_why = timeout(LIMIT, says_why).await;
    relays.iter().for_each(|relay| relay.set(Gate::Reset));
    until("one of the others leads", || leads(&one) || leads(&two)).await;
    assert!(!leads(&three), "two valid leases: of node 3, and of one of the others");
    assert!(says_why.is_ok(), "node 3 says why it has no part");
}
