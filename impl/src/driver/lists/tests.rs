//! When a list of members takes effect.

use super::*;
use crate::clock::tests::ManualClock;
use crate::protocol::quorum::Message;
use crate::storage::Owner;

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

/// Node 1 of three, which leads and has proposed that node 4 joins.
async fn proposed(directory: &std::path::Path) -> (OwnLists, KnownList) {
    let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    let config = Config::new("lists", 1, members).expect("valid");
    let owner: Owner = config.owner();
    let opened = Kept::<KnownList>::open(directory, DIRECTORY, owner).expect("usable");
    let links = Links::<Message>::new(std::iter::empty(), LOOK, ManualClock::new());
    let credentials = Current::new(config::Credentials::none());
    let own = OwnLists::new(&config, Some(opened), &links, &credentials);
    let change = MemberChange::Add(id(4), "127.0.0.1:7004".parse().expect("an address"));
    let list = config.list().changed(&change).expect("it makes sense");
    let known = KnownList { list, proposal: Proposal::default(), decided: false };
    own.keep(known.clone()).await.expect("durable");
    (own, known)
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
