//! Many elections in one process of each node: each has a leader of its own, and they share one set
//! of connections and a storage.

use std::collections::BTreeMap;
use std::time::Duration;

use bellwether::internal::config::{self, Address, Credentials};
use bellwether::internal::status::{StatusReport, Told, query};
use bellwether::storage::{Memory, StorageError};
use bellwether::{Config, Election, Guard, JoinError, NodeId};
use bellwether_core::protocol::quorum::{Durable, Preemption, Timing};
use tokio::time::timeout;

use super::{LIMIT, PATIENT, find, id, listen_again, port, ports};

/// How many groups there are.
const GROUPS: usize = 20;

/// The durable state of all groups of one node.
type Kept = Memory<BTreeMap<String, Durable>>;

fn names() -> impl Iterator<Item = String> {
    (0..GROUPS).map(|number| format!("shard-{number:02}"))
}

/// The configuration of a node, in which the member that comes first in a group leads it in the
/// end, whichever was there first.
fn config(node: u16, members: &[(u16, String)]) -> Config {
    let timing = Timing { preemption: Preemption::AtOnce, ..PATIENT };
    let config = Config::new("groups", node, members.iter().cloned()).expect("valid");
    config.with_section(timing).expect("valid")
}

/// Three nodes with all groups, and what they keep.
async fn cluster(kept: &[Kept; 3]) -> BTreeMap<NodeId, Election> {
    let (listeners, members) = ports(3).await;
    let mut nodes = BTreeMap::new();
    for ((node, listener), kept) in (1..).zip(listeners).zip(kept) {
        let config = config(node, &members).with_groups(names()).expect("valid");
        let joined = Election::join_groups_with(config, listener, kept.clone());
        nodes.insert(id(node), joined.expect("it listens"));
    }
    nodes
}

/// Which of these nodes leads each group, and in which epoch, if all of them agree on that, and no
/// other node has a lease.
fn leaders(nodes: &BTreeMap<NodeId, Election>) -> Option<BTreeMap<String, (NodeId, u64)>> {
    let leader = |name: String| {
        let seen = nodes.values().map(|node| {
            let now = node.groups()[&name].leadership().now();
            Some((now.leader?, now.epoch?.number()))
        });
        let seen: Vec<_> = seen.collect();
        let first = seen.first().copied().flatten()?;
        let agreed = seen.iter().all(|other| *other == Some(first));
        let guard = |(&id, node): (&NodeId, &Election)| Some((id, node.groups()[&name].guard()?));
        let mut guards: Vec<_> = nodes.iter().filter_map(guard).collect();
        // Those that are valid still when all were seen were valid at the same time.
        guards.retain(|(_, guard)| guard.is_valid_now());
        assert!(guards.len() <= 1, "{name} has two leaders: {guards:?}");
        let leads = |(id, guard): &(NodeId, Guard)| (*id, guard.epoch().number()) == first;
        (agreed && guards.iter().any(leads)).then_some((name, first))
    };
    names().map(leader).collect()
}

/// How many groups each node leads.
fn shares(leaders: &BTreeMap<String, (NodeId, u64)>) -> BTreeMap<NodeId, usize> {
    let mut shares = BTreeMap::new();
    leaders.values().for_each(|(leader, _)| *shares.entry(*leader).or_insert(0) += 1);
    shares
}

/// Waits until each group has one leader, which is the expected one by the number of the group.
async fn led(
    nodes: &BTreeMap<NodeId, Election>,
    expected: impl Fn(usize) -> u16,
) -> BTreeMap<String, (NodeId, u64)> {
    let as_expected = || {
        let all = leaders(nodes)?;
        let mut numbered = all.values().enumerate();
        numbered.all(|(number, (leader, _))| *leader == id(expected(number))).then_some(all)
    };
    find("each group has the leader that it should", as_expected).await
}

/// Which member comes first in the group with this number.
fn first(number: usize) -> u16 {
    [3, 2, 1][number % 3]
}

/// Which member comes first of the others than node 3.
fn without_three(number: usize) -> u16 {
    match first(number) {
        3 => [2, 1][number / 3 % 2],
        other => other,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_group_has_one_leader_and_they_are_spread_over_the_nodes_that_are_there() {
    let kept = <[Kept; 3]>::default();
    let mut nodes = cluster(&kept).await;
    let before = led(&nodes, first).await;
    assert_eq!(shares(&before), BTreeMap::from([(id(1), 6), (id(2), 7), (id(3), 7)]));
    for node in nodes.values() {
        assert_eq!(node.handle().status().members.len(), 2, "one link to each other node");
    }
    // Of the groups of the node that is gone, each other one takes half.
    drop(nodes.remove(&id(3)));
    let after = led(&nodes, without_three).await;
    assert_eq!(shares(&after), BTreeMap::from([(id(1), 9), (id(2), 11)]));
    for (name, (leader, epoch)) in &before {
        let (next, later) = after[name];
        match *leader == id(3) {
            true => assert!(later > *epoch, "{name}"),
            false => assert_eq!((next, later), (*leader, *epoch), "{name} had nothing to do"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_steps_down_in_one_group_leads_the_others_on() {
    let kept = <[Kept; 3]>::default();
    let nodes = cluster(&kept).await;
    let before = led(&nodes, first).await;
    let name = names().next().expect("a group");
    let (leader, epoch) = before[&name];
    assert_eq!(leader, id(3), "the first group is that of the highest node");
    let handle = &nodes[&leader].groups()[&name];
    let next = handle.step_down(LIMIT * 10).await.expect("it leads");
    assert_eq!(next, Some(id(2)), "the second one in that group");
    let after = led(&nodes, |number| if number == 0 { 2 } else { first(number) }).await;
    for (other, now) in &after {
        match *other == name {
            true => assert!(now.0 == id(2) && now.1 > epoch, "{now:?}"),
            false => assert_eq!(*now, before[other], "{other} has the leader that it had"),
        }
    }
    let other = &nodes[&leader].groups()["shard-03"];
    assert!(handle.measurements().frozen > LIMIT, "it was asked in this group");
    assert_eq!(other.measurements().frozen, Duration::ZERO, "and in no other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_each_group_has_granted_survives_a_restart_of_all_nodes() {
    let kept = <[Kept; 3]>::default();
    let nodes = cluster(&kept).await;
    let before = led(&nodes, first).await;
    for node in nodes.into_values() {
        node.leave().await.expect("nothing failed");
    }
    for kept in &kept {
        let kept = kept.saved().expect("all have granted something");
        assert!(names().all(|name| kept[&name].epoch.number() >= before[&name].1));
    }
    let nodes = cluster(&kept).await;
    let after = led(&nodes, first).await;
    for (name, (_, epoch)) in &after {
        assert!(*epoch > before[name].1, "{name}: an epoch is never granted twice");
    }
}

/// One node alone, whose groups it leads itself.
#[tokio::test]
async fn all_groups_share_one_directory_that_no_node_without_groups_can_use() {
    let folder = tempfile::tempdir().expect("a directory");
    let alone = async |groups: &[&str]| {
        let (listener, address) = port().await;
        let config = Config::new("groups", 1, [(1, address)]).expect("valid");
        let config = config.with_directory(folder.path()).with_groups(groups).expect("valid");
        Election::join_on(config, listener)
    };
    let epochs = async |node: &Election| {
        let mut epochs = BTreeMap::new();
        for (name, handle) in node.groups() {
            let guard = timeout(LIMIT, handle.lead()).await.expect("in time").expect("it leads");
            epochs.insert(name.to_owned(), guard.epoch());
        }
        epochs
    };
    let node = alone(&["a", "b", "c"]).await.expect("it is empty");
    let first = epochs(&node).await;
    let locked = alone(&["d"]).await.expect_err("another node uses it");
    assert!(matches!(locked, JoinError::Storage(StorageError::Locked { .. })), "{locked}");
    node.leave().await.expect("nothing failed");
    let mut files: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a directory")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("text"))
        .filter(|name| !["probe", "maintenance"].contains(&name.as_str()))
        .collect();
    files.sort();
    assert_eq!(files, ["lock", "state.0", "state.1", "used"], "however many groups there are");

    // One is gone, and there again later: it goes on where it was.
    let node = alone(&["a", "c"]).await.expect("its own");
    let second = epochs(&node).await;
    node.leave().await.expect("nothing failed");
    let node = alone(&["a", "b", "c"]).await.expect("its own");
    let third = epochs(&node).await;
    node.leave().await.expect("nothing failed");
    assert!(second.iter().all(|(name, epoch)| *epoch > first[name]), "{first:?} {second:?}");
    assert!(third.iter().all(|(name, epoch)| *epoch > first[name]), "{first:?} {third:?}");

    let (listener, address) = port().await;
    let config = Config::new("groups", 1, [(1, address)]).expect("valid");
    let foreign = Election::join_on(config.with_directory(folder.path()), listener);
    let foreign = foreign.expect_err("it is no state of one election");
    assert!(matches!(foreign, JoinError::Storage(StorageError::Foreign { .. })), "{foreign}");
    assert!(foreign.to_string().contains("quorum in groups"), "{foreign}");
}

/// Waits until the node says of the other that the two do not talk for their groups.
async fn problem_with_the_other(status: impl Fn() -> StatusReport) -> String {
    let says = || status().members.remove(0).problem.filter(|it| it.contains("[groups]"));
    find("it says so", says).await
}

#[tokio::test]
async fn nodes_with_other_groups_do_not_talk_and_say_why() {
    let (listeners, members) = ports(2).await;
    let mut listeners = listeners.into_iter();
    let mut join = |node, groups: &[&str]| {
        let config = config(node, &members).with_groups(groups).expect("valid");
        let listener = listeners.next().expect("two");
        Election::join_groups_with(config, listener, Kept::default()).expect("it listens")
    };
    let (one, two) = (join(1, &["a", "b"]), join(2, &["a", "c"]));
    for node in [&one, &two] {
        let said = problem_with_the_other(|| node.groups()["a"].status()).await;
        assert!(said.contains("other groups"), "{said}");
        assert!(said.contains("list the same [groups] on every node"), "{said}");
    }
    let address = two.address().expect("it listens");
    two.leave().await.expect("nothing failed");
    let listener = listen_again(address).await;
    let two = Election::join_with(config(2, &members), listener, Memory::default());
    let two = two.expect("it listens");
    let said = problem_with_the_other(|| two.handle().status()).await;
    assert!(said.contains("list the same [groups] on every node"), "{said}");
    assert!(one.groups().values().all(|handle| handle.leadership().now().leader.is_none()));
    assert_eq!(two.leadership().now().leader, None);
}

#[tokio::test]
async fn what_is_wrong_with_groups_is_told_with_the_remedy() {
    let (listener, address) = port().await;
    let config = || Config::new("groups", 1, [(1, &address)]).expect("valid");
    let twice = config().with_groups(["a", "a"]).expect_err("one name twice");
    assert!(matches!(twice, config::Error::Groups { .. }), "{twice}");
    assert_eq!(twice.to_string(), "groups: two groups are named `a`: remove one");

    let none =
        Election::join_groups_with(config(), listener, Kept::default()).expect_err("no groups");
    assert!(none.to_string().contains("`Election::join_with`"), "{none}");
    let listener = listen_again(address.as_str()).await;
    let grouped = config().with_groups(["a"]).expect("valid");
    let many = Election::join_with(grouped, listener, Memory::default()).expect_err("groups");
    assert!(many.to_string().contains("`Election::join_groups_with`"), "{many}");

    let listener = listen_again(address.as_str()).await;
    let grouped = config().with_groups(["a", "b"]).expect("valid");
    let node = Election::join_groups_with(grouped, listener, Kept::default()).expect("it listens");
    assert!(node.groups().keys().eq(&["a", "b"]));
}

#[tokio::test]
async fn a_node_with_groups_is_asked_for_all_of_them_or_for_the_status_of_one() {
    let (listener, address) = port().await;
    let config = Config::new("groups", 1, [(1, &address)]).expect("valid");
    let config = config.with_groups(["b", "a"]).expect("valid");
    let node = Election::join_groups_with(config, listener, Kept::default()).expect("it listens");
    for handle in node.groups().values() {
        timeout(LIMIT, handle.lead()).await.expect("in time").expect("it leads");
    }
    let address: Address = address.parse().expect("an address");
    let none = Credentials::none();
    let told = query(&address, None, &none, LIMIT).await.expect("it answers");
    let Told::Groups(report) = told else { panic!("{told:?}") };
    assert_eq!((report.node, report.protocol.as_str()), (id(1), "quorum"));
    let told: Vec<_> = report.groups.iter().map(|one| (one.name.as_str(), one.leader)).collect();
    assert_eq!(told, [("a", Some(id(1))), ("b", Some(id(1)))]);
    let told = query(&address, Some("b"), &none, LIMIT).await.expect("there is one");
    let Told::Status(status) = told else { panic!("{told:?}") };
    assert_eq!((status.leader, status.incarnation), (Some(id(1)), None));
    let unknown = query(&address, Some("c"), &none, LIMIT).await.expect_err("there is none");
    assert!(unknown.to_string().contains("it has no group `c`"), "{unknown}");
}
