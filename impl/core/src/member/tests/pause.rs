//! What a pause of the process means for its program.

use super::*;

/// What the others wait for a leader by Garcia-Molina's election.
const SILENCE: Duration = ms(750);

/// What was wrong once: the process stood still while the state of its new leadership was saved,
/// and for longer than the others wait. Its program had not been told yet that the node leads, so
/// the pause was no loss; and when the storage answered, it was told so.
#[test]
fn a_process_that_stood_still_during_a_save_does_not_tell_its_program_that_it_leads() {
    let mut run = unsaved_leader(&setup(SILENCE));
    run.stands_still(5_000);
    let done = run.saved();
    assert_eq!(run.role(), Role::Leader, "its protocol does not notice");
    assert!(!run.member.is_behind());
    assert_eq!(tells(&done), []);
    assert!(!run.leads() && run.until().is_none());
    assert_eq!(tells(&run.runs(749)), [], "the others are to hear first that it leads");
    assert_eq!(tells(&run.runs(1)), [(Role::Leader, "unanswered")]);
    assert_eq!(run.member.view().terms(), 1);
}

/// The same run, of a member that takes no pause for one: this is what was wrong.
#[test]
fn a_member_that_notices_no_pause_tells_its_program_that_it_leads() {
    let mut run = unsaved_leader(&setup(Duration::from_secs(1_000_000)));
    run.stands_still(5_000);
    assert_eq!(tells(&run.saved()), [(Role::Leader, "unanswered")]);
}

#[test]
fn wherever_it_stood_still_before_the_storage_answered_its_program_is_told_later() {
    // The process wakes up, and the answer comes after that.
    let mut run = unsaved_leader(&setup(SILENCE));
    run.stands_still(5_000);
    assert_eq!(tells(&run.wake()), []);
    assert_eq!(tells(&run.runs(100)), []);
    assert_eq!(tells(&run.saved()), []);
    assert_eq!(tells(&run.runs(649)), []);
    assert_eq!(tells(&run.runs(1)), [(Role::Leader, "unanswered")]);
    // The answer comes so late that the others have had the time.
    let mut run = unsaved_leader(&setup(SILENCE));
    run.stands_still(5_000);
    assert_eq!(tells(&run.runs(2_000)), []);
    assert_eq!(tells(&run.saved()), [(Role::Leader, "unanswered")]);
    // It stands still again.
    let mut run = unsaved_leader(&setup(SILENCE));
    run.stands_still(5_000);
    run.saved();
    assert_eq!(tells(&run.runs(500)), []);
    run.stands_still(5_000);
    assert_eq!(tells(&run.wake()), []);
    assert_eq!(tells(&run.runs(749)), []);
    assert_eq!(tells(&run.runs(1)), [(Role::Leader, "unanswered")]);
}

#[test]
fn a_save_that_takes_its_time_and_a_short_pause_are_no_pause() {
    let mut run = unsaved_leader(&setup(SILENCE));
    run.runs(5_000);
    assert_eq!(tells(&run.saved()), [(Role::Leader, "unanswered")]);
    let mut run = unsaved_leader(&setup(SILENCE));
    run.stands_still(700);
    assert_eq!(tells(&run.saved()), [(Role::Leader, "unanswered")]);
}

#[test]
fn a_leader_that_was_paused_has_lost_and_leads_again_when_the_others_can_know() {
    let mut run = bully();
    assert_eq!(tells(&run.runs(5_000)), []);
    for pause in 1..=5 {
        run.stands_still(600);
        let done = run.hears(2, bully::Message::Election);
        assert!(matches!(done[0], Action::Publish(_)), "before anything else");
        assert_eq!(tells(&done), [(Role::Waiting, "paused")]);
        assert_eq!(run.member.view().lost(), Some((pause, Reason::PAUSED)));
        assert_eq!(tells(&run.runs(399)), []);
        assert_eq!(tells(&run.runs(1)), [(Role::Leader, "resumed")]);
        assert_eq!(run.member.view().terms(), pause + 1);
    }
}

#[test]
fn a_leader_that_is_paused_again_is_told_once_and_waits_anew() {
    let mut run = bully();
    run.stands_still(600);
    run.wake();
    run.runs(200);
    run.stands_still(600);
    assert_eq!(tells(&run.wake()), []);
    assert_eq!(tells(&run.runs(399)), []);
    assert_eq!(tells(&run.runs(1)), [(Role::Leader, "resumed")]);
}

#[test]
fn the_pause_of_a_follower_and_a_short_one_are_no_change() {
    let mut run = bully();
    run.stands_still(390);
    assert_eq!(tells(&run.wake()), []);
    let config = bully::Config { id: id(1), members: members(), timing: bully::Timing::DEFAULT };
    let mut run = Run::<Bully>::new(config, &setup(ms(400)));
    run.hears(3, bully::Message::Coordinator);
    assert_eq!(run.role(), Role::Follower);
    run.stands_still(5_000);
    let done = run.hears(3, bully::Message::Coordinator);
    assert!(!tells(&done).iter().any(|&(_, reason)| reason == "paused"), "{done:?}");
}

#[test]
fn a_pause_comes_before_the_lease_that_is_over() {
    let mut run = leader(&usual());
    run.stands_still(1_500);
    let done = run.wake();
    assert_eq!(tells(&done), [(Role::Waiting, "paused"), (Role::Follower, "lease_over")]);
    assert_eq!((run.until(), run.member.view().lost()), (None, Some((1, Reason::PAUSED))));
}

#[test]
fn a_lease_that_is_over_when_it_would_be_told_again_is_not_told() {
    for (before_the_end, told) in
        [(1, (Role::Leader, "resumed")), (0, (Role::Follower, "lease_over"))]
    {
        let mut run = leader(&setup(ms(60_000)));
        let until = run.until().expect("it leads");
        run.member.announce(Role::Waiting, None, Reason::PAUSED);
        run.now = Time::from_nanos(until.as_nanos() - before_the_end);
        run.member.resume = Some(run.now);
        let done = run.take(Event::Heartbeat { from: id(2), incarnation: 1 });
        assert_eq!(tells(&done), [(Role::Waiting, "paused"), told]);
    }
}

/// Node 3 by the bully, whose program prepares itself.
fn preparing() -> Run<Bully> {
    let config = bully::Config { id: id(3), members: members(), timing: bully::Timing::DEFAULT };
    let setup = Setup { stores: false, prepares: true, ..setup(ms(400)) };
    let run = Run::<Bully>::new(config, &setup);
    assert_eq!((run.role(), run.reason()), (Role::Leader, "preparing"));
    run
}

#[test]
fn a_process_that_stood_still_while_its_program_prepared_itself_does_not_say_that_it_leads() {
    let mut run = preparing();
    run.runs(1_000);
    run.stands_still(5_000);
    let done = run.asks(1, Command::Prepared(1));
    assert_eq!((tells(&done), answers(&done)), (vec![], vec![]));
    assert_eq!(tells(&run.runs(399)), []);
    let done = run.runs(1);
    assert_eq!(tells(&done), [(Role::Leader, "highest_id")]);
    assert_eq!(answers(&done), [(1, Ok(None))], "once its program knows");
    // The pause was long enough ago.
    let mut run = preparing();
    run.stands_still(5_000);
    assert_eq!(tells(&run.wake()), []);
    assert_eq!(tells(&run.runs(1_000)), [], "it is not prepared");
    let done = run.asks(1, Command::Prepared(1));
    assert_eq!(tells(&done), [(Role::Leader, "highest_id")]);
    assert_eq!(answers(&done), [(1, Ok(None))]);
}
