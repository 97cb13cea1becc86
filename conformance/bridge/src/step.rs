//! One step of one node beside the same step of its process; and whether a node that took none is
//! still what its process is.

use crate::compare::{self, Expected, ExpectedReport, compare};
use crate::divergence::Difference;
use crate::mapping::{Mapping, ProgramOutput, SpecEvent, compared};
use crate::node::{Group, Node, NodeView};
use bellwether_engine::machine::typed_effects;
use bellwether_engine::protocol::{Effects, Id, Protocol as Specification};
use bellwether_engine::world::{Outcome, State};

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
