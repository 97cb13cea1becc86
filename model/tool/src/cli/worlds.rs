//! The world that the flags describe, or why there is none.

use super::{DelayArg, ProtocolArgs, TickRange, UsageError, WorldArgs};
use bellwether_engine::machine::{Machine, Registry};
use bellwether_engine::world::{World, WorldError};
use std::sync::Arc;

/// Returns the world that the flags describe.
///
/// # Errors
/// If the rules or the scenario are not possible.
pub fn world(
    registry: Registry,
    protocol: &ProtocolArgs,
    scenario: &WorldArgs,
) -> Result<Arc<World>, UsageError> {
    let rules = protocol.rules(registry)?;
    scenario.have_effect(registry.find(&protocol.protocol)?)?;
    match scenario.scenario() {
        Err(WorldError::NoDelay) => Err(nothing_of_delays(&rules, scenario).into()),
        asked => {
            let world = World::of(rules, asked?)?;
            can_crash_so_often(scenario, &world)?;
            Ok(Arc::new(world))
        }
    }
}

/// Refuses more crashes than there can be.
fn can_crash_so_often(scenario: &WorldArgs, world: &World) -> Result<(), UsageError> {
    let (asked, most) = (scenario.crashes, world.most_crashes());
    let Some(more) = usize::from(asked).checked_sub(most).filter(|&more| more > 0) else {
        return Ok(());
    };
    let recoveries = usize::from(world.scenario().faults.recoveries);
    let (processes, recoveries) = (most - recoveries, recoveries + more);
    let why = format!(
        "there are at most {most}, as each of the {processes} processes that may crash does so \
         once, and again after each recovery; give --crashes {most}, or --recoveries {recoveries}"
    );
    Err(UsageError::no_effect(format!("--crashes {asked}"), why))
}

/// Returns the world that the flags describe, for a command that searches it exhaustively.
///
/// # Errors
/// As [`world`], and if there are too many processes for that.
pub fn searchable_world(
    registry: Registry,
    protocol: &ProtocolArgs,
    scenario: &WorldArgs,
) -> Result<Arc<World>, UsageError> {
    let world = world(registry, protocol, scenario)?;
    world.is_searchable()?;
    Ok(world)
}

/// What is missing where no delay is given: all of it at once.
fn nothing_of_delays(rules: &Arc<dyn Machine>, scenario: &WorldArgs) -> WorldError {
    let mut with_delay = scenario.clone();
    with_delay.timed.delay = Some(DelayArg::Ticks(TickRange { from: 1, to: 1 }));
    let wrong =
        with_delay.scenario().and_then(|scenario| World::of(Arc::clone(rules), scenario).map(drop));
    match wrong {
        Err(WorldError::NoDuration { mut missing }) => {
            missing.insert(0, ("delay", "how long a message may take; or 'unbounded'"));
            WorldError::NoDuration { missing }
        }
        _ => WorldError::NoDelay,
    }
}
