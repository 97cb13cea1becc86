//! Worlds of any protocol.

use super::{AnyAction, AnyCondition, AnyProperty, AnyRules, AnyState, Erased};
use crate::check::bounds::{Tally, Until};
use crate::explore::{self, Moment};
use crate::property::{self, PropertyError};
use crate::protocol::Protocol;
use crate::round::{Round, Starters, round};
use crate::space::{ActionId, Space};
use crate::trace::{self, Shows, Trace, TraceError};
use crate::world::packed::Packed;
use crate::world::swarm::{Goal, Plan, Rules, Walk};
use crate::world::{
    Action, Boundary, Condition, Exceeded, NotReduced, Scenario, State, World, WorldError,
};
use std::fmt::Debug;
use std::sync::Arc;

/// A [`World`] of some protocol.
///
/// States, actions and conditions that are given to its methods must be its own; anything else is
/// a mistake of the caller and panics.
pub trait AnyWorld: Debug + Send + Sync {
    /// The protocol and its rules.
    fn rules(&self) -> &dyn AnyRules;

    /// The surrounding.
    fn scenario(&self) -> Scenario;

    /// Refuses a world that is too large for an exhaustive search.
    ///
    /// # Errors
    /// As [`World::is_searchable`].
    fn is_searchable(&self) -> Result<(), WorldError>;

    /// The one initial state.
    fn initial(&self) -> AnyState;

    /// Everything that can happen in `state`, in an order that is always the same.
    fn enabled(&self, state: &AnyState) -> Vec<AnyAction>;

    /// The state that follows when `action`, which must be enabled, happens in `state`.
    fn apply(&self, state: &AnyState, action: &AnyAction) -> AnyState;

    /// The first bound of the search that `state` exceeds, if it exceeds one.
    fn exceeds(&self, state: &AnyState) -> Option<Boundary>;

    /// The bounds that were exceeded, in words: what there may be at most.
    fn bounds_met(&self, exceeded: &Exceeded) -> Vec<String>;

    /// Whether `condition` holds in `state`.
    fn holds(&self, condition: &AnyCondition, state: &AnyState) -> bool;

    /// The positions of these actions among those that are enabled, each after those before it.
    fn positions(&self, actions: &[AnyAction]) -> Vec<usize>;

    /// The state before each of `actions` and after the last, with the answers to `asked`.
    fn moments(&self, actions: &[AnyAction], asked: &[AnyCondition]) -> Vec<Moment>;

    /// What happens in a step and what every process is afterwards, for the Explorer.
    fn describe(&self, state: &AnyState, action: &AnyAction) -> String;

    /// The properties of these names; if none is named, the usual ones.
    ///
    /// # Errors
    /// As [`property::select`].
    fn select(&self, names: &[String]) -> Result<Vec<AnyProperty>, PropertyError>;

    /// The world as a space whose states are a few words; bit i + 1 of the answers is that to the
    /// i-th question. It panics if the world is [too large](AnyWorld::is_searchable).
    fn pack(&self, questions: &[AnyCondition]) -> Box<dyn AnySpace>;

    /// What walks in it at random. Each goal is what is asked of a state, and the answer to look
    /// for.
    fn swarm(&self, goals: &[(AnyCondition, bool)]) -> Box<dyn AnySwarm + '_>;

    /// The execution in which `actions` happen one after the other.
    fn record(&self, actions: &[AnyAction], shows: Option<Shows>) -> Trace;

    /// The actions that a trace of this world tells of.
    ///
    /// # Errors
    /// As [`Trace::actions`].
    fn replay(&self, trace: &Trace) -> Result<Vec<AnyAction>, TraceError>;

    /// How many of `metric` the elections cost that `starters` begin, when the `crashed` highest
    /// processes are down.
    ///
    /// # Errors
    /// As [`round`].
    fn round(
        &self,
        metric: &str,
        starters: Starters,
        crashed: usize,
    ) -> Result<Round<AnyAction>, String>;

    /// The same world without dead messages.
    ///
    /// # Errors
    /// As [`World::without_dead_messages`].
    fn without_dead_messages(&self) -> Result<Arc<dyn AnyWorld>, NotReduced>;

    /// Whether this is asked of every protocol: then it does not ask which messages are in flight,
    /// but at most whether there are any.
    fn is_common(&self, asked: &AnyCondition) -> bool;

    /// The same world, to keep.
    fn share(&self) -> Arc<dyn AnyWorld>;
}

/// A space that was made of a world.
pub trait AnySpace: Space {
    /// The actions with these numbers.
    fn named(&self, ids: &[ActionId]) -> Vec<AnyAction>;

    /// The bounds that steps of the expanded states exceed, in words: what there may be at most.
    fn bounds_met(&self) -> Vec<String>;

    /// What every transition from each of `states` gains, of everything that is counted.
    fn tally(&self, until: Until, states: &mut dyn Iterator<Item = Vec<u64>>) -> Tally;
}

/// What walks in a world at random.
pub trait AnySwarm: Sync {
    /// Takes a walk; `None` if it was to `stop`.
    fn walk(&self, plan: &Plan, stop: &dyn Fn() -> bool) -> Option<Walk>;

    /// An execution that meets this goal as well, with some of these actions only.
    fn shorten(&self, goal: usize, path: &[AnyAction]) -> Vec<AnyAction>;

    /// The bounds that kept walks from a step, in words: what there may be at most.
    fn bounds_met(&self) -> Vec<String>;
}

/// A world, what is looked for, and its other rules.
struct Swarm<'a, P: Protocol> {
    world: &'a World<P>,
    goals: Vec<Goal<P>>,
    rules: Rules<P>,
    exceeded: Exceeded,
}

impl<P: Protocol> AnySwarm for Swarm<'_, P> {
    fn walk(&self, plan: &Plan, stop: &dyn Fn() -> bool) -> Option<Walk> {
        self.world.walk(plan, &self.goals, (&self.rules, &self.exceeded), stop)
    }

    fn shorten(&self, goal: usize, path: &[AnyAction]) -> Vec<AnyAction> {
        let path = path.iter().map(action).collect();
        let shorter = self.world.shorten(path, &self.goals[goal]);
        shorter.into_iter().map(AnyAction::of).collect()
    }

    fn bounds_met(&self) -> Vec<String> {
        self.world.bounds_met(&self.exceeded)
    }
}

fn state<P: Protocol>(state: &AnyState) -> &State<P> {
    state.get().expect("the state is of this world")
}

fn action<P: Protocol>(action: &AnyAction) -> Action<P> {
    action.get().expect("the action is of this world")
}

fn condition<P: Protocol>(condition: &AnyCondition) -> Condition<P> {
    *condition.0.downcast_ref().expect("the condition is of this world")
}

fn erased<P: Protocol>(state: State<P>) -> AnyState {
    AnyState(Erased(Arc::new(state)))
}

impl<P: Protocol> AnyWorld for World<P> {
    fn rules(&self) -> &dyn AnyRules {
        self.protocol()
    }

    fn scenario(&self) -> Scenario {
        World::scenario(self)
    }

    fn initial(&self) -> AnyState {
        erased(World::initial(self))
    }

    fn enabled(&self, at: &AnyState) -> Vec<AnyAction> {
        let mut actions = Vec::new();
        World::enabled(self, state(at), &mut actions);
        actions.into_iter().map(AnyAction::of).collect()
    }

    fn apply(&self, at: &AnyState, taken: &AnyAction) -> AnyState {
        erased(World::apply(self, state(at), &action(taken)).state)
    }

    fn exceeds(&self, at: &AnyState) -> Option<Boundary> {
        World::exceeds(self, state(at))
    }

    fn bounds_met(&self, exceeded: &Exceeded) -> Vec<String> {
        World::bounds_met(self, exceeded)
    }

    fn holds(&self, asked: &AnyCondition, at: &AnyState) -> bool {
        condition(asked).holds(self, state(at))
    }

    fn positions(&self, actions: &[AnyAction]) -> Vec<usize> {
        let mut state = World::initial(self);
        let mut enabled = Vec::new();
        let position = |taken: &AnyAction| {
            let taken = action(taken);
            enabled.clear();
            World::enabled(self, &state, &mut enabled);
            let position = enabled.iter().position(|action| *action == taken);
            state = World::apply(self, &state, &taken).state;
            position.expect("the action can happen where it stands")
        };
        actions.iter().map(position).collect()
    }

    fn moments(&self, actions: &[AnyAction], asked: &[AnyCondition]) -> Vec<Moment> {
        let actions: Vec<_> = actions.iter().map(action).collect();
        explore::moments(self, &actions, &asked.iter().map(condition).collect::<Vec<_>>())
    }

    fn describe(&self, at: &AnyState, taken: &AnyAction) -> String {
        trace::describe(self, state(at), &action(taken))
    }

    fn select(&self, names: &[String]) -> Result<Vec<AnyProperty>, PropertyError> {
        let selected = property::select(self, names)?.into_iter();
        Ok(selected.map(|property| property.map(AnyCondition::of)).collect())
    }

    fn pack(&self, questions: &[AnyCondition]) -> Box<dyn AnySpace> {
        Box::new(Packed::new(self, questions.iter().map(condition).collect()))
    }

    fn swarm(&self, goals: &[(AnyCondition, bool)]) -> Box<dyn AnySwarm + '_> {
        let goal = |(asked, answer): &(AnyCondition, bool)| Goal {
            condition: condition(asked),
            answer: *answer,
        };
        Box::new(Swarm {
            world: self,
            goals: goals.iter().map(goal).collect(),
            rules: Rules::of(self),
            exceeded: Exceeded::default(),
        })
    }

    fn record(&self, actions: &[AnyAction], shows: Option<Shows>) -> Trace {
        Trace::record(self, &actions.iter().map(action).collect::<Vec<_>>(), shows)
    }

    fn replay(&self, trace: &Trace) -> Result<Vec<AnyAction>, TraceError> {
        Ok(trace.actions(self)?.into_iter().map(AnyAction::of).collect())
    }

    fn round(
        &self,
        metric: &str,
        starters: Starters,
        crashed: usize,
    ) -> Result<Round<AnyAction>, String> {
        let Round { count, actions } = round(self, metric, starters, crashed)?;
        Ok(Round { count, actions: actions.into_iter().map(AnyAction::of).collect() })
    }

    fn without_dead_messages(&self) -> Result<Arc<dyn AnyWorld>, NotReduced> {
        Ok(Arc::new(World::without_dead_messages(self)?))
    }

    fn is_common(&self, asked: &AnyCondition) -> bool {
        matches!(condition::<P>(asked), Condition::World(_))
    }

    fn share(&self) -> Arc<dyn AnyWorld> {
        Arc::new(self.clone())
    }

    fn is_searchable(&self) -> Result<(), WorldError> {
        World::is_searchable(self)
    }
}

impl<P: Protocol> AnySpace for Packed<P> {
    fn named(&self, ids: &[ActionId]) -> Vec<AnyAction> {
        Packed::named(self, ids).into_iter().map(AnyAction::of).collect()
    }

    fn bounds_met(&self) -> Vec<String> {
        self.world().bounds_met(self.exceeded())
    }

    fn tally(&self, until: Until, states: &mut dyn Iterator<Item = Vec<u64>>) -> Tally {
        Tally::of(self, until, states)
    }
}
