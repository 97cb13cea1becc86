//! What a program is told of other nodes that led at the same time as its own, and how often.

use super::*;
use crate::protocol::bully::Message::Coordinator;

/// Node `number` of three by the bully, which has started.
fn started(number: u16) -> Run<Bully> {
    let timing = bully::Timing::DEFAULT;
    let config = bully::Config { id: id(number), members: members(), timing };
    let silence = Bully::silence(&config);
    Run::new(config, &Setup { stores: false, ..setup(silence) })
}

/// Lets time pass until the node leads, as it hears no other.
fn runs_until_it_leads(run: &mut Run<Bully>) {
    while !run.leads() {
        run.runs(10);
    }
}

/// The rivals of which the program is told, and those to which the node says that they are.
fn rivals<D, M>(done: &[Action<D, M>]) -> (Vec<u16>, Vec<u16>) {
    let mut all = (Vec::new(), Vec::new());
    for action in done {
        match action {
            Action::Publish(view) => all.0.extend(view.rival().map(NodeId::get)),
            Action::TellRival(rival) => all.1.push(rival.get()),
            _ => {}
        }
    }
    all
}

fn told_by(run: &mut Run<Bully>, from: u16) -> Actions<Bully> {
    run.take(Event::ToldOfRival { from: id(from) })
}

#[test]
fn a_leader_that_gives_way_to_another_learns_that_it_is_a_rival_and_says_so() {
    let mut run = started(2);
    runs_until_it_leads(&mut run);
    let before = *run.member.view();
    let done = run.hears(3, Coordinator);
    assert_eq!(rivals(&done), (vec![3], vec![3]));
    assert_eq!(tells(&done), [(Role::Leader, "unanswered"), (Role::Follower, "claimed")]);
    let tell = place(&done, |action| matches!(action, Action::Publish(_)));
    let Action::Publish(told) = &done[tell] else { panic!("{done:?}") };
    assert_eq!((told.leads(), told.terms()), (true, before.terms()), "it is no loss");
    assert_eq!((told.seq(), told.rivals()), (before.seq() + 1, 1));
    let after = run.member.view();
    assert_eq!((after.seq(), after.rivals(), after.rival()), (before.seq() + 2, 1, None));
}

#[test]
fn a_rival_is_told_once_in_each_term() {
    let mut run = started(2);
    for term in 1..=3 {
        runs_until_it_leads(&mut run);
        assert_eq!(run.member.view().terms(), term);
        assert_eq!(rivals(&run.hears(3, Coordinator)), (vec![3], vec![3]));
        assert_eq!(rivals(&run.hears(3, Coordinator)), (vec![], vec![]), "it follows");
        assert_eq!(rivals(&told_by(&mut run, 3)), (vec![], vec![]), "that is known");
        assert_eq!(rivals(&told_by(&mut run, 1)), (vec![1], vec![]), "in the term that is over");
        assert_eq!(run.member.view().rivals(), 2 * term);
    }
}

#[test]
fn a_leader_that_hears_nothing_of_a_rival_is_told_by_it() {
    let mut run = bully();
    let before = *run.member.view();
    assert_eq!(rivals(&told_by(&mut run, 1)), (vec![1], vec![]), "no answer");
    assert_eq!(rivals(&told_by(&mut run, 1)), (vec![], vec![]), "once");
    assert_eq!(rivals(&told_by(&mut run, 2)), (vec![2], vec![]));
    let after = run.member.view();
    assert!(after.leads() && after.reason() == before.reason() && after.terms() == before.terms());
    assert_eq!((after.seq(), after.rivals()), (before.seq() + 2, 2));
}

/// Its program had no part in what the others did meanwhile, and may have done something before.
#[test]
fn a_leader_that_was_paused_is_told_of_a_rival_after_its_loss() {
    let mut run = bully();
    run.stands_still(1_000);
    let done = told_by(&mut run, 2);
    assert_eq!(rivals(&done), (vec![2], vec![]));
    assert_eq!(tells(&done), [(Role::Waiting, "paused"); 2]);
}

#[test]
fn a_program_that_was_never_told_that_its_node_leads_has_no_rival() {
    let mut run = started(1);
    assert_eq!(rivals(&told_by(&mut run, 2)), (vec![], vec![]));
    run.hears(3, Coordinator);
    assert_eq!(rivals(&told_by(&mut run, 2)), (vec![], vec![]));
    assert_eq!(run.member.view().rivals(), 0);
}
