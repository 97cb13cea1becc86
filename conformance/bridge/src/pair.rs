//! A world of the model beside as many nodes of the program, taking the same steps.
//!
//! The network, the faults and the choice of what happens next are the model's; a message that the
//! program sends is compared with what the model sends *before* the network takes it. So every
//! loss, duplicate, reordering and cut that the model knows happens to the program too, and a
//! message that arrives is always one that the program would have sent.

use crate::divergence::{Divergence, happening};
use crate::error::Error;
use crate::mapping::{Mapping, Sides};
use crate::node::{Group, Node};
use crate::settle::beginning;
use crate::step::{after, bystander, step};
use bellwether_engine::protocol::{Protocol as Specification, variant_name};
use bellwether_engine::world::{Action, State, World};

/// One state of a world, and the nodes that stand beside its processes.
pub struct Pair<'a, T: Sides> {
    group: Group<'a, T>,
    world: &'a World,
    state: State,
    /// Of each process that the program plays, in their order.
    nodes: Vec<Node<T>>,
    /// The nodes at the beginning.
    begun: Vec<Node<T>>,
    actions: Vec<Action>,
}

impl<'a, T: Sides> Pair<'a, T> {
    /// Returns both at the beginning of `world`. The inner error is a difference there already.
    ///
    /// # Errors
    /// If the program does not implement the world's rules, or refuses its configuration.
    pub fn begin(
        mapping: &'a Mapping<T>,
        world: &'a World,
    ) -> Result<Result<Self, Box<Divergence>>, Error> {
        let group = group(mapping, world)?;
        Ok(match beginning(&group, world)? {
            Ok(nodes) => {
                let (state, begun) = (world.initial(), nodes.clone());
                Ok(Pair { group, world, state, nodes, begun, actions: Vec::new() })
            }
            Err(unsettled) => Err(Box::new(Divergence::before(world, unsettled))),
        })
    }

    /// Goes back to the beginning of the world.
    pub fn restart(&mut self) {
        self.state = self.world.initial();
        self.nodes.clone_from(&self.begun);
        self.actions.clear();
    }

    /// Returns the model's state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the actions that have happened so far.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    pub(crate) fn group(&self) -> &Group<'a, T> {
        &self.group
    }

    pub(crate) fn nodes(&self) -> &[Node<T>] {
        &self.nodes
    }

    /// Takes these steps in both, one after the other; each must be enabled.
    ///
    /// # Errors
    /// The first difference between what they did.
    pub fn take(&mut self, actions: &[Action]) -> Result<(), Box<Divergence>> {
        actions.iter().try_for_each(|action| self.step(action))
    }

    /// Takes the step in both; `action` must be enabled.
    ///
    /// # Errors
    /// The difference between what they did.
    pub fn step(&mut self, action: &Action) -> Result<(), Box<Divergence>> {
        let outcome = self.world.apply(&self.state, action);
        self.actions.push(*action);
        let mut found = Vec::new();
        if let Some((id, happening)) = happening(action)
            && self.group.plays(id)
        {
            let before = &self.nodes[id.index()];
            let expected = after(&outcome, id, &happening);
            match step(&self.group, before, happening, &expected, &mut Vec::new()) {
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
            return Err(Box::new(Divergence::new(self.world, &self.actions, None, found)));
        }
        self.state = outcome.state;
        Ok(())
    }
}

/// Whether the program implements the rules of `world`.
pub(crate) fn implements<T: Sides>(mapping: &Mapping<T>, world: &World) -> Result<(), Error> {
    let own = mapping.rules;
    // What nodes have of their own, no mapping knows.
    if world.rules() == Some(&own) && world.machine().own().is_empty() {
        return Ok(());
    }
    let protocol = world.machine().protocol().name();
    if protocol != T::Spec::NAME {
        return Err(Error::OtherProtocol { implemented: T::Spec::NAME, asked: protocol });
    }
    let asked = world.machine().variant_name();
    let unlike = world.rules().and_then(|rules: &T::Spec| mapping.unlike(rules));
    let why = Error::why(&asked, unlike.as_deref());
    Err(Error::Rules { protocol, implemented: variant_name(&own), asked, why })
}

/// The group that stands beside the processes of `world`.
pub(crate) fn group<'a, T: Sides>(
    mapping: &'a Mapping<T>,
    world: &World,
) -> Result<Group<'a, T>, Error> {
    implements(mapping, world)?;
    if world.scenario().timing.timed().is_some() {
        return Err(Error::Timed);
    }
    if world.is_searchable().is_err() {
        return Err(Error::TooLarge { nodes: world.scenario().nodes });
    }
    Group::new(mapping, world.scenario().nodes)
}
