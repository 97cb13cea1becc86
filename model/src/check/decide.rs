//! From a world and its properties to verdicts.

use super::graph::{Fair, StateGraph};
use super::liveness;
use super::rows::Fairness;
use super::{Counterexample, Counts, Decision, Engine, Options, Progress, Reason, Report, Verdict};
use super::{peak_rss_bytes, reference};
use crate::property::{Condition, Kind, Liveness, Property, Temporal};
use crate::protocol::Protocol;
use crate::world::{Action, DeliveryFairness, State, World};
use std::time::Instant;

impl<P: Protocol> Fair for World<P> {
    fn fairness(&self, action: &Action<P>) -> Fairness {
        match action {
            _ if !self.owes(action) => Fairness::None,
            Action::Deliver(_) if self.dials().fairness == DeliveryFairness::Strong => {
                Fairness::Strong
            }
            _ => Fairness::Weak,
        }
    }

    fn has_strong(&self) -> bool {
        self.dials().fairness == DeliveryFairness::Strong
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
    let liveness = properties.iter().any(|p| p.kind() == Kind::Liveness);
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
    let edges = properties.iter().any(|p| p.kind() == Kind::Liveness);
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
        let decides = match property.temporal {
            Temporal::Always(condition) => self.first.is_none() && !condition(world, state),
            Temporal::Reachable(condition) => self.first.is_none() && condition(world, state),
            Temporal::Liveness(_) => false,
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
    let counterexample = match property.temporal {
        Temporal::Always(_) => {
            first.map(|number| Counterexample { steps: graph.path(number), cycle: None })
        }
        // A graph that was cut short ends in states that only look as if nothing followed.
        Temporal::Liveness(_) if graph.cut_short().is_some() => None,
        Temporal::Liveness(formula) => violation(world, graph, formula),
        Temporal::Reachable(_) => None,
    };
    let vacuous = (!premise).then_some(Reason::Vacuous);
    let capacity = graph.leaves_boundary().then_some(Reason::Capacity);
    let missing = match property.kind() {
        Kind::Safety => vacuous,
        Kind::Liveness => capacity.or(vacuous),
        Kind::Reachability => capacity,
    };
    let shown = match property.kind() {
        Kind::Safety | Kind::Liveness => counterexample.is_some(),
        Kind::Reachability => first.is_some(),
    };
    let (verdict, reason) = Verdict::of(property.kind(), shown, graph.cut_short().or(missing));
    Decision { property: *property, verdict, reason, counterexample }
}

/// A fair execution that violates `formula`.
fn violation<P: Protocol>(
    world: &World<P>,
    graph: &StateGraph<'_, World<P>>,
    formula: Liveness<Condition<P>>,
) -> Option<Counterexample<P>> {
    // Each condition is asked once of each state, however often the search comes by.
    let holds = |condition: Condition<P>| -> Vec<bool> {
        (0..graph.len()).map(|number| condition(world, graph.state(number))).collect()
    };
    let formula = formula.map(holds).map(|holds| move |number: u32| holds[number as usize]);
    let lasso = liveness::violation(graph, &formula)?;
    Some(Counterexample { steps: lasso.stem, cycle: Some(lasso.cycle) })
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
