//! What a program is told of a leadership, and in which order.

use super::*;
use crate::protocol::Birth;

#[test]
fn its_program_knows_that_it_leads_no_longer_before_the_others_do() {
    let mut run = leader(&usual());
    run.asks(1, Command::SetHealthy(false));
    let done = run.runs(200);
    let tell = place(&done, |action| matches!(action, Action::Publish(_)));
    assert!(tell < place(&done, |action| matches!(action, Action::Send(..))));
    let Action::Publish(told) = &done[tell] else { panic!("{done:?}") };
    assert_eq!((told.leads(), told.lease()), (false, None));
}

#[test]
fn its_program_knows_that_it_leads_with_the_lease_and_after_the_others() {
    let mut run = candidate(&usual());
    let done = run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    let tell = place(&done, |action| matches!(action, Action::Publish(_)));
    assert!(tell > place(&done, |action| matches!(action, Action::Send(..))));
    let Action::Publish(told) = &done[tell] else { panic!("{done:?}") };
    assert_eq!((told.leads(), told.epoch()), (true, Some(first())));
    assert_eq!(told.lease(), run.member.node().lease());
    assert!(told.lease().is_some());
}

#[test]
fn a_renewed_lease_is_no_change() {
    let mut run = leader(&usual());
    let before = *run.member.view();
    run.runs(200);
    let done = run.hears(2, Message::Ack(first(), 2, Mark::FIRST));
    let lease = run.member.node().lease();
    assert_eq!(done, [Action::RenewLease(lease)]);
    let after = run.member.view();
    assert_eq!((after.seq(), after.terms()), (before.seq(), before.terms()));
    assert!(after.lease().map(|lease| lease.until) > before.lease().map(|lease| lease.until));
}

#[test]
fn a_leader_that_leads_another_epoch_is_another_leader() {
    let config = quorum::Config { id: id(1), members: members(), timing: Timing::DEFAULT };
    let mut run = Run::<Quorum>::new(config, &usual());
    let done = run.hears(3, Message::Coordinator(first(), 1, Mark::FIRST));
    assert_eq!(tells(&done), [(Role::Follower, "leader_heard")]);
    run.saves_all();
    assert_eq!(tells(&run.hears(3, Message::Coordinator(first(), 2, Mark::FIRST))), []);
    let done = run.hears(3, Message::Coordinator(Epoch::new(2), 1, Mark::FIRST));
    assert_eq!(tells(&done), [(Role::Follower, "next_epoch")]);
    let told = run.member.view();
    assert_eq!((told.leader(), told.epoch()), (Some(id(3)), Some(Epoch::new(2))));
}

/// Whatever is told in a long run, the program of a leader is told that it leads no longer before
/// it is told that it leads again, and the last that it was told is what the member says.
#[test]
fn a_leadership_is_told_to_have_ended_before_another_begins() {
    let mut run = bully();
    let mut all = Vec::new();
    for pause in 0..20 {
        run.stands_still(100 * pause);
        all.extend(run.wake());
        all.extend(run.runs(150 * pause));
    }
    let told: Vec<_> = all
        .iter()
        .filter_map(|action| if let Action::Publish(told) = action { Some(*told) } else { None })
        .collect();
    assert!(told.len() > 10 && told.last() == Some(run.member.view()));
    let mut leads = true;
    for told in told {
        assert_ne!(told.leads(), leads);
        leads = told.leads();
    }
}

#[test]
fn what_is_ignored_is_said() {
    let mut run = leader(&usual());
    let done = run.hears(9, Message::Ack(first(), 1, Mark::FIRST));
    let cause = Reason::UNKNOWN_SENDER;
    assert_eq!(done, [Action::Log(LogLine::Ignored { from: id(9), cause })]);
}
