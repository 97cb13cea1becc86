//! When a list of members takes effect.

use super::*;
use crate::clock::tests::ManualClock;
use crate::protocol::quorum::Message;

/// Of a node that can do nothing with its lists.
impl Default for OwnLists {
    fn default() -> Self {
        let config = Config::new("lists", 1, [(1, "127.0.0.1:7001")]).expect("valid");
        Self {
            node: config.node(),
            running: Arc::new(config.list()),
            check: Check::of(&config),
            lists: Lists::default(),
            standings: Standings::default(),
            credentials: Current::new(config::Credentials::none()),
            decided: None,
            kept: Kept::default(),
            turn: Arc::default(),
            unusable: Arc::default(),
            superseded: watch::Sender::new(None),
            removed: watch::Sender::new(None),
        }
    }
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Node 1 of a file with three, started in this directory.
fn started(directory: &std::path::Path) -> OwnLists {
    let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    let config = Config::new("lists", 1, members).expect("valid").with_directory(directory);
    let (config, opened) = newest(config).expect("usable");
    let links = Links::<Message>::new(std::iter::empty(), LOOK, ManualClock::new());
    let credentials = Current::new(config::Credentials::none());
    OwnLists::new(&config, opened, &links, &credentials)
}

/// The node keeps the list in which this node joins, as a leader proposes or decides it.
async fn keeps(own: &OwnLists, joins: u16, decided: bool) -> KnownList {
    let address = format!("127.0.0.1:{}", 7000 + joins).parse().expect("an address");
    let change = MemberChange::Add(id(joins), address);
    let list = own.running.changed(&change).expect("it makes sense");
    let known = KnownList { list, proposal: Proposal::default(), decided };
    own.keep(known.clone()).await.expect("durable");
    known
}

/// Node 1 of three, which leads and has proposed that node 4 joins.
async fn proposed(directory: &std::path::Path) -> (OwnLists, KnownList) {
    let own = started(directory);
    let known = keeps(&own, 4, false).await;
    (own, known)
}

/// The file of the node still has the first list, which is older than what was decided.
#[tokio::test]
async fn a_node_that_restarts_while_a_second_change_is_pending_starts_with_the_decided_list() {
    let directory = tempfile::tempdir().expect("a directory");
    let (own, _) = proposed(directory.path()).await;
    own.close().await;
    let own = started(directory.path());
    assert_eq!(own.running.config_epoch, 1, "a proposed list is not in force");
    let second = keeps(&own, 4, true).await;
    own.close().await;
    let own = started(directory.path());
    assert_eq!(*own.running, second.list);
    let third = keeps(&own, 5, false).await;
    own.close().await;
    let own = started(directory.path());
    assert_eq!(*own.running, second.list);
    assert_eq!(own.lists.next(), Some(third));
    assert_eq!(own.lists.numbered(2).map(|known| known.list), Some(second.list));
}

#[tokio::test]
async fn a_list_is_decided_by_a_leader_once_every_voter_that_stays_has_that_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let (own, known) = proposed(directory.path()).await;
    let has = |node, keeps| own.standings.hear(id(node), Standing { keeps, ..own.standings.own() });
    own.learn(true).await;
    assert_eq!(own.missing(&known), [id(2), id(3)]);
    has(2, known.mark());
    own.learn(true).await;
    assert_eq!(own.standings.own().decided, 1, "one is missing");
    // It has another list with the number.
    let other = KnownList {
        proposal: Proposal { epoch: crate::protocol::Epoch::new(1), turn: 1 },
        ..known.clone()
    };
    has(3, crate::config::ListMark { digest: 0, ..known.mark() });
    own.learn(true).await;
    assert_eq!(own.standings.own().decided, 1, "it has not this one");
    has(3, known.mark());
    own.learn(false).await;
    assert_eq!(own.standings.own().decided, 1, "it does not lead");
    own.learn(true).await;
    assert_eq!(own.standings.own().decided, 2);
    assert!(own.has_decided());
    // What is decided is replaced by nothing.
    own.keep(other).await.expect_err("it takes effect");
}
