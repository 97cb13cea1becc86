//! What a member decides about its storage.

use super::*;
use crate::protocol::Birth;
use crate::protocol::quorum::{Durable, State};

/// Nothing is a pause, and the storage may take so long.
fn bound(bound: Duration) -> Setup {
    Setup { bound, ..setup(ms(60_000)) }
}

/// A leader may do nothing for so long, and neither may the storage.
fn silence(silence: Duration) -> Setup {
    Setup { bound: silence, ..setup(silence) }
}

/// The node saves its state, whatever its core saves while it leads: none waits for long.
fn saves(run: &mut Run<Quorum>) -> Actions<Quorum> {
    let core = run.member.node().core().expect("booted");
    let (epoch, granted_to) = (core.epoch(), core.granted_to());
    run.member.push_state(run.now, Durable { epoch, granted_to, ..Durable::default() });
    let done = run.wake();
    assert!(run.member.is_behind());
    done
}

/// Lets so much time pass, in which node 1 acknowledges the rounds of a leader. For how much of it
/// the node has led, and what was done.
fn renews(run: &mut Run<Quorum>, milliseconds: u64) -> (u64, Actions<Quorum>) {
    let (mut led, mut done) = (0, Vec::new());
    for _ in 0..milliseconds / 100 {
        done.extend(run.runs(100));
        let core = run.member.node().core().expect("booted");
        let State::Leader { round, .. } = *core.state() else { continue };
        let ack = Message::Ack(core.epoch(), round, Mark::FIRST);
        done.extend(run.hears(1, ack));
        led += 100;
    }
    (led, done)
}

fn probes(done: &[Action<Durable, Message>]) -> usize {
    done.iter().filter(|action| matches!(action, Action::Probe)).count()
}

/// What is said of a storage that does not answer, or answers again.
fn stalls(done: &[Action<Durable, Message>]) -> Vec<Option<String>> {
    let stall = |action: &Action<Durable, Message>| match action {
        Action::Stalled(problem) => Some(problem.clone()),
        _ => None,
    };
    done.iter().filter_map(stall).collect()
}

#[test]
fn a_leader_that_has_lost_is_told_before_the_storage_answers() {
    let mut run = leader(&usual());
    let done = run.hears(2, Message::Refuse(Epoch::new(3), None));
    assert_eq!(tells(&done), [(Role::Follower, "higher_epoch")]);
    assert!(run.member.is_behind() && run.until().is_none());
    let tell = place(&done, |action| matches!(action, Action::Publish(_)));
    assert!(tell < place(&done, |action| matches!(action, Action::Save(_))));
    assert_eq!(tells(&run.saved()), [], "it is told once");
}

#[test]
fn nothing_is_sent_and_no_leadership_told_before_the_state_is_durable() {
    let mut run = candidate(&bound(ms(60_000)));
    saves(&mut run);
    let done = run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    assert_eq!(run.role(), Role::Leader);
    assert_eq!((sent(&done), tells(&done)), (vec![], vec![]));
    assert_eq!(run.until(), None);
    let done = run.saved();
    let round = Message::Coordinator(first(), 1, Mark::FIRST);
    assert_eq!(sent(&done), [(1, round.clone()), (2, round)]);
    assert_eq!(tells(&done), [(Role::Leader, "granted")]);
    assert!(run.until().is_some());
}

#[test]
fn a_lease_that_is_over_when_the_storage_answers_is_not_told() {
    for (later, told) in [(100, (Role::Leader, "granted")), (1_000, (Role::Follower, "lease_over"))]
    {
        let mut run = candidate(&bound(ms(60_000)));
        saves(&mut run);
        run.hears(2, Message::Grant(first(), Birth::FOUNDER));
        run.now = run.now + ms(later);
        assert_eq!(tells(&run.saved()), [told], "after {later} ms");
    }
}

#[test]
fn a_lease_counts_from_before_the_storage_was_asked() {
    let mut run = candidate(&bound(ms(60_000)));
    // As long as the claim took to be saved: the grants are worth nothing any more.
    run.now = run.now + Timing::DEFAULT.lease;
    run.hears(1, Message::Grant(first(), Birth::FOUNDER));
    run.saves_all();
    assert!(!run.leads() && run.until().is_none());
}

#[test]
fn a_leader_whose_storage_does_not_answer_yields_and_says_why() {
    let mut run = leader(&bound(ms(1_000)));
    // It was asked when the node came to lead.
    for _ in 0..3 {
        let (led, done) = renews(&mut run, 500);
        assert_eq!((led, stalls(&done)), (500, vec![]));
        run.saved();
        let (led, done) = renews(&mut run, 1_500);
        assert_eq!((led, stalls(&done)), (1_500, vec![]));
        assert_eq!(probes(&done), 1, "it is asked every other second");
    }
    let (led, done) = renews(&mut run, 900);
    assert_eq!((led, stalls(&done)), (900, vec![]), "there is time left");
    let (led, done) = renews(&mut run, 5_000);
    assert!(led <= 400, "it led for {led} ms more");
    assert_eq!(stalls(&done), [Some("no answer for 1s".to_owned())]);
    assert_eq!(tells(&done), [(Role::Follower, "storage_stalled")]);
    assert_eq!((run.role(), run.until()), (Role::Follower, None), "it does not run");
    // Whatever its program says of the machine, the storage counts as well.
    run.asks(1, Command::SetHealthy(true));
    renews(&mut run, 2_000);
    assert_eq!(run.role(), Role::Follower);
    assert_eq!(stalls(&run.saved()), [None]);
    renews(&mut run, 200);
    assert_eq!(run.role(), Role::Candidate, "it runs again");
}

#[test]
fn a_leader_whose_storage_says_that_it_could_not_save_yields_and_asks_again() {
    let mut run = leader(&bound(ms(1_000)));
    let done = run.take(Event::StorageAnswered(StorageAnswer::Failed("it is full".to_owned())));
    assert_eq!(stalls(&done), [Some("it is full".to_owned())]);
    let (led, _) = renews(&mut run, 1_000);
    assert!(led <= 300, "it led for {led} ms more");
    assert_eq!(run.reason(), "storage_stalled");
    let (_, done) = renews(&mut run, 2_000);
    assert_eq!(probes(&done), 1, "it is asked although the node does not lead");
    assert_eq!(stalls(&run.saved()), [None]);
}

#[test]
fn an_answer_that_is_looked_at_late_is_not_late() {
    let mut run = unsaved_leader(&bound(ms(400)));
    run.now = run.now + ms(10_000);
    let done = run.saved();
    assert!(!done.iter().any(|action| matches!(action, Action::Stalled(_))), "{done:?}");
    assert!(run.leads());
}

#[test]
fn a_leader_whose_save_stalls_leads_no_longer_than_its_lease() {
    let mut run = leader(&bound(ms(60_000)));
    renews(&mut run, 300);
    let until = run.until().expect("it leads");
    assert!(until.since(run.now) <= Timing::DEFAULT.lease);
    saves(&mut run);
    // What it says waits, so no member acknowledges anything.
    while run.leads() {
        assert!(run.now < until && run.until() == Some(until));
        run.runs(10);
    }
    assert!(run.now.since(until) < ms(10), "{:?}", run.now);
    assert_eq!((run.reason(), run.until()), ("lease_over", None));
    assert_eq!(tells(&run.saved()), [], "it is told once");
}

/// The core is Garcia-Molina's, whose leader has no lease.
#[test]
fn the_program_of_a_leader_without_a_lease_is_told_that_the_storage_stalls() {
    let mut run = unsaved_leader(&silence(ms(400)));
    assert_eq!(tells(&run.saved()), [(Role::Leader, "unanswered")]);
    run.member.push_state(run.now, garcia_molina::Computed::new(1));
    assert_eq!(tells(&run.wake()), []);
    assert_eq!(tells(&run.runs(399)), []);
    assert_eq!(tells(&run.runs(1)), [(Role::Waiting, "storage_stalled")]);
    assert_eq!(tells(&run.runs(10_000)), []);
    assert_eq!(tells(&run.saved()), []);
    // The others have heard nothing, and need some time to hear that it leads still.
    assert_eq!(tells(&run.runs(399)), []);
    assert_eq!(tells(&run.runs(1)), [(Role::Leader, "resumed")]);
}

/// A storage may stall before the program has been told that its node leads.
#[test]
fn a_leader_that_was_silent_from_the_beginning_is_told_once_the_others_can_have_heard() {
    let mut run = unsaved_leader(&silence(ms(400)));
    assert_eq!(tells(&run.runs(10_000)), []);
    assert_eq!(tells(&run.saved()), [], "the others may have elected another meanwhile");
    assert_eq!(tells(&run.runs(399)), []);
    assert_eq!(tells(&run.runs(1)), [(Role::Leader, "unanswered")]);
}

/// The state of one that leads in silence may be followed by another.
#[test]
fn a_leader_that_is_silent_still_is_not_told_between_two_states() {
    let mut run = unsaved_leader(&silence(ms(400)));
    run.member.push_state(run.now, garcia_molina::Computed::new(1));
    assert_eq!(tells(&run.runs(10_000)), []);
    assert_eq!(tells(&run.saved()), [], "it has said nothing for ten seconds");
    assert!(run.member.is_behind());
    assert_eq!(tells(&run.saved()), []);
    assert_eq!(tells(&run.runs(399)), []);
    assert_eq!(tells(&run.runs(1)), [(Role::Leader, "unanswered")]);
}

#[test]
fn a_member_ends_when_its_state_cannot_be_saved() {
    for answer in [StorageAnswer::Failed("it is full".to_owned()), StorageAnswer::Gone] {
        let config = quorum::Config { id: id(3), members: members(), timing: Timing::DEFAULT };
        let mut run = Run::<Quorum>::new(config, &usual());
        run.runs(1_300);
        let done = run.hears(2, Message::Support(first()));
        assert_eq!(sent(&done), [], "its claim waits");
        assert_eq!(run.take(Event::StorageAnswered(answer)), [Action::End(End::Failed)]);
        assert!(run.member.leaves());
        assert_eq!(run.wake(), []);
        assert_eq!(run.hears(2, Message::Grant(first(), Birth::FOUNDER)), []);
    }
    // A leader that only asks ends when there is no storage any more.
    let mut run = leader(&bound(ms(1_000)));
    assert_eq!(run.take(Event::StorageAnswered(StorageAnswer::Gone)), [Action::End(End::Failed)]);
}
