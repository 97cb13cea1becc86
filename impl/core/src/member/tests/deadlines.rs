//! What is due at some moment, and how long is waited for it.

use super::*;

/// When this is due, if it is.
fn due<C: Core>(run: &Run<C>, deadline: Deadline<C::Timer>) -> Option<Time> {
    run.member.armed().find(|&(own, _)| own == deadline).map(|(_, at)| at)
}

#[test]
fn a_member_waits_for_the_first_of_its_deadlines() {
    let mut run = leader(&usual());
    for _ in 0..20 {
        let first = run.member.armed().map(|(_, at)| at.since(run.now)).min();
        let longest = first.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
        assert_eq!(run.member.wait(run.now), longest);
        run.runs(50);
    }
}

#[test]
fn a_deadline_that_is_brought_forward_passes_earlier_and_never_later() {
    let mut run = leader(&usual());
    let lease = Deadline::Timer(quorum::Timer::Lease);
    let until = due(&run, lease).expect("it leads");
    run.member.bring_forward(lease, until + ms(1));
    assert_eq!(due(&run, lease), Some(until));
    run.member.bring_forward(lease, run.now);
    run.wake();
    assert_eq!((due(&run, lease), run.leads()), (None, false));
}

#[test]
fn a_storage_is_late_when_its_deadline_has_passed() {
    let mut run = unsaved_leader(&usual());
    assert!(!run.member.is_stalled());
    run.member.bring_forward(Deadline::StorageLate, run.now);
    run.wake();
    assert!(run.member.is_stalled());
}
