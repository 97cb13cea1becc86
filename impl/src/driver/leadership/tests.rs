//! What readers of the latest value see, however slow they are.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};

use super::*;

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn update(leader: u16, epoch: u64, reason: Reason) -> ViewUpdate {
    let role = if leader == 1 { Role::Leader } else { Role::Follower };
    let (leader, epoch) = (Some(id(leader)), Some(Epoch::new(epoch)));
    ViewUpdate { role, leader, epoch, lease: None, reason }
}

fn term(number: u64, epoch: u64) -> Term {
    Term { number, epoch: Some(Epoch::new(epoch)) }
}

#[tokio::test(start_paused = true)]
async fn every_change_has_the_next_number_and_the_last_names_no_leader() {
    let (publisher, mut leadership, history) = Publisher::new(id(1));
    let begun = leadership.now();
    assert_eq!((begun.role, begun.leader, begun.reason), (Role::NotStarted, None, None));
    std::thread::sleep(Duration::from_millis(1));
    publisher.update(update(1, 7, Reason::BOOTED));
    let now = leadership.seen();
    assert_eq!((now.role, now.leader, now.seq), (Role::Leader, Some(id(1)), 1));
    assert_eq!(now.epoch, Some(Epoch::new(7)));
    assert!(now.is_self() && now.since > begun.since);
    publisher.update(update(2, 8, Reason::CLAIMED));
    assert_eq!(leadership.now().seq, 2);
    drop(publisher);
    let last = leadership.changed().await.expect("it is told");
    assert_eq!((last.role, last.leader, last.seq), (Role::NotStarted, None, 3));
    assert_eq!(last.reason, Some(Reason::LEFT));
    assert!(leadership.changed().await.is_none() && leadership.is_over(), "and is the last");
    let reasons: Vec<_> = history.since(0).iter().map(|change| change.reason).collect();
    assert_eq!(reasons, [Reason::BOOTED, Reason::CLAIMED, Reason::LEFT]);
}

#[test]
fn acquired_and_lost_alternate_however_slow_the_reader_is() {
    let (publisher, leadership, _) = Publisher::new(id(1));
    let mut own = leadership.own_changes();
    let mut next = || own.next().now_or_never();
    assert_eq!(next(), None, "it does not lead");
    publisher.update(update(1, 1, Reason::BOOTED));
    assert_eq!(next(), Some(Some(OwnChange::Acquired(term(1, 1)))));
    assert_eq!(next(), None);
    // Lost, and acquired again, before it is read.
    publisher.update(update(2, 2, Reason::CLAIMED));
    publisher.update(update(1, 3, Reason::LEADER_SILENT));
    let lost = |term, reason| Some(Some(OwnChange::Lost { term, reason }));
    assert_eq!(next(), lost(term(1, 1), Some(Reason::CLAIMED)));
    assert_eq!(next(), Some(Some(OwnChange::Acquired(term(2, 3)))));
    // Another epoch is another leadership.
    publisher.update(update(1, 4, Reason::NEXT_EPOCH));
    // That is lost as well, and yet another one acquired.
    publisher.update(update(2, 5, Reason::CLAIMED));
    publisher.update(update(1, 6, Reason::LEADER_SILENT));
    assert_eq!(next(), lost(term(2, 3), None), "why is not known any more");
    assert_eq!(next(), Some(Some(OwnChange::Acquired(term(4, 6)))));
    drop(publisher);
    assert_eq!(next(), lost(term(4, 6), Some(Reason::LEFT)));
    assert_eq!(next(), Some(None));
}
