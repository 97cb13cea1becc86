//! One step: what the specification says that follows for one process, without a world; and the
//! same step of the node beside it.

use crate::compare::{self, Expected, ExpectedReport, compare};
use crate::divergence::Difference;
use crate::mapping::{Mapping, ProgramOutput, SpecEvent, SpecTimer, compared};
use crate::node::{Group, Node, NodeView};
use bellwether_engine::machine::typed_effects;
use bellwether_engine::protocol::{Effect, Effects, Id, Local, Protocol as Specification};
use bellwether_engine::world::{Outcome, State};

/// What follows from one thing after the other.
pub(crate) struct ExpectedRun<M: Mapping> {
    /// What the process is then.
    pub(crate) view: NodeView<M::Spec>,
    /// What it has done.
    pub(crate) effects: Effects<M::Spec>,
    /// What the program must tell of each.
    pub(crate) told: Vec<ExpectedReport>,
    /// The rules by which it follows.
    rules: M::Spec,
}

impl<M: Mapping> Clone for ExpectedRun<M> {
    fn clone(&self) -> Self {
        let (effects, told) = (self.effects.clone(), self.told.clone());
        ExpectedRun { view: self.view, effects, told, rules: self.rules }
    }
}

impl<M: Mapping> ExpectedRun<M> {
    /// Nothing has happened yet to a process that is this.
    pub(crate) fn nothing(mapping: &M, view: &NodeView<M::Spec>) -> Self {
        Self::by(mapping.own_rules(), view)
    }

    /// The same, by other rules.
    pub(crate) fn by(rules: M::Spec, view: &NodeView<M::Spec>) -> Self {
        let (effects, told) = (Effects::<M::Spec>::new(), Vec::new());
        ExpectedRun { view: *view, effects, told, rules }
    }

    /// The same, to be compared.
    pub(crate) fn expected(&self) -> Expected<M::Spec> {
        Expected { effects: self.effects.clone(), ..Expected::nothing(&self.view) }
    }

    /// This happens next. A process that is down gets no message.
    pub(crate) fn happens(&mut self, group: &Group<'_, M>, id: Id, happening: SpecEvent<M::Spec>) {
        let mut before = self.view;
        match happening {
            SpecEvent::Receive { .. } if !before.up => return,
            SpecEvent::Expire(timer) => before.timers = before.timers.without::<M::Spec>(timer),
            SpecEvent::Boot | SpecEvent::Receive { .. } | SpecEvent::Crash => {}
        }
        let rules = self.rules;
        let (after, effects) = alone(group, id, &before, |process| match happening {
            SpecEvent::Boot => rules.recover(process),
            SpecEvent::Receive { from, message } => rules.receive(process, from, message),
            SpecEvent::Expire(timer) => {
                process.expires(timer);
                rules.expire(process, timer);
            }
            SpecEvent::Crash => {}
        });
        self.told.push(ExpectedReport::of(group, id, &before, happening, &after.process));
        self.effects.extend(effects);
        self.view = after;
    }

    /// These timers expire one after the other, at one moment. One that is cancelled or armed anew
    /// meanwhile does not.
    pub(crate) fn expire_all(
        &mut self,
        group: &Group<'_, M>,
        id: Id,
        timers: impl IntoIterator<Item = SpecTimer<M>>,
    ) {
        for timer in timers {
            let touched = |effect: &Effect<M::Spec>| match *effect {
                Effect::Arm(other) | Effect::Cancel(other) => other == timer,
                Effect::ArmSince { timer: other, since } => other == timer || since == timer,
                Effect::Persist(_) | Effect::Send { .. } => false,
            };
            if !self.effects.iter().any(touched) {
                self.happens(group, id, SpecEvent::Expire(timer));
            }
        }
    }
}

/// What the specification says that a process which a node stands for does, without a world.
fn alone<M: Mapping>(
    group: &Group<'_, M>,
    id: Id,
    before: &NodeView<M::Spec>,
    event: impl FnOnce(&mut Local<'_, M::Spec>),
) -> (NodeView<M::Spec>, Effects<M::Spec>) {
    let mut after = *before;
    let mut effects = Effects::<M::Spec>::new();
    let has = (before.stable, before.timers);
    let nodes = group.size - M::Spec::OPTIONS.services.count;
    let mut local = Local::new(id, nodes, has, &mut after.process, &mut effects);
    event(&mut local);
    after.timers = local.timers();
    after.up = true;
    for effect in &effects {
        if let Effect::Persist(value) = effect {
            after.stable = *value;
        }
    }
    (after, effects)
}

/// What process `id` must be and have done after `outcome`.
pub(crate) fn after<P: Specification>(outcome: &Outcome, id: Id) -> Expected<P> {
    let effects = if outcome.actor == Some(id) { &outcome.effects[..] } else { &[] };
    Expected::of(&outcome.state, id, typed_effects::<P>(effects))
}

/// One node takes a step; what it became, if that is what its process became.
pub(crate) fn step<M: Mapping>(
    group: &Group<'_, M>,
    before: &Node<M>,
    happening: SpecEvent<M::Spec>,
    expected: &Expected<M::Spec>,
    outputs: &mut Vec<ProgramOutput<M>>,
) -> Result<Node<M>, Vec<Difference>> {
    let after = before.react(group, happening, outputs).map_err(|difference| vec![difference])?;
    let told = ExpectedReport::of(group, before.id, &before.view, happening, &expected.process);
    // After a crash, what counts is that the new incarnation is blank and silent.
    let before = if happening == SpecEvent::Crash { &after } else { before };
    let found = compare(group, before, outputs, &after, expected, &[told]);
    if found.is_empty() { Ok(after) } else { Err(found) }
}

/// Whether a node is what its process is; for all, also those that took no step.
pub(crate) fn stands<M: Mapping>(
    mapping: &M,
    view: &NodeView<M::Spec>,
    id: Id,
    state: &State,
) -> bool {
    view.up == state.up(id)
        && view.timers == compared(mapping, state.timers(id))
        && view.process == *state.process_of::<M::Spec>(id)
        && view.stable == *state.stable_of::<M::Spec>(id)
}

/// What differs between a node and its process, which took no step.
pub(crate) fn bystander<M: Mapping>(
    mapping: &M,
    node: &Node<M>,
    state: &State,
    found: &mut Vec<Difference>,
) {
    if stands(mapping, &node.view, node.id, state) {
        return;
    }
    let expected = Expected::of(state, node.id, Effects::<M::Spec>::new());
    compare::state(node.id, &node.view, &expected, found);
    let armed = compared(mapping, expected.timers);
    compare::armed::<M::Spec>(node.id, armed, node.view.timers, found);
}
