//! A world of the model beside as many nodes of the program, taking the same steps.
//!
//! The network, the faults and the choice of what happens next are the model's; a message that the
//! program sends is compared with what the model sends *before* the network takes it. So every
//! loss, duplicate, reordering and cut that the model knows happens to the program too, and a
//! message that arrives is always one that the program would have sent.

use crate::compare::{self, Expected, Told, compare};
use crate::divergence::{Difference, Divergence, happening};
use crate::error::Error;
use crate::mapping::{Happening, Mapping, ProgramOutput, compared};
use crate::node::{Face, Group, Node};
use crate::settle::beginning;
use bellwether_engine::machine::typed_effects;
use bellwether_engine::protocol::{
    Effect, Effects, Id, Local, Protocol as Specification, Timers, variant_name,
};
use bellwether_engine::trace::plain;
use bellwether_engine::world::{Action, Outcome, State, World};

/// One state of a world, and the nodes that stand beside its processes.
pub struct Pair<'a, M: Mapping> {
    group: Group<'a, M>,
    world: &'a World,
    state: State,
    nodes: Vec<Node<M>>,
    actions: Vec<Action>,
}

impl<'a, M: Mapping> Pair<'a, M> {
    /// Both at the beginning of `world`. The inner error is a difference there already.
    ///
    /// # Errors
    /// If the program does not implement the world's rules, or refuses its configuration.
    pub fn begin(mapping: &'a M, world: &'a World) -> Result<Result<Self, Box<Divergence>>, Error> {
        let group = group(mapping, world)?;
        Ok(match beginning(&group, world)? {
            Ok(nodes) => {
                Ok(Pair { group, world, state: world.initial(), nodes, actions: Vec::new() })
            }
            Err(unsettled) => Err(Box::new(Divergence::before(mapping, world, unsettled))),
        })
    }

    /// The model's state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What has happened so far.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Both take the step; `action` must be enabled.
    ///
    /// # Errors
    /// The difference between what they did.
    pub fn step(&mut self, action: &Action) -> Result<(), Box<Divergence>> {
        let outcome = self.world.apply(&self.state, action);
        self.actions.push(*action);
        let mut found = Vec::new();
        if let Some((id, happening)) = happening(action) {
            let before = &self.nodes[id.index()];
            match step(&self.group, before, happening, &after(&outcome, id), &mut Vec::new()) {
                Ok(node) => self.nodes[id.index()] = node,
                Err(differences) => found = differences,
            }
        }
        if found.is_empty() {
            for node in &self.nodes {
                bystander(self.group.mapping, node, &outcome.state, &mut found);
            }
        }
        if !found.is_empty() {
            let mapping = self.group.mapping;
            let all = Divergence::new(mapping, self.world, &self.actions, None, found);
            return Err(Box::new(all));
        }
        self.state = outcome.state;
        Ok(())
    }
}

/// Whether the program implements the rules of `world`.
pub(crate) fn implements<M: Mapping>(_: &M, world: &World) -> Result<(), Error> {
    if world.rules() == Some(&M::RULES) {
        return Ok(());
    }
    let protocol = world.machine().protocol().name();
    if protocol != M::Spec::NAME {
        return Err(Error::OtherProtocol { implemented: M::Spec::NAME, asked: protocol });
    }
    Err(Error::Rules {
        protocol,
        implemented: variant_name(&M::RULES),
        asked: world.machine().variant_name(),
    })
}

/// The group that stands beside the processes of `world`.
pub(crate) fn group<'a, M: Mapping>(mapping: &'a M, world: &World) -> Result<Group<'a, M>, Error> {
    implements(mapping, world)?;
    if world.scenario().timing.timed().is_some() {
        return Err(Error::Timed);
    }
    if world.is_searchable().is_err() {
        return Err(Error::TooLarge { nodes: world.scenario().nodes });
    }
    Group::new(mapping, world.scenario().nodes)
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
    happening: Happening<M::Spec>,
    expected: &Expected<M::Spec>,
    outputs: &mut Vec<ProgramOutput<M>>,
) -> Result<Node<M>, Vec<Difference>> {
    let after = before.react(group, happening, outputs).map_err(|difference| vec![difference])?;
    let told = Told::of(group, before.id, &before.face, happening, &expected.process);
    // After a crash, what counts is that the new incarnation is blank and silent.
    let before = if happening == Happening::Crash { &after } else { before };
    let found = compare(group, before, outputs, &after, expected, &[told]);
    if found.is_empty() { Ok(after) } else { Err(found) }
}

/// Whether a node is what its process is; for all, also those that took no step.
pub(crate) fn stands<M: Mapping>(mapping: &M, face: &Face<M::Spec>, id: Id, state: &State) -> bool {
    face.up == state.up(id)
        && face.timers == compared(mapping, state.timers(id))
        && face.process == *state.process_of::<M::Spec>(id)
        && face.stable == *state.stable_of::<M::Spec>(id)
}

/// What differs between a node and its process, which took no step.
pub(crate) fn bystander<M: Mapping>(
    mapping: &M,
    node: &Node<M>,
    state: &State,
    found: &mut Vec<Difference>,
) {
    if stands(mapping, &node.face, node.id, state) {
        return;
    }
    let expected = Expected::of(state, node.id, Effects::<M::Spec>::new());
    compare::state(node.id, &node.face, &expected, found);
    let armed = compared(mapping, expected.timers);
    if node.face.timers != armed {
        let words = |timers: Timers| {
            let names: Vec<_> = timers.iter::<M::Spec>().map(|timer| plain(&timer)).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let (model, program) = (words(armed), words(node.face.timers));
        found.push(Difference::different(node.id, "timers", model, program));
    }
}

/// What the specification says that a process which a node stands for does, without a world.
pub(crate) fn alone<M: Mapping>(
    group: &Group<'_, M>,
    id: Id,
    before: &Face<M::Spec>,
    event: impl FnOnce(&mut Local<'_, M::Spec>),
) -> (Face<M::Spec>, Effects<M::Spec>) {
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
