//! Why not: what the model does in the step in which a program parts from it, what it reads there,
//! and on which messages the step depends.

use crate::compare::{Expected, fields, persists, sends, sent, written};
use crate::divergence::{Difference, Divergence, happening};
use crate::guards::{Case, does, was};
use crate::mapping::{Mapping, Process, Sides, SpecEvent};
use crate::node::NodeView;
use crate::pair::Pair;
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{Event, Flight, Step, Trace, label_of};
use std::collections::BTreeSet;

/// Fills in what the execution tells of why model and program part at its end.
pub(crate) fn explain<T: Sides>(mapping: &Mapping<T>, divergence: &mut Divergence) {
    divergence.depends = depends(&divergence.trace);
    if !divergence.probe {
        // An execution that does not show it again was merged from several: it explains nothing.
        let _ = last_step(mapping, divergence);
    }
}

/// The last step. Nothing, if the program does not take those before it.
fn last_step<T: Sides>(mapping: &Mapping<T>, divergence: &mut Divergence) -> Option<()> {
    let world = divergence.trace.world::<T::Spec>().ok()?.concrete();
    let actions = divergence.trace.actions(&world).ok()?;
    let (last, before) = actions.split_last()?;
    let (id, happening) = happening::<T::Spec>(last)?;
    let mut pair = Pair::begin(mapping, &world).ok()?.ok()?;
    let mut met = vec![pair.nodes().get(id.index())?.view];
    for action in before {
        pair.step(action).ok()?;
        let view = pair.nodes()[id.index()].view;
        if met.last() != Some(&view) {
            met.push(view);
        }
    }
    if let Some(other) = divergence.differences.first().map(|found| found.node)
        && other != id
    {
        divergence.before = was(&pair.nodes()[other.index()].view);
        divergence.expected = vec![format!("nothing happens to {other}")];
        return Some(());
    }
    let (group, node) = (pair.group(), &pair.nodes()[id.index()]);
    divergence.before = was(&node.view);
    if happening == SpecEvent::Crash {
        divergence.expected = vec!["is down then".to_owned()];
        return Some(());
    }
    let mut run = Expected::nothing(&node.view);
    run.happens(group, mapping.rules, id, happening);
    divergence.expected = does(&run);
    let mut outputs = Vec::new();
    let after = node.react(group, happening, &mut outputs).ok()?;
    let (sent, written) = (sent(mapping, &outputs), written(mapping, &outputs));
    let agrees = |run: &Expected<T::Spec>, from: &Process<T>| {
        let mut found = Vec::new();
        sends::<T::Spec>(id, group.size, &sent, &run.effects, &mut found);
        persists::<T::Spec>(id, &written, &run.effects, &mut found);
        found.is_empty()
            && mapping.compared(run.view.timers) == after.view.timers
            && same_change::<T>(id, [from, &run.view.process], [&node.view, &after.view])
    };
    let case = Case { group, id, rules: mapping.rules, view: &node.view, happening };
    divergence.guards = case.guards(&met, &agrees);
    Some(())
}

/// Whether a process of the model changes as the one does that a node stands for, if it was another
/// one before: a field that differs at the end has changed in neither.
fn same_change<T: Sides>(
    id: Id,
    [from, to]: [&Process<T>; 2],
    [before, after]: [&NodeView<T::Spec>; 2],
) -> bool {
    let names = |one: &Process<T>, other: &Process<T>| {
        let mut found = Vec::<Difference>::new();
        fields(id, one, other, &mut found);
        found.into_iter().map(|found| found.what).collect::<BTreeSet<_>>()
    };
    let changed = &names(from, to) | &names(&before.process, &after.process);
    after.up && names(to, &after.process).is_disjoint(&changed)
}

/// The messages on which the last step depends, the last one first: what its node has received, and
/// what those that sent it had received before.
fn depends(trace: &Trace) -> Vec<String> {
    let (mut nodes, mut awaited) = (BTreeSet::<Id>::new(), BTreeSet::<u32>::new());
    let mut arrived = Vec::new();
    for (at, step) in trace.steps.iter().enumerate().rev() {
        let sends = || step.sent.iter().any(|sent| awaited.contains(&sent.flight.id));
        let counts = at + 1 == trace.steps.len()
            || step.node.is_some_and(|node| nodes.contains(&node))
            || sends();
        if !counts {
            continue;
        }
        nodes.extend(step.node);
        if let Event::Deliver(flight) = &step.event {
            awaited.insert(flight.id);
            arrived.push((flight, step.seq));
        }
    }
    let words = |(flight, step): (&Flight, usize)| {
        let Flight { id, from, to, message } = flight;
        let sends = |step: &&Step| step.sent.iter().any(|sent| sent.flight.id == *id);
        let sent = match trace.steps.iter().find(sends) {
            Some(sent) => format!("sent in step {}", sent.seq),
            None => "in flight at the beginning".to_owned(),
        };
        format!("{} from {from} to {to}: {sent}, arrives in step {step}", label_of(message))
    };
    arrived.into_iter().map(words).collect()
}
