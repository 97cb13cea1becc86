//! What is counted in an execution, as data: to count something else, add an entry to [`all`].

use crate::machine::{Effect, Message, Timer};
use crate::protocol::{Belief, Id};
use crate::world::{Action, Outcome, State, Timing, World};

/// One step of an execution; at the beginning, of a process that starts.
pub(super) struct CountedStep<'a> {
    /// Where it happens.
    pub(super) world: &'a World,
    /// The state before it.
    pub(super) before: &'a State,
    /// What happened; nothing where processes start at the beginning.
    pub(super) action: Option<&'a Action>,
    /// What followed.
    pub(super) outcome: &'a Outcome,
}

/// What kind of thing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CountedKind {
    /// One of those that are not told apart.
    One,
    /// A message of this kind.
    Message(Message),
    /// This timer.
    Timer(Timer),
}

/// Tells each thing that counts in a step.
type Count = fn(&CountedStep<'_>, &mut dyn FnMut(CountedKind));

/// Something that can be counted.
pub(super) struct Metric {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// What counts as one.
    pub(super) meaning: &'static str,
    /// Tells each thing that counts in a step.
    pub(super) count: Count,
}

/// Everything that is counted, in the order in which it is reported.
pub(super) fn all(timing: Timing) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = vec![
        Metric {
            name: "messages",
            meaning: "messages sent, also to a process that is down, into a cut link, or lost",
            count: messages,
        },
        Metric { name: "time-outs", meaning: "timers that expire", count: time_outs },
        Metric {
            name: "elections",
            meaning: "elections that a process begins",
            count: |h, count| one(elections(h), count),
        },
        Metric {
            name: "leaderships",
            meaning: "times that a process begins to lead",
            count: |h, count| one(leaderships(h), count),
        },
    ];
    if timing.timed().is_some() {
        metrics.push(Metric {
            name: "ticks",
            meaning: "ticks that pass",
            count: |h, count| one(usize::from(matches!(h.action, Some(Action::Tick))), count),
        });
    }
    metrics
}

fn one(times: usize, count: &mut dyn FnMut(CountedKind)) {
    (0..times).for_each(|_| count(CountedKind::One));
}

fn messages(happening: &CountedStep<'_>, count: &mut dyn FnMut(CountedKind)) {
    for effect in &happening.outcome.effects {
        if let Effect::Send { message, .. } = *effect {
            count(CountedKind::Message(message));
        }
    }
}

fn time_outs(happening: &CountedStep<'_>, count: &mut dyn FnMut(CountedKind)) {
    if let Some(Action::Expire { timer, .. }) = happening.action
        && !timer.is_outcome()
    {
        count(CountedKind::Timer(*timer));
    }
}

fn elections(happening: &CountedStep<'_>) -> usize {
    let Some(actor) = happening.outcome.actor else { return 0 };
    let before = happening.before.process(actor);
    let after = happening.outcome.state.process(actor);
    let machine = happening.world.machine();
    usize::from(machine.begins_election(before, after, &happening.outcome.effects))
}

fn leaderships(happening: &CountedStep<'_>) -> usize {
    let leads = |state: &State, id: Id| state.belief(id) == Some(Belief::Leads);
    let (before, after) = (happening.before, &happening.outcome.state);
    after.ids().filter(|&id| leads(after, id) && !leads(before, id)).count()
}
