//! Further worlds, by other rules that the program implements too.
//!
//! The world that is asked for has one configuration. A program may do what no such world leads to,
//! where the configuration changes: a node joins, an observer becomes a voter. By the rules for
//! that, the mapping is another [value](Mapping::further) of the same type, so nothing is compiled
//! a second time. The walk is breadth-first and is cut short: the mistakes that it is to find show
//! a few steps from the beginning.

use crate::error::Error;
use crate::lockstep::{Outcome, walk};
use crate::mapping::{Further, Mapping};
use crate::reduce::reduce;
use bellwether_engine::check::{Limits, Reason};
use bellwether_engine::world::World;

/// After so many pairs, the walk of a world ends.
const PAIRS: u64 = 1 << 14;

/// Walks the beginning of each [further](Mapping::further) world, up to the first walk that has a
/// difference or is cut short by `limits`. Returns what comes of the last walk, with a difference
/// [reduced](reduce); `None` if there is no such world.
///
/// # Errors
/// If nothing can be compared.
pub fn further<M: Mapping>(mapping: &M, limits: &Limits) -> Result<Option<Outcome>, Error> {
    let mut last = None;
    for Further { mapping, scenario, happens } in mapping.further() {
        let Ok(world) = World::new(mapping.own_rules(), scenario) else { continue };
        let limits = Limits { states: Some(PAIRS), ..*limits };
        let mut outcome = walk(&world, &mapping, &limits, &mut |_| {})?;
        outcome.divergence = outcome.divergence.map(|found| {
            let mut found = reduce(&mapping, found);
            found.happened.push_str(", where ");
            found.happened.push_str(happens);
            found
        });
        let summary = &mut outcome.summary;
        summary.cut_short = summary.cut_short.filter(|&reason| reason != Reason::States);
        let is_last = outcome.divergence.is_some() || outcome.summary.cut_short.is_some();
        last = Some(outcome);
        if is_last {
            break;
        }
    }
    Ok(last)
}
