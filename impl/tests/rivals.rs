//! Two nodes that led at the same time, as they were cut off from each other: both learn of it.

use std::net::SocketAddr;
use std::time::Duration;

use bellwether::protocol::bully::{self, Bully};
use bellwether::{Config, Election, Leadership, NodeId, Reason, Role};
use bellwether_testbed::relay::{Gate, Relay};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// No wait is longer.
const LIMIT: Duration = Duration::from_secs(30);

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

async fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// A link between two nodes, in both directions.
struct Link([Relay; 2]);

impl Link {
    fn set(&self, gate: Gate) {
        self.0.iter().for_each(|relay| relay.set(gate));
    }
}

/// However busy the machine is, no node is taken for paused.
const TIMING: bully::Timing =
    bully::Timing { watch: Duration::from_secs(3), ..bully::Timing::DEFAULT };

/// Nodes 1 and 2 by the bully, with a link between them that is cut.
async fn cut_off() -> ([Election; 2], Link) {
    let [(first, one), (second, two)] = [bind().await, bind().await];
    let relay = |to: SocketAddr| Relay::start(&Handle::current(), to.port()).expect("a relay");
    let link = Link([relay(one), relay(two)]);
    link.set(Gate::Reset);
    let [to_one, to_two] = link.0.each_ref().map(Relay::address);
    let join = |node, members: [SocketAddr; 2], listener| {
        let members = (1..).zip(members.map(|address| address.to_string()));
        let config = Config::<Bully>::for_protocol("rivals", node, members, TIMING);
        Election::join_on(config.expect("valid"), listener).expect("it can join")
    };
    ([join(1, [one, to_two], first), join(2, [to_one, two], second)], link)
}

/// Waits until the node is told so.
async fn sees(node: &Election, wanted: impl FnMut(&Leadership) -> bool) -> Leadership {
    let seen = async { node.leadership().wait_for(wanted).await };
    timeout(LIMIT, seen).await.expect("within the limit").expect("takes part")
}

/// The last changes of the node: their roles, leaders, reasons and rivals.
fn last(node: &Election, changes: usize) -> Vec<(Role, Option<NodeId>, Reason, Option<NodeId>)> {
    let all = node.history().since(0);
    let last = &all[all.len() - changes..];
    last.iter().map(|change| (change.role, change.leader, change.reason, change.rival)).collect()
}

#[tokio::test]
async fn two_leaders_that_were_cut_off_both_learn_that_the_other_led_as_well() {
    let ([one, two], link) = cut_off().await;
    let led = sees(&two, Leadership::is_self).await;
    sees(&one, Leadership::is_self).await;
    assert_eq!([&one, &two].map(|node| node.status().counters.rivals), [0, 0]);

    link.set(Gate::Open);
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
    assert_eq!([&one, &two].map(|node| node.status().counters.rivals), [1, 1]);
    assert_eq!(two.status().reason.as_deref(), led.reason.map(Reason::name));

    // The node that led loses, and the other one's term is the same: it is told once.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!([&one, &two].map(|node| node.status().counters.rivals), [1, 1]);

    // The next cut is another term of node 1, and the same of node 2.
    link.set(Gate::Reset);
    sees(&one, Leadership::is_self).await;
    link.set(Gate::Open);
    let again = sees(&one, |now| now.leader == Some(id(2)) && now.rivals == 2).await;
    assert_eq!((again.role, two.status().counters.rivals), (Role::Follower, 1));
}
