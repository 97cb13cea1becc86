//! The coverage of walks: which kinds of actions, which rules, and about how many states they met.

use crate::protocol::{self, Id, Values};
use crate::world::{Action, State, World};
use rustc_hash::FxHasher;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The coverage of walks: how often each kind of action happened to a process in each role, and
/// which rules decided a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The number of times that each kind of action happened to a process in each role.
    pub taken: Taken,
    /// The number of walks that looked in which each rule decided a step: one of its other values
    /// would have made it another one. Only rules that have another value are listed.
    pub rules: BTreeMap<String, u64>,
    /// The number of walks that looked which rules decide.
    pub looked: u64,
}

/// The number of times that each kind of action happened to a process in each role. What happens to
/// a link or to all has no role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken(BTreeMap<(Kind, Option<&'static str>), u64>);

impl Taken {
    /// Returns how often the kind happened to a process in this role; `None`: to a link, or to all.
    #[must_use]
    pub fn of(&self, kind: Kind, role: Option<&str>) -> u64 {
        let same = |(known, its): &(Kind, Option<&'static str>)| *known == kind && *its == role;
        self.0.iter().filter(|(key, _)| same(key)).map(|(_, count)| count).sum()
    }

    /// Returns the kinds that happened, in their order.
    #[must_use]
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<_> = self.0.keys().map(|&(kind, _)| kind).collect();
        kinds.dedup();
        kinds
    }

    /// Returns the roles in which something happened to a process, by name; the links at the end.
    #[must_use]
    pub fn roles(&self) -> Vec<Option<&'static str>> {
        let mut roles: Vec<_> = self.0.keys().map(|&(_, role)| role).collect();
        roles.sort_unstable_by_key(|role| (role.is_none(), *role));
        roles.dedup();
        roles
    }

    /// Returns the number of steps in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    pub(super) fn record(&mut self, state: &State, action: &Action) {
        let role = concerned(action).map(|id| state.role(id));
        *self.0.entry((Kind::of(action), role)).or_default() += 1;
    }

    fn add(&mut self, other: Taken) {
        for (key, count) in other.0 {
            *self.0.entry(key).or_default() += count;
        }
    }
}

impl Serialize for Taken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = self.kinds();
        let mut map = serializer.serialize_map(Some(kinds.len()))?;
        for kind in kinds {
            let with = |&role: &Option<&'static str>| {
                let count = self.of(kind, role);
                (count > 0).then(|| (role.unwrap_or("link"), count))
            };
            let roles: BTreeMap<_, _> = self.roles().iter().filter_map(with).collect();
            map.serialize_entry(kind.name(), &roles)?;
        }
        map.end()
    }
}

impl Coverage {
    /// Adds what other walks have met.
    pub fn add(&mut self, other: Coverage) {
        self.taken.add(other.taken);
        self.looked += other.looked;
        for (rule, walks) in other.rules {
            *self.rules.entry(rule).or_default() += walks;
        }
    }

    /// Returns the rules that decided no step of the walks that looked.
    #[must_use]
    pub fn rules_not_met(&self) -> Vec<&str> {
        self.rules.iter().filter(|(_, walks)| **walks == 0).map(|(rule, _)| &**rule).collect()
    }
}

/// The same world by other rules: each of its rules with each other value.
pub(super) struct Rules(Vec<(String, Vec<World>)>);

impl Rules {
    /// Of a world. A value that does not fit the world is left out, and so is a rule whose values
    /// cannot be listed.
    pub(super) fn of(world: &World) -> Rules {
        let other = |rule: &protocol::Rule| {
            let value = |value: &str| {
                let rules = world.machine().with_rule(&rule.name, value).ok()?;
                let differs = !rules.equals(&**world.machine());
                World::of(rules, world.scenario()).ok().filter(|_| differs)
            };
            let worlds: Vec<_> = match &rule.values {
                Values::Truth => ["true", "false"].into_iter().filter_map(value).collect(),
                Values::Names(names) => names.iter().filter_map(|(name, _)| value(name)).collect(),
                Values::Other(_) => Vec::new(),
            };
            (!worlds.is_empty()).then(|| (rule.name.clone(), worlds))
        };
        let rules = world.machine().protocol().rule_rows();
        Rules(rules.iter().filter_map(other).collect())
    }

    /// The names, none met.
    pub(super) fn none_met(&self) -> BTreeMap<String, u64> {
        let mut none_met = BTreeMap::new();
        none_met.extend(self.0.iter().map(|(rule, _)| (rule.clone(), 0)));
        none_met
    }

    /// Notes the rules that are not met yet by which `action` would lead from `before` somewhere
    /// else than to `after`.
    pub(super) fn record(
        &self,
        before: &State,
        action: &Action,
        after: &State,
        met: &mut BTreeMap<String, u64>,
    ) {
        for (rule, worlds) in &self.0 {
            let Some(walks) = met.get_mut(rule).filter(|walks| **walks == 0) else { continue };
            let differs = |world: &World| {
                can_go_on(world, before) && world.apply(before, action).state != *after
            };
            *walks = u64::from(worlds.iter().any(differs));
        }
    }
}

/// Whether a world by other rules can go on from this state: every clock that runs is one of its
/// own. Otherwise the step that started the clock was another one already.
fn can_go_on(world: &World, state: &State) -> bool {
    let known =
        |id| state.armed(id).all(|timer| world.machine().timers_of(id)[timer.place()].armed);
    state.times.is_none() || state.ids().all(known)
}

/// The kind of an action: what happens, without to which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message arrives.
    Deliver,
    /// A timer expires when it may.
    Expire,
    /// A timer expires too early.
    Suspect,
    /// A tick passes.
    Tick,
    /// A message is lost.
    Lose,
    /// A message is doubled.
    Duplicate,
    /// A process crashes.
    Crash,
    /// A process recovers.
    Recover,
    /// A process is paused.
    Pause,
    /// A process goes on.
    Resume,
    /// A link is cut.
    Cut,
    /// A link works again.
    Heal,
    /// A clock jumps.
    Jump,
}

impl Kind {
    /// The list of all kinds, in their order.
    pub const ALL: [Kind; 13] = [
        Kind::Deliver,
        Kind::Expire,
        Kind::Suspect,
        Kind::Tick,
        Kind::Lose,
        Kind::Duplicate,
        Kind::Crash,
        Kind::Recover,
        Kind::Pause,
        Kind::Resume,
        Kind::Cut,
        Kind::Heal,
        Kind::Jump,
    ];

    /// Returns the kind of an action.
    #[must_use]
    pub fn of(action: &Action) -> Kind {
        match action {
            Action::Deliver(_) => Kind::Deliver,
            Action::Expire { early: false, .. } => Kind::Expire,
            Action::Expire { early: true, .. } => Kind::Suspect,
            Action::Tick => Kind::Tick,
            Action::Lose(_) => Kind::Lose,
            Action::Duplicate(_) => Kind::Duplicate,
            Action::Crash(_) => Kind::Crash,
            Action::Recover(_) => Kind::Recover,
            Action::Pause(_) => Kind::Pause,
            Action::Resume(_) => Kind::Resume,
            Action::Cut(..) => Kind::Cut,
            Action::Heal(..) => Kind::Heal,
            Action::Jump(..) => Kind::Jump,
        }
    }

    /// Returns the name of the kind, as the command line and JSON have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Deliver => "deliver",
            Kind::Expire => "expire",
            Kind::Suspect => "suspect",
            Kind::Tick => "tick",
            Kind::Lose => "lose",
            Kind::Duplicate => "duplicate",
            Kind::Crash => "crash",
            Kind::Recover => "recover",
            Kind::Pause => "pause",
            Kind::Resume => "resume",
            Kind::Cut => "cut",
            Kind::Heal => "heal",
            Kind::Jump => "jump",
        }
    }

    /// Whether a walk limits how often it happens.
    pub(super) const fn is_budgeted(self) -> bool {
        matches!(
            self,
            Kind::Suspect
                | Kind::Lose
                | Kind::Duplicate
                | Kind::Crash
                | Kind::Recover
                | Kind::Pause
                | Kind::Cut
                | Kind::Jump
        )
    }
}

/// Returns the process to which an action happens, if it is one: the receiver of a message that is
/// delivered, lost or doubled.
#[must_use]
pub fn concerned(action: &Action) -> Option<Id> {
    match *action {
        Action::Deliver(e) | Action::Lose(e) | Action::Duplicate(e) => Some(e.to),
        Action::Expire { id, .. }
        | Action::Crash(id)
        | Action::Recover(id)
        | Action::Pause(id)
        | Action::Resume(id)
        | Action::Jump(id, _) => Some(id),
        Action::Cut(..) | Action::Heal(..) | Action::Tick => None,
    }
}

/// How many registers, as a power of 2.
const BITS: u32 = 12;

/// An estimate of how many different values were noted: HyperLogLog (P. Flajolet, É. Fusy, O.
/// Gandouet and F. Meunier, *HyperLogLog: the analysis of a near-optimal cardinality estimation
/// algorithm*, 2007). With 4,096 registers the standard error is 1.6 %.
#[derive(Clone, PartialEq, Eq)]
pub struct Sketch(Box<[u8]>);

impl Default for Sketch {
    fn default() -> Self {
        Sketch(vec![0; 1 << BITS].into())
    }
}

impl Sketch {
    /// Notes a value.
    pub fn record(&mut self, value: &impl Hash) {
        let mut hasher = FxHasher::default();
        value.hash(&mut hasher);
        // The finalizer of SplitMix64: every bit of the hash depends on every bit of the value.
        let hash = hasher.finish();
        let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let hash = hash ^ hash >> 31;
        let register = &mut self.0[(hash >> (u64::BITS - BITS)) as usize];
        let rank = ((hash << BITS) | 1 << (BITS - 1)).leading_zeros() + 1;
        *register = (*register).max(rank as u8);
    }

    /// Adds the values that another sketch has noted.
    pub fn add(&mut self, other: &Sketch) {
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            *ours = (*ours).max(*theirs);
        }
    }

    /// Returns about how many different values were noted.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, not negative, far below 2^64"
    )]
    pub fn count(&self) -> u64 {
        let registers = self.0.len() as f64;
        let sum: f64 = self.0.iter().map(|&rank| f64::from(-i32::from(rank)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.0.iter().filter(|&&rank| rank == 0).count();
        let few = raw <= 2.5 * registers && empty > 0;
        let estimate = if few { registers * (registers / empty as f64).ln() } else { raw };
        estimate.round() as u64
    }
}

impl fmt::Debug for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {}", self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::Sketch;

    #[test]
    fn it_counts_within_a_few_per_cent() {
        for count in [0u64, 1, 10, 1_000, 10_000, 300_000] {
            let mut sketch = Sketch::default();
            for value in 0..count {
                sketch.record(&value);
                sketch.record(&value);
            }
            let (found, wanted) = (sketch.count() as f64, count as f64);
            assert!((found - wanted).abs() <= 0.06 * wanted, "{found} for {wanted}");
        }
    }

    #[test]
    fn what_two_have_noted_is_counted_once() {
        let (mut a, mut b) = (Sketch::default(), Sketch::default());
        (0..2_000u64).for_each(|value| a.record(&value));
        (1_000..3_000u64).for_each(|value| b.record(&value));
        a.add(&b);
        assert!((2_800..3_200).contains(&a.count()), "{}", a.count());
    }
}
