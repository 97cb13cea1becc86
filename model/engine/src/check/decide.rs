//! From a world and its properties to verdicts.

use super::exact::{Exact, Goal, Graph, Saved};
use super::liveness::{self, Lasso};
use super::search::{MOST_QUESTIONS, PropertyQuery, search};
use super::{
    CheckError, Counterexample, Decision, Distributed, Engine, Event, Growth, Options, Phase,
    Progress, Reason, Report, Verdict, Watch, peak_rss_bytes, reference, several, simulation,
};
use crate::property::{self, Kind, Liveness, Property, Temporal};
use crate::space::ActionId;
use crate::world::packed::Packed;
use crate::world::{Condition, World};
use serde_json::Value;
use std::collections::HashSet;
use std::time::Instant;

/// Decides every one of `properties` in `world`, telling `on_event` of violations as they are
/// found, and now and then how far it is.
///
/// Whichever engine searches, liveness is decided on the state graph; where stateright searches
/// too, the two must count the same.
///
/// # Errors
/// If nothing is asked that the engine decides, if the world is too large for any but random walks,
/// if the system gives no threads, if stateright and the exact engine disagree on the number of
/// states, or if stateright is asked for and was left out of the program.
pub fn check(
    world: &World,
    properties: &[Property],
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    if options.engine == Engine::Dataflow {
        return Err(CheckError::NoDataflow);
    }
    decide_by(world, properties, options, None, on_event)
}

/// Decides as [`check`] does, with the states searched by `distributed`, whatever engine the
/// options name.
///
/// # Errors
/// As [`check`], and if the processes of the search do not search together.
pub fn decide_distributed(
    distributed: &dyn Distributed,
    world: &World,
    properties: &[Property],
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    let options = Options { engine: Engine::Dataflow, ..options.clone() };
    decide_by(world, properties, &options, Some(distributed), on_event)
}

/// Decides with the states searched as the options say, or `by` what is none of the engines here.
fn decide_by(
    world: &World,
    properties: &[Property],
    options: &Options,
    by: Option<&dyn Distributed>,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    let asked_in = property::world_of(world, properties);
    let world = &*asked_in;
    can_be_decided(world, properties, options)?;
    let started = Instant::now();
    let mut told = HashSet::new();
    let on_event: &mut (dyn FnMut(Event) + Send) = &mut |event| match event {
        Event::Violated { property, .. } if !told.insert(property) => {}
        event => on_event(event),
    };
    let mut found = found(world, properties, options, by, on_event)?;
    if let Some(most) = options.all {
        several::find(world, &mut found.decisions, most, options, started, on_event)?;
    }
    Ok(Report {
        processes: by.map_or(1, Distributed::processes),
        elapsed: started.elapsed(),
        peak_rss_bytes: peak_rss_bytes(),
        ..found
    })
}

/// Whether the engine decides something of this, in this world.
fn can_be_decided(
    world: &World,
    properties: &[Property],
    options: &Options,
) -> Result<(), CheckError> {
    if properties.is_empty() {
        return Err(CheckError::NothingAsked);
    }
    if options.engine == Engine::Dataflow && properties.iter().all(|p| p.kind() == Kind::Liveness) {
        return Err(CheckError::OnlyLiveness);
    }
    if options.engine != Engine::Simulation {
        world.is_searchable()?;
    }
    let is_exact_in_memory = options.engine == Engine::Exact && options.disk.is_none();
    if options.all.is_some() && !is_exact_in_memory {
        return Err(CheckError::OnlyExactFindsSeveral);
    }
    let mut questions = Vec::new();
    for property in properties {
        PropertyQuery::new(property, &mut questions);
    }
    if questions.len() > MOST_QUESTIONS {
        return Err(CheckError::TooMuchAsked { asked: questions.len(), most: MOST_QUESTIONS });
    }
    Ok(())
}

/// What the engine finds.
fn found(
    world: &World,
    properties: &[Property],
    options: &Options,
    by: Option<&dyn Distributed>,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    Ok(match options.engine {
        Engine::Exact | Engine::Dataflow => exact(world, properties, options, by, on_event)?,
        Engine::Simulation => simulation::search(world, properties, options, on_event)?,
        engine => {
            let liveness = properties.iter().any(|p| p.kind() == Kind::Liveness);
            let mut found = reference::search(world, properties, options, on_event)?;
            if liveness && found.cut_short.is_none() {
                let mut on_event = |event| on_event(again(event));
                let ours = exact(world, properties, options, None, &mut on_event)?;
                let (exact, reference) = (ours.counts, found.counts);
                let same =
                    exact.distinct == reference.distinct && exact.generated == reference.generated;
                if ours.unfinished.is_none() && !same {
                    return Err(CheckError::Disagreement { engine, exact, reference });
                }
                fill_liveness(&mut found.decisions, ours.decisions);
            }
            found
        }
    })
}

/// The exact engine searches after stateright has.
fn again(event: Event) -> Event {
    match event {
        Event::Progress(progress) if progress.phase == Phase::States => {
            let phase = Phase::Again("by the exact engine, for liveness");
            Event::Progress(Progress { phase, ..progress })
        }
        other => other,
    }
}

/// Takes over the verdicts on liveness, which stateright does not give.
fn fill_liveness(decisions: &mut [Decision], exact: Vec<Decision>) {
    for (ours, theirs) in decisions.iter_mut().zip(exact) {
        if ours.property.kind() == Kind::Liveness {
            *ours = theirs;
        }
    }
}

fn exact(
    world: &World,
    properties: &[Property],
    options: &Options,
    by: Option<&dyn Distributed>,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    let mut questions = Vec::new();
    let asked: Vec<_> = properties.iter().map(|p| PropertyQuery::new(p, &mut questions)).collect();
    let violations: Vec<_> = asked.iter().filter_map(PropertyQuery::violation).collect();
    let without_graph = without_graph(options);
    let edges = without_graph.is_none() && properties.iter().any(|p| p.kind() == Kind::Liveness);
    let asks_struck = edges && world.has_boundary() && questions.len() < MOST_QUESTIONS;
    let struck = asks_struck.then(|| {
        questions.push(Condition::World(World::each_fault_has_struck));
        questions.len() as u32
    });
    let Options { limits, first, .. } = *options;
    let started = Instant::now();
    let of_each_state = questions.len();
    let identity = || identity(world, properties, of_each_state);
    let packed = Box::new(Packed::new(world, questions));
    let (mut exact, mut space) =
        search(packed, edges, &violations, options, by, identity, on_event)?;
    let (counts, unfinished, growth) = (exact.counts(), exact.unfinished(), growth(&exact, &space));
    let mut at = exact.progress(Phase::Counterexamples, started.elapsed());
    on_event(Event::Progress(at));
    let mut decided = on_states(&exact, &mut space, &asked);
    at.elapsed = started.elapsed();
    let mut watch = Watch::new(limits, at, on_event);
    for (property, decision) in properties.iter().zip(&decided) {
        if property.kind() == Kind::Reachability && is_violated(decision) {
            watch.violated(property.name, None);
        }
    }
    let mut cut_short = exact.cut_short();
    let (trouble, resumed_after) = (exact.trouble().map(str::to_owned), exact.resumed_after());
    let (query, saved) = (GraphQuery { asked: &asked, struck, first }, exact.take_saved());
    let lacks_room = || edges && !limits.leaves_room_for(exact.graph_bytes());
    let why = cut_short.or(without_graph).or_else(|| lacks_room().then_some(Reason::Memory));
    let stopped = on_graph(exact, why, &space, query, &mut decided, &mut watch);
    if edges {
        cut_short = stopped;
    }
    if matches!(cut_short, None | Some(Reason::FirstViolation)) {
        saved.into_iter().for_each(Saved::clear);
    }
    let (bounds_met, decisions) = (space.bounds_met(), decided.into_iter().flatten().collect());
    Ok(Report {
        counts,
        cut_short,
        unfinished,
        trouble,
        bounds_met,
        decisions,
        resumed_after,
        growth,
        ..Report::of(world, options)
    })
}

/// What may keep a search from ending that was cut short before all states were found.
fn growth(exact: &Exact, space: &Packed) -> Vec<Growth> {
    match exact.unfinished().and(exact.cut_short()) {
        None | Some(Reason::FirstViolation) => Vec::new(),
        Some(_) => space.growth(),
    }
}

/// Why liveness is not decided, if the engine has no graph.
fn without_graph(options: &Options) -> Option<Reason> {
    (options.engine == Engine::Dataflow).then_some(Reason::NotInDataflow)
}

/// What is searched: a search of anything else is another one. With the states it saves the answers
/// to the questions, which are numbered, so these must be the same too.
fn identity(world: &World, properties: &[Property], of_each_state: usize) -> Value {
    let rules = world.machine();
    let each =
        |what: fn(&Property) -> Option<&str>| -> Vec<_> { properties.iter().map(what).collect() };
    serde_json::json!({
        "protocol": rules.protocol().name(),
        "rules": rules.json(),
        "scenario": world.scenario(),
        "properties": each(|property| Some(property.name)),
        "questions": {
            "formulas": each(|property| Some(property.formula)),
            "number": of_each_state,
            "premises": each(|property| property.premise.as_ref().map(|(name, _)| *name)),
        },
    })
}

fn is_violated(decision: &Option<Decision>) -> bool {
    decision.as_ref().is_some_and(|decision| decision.verdict == Verdict::Violated)
}

/// The decisions on what states alone decide, in the places of the properties.
fn on_states(
    exact: &Exact,
    space: &mut Packed,
    asked: &[PropertyQuery<'_>],
) -> Vec<Option<Decision>> {
    let goals: Vec<_> = asked.iter().filter_map(PropertyQuery::goal).collect();
    let mut paths = exact.paths(space, &goals).into_iter();
    let decide = |asked: &PropertyQuery<'_>| {
        let goal = asked.goal()?;
        let steps = paths.next().flatten().map(|path| space.named(&path));
        let shown = steps.map(|steps| Counterexample { steps, cycle: None });
        let missing = Gaps::of(exact, asked, exact.cut_short());
        Some(verdict(asked.property, exact.reaches(goal), shown, missing))
    };
    asked.iter().map(decide).collect()
}

/// What keeps a search from deciding.
#[derive(Clone, Copy)]
struct Gaps {
    cut_short: Option<Reason>,
    premise: bool,
    leaves_boundary: bool,
    /// Whether a fair execution that has met each kind of fault stays within the bounds.
    lasts: bool,
}

impl Gaps {
    fn of(exact: &Exact, asked: &PropertyQuery<'_>, cut_short: Option<Reason>) -> Gaps {
        let met = |question| exact.reaches(Goal { question, answer: true });
        let premise = asked.premise.is_none_or(met);
        let leaves_boundary = exact.leaves_boundary();
        Gaps { cut_short, premise, leaves_boundary, lasts: false }
    }
}

/// The verdict, if what shows it is `found`: a violation, or for reachability an example. It may
/// have taken too much memory to say how it is reached.
fn verdict(
    property: &Property,
    found: bool,
    shown: Option<Counterexample>,
    missing: Gaps,
) -> Decision {
    let vacuous = (!missing.premise).then_some(Reason::Vacuous);
    let bounds = missing.leaves_boundary.then_some(Reason::Bounds);
    let incomplete = match property.kind() {
        Kind::Safety => vacuous.or(bounds),
        Kind::Liveness if missing.lasts => vacuous.or(bounds),
        Kind::Liveness => bounds.or(vacuous),
        Kind::Reachability => bounds,
    };
    let incomplete = missing.cut_short.or(incomplete);
    let (verdict, reason) = Verdict::of(property.kind(), found, incomplete, missing.lasts);
    let counterexample = shown.filter(|_| verdict == Verdict::Violated);
    Decision { property: property.clone(), verdict, reason, counterexample, several: None }
}

/// The questions to a graph.
#[derive(Clone, Copy)]
struct GraphQuery<'a> {
    asked: &'a [PropertyQuery<'a>],
    /// The question whether each kind of fault has struck, if that is asked.
    struck: Option<u32>,
    /// If set, nothing more is decided after the first violation.
    first: bool,
}

/// Fills in the decisions on liveness; why some of them are missing, if they are. Nothing is
/// decided if something has `stopped` it before.
///
/// A graph that was cut short ends in states that only look as if nothing followed, so on that
/// nothing is decided. Where executions leave the boundary of the search, `struck` asks of a state
/// whether each kind of fault has struck; only if a fair execution can stay in such states is
/// anything said of those that do not leave.
fn on_graph(
    exact: Exact,
    mut stopped: Option<Reason>,
    space: &Packed,
    GraphQuery { asked, struck, first }: GraphQuery<'_>,
    decided: &mut [Option<Decision>],
    watch: &mut Watch<'_>,
) -> Option<Reason> {
    let missing: Vec<_> = asked.iter().map(|asked| Gaps::of(&exact, asked, None)).collect();
    let struck = struck.filter(|_| exact.leaves_boundary());
    let mut lasts = None;
    let has_violation = |decided: &[Option<Decision>]| decided.iter().any(is_violated);
    let liveness = asked.iter().find(|one| matches!(one.temporal, Temporal::Liveness(_)));
    if let (None, Some(one), false) = (stopped, liveness, first && has_violation(decided)) {
        stopped = watch.begin(Phase::Liveness(one.property.name)).err();
    }
    let is_over = stopped.is_some() || first && has_violation(decided);
    let graph = if is_over { None } else { exact.graph(space) };
    for (at, asked) in asked.iter().enumerate() {
        let Temporal::Liveness(formula) = asked.temporal else { continue };
        if first && has_violation(decided) {
            stopped = stopped.or(Some(Reason::FirstViolation));
        }
        let mut found = None;
        if let (None, Some(graph)) = (stopped, &graph) {
            let lasso = violation(graph, asked.property.name, formula, watch);
            found = lasso.unwrap_or_else(|reason| {
                stopped = Some(reason);
                None
            });
        }
        if let (None, None, Some(struck), None, Some(graph)) =
            (&found, stopped, struck, lasts, &graph)
        {
            let has_struck = |at| graph.answers(at) & (1 << struck) != 0;
            match liveness::some_lasts(graph, has_struck, watch) {
                Ok(found) => lasts = Some(found),
                Err(reason) => stopped = Some(reason),
            }
        }
        let found = found.map(|Lasso { stem, cycle }| Counterexample {
            steps: space.named(&stem),
            cycle: Some(space.named(&cycle)),
        });
        let lasts = lasts.unwrap_or(false);
        let missing = Gaps { cut_short: stopped, lasts, ..missing[at] };
        decided[at] = Some(verdict(asked.property, found.is_some(), found, missing));
    }
    stopped
}

/// A fair execution that violates `formula`.
fn violation(
    graph: &Graph<'_>,
    name: &'static str,
    formula: Liveness<u32>,
    watch: &mut Watch<'_>,
) -> Result<Option<Lasso<ActionId>>, Reason> {
    watch.begin(Phase::Liveness(name))?;
    let holds = |question: u32| move |number: u32| graph.answers(number) & (1 << question) != 0;
    let lasso = liveness::violation(graph, &formula.map(holds), watch)?;
    if let Some(lasso) = &lasso {
        watch.violated(name, Some(lasso.stem.len()));
    }
    Ok(lasso)
}
