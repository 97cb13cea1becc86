//! A divergence made as small as it can be, before it is shown: fewer steps, fewer nodes, smaller
//! budgets.
//!
//! Steps are left out, first many at once and at last one by one and two by two. What is left is
//! taken by the model and the program again, from the beginning: a step that cannot happen any more
//! is left out too, so each candidate is an execution of the model. It counts if it ends in the
//! same way: with the same kind of difference in the same thing, in a step of the same kind. What
//! comes of it is locally minimal: no step can be left out of it.
//!
//! Of a node that remembers what no process does, two executions are shown, and the walk has found
//! the shortest of them: these stay as they are.

use crate::coverage::{Tally, about, kind_of};
use crate::divergence::{Divergence, Kind, Size};
use crate::mapping::{Mapping, Sides};
use crate::pair::Pair;
use crate::probe::{self, WrongAnswer};
use crate::why::explain;
use bellwether_engine::protocol::{Id, Protocol as Specification};
use bellwether_engine::world::{Action, Faults, Scenario, Ways, World};
use std::mem::{Discriminant, discriminant};

/// The most steps that are taken in search of a smaller execution.
const MOST_STEPS: u64 = 1 << 18;
/// Of so many steps at most, two are left out at once.
const PAIRS: usize = 32;

/// Returns the divergence in the smallest execution that was found to show it, and what the model
/// does there and why. If it does not show again, it is returned as it was found.
#[must_use]
pub fn reduce<T: Sides>(mapping: &Mapping<T>, found: Box<Divergence>) -> Box<Divergence> {
    let mut reduced = smaller(mapping, &found).unwrap_or(found);
    explain(mapping, &mut reduced);
    reduced
}

/// The divergence in a smaller execution, if there is one.
fn smaller<T: Sides>(mapping: &Mapping<T>, found: &Divergence) -> Option<Box<Divergence>> {
    let two = found.other.is_some() || (found.probe && !found.settling.is_empty());
    if two || found.line.is_some() {
        return None;
    }
    let world = found.trace.world::<T::Spec>().ok()?.concrete();
    let actions = found.trace.actions(&world).ok()?;
    let size = Size { steps: actions.len(), nodes: world.scenario().nodes };
    let way = Way::of(found, actions.last());
    let bounded = stays_within(&world, &actions);
    let mut reducer = Reducer { mapping, way, bounded, left: MOST_STEPS };
    let mut best = reducer.tried(world, &actions, Gone(None))?;
    reducer.shorten(&mut best);
    while reducer.lessen(&mut best) {
        reducer.shorten(&mut best);
    }
    let Execution { world, actions, mut divergence } = best;
    let now = Size { steps: actions.len(), nodes: world.scenario().nodes };
    if now == size && world.scenario() == found.trace.header.world {
        return None;
    }
    divergence.reduced_from = Some(size);
    Some(divergence)
}

/// Whether these actions stay within the bounds of the world, but for the last one.
fn stays_within(world: &World, actions: &[Action]) -> bool {
    let mut state = world.initial();
    let Some((_, before)) = actions.split_last() else { return true };
    before.iter().all(|action| {
        state = world.apply(&state, action).state;
        world.within_bounds(&state)
    })
}

/// In which way model and program part.
#[derive(PartialEq)]
struct Way {
    kind: Kind,
    what: Option<String>,
    probe: bool,
    /// The kind of the step, and of its message or timer.
    step: Option<(Discriminant<Action>, Option<String>)>,
}

impl Way {
    fn of(divergence: &Divergence, last: Option<&Action>) -> Way {
        let &Divergence { kind, probe, ref differences, .. } = divergence;
        let what = differences.first().map(|found| found.what.clone());
        let last = last.filter(|_| !probe);
        Way { kind, what, probe, step: last.map(|last| (discriminant(last), about(last))) }
    }
}

/// An execution that shows the divergence.
struct Execution {
    world: World,
    actions: Vec<Action>,
    divergence: Box<Divergence>,
}

struct Reducer<'a, T: Sides> {
    mapping: &'a Mapping<T>,
    way: Way,
    /// Whether no step leads out of the bounds of the world, but for the last one.
    bounded: bool,
    /// How many steps may still be taken.
    left: u64,
}

impl<T: Sides> Reducer<'_, T> {
    /// Fewer nodes, or a smaller budget; whether there is such a world.
    fn lessen(&mut self, best: &mut Execution) -> bool {
        let fewer = best
            .world
            .ids()
            .filter_map(|gone| Some((without_node(&best.world, gone)?, Gone(Some(gone)))));
        let lower = lower_budgets(&best.world, &best.actions);
        let all: Vec<(Scenario, Gone)> =
            fewer.chain(lower.into_iter().map(|lower| (lower, Gone(None)))).collect();
        for (scenario, gone) in all {
            let Ok(world) = World::new(self.mapping.rules, scenario) else { continue };
            if let Some(less) = self.tried(world.concrete(), &best.actions, gone) {
                *best = less;
                return true;
            }
        }
        false
    }

    /// Fewer steps, until none of them can be left out.
    fn shorten(&mut self, best: &mut Execution) {
        let world = best.world.clone();
        let Ok(Ok(mut pair)) = Pair::begin(self.mapping, &world) else { return };
        let mut chunk = best.actions.len().div_ceil(2).max(1);
        loop {
            let shorter = self.without_chunks(&mut pair, &world, best, chunk);
            if self.left == 0 {
                return;
            }
            if chunk > 1 {
                chunk /= 2;
            } else if !shorter && !self.without_two(&mut pair, &world, best) {
                return;
            }
        }
    }

    /// Leaves out so many steps at once, here or there; whether that was possible.
    fn without_chunks(
        &mut self,
        pair: &mut Pair<'_, T>,
        world: &World,
        best: &mut Execution,
        chunk: usize,
    ) -> bool {
        let (mut at, mut shorter) = (0, false);
        while at < best.actions.len() {
            let end = best.actions.len().min(at + chunk);
            let kept = [&best.actions[..at], &best.actions[end..]].concat();
            if self.is_enough(pair, world, best, &kept) {
                shorter = true;
            } else {
                at = end;
            }
        }
        shorter
    }

    /// Leaves out two steps, one here and one there; whether that was possible.
    fn without_two(&mut self, pair: &mut Pair<'_, T>, world: &World, best: &mut Execution) -> bool {
        let steps = best.actions.len();
        if steps > PAIRS {
            return false;
        }
        for second in 1..steps {
            for first in 0..second {
                let mut kept = best.actions.clone();
                kept.remove(second);
                kept.remove(first);
                if self.is_enough(pair, world, best, &kept) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether fewer steps are enough, which are the best ones then.
    fn is_enough(
        &mut self,
        pair: &mut Pair<'_, T>,
        world: &World,
        best: &mut Execution,
        kept: &[Action],
    ) -> bool {
        let Some(divergence) = self.take(pair, world, kept, Gone(None)) else { return false };
        best.actions = pair.actions().to_vec();
        best.divergence = divergence;
        true
    }

    /// These steps from the beginning of another world, if they end there in the same way.
    fn tried(&mut self, world: World, actions: &[Action], gone: Gone) -> Option<Execution> {
        let (actions, divergence) = match Pair::begin(self.mapping, &world).ok()? {
            Ok(mut pair) => {
                let divergence = self.take(&mut pair, &world, actions, gone)?;
                (pair.actions().to_vec(), divergence)
            }
            Err(divergence) => {
                (Way::of(&divergence, None) == self.way).then_some((Vec::new(), divergence))?
            }
        };
        Some(Execution { world, actions, divergence })
    }

    /// Takes those of the steps that can happen, from the beginning, until model and program part:
    /// the divergence, if that is in the same way.
    fn take(
        &mut self,
        pair: &mut Pair<'_, T>,
        world: &World,
        wanted: &[Action],
        gone: Gone,
    ) -> Option<Box<Divergence>> {
        pair.restart();
        let mut enabled = Vec::new();
        for action in wanted {
            self.left = self.left.checked_sub(1)?;
            enabled.clear();
            world.enabled(pair.state(), &mut enabled);
            let Some(action) = alike::<T::Spec>(&enabled, action, gone) else { continue };
            if let Err(divergence) = pair.step(&action) {
                return (Way::of(&divergence, Some(&action)) == self.way).then_some(divergence);
            }
            if self.bounded && !world.within_bounds(pair.state()) {
                return None;
            }
        }
        if self.way.probe { self.probe(pair, world) } else { None }
    }

    /// Asks the nodes where the steps have led.
    fn probe(&mut self, pair: &Pair<'_, T>, world: &World) -> Option<Box<Divergence>> {
        let mut tally = Tally::new();
        for node in pair.nodes() {
            let asked = probe::all(pair.group(), node, &mut tally);
            self.left = self.left.saturating_sub(asked.count);
            let Some(WrongAnswer { words, differences }) = asked.found else { continue };
            let wrong = Divergence::new(world, pair.actions(), Some(words), differences);
            if Way::of(&wrong, None) == self.way {
                return Some(Box::new(wrong));
            }
        }
        None
    }
}

/// The process that is left out, if one is: those above it move down by one.
#[derive(Clone, Copy)]
struct Gone(Option<Id>);

impl Gone {
    /// What a process is called now, if it is still there.
    fn now(self, id: Id) -> Option<Id> {
        match self.0 {
            Some(gone) if id == gone => None,
            Some(gone) if id > gone => Some(Id::at(id.index() - 1)),
            _ => Some(id),
        }
    }
}

/// Of what can happen, what is most like that which is `wanted`: the same, or the arrival of
/// another message of the same kind, or the expiry of a timer of the same kind.
fn alike<P: Specification>(enabled: &[Action], wanted: &Action, gone: Gone) -> Option<Action> {
    let rank = |one: &Action| match (*wanted, *one) {
        (Action::Deliver(e), Action::Deliver(other))
        | (Action::Lose(e), Action::Lose(other))
        | (Action::Duplicate(e), Action::Duplicate(other)) => {
            let ends = (gone.now(e.from)?, gone.now(e.to)?) == (other.from, other.to);
            let (this, that) = (e.message.get::<P>(), other.message.get::<P>());
            let same = this == that;
            (ends && (same || kind_of(this) == kind_of(that))).then_some(u8::from(!same))
        }
        (
            Action::Expire { id, timer, early },
            Action::Expire { id: node, timer: other, early: too },
        ) => {
            let (this, that) = (timer.get::<P>(), other.get::<P>());
            let same = this == that;
            let alike = gone.now(id)? == node && (same || kind_of(&this) == kind_of(&that));
            alike.then_some(2 * u8::from(!same) + u8::from(early != too))
        }
        (Action::Crash(id), Action::Crash(other))
        | (Action::Recover(id), Action::Recover(other))
        | (Action::Pause(id), Action::Pause(other))
        | (Action::Resume(id), Action::Resume(other)) => (gone.now(id)? == other).then_some(0),
        (Action::Cut(a, b, ways), Action::Cut(c, d, other))
        | (Action::Heal(a, b, ways), Action::Heal(c, d, other)) => {
            ((gone.now(a)?, gone.now(b)?, ways) == (c, d, other)).then_some(0)
        }
        (Action::Jump(id, by), Action::Jump(other, too)) => {
            ((gone.now(id)?, by) == (other, too)).then_some(0)
        }
        (Action::Tick, Action::Tick) => Some(0),
        _ => None,
    };
    let ranked = enabled.iter().filter_map(|one| Some((rank(one)?, one)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, one)| *one)
}

/// The same surroundings for one process less, if that can be: of services none is left out.
fn without_node(world: &World, gone: Id) -> Option<Scenario> {
    let scenario = world.scenario();
    let named = !scenario.missing.is_empty() || !scenario.down.is_empty();
    let may = gone.index() < scenario.nodes && scenario.nodes > 2 && !named;
    may.then(|| Scenario { nodes: scenario.nodes - 1, ..scenario })
}

/// A budget of a world, as a fault spends it: what sets it, and whether an action spends it.
type Spending = (fn(&mut Faults, u8), fn(&Action) -> bool);

const BUDGETS: [Spending; 7] = [
    (|faults, spent| faults.crashes = spent, |action| matches!(action, Action::Crash(_))),
    (|faults, spent| faults.recoveries = spent, |action| matches!(action, Action::Recover(_))),
    (|faults, spent| faults.losses = spent.into(), |action| matches!(action, Action::Lose(_))),
    (|faults, spent| faults.duplicates = spent, |action| matches!(action, Action::Duplicate(_))),
    (|faults, spent| faults.cuts = spent, |action| matches!(action, Action::Cut(_, _, Ways::Both))),
    (
        |faults, spent| faults.one_way_cuts = spent,
        |action| matches!(action, Action::Cut(_, _, Ways::One)),
    ),
    (
        |faults, spent| faults.suspicions = spent,
        |action| matches!(action, Action::Expire { early: true, .. }),
    ),
];

/// The same surroundings with one budget lowered to what these actions spend, for each budget that
/// is larger.
fn lower_budgets(world: &World, actions: &[Action]) -> Vec<Scenario> {
    let scenario = world.scenario();
    let lower = |(set, spends): &Spending| {
        let spent = actions.iter().filter(|action| spends(action)).count();
        let mut faults = scenario.faults;
        set(&mut faults, u8::try_from(spent).unwrap_or(u8::MAX));
        Scenario { faults, ..scenario }
    };
    BUDGETS.iter().map(lower).filter(|lower| lower.faults != scenario.faults).collect()
}
