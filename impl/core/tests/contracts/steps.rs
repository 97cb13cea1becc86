//! The steps that a node records are all that it does, and can be written and read again.

use std::time::Duration;

use bellwether_core::member::{Action, Event, Member, Setup, StorageAnswer};
use bellwether_core::protocol::{Core, Input, Node, NodeStep, Output, Time, Trigger};
use bellwether_core::trace::{Entry, Line, Out, Received};
use proptest::prelude::*;

use super::{Effect, Step, Tested, effects, for_any, node};

/// What these steps have put out, in the order of kinds.
fn put_out<C: Core>(steps: &[NodeStep<C>]) -> Vec<Effect<C>> {
    let persists = steps.iter().flat_map(|step| &step.persists).cloned().map(Output::Persist);
    let sends = steps.iter().flat_map(|step| &step.sends).cloned();
    let sends = sends.map(|(to, message)| Output::Send { to, message });
    let events = steps.iter().flat_map(|step| &step.events).copied().map(Output::Event);
    persists.chain(sends).chain(events).collect()
}

/// Whether the last of these steps, and no other, is what this input says.
fn end_with<C: Core>(steps: &[NodeStep<C>], input: &Input<C::Message>) -> bool {
    let is_input = |step: &&NodeStep<C>| match (&step.trigger, input) {
        (Trigger::Boot(_), Input::Boot) => true,
        (Trigger::Receive { from, message }, Input::Receive { from: sender, message: said }) => {
            (*from, message) == (*sender, said)
        }
        (Trigger::Suspect(node), Input::Suspect(suspect)) => node == suspect,
        (Trigger::Request(request), Input::Request(asked)) => request == asked,
        _ => false,
    };
    let expires = |step: &NodeStep<C>| matches!(step.trigger, Trigger::Expire(_));
    let before = steps.len().saturating_sub(1);
    steps.last().filter(is_input).is_some() && steps[..before].iter().all(expires)
}

/// What is true at the end of the last step is true of the node.
fn is_after<C: Core>(node: &Node<C>, step: &NodeStep<C>) -> bool {
    (step.status, step.epoch, step.lease) == (node.status(), node.epoch(), node.lease())
        && step.armed.iter().copied().eq(node.armed())
        && step.watched.iter().copied().eq(node.watched())
}

/// And a node that records is as one that does not.
pub(super) fn put_out_all_that_a_node_does<C: Tested>() {
    for_any::<C>(|number, steps| {
        let (mut silent, mut node) = (node::<C>(number), node::<C>(number).recording());
        let mut now = Time::ZERO;
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            let was_up = node.core().is_some();
            let mut effects_of_it = effects(&mut node, now, input.clone());
            prop_assert_eq!(&effects_of_it, &effects(&mut silent, now, input.clone()));
            prop_assert_eq!(&node, &silent);
            prop_assert_eq!(silent.take_steps(), []);

            let taken = node.take_steps();
            effects_of_it.retain(|effect| !matches!(effect, Output::WakeAt(_)));
            prop_assert_eq!(put_out(&taken), effects_of_it);
            prop_assert!(taken.last().is_none_or(|last| is_after(&node, last)), "{:?}", taken);
            let is_step = match input {
                Input::Boot => !was_up,
                Input::Receive { .. } | Input::Request(_) => was_up,
                Input::Wake => false,
                // Of a node that it watches when its timers have expired.
                Input::Suspect(_) => end_with(&taken, &input),
            };
            prop_assert_eq!(end_with(&taken, &input), is_step, "{:?}", taken);
            let expires = |step: &NodeStep<C>| matches!(step.trigger, Trigger::Expire(_));
            prop_assert!(is_step || taken.iter().all(expires), "{:?}", taken);
            prop_assert_eq!(node.take_steps(), [], "each once");
        }
        Ok(())
    });
}

/// And the messages of a member have numbers without a gap.
pub(super) fn are_read_as_they_were_written<C: Tested>() {
    for_any::<C>(|number, steps| {
        let setup = Setup { stores: true, ..Setup::of::<C>(&C::config(number), 4) };
        let mut member = Member::new(node::<C>(number).recording(), &setup, Time::ZERO);
        let (mut now, mut n, mut numbered) = (Time::ZERO, 0, 0);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            let mut events = vec![match input {
                Input::Boot => Event::Start,
                Input::Receive { from, message } => {
                    let (incarnation, id) = (Some(u64::MAX), Some(later));
                    Event::Received(Received { from, incarnation, id, message })
                }
                Input::Suspect(_) | Input::Request(_) | Input::Wake => Event::Wake,
            }];
            while let Some(event) = events.pop() {
                for action in member.handle(now, event) {
                    match action {
                        Action::Save(_) | Action::Probe => {
                            events.push(Event::StorageAnswered(StorageAnswer::Done));
                        }
                        Action::EndWork(_) => events.push(Event::WorkEnded),
                        Action::Trace(step) => {
                            numbered = next_number(&step.out, numbered)?;
                            let at = Some(now.as_nanos());
                            let line = Line { n, at, entry: Entry::Step(*step) };
                            let text = serde_json::to_string(&line).expect("it can be written");
                            let read = serde_json::from_str::<Line<C::Durable, C::Message>>(&text);
                            prop_assert_eq!(read.ok(), Some(line), "{}", text);
                            n += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    });
}

/// The number of the last message after these, if they follow the one with this number.
fn next_number<D, M>(out: &[Out<D, M>], before: u64) -> Result<u64, TestCaseError> {
    let mut number = before;
    for put_out in out {
        if let Out::Send(sent) = put_out {
            number += 1;
            prop_assert_eq!(sent.id, number);
        }
    }
    Ok(number)
}
