//! What the specification says that follows from what happens to one process, without a world.

use crate::compare::{Expected, ExpectedReport};
use crate::mapping::{Mapping, SpecEvent, SpecTimer};
use crate::node::{Group, NodeView};
use bellwether_engine::protocol::{Effect, Effects, Id, Local, Protocol as Specification};

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
