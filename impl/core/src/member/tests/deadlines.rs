//! What is due at some moment, and how long is waited for it.

use super::*;
use crate::trace::Sent;

fn leader() -> Run<Quorum> {
    let mut run = Run::new(node(), &usual());
    comes_to_lead(&mut run);
    run
}

/// When this is due, if it is.
fn due<C: Core>(run: &Run<C>, deadline: Deadline<C::Timer>) -> Option<Time> {
    run.member.armed().find(|&(own, _)| own == deadline).map(|(_, at)| at)
}

#[test]
fn a_member_waits_for_the_first_of_its_deadlines() {
    let mut run = leader();
    for _ in 0..20 {
        let first = run.member.armed().map(|(_, at)| at.since(run.now)).min();
        let longest = first.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
        assert_eq!(run.member.wait(run.now), longest);
        run.runs(50);
    }
}

#[test]
fn a_deadline_that_is_brought_forward_passes_earlier_and_never_later() {
    let mut run = leader();
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
    let mut run = Run::new(node(), &usual());
    claims(&mut run);
    assert!(!run.member.is_stalled());
    run.member.bring_forward(Deadline::StorageLate, run.now);
    run.wake();
    assert!(run.member.is_stalled());
}

/// When the leader with this setup begins its rounds, in microseconds, if its first deadline is
/// that late.
fn rounds(setup: &Setup, late: u64) -> Vec<u64> {
    let mut run = Run::new(node(), setup);
    claims(&mut run);
    run.saved();
    run.now = run.now + ms(late);
    run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    let (mut moments, mut number) = (Vec::new(), 1);
    while moments.len() < 40 {
        run.hears(2, Message::Ack(first(), number, Mark::FIRST));
        let longest = run.member.wait(run.now);
        run.now = run.now + longest;
        let is_round = |action: &Action<_, _>| {
            matches!(action, Action::Send(Sent { message: Message::Coordinator(..), .. }))
        };
        if run.wake().iter().any(is_round) {
            number += 1;
            moments.push(u64::try_from(run.now.since(Time::ZERO).as_micros()).expect("fits"));
        }
    }
    assert!(run.leads());
    moments
}

#[test]
fn the_rounds_of_leaders_that_are_aligned_begin_together_in_the_end() {
    let alone = rounds(&usual(), 7);
    assert!(alone.windows(2).all(|two| two[1] - two[0] == 200_000), "{alone:?}");
    let aligned = Setup { aligned: true, ..usual() };
    for late in [7, 53, 111, 160] {
        let moments = rounds(&aligned, late);
        assert!(moments.windows(2).all(|two| (200_000..=212_500).contains(&(two[1] - two[0]))));
        // Beats are a sixteenth of a round further apart than rounds.
        assert_eq!(moments.last().map(|last| last % 212_500), Some(0), "{late}: {moments:?}");
    }
}
