//! In the place of stateright's searches, where the feature `stateright` is left out.

use super::{CheckError, Event, Options, Report};
use crate::property::Property;
use crate::world::World;

/// Refuses to search.
pub(super) fn search(
    _: &World,
    _: &[Property],
    options: &Options,
    _: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    Err(CheckError::NoStateright { engine: options.engine })
}
