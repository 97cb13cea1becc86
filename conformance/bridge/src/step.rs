//! One step: what the specification says that follows for one process, without a world; and the
//! same step of the node beside it.

use crate::compare::{self, Expected, ExpectedReport, compare};
use crate::divergence::Difference;
use crate::mapping::{Mapping, ProgramOutput, Sides, SpecEvent};
use crate::node::{Group, Node, NodeView};
use bellwether_core::protocol::Time;
use bellwether_engine::machine::typed_effects;
use bellwether_engine::protocol::{Effect, Effects, Id, Local, Protocol as Specification, Said};
use bellwether_engine::world::{Outcome, State};

// What follows from one thing after the other.
impl<P: Specification> Expected<P> {
    /// This happens next, by these rules. A process that is down gets no message and no request.
    pub(crate) fn happens<T: Sides<Spec = P>>(
        &mut self,
        group: &Group<'_, T>,
        rules: P,
        id: Id,
        happening: SpecEvent<P>,
    ) {
        let mut before = self.view;
        match happening {
            SpecEvent::Receive { .. } | SpecEvent::Asked(_) if !before.up => return,
            SpecEvent::Expire(timer) => before.timers = before.timers.without::<P>(timer),
            SpecEvent::Boot
            | SpecEvent::Receive { .. }
            | SpecEvent::Asked(_)
            | SpecEvent::Crash => {}
        }
        let (after, effects, said) = alone(group, id, &before, |process| match happening {
            SpecEvent::Boot => rules.recover(process),
            SpecEvent::Receive { from, message } => rules.receive(process, from, message),
            SpecEvent::Expire(timer) => {
                process.expires(timer);
                rules.expire(process, timer);
            }
            SpecEvent::Asked(request) => rules.asked(process, request),
            SpecEvent::Crash => {}
        });
        self.told.push(ExpectedReport::of(&happening, said));
        self.effects.extend(effects);
        self.view = after;
    }

    /// These timers expire one after the other, at one moment. One that is cancelled or armed anew
    /// meanwhile does not.
    pub(crate) fn expire_all<T: Sides<Spec = P>>(
        &mut self,
        group: &Group<'_, T>,
        id: Id,
        timers: impl IntoIterator<Item = P::Timer>,
    ) {
        for timer in timers {
            let touched = |effect: &Effect<P>| match *effect {
                Effect::Arm(other) | Effect::Cancel(other) => other == timer,
                Effect::ArmSince { timer: other, since } => other == timer || since == timer,
                Effect::Persist(_) | Effect::Send { .. } => false,
            };
            if !self.effects.iter().any(touched) {
                self.happens(group, group.mapping.rules, id, SpecEvent::Expire(timer));
            }
        }
    }
}

/// The step of a process that a node stands for, without a world: the process afterwards, what it
/// did, and what it said.
fn alone<T: Sides>(
    group: &Group<'_, T>,
    id: Id,
    before: &NodeView<T::Spec>,
    event: impl FnOnce(&mut Local<'_, T::Spec>),
) -> (NodeView<T::Spec>, Effects<T::Spec>, Said) {
    let mut after = *before;
    let mut effects = Effects::<T::Spec>::new();
    let has = (before.stable, before.timers);
    let nodes = group.size - T::Spec::OPTIONS.services.count;
    let mut local = Local::new(id, nodes, has, &mut after.process, &mut effects);
    event(&mut local);
    let said = local.said();
    after.timers = local.timers();
    after.up = true;
    for effect in &effects {
        if let Effect::Persist(value) = effect {
            after.stable = *value;
        }
    }
    (after, effects, said)
}

/// The process `id` as it must be after the `outcome` of what happened to it.
pub(crate) fn after<P: Specification>(
    outcome: &Outcome,
    id: Id,
    happening: &SpecEvent<P>,
) -> Expected<P> {
    let effects = typed_effects::<P>(&outcome.effects);
    let told = vec![ExpectedReport::of(happening, outcome.said)];
    Expected { effects, told, ..Expected::of(&outcome.state, id) }
}

/// One node takes a step; what it became, if that is what its process became.
pub(crate) fn step<T: Sides>(
    group: &Group<'_, T>,
    before: &Node<T>,
    happening: SpecEvent<T::Spec>,
    expected: &Expected<T::Spec>,
    outputs: &mut Vec<ProgramOutput<T>>,
) -> Result<Node<T>, Vec<Difference>> {
    let after = before.react(group, happening, outputs).map_err(|difference| vec![difference])?;
    // After a crash, what counts is that the new incarnation is blank and silent.
    let before = if happening == SpecEvent::Crash { &after } else { before };
    let found = compare(group, before, outputs, &after, expected);
    if found.is_empty() { Ok(after) } else { Err(found) }
}

/// Something happens to a node at this moment; what it became, if that is what is expected.
pub(crate) fn act<T: Sides>(
    group: &Group<'_, T>,
    before: &Node<T>,
    now: Time,
    expected: &Expected<T::Spec>,
    outputs: &mut Vec<ProgramOutput<T>>,
    act: impl FnOnce(&mut T::Program),
) -> Result<Node<T>, Vec<Difference>> {
    outputs.clear();
    let mut after = before.clone();
    after.run(group, now, outputs, act).map_err(|difference| vec![difference])?;
    let found = compare(group, before, outputs, &after, expected);
    if found.is_empty() { Ok(after) } else { Err(found) }
}

/// One node takes a step as the specification says for its process alone, without a world.
pub(crate) fn lone_step<T: Sides>(
    group: &Group<'_, T>,
    before: &Node<T>,
    happening: SpecEvent<T::Spec>,
    outputs: &mut Vec<ProgramOutput<T>>,
) -> Result<Node<T>, Vec<Difference>> {
    let mut follows = Expected::nothing(&before.view);
    follows.happens(group, group.mapping.rules, before.id, happening);
    step(group, before, happening, &follows, outputs)
}

/// What differs between a node and its process, which took no step.
pub(crate) fn bystander<T: Sides>(
    mapping: &Mapping<T>,
    node: &Node<T>,
    state: &State,
    found: &mut Vec<Difference>,
) {
    let (id, view) = (node.id, &node.view);
    let stands = view.up == state.up(id)
        && view.timers == mapping.compared(state.timers(id))
        && view.process == *state.process_of::<T::Spec>(id)
        && view.stable == *state.stable_of::<T::Spec>(id);
    if !stands {
        compare::state(id, view, &Expected::<T::Spec>::of(state, id), found);
        let armed = mapping.compared(state.timers(id));
        compare::armed::<T::Spec>(id, armed, view.timers, found);
    }
}
