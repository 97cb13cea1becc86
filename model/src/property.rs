//! What is asked of a protocol: each property one temporal formula with a name, used by every
//! protocol it fits.
//!
//! In the formulas, □ is "always", ◇ "eventually". A process is *settled* when it leads or follows
//! somebody; *at rest* means that nothing is left to happen but faults (and heartbeats that tell
//! nobody anything new). Down processes believe nothing.

use crate::protocol::{Id, Protocol, Standing};
use crate::world::{State, World};
use serde::{Deserialize, Serialize};

/// A named temporal formula.
#[derive(Clone, Copy, Debug)]
pub struct Property<P: Protocol> {
    /// The name on the command line.
    pub name: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// The formula in a sentence.
    pub meaning: &'static str,
    /// How `condition` is quantified.
    pub kind: Kind,
    /// Where the formula is an implication, its left side with its name: if no state satisfies it,
    /// the property says nothing.
    pub premise: Option<(&'static str, Condition<P>)>,
    /// The formula without its temporal operators, of one state.
    pub condition: Condition<P>,
}

/// What is asked of one state.
pub type Condition<P> = fn(&World<P>, &State<P>) -> bool;

/// How a property's condition is quantified over an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// □ condition: in every reachable state.
    Safety,
    /// ◇□ condition: from some moment on for ever, in every execution in which deliveries and due
    /// expiries that stay possible happen (weak fairness).
    Liveness,
    /// The condition can come to hold: in some reachable state.
    Reachability,
}

/// Every property that any world can be asked for, in the order in which they are reported.
#[must_use]
pub fn all<P: Protocol>() -> Vec<Property<P>> {
    vec![
        Property {
            name: "at-most-one-leader",
            formula: "□ ¬∃ i ≠ j: leads(i) ∧ leads(j)",
            meaning: "no two live processes lead at the same time",
            kind: Kind::Safety,
            premise: None,
            condition: at_most_one_leader,
        },
        Property {
            name: "follower-bound",
            formula: "□ ∀ i, k ≠ i: follows(i, l) ∧ leads(k) ⇒ l ≥ k",
            meaning: "no live process follows a lower id than that of another that leads",
            kind: Kind::Safety,
            premise: None,
            condition: follower_bound,
        },
        Property {
            name: "agreement",
            formula: "□ (at rest ⇒ ∀ settled i, j: leader(i) = leader(j))",
            meaning: "no two live processes settle on different leaders and stay so",
            kind: Kind::Safety,
            premise: Some(("at rest", World::at_rest)),
            condition: |world, state| !world.at_rest(state) || agreement(state),
        },
        Property {
            name: "validity",
            formula: "□ (at rest ⇒ ∀ settled i: up(leader(i)) ⇒ leader(i) = max{j: up(j)})",
            meaning: "a live process that is settled on stays so only as the highest live one",
            kind: Kind::Safety,
            premise: Some(("at rest", World::at_rest)),
            condition: |world, state| !world.at_rest(state) || validity(state),
        },
        Property {
            name: "decided",
            formula: "□ (at rest ⇒ ∀ up i: settled(i) ∧ up(leader(i)))",
            meaning: "no live process stays without a live leader",
            kind: Kind::Safety,
            premise: Some(("at rest", World::at_rest)),
            condition: |world, state| !world.at_rest(state) || decided(state),
        },
        Property {
            name: "stabilises",
            formula: "◇□ ∀ up i: leader(i) = max{j: up(j)}",
            meaning: "in the end every live process agrees on the highest live id, for good",
            kind: Kind::Liveness,
            premise: None,
            condition: |_, state| agreed(state),
        },
        Property {
            name: "succession",
            formula: "reachable: ∃ up i: leads(i) ∧ i is not the first leader",
            meaning: "another process than the first leader can come to lead",
            kind: Kind::Reachability,
            premise: None,
            condition: |_, state| succession(state),
        },
    ]
}

/// The properties that only a timed world can be asked for, in the order in which they are
/// reported, after [all] others.
#[must_use]
pub fn timed<P: Protocol>() -> Vec<Property<P>> {
    vec![
        Property {
            name: TIMEOUTS_ACCURATE,
            formula: "□ ∀ time-out t: due(t) ⇒ overdue(t)",
            meaning: "no time-out expires while what it waits for could still come",
            kind: Kind::Safety,
            premise: Some(("a time-out is due", World::some_time_out_is_due)),
            condition: World::time_outs_are_accurate,
        },
        Property {
            name: AGREED_WITHIN,
            formula: "□ (more than D ticks since the last fault ⇒ ∀ up i: leader(i) = max{j: up(j)})",
            meaning: "every live process agrees on the highest live id within D ticks (--within D)",
            kind: Kind::Safety,
            premise: Some(("more than D ticks since the last fault", World::is_calm)),
            condition: |world, state| !world.is_calm(state) || agreed(state),
        },
    ]
}

/// The property that says when perfect timing is justified.
pub const TIMEOUTS_ACCURATE: &str = "timeouts-accurate";

/// The property that bounds liveness.
pub const AGREED_WITHIN: &str = "agreed-within";

/// The properties of these names, or all that make sense in `world` if none is named.
///
/// # Errors
/// The first name that no property has, or that asks for something that the world does not have.
pub fn select<P: Protocol>(
    world: &World<P>,
    names: &[String],
) -> Result<Vec<Property<P>>, PropertyError> {
    let known = || all::<P>().into_iter().chain(timed());
    if names.is_empty() {
        // Without a crash nobody else need ever lead.
        let crashes = world.dials().faults.crashes > 0;
        let wanted = |p: &Property<P>| {
            (crashes || p.name != "succession") && answerable(world, p.name).is_ok()
        };
        return Ok(known().filter(wanted).collect());
    }
    let find = |name: &String| {
        let found = known().find(|p| p.name == name).ok_or_else(|| PropertyError::Unknown {
            name: name.clone(),
            known: known().map(|p| p.name).collect::<Vec<_>>().join(", "),
        })?;
        answerable(world, found.name).map(|()| found)
    };
    names.iter().map(find).collect()
}

/// Whether `world` measures what the property of this name speaks of.
fn answerable<P: Protocol>(world: &World<P>, name: &'static str) -> Result<(), PropertyError> {
    let timed = world.dials().timing.timed();
    match name {
        TIMEOUTS_ACCURATE | AGREED_WITHIN if timed.is_none() => {
            Err(PropertyError::Untimed { name })
        }
        AGREED_WITHIN if timed.is_some_and(|timed| timed.within.is_none()) => {
            Err(PropertyError::NoBound { name })
        }
        _ => Ok(()),
    }
}

/// A property was asked for that does not exist, or not in this world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropertyError {
    /// No property of that name.
    #[error("there is no property '{name}'; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Only a timed world has it.
    #[error(
        "property '{name}' speaks of ticks, and only a timed world has them; add --timing timed"
    )]
    Untimed {
        /// The property.
        name: &'static str,
    },
    /// The bound is missing.
    #[error("property '{name}' has to know within how many ticks; give --within TICKS")]
    NoBound {
        /// The property.
        name: &'static str,
    },
}

/// Whom a live, settled process takes for the leader: itself if it leads.
fn leader<P: Protocol>(state: &State<P>, id: Id) -> Option<Id> {
    match state.standing(id)? {
        Standing::Leads => Some(id),
        Standing::Follows(leader) => Some(leader),
        Standing::Undecided => None,
    }
}

fn leads<P: Protocol>(state: &State<P>, id: Id) -> bool {
    state.standing(id) == Some(Standing::Leads)
}

fn highest_up<P: Protocol>(state: &State<P>) -> Option<Id> {
    state.ids().rev().find(|&id| state.up(id))
}

fn at_most_one_leader<P: Protocol>(_: &World<P>, state: &State<P>) -> bool {
    state.ids().filter(|&id| leads(state, id)).count() <= 1
}

fn follower_bound<P: Protocol>(_: &World<P>, state: &State<P>) -> bool {
    state.ids().all(|i| match state.standing(i) {
        Some(Standing::Follows(l)) => state.ids().all(|k| k == i || !leads(state, k) || l >= k),
        _ => true,
    })
}

fn agreement<P: Protocol>(state: &State<P>) -> bool {
    let mut settled = state.ids().filter_map(|id| leader(state, id));
    settled.next().is_none_or(|first| settled.all(|other| other == first))
}

fn validity<P: Protocol>(state: &State<P>) -> bool {
    let mut settled = state.ids().filter_map(|id| leader(state, id));
    settled.all(|leader| !state.up(leader) || highest_up(state) == Some(leader))
}

fn decided<P: Protocol>(state: &State<P>) -> bool {
    let mut live = state.ids().filter(|&id| state.up(id));
    live.all(|id| leader(state, id).is_some_and(|leader| state.up(leader)))
}

fn agreed<P: Protocol>(state: &State<P>) -> bool {
    let highest = highest_up(state);
    state.ids().filter(|&id| state.up(id)).all(|id| leader(state, id) == highest)
}

/// At the start everybody is up, so the first leader is the highest of all.
fn succession<P: Protocol>(state: &State<P>) -> bool {
    let first = state.ids().last();
    state.ids().any(|id| Some(id) != first && leads(state, id))
}
