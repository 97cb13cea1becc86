//! In which order a program is told that its node leads, and that it does not.

use super::*;
use crate::protocol::Role;

fn lease(epoch: u64, until: u64) -> Option<Lease> {
    Some(Lease { epoch: Epoch::new(epoch), until: Time::ZERO + ms(until) })
}

fn update(leader: Option<u16>, epoch: u64, lease: Option<Lease>, reason: Reason) -> ViewUpdate {
    let (role, leader) = (Role::Waiting, leader.map(id));
    ViewUpdate { role, leader, epoch: leader.map(|_| Epoch::new(epoch)), lease, reason }
}

/// All sequences of six: it leads one epoch or another, another node leads, none leads.
#[test]
fn whatever_is_new_a_leadership_begins_after_the_last_has_ended() {
    for sequence in 0..4_u32.pow(6) {
        let mut view = ProgramView::initial(id(1));
        for step in 0..6 {
            let before = view;
            let (leader, epoch) = match sequence / 4_u32.pow(step) % 4 {
                0 => (Some(1), 1),
                1 => (Some(1), 2),
                2 => (Some(2), 3),
                _ => (None, 0),
            };
            view.apply(update(leader, epoch, None, Reason::CLAIMED));
            let begun = before.role() == Role::Waiting;
            let attempt = begun && before.leader().is_none() && leader.is_none();
            assert_eq!(view.seq(), before.seq() + u64::from(!attempt));
            assert_eq!(view.attempts(), before.attempts() + u64::from(attempt));
            assert_eq!(view.leads(), leader == Some(1));
            let goes_on = before.leads() && view.leads() && view.epoch() == before.epoch();
            let ends = before.leads() && !goes_on;
            let lost = if ends { Some((before.terms(), Reason::CLAIMED)) } else { before.lost() };
            assert_eq!(view.lost(), lost);
            let begins = view.leads() && !goes_on;
            assert_eq!(view.terms(), before.terms() + u64::from(begins));
        }
    }
}

#[test]
fn a_lease_counts_for_the_leadership_that_was_told() {
    let mut view = ProgramView::initial(id(1));
    assert!(!view.renew(lease(1, 10)) && view.lease().is_none(), "it does not lead");
    view.apply(update(Some(1), 1, lease(1, 10), Reason::CLAIMED));
    assert_eq!(view.lease(), lease(1, 10));
    assert!(view.renew(lease(1, 20)) && !view.renew(lease(1, 20)));
    assert_eq!((view.lease(), view.seq(), view.terms()), (lease(1, 20), 1, 1));
    assert!(view.renew(lease(2, 30)) && view.lease().is_none(), "it was not told of that epoch");
    view.apply(update(Some(1), 2, lease(2, 30), Reason::NEXT_EPOCH));
    assert_eq!((view.lease(), view.terms()), (lease(2, 30), 2));
    view.apply(update(None, 0, lease(2, 30), Reason::PAUSED));
    assert_eq!((view.lease(), view.leads()), (None, false));
}

/// What happened last: a role, a leader, and why; and whether that was a change.
type Happened = (Role, Option<u16>, Reason, bool);

#[test]
fn a_role_without_a_leader_before_and_after_is_an_attempt_and_no_change() {
    let quorum = |name| Reason::new(name, "as the quorum bully says");
    let [runs, lost, leads] = ["watch_over", "no_majority", "granted"].map(quorum);
    let happened: [Happened; 13] = [
        (Role::Follower, None, Reason::BOOTED, true),
        (Role::Candidate, None, runs, false),
        (Role::Follower, None, lost, false),
        (Role::Follower, Some(2), Reason::CLAIMED, true),
        (Role::Candidate, None, Reason::LEADER_SILENT, true),
        (Role::Waiting, None, runs, false),
        (Role::Candidate, None, runs, false),
        (Role::Waiting, None, Reason::PREPARING, true),
        (Role::Follower, None, lost, true),
        (Role::Candidate, None, runs, false),
        (Role::Leader, Some(1), leads, true),
        (Role::Waiting, None, Reason::PAUSED, true),
        (Role::NotStarted, None, Reason::LEFT, true),
    ];
    let mut view = ProgramView::initial(id(1));
    for (role, leader, reason, change) in happened {
        let before = view;
        let (leader, epoch) = (leader.map(id), leader.map(|_| first()));
        view.apply(ViewUpdate { role, leader, epoch, lease: None, reason });
        let counted = (view.seq() - before.seq(), view.attempts() - before.attempts());
        assert_eq!(counted, if change { (1, 0) } else { (0, 1) }, "{role} {leader:?} {reason:?}");
        assert_eq!((view.role(), view.reason()), (role, Some(reason)), "the latest is told");
    }
}
