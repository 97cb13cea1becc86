//! What a program is told that prepares itself.

use super::*;
use crate::protocol::Birth;

fn behind_a_gate() -> Setup {
    Setup { prepares: true, ..usual() }
}

/// What the program is asked.
fn asked<D, M>(done: &[Action<D, M>]) -> Vec<Option<PreparationRequest>> {
    let ask = |action: &Action<D, M>| match action {
        Action::Prepare(ask) => Some(*ask),
        _ => None,
    };
    done.iter().filter_map(ask).collect()
}

#[test]
fn no_program_knows_that_its_node_leads_before_it_is_prepared() {
    let mut run = candidate(&behind_a_gate());
    let done = run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    assert_eq!(run.role(), Role::Leader);
    assert_eq!(sent(&done).len(), 2, "the others know");
    assert_eq!(tells(&done), [(Role::Waiting, "preparing")]);
    let [Some(ask)] = asked(&done)[..] else { panic!("{done:?}") };
    assert_eq!((ask.number, ask.epoch, ask.reason.name()), (1, Some(first()), "granted"));
    assert_eq!(run.until(), None);
    // What was not asked is not answered.
    let done = run.asks(1, Command::Prepared(2));
    assert_eq!((tells(&done), answers(&done)), (vec![], vec![(1, Ok(None))]));
    let done = run.asks(2, Command::Prepared(1));
    assert_eq!(asked(&done), [None]);
    assert_eq!(tells(&done), [(Role::Leader, "granted")]);
    assert_eq!(answers(&done), [(2, Ok(None))]);
    assert_eq!(run.until(), run.member.node().lease().map(|lease| lease.until));
    assert!(run.until().is_some());
    let done = run.asks(3, Command::Prepared(1));
    assert_eq!((tells(&done), answers(&done)), (vec![], vec![(3, Ok(None))]));
}

#[test]
fn a_program_that_cannot_prepare_itself_never_leads_and_its_node_steps_down() {
    let mut run = leader(&behind_a_gate());
    let done = run.asks(1, Command::Unprepared(1, ms(5_000)));
    assert_eq!(asked(&done), [None]);
    assert_eq!(answers(&done), [(1, Ok(Some(id(2))))], "it followed");
    // The one that is to lead instead does not answer.
    let done = run.runs(200);
    assert_eq!(tells(&done), [(Role::Follower, "asked_to_yield")]);
    let done = run.runs(4_000);
    assert_eq!((run.role(), tells(&done)), (Role::Follower, vec![]), "it does not run");
}

#[test]
fn a_preparation_ends_with_the_lease() {
    let mut run = leader(&behind_a_gate());
    // No node acknowledges its rounds.
    let done = run.runs(1_000);
    assert_eq!(asked(&done), [None]);
    assert_eq!(tells(&done), [(Role::Follower, "lease_over")]);
    let done = run.asks(1, Command::Prepared(1));
    assert_eq!((tells(&done), answers(&done)), (vec![], vec![(1, Ok(None))]));
}

#[test]
fn each_leadership_is_prepared_for() {
    let mut run = leader(&behind_a_gate());
    run.asks(1, Command::Prepared(1));
    assert!(run.leads());
    run.member.on_change(Role::Follower, None, Reason::CLAIMED);
    run.member.on_change(Role::Leader, Some(id(3)), Reason::CLAIMED);
    let done = run.wake();
    assert_eq!(tells(&done), [(Role::Follower, "claimed"), (Role::Waiting, "preparing")]);
    let [Some(ask)] = asked(&done)[..] else { panic!("{done:?}") };
    assert_eq!(ask.number, 2);
    assert_eq!(tells(&run.asks(2, Command::Prepared(1))), [], "that was for another");
    assert_eq!(tells(&run.asks(3, Command::Prepared(2))), [(Role::Leader, "claimed")]);
}

#[test]
fn a_node_that_cannot_step_down_leads_without_its_program() {
    let config = bully::Config { id: id(3), members: members(), timing: bully::Timing::DEFAULT };
    let setup = Setup { stores: false, prepares: true, ..setup(ms(400)) };
    let mut run = Run::<Bully>::new(config, &setup);
    let done = run.asks(1, Command::Unprepared(1, ms(1_000)));
    assert!(done.contains(&Action::Log(LogLine::Unprepared)));
    assert_eq!(answers(&done), [(1, Ok(None))]);
    assert_eq!(tells(&run.runs(5_000)), []);
    assert_eq!((run.role(), run.leads()), (Role::Leader, false));
}
