//! What a service that embeds the crate relies on.

use std::time::Duration;

use bellwether::LeadershipWatch;
use bellwether::MemberChange;
use bellwether::storage::Memory;
use bellwether::{
    Config, Election, Guard, JoinError, LeadError, Leadership, NodeId, Reason, RequestError, Role,
    Timing,
};
use bellwether_core::protocol::bully::{self, Bully};
use bellwether_docs_runner::blocks;
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::{LIMIT, PATIENT, id, leader, listen_again, port, ports, until};

/// Nodes `1..=size` in this process.
async fn cluster(size: u16) -> Vec<Election> {
    let (listeners, members) = ports(size).await;
    let join = |(node, listener)| {
        let config = Config::new("library", node, members.clone()).expect("valid");
        let config = config.with_section(PATIENT).expect("valid");
        Election::join_with(config, listener, Memory::default()).expect("can join")
    };
    (1..).zip(listeners).map(join).collect()
}

/// One node alone: a beginning, to which others are added.
#[tokio::test]
async fn the_only_member_leads_itself_and_keeps_its_lease() {
    let node = cluster(1).await.remove(0);
    let guard =
        timeout(LIMIT, node.handle().lead()).await.expect("within the limit").expect("takes part");
    sleep(PATIENT.lease * 2).await;
    assert!(guard.is_valid_now(), "its lease was renewed");
    assert_eq!(node.handle().status().problem, None);
}

/// Waits until the node takes another than `not` for the leader.
async fn wait_for_leader(leadership: &mut LeadershipWatch, not: Option<NodeId>) -> NodeId {
    let wanted = |now: &Leadership| now.leader.is_some() && now.leader != not;
    let now = timeout(LIMIT, leadership.wait_for(wanted)).await;
    now.expect("within the limit").expect("takes part").leader.expect("waited for")
}

/// Waits until all of these nodes take one of them for the leader, and takes that out.
async fn take_leader(nodes: &mut Vec<Election>) -> Election {
    let place = leader(nodes).await;
    nodes.remove(place)
}

/// Waits until both others have acknowledged rounds of the leader.
async fn acknowledged(leader: &Election) {
    let received = || leader.handle().status().members.into_iter().map(|member| member.received);
    let before = received().max().expect("two others");
    until("both acknowledge", || received().min() >= Some(before + 3)).await;
}

#[tokio::test]
async fn a_node_that_left_leads_no_longer_and_another_takes_over() {
    let mut nodes = cluster(3).await;
    let leader = take_leader(&mut nodes).await;
    let (leadership, address) = (leader.leadership(), leader.address().expect("it listens"));
    let first = leadership.now();
    assert!(first.is_self());
    assert!(!nodes[0].leadership().now().is_self());

    let guard = leader.guard().expect("it leads with a lease");
    assert!(guard.is_valid_now() && nodes.iter().all(|other| other.guard().is_none()));
    leader.leave().await.expect("no storage to fail");
    assert!(!guard.is_valid_now());
    let last = leadership.now();
    assert_eq!((last.role, last.leader, last.reason), (Role::NotStarted, None, Some(Reason::LEFT)));
    drop(listen_again(address).await);
    wait_for_leader(&mut nodes[0].leadership(), first.leader).await;
    let second = take_leader(&mut nodes).await.guard().expect("it leads with a lease");
    assert!(second.epoch() > guard.epoch(), "a later leader has a higher epoch");
}

#[tokio::test]
async fn dropping_an_election_leaves_it() {
    let mut nodes = cluster(3).await;
    let leader = take_leader(&mut nodes).await;
    let mut leadership = leader.leadership();
    let (first, guard) = (leadership.now().leader, leader.guard().expect("it leads"));
    drop(leader);
    let ended = async { while leadership.changed().await.is_some() {} };
    timeout(LIMIT, ended).await.expect("within the limit");
    assert_eq!(leadership.now().leader, None);
    assert!(!guard.is_valid_now());
    wait_for_leader(&mut nodes[0].leadership(), first).await;
}

#[tokio::test]
async fn the_stream_of_changes_ends_with_the_part_in_the_election() {
    let mut nodes = cluster(2).await;
    let mut changes = nodes[1].handle().changes();
    let knows = async { while changes.next().await.expect("goes on").leader.is_none() {} };
    timeout(LIMIT, knows).await.expect("within the limit");
    nodes.pop().expect("two").leave().await.expect("no storage to fail");
    let rest = timeout(LIMIT, changes.collect::<Vec<_>>()).await.expect("within the limit");
    assert_eq!(rest.last().map(|now| now.leader), Some(None));
}

#[tokio::test]
async fn a_leader_transfers_to_the_node_that_is_named() {
    let mut nodes = cluster(3).await;
    let leader = take_leader(&mut nodes).await;
    let guard = leader.guard().expect("it leads with a lease");
    let [node, to] = [&leader, &nodes[0]].map(|election| election.leadership().now().node);
    let itself = RequestError::NoSuccessor { node, to: node };
    assert_eq!(leader.handle().transfer(node).await, Err(itself));
    assert_eq!(nodes[0].handle().transfer(node).await, Err(RequestError::NotLeading { node: to }));
    assert!(guard.is_valid_now(), "nothing has happened");

    // One that is not fit is not asked, and the leader leads on.
    let knows = |fit| {
        let status = leader.handle().status();
        status.members.iter().any(|member| member.node == to && member.fit == Some(fit))
    };
    for fit in [false, true] {
        nodes[0].handle().set_healthy(fit).await.expect("it takes part");
        until("it is told", || knows(fit)).await;
        if !fit {
            let refused = leader.handle().transfer(to).await.expect_err("it is not fit");
            assert!(matches!(refused, RequestError::Unreachable { .. }), "{refused}");
            assert!(guard.is_valid_now() && leader.handle().leads_now(), "it has not yielded");
        }
    }

    let epoch = leader.handle().transfer(to).await.expect("it leads");
    assert!(epoch.is_some_and(|epoch| epoch > guard.epoch()), "{epoch:?}");
    assert!(!guard.is_valid_now(), "it does not lead when it says that it has handed over");
    let leads = |now: &Leadership| now.leader == Some(to);
    let (mut leadership, mut other) = (leader.leadership(), nodes[1].leadership());
    let both = async {
        (leadership.wait_for(leads).await.is_some(), other.wait_for(leads).await.is_some())
    };
    assert_eq!(timeout(LIMIT, both).await.expect("within the limit"), (true, true));
    let second = nodes[0].guard().expect("it leads with a lease");
    assert_eq!(second.epoch(), guard.epoch().next(), "without a canvass, at once");
}

#[tokio::test]
async fn no_other_node_leads_before_the_work_of_the_leader_has_ended() {
    let mut nodes = cluster(3).await;
    let leader = take_leader(&mut nodes).await;
    let [old, to] = [&leader, &nodes[0]].map(|election| election.leadership().now().node);
    let work = leader.begin_work().expect("it leads");
    let handle = leader.handle();
    let transfer = tokio::spawn(async move { handle.transfer(to).await });
    timeout(LIMIT, work.asked_to_end()).await.expect("within the limit");
    for _ in 0..30 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(work.guard().is_valid_now() && leader.leadership().now().is_self());
        assert!(leader.begin_work().is_none(), "none begins");
        let handle = leader.handle();
        timeout(LIMIT, handle.responds()).await.expect("it only waits").expect("it takes part");
        for other in &nodes {
            assert!(other.guard().is_none(), "it leads too early");
            assert_eq!(other.leadership().now().leader, Some(old));
        }
    }
    assert!(!transfer.is_finished(), "it leads still");
    drop(work);
    timeout(LIMIT, transfer).await.expect("in time").expect("no panic").expect("it led");
    assert!(leader.guard().is_none());
    assert_eq!(wait_for_leader(&mut nodes[0].leadership(), Some(old)).await, to);
}

/// Work that notes the epoch in which it runs, and that it ends.
struct Working {
    guard: Guard,
    log: mpsc::UnboundedSender<(NodeId, u64, bool)>,
    node: NodeId,
}

impl Working {
    fn start(node: NodeId, guard: Guard, log: mpsc::UnboundedSender<(NodeId, u64, bool)>) -> Self {
        let _ = log.send((node, guard.epoch().number(), true));
        Self { guard, log, node }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.log.send((self.node, self.guard.epoch().number(), false));
    }
}

#[tokio::test]
async fn work_of_the_leader_moves_with_the_leadership() {
    let nodes = cluster(3).await;
    let (log, mut seen) = mpsc::unbounded_channel();
    for election in &nodes {
        let (handle, log) = (election.handle(), log.clone());
        tokio::spawn(async move {
            let node = handle.leadership().now().node;
            let work = |guard: Guard| {
                let working = Working::start(node, guard, log.clone());
                async move {
                    let _working = working;
                    std::future::pending::<()>().await;
                }
            };
            assert_eq!(handle.run_while_leader(work).await, Err(LeadError::Stopped));
        });
    }
    let mut next =
        async || timeout(LIMIT, seen.recv()).await.expect("within the limit").expect("a task");
    let (first, epoch, starts) = next().await;
    assert!(starts);
    for round in 1..=3 {
        let leader = nodes.iter().find(|node| node.leadership().now().is_self()).expect("leads");
        acknowledged(leader).await;
        let own = leader.leadership().now();
        let to = if own.node == first { 2 } else { first.get() };
        let to = id(if to == own.node.get() { 1 } else { to });
        leader.handle().transfer(to).await.expect("it leads");
        let number = own.epoch.expect("the protocol has epochs").number();
        assert_eq!(next().await, (own.node, number, false), "round {round}: first the one ends");
        let (node, later, starts) = next().await;
        assert!(starts && node == to && later > number && number >= epoch);
    }
    let last = nodes.iter().find(|node| node.leadership().now().is_self()).expect("leads");
    let history = last.handle().history().since(0);
    assert!(history.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1));
    assert_eq!(history.last().map(|change| change.role), Some(Role::Leader));
}

#[tokio::test]
async fn a_node_that_steps_down_or_is_not_healthy_leaves_the_lead_to_others() {
    let mut nodes = cluster(3).await;
    let first = take_leader(&mut nodes).await;
    acknowledged(&first).await;
    let next = first.handle().step_down(LIMIT).await.expect("it can").expect("both others follow");
    let highest = nodes.iter().map(|election| election.leadership().now().node).max();
    assert_eq!(Some(next), highest);
    let mut leadership = first.leadership();
    let itself = leadership.now().node;
    assert_eq!(wait_for_leader(&mut leadership, Some(itself)).await, next);
    let second = take_leader(&mut nodes).await;
    assert!(second.handle().is_healthy());
    second.handle().set_unfit("its disk is full").await.expect("it can");
    assert!(!second.handle().is_healthy());
    let problem = second.handle().status().problem;
    assert_eq!(problem.as_deref(), Some("this node is not fit to lead: its disk is full"));
    // The first is away, and the second is not fit.
    let third = nodes[0].leadership().now().node;
    assert_eq!(wait_for_leader(&mut leadership, Some(next)).await, third);
    assert_eq!(second.handle().resign().await, Err(RequestError::NotLeading { node: next }));
    second.handle().set_healthy(true).await.expect("it can");
    assert!(second.handle().is_healthy() && second.handle().status().problem.is_none());
}

async fn fails() {
    panic!("on purpose");
}

/// It goes on to take part, and no other work begins before another node leads.
#[tokio::test]
async fn a_node_whose_work_panics_leaves_the_lead_to_another() {
    let mut nodes = cluster(3).await;
    let leader = take_leader(&mut nodes).await;
    let old = leader.leadership().now().leader;
    let guard = leader.guard().expect("it leads");
    let handle = leader.handle();
    let task = tokio::spawn(async move { handle.run_while_leader(|_| fails()).await });
    let ended = timeout(LIMIT, task).await.expect("within the limit");
    assert!(ended.expect_err("its work panics").is_panic());
    assert!(leader.begin_work().is_none());
    wait_for_leader(&mut nodes[0].leadership(), old).await;
    assert!(!guard.is_valid_now() && leader.guard().is_none());
    leader.handle().responds().await.expect("it takes part");
}

#[tokio::test]
async fn a_protocol_without_requests_says_so() {
    let (listener, _) = port().await;
    let members = [(1, "127.0.0.1:2"), (2, "127.0.0.1:1")];
    let config = Config::<Bully>::for_protocol("library", 1, members, bully::Timing::DEFAULT);
    let election = Election::join_on(config.expect("valid"), listener).expect("can join");
    let unsupported = RequestError::Unsupported { protocol: "bully" };
    assert_eq!(election.handle().resign().await, Err(unsupported.clone()));
    assert_eq!(election.handle().set_healthy(false).await, Err(unsupported));
    assert!(election.handle().is_healthy(), "it cannot be told");
    assert!(election.guard().is_none());
    let maintenance = election.handle().set_maintenance(true).await;
    assert!(matches!(maintenance, Err(RequestError::Unsupported { .. })), "{maintenance:?}");
    assert!(!election.handle().in_maintenance());
    let refused = election.handle().change_members(&MemberChange::Remove(id(2))).await;
    let refused = refused.expect_err("it has no lists").to_string();
    assert!(refused.contains("are those of the file"), "{refused}");
}

/// The recommended protocol remembers what it has granted.
#[tokio::test]
async fn a_node_that_does_not_know_where_to_remember_is_refused() {
    let (listener, _) = port().await;
    let config = Config::new("library", 1, [(1, "a:1"), (2, "b:1")]).expect("valid");
    let error = Election::join_on(config, listener).expect_err("no directory");
    assert!(matches!(error, JoinError::Config(_)));
    assert!(error.to_string().contains("`Config::with_directory`"), "{error}");
}

#[tokio::test]
async fn a_taken_port_is_an_error_that_names_it() {
    let (_listener, address) = port().await;
    let members = [(1, address.as_str()), (2, "127.0.0.1:1")];
    let config = Config::new("library", 1, members).expect("valid");
    let error = Election::join(config).await.expect_err("taken");
    assert!(matches!(error, JoinError::Listen { .. }));
    let text = error.to_string();
    assert!(text.contains(&address) && text.contains("is another node running there?"), "{text}");
    assert!(!text.contains("--"), "a program of its own has other flags: {text}");
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_called_again_and_again() {
    let (mut listeners, members) = ports(2).await;
    let (own, peer) = (listeners.remove(0), listeners.remove(0));
    let config = Config::new("library", 1, members).expect("valid");
    let _election = Election::join_with(config, own, Memory::default()).expect("can join");
    for _ in 0..5 {
        let call = timeout(LIMIT, peer.accept()).await.expect("within the limit");
        drop(call.expect("a connection"));
    }
}

#[test]
fn a_configuration_that_cannot_be_is_refused() {
    let members = [(1, "a:1"), (2, "b:1")];
    for error in [
        Config::new("", 1, members).expect_err("no name"),
        Config::new("c", 0, members).expect_err("no id"),
        Config::new("c", 3, members).expect_err("not a member"),
        Config::new("c", 1, [(1, "a:1"), (1, "b:1")]).expect_err("one id twice"),
        Config::new("c", 1, [(1, "a:1"), (2, "a:1")]).expect_err("one address twice"),
        Config::<Bully>::for_protocol("c", 1, [(1, "a:1")], bully::Timing::DEFAULT)
            .expect_err("alone"),
        Config::new("c", 1, members)
            .expect("valid")
            .with_section(Timing { skew: Duration::ZERO, ..Timing::DEFAULT })
            .expect_err("no time-out"),
    ] {
        // What a `main` prints that returns it.
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}

#[test]
fn every_piece_of_code_on_the_page_stands_in_the_example() {
    let trimmed = |text: &str| text.lines().map(|line| line.trim().to_owned() + "\n").collect();
    let example: String = trimmed(include_str!("../../examples/embedding/src/bin/library.rs"));
    let page = include_str!("../../docs/library.md");
    let blocks = blocks(page, "rust");
    assert_eq!(blocks.len(), 7);
    for block in blocks.iter().map(|block| trimmed(block.text)) {
        assert!(example.contains(&block), "not in the example:\n{block}");
    }
}
