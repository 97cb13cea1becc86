//! One step of one node, checked against the same step of its process.
//!
//! Outputs come first, so a difference is called after what was put out rather than after the
//! state that led to it. What is compared:
//!
//! - the messages sent: the same ones, in the same order, whatever the network does to them next;
//! - what is written to stable storage: the same values in the same order;
//! - whether the node is up, and every field of its state;
//! - the role and the leader that it tells, where the mapping says what its process believes;
//! - the timers: the same ones are armed, and each is due when the specification says: one that was
//!   armed in this step, its [period](crate::mapping::Mapping::period) from now; one that was armed [as if it had
//!   been when another was](Effect::ArmSince), from that moment; any other stays as it was;
//! - the wake-up: exactly the earliest deadline, told when it changes and only then;
//! - the events: one for each change of role or leader, telling exactly the change, for the reason
//!   that the specification names; and one for each message that is ignored, and no other;
//! - the order of effects: durable, then messages, then events, then the wake-up;
//! - if all that is the same, what the node tells the outside besides: its epoch, its lease and the
//!   moment at which it leads no longer, whom it waits for, and which nodes may lead.

use crate::divergence::Difference;
use crate::mapping::{Mapping, ProgramOutput, Sides, SpecEvent, SpecMessage, Stable, node_id};
use crate::node::{Deadlines, Group, Node, NodeView};
use bellwether_core::protocol::{Event, NodeId, Output, Time};
use bellwether_engine::protocol::{Effect, Effects, Id, Protocol as Specification, Said, Timers};
use bellwether_engine::trace::{label_of, plain, plain_value};
use bellwether_engine::world::State;
use serde::Serialize;
use std::time::Duration;

mod facts;
mod lists;

pub(crate) use lists::{Change, events, ignored, order, persists, sends};

/// A process of the model after what happened, with what it did and what the program must tell.
#[derive(Clone)]
pub(crate) struct Expected<P: Specification> {
    /// What the process is then. The role and the leader that a node tells are not looked at.
    pub(crate) view: NodeView<P>,
    pub(crate) effects: Effects<P>,
    /// The reports, one for each thing that happened.
    pub(crate) told: Vec<ExpectedReport>,
}

impl<P: Specification> Expected<P> {
    /// The process `id` as it is in `state`, having done nothing.
    pub(crate) fn of(state: &State, id: Id) -> Self {
        Expected::nothing(&NodeView {
            up: state.up(id),
            process: *state.process_of::<P>(id),
            stable: *state.stable_of::<P>(id),
            timers: state.timers(id),
            ..NodeView::down()
        })
    }

    /// That nothing follows: the process stays what the node shows.
    pub(crate) fn nothing(view: &NodeView<P>) -> Self {
        Expected { view: *view, effects: Effects::<P>::new(), told: Vec::new() }
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
    /// The report of what a process has said of its step. A message that has waited until something
    /// else happens is ignored in silence.
    pub(crate) fn of<P: Specification>(happening: &SpecEvent<P>, said: Said) -> Self {
        let Said { reason, ignored } = said;
        let from = match *happening {
            SpecEvent::Receive { from, .. } => Some(node_id(from)),
            SpecEvent::Boot | SpecEvent::Expire(_) | SpecEvent::Asked(_) | SpecEvent::Crash => None,
        };
        ExpectedReport { reason, ignored: from.zip(ignored) }
    }
}

/// The differences after steps that led from `before` to `after`, and put out `outputs`.
pub(crate) fn compare<T: Sides>(
    group: &Group<'_, T>,
    before: &Node<T>,
    outputs: &[ProgramOutput<T>],
    after: &Node<T>,
    expected: &Expected<T::Spec>,
) -> Vec<Difference> {
    let mut found = Vec::new();
    let (sent, written) = (sent(group.mapping, outputs), written(group.mapping, outputs));
    sends::<T::Spec>(after.id, group.size, &sent, &expected.effects, &mut found);
    persists::<T::Spec>(after.id, &written, &expected.effects, &mut found);
    state(after.id, &after.view, expected, &mut found);
    belief(group.mapping, after.id, &after.view, expected, &mut found);
    timers(group, before, after, expected, &mut found);
    wake(before, after, outputs, &mut found);
    let changes = outputs.iter().filter_map(|output| match *output {
        Output::Event(Event::RoleChanged { from, to, leader, reason }) => {
            Some(Change { from, to, leader, reason: reason.name() })
        }
        _ => None,
    });
    let views = [before.view, after.view].map(|view| (view.role, view.leader));
    events(after.id, views, &changes.collect::<Vec<_>>(), &expected.told, &mut found);
    let causes = outputs.iter().filter_map(|output| match output {
        Output::Event(Event::Ignored { from, cause }) => Some((*from, cause.name())),
        _ => None,
    });
    ignored(after.id, &causes.collect::<Vec<_>>(), &expected.told, &mut found);
    let ranks = outputs.iter().map(|output| match output {
        Output::Persist(_) => 0,
        Output::Send { .. } => 1,
        Output::Event(_) => 2,
        Output::WakeAt(_) => 3,
    });
    order(after.id, ranks, &mut found);
    if found.is_empty() {
        facts::facts(group, after, expected, &mut found);
    }
    found
}

/// The messages that a node has sent, as the specification's.
pub(crate) fn sent<T: Sides>(
    mapping: &Mapping<T>,
    outputs: &[ProgramOutput<T>],
) -> Vec<(NodeId, SpecMessage<T>)> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Send { to, message } => Some((*to, (mapping.to_model)(message.clone(), true))),
        _ => None,
    });
    sent.collect()
}

/// What a node has put out to be durable, as the specification has it.
pub(crate) fn written<T: Sides>(
    mapping: &Mapping<T>,
    outputs: &[ProgramOutput<T>],
) -> Vec<Result<Stable<T>, String>> {
    let written = outputs.iter().filter_map(|output| match output {
        Output::Persist(durable) => Some(Ok((mapping.stable)(durable))),
        _ => None,
    });
    written.collect()
}

/// What differs between a process and the node's face, field by field.
pub(crate) fn state<P: Specification>(
    id: Id,
    view: &NodeView<P>,
    expected: &Expected<P>,
    found: &mut Vec<Difference>,
) {
    let words = |&up: &bool| String::from(if up { "up" } else { "down" });
    let model = &expected.view;
    same(id, "node", [model.up, view.up], words, found);
    if view.process != model.process {
        fields(id, &model.process, &view.process, found);
    }
    if view.stable != model.stable {
        fields(id, &model.stable, &view.stable, found);
    }
}

/// What differs between what a node tells that it believes and what its process does, if the
/// mapping says that.
pub(crate) fn belief<T: Sides>(
    mapping: &Mapping<T>,
    id: Id,
    view: &NodeView<T::Spec>,
    expected: &Expected<T::Spec>,
    found: &mut Vec<Difference>,
) {
    if !view.up || !expected.view.up {
        return;
    }
    let Some((role, leader)) = (mapping.believes)(id, &expected.view.process) else { return };
    same(id, "role", [role, view.role], ToString::to_string, found);
    let words = |leader: &Option<NodeId>| leader.map_or("none".to_owned(), |id| id.to_string());
    same(id, "leader", [leader.map(node_id), view.leader], words, found);
}

/// Adds a difference in `words`, unless the values of model and program are the same.
pub(crate) fn same<V: PartialEq>(
    id: Id,
    what: &str,
    [model, program]: [V; 2],
    words: impl Fn(&V) -> String,
    found: &mut Vec<Difference>,
) {
    if model != program {
        found.push(Difference::different(id, what, words(&model), words(&program)));
    }
}

/// What differs between the timers that are armed, as a set.
pub(crate) fn armed<P: Specification>(
    id: Id,
    model: Timers,
    program: Timers,
    found: &mut Vec<Difference>,
) {
    let words = |timers: &Timers| {
        let names: Vec<_> = timers.iter::<P>().map(|timer| plain(&timer)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    same(id, "timers", [model, program], words, found);
}

/// What differs between two values, field by field.
pub(crate) fn fields(
    id: Id,
    model: &impl Serialize,
    program: &impl Serialize,
    found: &mut Vec<Difference>,
) {
    use serde_json::{Value, to_value};
    let (Ok(Value::Object(model)), Ok(Value::Object(program))) =
        (to_value(model), to_value(program))
    else {
        return found.push(Difference::different(id, "state", plain(model), plain(program)));
    };
    for (name, ours) in &model {
        let theirs = program.get(name).unwrap_or(&Value::Null);
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

fn timers<T: Sides>(
    group: &Group<'_, T>,
    before: &Node<T>,
    after: &Node<T>,
    expected: &Expected<T::Spec>,
    found: &mut Vec<Difference>,
) {
    let due = deadlines(group, before, after, &expected.effects);
    for (at, row) in T::Spec::TIMERS.iter().enumerate() {
        let timer = row.timer;
        if group.mapping.is_from_outside(timer) {
            continue;
        }
        let armed = expected.view.timers.contains::<T::Spec>(timer);
        let is_armed = after.view.timers.contains::<T::Spec>(timer);
        // A detector outside the core runs or does not; when it was started is its affair.
        let detects = (group.mapping.more.events.detects)(timer).is_some();
        if armed == is_armed && (!armed || detects || due[at] == after.deadlines[at]) {
            continue;
        }
        let (id, name, old) = (after.id, plain(&timer), before.deadlines[at]);
        let due = [due[at], after.deadlines[at]];
        let (stays, anew) = (format!("{name} stays armed"), format!("{name} is armed now"));
        let words = |is_armed: bool, due: Option<Time>| match (is_armed, due != old) {
            (true, true) => anew.clone(),
            (true, false) => stays.clone(),
            (false, _) => format!("{name} is not armed"),
        };
        let (model, program) = (words(armed, due[0]), words(is_armed, due[1]));
        let when = |due: Option<Time>| {
            let due = due.map(|due| due.since(after.now));
            format!("{name} due {}", due.map_or("never".into(), |due| format!("in {due:?}")))
        };
        found.push(match (armed, is_armed) {
            (true, false) => Difference::missing(id, "timer", model).but(program),
            (false, true) => Difference::unexpected(id, "timer", program).but(model),
            _ if due[0] == old => Difference::unexpected(id, "timer", anew).but(stays),
            _ if due[1] == old => Difference::missing(id, "timer", anew).but(stays),
            _ => Difference::different(id, "deadline", when(due[0]), when(due[1])),
        });
    }
}

/// When each timer is due after `effects`, by the specification and the configured periods.
fn deadlines<T: Sides>(
    group: &Group<'_, T>,
    before: &Node<T>,
    after: &Node<T>,
    effects: &[Effect<T::Spec>],
) -> Deadlines {
    let period = |at: usize| {
        let again = after
            .restarted
            .and_then(|with| (group.mapping.more.restarts.period)(with, T::Spec::TIMERS[at].timer));
        again.or(group.periods[after.id.index()][at])
    };
    let mut due = before.deadlines;
    for effect in effects {
        match *effect {
            Effect::Arm(timer) => {
                let at = Timers::place::<T::Spec>(timer);
                due[at] = period(at).map(|period| after.now + period);
            }
            Effect::ArmSince { timer, since } => {
                let from = Timers::place::<T::Spec>(since);
                let at = Timers::place::<T::Spec>(timer);
                let began = due[from].take().zip(period(from));
                let began = began.map(|(due, period)| armed_at(due, period));
                due[at] = began.zip(period(at)).map(|(began, period)| began + period);
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

fn wake<T: Sides>(
    before: &Node<T>,
    after: &Node<T>,
    outputs: &[ProgramOutput<T>],
    found: &mut Vec<Difference>,
) {
    let told = || {
        outputs.iter().filter_map(|output| match output {
            Output::WakeAt(wake) => Some(*wake),
            _ => None,
        })
    };
    let due = after.earliest();
    if after.wake != due {
        let is_told = told().next().is_some();
        let [model, program] = [due, after.wake].map(|at| match at {
            Some(at) => format!("in {:?}", at.since(after.now)),
            None => "never".to_owned(),
        });
        found.push(if is_told {
            Difference::different(after.id, "wake-up", model, program)
        } else {
            Difference::missing(after.id, "wake-up", model)
        });
    }
    let again = told().next().filter(|&first| first == before.wake);
    if told().count() > 1 || again.is_some() {
        found.push(Difference::unexpected(after.id, "wake-up", "told more than once"));
    }
}
