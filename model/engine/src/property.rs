//! What is asked of a protocol: each property one temporal formula with a name, used by every
//! protocol it fits.
//!
//! In the formulas, □ is "always", ◇ "eventually", P ⇝ Q "whenever P, then Q or later Q". A process
//! *has a leader* when it leads or follows another; *quiescent* means that nothing is left to
//! happen but faults, and heartbeats that tell no process anything new. Down processes believe
//! nothing.

pub use crate::temporal::{Kind, Liveness, Temporal};
pub use crate::world::Condition;

use crate::expression::{Expression, ExpressionError, one_line};
use crate::machine::{AnyProtocol, ProtocolEntry, TimerRules};
use crate::protocol::{Belief, Elects, Id, Ids, Protocol};
use crate::temporal;
use crate::words::{instead_of, kept};
use crate::world::{State, World};
use std::borrow::Cow;

/// A property of the worlds of one protocol.
pub type Property = temporal::Property<Condition>;

impl dyn AnyProtocol + '_ {
    /// Returns the properties that any world can be asked for, in the order in which they are
    /// reported, at the end those that only this protocol can; and those that only a timed world
    /// can be asked for.
    #[must_use]
    pub fn properties(&self) -> (Vec<Property>, Vec<Property>) {
        let own = self.own_properties().into_iter().map(|own| own.map(Condition::Own));
        let groups = [at_any_moment(), when_quiescent(), liveness(), reachability()];
        (groups.into_iter().flatten().chain(own).collect(), timed())
    }
}

/// Returns every property that any world of this protocol can be asked for.
#[must_use]
pub fn all<P: Protocol>() -> Vec<Property> {
    let protocol: &dyn AnyProtocol = &ProtocolEntry::<P>::NEW;
    protocol.properties().0
}

/// What holds at any moment.
fn at_any_moment() -> Vec<Property> {
    use Condition::World;
    vec![
        Property {
            name: "at-most-one-leader",
            formula: "□ ¬∃ i ≠ j: leads(i) ∧ leads(j)",
            meaning: "no two live processes lead at the same time",
            by_default: true,
            premise: None,
            temporal: Temporal::Always(World(at_most_one_leader)),
        },
        Property {
            name: "follower-bound",
            formula: "□ ∀ i, k ≠ i: follows(i, l) ∧ leads(k) ⇒ l ≥ k",
            meaning: "no live process follows a lower id than that of another that leads",
            by_default: true,
            premise: None,
            temporal: Temporal::Always(World(follower_bound)),
        },
    ]
}

/// What holds when nothing is left to happen but faults.
fn when_quiescent() -> Vec<Property> {
    use Condition::World;
    vec![
        Property {
            name: "agreement",
            formula: "□ (quiescent ⇒ ∀ i, j that have a leader: leader(i) = leader(j))",
            meaning: "no two live processes keep different leaders",
            by_default: true,
            premise: Some((QUIESCENT, World(crate::world::World::is_quiescent))),
            temporal: Temporal::Always(World(|world, state| {
                !world.is_quiescent(state) || agreement(state)
            })),
        },
        Property {
            name: "validity",
            formula: "□ (quiescent ⇒ ∀ i that has a leader: up(leader(i)) ⇒ leader(i) = max{j: \
                      up(j)})",
            meaning: "no live process keeps a live leader but the highest live one",
            by_default: true,
            premise: Some((QUIESCENT, World(crate::world::World::is_quiescent))),
            temporal: Temporal::Always(World(|world, state| {
                !world.is_quiescent(state) || validity(world, state)
            })),
        },
        Property {
            name: "decided",
            formula: "□ (quiescent ⇒ ∀ up i: i has a leader ∧ up(leader(i)))",
            meaning: "no live process stays without a live leader",
            by_default: true,
            premise: Some((QUIESCENT, World(crate::world::World::is_quiescent))),
            temporal: Temporal::Always(World(|world, state| {
                !world.is_quiescent(state) || decided(state)
            })),
        },
    ]
}

/// What fair executions come to.
fn liveness() -> Vec<Property> {
    use Condition::World;
    vec![
        Property {
            name: "stabilises",
            formula: "◇□ ∀ up i: leader(i) = max{j: up(j)}",
            meaning: "in the end every live process agrees on the highest live id, for good",
            by_default: true,
            premise: None,
            temporal: Temporal::Liveness(Liveness::EventuallyAlways(World(on_the_highest))),
        },
        Property {
            name: "settles",
            formula: "◇□ ∃ up l: ∀ up i: leader(i) = l",
            meaning: "in the end every live process agrees on one live leader, for good",
            by_default: true,
            premise: None,
            temporal: Temporal::Liveness(Liveness::EventuallyAlways(World(|_, state| {
                one_live_leader(state)
            }))),
        },
        Property {
            name: "majority-settles",
            formula: "◇□ (some majority is up and connected ⇒ ∃ such a majority M, up l: ∀ i ∈ M: \
                      leader(i) = l)",
            meaning: "if a majority stays up and connected, in the end one agrees on a live \
                      leader, for good",
            by_default: false,
            premise: Some(("a majority is up and connected", World(majority_is_connected))),
            temporal: Temporal::Liveness(Liveness::EventuallyAlways(World(|world, state| {
                !majority_is_connected(world, state) || connected_majority_agrees(world, state)
            }))),
        },
        Property {
            name: "leader-emerges",
            formula: "◇ ((∃ up i) ⇒ (∃ up i: leads(i)))",
            meaning: "at some moment a process leads, if any is up; ask it of a cold start",
            by_default: false,
            premise: None,
            temporal: Temporal::Liveness(Liveness::Eventually(World(|_, state| led(state)))),
        },
        Property {
            name: "leader-recurs",
            formula: "□◇ ((∃ up i) ⇒ (∃ up i: leads(i)))",
            meaning: "again and again a process leads, if any is up",
            by_default: false,
            premise: None,
            temporal: Temporal::Liveness(Liveness::AlwaysEventually(World(|_, state| led(state)))),
        },
        Property {
            name: "failover",
            formula: "(∃ up i: ¬(i has a leader ∧ up(leader(i)))) ⇝ (∃ l: ∀ up i: leader(i) = l ∧ \
                      up(l))",
            meaning: "whenever a live process has no live leader, all live processes agree on one \
                      later",
            by_default: false,
            premise: Some(("a live process has no live leader", World(|_, state| !decided(state)))),
            temporal: Temporal::Liveness(Liveness::LeadsTo(
                World(|_, state| !decided(state)),
                World(|_, state| one_live_leader(state)),
            )),
        },
    ]
}

/// What can come about.
fn reachability() -> Vec<Property> {
    use Condition::World;
    vec![Property {
        name: "succession",
        formula: "reachable: ∃ up i: leads(i) ∧ i did not lead at first",
        meaning: "another process than the first leader can come to lead",
        by_default: true,
        premise: None,
        temporal: Temporal::Reachable(World(succession)),
    }]
}

/// Returns the properties that only a timed world can be asked for, in the order in which they are
/// reported, after [all] others.
#[must_use]
pub fn timed() -> Vec<Property> {
    vec![
        Property {
            name: TIMEOUTS_ACCURATE,
            formula: "□ ∀ time-out t: due(t) ⇒ may-time-out(t)",
            meaning: "no time-out expires while what it waits for could still come",
            by_default: true,
            premise: Some(("a time-out is due", Condition::World(World::some_time_out_is_due))),
            temporal: Temporal::Always(Condition::World(World::time_outs_are_accurate)),
        },
        Property {
            name: PERIODS_ACCURATE,
            formula: "□ ∀ periodic timer t: due(t) ⇒ may-time-out(t)",
            meaning: "nothing is repeated sooner than perfect timing assumes",
            by_default: true,
            premise: None,
            temporal: Temporal::Always(Condition::World(World::periods_are_accurate)),
        },
        Property {
            name: AGREED_WITHIN,
            formula: "□ (more than D ticks since the last fault ⇒ ∀ up i: leader(i) = max{j: \
                      up(j)})",
            meaning: "every live process agrees on the highest live id within D ticks (--within D)",
            by_default: true,
            premise: Some((
                "more than D ticks since the last fault",
                Condition::World(World::is_calm),
            )),
            temporal: Temporal::Always(Condition::World(|world, state| {
                !world.is_calm(state) || agreed(world, state)
            })),
        },
    ]
}

/// The name of the premise of what is asked of quiescent states.
pub const QUIESCENT: &str = "quiescent";

/// The name of the property that says whether time-outs are as long as perfect timing assumes.
pub const TIMEOUTS_ACCURATE: &str = "timeouts-accurate";

/// The name of the property that says the same of what is repeated. Where both hold, every
/// execution is one that perfect timing has too, its ticks left out.
pub const PERIODS_ACCURATE: &str = "periods-accurate";

/// The name of the property that bounds liveness.
pub const AGREED_WITHIN: &str = "agreed-within";

/// Returns the properties of these names; if none is named, the usual ones that make sense in
/// `world`. A name such as `never(leads(1) && leads(2))` asks an
/// [expression](crate::expression).
///
/// # Errors
/// The first name that no property has, or that asks for something that the world does not have.
pub fn select(world: &World, names: &[String]) -> Result<Vec<Property>, PropertyError> {
    let machine = world.machine();
    let known = || {
        let (untimed, timed) = machine.protocol().properties();
        untimed.into_iter().chain(timed)
    };
    if names.is_empty() {
        // Without a crash no other process need ever lead.
        let crashes = world.scenario().faults.crashes > 0 || !world.scenario().down.is_empty();
        let waits = |rules: &TimerRules| rules.time_out;
        let elects = machine.elects();
        let wanted = |p: &Property| {
            p.by_default
                && match p.name {
                    "succession" => crashes,
                    "follower-bound" | "validity" | "stabilises" => elects == Elects::Highest,
                    "settles" => elects == Elects::Any,
                    TIMEOUTS_ACCURATE => machine.timers().iter().any(waits),
                    PERIODS_ACCURATE => world.repeats(),
                    _ => true,
                }
                && answerable(world, p.name).is_ok()
        };
        return Ok(known().filter(wanted).collect());
    }
    let find = |name: &String| {
        if let Some(property) = written(name, world) {
            return property.map_err(PropertyError::Expression);
        }
        let found = known().find(|p| p.name == name).ok_or_else(|| PropertyError::Unknown {
            name: name.clone(),
            known: instead_of(name, &known().map(|p| p.name).collect::<Vec<_>>()),
        })?;
        answerable(world, found.name).map(|()| found)
    };
    names.iter().map(find).collect()
}

/// Returns the world in which these properties can be asked: the same, or if one of them asks for
/// names that a symmetry changes, the [concrete](World::concrete) one.
#[must_use]
pub fn world_of<'w>(world: &'w World, properties: &[Property]) -> Cow<'w, World> {
    match world.canonicalizes() && properties.iter().any(asks_for_names) {
        true => Cow::Owned(world.concrete()),
        false => Cow::Borrowed(world),
    }
}

/// Returns whether the property asks for names that a symmetry changes, such as the number of an
/// election.
#[must_use]
pub fn asks_for_names(property: &Property) -> bool {
    let mut asks = false;
    let _ = property.clone().map(|condition| asks |= condition.asks_for_names());
    asks
}

/// Whether `world` measures what the property of this name speaks of.
fn answerable(world: &World, name: &'static str) -> Result<(), PropertyError> {
    let timed = world.scenario().timing.timed();
    match name {
        TIMEOUTS_ACCURATE | PERIODS_ACCURATE | AGREED_WITHIN if timed.is_none() => {
            Err(PropertyError::Untimed { name })
        }
        AGREED_WITHIN if timed.is_some_and(|timed| timed.within.is_none()) => {
            Err(PropertyError::NoBound { name })
        }
        _ => Ok(()),
    }
}

/// How names of properties begin that are written on the command line: that an expression never
/// holds, or always.
const NEVER: &str = "never";
const ALWAYS: &str = "always";

/// Returns the name of the property that no state satisfies this expression.
#[must_use]
pub fn never(expression: &str) -> String {
    format!("{NEVER}({})", one_line(expression))
}

/// Returns the name of the property that every state satisfies this expression.
#[must_use]
pub fn always(expression: &str) -> String {
    format!("{ALWAYS}({})", one_line(expression))
}

/// The property of this name in `world`, if that is a name of such a property.
fn written(name: &str, world: &World) -> Option<Result<Property, ExpressionError>> {
    let asked = |how: &str| name.strip_prefix(how)?.strip_prefix('(')?.strip_suffix(')');
    let never = asked(NEVER);
    let expression = never.or_else(|| asked(ALWAYS))?;
    let read = Expression::read_truth(expression, world);
    Some(read.map(|read| {
        let text = read.text();
        let (how, formula, meaning) = match never {
            Some(_) => (NEVER, format!("□ ¬({text})"), "no state satisfies the expression"),
            None => (ALWAYS, format!("□ ({text})"), "every state satisfies the expression"),
        };
        Property {
            name: kept(format!("{how}({text})")),
            formula: kept(formula),
            meaning,
            by_default: false,
            premise: None,
            temporal: Temporal::Always(read.condition(never.is_none())),
        }
    }))
}

/// The reason why a property cannot be asked: it does not exist, or not in this world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropertyError {
    /// No property has that name.
    #[error("there is no property '{name}'; {known}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant, and those that there are, in words.
        known: String,
    },
    /// The name asks an expression that has no meaning.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// Only a timed world has the property.
    #[error(
        "property '{name}' speaks of ticks, and only a timed world has them; add --timing timed"
    )]
    Untimed {
        /// The name of the property.
        name: &'static str,
    },
    /// The property says nothing of what there is in the end.
    #[error(
        "--until {name}: the property is not of the form ◇□ P, so nothing can be counted until it \
         holds; there are: {known}"
    )]
    NotInTheEnd {
        /// The name of the property.
        name: &'static str,
        /// The names of the properties that do, in words.
        known: String,
    },
    /// The bound that the property needs is missing.
    #[error("property '{name}' has to know within how many ticks; give --within TICKS")]
    NoBound {
        /// The name of the property.
        name: &'static str,
    },
}

// The beliefs of the live processes of one state about the leadership.

fn at_most_one_leader(_: &World, state: &State) -> bool {
    state.members().filter(|&id| state.leads(id)).count() <= 1
}

fn follower_bound(world: &World, state: &State) -> bool {
    let below = |l, k| world.rank(l) < world.rank(k);
    state.members().all(|i| match state.belief(i) {
        Some(Belief::Follows(l)) => {
            state.members().all(|k| k == i || !state.leads(k) || !below(l, k))
        }
        _ => true,
    })
}

fn agreement(state: &State) -> bool {
    let mut leaders = state.members().filter_map(|id| state.leader(id));
    leaders.next().is_none_or(|first| leaders.all(|other| other == first))
}

fn validity(world: &World, state: &State) -> bool {
    let mut leaders = state.members().filter_map(|id| state.leader(id));
    leaders.all(|leader| !state.up(leader) || world.highest_up(state) == Some(leader))
}

fn decided(state: &State) -> bool {
    let mut live = state.members().filter(|&id| state.up(id));
    live.all(|id| state.leader(id).is_some_and(|leader| state.up(leader)))
}

/// Whether the election has come to its end: every process agrees on the one that the protocol is
/// to elect.
pub(crate) fn agreed(world: &World, state: &State) -> bool {
    match world.machine().elects() {
        Elects::Highest => on_the_highest(world, state),
        Elects::Any => one_live_leader(state),
    }
}

fn on_the_highest(world: &World, state: &State) -> bool {
    let highest = world.highest_up(state);
    state.members().filter(|&id| state.up(id)).all(|id| state.leader(id) == highest)
}

/// A process leads that did not at the beginning.
fn succession(world: &World, state: &State) -> bool {
    state.members().any(|id| state.leads(id) && !world.leads_initially(id))
}

/// A process leads, if any is up.
fn led(state: &State) -> bool {
    state.members().any(|id| state.leads(id)) || !state.members().any(|id| state.up(id))
}

/// Every live process takes the same live one for the leader, not always the highest.
fn one_live_leader(state: &State) -> bool {
    decided(state) && agreement(state)
}

/// A majority of the voters is up and connected.
fn majority_is_connected(world: &World, state: &State) -> bool {
    some_majority(world, state, &|_| true)
}

/// Some majority of the voters that is up and connected agrees on a live leader that it hears.
fn connected_majority_agrees(world: &World, state: &State) -> bool {
    some_majority(world, state, &|group| {
        let hears = |other| group.iter().all(|id| id == other || linked(state, id, other));
        let first = group.iter().next().and_then(|id| state.leader(id));
        first.is_some_and(|first| {
            let agree = group.iter().all(|id| state.leader(id) == Some(first));
            agree && state.up(first) && hears(first)
        })
    })
}

/// Whether two processes hear each other, as far as their link goes.
fn linked(state: &State, a: Id, b: Id) -> bool {
    state.connected(a, b) && state.connected(b, a)
}

/// Whether `judge` holds of some majority of the voters that are up and all hear each other and
/// every service, to which no other such process could be added.
fn some_majority(world: &World, state: &State, judge: &dyn Fn(Ids) -> bool) -> bool {
    let nodes = world.scenario().nodes;
    let voters = world.machine().voters(nodes);
    let served = |id: Id| {
        let mut services = state.ids().skip(nodes);
        services.all(|service| state.up(service) && linked(state, id, service))
    };
    let up: Ids = voters.iter().filter(|&id| state.up(id) && served(id)).collect();
    some_group(state, up, up, voters.len() / 2 + 1, judge)
}

/// The same of the groups that are in this part of those that are up, and have at least so many.
fn some_group(
    state: &State,
    up: Ids,
    part: Ids,
    least: usize,
    judge: &dyn Fn(Ids) -> bool,
) -> bool {
    if part.len() < least {
        return false;
    }
    let mut pairs = part.iter().flat_map(|a| part.iter().map(move |b| (a, b)));
    match pairs.find(|&(a, b)| a < b && !linked(state, a, b)) {
        // One of the two is not in the group.
        Some((a, b)) => {
            [a, b].into_iter().any(|out| some_group(state, up, part.without(out), least, judge))
        }
        None => {
            let could_join = |id: Id| part.iter().all(|other| linked(state, id, other));
            !up.except(part).iter().any(could_join) && judge(part)
        }
    }
}
