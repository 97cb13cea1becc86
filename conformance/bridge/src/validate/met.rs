//! What kinds of steps were judged: as a [suite](crate::suite) counts those that it takes.

use crate::coverage::kind_of;
use crate::mapping::{Mapping, SpecEvent, SpecMessage};
use crate::node::NodeView;
use crate::suite::Met;
use bellwether_engine::protocol::{Protocol as Specification, Timers};
use bellwether_engine::trace::DOWN;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What a step is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum About<L> {
    Nothing,
    Message(L),
    /// The place of a timer among those of the specification.
    Timer(usize),
}

/// The kind of an action, what it is about, the role before, and whether the process acts.
type Key<M> = (&'static str, About<SpecMessage<M>>, &'static str, bool);

/// How often each kind of step was judged.
pub(super) struct Tally<M: Mapping>(FxHashMap<Key<M>, u64>);

impl<M: Mapping> Tally<M> {
    pub(super) fn new() -> Self {
        Tally(FxHashMap::default())
    }

    /// A process takes a step; whether it has run before, and whether it acts.
    pub(super) fn step(
        &mut self,
        before: &NodeView<M::Spec>,
        happening: SpecEvent<M::Spec>,
        (again, acts): (bool, bool),
    ) {
        let (action, about) = match happening {
            SpecEvent::Boot if again => ("recover", About::Nothing),
            SpecEvent::Boot => ("start", About::Nothing),
            SpecEvent::Receive { message, .. } => ("deliver", About::Message(message)),
            SpecEvent::Expire(timer) => ("expire", About::Timer(Timers::place::<M::Spec>(timer))),
            SpecEvent::Crash => ("crash", About::Nothing),
        };
        let role = if before.up { M::Spec::role(&before.process) } else { DOWN };
        *self.0.entry((action, about, role, acts)).or_default() += 1;
    }

    /// Adds what was counted to these kinds.
    pub(super) fn add_to(&self, kinds: &mut Kinds) {
        for (&(action, about, role, acts), count) in &self.0 {
            let of = match about {
                About::Nothing => None,
                About::Message(message) => Some(kind_of(&message)),
                About::Timer(place) => Some(kind_of(&M::Spec::TIMERS[place].timer)),
            };
            *kinds.0.entry((action, of, role, acts)).or_default() += count;
        }
    }
}

/// The kinds of steps of all nodes.
#[derive(Default)]
pub(super) struct Kinds(BTreeMap<(&'static str, Option<String>, &'static str, bool), u64>);

impl Kinds {
    /// The kinds, each with how many steps there are.
    pub(super) fn met(self) -> Vec<Met> {
        let met = |((action, of, role, acts), transitions)| {
            let role = Some(role);
            Met { action, of, role, acts, transitions }
        };
        self.0.into_iter().map(met).collect()
    }
}
