//! Verdicts on a world from fewer states: those without dead messages.
//!
//! Each of these states can be reached in the whole world too, and each state of that comes to be
//! one of these, when the dead messages in it arrive. So one world has a state that violates what
//! is asked of the processes if the other has. The executions that are shown are those of the whole
//! world, found as without the reduction.

use super::{CheckError, Findings, Missing, PropertyQuery, exact, growth, search, verdict};
use crate::check::{Counterexample, Decision, Engine, Event, Options, Phase, Progress};
use crate::check::{Reason, Reduction, Verdict};
use crate::property::Kind;
use crate::property::Property;
use crate::world::World;
use crate::world::packed::Packed;

/// Decides what can be decided without dead messages.
pub(super) fn without_dead_messages(
    world: &World,
    properties: &[Property],
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Findings, CheckError> {
    if options.engine != Engine::Exact || options.disk.is_some() {
        return Err(CheckError::OnlyExactReduces);
    }
    let left = world.without_dead_messages()?;
    let mut questions = Vec::new();
    let asked: Vec<_> = properties.iter().map(|p| PropertyQuery::new(p, &mut questions)).collect();
    let decides = |asked: &&PropertyQuery<'_>| undecided(asked.property).is_none();
    let violations: Vec<_> =
        asked.iter().filter(decides).filter_map(PropertyQuery::violation).collect();
    if asked.iter().all(|asked| !decides(&asked)) {
        return Err(CheckError::NothingReduced);
    }
    // How many steps a violation takes is told when its execution is known.
    let mut progress = |event| match event {
        Event::Violated { .. } => {}
        event @ (Event::Progress(_) | Event::Grows { .. }) => on_event(event),
    };
    let identity = || serde_json::Value::Null;
    let (found, space) = search(
        Box::new(Packed::new(&left, questions)),
        (false, &violations),
        (options, None),
        identity,
        &mut progress,
    )?;
    let mut decisions = Vec::new();
    for asked in &asked {
        let property = asked.property;
        decisions.push(match (undecided(property), asked.goal()) {
            (Some(reason), _) => unknown(property, reason),
            (None, None) => unknown(property, Reason::NotReduced),
            (None, Some(goal)) => {
                let reached = found.reaches(goal);
                let shown = (reached && property.kind() == Kind::Safety)
                    .then(|| execution(world, property, options, on_event))
                    .transpose()?;
                let missing = Missing::of(&found, asked, found.cut_short());
                verdict(property, reached, shown.flatten(), missing)
            }
        });
    }
    Ok(Findings {
        counts: found.counts(),
        cut_short: found.cut_short(),
        unfinished: found.unfinished(),
        trouble: None,
        simulation: None,
        resumed_after: None,
        growth: growth(&found, &space),
        bounds_met: space.bounds_met(),
        decisions,
    })
}

/// Why this cannot be decided without dead messages, if it cannot.
fn undecided(property: &Property) -> Option<Reason> {
    let mut common = true;
    let _ = property.clone().map(|asked| common &= asked.is_common());
    match property.kind() {
        Kind::Liveness => Some(Reason::NotReduced),
        _ => (!common).then_some(Reason::AsksForMessages),
    }
}

fn unknown(property: &Property, reason: Reason) -> Decision {
    Decision {
        property: property.clone(),
        verdict: Verdict::Unknown,
        reason: Some(reason),
        counterexample: None,
        several: None,
    }
}

/// The first shortest execution of the whole world that violates the property, if the limits allow
/// to find it.
fn execution(
    world: &World,
    property: &Property,
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Option<Counterexample>, CheckError> {
    let options = Options { reduction: Reduction::None, first: true, ..options.clone() };
    let mut on_event = |event| {
        on_event(match event {
            Event::Progress(progress) if progress.phase == Phase::States => {
                let phase = Phase::Again("with all messages, for the execution");
                Event::Progress(Progress { phase, ..progress })
            }
            event => event,
        });
    };
    let found = exact(world, std::slice::from_ref(property), (&options, None), &mut on_event)?;
    Ok(found.decisions.into_iter().find_map(|decision| decision.counterexample))
}
