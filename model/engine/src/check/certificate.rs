//! Whether a saved execution shows what its header says. Nothing of the header is believed.
//!
//! The steps are taken again in the world, and what they are said to show is decided on the states
//! that they lead to: by the definitions alone, and not by the search that found the execution. An
//! execution that ends in a cycle is judged in the [concrete](World::concrete) world, and if it
//! does not pass there in the one in which states that differ only in names are one: a search may
//! have found it there. In the world in which it passes, the cycle can be
//! [taken again](Certified::rounds).

use super::bounds::{self, Until};
use crate::property::{self, Kind, Liveness, Property, Temporal};
use crate::space::Fairness;
use crate::trace::{Header, Shows, Trace, TraceError};
use crate::world::{Action, Condition, State, World};
use indexmap::IndexSet;

/// The reason why a trace does not show what it says.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The steps are not an execution of the world.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A key of the header says something that is not so.
    #[error("line 1: \"{key}\": {reason}")]
    Claim {
        /// The key.
        key: &'static str,
        /// The reason why it is refused.
        reason: String,
    },
}

/// An execution that [shows what its header says](certify).
#[derive(Clone, Debug)]
pub struct Certified {
    /// The world in which it shows that: the concrete one, or the one in which states that differ
    /// only in names are one.
    world: World,
    /// The actions in that world.
    actions: Vec<Action>,
    cycle_after: Option<usize>,
}

impl Certified {
    /// Returns the actions of the [concrete](World::concrete) world: those before the cycle, and
    /// those of each of the first `count` rounds of it. Where the cycle closes up to names alone,
    /// each round has names of its own. An execution in which nothing repeats has no rounds.
    #[must_use]
    pub fn rounds(&self, count: usize) -> (Vec<Action>, Vec<Vec<Action>>) {
        let stem = self.cycle_after.unwrap_or(self.actions.len());
        let cycle = &self.actions[stem..];
        let all = [&self.actions[..stem], &cycle.repeat(count)].concat();
        let mut all = self.world.in_concrete_terms(&all);
        let rounds = all.split_off(stem);
        let rounds = rounds.chunks(cycle.len().max(1)).map(<[Action]>::to_vec);
        (all, rounds.collect())
    }
}

/// A key of the header, and the reason why it is refused.
type Refused = (&'static str, String);

const PROPERTY: &str = "shows.property";
const FORMULA: &str = "shows.formula";
const KIND: &str = "shows.kind";
const CYCLE_AFTER: &str = "shows.cycle_after";
const UNTIL: &str = "shows.until";

/// Returns the execution of the [concrete](World::concrete) `world` that the steps of `trace` tell
/// of, if it is one and shows what the header says.
///
/// Of an execution that attains a [bound](super::bounds), that is what it costs; that none costs
/// more only a search can tell.
///
/// # Errors
/// The first step that cannot happen, or happens otherwise; the first key of the header that says
/// something else than this world and these steps.
pub fn certify(trace: &Trace, world: &World) -> Result<Certified, CertificateError> {
    let world = world.concrete();
    let refused = |(key, reason): Refused| CertificateError::Claim { key, reason };
    let actions = trace.actions(&world)?;
    is_of(&trace.header, &Trace::record(&world, &[], None).header).map_err(refused)?;
    let Some(shows) = &trace.header.shows else {
        return Ok(Certified { world, actions, cycle_after: None });
    };
    let concrete = Certified { world, actions, cycle_after: shows.cycle_after };
    shows_so(concrete, shows).map_err(refused)
}

/// Whether a header tells of the world of another one.
fn is_of(said: &Header, today: &Header) -> Result<(), Refused> {
    equal("variant", &said.variant, &today.variant)?;
    if said.rules != today.rules {
        return Err(("rules", format!("by these names they should be {}", today.rules)));
    }
    if said.world != today.world {
        return Err(("world", format!("it should be that of this world: {}", today.world)));
    }
    if said.fingerprint != today.fingerprint {
        let (said, today) = (&said.fingerprint, &today.fingerprint);
        let why = "another version wrote the trace, or it was edited";
        let reason = format!("{said:?} is not that of these rules in this world, {today:?}: {why}");
        return Err(("fingerprint", reason));
    }
    Ok(())
}

fn equal(key: &'static str, said: &str, is: &str) -> Result<(), Refused> {
    let reason = || format!("{said:?} stands where {is:?} should");
    if said == is { Ok(()) } else { Err((key, reason())) }
}

/// A kind, as headers have it.
fn named(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}

/// The execution of the concrete world, or the same where states that differ only in names are one,
/// if it shows this.
fn shows_so(concrete: Certified, shows: &Shows) -> Result<Certified, Refused> {
    if let Some(counted) = shows.property.strip_prefix(bounds::THE_MOST) {
        return costs(concrete, counted, shows);
    }
    let found = property::select(&concrete.world, std::slice::from_ref(&shows.property));
    let property = found.map_err(|error| (PROPERTY, error.to_string()))?.swap_remove(0);
    equal(PROPERTY, &shows.property, property.name)?;
    equal(FORMULA, &shows.formula, property.formula)?;
    equal(KIND, &named(shows.kind), &named(property.kind()))?;
    if shows.until.is_some() {
        return Err((UNTIL, "only what is counted has an end; leave it out".to_owned()));
    }
    in_a_world(concrete, property::asks_for_names(&property), |world, actions| {
        violates(world, actions, &property, shows.cycle_after)
    })
}

/// The execution of a concrete world of which `passes` says so, or what it is where states that
/// differ only in names are one.
fn in_a_world(
    concrete: Certified,
    asks_for_names: bool,
    passes: impl Fn(&World, &[Action]) -> Result<(), Refused>,
) -> Result<Certified, Refused> {
    let Certified { world, actions, cycle_after } = &concrete;
    let Err(refused) = passes(world, actions) else { return Ok(concrete) };
    let canonical = world.canonical();
    if asks_for_names || !canonical.canonicalizes() {
        return Err(refused);
    }
    let Some(actions) = world.in_terms_of(&canonical, actions) else { return Err(refused) };
    passes(&canonical, &actions)?;
    Ok(Certified { world: canonical, actions, cycle_after: *cycle_after })
}

/// Whether an execution violates a property, or is an example of one.
fn violates(
    world: &World,
    actions: &[Action],
    property: &Property,
    cycle_after: Option<usize>,
) -> Result<(), Refused> {
    let one_state = |condition: &Condition, wanted: bool| {
        let holds = condition.holds(world, &end(world, actions));
        let (name, what) = (property.name, if wanted { "is no example of" } else { "satisfies" });
        let reason = || format!("the last state {what} {name}");
        if holds == wanted { Ok(()) } else { Err((PROPERTY, reason())) }
    };
    match (&property.temporal, cycle_after) {
        (Temporal::Liveness(formula), Some(after)) => {
            let answers = lasso(world, actions, after, formula)?;
            let reason = || (PROPERTY, format!("this execution satisfies {}", property.name));
            if is_violated(&answers, after) { Ok(()) } else { Err(reason()) }
        }
        (Temporal::Liveness(_), None) => {
            let reason = "it is missing; what is violated for ever repeats after so many steps";
            Err((CYCLE_AFTER, reason.to_owned()))
        }
        (Temporal::Always(_) | Temporal::Reachable(_), Some(_)) => {
            let reason = "what a single state shows has no cycle; leave it out";
            Err((CYCLE_AFTER, reason.to_owned()))
        }
        (Temporal::Always(condition), None) => one_state(condition, false),
        (Temporal::Reachable(condition), None) => one_state(condition, true),
    }
}

/// The state after these actions.
fn end(world: &World, actions: &[Action]) -> State {
    actions.iter().fold(world.initial(), |state, action| world.apply(&state, action).state)
}

/// Refuses a cycle whose last action does not lead back to the state after the first so many.
fn closes(world: &World, actions: &[Action], after: usize) -> Result<(), Refused> {
    let again = actions.get(..after).is_some_and(|stem| end(world, stem) == end(world, actions));
    let last = actions.len();
    let reason = || format!("step {last} does not lead back to the state after step {after}");
    if again { Ok(()) } else { Err((CYCLE_AFTER, reason())) }
}

/// What is asked of each state of a lasso, if it is one: its cycle closes and is fair, or where it
/// ends nothing fair can happen.
fn lasso(
    world: &World,
    actions: &[Action],
    after: usize,
    formula: &Liveness<Condition>,
) -> Result<Vec<Liveness<bool>>, Refused> {
    let ask = |state: &State| formula.clone().map(|condition| condition.holds(world, state));
    let mut answers = Vec::with_capacity(actions.len() + 1);
    let mut owed = Owed::default();
    let mut state = world.initial();
    for (at, action) in actions.iter().enumerate() {
        answers.push(ask(&state));
        if at >= after {
            owed.pass(world, &state, action);
        }
        state = world.apply(&state, action).state;
    }
    answers.push(ask(&state));
    let refused = |reason| Err((CYCLE_AFTER, reason));
    if after == actions.len() {
        let next = world.actions(&state).into_iter().find(|action| world.is_fair(action));
        return next.map_or(Ok(answers), |next| {
            refused(format!("nothing is said to happen after step {after}, but this does: {next}"))
        });
    }
    closes(world, actions, after)?;
    owed.first().map_or(Ok(answers), |action| {
        refused(format!("the cycle is not fair: it never takes what it owes, \"{action}\""))
    })
}

/// Whether the formula is false of an execution, its conditions being answered like this in its
/// states, of which those after so many steps repeat for ever.
fn is_violated(answers: &[Liveness<bool>], after: usize) -> bool {
    let Some(round) = answers.get(after..) else { return false };
    // Whether what is to come about has.
    let goal = |answer: &Liveness<bool>| match *answer {
        Liveness::Eventually(goal)
        | Liveness::EventuallyAlways(goal)
        | Liveness::AlwaysEventually(goal)
        | Liveness::LeadsTo(_, goal) => goal,
    };
    match answers[0] {
        Liveness::Eventually(_) => !answers.iter().any(goal),
        Liveness::AlwaysEventually(_) => !round.iter().any(goal),
        Liveness::EventuallyAlways(_) => !round.iter().all(goal),
        Liveness::LeadsTo(..) => {
            let premise = |answer: &Liveness<bool>| matches!(answer, Liveness::LeadsTo(true, _));
            let open =
                |open: bool, answer: &Liveness<bool>| !goal(answer) && (open || premise(answer));
            answers.iter().fold(false, open) && !round.iter().any(goal)
        }
    }
}

/// An action, and how fair it is where it can happen.
type Fair = (Action, Fairness);

/// What a cycle owes.
#[derive(Default)]
struct Owed {
    /// Weakly fair, possible in each state so far, and neither taken nor interrupted; nothing
    /// before the first.
    weak: Option<Vec<Fair>>,
    /// Strongly fair, and possible in some state.
    strong: IndexSet<Fair>,
    taken: IndexSet<Fair>,
}

impl Owed {
    /// The cycle goes on with this action of this state.
    fn pass(&mut self, world: &World, state: &State, action: &Action) {
        let enabled = world.actions(state);
        let fair = |action: &Action| (*action, world.fairness(action, &enabled));
        let here: Vec<Fair> = enabled.iter().map(fair).collect();
        let all = |wanted: Fairness| {
            here.iter().copied().filter(move |&(_, fairness)| fairness == wanted)
        };
        let ended: Vec<Fair> = world.interrupted(state, action).iter().map(fair).collect();
        let taken = fair(action);
        let weak = self.weak.get_or_insert_with(|| all(Fairness::Weak).collect());
        weak.retain(|owed| *owed != taken && here.contains(owed) && !ended.contains(owed));
        self.strong.extend(all(Fairness::Strong));
        self.taken.insert(taken);
    }

    /// The first action that is still owed when the cycle is closed.
    fn first(&self) -> Option<Action> {
        let weak = self.weak.iter().flatten();
        let strong = self.strong.difference(&self.taken);
        weak.chain(strong).map(|&(action, _)| action).next()
    }
}

/// The execution, in the terms in which it costs what it says.
fn costs(concrete: Certified, counted: &str, shows: &Shows) -> Result<Certified, Refused> {
    let Certified { world, actions, .. } = &concrete;
    equal(KIND, &named(shows.kind), &named(Kind::Reachability))?;
    let until = shows.until.as_deref().ok_or_else(|| {
        (UNTIL, "it is missing; it says until when something is counted".to_owned())
    })?;
    let until = Until::named(until, world).map_err(|error| (UNTIL, error.to_string()))?;
    let gains = bounds::gains(world, until, actions, counted).ok_or_else(|| {
        (PROPERTY, format!("nothing called '{counted}' is counted in this execution"))
    })?;
    let Some(after) = shows.cycle_after else {
        let most: u64 = gains.iter().sum();
        equal(FORMULA, &shows.formula, &most.to_string())?;
        return Ok(concrete);
    };
    equal(FORMULA, &shows.formula, bounds::UNBOUNDED)?;
    // The first of the gains is that of the beginning.
    if gains.iter().skip(1).skip(after).all(|&gain| gain == 0) {
        let reason = format!("nothing called '{counted}' is counted in what repeats");
        return Err((CYCLE_AFTER, reason));
    }
    in_a_world(concrete, false, |world, actions| closes(world, actions, after))
}
