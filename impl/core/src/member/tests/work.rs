//! What a member does while the work of its leader has to end.

use super::*;

/// There is a higher epoch.
fn higher() -> Message {
    Message::Refuse(Epoch::new(3), None)
}

#[test]
fn nothing_of_the_end_leaves_the_node_before_the_work_has_ended() {
    let mut run = leader(&usual());
    run.works = true;
    let before = *run.member.view();
    assert_eq!(run.hears(2, higher()), [Action::EndWork(first())]);
    assert!(run.member.awaits_work());
    // Whatever happens meanwhile comes later.
    assert_eq!(run.runs(100), []);
    assert_eq!(run.asks(1, Command::Ping), []);
    assert_eq!(run.hears(2, Message::Challenge(first(), Mark::FIRST)), []);
    assert_eq!(*run.member.view(), before, "its program knows nothing else");
    run.works = false;
    let done = run.take(Event::WorkEnded);
    assert!(!run.member.awaits_work());
    // What came meanwhile is handled now, and no lease keeps its timers from expiring.
    let told = [(Role::Follower, "higher_epoch"), (Role::Candidate, "watch_over")];
    assert_eq!(tells(&done), told);
    assert!(matches!(done[0], Action::Publish(_)), "before anything else");
    assert!(done.iter().any(|action| matches!(action, Action::Save(_))));
    assert!(done.iter().any(|action| matches!(action, Action::Log(LogLine::Ignored { .. }))));
    assert_eq!(answers(&done), [(1, Ok(None))]);
    assert_eq!(run.until(), None);
}

#[test]
fn a_member_waits_for_work_for_no_longer_than_its_lease_lasts() {
    let mut run = leader(&usual());
    run.works = true;
    let until = run.until().expect("it leads");
    run.hears(2, higher());
    assert_eq!(run.runs(999), []);
    let done = run.runs(1);
    assert_eq!(run.now, until);
    assert_eq!(done[0], Action::Log(LogLine::WorkUnfinished(first())));
    assert_eq!(tells(&done), [(Role::Follower, "higher_epoch")]);
    // That it has ended is no news any more.
    assert_eq!(run.take(Event::WorkEnded), []);
}

#[test]
fn work_ends_with_the_lease_too() {
    let mut run = leader(&setup(ms(60_000)));
    run.now = run.until().expect("it leads");
    let done = run.wake();
    assert_eq!(done[0], Action::EndWork(first()));
    assert_eq!(tells(&done), [(Role::Follower, "lease_over")]);
}

#[test]
fn a_program_that_was_not_told_of_a_leadership_has_no_work_to_end() {
    let mut run = leader(&Setup { prepares: true, ..usual() });
    let done = run.hears(2, higher());
    assert!(!done.contains(&Action::EndWork(first())));
    assert_eq!(tells(&done), [(Role::Follower, "higher_epoch")]);
}

#[test]
fn work_that_a_program_has_under_way_ends_after_a_pause_as_well() {
    let mut run = leader(&setup(ms(60_000)));
    run.works = true;
    run.member.announce(Role::Waiting, None, Reason::PAUSED);
    assert_eq!(tells(&run.hears(2, higher())), [(Role::Waiting, "paused")]);
    assert!(run.member.awaits_work(), "its lease lasts");
}
