//! One step of one node, checked against the same step of its process.
//!
//! Outputs come first, so a difference is called after what was put out rather than after the
//! state that led to it. What is compared:
//!
//! - the messages sent: the same ones, in the same order, whatever the network does to them next;
//! - what is written to stable storage: the same values in the same order;
//! - whether the node is up, and every field of its state;
//! - the timers: the same ones are armed, and each is due when the specification says: one that was
//!   armed in this step, its [period](Mapping::period) from now; one that was armed [as if it had
//!   been when another was](Effect::ArmSince), from that moment; any other stays as it was;
//! - the wake-up: exactly the earliest deadline, told when it changes and only then;
//! - the events: one for each change of role or leader, telling exactly the change, for the reason
//!   that the mapping names; and one for each message that is ignored, and no other;
//! - the order of effects: durable, then messages, then events, then the wake-up.

use crate::divergence::Difference;
use crate::mapping::{
    Mapping, Process, ProgramOutput, SpecEvent, Stable, Step, is_from_outside, node_id, process_id,
};
use crate::node::{Deadlines, Group, Node, NodeView};
use bellwether_core::protocol::{Event, NodeId, Output, Role, Time};
use bellwether_engine::protocol::{Effect, Effects, Id, Protocol as Specification, Timers};
use bellwether_engine::trace::{label, label_of, plain, plain_value};
use bellwether_engine::world::State;
use serde::Serialize;
use std::time::Duration;

/// What a process of the model is after a step, and what it did in it.
pub(crate) struct Expected<P: Specification> {
    pub(crate) up: bool,
    pub(crate) process: P::Process,
    pub(crate) stable: P::Stable,
    pub(crate) timers: Timers,
    pub(crate) effects: Effects<P>,
}

impl<P: Specification> Expected<P> {
    /// What process `id` is in `state`, having done `effects`.
    pub(crate) fn of(state: &State, id: Id, effects: Effects<P>) -> Self {
        Expected {
            up: state.up(id),
            process: *state.process_of::<P>(id),
            stable: *state.stable_of::<P>(id),
            timers: state.timers(id),
            effects,
        }
    }

    /// That nothing follows: the process stays what the node shows.
    pub(crate) fn nothing(view: &NodeView<P>) -> Self {
        let NodeView { up, process, stable, timers, .. } = *view;
        Expected { up, process, stable, timers, effects: Effects::<P>::new() }
    }
}

/// What the program must tell of one step, by the names of its reasons.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExpectedReport {
    /// Why the belief changes, if it does.
    pub(crate) reason: Option<&'static str>,
    /// Whose message is ignored, and why.
    pub(crate) ignored: Option<(NodeId, &'static str)>,
}

impl ExpectedReport {
    /// What the mapping says of a step of a node that was `before`.
    pub(crate) fn of<M: Mapping>(
        group: &Group<'_, M>,
        id: Id,
        before: &NodeView<M::Spec>,
        happening: SpecEvent<M::Spec>,
        after: &Process<M>,
    ) -> ExpectedReport {
        let NodeView { process, stable, .. } = before;
        let step = Step { id, nodes: group.size, before: process, stable, happening, after };
        match happening {
            // A node that has not booted tells nothing.
            SpecEvent::Receive { .. } if !before.up => ExpectedReport::default(),
            SpecEvent::Receive { from, .. } => ExpectedReport {
                reason: group.mapping.reason(&step),
                ignored: group.mapping.ignores(&step).map(|cause| (node_id(from), cause)),
            },
            _ => ExpectedReport { reason: group.mapping.reason(&step), ignored: None },
        }
    }
}

/// What differs after steps that led from `before` to `after`, each of which must be told like
/// this, and put out `outputs`.
pub(crate) fn compare<M: Mapping>(
    group: &Group<'_, M>,
    before: &Node<M>,
    outputs: &[ProgramOutput<M>],
    after: &Node<M>,
    expected: &Expected<M::Spec>,
    told: &[ExpectedReport],
) -> Vec<Difference> {
    let mut found = Vec::new();
    sends(group, after, outputs, expected, &mut found);
    persists(group, after.id, outputs, expected, &mut found);
    state(after.id, &after.view, expected, &mut found);
    timers(group, before, after, expected, &mut found);
    wake(before, after, outputs, &mut found);
    events::<M>(&before.view, after, outputs, told, &mut found);
    order::<M>(after.id, outputs, &mut found);
    found
}

fn sends<M: Mapping>(
    group: &Group<'_, M>,
    after: &Node<M>,
    outputs: &[ProgramOutput<M>],
    expected: &Expected<M::Spec>,
    found: &mut Vec<Difference>,
) {
    let model = || {
        expected.effects.iter().filter_map(|effect| match *effect {
            Effect::Send { to, message } => Some((node_id(to), message)),
            _ => None,
        })
    };
    let program = || {
        outputs.iter().filter_map(|output| match output {
            Output::Send { to, message } => Some((*to, after.message_sent(group, *message))),
            _ => None,
        })
    };
    if model().eq(program()) {
        return;
    }
    let member = |to: NodeId| process_id(to).is_some_and(|to| to.index() < group.size);
    let words = |(to, message): (NodeId, _)| {
        let stranger = if member(to) { "" } else { ", which is no member" };
        format!("{} to {to}{stranger}", label(&message))
    };
    let model: Vec<String> = model().map(words).collect();
    let program: Vec<String> = program().map(words).collect();
    lists(after.id, "message", &model, &program, found);
}

fn persists<M: Mapping>(
    group: &Group<'_, M>,
    id: Id,
    outputs: &[ProgramOutput<M>],
    expected: &Expected<M::Spec>,
    found: &mut Vec<Difference>,
) {
    let model = || {
        expected.effects.iter().filter_map(|effect| match effect {
            Effect::Persist(value) => Some(*value),
            _ => None,
        })
    };
    let program = || {
        outputs.iter().filter_map(|output| match output {
            Output::Persist(durable) => Some(group.mapping.stable(durable)),
            _ => None,
        })
    };
    if !model().eq(program()) {
        let words = |value: Stable<M>| plain(&value);
        let model: Vec<String> = model().map(words).collect();
        let program: Vec<String> = program().map(words).collect();
        lists(id, "write", &model, &program, found);
    }
}

/// What one list has more often than the other; if nothing, they differ in their order.
fn lists(id: Id, what: &str, model: &[String], program: &[String], found: &mut Vec<Difference>) {
    let mut unexpected = program.to_vec();
    let mut missing = model.to_vec();
    missing.retain(|item| match unexpected.iter().position(|other| other == item) {
        Some(at) => {
            unexpected.remove(at);
            false
        }
        None => true,
    });
    if missing.is_empty() && unexpected.is_empty() {
        let (model, program) = (model.join(", "), program.join(", "));
        found.push(Difference::different(id, format!("order of {what}s"), model, program));
    }
    found.extend(missing.into_iter().map(|item| Difference::missing(id, what, item)));
    found.extend(unexpected.into_iter().map(|item| Difference::unexpected(id, what, item)));
}

/// What differs between a process and the node's face, field by field.
pub(crate) fn state<P: Specification>(
    id: Id,
    view: &NodeView<P>,
    expected: &Expected<P>,
    found: &mut Vec<Difference>,
) {
    if view.up != expected.up {
        let words = |up: bool| if up { "up" } else { "down" };
        found.push(Difference::different(id, "node", words(expected.up), words(view.up)));
    }
    if view.process != expected.process {
        fields(id, &expected.process, &view.process, found);
    }
    if view.stable != expected.stable {
        fields(id, &expected.stable, &view.stable, found);
    }
}

fn fields(id: Id, model: &impl Serialize, program: &impl Serialize, found: &mut Vec<Difference>) {
    let null = serde_json::Value::Null;
    let json = (serde_json::to_value(model), serde_json::to_value(program));
    let (Ok(serde_json::Value::Object(model)), Ok(serde_json::Value::Object(program))) = &json
    else {
        let (model, program) = (plain(model), plain(program));
        return found.push(Difference::different(id, "state", model, program));
    };
    for (name, ours) in model {
        let theirs = program.get(name).unwrap_or(&null);
        if ours != theirs {
            found.push(Difference::different(id, name.as_str(), value(ours), value(theirs)));
        }
    }
}

/// A field as people read it: the items of a list one by one, messages among them by their labels.
fn value(of: &serde_json::Value) -> String {
    use serde_json::Value;
    let item = |of: &Value| match of {
        Value::Array(parts) => {
            let part = |of: &Value| if of.is_object() { label_of(of) } else { plain_value(of) };
            format!("({})", parts.iter().map(part).collect::<Vec<_>>().join(", "))
        }
        other => plain_value(other),
    };
    match of {
        Value::Array(items) if items.is_empty() => "nothing".to_owned(),
        Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(", "),
        other => plain_value(other),
    }
}

fn timers<M: Mapping>(
    group: &Group<'_, M>,
    before: &Node<M>,
    after: &Node<M>,
    expected: &Expected<M::Spec>,
    found: &mut Vec<Difference>,
) {
    let due = deadlines(group, before, after, &expected.effects);
    for (at, row) in M::Spec::TIMERS.iter().enumerate() {
        let timer = row.timer;
        if is_from_outside(group.mapping, timer) {
            continue;
        }
        let armed = expected.timers.contains::<M::Spec>(timer);
        let is_armed = after.view.timers.contains::<M::Spec>(timer);
        // A detector outside the core runs or does not; when it was started is its affair.
        let detects = group.mapping.detects(timer).is_some();
        if armed == is_armed && (!armed || detects || due[at] == after.deadlines[at]) {
            continue;
        }
        let name = plain(&timer);
        if armed != is_armed {
            let words = |armed, anew| match (armed, anew) {
                (true, true) => format!("{name} is armed now"),
                (true, false) => format!("{name} stays armed"),
                (false, _) => format!("{name} is not armed"),
            };
            let anew = [due[at], after.deadlines[at]].map(|due| due != before.deadlines[at]);
            let (model, program) = (words(armed, anew[0]), words(is_armed, anew[1]));
            found.push(if armed {
                Difference::missing(after.id, "timer", model).but(program)
            } else {
                Difference::unexpected(after.id, "timer", program).but(model)
            });
            continue;
        }
        let (stays, now) = (format!("{name} stays armed"), format!("{name} is armed now"));
        let words = |due: Option<Time>| {
            let due = due.map(|due| due.since(after.now));
            format!("{name} due {}", due.map_or("never".into(), |due| format!("in {due:?}")))
        };
        let old = before.deadlines[at];
        found.push(if due[at] == old {
            Difference::unexpected(after.id, "timer", now).but(stays)
        } else if after.deadlines[at] == old {
            Difference::missing(after.id, "timer", now).but(stays)
        } else {
            let (model, program) = (words(due[at]), words(after.deadlines[at]));
            Difference::different(after.id, "deadline", model, program)
        });
    }
}

/// When each timer is due after `effects`, by the specification and the configured periods.
fn deadlines<M: Mapping>(
    group: &Group<'_, M>,
    before: &Node<M>,
    after: &Node<M>,
    effects: &[Effect<M::Spec>],
) -> Deadlines {
    let periods = &group.periods[after.id.index()];
    let mut due = before.deadlines;
    for effect in effects {
        match *effect {
            Effect::Arm(timer) => {
                let at = Timers::place::<M::Spec>(timer);
                due[at] = periods[at].map(|period| after.now + period);
            }
            Effect::ArmSince { timer, since } => {
                let from = Timers::place::<M::Spec>(since);
                let at = Timers::place::<M::Spec>(timer);
                let began = due[from].take().zip(periods[from]);
                let began = began.map(|(due, period)| armed_at(due, period));
                due[at] = began.zip(periods[at]).map(|(began, period)| began + period);
            }
            Effect::Persist(_) | Effect::Send { .. } | Effect::Cancel(_) => {}
        }
    }
    due
}

/// When something was armed that is due then, and takes so long.
pub(crate) fn armed_at(due: Time, period: Duration) -> Time {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
    Time::from_nanos(due.as_nanos().saturating_sub(period))
}

fn wake<M: Mapping>(
    before: &Node<M>,
    after: &Node<M>,
    outputs: &[ProgramOutput<M>],
    found: &mut Vec<Difference>,
) {
    let told = || {
        outputs.iter().filter_map(|output| match output {
            Output::WakeAt(wake) => Some(*wake),
            _ => None,
        })
    };
    let words = |at: Option<Time>| match at {
        Some(at) => format!("in {:?}", at.since(after.now)),
        None => "never".to_owned(),
    };
    let due = after.earliest();
    if after.wake != due {
        let model = words(due);
        found.push(if told().next().is_none() {
            Difference::missing(after.id, "wake-up", model)
        } else {
            Difference::different(after.id, "wake-up", model, words(after.wake))
        });
    }
    let again = told().next().filter(|&first| first == before.wake);
    if told().count() > 1 || again.is_some() {
        found.push(Difference::unexpected(after.id, "wake-up", "told more than once"));
    }
}

fn events<M: Mapping>(
    before: &NodeView<M::Spec>,
    after: &Node<M>,
    outputs: &[ProgramOutput<M>],
    expected: &[ExpectedReport],
    found: &mut Vec<Difference>,
) {
    let words = |(role, leader): (Role, Option<NodeId>)| match leader {
        Some(leader) => format!("{role} of {leader}"),
        None => role.to_string(),
    };
    let mut reasons = expected.iter().filter_map(|told| told.reason);
    let (mut known, mut told) = ((before.role, before.leader), 0);
    for output in outputs {
        let Output::Event(Event::RoleChanged { from, to, leader, reason }) = *output else {
            continue;
        };
        if from != known.0 {
            let (model, program) = (known.0.to_string(), from.to_string());
            found.push(Difference::different(after.id, "role before, in an event", model, program));
        }
        if (to, leader) == known {
            let words = format!("{}, which it was already", words(known));
            found.push(Difference::unexpected(after.id, "event", words));
        }
        let possible: Vec<_> = reasons.clone().collect();
        if !reasons.any(|name| name == reason.name()) {
            let names = if possible.is_empty() { "none".into() } else { possible.join(" or ") };
            found.push(Difference::different(after.id, "reason", names, reason.name()));
        }
        (known, told) = ((to, leader), told + 1);
    }
    let now = (after.view.role, after.view.leader);
    if known != now {
        found.push(if told == 0 {
            Difference::missing(after.id, "event", format!("becomes {}", words(now)))
        } else {
            Difference::different(after.id, "role told in an event", words(now), words(known))
        });
    }
    ignored::<M>(after.id, outputs, expected, found);
}

fn ignored<M: Mapping>(
    id: Id,
    outputs: &[ProgramOutput<M>],
    expected: &[ExpectedReport],
    found: &mut Vec<Difference>,
) {
    let model = || expected.iter().filter_map(|told| told.ignored);
    let program = || {
        outputs.iter().filter_map(|output| match output {
            Output::Event(Event::Ignored { from, cause }) => Some((*from, cause.name())),
            _ => None,
        })
    };
    if !model().eq(program()) {
        let words = |(from, cause): (NodeId, &str)| format!("ignores a message of {from}, {cause}");
        let model: Vec<String> = model().map(words).collect();
        let program: Vec<String> = program().map(words).collect();
        lists(id, "event", &model, &program, found);
    }
}

fn order<M: Mapping>(id: Id, outputs: &[ProgramOutput<M>], found: &mut Vec<Difference>) {
    let rank = |output: &ProgramOutput<M>| match output {
        Output::Persist(_) => 0,
        Output::Send { .. } => 1,
        Output::Event(_) => 2,
        Output::WakeAt(_) => 3,
    };
    if outputs.is_sorted_by_key(rank) {
        return;
    }
    let names = ["write", "message", "event", "wake-up"];
    let is: Vec<_> = outputs.iter().map(|output| names[rank(output)]).collect();
    let mut should = outputs.iter().map(rank).collect::<Vec<_>>();
    should.sort_unstable();
    let should: Vec<_> = should.into_iter().map(|rank| names[rank]).collect();
    found.push(Difference::different(id, "order of effects", should.join(", "), is.join(", ")));
}
