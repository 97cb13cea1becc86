//! From a world and its properties to verdicts.

use super::exact::{Exact, Goal, Graph, How};
use super::liveness::{self, Lasso};
use super::{Counterexample, Counts, Decision, Engine, Options, Progress, Reason, Report, Verdict};
use super::{peak_rss_bytes, reference};
use crate::erased::{AnyCondition, AnyProperty, AnyWorld};
use crate::property::{Kind, Liveness, Property, Temporal};
use crate::protocol::Protocol;
use crate::space::ActionId;
use crate::world::World;
use std::time::Instant;

/// Decides every one of `properties` in `world`, telling `look` now and then how far it is.
///
/// Whichever engine searches, liveness is decided on the state graph; where stateright searches
/// too, the two must count the same.
///
/// # Errors
/// If nothing is asked, if the system gives no threads, or if stateright and the exact engine
/// disagree on the number of states.
pub fn check<P: Protocol>(
    world: &World<P>,
    properties: &[Property<P>],
    options: &Options,
    look: &mut (dyn FnMut(Progress) + Send),
) -> Result<Report, CheckError> {
    let properties: Vec<_> = properties.iter().map(|p| p.map(AnyCondition::of)).collect();
    decide(world, &properties, options, look)
}

/// Like [`check`], in a world of which the protocol is known only at run time.
///
/// # Errors
/// As [`check`].
pub fn decide(
    world: &dyn AnyWorld,
    properties: &[AnyProperty],
    options: &Options,
    look: &mut (dyn FnMut(Progress) + Send),
) -> Result<Report, CheckError> {
    if properties.is_empty() {
        return Err(CheckError::NothingAsked);
    }
    let started = Instant::now();
    let liveness = properties.iter().any(|p| p.kind() == Kind::Liveness);
    let found = match options.engine {
        Engine::Exact => exact(world, properties, options, look)?,
        engine => {
            let mut found = reference::search(world, properties, options, look);
            if liveness && found.cut_short.is_none() && engine != Engine::Simulation {
                let ours = exact(world, properties, options, look)?;
                let (exact, reference) = (ours.counts, found.counts);
                let same =
                    exact.distinct == reference.distinct && exact.generated == reference.generated;
                if ours.cut_short.is_none() && !same {
                    return Err(CheckError::Disagreement { engine, exact, reference });
                }
                found.fill_liveness(ours.decisions);
            }
            found
        }
    };
    let Found { counts, cut_short, bounds_met, decisions } = found;
    Ok(Report {
        world: world.share(),
        engine: options.engine,
        threads: options.threads,
        counts,
        elapsed: started.elapsed(),
        peak_rss_bytes: peak_rss_bytes(),
        cut_short,
        bounds_met,
        decisions,
    })
}

/// What a search found.
pub(super) struct Found {
    pub(super) counts: Counts,
    pub(super) cut_short: Option<Reason>,
    pub(super) bounds_met: Vec<String>,
    pub(super) decisions: Vec<Decision>,
}

impl Found {
    /// Takes over the verdicts on liveness, which stateright does not give.
    fn fill_liveness(&mut self, decisions: Vec<Decision>) {
        for (ours, theirs) in self.decisions.iter_mut().zip(decisions) {
            if ours.property.kind() == Kind::Liveness {
                *ours = theirs;
            }
        }
    }
}

fn exact(
    world: &dyn AnyWorld,
    properties: &[AnyProperty],
    options: &Options,
    look: &mut (dyn FnMut(Progress) + Send),
) -> Result<Found, CheckError> {
    let mut questions = Vec::new();
    let asked: Vec<_> = properties.iter().map(|p| Asked::new(p, &mut questions)).collect();
    let edges = properties.iter().any(|p| p.kind() == Kind::Liveness);
    let Options { limits, threads, .. } = *options;
    let how = How { limits, edges, threads, look };
    let mut space = world.pack(&questions);
    let exact = Exact::search(&mut *space, how);
    let exact = exact.map_err(|error| CheckError::Threads { threads, error: error.to_string() })?;
    let (counts, cut_short) = (exact.counts(), exact.cut_short());
    let goals: Vec<_> = asked.iter().filter_map(Asked::goal).collect();
    let mut paths = exact.paths(&*space, &goals).into_iter();
    let mut shown: Vec<_> = asked.iter().map(|a| a.goal().and_then(|_| paths.next()?)).collect();
    let premise = |asked: &Asked| {
        asked.premise.is_none_or(|question| exact.reaches(Goal { question, answer: true }))
    };
    let premises: Vec<_> = asked.iter().map(premise).collect();
    let leaves_boundary = exact.leaves_boundary();
    // A graph that was cut short ends in states that only look as if nothing followed.
    let room = limits.leaves_room_for(exact.graph_bytes());
    let no_graph = cut_short.or((edges && !room).then_some(Reason::Memory));
    let graph = (edges && no_graph.is_none()).then(|| exact.graph(&*space));
    let decide = |(((property, asked), shown), premise): (
        ((_, &Asked), &mut Option<Vec<ActionId>>),
        bool,
    )| {
        let liveness = matches!(asked.temporal, Temporal::Liveness(_));
        let cut_short = if liveness { no_graph } else { cut_short };
        let missing = Missing { cut_short, premise, leaves_boundary };
        let found = match (&asked.temporal, &graph) {
            (Temporal::Liveness(formula), Some(graph)) => violation(graph, *formula).map(|lasso| {
                let Lasso { stem, cycle } = lasso;
                Counterexample { steps: space.named(&stem), cycle: Some(space.named(&cycle)) }
            }),
            _ => {
                let steps = shown.take();
                steps.map(|steps| Counterexample { steps: space.named(&steps), cycle: None })
            }
        };
        verdict(property, found, missing)
    };
    let all = properties.iter().zip(&asked).zip(&mut shown).zip(premises);
    let decisions = all.map(decide).collect();
    Ok(Found { counts, cut_short: no_graph, bounds_met: space.bounds_met(), decisions })
}

/// A property whose conditions are questions, known by their bits in the answers.
struct Asked {
    temporal: Temporal<u32>,
    premise: Option<u32>,
}

impl Asked {
    fn new(property: &AnyProperty, questions: &mut Vec<AnyCondition>) -> Self {
        let mut ask = |condition| {
            questions.push(condition);
            // Bit 0 is the world's own.
            questions.len() as u32
        };
        let premise = property.premise.clone().map(|(_, premise)| ask(premise));
        Asked { temporal: property.temporal.clone().map(ask), premise }
    }

    /// The state to look for: a violation, or for reachability an example.
    fn goal(&self) -> Option<Goal> {
        match self.temporal {
            Temporal::Always(question) => Some(Goal { question, answer: false }),
            Temporal::Reachable(question) => Some(Goal { question, answer: true }),
            Temporal::Liveness(_) => None,
        }
    }
}

/// A fair execution that violates `formula`.
fn violation(graph: &Graph<'_>, formula: Liveness<u32>) -> Option<Lasso<ActionId>> {
    let holds = |question: u32| move |number: u32| graph.answers(number) & (1 << question) != 0;
    liveness::violation(graph, &formula.map(holds))
}

/// What keeps a search from deciding.
#[derive(Clone, Copy)]
struct Missing {
    cut_short: Option<Reason>,
    premise: bool,
    leaves_boundary: bool,
}

/// The verdict, if `found` is what shows it: a violation, or for reachability an example.
fn verdict(property: &AnyProperty, found: Option<Counterexample>, missing: Missing) -> Decision {
    let vacuous = (!missing.premise).then_some(Reason::Vacuous);
    let bounds = missing.leaves_boundary.then_some(Reason::Bounds);
    let incomplete = match property.kind() {
        Kind::Safety => vacuous.or(bounds),
        Kind::Liveness => bounds.or(vacuous),
        Kind::Reachability => bounds,
    };
    let incomplete = missing.cut_short.or(incomplete);
    let (verdict, reason) = Verdict::of(property.kind(), found.is_some(), incomplete);
    let counterexample = found.filter(|_| verdict == Verdict::Violated);
    Decision { property: property.clone(), verdict, reason, counterexample }
}

/// Why a check gives no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// A run that checks nothing is an error.
    #[error("no property was asked for, so nothing would be checked")]
    NothingAsked,
    /// The system gives no threads.
    #[error("cannot search with {threads} threads: {error}; try fewer with --threads")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system says.
        error: String,
    },
    /// Two searches of one world must reach the same states.
    #[error(
        "the engines disagree: exact counts {}/{} states (distinct/generated), {engine} {}/{}; \
         this is a bug in one of them, please report it with this command line",
        .exact.distinct, .exact.generated, .reference.distinct, .reference.generated
    )]
    Disagreement {
        /// The other engine.
        engine: Engine,
        /// What the exact engine counts.
        exact: Counts,
        /// What the other counts.
        reference: Counts,
    },
}
