//! In the place of stateright's searches, where the feature `stateright` is left out.

use super::decide::Findings;
use super::{CheckError, Event, Options};
use crate::property::Property;
use crate::world::World;

/// Refuses to search.
pub(super) fn search(
    _: &World,
    _: &[Property],
    options: &Options,
    _: &mut (dyn FnMut(Event) + Send),
) -> Result<Findings, CheckError> {
    Err(CheckError::NoStateright { engine: options.engine })
}
