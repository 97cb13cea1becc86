//! Stateright's own searches, kept as the reference.
//!
//! Three things about them are worth knowing. They stop when every property has a discovery, so
//! one more property that never fails keeps them going. With several properties in one run the
//! breadth-first search may report a longer counterexample than there is, so each violated
//! property is searched again alone, with one thread. And their own limits do not tell whether
//! the search was complete, and are not always heeded, so ours are watched from outside.

use super::Verdict;
use super::model::{Model, SLOTS, named};
use super::{CheckError, Counterexample, Counts, Decision, Engine, Event, Options};
use super::{Phase, Progress, Reason, Report};
use crate::property::{Kind, Property, Temporal};
use crate::world::{Action, Condition, World};
use stateright::{Checker, HasDiscoveries, Model as _};
use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

/// How long the watcher sleeps between two looks at a search.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Lets stateright search `world` for violations of the safety properties. It always can.
pub(super) fn search(
    world: &World,
    properties: &[Property],
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    // A property that never fails, so that the search goes through every state.
    let exhaust = ("every state is searched", Temporal::Always(None));
    // Liveness is decided on the state graph, with its premises.
    let on_states = || properties.iter().filter(|p| p.kind() != Kind::Liveness);
    let mut premises: Vec<(&'static str, Condition)> = Vec::new();
    for (name, premise) in on_states().filter_map(|p| p.premise.clone()) {
        // Many properties have one premise.
        if !premises.iter().any(|(known, one)| *known == name && one.is(&premise)) {
            premises.push((name, premise));
        }
    }
    let premises = premises.into_iter();
    let premises = premises.map(|(name, premise)| (name, Temporal::Reachable(Some(premise))));
    let asked: Vec<_> = on_states().map(named).chain([exhaust]).chain(premises).collect();
    assert!(asked.len() <= SLOTS, "stateright is asked for more than {SLOTS} properties");
    let model = Model::new(world, asked);
    let exceeded = model.exceeded();
    let mut builder = model.checker().threads(options.threads);
    if options.first {
        builder = builder.finish_when(HasDiscoveries::AnyFailures);
    }
    let (outcome, cut_short) = match options.engine {
        Engine::Dfs => watch(builder.spawn_dfs(), options, on_event),
        Engine::Bfs | Engine::Exact | Engine::Dataflow | Engine::Simulation => {
            watch(builder.spawn_bfs(), options, on_event)
        }
    };
    let violated =
        |p: &Property| p.kind() == Kind::Safety && outcome.discoveries.contains_key(p.name);
    let stopped = options.first && properties.iter().any(violated);
    let cut_short = cut_short.or(stopped.then_some(Reason::FirstViolation));
    let bounds_met = world.bounds_met(&exceeded);
    let bounds = (!bounds_met.is_empty()).then_some(Reason::Bounds);
    let decisions = properties.iter().map(|property| {
        let incomplete = cut_short.or(missing(property, &outcome)).or(bounds);
        decide(world, property, outcome.discoveries.get(property.name), incomplete, options)
    });
    let decisions = decisions.collect();
    let counts = outcome.counts;
    Ok(Report { counts, cut_short, bounds_met, decisions, ..Report::of(world, options) })
}

/// What keeps a complete search from deciding, within the bounds.
fn missing(property: &Property, outcome: &Outcome) -> Option<Reason> {
    match property.kind() {
        Kind::Safety => {
            let met = |(name, _): &(_, _)| outcome.discoveries.contains_key(name);
            (!property.premise.as_ref().is_none_or(met)).then_some(Reason::Vacuous)
        }
        // Decided on the state graph, if at all.
        Kind::Liveness => Some(Reason::Sampled),
        Kind::Reachability => None,
    }
}

type Actions = Vec<Action>;

struct Outcome {
    counts: Counts,
    discoveries: HashMap<&'static str, Actions>,
}

/// Waits for a search, or until a limit is reached.
fn watch<C>(
    checker: C,
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> (Outcome, Option<Reason>)
where
    C: Checker<Model>,
{
    let started = Instant::now();
    let mut pause = Duration::from_micros(50);
    let cut_short = loop {
        let progress = Progress {
            phase: Phase::States,
            distinct: checker.unique_state_count() as u64,
            generated: checker.state_count() as u64,
            levels: None,
            frontier: None,
            elapsed: started.elapsed(),
        };
        let done = checker.is_done();
        for property in checker.model().violated() {
            on_event(Event::Violated { property, steps: None });
        }
        on_event(Event::Progress(progress));
        if done {
            break None;
        }
        if let Some(reason) = options.limits.exceeded(&progress) {
            break Some(reason);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(BETWEEN_LOOKS);
    };
    let checker = if cut_short.is_none() { checker.join() } else { checker };
    let counts = Counts {
        distinct: checker.unique_state_count() as u64,
        generated: checker.state_count() as u64,
        depth: checker.max_depth(),
    };
    let discoveries = checker.discoveries().into_iter();
    let discoveries = discoveries.map(|(name, path)| (name, path.into_actions())).collect();
    (Outcome { counts, discoveries }, cut_short)
}

fn decide(
    world: &World,
    property: &Property,
    discovery: Option<&Actions>,
    incomplete: Option<Reason>,
    options: &Options,
) -> Decision {
    let (verdict, reason) = Verdict::of(property.kind(), discovery.is_some(), incomplete, false);
    let counterexample = discovery.filter(|_| verdict == Verdict::Violated).map(|path| {
        let shortest = match options.engine {
            Engine::Bfs => shortest(world, property),
            Engine::Exact | Engine::Dataflow | Engine::Dfs | Engine::Simulation => None,
        };
        Counterexample { steps: shortest.unwrap_or_else(|| path.clone()), cycle: None }
    });
    Decision { property: property.clone(), verdict, reason, counterexample, several: None }
}

/// A shortest counterexample, by a breadth-first search for this property alone.
fn shortest(world: &World, property: &Property) -> Option<Actions> {
    let alone = Model::new(world, vec![named(property)]);
    let checker = alone.checker().threads(1).spawn_bfs().join();
    checker.discovery(property.name).map(stateright::Path::into_actions)
}
