//! One saved execution of the model, taken by the program too.

use crate::divergence::Divergence;
use crate::error::Error;
use crate::mapping::{Mapping, Sides};
use crate::pair::{Pair, implements};
use bellwether_engine::check::{Certified, certify};
use bellwether_engine::trace::Trace;
use bellwether_engine::world::World;
use serde::Serialize;

/// The number of times that the cycle of a lasso is taken: what is left behind by one round shows
/// in the next.
pub const ROUNDS: usize = 3;

/// The result of replaying a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// The number of steps that were compared, those of the cycle as often as they were taken.
    pub steps: usize,
    /// The number of times that the cycle was taken; 0 if the trace has none.
    pub rounds: usize,
    /// The first difference, if there is one.
    pub divergence: Option<Box<Divergence>>,
}

/// Drives the program through `trace`, comparing every step.
///
/// # Errors
/// If the trace is not of the mapping's protocol and rules, was written by another model, cannot
/// happen in this one, does not show what it says, or says nothing.
pub fn replay<T: Sides>(mapping: &Mapping<T>, trace: &Trace) -> Result<Replayed, Error> {
    let world = trace.world::<T::Spec>()?;
    implements(mapping, &world)?;
    let (stem, rounds) = certified(trace, &world)?.rounds(ROUNDS);
    if stem.is_empty() && rounds.is_empty() {
        return Err(Error::EmptyTrace);
    }
    let mut replayed = Replayed { steps: 0, rounds: 0, divergence: None };
    let mut pair = match Pair::begin(mapping, &world)? {
        Ok(pair) => pair,
        Err(divergence) => {
            replayed.divergence = Some(divergence);
            return Ok(replayed);
        }
    };
    for (round, actions) in [stem].into_iter().chain(rounds).enumerate() {
        replayed.rounds = round;
        replayed.divergence = pair.take(&actions).err();
        if replayed.divergence.is_some() {
            break;
        }
    }
    replayed.steps = pair.actions().len() - usize::from(replayed.divergence.is_some());
    Ok(replayed)
}

/// The execution of a trace, which the model of today takes in this world.
fn certified(trace: &Trace, world: &World) -> Result<Certified, Error> {
    let today = Trace::record(world, &[], None).header;
    if trace.header.variant != today.variant {
        let (said, rules) = (trace.header.variant.clone(), today.variant);
        return Err(Error::Variant { said, rules });
    }
    if trace.header.fingerprint != today.fingerprint {
        let (found, today) = (trace.header.fingerprint.clone(), today.fingerprint);
        return Err(Error::Fingerprint { found, today });
    }
    Ok(certify(trace, world)?)
}
