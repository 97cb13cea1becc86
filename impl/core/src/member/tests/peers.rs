//! What a member does about nodes that are silent, or gone.

use super::*;
use crate::protocol::stoller::{self, Stoller};

/// Node 2 of three by Stoller's election, which watches node 3, with heartbeats every 100 ms; a
/// second is left for the start. Its storage has not answered yet.
fn watching(bound: Duration) -> Run<Stoller> {
    let config = stoller::Config { id: id(2), members: members(), ask: ms(1_000) };
    let detection = Detection::default();
    let parameters = detection.check().expect("good");
    let setup = Setup { detection: Some((detection, parameters)), bound, ..setup(ms(300)) };
    Run::new(config, &setup)
}

fn idle<C: Core>(run: &mut Run<C>, gone: &[u16]) -> Actions<C> {
    run.take(Event::Drained { gone: gone.iter().copied().map(id).collect() })
}

fn beats<D, M>(done: &[Action<D, M>]) -> usize {
    done.iter().filter(|action| matches!(action, Action::SendHeartbeat)).count()
}

fn silent<D, M>(done: &[Action<D, M>]) -> Vec<NodeId> {
    let silent = |action: &Action<D, M>| match action {
        Action::Log(LogLine::Silent(node)) => Some(*node),
        _ => None,
    };
    done.iter().filter_map(silent).collect()
}

#[test]
fn what_has_arrived_counts_before_silence() {
    let mut run = watching(ms(60_000));
    run.saves_all();
    assert_eq!(silent(&run.runs(950)), []);
    run.now = run.now + ms(60);
    assert_eq!(silent(&run.wake()), [], "something may have arrived");
    run.take(Event::Heartbeat { from: id(3), incarnation: 1 });
    assert_eq!(silent(&idle(&mut run, &[])), []);
    assert_eq!(silent(&run.runs(499)), []);
    assert_eq!(silent(&run.runs(1)).first(), Some(&id(3)), "half a second of silence");
}

#[test]
fn a_pause_of_its_own_is_no_silence_of_the_others() {
    let mut run = watching(ms(60_000));
    run.saves_all();
    run.runs(950);
    run.stands_still(60_000);
    run.wake();
    assert_eq!(silent(&idle(&mut run, &[])), []);
    assert_eq!(silent(&run.runs(99)), []);
    assert_eq!(silent(&run.runs(1)).first(), Some(&id(3)), "they had the time of a heartbeat");
}

#[test]
fn a_node_that_is_gone_need_not_be_waited_for() {
    let mut run = watching(ms(60_000));
    run.saves_all();
    run.runs(100);
    assert!(run.member.tracks_gone_nodes());
    assert_eq!(silent(&idle(&mut run, &[1])), [], "that one is not watched");
    assert_eq!(silent(&idle(&mut run, &[3])), [id(3)]);
}

#[test]
fn heartbeats_are_sent_unless_nothing_else_can_be_said() {
    let mut run = watching(ms(200));
    let done = run.runs(1_000);
    assert!(beats(&done) <= 2, "{}: its storage does not answer", beats(&done));
    run.saves_all();
    assert_eq!(beats(&run.runs(1_000)), 10);
}

#[test]
fn a_timer_that_waits_for_nodes_that_are_gone_expires() {
    let follower = || {
        let timing = bully::Timing::DEFAULT;
        let config = bully::Config { id: id(1), members: members(), timing };
        let mut run = Run::<Bully>::new(config, &setup(ms(400)));
        run.hears(3, bully::Message::Coordinator);
        assert_eq!(run.role(), Role::Follower);
        run
    };
    let mut run = follower();
    assert!(run.member.tracks_gone_nodes());
    assert_eq!(tells(&idle(&mut run, &[2])), [], "its leader is there");
    let done = idle(&mut run, &[3]);
    assert_eq!(tells(&done), [(Role::Candidate, "leader_silent")], "node 2 may answer");
    assert!(done.contains(&Action::Log(LogLine::WaitAbandoned(1))));
    let mut run = follower();
    let told = [(Role::Candidate, "leader_silent"), (Role::Leader, "unanswered")];
    assert_eq!(tells(&idle(&mut run, &[2, 3])), told);
}
