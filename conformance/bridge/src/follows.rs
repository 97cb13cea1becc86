//! What the specification says that follows from what happens to one process, without a world.

use crate::compare::{Expected, Told};
use crate::mapping::{Happening, Mapping, SpecTimer};
use crate::node::{Face, Group};
use bellwether_engine::protocol::{Effect, Effects, Id, Local, Protocol as Specification};

/// What follows from one thing after the other.
pub(crate) struct Follows<M: Mapping> {
    /// What the process is then.
    pub(crate) face: Face<M::Spec>,
    /// What it has done.
    pub(crate) effects: Effects<M::Spec>,
    /// What the program must tell of each.
    pub(crate) told: Vec<Told>,
}

impl<M: Mapping> Clone for Follows<M> {
    fn clone(&self) -> Self {
        let (effects, told) = (self.effects.clone(), self.told.clone());
        Follows { face: self.face, effects, told }
    }
}

impl<M: Mapping> Follows<M> {
    /// Nothing has happened yet to a process that is this.
    pub(crate) fn nothing(face: &Face<M::Spec>) -> Self {
        Follows { face: *face, effects: Effects::<M::Spec>::new(), told: Vec::new() }
    }

    /// The same, to be compared.
    pub(crate) fn expected(&self) -> Expected<M::Spec> {
        Expected { effects: self.effects.clone(), ..Expected::nothing(&self.face) }
    }

    /// This happens next. A process that is down gets no message.
    pub(crate) fn happens(&mut self, group: &Group<'_, M>, id: Id, happening: Happening<M::Spec>) {
        let mut before = self.face;
        match happening {
            Happening::Receive { .. } if !before.up => return,
            Happening::Expire(timer) => before.timers = before.timers.without::<M::Spec>(timer),
            Happening::Boot | Happening::Receive { .. } | Happening::Crash => {}
        }
        let (after, effects) = alone(group, id, &before, |process| match happening {
            Happening::Boot => M::RULES.recover(process),
            Happening::Receive { from, message } => M::RULES.receive(process, from, message),
            Happening::Expire(timer) => M::RULES.expire(process, timer),
            Happening::Crash => {}
        });
        self.told.push(Told::of(group, id, &before, happening, &after.process));
        self.effects.extend(effects);
        self.face = after;
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
                self.happens(group, id, Happening::Expire(timer));
            }
        }
    }
}

/// What the specification says that a process which a node stands for does, without a world.
fn alone<M: Mapping>(
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
