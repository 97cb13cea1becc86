//! What a node tells the outside beside its role and its leader, as applications and what surrounds
//! the node ask for it.

use super::{Expected, same};
use crate::divergence::Difference;
use crate::mapping::{
    ExpectedFacts, Mapping, ProcessView, ProgramCore, ProgramTimer, Sides, SpecTimer, Waits,
    node_id, process_id,
};
use crate::node::{Group, Node, NodeView};
use crate::program::{self, Facts, Limits, Program as _};
use bellwether_core::protocol::{Core as _, Epoch, NodeId, Time};
use bellwether_engine::protocol::{Id, Ids, Timers};
use bellwether_engine::trace::plain;
use std::time::Duration;

/// The shortest time that there is.
const TICK: Duration = Duration::from_nanos(1);

/// What differs between what a node tells the outside and what its process says of that, if the
/// mapping says it. All else of the two is the same.
pub(crate) fn facts<T: Sides>(
    group: &Group<'_, T>,
    node: &Node<T>,
    expected: &Expected<T::Spec>,
    found: &mut Vec<Difference>,
) {
    if !node.view.up || !expected.view.up {
        return;
    }
    if let Some(model) = group.limits[node.id.index()] {
        limits(node.id, model, program::limits(node.program().node()), found);
    }
    let NodeView { process, stable, .. } = &expected.view;
    let of = ProcessView { id: node.id, nodes: group.size, process, stable };
    let Some(model) = (group.mapping.facts)(&of) else { return };
    let program = node.program().facts();
    leadership(group.mapping, node, &model, &program, found);
    waits(group.mapping, node, &model, &program, found);
    others(group.size, node, &model, &program, found);
}

/// The durations by which what surrounds a node acts.
fn limits(id: Id, model: Limits, program: Limits, found: &mut Vec<Difference>) {
    let values = |of: Limits| [of.lifetime, of.silence, of.election, of.slack];
    let names = [
        "lifetime of messages",
        "silence that is a pause",
        "time of an election",
        "time for which a round may wait for those of others",
    ];
    let (model, program) = (values(model), values(program));
    for (at, name) in names.into_iter().enumerate() {
        same(id, name, [model[at], program[at]], |of| format!("{of:?}"), found);
    }
}

/// The epoch, until when the lease of it lasts, and whether the node leads around that moment.
fn leadership<T: Sides>(
    mapping: &Mapping<T>,
    node: &Node<T>,
    model: &ExpectedFacts<T::Spec>,
    program: &Facts<ProgramTimer<T>>,
    found: &mut Vec<Difference>,
) {
    let number =
        |of: Option<Epoch>| of.map(|epoch| epoch.number().min(mapping.more.counters.largest_epoch));
    let mut epochs = |what: &str, model: Option<u64>, program: Option<u64>| {
        let words = |of: &Option<u64>| of.map_or("none".to_owned(), |of| of.to_string());
        same(node.id, what, [model, program], words, found);
    };
    epochs("epoch", model.epoch, number(program.epoch));
    epochs("epoch that it prepares for", model.prepares, number(program.prepares));
    let until = model.lease.and_then(|timer| node.deadlines[Timers::place::<T::Spec>(timer)]);
    let of_lease = program.lease.map(|lease| lease.epoch);
    epochs("epoch of the lease", model.epoch.filter(|_| until.is_some()), number(of_lease));
    let leads = |at: Time| number(node.program().leads(at));
    match until {
        None => epochs("epoch that it leads", None, leads(node.now)),
        Some(until) => {
            let before = Time::from_nanos(until.as_nanos().saturating_sub(1));
            epochs("epoch that it leads before its lease ends", model.epoch, leads(before));
            epochs("epoch that it leads when its lease ends", None, leads(until));
            epochs("epoch that it leads after its lease has ended", None, leads(until + TICK));
        }
    }
    let told = program.lease.map(|lease| lease.until);
    let words = |of: &Option<Time>| match of {
        Some(until) => format!("in {:?}", until.since(node.now)),
        None => "never".to_owned(),
    };
    same(node.id, "end of the lease", [until, told], words, found);
}

/// The nodes that it waits for, and the timer that runs for them alone.
fn waits<T: Sides>(
    mapping: &Mapping<T>,
    node: &Node<T>,
    model: &ExpectedFacts<T::Spec>,
    program: &Facts<ProgramTimer<T>>,
    found: &mut Vec<Difference>,
) {
    type Waiting<T> = Option<(SpecTimer<T>, Vec<NodeId>)>;
    let runs = |timer: SpecTimer<T>| node.deadlines[Timers::place::<T::Spec>(timer)].is_some();
    let model: Waiting<T> = match model.waits_for {
        Waits::Unsaid => return,
        Waits::For(timer, nodes) if runs(timer) && !nodes.is_empty() => {
            Some((timer, nodes.iter().map(node_id).collect()))
        }
        Waits::For(..) | Waits::Nothing => None,
    };
    let told: Waiting<T> = program.waits_for.as_ref().map(|(timer, nodes)| {
        let mut nodes = nodes.clone();
        nodes.sort_unstable();
        ((mapping.timer)(*timer), nodes)
    });
    let words = |of: &Waiting<T>| match of {
        Some((timer, nodes)) => {
            let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
            format!("{} ({})", nodes.join(", "), plain(timer))
        }
        None => "none".to_owned(),
    };
    same(node.id, "nodes that it waits for", [model, told], words, found);
}

/// What it says of others: which may be named to lead, which it has asked to, and which it names.
fn others<T: Sides>(
    size: usize,
    node: &Node<T>,
    model: &ExpectedFacts<T::Spec>,
    program: &Facts<ProgramTimer<T>>,
    found: &mut Vec<Difference>,
) {
    let ids = |says: &dyn Fn(NodeId) -> bool| -> Ids {
        Id::all(size).filter(|&id| says(node_id(id))).collect()
    };
    let mut nodes = |what: &str, model: Ids, told: Ids| {
        same(node.id, what, [model, told], |&ids| listed(ids), found);
    };
    let core = node.program().node();
    let config = core.config();
    if let Some(may_lead) = model.may_lead {
        nodes("nodes that may lead", may_lead, ids(&|id| ProgramCore::<T>::may_lead(config, id)));
        nodes("witnesses", model.witnesses, ids(&|id| ProgramCore::<T>::is_witness(config, id)));
    }
    if let Some(awaited) = model.awaited {
        nodes("node that is to lead instead", awaited, ids(&|id| core.awaits_successor(id)));
    }
    let strange = |&to: &NodeId| process_id(to).is_none_or(|id| !model.successors.contains(id));
    if let Some(to) = program.successor.filter(strange) {
        let model = format!("one of {}", listed(model.successors));
        let what = "node that is best to lead next";
        found.push(Difference::different(node.id, what, model, to.to_string()));
    }
}

fn listed(ids: Ids) -> String {
    let ids: Vec<_> = ids.iter().map(|id| id.to_string()).collect();
    if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
}
