//! Which processes of a large world are drawn: those to which something happens, and who leads at
//! the beginning.

use super::words;
use bellwether_engine::protocol::{Id, MAX_SEARCHED};
use bellwether_engine::trace::{Event, Flight, Sent, Step, Trace};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What is drawn of `trace`, and what is said of those that are not. Of up to [`MAX_SEARCHED`]
/// processes all are.
pub(super) fn drawn(trace: &Trace) -> (Cow<'_, Trace>, Option<String>) {
    let first = trace.header.initial.iter();
    let leads = first.filter(|&(&id, lifeline)| words::leads(id, lifeline));
    let mut acts: BTreeSet<u8> = leads.map(|(&id, _)| id).collect();
    trace.steps.iter().for_each(|step| concerned(step, &mut acts));
    let idle: Vec<u8> =
        trace.header.initial.keys().copied().filter(|id| !acts.contains(id)).collect();
    if trace.header.initial.len() <= MAX_SEARCHED || acts.is_empty() || idle.is_empty() {
        return (Cow::Borrowed(trace), None);
    }
    let mut less = trace.clone();
    less.header.initial.retain(|id, _| acts.contains(id));
    let stays = |sent: &Sent| acts.contains(&sent.flight.to.number());
    let acted = |sent: &Sent| acts.contains(&sent.flight.from.number());
    less.header.in_flight.retain(|sent| stays(sent) && acted(sent));
    less.steps.iter_mut().for_each(|step| step.sent.retain(stays));
    let (are, them) = if idle.len() == 1 { ("is", "it") } else { ("are", "them") };
    let told = format!(
        "Nothing happens to {}, which {are} not drawn, and neither is what is sent to {them}.",
        words::ids(&idle)
    );
    (Cow::Owned(less), Some(told))
}

/// The processes to which something happens in a step.
fn concerned(step: &Step, acts: &mut BTreeSet<u8>) {
    acts.extend(step.node.map(Id::number));
    acts.extend(step.changed.keys());
    match &step.event {
        Event::Deliver(flight) | Event::Lose(flight) | Event::Duplicate(flight) => {
            let Flight { from, to, .. } = flight;
            acts.extend([from.number(), to.number()]);
        }
        Event::Cut { link, .. } | Event::Heal { link, .. } => acts.extend(link.map(Id::number)),
        Event::Expire { .. }
        | Event::Choose { .. }
        | Event::Crash
        | Event::Recover
        | Event::Pause
        | Event::Resume
        | Event::Jump { .. }
        | Event::Tick => {}
    }
}
