//! The steps of a node, as its member has them written.

use super::*;
use crate::protocol::Role;
use crate::trace::{Happened, Out, Step};

type QuorumStep = Step<quorum::Durable, Message>;

/// Node 3 of three by the quorum bully, which records its steps, and has not started.
fn recording() -> Run<Quorum> {
    Run::new(node().recording(), &usual())
}

/// The steps that are written.
fn written(done: Actions<Quorum>) -> Vec<QuorumStep> {
    let step = |action: Action<quorum::Durable, Message>| match action {
        Action::Trace(step) => Some(*step),
        _ => None,
    };
    done.into_iter().filter_map(step).collect()
}

#[test]
fn each_step_is_written_before_anything_that_it_puts_out() {
    let mut run = recording();
    let mut done = comes_to_lead(&mut run);
    done.extend(run.runs(500));
    let (mut sends, mut states, mut sent) = (Vec::new(), Vec::new(), 0);
    let mut leads = false;
    for action in done {
        match action {
            Action::Trace(step) => {
                leads = step.after.role == Role::Leader;
                for put_out in step.out {
                    match put_out {
                        Out::Send(message) => sends.push(message),
                        Out::Persist(state) => states.push(state),
                        Out::Role { .. } | Out::Ignored { .. } | Out::Rival(_) => {}
                    }
                }
            }
            Action::Send(message) => {
                assert!(sends.contains(&message), "{message:?} is in no step before");
                sent += 1;
            }
            Action::Save(state) => assert!(states.contains(&state), "{state:?}"),
            Action::Publish(view) => assert!(leads || !view.leads()),
            _ => {}
        }
    }
    assert!(sent >= 6, "only {sent} messages");
    let numbers: Vec<_> = sends.iter().map(|message| message.id).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
}

#[test]
fn a_message_is_written_with_its_number_and_the_run_of_its_sender() {
    let mut run = recording();
    let steps = written(run.take(Event::Start));
    assert!(matches!(&steps[..], [Step { happened: Happened::Boot(Some(_)), .. }]), "{steps:?}");
    let (incarnation, number, message) = (Some(7), Some(9), Message::Refuse(first(), None));
    for from in [2, 9].map(id) {
        let received = Received { from, incarnation, id: number, message: message.clone() };
        let steps = written(run.take(Event::Received(received.clone())));
        let [step] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(step.happened, Happened::Receive(received));
        let cause = "unknown_sender".to_owned();
        let ignored = step.out.contains(&Out::Ignored { from, cause });
        assert_eq!(ignored, from == id(9), "{step:?}");
    }
}

/// All stories show that a node which does not record has nothing written.
#[test]
fn what_is_no_step_is_not_written() {
    let mut run = recording();
    run.take(Event::Start);
    assert_eq!(written(run.wake()), []);
    assert_eq!(written(run.take(Event::Start)), [], "it has started");
    assert_eq!(written(run.saved()), [], "nothing was saved");
    // Each timer that expires is a step of its own.
    run.now = run.now + ms(60_000);
    let steps = written(run.wake());
    let expiries = steps.iter().filter(|step| matches!(step.happened, Happened::Expire(_)));
    assert_eq!(expiries.count(), steps.len());
    assert!(!steps.is_empty());
}
