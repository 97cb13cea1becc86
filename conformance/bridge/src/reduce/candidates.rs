//! Smaller worlds, and what happens there in place of what has happened in a larger one.

use crate::coverage::kind_of;
use bellwether_engine::protocol::{Id, Protocol as Specification};
use bellwether_engine::world::{Action, Faults, Scenario, Ways, World};

/// The process that is left out, if one is: those above it move down by one.
#[derive(Clone, Copy)]
pub(super) struct Gone(pub(super) Option<Id>);

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
pub(super) fn alike<P: Specification>(
    enabled: &[Action],
    wanted: &Action,
    gone: Gone,
) -> Option<Action> {
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
pub(super) fn without_node(world: &World, gone: Id) -> Option<Scenario> {
    let scenario = world.scenario();
    let may = gone.index() < scenario.nodes && scenario.nodes > 2 && scenario.missing.is_empty();
    may.then(|| Scenario { nodes: scenario.nodes - 1, ..scenario })
}

/// The same surroundings with one budget lowered to what these actions spend, for each budget that
/// is larger.
pub(super) fn lower_budgets(world: &World, actions: &[Action]) -> Vec<Scenario> {
    const EACH: [fn(&mut Faults, &Faults); 7] = [
        |faults, spent| faults.crashes = spent.crashes,
        |faults, spent| faults.recoveries = spent.recoveries,
        |faults, spent| faults.losses = spent.losses,
        |faults, spent| faults.duplicates = spent.duplicates,
        |faults, spent| faults.cuts = spent.cuts,
        |faults, spent| faults.one_way_cuts = spent.one_way_cuts,
        |faults, spent| faults.suspicions = spent.suspicions,
    ];
    let (scenario, spent) = (world.scenario(), spent(actions));
    let lower = |lower: &fn(&mut Faults, &Faults)| {
        let mut faults = scenario.faults;
        lower(&mut faults, &spent);
        Scenario { faults, ..scenario }
    };
    EACH.iter().map(lower).filter(|lower| lower.faults != scenario.faults).collect()
}

/// What these actions spend.
fn spent(actions: &[Action]) -> Faults {
    let count = |is: fn(&Action) -> bool| {
        let count = actions.iter().filter(|action| is(action)).count();
        u8::try_from(count).unwrap_or(u8::MAX)
    };
    Faults {
        crashes: count(|action| matches!(action, Action::Crash(_))),
        recoveries: count(|action| matches!(action, Action::Recover(_))),
        losses: count(|action| matches!(action, Action::Lose(_))).into(),
        duplicates: count(|action| matches!(action, Action::Duplicate(_))),
        cuts: count(|action| matches!(action, Action::Cut(_, _, Ways::Both))),
        one_way_cuts: count(|action| matches!(action, Action::Cut(_, _, Ways::One))),
        suspicions: count(|action| matches!(action, Action::Expire { early: true, .. })),
        ..Faults::NONE
    }
}
