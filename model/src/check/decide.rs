//! From a world and its properties to verdicts.

use super::graph::StateGraph;
use super::liveness::{self, Fair};
use super::{Counterexample, Counts, Decision, Engine, Options, Progress, Reason, Report, Verdict};
use super::{peak_rss_bytes, reference};
use crate::property::{Kind, Property};
use crate::protocol::Protocol;
use crate::world::{Action, State, World};
use std::time::Instant;

impl<P: Protocol> Fair for World<P> {
    fn is_owed(&self, action: &Action<P>) -> bool {
        self.owes(action)
    }
}

/// Decides every one of `properties` in `world`, telling `look` now and then how far it is.
///
/// Whoever searches, liveness is decided on the state graph; where stateright searches too, the two
/// must count the same.
///
/// # Errors
/// If nothing is asked, or if stateright and the state graph disagree on the number of states.
pub fn check<P: Protocol>(
    world: &World<P>,
    properties: &[Property<P>],
    options: &Options,
    look: &mut dyn FnMut(Progress),
) -> Result<Report<P>, CheckError> {
    if properties.is_empty() {
        return Err(CheckError::NothingAsked);
    }
    let started = Instant::now();
    let liveness = properties.iter().any(|p| p.kind == Kind::Liveness);
    let (counts, cut_short, decisions) = match options.engine {
        Engine::Exact => exact(world, properties, options, look),
        engine => {
            let (mut found, cut_short) = reference::search(world, properties, options, look);
            if liveness && cut_short.is_none() && engine != Engine::Simulation {
                let (counts, cut_short, decisions) = exact(world, properties, options, look);
                let same = counts.distinct == found.counts.distinct
                    && counts.generated == found.counts.generated;
                if cut_short.is_none() && !same {
                    let (exact, reference) = (counts, found.counts);
                    return Err(CheckError::Disagreement { engine, exact, reference });
                }
                found.fill_liveness(decisions);
            }
            (found.counts, cut_short, found.decisions)
        }
    };
    Ok(Report {
        world: world.clone(),
        engine: options.engine,
        threads: if options.engine == Engine::Exact { 1 } else { options.threads },
        counts,
        elapsed: started.elapsed(),
        peak_rss_bytes: peak_rss_bytes(),
        cut_short,
        decisions,
    })
}

type Found<P> = (Counts, Option<Reason>, Vec<Decision<P>>);

fn exact<P: Protocol>(
    world: &World<P>,
    properties: &[Property<P>],
    options: &Options,
    look: &mut dyn FnMut(Progress),
) -> Found<P> {
    let mut seen: Vec<Seen> = vec![Seen::default(); properties.len()];
    let edges = properties.iter().any(|p| p.kind == Kind::Liveness);
    let graph = StateGraph::explore(
        world,
        &options.limits,
        edges,
        |number, state| {
            for (property, seen) in properties.iter().zip(&mut seen) {
                seen.look(property, world, number, state);
            }
        },
        look,
    );
    let decide = |(property, seen): (&Property<P>, Seen)| decide(world, &graph, property, seen);
    let decisions = properties.iter().zip(seen).map(decide).collect();
    let counts = Counts {
        distinct: u64::from(graph.len()),
        generated: graph.generated(),
        depth: graph.depth(),
    };
    (counts, graph.cut_short(), decisions)
}

/// What the search has seen of a property.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The first state that decides it: a violation, or for reachability an example.
    first: Option<u32>,
    /// Whether some state satisfies its premise.
    premise: bool,
}

impl Seen {
    fn look<P: Protocol>(
        &mut self,
        property: &Property<P>,
        world: &World<P>,
        number: u32,
        state: &State<P>,
    ) {
        self.premise |= property.premise.is_none_or(|(_, premise)| premise(world, state));
        let decides = match property.kind {
            Kind::Safety => self.first.is_none() && !(property.condition)(world, state),
            Kind::Reachability => self.first.is_none() && (property.condition)(world, state),
            Kind::Liveness => false,
        };
        if decides {
            self.first = Some(number);
        }
    }
}

fn decide<P: Protocol>(
    world: &World<P>,
    graph: &StateGraph<'_, World<P>>,
    property: &Property<P>,
    Seen { first, premise }: Seen,
) -> Decision<P> {
    let counterexample = match property.kind {
        Kind::Safety => {
            first.map(|number| Counterexample { steps: graph.path(number), cycle: None })
        }
        // A graph that was cut short ends in states that only look as if nothing followed.
        Kind::Liveness if graph.cut_short().is_some() => None,
        Kind::Liveness => liveness::violation(graph, |state| (property.condition)(world, state))
            .map(|lasso| Counterexample { steps: lasso.stem, cycle: Some(lasso.cycle) }),
        Kind::Reachability => None,
    };
    let missing = match property.kind {
        Kind::Safety => (!premise).then_some(Reason::Vacuous),
        Kind::Liveness | Kind::Reachability => graph.leaves_boundary().then_some(Reason::Capacity),
    };
    let shown = match property.kind {
        Kind::Safety | Kind::Liveness => counterexample.is_some(),
        Kind::Reachability => first.is_some(),
    };
    let (verdict, reason) = Verdict::of(property.kind, shown, graph.cut_short().or(missing));
    Decision { property: *property, verdict, reason, counterexample }
}

/// Why a check gives no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// A run that checks nothing is an error.
    #[error("no property was asked for, so nothing would be checked")]
    NothingAsked,
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
